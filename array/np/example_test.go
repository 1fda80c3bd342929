package np_test

import (
	"fmt"

	"github.com/tandem-gpu/tandem/array/np"
	"github.com/tandem-gpu/tandem/linalg"
)

func Example() {
	s, err := linalg.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	x := np.FromRows(s, [][]float32{{1, 2, 3}, {4, 5, 6}})
	y := np.Where(np.Less(x, 5), np.Mul(x, 10), 0)
	fmt.Println(np.Sum(y, 0))

	y = np.MatMul(x, y) // both are 2x3
	z := np.Exp(np.Sum(y))
	fmt.Println(z.Err())
	// Output:
	// [50  20  30]
	// example_test.go:21: linalg: shape: product of 2x3 and 2x3 into 2x3
}

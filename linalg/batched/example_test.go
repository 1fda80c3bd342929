package batched_test

import (
	"fmt"
	"log"

	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/linalg/batched"
)

// Three systems of two equations, of which the second has no solution.
func Example() {
	s, err := linalg.Open("cpu")
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := solve(s); err != nil {
		log.Fatal(err)
	}
	// Output:
	// linalg: singular matrix: pivot 1 of matrix 1 is 0
	// matrix 0: x = 1, y = 2
	// matrix 2: x = -1, y = 3
}

func solve(s *linalg.Session) error {
	const count, n = 3, 2
	a, err := linalg.Upload(s, linalg.NewMatrix(count*n, n, []float64{
		2, 1,
		1, 3,

		1, 2,
		2, 4,

		0, 1,
		4, 0,
	}))
	if err != nil {
		return err
	}
	b, err := linalg.Upload(s, linalg.NewMatrix(count*n, 1, []float64{4, 7, 1, 1, 3, -4}))
	if err != nil {
		return err
	}
	pivots, err := linalg.NewArray[int32](s, count, n)
	if err != nil {
		return err
	}
	status, err := linalg.NewArray[int32](s, count, 1)
	if err != nil {
		return err
	}
	if err := batched.LU(a, pivots, status); err != nil {
		return err
	}
	if err := batched.SolveLU(b, a, pivots); err != nil { // b becomes the solutions
		return err
	}
	fmt.Println(batched.LUError(status))
	x, err := b.Download()
	if err != nil {
		return err
	}
	for _, q := range []int{0, 2} {
		fmt.Printf("matrix %d: x = %v, y = %v\n", q, x.At(q*n, 0), x.At(q*n+1, 0))
	}
	return nil
}

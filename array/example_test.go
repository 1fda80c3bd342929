package array_test

import (
	"fmt"
	"log"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/linalg"
)

// check ends an example that fails. A program handles its errors.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// open is a session on the cpu device, with an array.
func open[T any](rows, cols int) (*linalg.Session, *linalg.Array[T]) {
	s, err := linalg.Open("cpu")
	check(err)
	a, err := linalg.NewArray[T](s, rows, cols)
	check(err)
	return s, a
}

// Operands are arrays, rows and columns, which are repeated, and numbers.
func Example() {
	s, x := open[float32](2, 3)
	defer s.Close()
	mask, err := linalg.NewArray[bool](s, 2, 3)
	check(err)
	check(array.Range(x, 1, 1))                          // 1 2 3, 4 5 6
	check(array.Mul(x, x, []float32{1, 10, 100}))        // by columns
	check(array.Less(mask, x, array.Value[float32](50))) // where x < 50
	check(array.Where(x, mask, x, array.Value[float32](50)))
	check(array.Log2(x, x))
	fmt.Printf("%.3f\n", x)
	// Output:
	// ⎡0.000  4.322  5.644⎤
	// ⎣2.000  5.644  5.644⎦
}

// Each array that is filled takes another stream of its seed.
func ExampleStream() {
	s, dice := open[int32](2, 6)
	defer s.Close()
	r := &array.Stream{Seed: 2026}
	check(array.Integers(r, dice, 1, 7))
	fmt.Printf("%d\n%v\n", r.Next, dice)
	// Output:
	// 1
	// ⎡3  4  5  2  6  3⎤
	// ⎣3  5  5  5  6  6⎦
}

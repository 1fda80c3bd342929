package gonumblas_test

import (
	"errors"
	"fmt"
	"log"

	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/linalg/gonumblas"
)

// A gonum program, with one line more.
func Example() {
	s, err := linalg.Open("") // the best device there is
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	gonumblas.Use(s) // the line: all of gonum uses it from here on
	defer gonumblas.Restore()

	a := mat.NewDense(2, 2, []float64{4, 1, 2, 3})
	b := mat.NewDense(2, 1, []float64{1, 2})
	var product, x mat.Dense
	product.Mul(a, a.T())
	if err := x.Solve(a, b); err != nil {
		log.Fatal(err)
	}
	fmt.Println(mat.Formatted(&product))
	fmt.Printf("x = %.2f\n", x.RawMatrix().Data)
	// Output:
	// ⎡17  11⎤
	// ⎣11  13⎦
	// x = [0.10 0.60]
}

// BLAS returns no errors: what the device fails at is computed on the host, with the same bits. A
// program that wants to know is told.
func ExampleOnError() {
	s, err := linalg.Open("cpu")
	if err != nil {
		log.Fatal(err)
	}
	gonumblas.Use(s, gonumblas.Crossover(0), gonumblas.OnError(func(err error) {
		fmt.Println("the device is closed:", errors.Is(err, backend.ErrClosed))
	}))
	defer gonumblas.Restore()
	s.Close() // as a failure of the device

	var x mat.Dense
	x.Mul(mat.NewDense(1, 1, []float64{6}), mat.NewDense(1, 1, []float64{7}))
	fmt.Println(x.At(0, 0), gonumblas.Err() != nil)
	// Output:
	// the device is closed: true
	// 42 true
}

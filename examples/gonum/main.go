// Command gonum is a program that uses gonum, with two lines more: it solves least squares problems
// through the normal equations, and the products in it run on the device, or on Tandem's own
// assembly where that is faster.
//
//	go run ./examples/gonum
//	go run ./examples/gonum -backend opencl
package main

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/examples/program"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/linalg/gonumblas"
)

func main() { program.Main(run) }

func run(w io.Writer, spec string) error {
	s, err := linalg.Open(spec)
	if err != nil {
		return err
	}
	defer s.Close()
	gonumblas.Use(s) // the line: all of gonum uses it from here on
	defer gonumblas.Restore()

	// Samples of 2 + 3t - t² at t between -1 and 1, fitted by a polynomial: x minimizes |Ax - b|,
	// where AᵀA x = Aᵀb.
	const samples, degree = 2000, 2
	a, b := mat.NewDense(samples, degree+1, nil), mat.NewDense(samples, 1, nil)
	for i := range samples {
		t := 2*float64(i)/(samples-1) - 1
		for j := range degree + 1 {
			a.Set(i, j, math.Pow(t, float64(j)))
		}
		b.Set(i, 0, 2+3*t-t*t)
	}
	var ata, atb, x mat.Dense
	ata.Mul(a.T(), a)
	atb.Mul(a.T(), b)
	if err := x.Solve(&ata, &atb); err != nil {
		return err
	}
	fmt.Fprintf(w, "coefficients: %.6f\n", x.RawMatrix().Data)
	fmt.Fprintln(w, "device:", s.Info().Name)
	return gonumblas.Err() // a product that the device failed at was computed on the host
}

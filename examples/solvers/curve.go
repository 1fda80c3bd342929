package main

import (
	"context"
	"fmt"
	"io"

	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/rmath"
)

const (
	points = 4000
	degree = 12
)

// curve fits a polynomial to points of exp(x) with x from -1 to 1 and an error of up to 1/200: the
// columns of A are Chebyshev's polynomials at x, and least squares finds how much of each there is.
func curve(ctx context.Context, w io.Writer, s *linalg.Session) error {
	a, y := linalg.NewMatrix[float64](points, degree+1, nil), linalg.NewMatrix[float64](points, 1, nil)
	for i := range points {
		x := float64(2*i-points+1) / points
		row := a.Row(i)
		row[0], row[1] = 1, x
		for k := 2; k <= degree; k++ {
			row[k] = float64(2*x*row[k-1]) - row[k-2]
		}
		y.Set(i, 0, rmath.Exp(x)+float64(i*7919%101-50)/10000)
	}
	var c linalg.Matrix[float64]
	ours, err := timed(func() (err error) {
		c, err = linalg.LeastSquares(a, y, linalg.On(s), linalg.WithContext(ctx))
		return err
	})
	if err != nil {
		return err
	}
	var other mat.Dense
	gonums, err := timed(func() error {
		return other.Solve(mat.NewDense(points, degree+1, a.Data), mat.NewDense(points, 1, y.Data))
	})
	if err != nil {
		return err
	}
	d, err := digest(c.Data)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "curve: %.3f + %.3f*T1 + %.3f*T2 + ..., digest %s, in %v, gonum %v\n", c.At(0, 0), c.At(1, 0),
		c.At(2, 0), d, ours, gonums)
	return nil
}

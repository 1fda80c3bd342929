package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/linalg"
)

const fields = 80

// truss is a bridge of square fields of bars, each with a diagonal: joint 2i is at (i, 0), joint
// 2i+1 above it. Its stiffness K is the sum over bars of what pulling each of its ends takes. The
// lower joints at both ends stand still. K*u = load says how far joints move, and with a mass of 1
// at each joint, the eigenvalues of K are the squares of the frequencies that it swings with.
func truss(ctx context.Context, w io.Writer, s *linalg.Session) error {
	k := stiffness()
	load := linalg.NewMatrix[float64](k.Rows, 1, nil)
	load.Set(2*fields-1, 0, -0.001) // down, in the middle below
	c, err := linalg.FactorCholesky(k, linalg.On(s), linalg.WithContext(ctx))
	if err != nil {
		return err
	}
	u, err := c.Solve(load, linalg.WithContext(ctx))
	if err != nil {
		return err
	}
	var f *linalg.EigSym[float64]
	ours, err := timed(func() (err error) {
		f, err = linalg.FactorEigSym(k, linalg.On(s), linalg.WithContext(ctx))
		return err
	})
	if err != nil {
		return err
	}
	gonums, err := timed(func() error {
		var other mat.EigenSym
		if !other.Factorize(mat.NewSymDense(k.Rows, k.Data), true) {
			return errors.New("gonum finds no eigenvalues")
		}
		return nil
	})
	if err != nil {
		return err
	}
	d, err := digest(f.Vectors().Data)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "truss: its middle sinks by %.3f, it swings at %.5f and %.5f, digest %s, in %v, gonum %v\n",
		-u.At(2*fields-1, 0), math.Sqrt(f.Values()[0]), math.Sqrt(f.Values()[1]), d, ours, gonums)
	return nil
}

// stiffness is K without the rows and columns of the joints that stand still, which are the first
// and the last but one.
func stiffness() linalg.Matrix[float64] {
	n := 4 * (fields + 1)
	all := linalg.NewMatrix[float64](n, n, nil)
	bar := func(p, q int) {
		x, y := float64(q/2-p/2), float64(q%2-p%2)
		length := math.Sqrt(float64(x*x) + float64(y*y))
		pull := [2]float64{x / length, y / length}
		for i, a := range pull {
			for j, b := range pull {
				v := float64(a*b) / length
				all.Set(2*p+i, 2*p+j, all.At(2*p+i, 2*p+j)+v)
				all.Set(2*q+i, 2*q+j, all.At(2*q+i, 2*q+j)+v)
				all.Set(2*p+i, 2*q+j, all.At(2*p+i, 2*q+j)-v)
				all.Set(2*q+i, 2*p+j, all.At(2*q+i, 2*p+j)-v)
			}
		}
	}
	for i := range fields + 1 {
		bar(2*i, 2*i+1)
		if i < fields {
			bar(2*i, 2*i+2)
			bar(2*i+1, 2*i+3)
			bar(2*i, 2*i+3)
		}
	}
	k := linalg.NewMatrix[float64](n-4, n-4, nil)
	free := func(i int) int {
		if i < n-6 {
			return i + 2
		}
		return i + 4
	}
	for i := range k.Rows {
		for j := range k.Cols {
			k.Set(i, j, all.At(free(i), free(j)))
		}
	}
	return k
}

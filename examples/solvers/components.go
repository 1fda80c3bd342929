package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/examples/handwriting"
	"github.com/tandem-gpu/tandem/linalg"
)

// components finds the directions in which images of digits differ most: the right singular vectors
// of the images less their mean. The squares of the singular values are how much each explains.
func components(ctx context.Context, w io.Writer, s *linalg.Session) error {
	images, _, err := handwriting.Load()
	if err != nil {
		return err
	}
	x := linalg.NewMatrix[float64](images.Rows, images.Cols, nil)
	for j := range x.Cols {
		sum := 0.0
		for i := range x.Rows {
			sum += float64(images.At(i, j)) // whole numbers
		}
		for i := range x.Rows {
			x.Set(i, j, float64(images.At(i, j))-sum/float64(x.Rows))
		}
	}
	var f *linalg.SVD[float64]
	ours, err := timed(func() (err error) {
		f, err = linalg.FactorSVD(x, linalg.On(s), linalg.WithContext(ctx))
		return err
	})
	if err != nil {
		return err
	}
	gonums, err := timed(func() error {
		var other mat.SVD
		if !other.Factorize(mat.NewDense(x.Rows, x.Cols, x.Data), mat.SVDThin) {
			return errors.New("gonum finds no singular values")
		}
		return nil
	})
	if err != nil {
		return err
	}
	total := 0.0
	for _, v := range f.Values() {
		total += float64(v * v)
	}
	d, err := digest(f.VT().Data)
	if err != nil {
		return err
	}
	fmt.Fprint(w, "components: they explain")
	for _, v := range f.Values()[:3] {
		fmt.Fprintf(w, " %.1f%%", 100*v*v/total)
	}
	fmt.Fprintf(w, " ..., digest %s, in %v, gonum %v\n", d, ours, gonums)
	return nil
}

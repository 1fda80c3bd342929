package linalg

import (
	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/element"
)

// View is a copy of the array in host memory, after the commands enqueued before, that gonum reads:
// for mat.Formatted, mat.Norm and whatever else takes a mat.Matrix. It does not follow what happens
// to the array later. At gives every element, which is an [Element], as float64, without rounding;
// of other types View is backend.ErrUnsupported.
//
// Of a float64 array with elements it is a *mat.Dense. Nothing else in this package copies between
// the device and gonum unless its name says so.
func (a *Array[T]) View() (mat.Matrix, error) {
	if _, err := arithmetic("View", a.elem); err != nil {
		return nil, err
	}
	m, err := a.Download()
	if err != nil {
		return nil, err
	}
	if d, ok := any(m).(Matrix[float64]); ok && d.Rows > 0 && d.Cols > 0 {
		return ToDense(d), nil
	}
	return view[T]{m}, nil
}

// view is a Matrix as gonum's.
type view[T any] struct{ m Matrix[T] }

func (v view[T]) Dims() (rows, cols int) { return v.m.Rows, v.m.Cols }
func (v view[T]) At(i, j int) float64 {
	x, _, _ := element.Number(v.m.At(i, j))
	return x
}
func (v view[T]) T() mat.Matrix { return mat.Transpose{Matrix: v} }

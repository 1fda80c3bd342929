// Package arrays computes the conformance cases of package array.
package arrays

import (
	"fmt"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/conformance"
	"github.com/tandem-gpu/tandem/linalg"
)

// On gives what computes operations on dev: conformance.Options.Arrays. What it holds there ends
// with the device, which stays the caller's.
func On(dev *backend.Device) (func(*conformance.ArrayOperation) (any, error), error) {
	s, err := linalg.NewSession(dev)
	if err != nil {
		return nil, err
	}
	return func(o *conformance.ArrayOperation) (any, error) {
		switch o.A.(type) {
		case []float32:
			return compute(&operation[float32]{ArrayOperation: o, s: s}, singles)
		case []float64:
			return compute(&operation[float64]{ArrayOperation: o, s: s}, floats[float64])
		}
		return compute(&operation[int32]{ArrayOperation: o, s: s}, integers)
	}, nil
}

// An operation is one at work. The first error stays.
type operation[T array.Element] struct {
	*conformance.ArrayOperation
	s   *linalg.Session
	err error
}

// compute is the result of an operation. Those of some types alone are others'.
func compute[T array.Element](o *operation[T], others func(o *operation[T], a *array.Array[T]) []T) ([]T, error) {
	a := o.upload(o.Rows, o.A)
	var out []T
	switch o.Name {
	case "Sum":
		out = o.reduced(a, array.Sum[T])
	case "Max":
		out = o.reduced(a, array.Max[T])
	case "ArgMax":
		out = o.reduced(a, func(c, a *array.Array[T]) error {
			rows, cols := c.Dims()
			index := newArray[int32](o, rows, cols)
			o.do(func() error { return array.ArgMax(index, a) })
			o.do(func() error { return array.Convert(c, index) })
			return o.err
		})
	case "CumSum":
		o.do(func() error { return array.CumSum(a, a) })
		out = o.download(a)
	case "Sort":
		index, numbers := newArray[int32](o, o.Rows, o.Cols), newArray[T](o, o.Rows, o.Cols)
		o.do(func() error { return array.ArgSort(index, a) })
		o.do(func() error { return array.Convert(numbers, index) })
		o.do(func() error { return array.Sort(a, a) })
		out = append(o.download(a), o.download(numbers)...)
	case "Map":
		out = o.mapped(a)
	default:
		out = others(o, a)
	}
	return out, o.err
}

// floats is the operations of floats alone.
func floats[T array.Float](o *operation[T], a *array.Array[T]) []T {
	stream := array.Stream{Seed: o.Seed, Next: conformance.ArrayStream}
	switch o.Name {
	case "Mean":
		return o.reduced(a, array.Mean[T])
	case "Norm":
		return o.reduced(a, func(c, a *array.Array[T]) error { return array.Norm(c, a, 2) })
	case "Uniform":
		o.do(func() error { return array.Uniform(&stream, a) })
	case "Normal":
		o.do(func() error { return array.Normal(&stream, a) })
	default:
		o.unknown()
	}
	return o.download(a)
}

// singles is floats, and the operation of float32 alone.
func singles(o *operation[float32], a *array.Array[float32]) []float32 {
	if o.Name == "Convert" {
		return append(through[array.Float16](o, a), through[array.BFloat16](o, a)...)
	}
	return floats(o, a)
}

// through is a after it has been of type H.
func through[H array.Half](o *operation[float32], a *array.Array[float32]) []float32 {
	h, c := newArray[H](o, o.Rows, o.Cols), newArray[float32](o, o.Rows, o.Cols)
	o.do(func() error { return array.Convert(h, a) })
	o.do(func() error { return array.Convert(c, h) })
	return o.download(c)
}

// integers is the operations of int32 alone.
func integers(o *operation[int32], a *array.Array[int32]) []int32 {
	stream := array.Stream{Seed: o.Seed, Next: conformance.ArrayStream}
	if o.Name != "Integers" {
		o.unknown()
	}
	o.do(func() error { return array.Integers(&stream, a, conformance.ArrayLow, conformance.ArrayHigh) })
	return o.download(a)
}

func (o *operation[T]) unknown() {
	o.do(func() error { return fmt.Errorf("arrays: %s: %w", o.Name, backend.ErrUnsupported) })
}

// mapped is a*b + c, rounded once, where a < b, and a - b elsewhere.
func (o *operation[T]) mapped(a *array.Array[T]) []T {
	b, c, less := o.upload(o.Rows, o.B), o.upload(1, o.C), newArray[bool](o, o.Rows, o.Cols)
	x := newArray[T](o, o.Rows, o.Cols)
	o.do(func() error { return array.Less(less, a, b) })
	o.do(func() error { return array.FMA(x, a, b, c) })
	o.do(func() error { return array.Sub(a, a, b) })
	o.do(func() error { return array.Where(a, less, x, a) })
	return o.download(a)
}

// reduced is what a reduction gives over all, over the rows and over the columns.
func (o *operation[T]) reduced(a *array.Array[T], f func(c, a *array.Array[T]) error) (out []T) {
	for _, shape := range [][2]int{{1, 1}, {1, o.Cols}, {o.Rows, 1}} {
		c := newArray[T](o, shape[0], shape[1])
		o.do(func() error { return f(c, a) })
		out = append(out, o.download(c)...)
	}
	return out
}

// do goes on, unless there was an error.
func (o *operation[T]) do(f func() error) {
	if o.err == nil {
		o.err = f()
	}
}

// newArray is an array with a gap after each row.
func newArray[E any, T array.Element](o *operation[T], rows, cols int) (a *array.Array[E]) {
	o.do(func() (err error) {
		whole, err := linalg.NewArray[E](o.s, rows, cols+o.Gap)
		if err == nil {
			a = whole.Slice(0, rows, 0, cols)
		}
		return err
	})
	return a
}

func (o *operation[T]) upload(rows int, x any) *array.Array[T] {
	a := newArray[T](o, rows, o.Cols)
	o.do(func() error { return a.CopyFrom(linalg.NewMatrix(rows, o.Cols, x.([]T))) })
	return a
}

func (o *operation[T]) download(a *array.Array[T]) (x []T) {
	o.do(func() error {
		m, err := a.Download()
		x = m.Data
		return err
	})
	return x
}

package array

import (
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile -pack

// Element is what arrays compute with.
type Element = linalg.Element

// Float is the floating-point numbers.
type Float interface{ float32 | float64 }

// An Array is linalg's.
type Array[T any] = linalg.Array[T]

// Const stands for an array of any shape whose elements are all Value.
type Const[T any] = linalg.Const[T]

// Arg is an operand of an elementwise function: an array, or a Const. Host memory will do, too; it
// is copied to the device, and the function waits.
type Arg[T any] interface{ linalg.MapArg[T] }

// session is that of c, nil where there is no array.
func session[T any](c *Array[T]) *linalg.Session {
	if c == nil {
		return nil
	}
	return c.Session()
}

// Value is v as an operand.
func Value[T any](v T) Const[T] { return Const[T]{Value: v} }

// Copy makes c a, which is repeated as any operand is. Arrays of other elements, and of other
// sessions, are copied by Download and Upload.
func Copy[T Element | bool, A Arg[T]](c *Array[T], a A) error { return launchSame[T](session(c), c, a) }

//tandem:map float32 float64 int32 bool
func same[T Element | bool](x T) T { return x }

// Fill makes all elements of c v.
func Fill[T Element | bool](c *Array[T], v T) error { return Copy(c, Value(v)) }

// Convert makes c a as numbers of c's type, as Go converts them, but that a float out of an
// int32's range becomes the nearest that there is, and NaN 0.
func Convert[D, S Element, A Arg[S]](c *Array[D], a A) error {
	return launchConvert[D, S](session(c), c, a)
}

//tandem:map float32,float64 float32,int32 float64,float32 float64,int32 int32,float32 int32,float64
func convert[D, S Element](x S) D { return D(x) }

// Range makes element k of c, counted along its rows, fma(k, step, start).
func Range[T Element](c *Array[T], start, step T) error {
	s := session(c)
	if s == nil {
		return launchIndices[T](nil, backend.Grid{}, c, start, step)
	}
	info := s.Info()
	rows, cols := c.Dims()
	return launchIndices[T](s, kernels.ElementwiseGrid(&info, int64(rows), int64(cols)), c, start, step)
}

// indices is Range's kernel.
//
//tandem:kernel float32 float64 int32
func indices[T Element](it gpu.Item, z gpu.Matrix[T], start, step T) {
	for i := it.Global(1); i < z.Rows; i += it.GlobalSize(1) {
		for j := it.Global(0); j < z.Cols; j += it.GlobalSize(0) {
			z.Set(i, j, gpu.FMA(T(i*z.Cols+j), step, start))
		}
	}
}

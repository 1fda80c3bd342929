// Package poly has kernels for the test of "tandem run".
package poly

import "github.com/tandem-gpu/tandem/gpu"

// poly makes x a*x + b.
//
//tandem:kernel float32 uint32 float64
func poly[T gpu.Number](it gpu.Item, x []T, a, b T) {
	for i := it.Global(0); i < len(x); i += it.GlobalSize(0) {
		x[i] = x[i]*a + b
	}
}

// pad makes out the elements of in, in rows of n of which the rest is 0, twice of each if twice.
//
//tandem:kernel
func pad(it gpu.Item, out gpu.Matrix[float64], in []uint32, n int, twice bool) {
	i, j := it.Global(1), it.Global(0)
	if i >= out.Rows || j >= out.Cols {
		return
	}
	v := uint32(0)
	if at := i*n + j; j < n && at < len(in) {
		v = in[at]
	}
	if twice {
		v *= 2
	}
	out.Set(i, j, float64(v))
}

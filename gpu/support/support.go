// Package support is what the Go that gpu/compile generates needs: the operations that Go leaves
// open, or that panic, as every device does them.
package support

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/internal/host"
)

// Value is x. The compiler does not know it to be constant, so that arithmetic on it wraps.
func Value[T any](x T) T { return x }

// Min is min(x, y), for packages that have a min of their own.
func Min[T gpu.Number](x, y T) T { return min(x, y) }

// Max is max(x, y).
func Max[T gpu.Number](x, y T) T { return max(x, y) }

// Div is x/y, and 0 where y is 0.
func Div[T gpu.Integer](x, y T) T {
	if y == 0 {
		return 0
	}
	return x / y
}

// Rem is x%y, and 0 where y is 0.
func Rem[T gpu.Integer](x, y T) T {
	if y == 0 {
		return 0
	}
	return x % y
}

// Int is x without its fraction as an integer: the nearest that I has where x is out of its range,
// and 0 for NaN.
func Int[I gpu.Integer, F gpu.Float](x F) I {
	var zero I
	v, bits, signed := float64(x), 8*int(unsafe.Sizeof(zero)), zero-1 < 0
	low, high := 0.0, math.Ldexp(1, bits)
	largest := ^zero
	if signed {
		low, high = -high/2, high/2
		largest = ^(I(1) << (bits - 1))
	}
	switch {
	case v != v:
		return 0
	case v >= high:
		return largest
	case v <= low:
		return ^largest
	}
	return I(v)
}

// Float32 is the float32 that is the nearest to x, ties to even. On processors of 32 bits Go 1.26
// takes another for some x from 2^46 on, but none of 53 bits, of which the last tells whether there
// was more.
func Float32[I int64 | uint64](x I) float32 {
	high := x >> 53
	switch {
	case bits.UintSize == 64:
		return float32(x)
	case high == 0 || high == ^I(0):
		return float32(float64(x))
	}
	h := x >> 11
	if x&(1<<11-1) != 0 {
		h |= 1
	}
	return float32(float64(h)) * (1 << 11)
}

// FMA32 is a*b + c, rounded once.
func FMA32(a, b, c float32) float32 { return host.FMA32(a, b, c) }

// Slice is the slice that a kernel sees of its arguments: a buffer, the offset and the number of
// its elements.
func Slice[T any](args []backend.Arg) []T { return part[T](args, int(args[2].Int64())) }

// Matrix is the elements of the matrix that a kernel sees of its arguments: a buffer, an offset,
// rows, columns and stride.
func Matrix[T any](args []backend.Arg) []T {
	rows, cols, stride := int(args[2].Int64()), int(args[3].Int64()), int(args[4].Int64())
	if rows == 0 || cols == 0 {
		return nil
	}
	return part[T](args, (rows-1)*stride+cols)
}

func part[T any](args []backend.Arg, n int) []T {
	if n == 0 {
		return nil
	}
	off := int(args[1].Int64())
	return backend.Mem[T](args[0])[off : off+n : off+n]
}

// Arg is x as an argument of a kernel: of 8 bytes, or of 4 where it has no more.
func Arg[T gpu.Number](x T) backend.Arg {
	wide := unsafe.Sizeof(x) == 8
	switch float := T(1)/T(2) != 0; {
	case float && wide:
		return backend.Float64(float64(x))
	case float:
		return backend.Float32(float32(x))
	case wide:
		return backend.Uint64(uint64(x))
	}
	return backend.Uint32(uint32(x))
}

// Bool is x as an argument of a kernel.
func Bool(x bool) backend.Arg {
	if x {
		return backend.Uint32(1)
	}
	return backend.Uint32(0)
}

// MulHi is the upper half of x*y.
func MulHi(x, y uint64) uint64 {
	high, _ := bits.Mul64(x, y)
	return high
}

package array

import (
	"math"

	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/gpu/launch"
	"github.com/tandem-gpu/tandem/gpu/support"
)

// FloorDiv makes c a/b rounded down, as Python's // is. Of floats it is, with m = Mod(a, b) and q =
// (a-m)/b, of which 1 is taken where m is not 0 and has another sign than b, the integer next to q:
// each step is rounded. Where b is 0 it is a/b, of int32 0; a zero has the sign of a/b.
func FloorDiv[T Element, A, B Arg[T]](c *Array[T], a A, b B) error {
	return floored[T](floorDivs, "array.FloorDiv", c, a, b)
}

// FloorMod makes c the remainder of [FloorDiv] with b's sign, as Python's % is: Mod(a, b), to which
// b is added, rounded, where that is not 0 and has another sign than b. Where b is 0 it is NaN, of
// int32 0; a zero has b's sign.
func FloorMod[T Element, A, B Arg[T]](c *Array[T], a A, b B) error {
	return floored[T](floorMods, "array.FloorMod", c, a, b)
}

var (
	floorDivs = support.Kernels{
		{Types: []any{float32(0)}, Kernel: &floorDivFloat32Kernel},
		{Types: []any{float64(0)}, Kernel: &floorDivFloat64Kernel},
		{Types: []any{int32(0)}, Kernel: &floorQuoKernel},
	}
	floorMods = support.Kernels{
		{Types: []any{float32(0)}, Kernel: &floorModFloat32Kernel},
		{Types: []any{float64(0)}, Kernel: &floorModFloat64Kernel},
		{Types: []any{int32(0)}, Kernel: &floorRemKernel},
	}
)

func floored[T Element, A, B Arg[T]](k support.Kernels, name string, c *Array[T], a A, b B) error {
	call := launch.NewMap(session(c), k.Of(*new(T)), name)
	launch.Result[T](&call, c)
	launch.Input[T](&call, a)
	launch.Input[T](&call, b)
	return call.Launch()
}

//tandem:map float32 float64
func floorDiv[T Float](x, y T) T {
	if y == 0 {
		return x / y
	}
	m := gpu.Mod(x, y)
	q := (x - m) / y
	if m != 0 && m < 0 != (y < 0) {
		q--
	}
	if q == 0 {
		return T(math.Copysign(0, float64(x/y)))
	}
	f := gpu.Floor(q)
	if q-f > 0.5 {
		f++
	}
	return f
}

//tandem:map float32 float64
func floorMod[T Float](x, y T) T {
	m := gpu.Mod(x, y)
	switch {
	case m == 0:
		return T(math.Copysign(0, float64(y)))
	case m < 0 != (y < 0):
		return m + y
	}
	return m
}

//tandem:map
func floorQuo(x, y int32) int32 {
	q := quo(x, y)
	if rem(x, y) != 0 && x < 0 != (y < 0) {
		q--
	}
	return q
}

//tandem:map
func floorRem(x, y int32) int32 {
	m := rem(x, y)
	if m != 0 && m < 0 != (y < 0) {
		m += y
	}
	return m
}

package array

import (
	"fmt"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/gpu/launch"
	"github.com/tandem-gpu/tandem/gpu/support"
)

// Convert makes c a as numbers of c's type, as Go converts them, but that a float out of an
// int32's range becomes the nearest that there is, and NaN 0. Of one type it is Copy. [Where] makes
// numbers of a mask. A [Half] is converted from and to float32 alone.
//
// To float32 that is exact; from it it is rounded once, to nearest, ties to even: what is too large
// is an infinity, and a NaN keeps its sign and the upper bits of its payload, quiet as a Half.
func Convert[D, S Element | Half](c *Array[D], a *Array[S]) error {
	if same, ok := any(c).(*Array[S]); ok {
		return Copy(same, a)
	}
	kernel := convertKernels.Of(*new(D), *new(S))
	if kernel == nil {
		kernel = halfConversions.Of(*new(D), *new(S))
	}
	if kernel == nil {
		return argument("Convert", fmt.Sprintf("of %T to %T; float32 may come between", *new(S), *new(D)))
	}
	call := launch.NewMap(session(c), kernel, "array.Convert")
	launch.Result[D](&call, c)
	launch.Input[S](&call, a)
	return call.Launch()
}

// halfConversions are the kernels of Convert that are functions of their own.
var halfConversions = support.Kernels{
	{Types: []any{float32(0), Float16(0)}, Kernel: &widenFloat16Kernel},
	{Types: []any{float32(0), BFloat16(0)}, Kernel: &widenBFloat16Kernel},
	{Types: []any{Float16(0), float32(0)}, Kernel: &toFloat16Kernel},
	{Types: []any{BFloat16(0), float32(0)}, Kernel: &toBFloat16Kernel},
}

//tandem:map float32,float64 float32,int32 float64,float32 float64,int32 int32,float32 int32,float64
func convert[D, S Element](x S) D { return D(x) }

//tandem:map
func widenFloat16(x Float16) float32 { return x.Float32() }

//tandem:map
func widenBFloat16(x BFloat16) float32 { return x.Float32() }

//tandem:map
func toFloat16(x float32) Float16 { return element.ToFloat16(x) }

//tandem:map
func toBFloat16(x float32) BFloat16 { return element.ToBFloat16(x) }

package array

import (
	"math"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/gpu/launch"
	"github.com/tandem-gpu/tandem/gpu/support"
	"github.com/tandem-gpu/tandem/internal/inside"
)

// Stored is what Convert, Copy and Fill take: the numbers that there is arithmetic in, others that
// are only stored, and bool.
type Stored interface {
	Element | bool | Half | int8 | int16 | int64 | uint8 | uint16 | uint32 | uint64
}

// Convert makes c a, which is repeated as any operand is, as elements of c's type:
//   - of integers the low bits, so that they wrap, as Go and NumPy have it;
//   - of a float, as an integer, its whole part, or the nearest that the type has where that is
//     beyond it, and 0 of NaN;
//   - of numbers as floats the nearest, ties to even: what is too large is an infinity. A NaN that
//     goes from float32 to 16 bits keeps its sign and the upper bits of its payload, and is quiet;
//   - as bool whether it is not 0, as NaN is; of bool 1 and 0. [Where] makes other numbers.
//
// An integer becomes 16 bits by way of float32: a [BFloat16] of one beyond 2^24 is rounded twice.
// Between numbers of 16 bits and any but the floats Convert takes 4 bytes of the device's memory
// for each element of a while it runs. c shares no elements with a of another type; of one type
// Convert is Copy.
func Convert[D, S Stored](c *Array[D], a *Array[S]) error {
	if same, ok := any(c).(*Array[S]); ok {
		return Copy(same, a)
	}
	to, from := any(*new(D)), any(*new(S))
	if kernel := halfConversions.Of(to, from); kernel != nil {
		return convert(kernel, c, a)
	}
	if isHalf(to) || isHalf(from) {
		if err := check("Convert", "a", a, session(c)); err != nil {
			return err
		}
		rows, cols := a.Dims()
		return inside.WithScratch(a.Session(), rows, cols, func(x *Array[float32]) error {
			if err := Convert(x, a); err != nil {
				return err
			}
			return Convert(c, x)
		})
	}
	return convert(conversion(to, from), c, a)
}

func convert[D, S Stored](kernel *backend.Source, c *Array[D], a *Array[S]) error {
	call := launch.NewMap(session(c), kernel, "array.Convert")
	launch.Result[D](&call, c)
	launch.Input[S](&call, a)
	return call.Launch()
}

func isHalf(v any) bool {
	switch v.(type) {
	case Float16, BFloat16:
		return true
	}
	return false
}

// halfConversions are the conversions of 16 bits that are rounded at most once.
var halfConversions = support.Kernels{
	{Types: []any{float32(0), Float16(0)}, Kernel: &widenFloat16Kernel},
	{Types: []any{float32(0), BFloat16(0)}, Kernel: &widenBFloat16Kernel},
	{Types: []any{Float16(0), float32(0)}, Kernel: &toFloat16Kernel},
	{Types: []any{BFloat16(0), float32(0)}, Kernel: &toBFloat16Kernel},
	{Types: []any{Float16(0), float64(0)}, Kernel: &doubleToFloat16Kernel},
	{Types: []any{BFloat16(0), float64(0)}, Kernel: &doubleToBFloat16Kernel},
}

// conversion is the kernel of a conversion of other numbers and of bool. Bits are moved as unsigned
// integers: the sign of an integer matters where it becomes a wider one, or a float.
func conversion(to, from any) *backend.Source {
	bits, size := unsignedOf(from)
	result, room := unsignedOf(to)
	if _, is := to.(bool); is {
		return toBoolKernels.Of(bits)
	}
	if size > 0 && room == size {
		return sameKernels.Of(bits)
	}
	if _, is := from.(bool); is || room > 0 && room < size {
		from = bits
	}
	if size > 0 {
		to = result // a float's is itself
	}
	switch to.(type) {
	case int8:
		return toInt8Kernels.Of(from)
	case int16:
		return toInt16Kernels.Of(from)
	case int32:
		return toInt32Kernels.Of(from)
	case int64:
		return toInt64Kernels.Of(from)
	case uint8:
		return toUint8Kernels.Of(from)
	case uint16:
		return toUint16Kernels.Of(from)
	case uint32:
		return toUint32Kernels.Of(from)
	case uint64:
		return toUint64Kernels.Of(from)
	case float32:
		return toFloat32Kernels.Of(from)
	}
	return toFloat64Kernels.Of(from)
}

// unsignedOf is the unsigned integer with the bits of an integer or a bool, with its size in bytes;
// of a float it is that, and 0.
func unsignedOf(v any) (bits any, size int) {
	switch v.(type) {
	case bool, int8, uint8:
		return uint8(0), 1
	case int16, uint16:
		return uint16(0), 2
	case int32, uint32:
		return uint32(0), 4
	case int64, uint64:
		return uint64(0), 8
	}
	return v, 0
}

type numeric interface {
	Element | int8 | int16 | int64 | uint8 | uint16 | uint32 | uint64
}

//tandem:map uint8 uint16 uint32 uint64 float32 float64
func toBool[S numeric](x S) bool { return x != 0 }

//tandem:map float32 float64
func toInt8[S numeric](x S) int8 { return int8(x) }

//tandem:map float32 float64
func toInt16[S numeric](x S) int16 { return int16(x) }

//tandem:map float32 float64
func toInt32[S numeric](x S) int32 { return int32(x) }

//tandem:map float32 float64
func toInt64[S numeric](x S) int64 { return int64(x) }

//tandem:map float32 float64 uint16 uint32 uint64
func toUint8[S numeric](x S) uint8 { return uint8(x) }

//tandem:map float32 float64 int8 uint8 uint32 uint64
func toUint16[S numeric](x S) uint16 { return uint16(x) }

//tandem:map float32 float64 int8 uint8 int16 uint16 uint64
func toUint32[S numeric](x S) uint32 { return uint32(x) }

//tandem:map float32 float64 int8 uint8 int16 uint16 int32 uint32
func toUint64[S numeric](x S) uint64 { return uint64(x) }

//tandem:map float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64
func toFloat32[S numeric](x S) float32 { return float32(x) }

//tandem:map float32 int8 int16 int32 int64 uint8 uint16 uint32 uint64
func toFloat64[S numeric](x S) float64 { return float64(x) }

//tandem:map
func widenFloat16(x Float16) float32 { return x.Float32() }

//tandem:map
func widenBFloat16(x BFloat16) float32 { return x.Float32() }

//tandem:map
func toFloat16(x float32) Float16 { return element.ToFloat16(x) }

//tandem:map
func toBFloat16(x float32) BFloat16 { return element.ToBFloat16(x) }

//tandem:map
func doubleToFloat16(x float64) Float16 { return element.ToFloat16(odd(x)) }

//tandem:map
func doubleToBFloat16(x float64) BFloat16 { return element.ToBFloat16(odd(x)) }

// odd is one of the two float32 around x, the one whose last bit is 1, or x itself: rounded once
// more, to fewer bits, it is x rounded once (Boldo and Melquiond, 2005).
func odd(x float64) float32 {
	y := float32(x)
	bits := math.Float32bits(y)
	switch {
	case x != x || float64(y) == x || bits&1 == 1:
		return y
	case math.Abs(float64(y)) > math.Abs(x):
		return math.Float32frombits(bits - 1)
	}
	return math.Float32frombits(bits + 1)
}

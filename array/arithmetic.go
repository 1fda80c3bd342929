package array

import (
	"math"

	"github.com/tandem-gpu/tandem/gpu"
)

// Add makes c a + b. int32 wraps, here and in what follows.
func Add[T Element, A, B Arg[T]](c *Array[T], a A, b B) error {
	return launchAdd[T](session(c), c, a, b)
}

//tandem:map float32 float64 int32
func add[T Element](x, y T) T { return x + y }

// Sub makes c a - b.
func Sub[T Element, A, B Arg[T]](c *Array[T], a A, b B) error {
	return launchSub[T](session(c), c, a, b)
}

//tandem:map float32 float64 int32
func sub[T Element](x, y T) T { return x - y }

// Mul makes c a*b, element by element: Mul(c, a, Value[float32](2)) doubles. The product of
// matrices is c.Mul(a, b), as [linalg.Array.Mul] has it.
func Mul[T Element, A, B Arg[T]](c *Array[T], a A, b B) error {
	return launchMul[T](session(c), c, a, b)
}

//tandem:map float32 float64 int32
func mul[T Element](x, y T) T { return x * y }

// Div makes c a/b.
func Div[T Float, A, B Arg[T]](c *Array[T], a A, b B) error {
	return launchDiv[T](session(c), c, a, b)
}

//tandem:map float32 float64
func div[T Float](x, y T) T { return x / y }

// FMA makes c a*b + d, rounded once.
func FMA[T Element, A, B, D Arg[T]](c *Array[T], a A, b B, d D) error {
	return launchFma[T](session(c), c, a, b, d)
}

//tandem:map float32 float64 int32
func fma[T Element](x, y, z T) T { return gpu.FMA(x, y, z) }

// Neg makes c -a.
func Neg[T Element, A Arg[T]](c *Array[T], a A) error {
	return launchNeg[T](session(c), c, a)
}

//tandem:map float32 float64 int32
func neg[T Element](x T) T { return -x }

// Abs makes c the magnitude of a; that of the smallest int32 is itself.
func Abs[T Element, A Arg[T]](c *Array[T], a A) error {
	return launchAbs[T](session(c), c, a)
}

//tandem:map float32 float64 int32
func abs[T Element](x T) T {
	if x < 0 {
		return -x
	}
	return x + 0 // of -0 too
}

// Sign makes c -1, 0 or 1 as a is below, at or above 0, and a where it is -0 or NaN.
func Sign[T Element, A Arg[T]](c *Array[T], a A) error {
	return launchSign[T](session(c), c, a)
}

//tandem:map float32 float64 int32
func sign[T Element](x T) T {
	switch {
	case x < 0:
		return -1
	case x > 0:
		return 1
	}
	return x
}

// Minimum makes c the smaller of a and b, as Go's min does: NaN if one is, and -0 below +0.
func Minimum[T Element, A, B Arg[T]](c *Array[T], a A, b B) error {
	return launchMinimum[T](session(c), c, a, b)
}

//tandem:map float32 float64 int32
func minimum[T Element](x, y T) T { return min(x, y) }

// Maximum makes c the larger of a and b, as Go's max does: NaN if one is, and +0 above -0.
func Maximum[T Element, A, B Arg[T]](c *Array[T], a A, b B) error {
	return launchMaximum[T](session(c), c, a, b)
}

//tandem:map float32 float64 int32
func maximum[T Element](x, y T) T { return max(x, y) }

// Clip makes c min(max(a, lo), hi).
func Clip[T Element, A, B, D Arg[T]](c *Array[T], a A, lo B, hi D) error {
	return launchClip[T](session(c), c, a, lo, hi)
}

//tandem:map float32 float64 int32
func clip[T Element](x, y, z T) T { return min(max(x, y), z) }

// Sqrt makes c the square root of a, rounded to nearest even.
func Sqrt[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchSqrt[T](session(c), c, a)
}

//tandem:map float32 float64
func sqrt[T Float](x T) T {
	// float64 has more than twice the bits of float32: rounding twice changes nothing
	return T(math.Sqrt(float64(x)))
}

// Quo makes c a/b without its fraction, and 0 where b is 0.
func Quo[A, B Arg[int32]](c *Array[int32], a A, b B) error {
	return launchQuo(session(c), c, a, b)
}

//tandem:map
func quo(x, y int32) int32 {
	if y == 0 {
		return 0
	}
	return x / y
}

// Rem makes c a - b*(a/b), as Go's % does, and 0 where b is 0.
func Rem[A, B Arg[int32]](c *Array[int32], a A, b B) error {
	return launchRem(session(c), c, a, b)
}

//tandem:map
func rem(x, y int32) int32 {
	if y == 0 {
		return 0
	}
	return x % y
}

// BitAnd makes c a & b.
func BitAnd[A, B Arg[int32]](c *Array[int32], a A, b B) error {
	return launchBitAnd(session(c), c, a, b)
}

//tandem:map
func bitAnd(x, y int32) int32 { return x & y }

// BitOr makes c a | b.
func BitOr[A, B Arg[int32]](c *Array[int32], a A, b B) error {
	return launchBitOr(session(c), c, a, b)
}

//tandem:map
func bitOr(x, y int32) int32 { return x | y }

// BitXor makes c a ^ b.
func BitXor[A, B Arg[int32]](c *Array[int32], a A, b B) error {
	return launchBitXor(session(c), c, a, b)
}

//tandem:map
func bitXor(x, y int32) int32 { return x ^ y }

// ShiftLeft makes c a << b, where b is taken as unsigned.
func ShiftLeft[A, B Arg[int32]](c *Array[int32], a A, b B) error {
	return launchShiftLeft(session(c), c, a, b)
}

//tandem:map
func shiftLeft(x, y int32) int32 { return x << uint32(y) }

// ShiftRight makes c a >> b with a's sign, where b is taken as unsigned.
func ShiftRight[A, B Arg[int32]](c *Array[int32], a A, b B) error {
	return launchShiftRight(session(c), c, a, b)
}

//tandem:map
func shiftRight(x, y int32) int32 { return x >> uint32(y) }

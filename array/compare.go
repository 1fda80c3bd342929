package array

import (
	"cmp"

	"github.com/tandem-gpu/tandem/linalg"
)

// Masks are arrays of bool.

// Less makes c true where a is below b.
func Less[T Element, B Arg[T]](c *Array[bool], a *Array[T], b B) error {
	return launchLess[T](session(c), c, a, b)
}

//tandem:map float32 float64 int32
func less[T Element](x, y T) bool { return x < y }

// LessEqual makes c true where a is at or below b.
func LessEqual[T Element, B Arg[T]](c *Array[bool], a *Array[T], b B) error {
	return launchLessEqual[T](session(c), c, a, b)
}

//tandem:map float32 float64 int32
func lessEqual[T Element](x, y T) bool { return x <= y }

// Equal makes c true where a equals b; NaN equals nothing.
func Equal[T Element | bool, B Arg[T]](c *Array[bool], a *Array[T], b B) error {
	return launchEquals[T](session(c), c, a, b)
}

//tandem:map float32 float64 int32 bool
func equals[T Element | bool](x, y T) bool { return x == y }

// NotEqual makes c true where a differs from b; NaN differs from all.
func NotEqual[T Element | bool, B Arg[T]](c *Array[bool], a *Array[T], b B) error {
	return launchNotEqual[T](session(c), c, a, b)
}

//tandem:map float32 float64 int32 bool
func notEqual[T Element | bool](x, y T) bool { return x != y }

// Greater makes c true where a is above b.
func Greater[T Element, B Arg[T]](c *Array[bool], a *Array[T], b B) error {
	return launchLess[T](session(c), c, b, a)
}

// GreaterEqual makes c true where a is at or above b.
func GreaterEqual[T Element, B Arg[T]](c *Array[bool], a *Array[T], b B) error {
	return launchLessEqual[T](session(c), c, b, a)
}

// IsNaN makes c true where a is NaN.
func IsNaN[T Float](c *Array[bool], a *Array[T]) error {
	return launchIsNaN[T](session(c), c, a)
}

//tandem:map float32 float64
func isNaN[T Float](x T) bool { return x != x }

// IsFinite makes c true where a is neither infinite nor NaN.
func IsFinite[T Float](c *Array[bool], a *Array[T]) error {
	return launchIsFinite[T](session(c), c, a)
}

//tandem:map float32 float64
func isFinite[T Float](x T) bool { return x-x == 0 }

// And makes c true where a and b are.
func And[A, B Arg[bool]](c *Array[bool], a A, b B) error {
	return launchAnd(session(c), c, a, b)
}

//tandem:map
func and(x, y bool) bool { return x && y }

// Or makes c true where a or b is.
func Or[A, B Arg[bool]](c *Array[bool], a A, b B) error {
	return launchOr(session(c), c, a, b)
}

//tandem:map
func or(x, y bool) bool { return x || y }

// Xor makes c true where a and b differ.
func Xor[A, B Arg[bool]](c *Array[bool], a A, b B) error {
	return launchNotEqual[bool](session(c), c, a, b)
}

// Not makes c true where a is not.
func Not[A Arg[bool]](c *Array[bool], a A) error {
	return launchEquals[bool](session(c), c, a, Value(false))
}

// Where makes c a where mask is true, and b elsewhere.
func Where[T Stored, A Arg[bool], B, D Arg[T]](c *Array[T], mask A, a B, b D) error {
	return launchWhere[T](session(c), c, mask, a, b)
}

//tandem:map float32 float64 int32 bool Float16 BFloat16 int8 int16 int64 uint8 uint16 uint32 uint64
func where[T Stored](x bool, y, z T) T {
	if x {
		return y
	}
	return z
}

// IsClose makes c true where a is close to b, as [AllClose] has it.
func IsClose[T Float, A, B Arg[T]](c *Array[bool], a A, b B, rtol, atol T) error {
	return launchNear[T](session(c), c, a, b, Value(rtol), Value(atol))
}

// AllClose is whether all elements are equal, or b's is finite and |a-b| <= atol + rtol*|b|: an
// infinite b is close to itself alone, NaN to nothing. Each step is rounded once. AllClose waits.
func AllClose[T Float, B Arg[T]](a *Array[T], b B, rtol, atol T) (all bool, err error) {
	s, rows, cols, err := dims("AllClose", "a", a)
	if err != nil {
		return false, err
	}
	mask, err := linalg.NewArray[bool](s, rows, cols)
	if err != nil {
		return false, err
	}
	defer func() { err = cmp.Or(err, mask.Free()) }()
	if err := IsClose(mask, a, b, rtol, atol); err != nil {
		return false, err
	}
	return number(s, func(c *Array[bool]) error { return All(c, mask) })
}

//tandem:map float32 float64
func near[T Float](x, y, rtol, atol T) bool {
	most := atol + T(rtol*abs(y))
	return x == y || abs(x-y) <= most && y-y == 0
}

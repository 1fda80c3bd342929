package gpu

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/rmath"
	"github.com/tandem-gpu/tandem/rmath/f32"
)

// Elementary functions for generic kernels: those of package rmath/f32 for float32, of package
// rmath for float64.

func unary[T Float](x T, f func(float32) float32, g func(float64) float64) T {
	if unsafe.Sizeof(x) == 4 {
		return T(f(float32(x)))
	}
	return T(g(float64(x)))
}

func binary[T Float](x, y T, f func(x, y float32) float32, g func(x, y float64) float64) T {
	if unsafe.Sizeof(x) == 4 {
		return T(f(float32(x), float32(y)))
	}
	return T(g(float64(x), float64(y)))
}

// Exp is e^x.
func Exp[T Float](x T) T { return unary(x, f32.Exp, rmath.Exp) }

// Exp2 is 2^x.
func Exp2[T Float](x T) T { return unary(x, f32.Exp2, rmath.Exp2) }

// Expm1 is e^x - 1.
func Expm1[T Float](x T) T { return unary(x, f32.Expm1, rmath.Expm1) }

// Log is the natural logarithm of x.
func Log[T Float](x T) T { return unary(x, f32.Log, rmath.Log) }

// Log2 is the logarithm of x to the base 2.
func Log2[T Float](x T) T { return unary(x, f32.Log2, rmath.Log2) }

// Log10 is the logarithm of x to the base 10.
func Log10[T Float](x T) T { return unary(x, f32.Log10, rmath.Log10) }

// Log1p is ln(1+x).
func Log1p[T Float](x T) T { return unary(x, f32.Log1p, rmath.Log1p) }

// Sin is the sine of x.
func Sin[T Float](x T) T { return unary(x, f32.Sin, rmath.Sin) }

// Cos is the cosine of x.
func Cos[T Float](x T) T { return unary(x, f32.Cos, rmath.Cos) }

// Tan is the tangent of x.
func Tan[T Float](x T) T { return unary(x, f32.Tan, rmath.Tan) }

// SinPi is the sine of pi x.
func SinPi[T Float](x T) T { return unary(x, f32.SinPi, rmath.SinPi) }

// CosPi is the cosine of pi x.
func CosPi[T Float](x T) T { return unary(x, f32.CosPi, rmath.CosPi) }

// Asin is the arc sine of x.
func Asin[T Float](x T) T { return unary(x, f32.Asin, rmath.Asin) }

// Acos is the arc cosine of x.
func Acos[T Float](x T) T { return unary(x, f32.Acos, rmath.Acos) }

// Atan is the arc tangent of x.
func Atan[T Float](x T) T { return unary(x, f32.Atan, rmath.Atan) }

// Sinh is the hyperbolic sine of x.
func Sinh[T Float](x T) T { return unary(x, f32.Sinh, rmath.Sinh) }

// Cosh is the hyperbolic cosine of x.
func Cosh[T Float](x T) T { return unary(x, f32.Cosh, rmath.Cosh) }

// Tanh is the hyperbolic tangent of x.
func Tanh[T Float](x T) T { return unary(x, f32.Tanh, rmath.Tanh) }

// Asinh is the inverse hyperbolic sine of x.
func Asinh[T Float](x T) T { return unary(x, f32.Asinh, rmath.Asinh) }

// Acosh is the inverse hyperbolic cosine of x.
func Acosh[T Float](x T) T { return unary(x, f32.Acosh, rmath.Acosh) }

// Atanh is the inverse hyperbolic tangent of x.
func Atanh[T Float](x T) T { return unary(x, f32.Atanh, rmath.Atanh) }

// Cbrt is the cube root of x.
func Cbrt[T Float](x T) T { return unary(x, f32.Cbrt, rmath.Cbrt) }

// Rsqrt is 1 / sqrt(x).
func Rsqrt[T Float](x T) T { return unary(x, f32.Rsqrt, rmath.Rsqrt) }

// Erf is the error function of x.
func Erf[T Float](x T) T { return unary(x, f32.Erf, rmath.Erf) }

// Erfc is 1 - Erf(x).
func Erfc[T Float](x T) T { return unary(x, f32.Erfc, rmath.Erfc) }

// Sigmoid is 1 / (1 + e^-x).
func Sigmoid[T Float](x T) T { return unary(x, f32.Sigmoid, rmath.Sigmoid) }

// Floor is the largest integer that is not above x.
func Floor[T Float](x T) T { return unary(x, f32.Floor, rmath.Floor) }

// Ceil is the smallest integer that is not below x.
func Ceil[T Float](x T) T { return unary(x, f32.Ceil, rmath.Ceil) }

// Trunc is the integer part of x.
func Trunc[T Float](x T) T { return unary(x, f32.Trunc, rmath.Trunc) }

// Round is the integer nearest to x, of two the one away from 0.
func Round[T Float](x T) T { return unary(x, f32.Round, rmath.Round) }

// RoundToEven is the integer nearest to x, of two the even one.
func RoundToEven[T Float](x T) T { return unary(x, f32.RoundToEven, rmath.RoundToEven) }

// Pow is x^y.
func Pow[T Float](x, y T) T { return binary(x, y, f32.Pow, rmath.Pow) }

// Atan2 is the angle of the point (x, y).
func Atan2[T Float](y, x T) T { return binary(y, x, f32.Atan2, rmath.Atan2) }

// Hypot is sqrt(x^2+y^2).
func Hypot[T Float](x, y T) T { return binary(x, y, f32.Hypot, rmath.Hypot) }

// Mod is the remainder of x/y, with the sign of x.
func Mod[T Float](x, y T) T { return binary(x, y, f32.Mod, rmath.Mod) }

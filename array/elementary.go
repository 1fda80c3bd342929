package array

import "github.com/tandem-gpu/tandem/gpu"

// Elementary functions have the bits of package rmath, and of rmath/f32 for float32; docs/rmath.md
// tells how exact they are. A device needs float64 for them, those of float32 too.

// Exp makes c e^a.
func Exp[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchExp[T](session(c), c, a)
}

//tandem:map float32 float64
func exp[T Float](x T) T { return gpu.Exp(x) }

// Exp2 makes c 2^a.
func Exp2[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchExp2[T](session(c), c, a)
}

//tandem:map float32 float64
func exp2[T Float](x T) T { return gpu.Exp2(x) }

// Expm1 makes c e^a - 1.
func Expm1[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchExpm1[T](session(c), c, a)
}

//tandem:map float32 float64
func expm1[T Float](x T) T { return gpu.Expm1(x) }

// Log makes c the natural logarithm of a.
func Log[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchLog[T](session(c), c, a)
}

//tandem:map float32 float64
func log[T Float](x T) T { return gpu.Log(x) }

// Log2 makes c the logarithm of a to the base 2.
func Log2[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchLog2[T](session(c), c, a)
}

//tandem:map float32 float64
func log2[T Float](x T) T { return gpu.Log2(x) }

// Log10 makes c the logarithm of a to the base 10.
func Log10[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchLog10[T](session(c), c, a)
}

//tandem:map float32 float64
func log10[T Float](x T) T { return gpu.Log10(x) }

// Log1p makes c ln(1+a).
func Log1p[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchLog1p[T](session(c), c, a)
}

//tandem:map float32 float64
func log1p[T Float](x T) T { return gpu.Log1p(x) }

// Sin makes c the sine of a.
func Sin[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchSin[T](session(c), c, a)
}

//tandem:map float32 float64
func sin[T Float](x T) T { return gpu.Sin(x) }

// Cos makes c the cosine of a.
func Cos[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchCos[T](session(c), c, a)
}

//tandem:map float32 float64
func cos[T Float](x T) T { return gpu.Cos(x) }

// Tan makes c the tangent of a.
func Tan[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchTan[T](session(c), c, a)
}

//tandem:map float32 float64
func tan[T Float](x T) T { return gpu.Tan(x) }

// SinPi makes c the sine of pi times a.
func SinPi[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchSinPi[T](session(c), c, a)
}

//tandem:map float32 float64
func sinPi[T Float](x T) T { return gpu.SinPi(x) }

// CosPi makes c the cosine of pi times a.
func CosPi[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchCosPi[T](session(c), c, a)
}

//tandem:map float32 float64
func cosPi[T Float](x T) T { return gpu.CosPi(x) }

// Asin makes c the arc sine of a.
func Asin[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchAsin[T](session(c), c, a)
}

//tandem:map float32 float64
func asin[T Float](x T) T { return gpu.Asin(x) }

// Acos makes c the arc cosine of a.
func Acos[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchAcos[T](session(c), c, a)
}

//tandem:map float32 float64
func acos[T Float](x T) T { return gpu.Acos(x) }

// Atan makes c the arc tangent of a.
func Atan[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchAtan[T](session(c), c, a)
}

//tandem:map float32 float64
func atan[T Float](x T) T { return gpu.Atan(x) }

// Sinh makes c the hyperbolic sine of a.
func Sinh[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchSinh[T](session(c), c, a)
}

//tandem:map float32 float64
func sinh[T Float](x T) T { return gpu.Sinh(x) }

// Cosh makes c the hyperbolic cosine of a.
func Cosh[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchCosh[T](session(c), c, a)
}

//tandem:map float32 float64
func cosh[T Float](x T) T { return gpu.Cosh(x) }

// Tanh makes c the hyperbolic tangent of a.
func Tanh[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchTanh[T](session(c), c, a)
}

//tandem:map float32 float64
func tanh[T Float](x T) T { return gpu.Tanh(x) }

// Asinh makes c the inverse hyperbolic sine of a.
func Asinh[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchAsinh[T](session(c), c, a)
}

//tandem:map float32 float64
func asinh[T Float](x T) T { return gpu.Asinh(x) }

// Acosh makes c the inverse hyperbolic cosine of a.
func Acosh[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchAcosh[T](session(c), c, a)
}

//tandem:map float32 float64
func acosh[T Float](x T) T { return gpu.Acosh(x) }

// Atanh makes c the inverse hyperbolic tangent of a.
func Atanh[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchAtanh[T](session(c), c, a)
}

//tandem:map float32 float64
func atanh[T Float](x T) T { return gpu.Atanh(x) }

// Cbrt makes c the cube root of a.
func Cbrt[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchCbrt[T](session(c), c, a)
}

//tandem:map float32 float64
func cbrt[T Float](x T) T { return gpu.Cbrt(x) }

// Rsqrt makes c 1/sqrt(a).
func Rsqrt[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchRsqrt[T](session(c), c, a)
}

//tandem:map float32 float64
func rsqrt[T Float](x T) T { return gpu.Rsqrt(x) }

// Erf makes c the error function of a.
func Erf[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchErf[T](session(c), c, a)
}

//tandem:map float32 float64
func erf[T Float](x T) T { return gpu.Erf(x) }

// Erfc makes c 1 - erf(a).
func Erfc[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchErfc[T](session(c), c, a)
}

//tandem:map float32 float64
func erfc[T Float](x T) T { return gpu.Erfc(x) }

// Sigmoid makes c 1/(1 + e^-a).
func Sigmoid[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchSigmoid[T](session(c), c, a)
}

//tandem:map float32 float64
func sigmoid[T Float](x T) T { return gpu.Sigmoid(x) }

// Floor makes c the largest integer that is not above a.
func Floor[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchFloor[T](session(c), c, a)
}

//tandem:map float32 float64
func floor[T Float](x T) T { return gpu.Floor(x) }

// Ceil makes c the smallest integer that is not below a.
func Ceil[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchCeil[T](session(c), c, a)
}

//tandem:map float32 float64
func ceil[T Float](x T) T { return gpu.Ceil(x) }

// Trunc makes c a without its fraction.
func Trunc[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchTrunc[T](session(c), c, a)
}

//tandem:map float32 float64
func trunc[T Float](x T) T { return gpu.Trunc(x) }

// Round makes c the integer nearest to a, halves away from 0.
func Round[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchRound[T](session(c), c, a)
}

//tandem:map float32 float64
func round[T Float](x T) T { return gpu.Round(x) }

// RoundToEven makes c the integer nearest to a, halves to even ones.
func RoundToEven[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchRoundToEven[T](session(c), c, a)
}

//tandem:map float32 float64
func roundToEven[T Float](x T) T { return gpu.RoundToEven(x) }

// Pow makes c a^b.
func Pow[T Float, A, B Arg[T]](c *Array[T], a A, b B) error {
	return launchPow[T](session(c), c, a, b)
}

//tandem:map float32 float64
func pow[T Float](x, y T) T { return gpu.Pow(x, y) }

// Atan2 makes c the angle of the point (b, a), as math.Atan2(a, b) is.
func Atan2[T Float, A, B Arg[T]](c *Array[T], a A, b B) error {
	return launchAtan2[T](session(c), c, a, b)
}

//tandem:map float32 float64
func atan2[T Float](x, y T) T { return gpu.Atan2(x, y) }

// Hypot makes c the square root of a*a + b*b, without overflow in between.
func Hypot[T Float, A, B Arg[T]](c *Array[T], a A, b B) error {
	return launchHypot[T](session(c), c, a, b)
}

//tandem:map float32 float64
func hypot[T Float](x, y T) T { return gpu.Hypot(x, y) }

// Mod makes c the remainder of a/b, with a's sign, as math.Mod does.
func Mod[T Float, A, B Arg[T]](c *Array[T], a A, b B) error {
	return launchMod[T](session(c), c, a, b)
}

//tandem:map float32 float64
func mod[T Float](x, y T) T { return gpu.Mod(x, y) }

// Relu makes c max(a, 0).
func Relu[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchRelu[T](session(c), c, a)
}

//tandem:map float32 float64
func relu[T Float](x T) T { return max(x, 0) }

// LeakyRelu makes c a, or slope*a where a is below 0.
func LeakyRelu[T Float, A, B Arg[T]](c *Array[T], a A, slope B) error {
	return launchLeakyRelu[T](session(c), c, a, slope)
}

//tandem:map float32 float64
func leakyRelu[T Float](x, y T) T {
	if x < 0 {
		return y * x
	}
	return x
}

// Softplus makes c ln(1 + e^a), as max(a, 0) + log1p(exp(-|a|)), each step rounded.
func Softplus[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchSoftplus[T](session(c), c, a)
}

//tandem:map float32 float64
func softplus[T Float](x T) T { return max(x, 0) + gpu.Log1p(gpu.Exp(-max(x, -x))) }

// Silu makes c a*sigmoid(a), each step rounded.
func Silu[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchSilu[T](session(c), c, a)
}

//tandem:map float32 float64
func silu[T gpu.Float](x T) T { return x * gpu.Sigmoid(x) }

// Gelu makes c (a/2)*erfc(-a/sqrt(2)), which is a times the normal distribution up to a. Each step
// is rounded; sqrt(2) stands for its nearest number.
func Gelu[T Float, A Arg[T]](c *Array[T], a A) error {
	return launchGelu[T](session(c), c, a)
}

//tandem:map float32 float64
func gelu[T Float](x T) T {
	const root = 1.4142135623730951
	return x / 2 * gpu.Erfc(-x/root)
}

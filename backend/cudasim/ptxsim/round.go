package ptxsim

import (
	"math"
	"math/big"
)

// A rounding is the direction in which an inexact result is rounded.
type rounding uint8

const (
	nearest    rounding = iota // ties to even: .rn
	towardZero                 // .rz
	down                       // .rm
	up                         // .rp
)

var roundings = map[string]rounding{"rn": nearest, "rz": towardZero, "rm": down, "rp": up}

// What arithmetic gives for an invalid operation or a NaN operand. The payload of a NaN is not
// specified; these are constants, so that results do not depend on the host.
const (
	nan32 = 0x7fffffff
	nan64 = 0xfff8000000000000
)

func bits32(x float32) uint64 {
	if x != x {
		return nan32
	}
	return uint64(math.Float32bits(x))
}

func bits64(x float64) uint64 {
	if x != x {
		return nan64
	}
	return math.Float64bits(x)
}

func float32At(r []uint64, i int32) float32 { return math.Float32frombits(uint32(r[i])) }

func float64At(r []uint64, i int32) float64 { return math.Float64frombits(r[i]) }

// flush is x with a subnormal number made zero of the same sign.
func flush(x float32) float32 {
	if math.Float32bits(x)&0x7f800000 == 0 {
		return math.Float32frombits(math.Float32bits(x) & (1 << 31))
	}
	return x
}

// saturate is x limited to 0 ... 1, with +0 for NaN.
func saturate[F floating](x F) F {
	if !(x > 0) {
		return 0
	}
	return min(x, 1)
}

type floating interface{ float32 | float64 }

// The operations, rounded to nearest.

func sum[F floating](a, b, _ F) F        { return a + b }
func minus[F floating](a, b, _ F) F      { return a - b }
func times[F floating](a, b, _ F) F      { return a * b }
func over[F floating](a, b, _ F) F       { return a / b }
func inverse[F floating](a, _, _ F) F    { return 1 / a }
func squareRoot[F floating](a, _, _ F) F { return F(math.Sqrt(float64(a))) } // of float32, in twice the bits

// An exactFunc sets z to the exact result for finite operands, or to so many bits of it that
// rounding them gives the same. It may change its operands.
type exactFunc func(z, a, b, c *big.Float)

const (
	exactBits    = 4400 // in which the sum of any product and any float64 is exact
	quotientBits = 200
)

func exactSum(z, a, b, _ *big.Float)     { addExact(z, a, b) }
func exactMinus(z, a, b, _ *big.Float)   { addExact(z, a, b.Neg(b)) }
func exactTimes(z, a, b, _ *big.Float)   { z.Mul(a, b) }
func exactFMA(z, a, b, c *big.Float)     { addExact(z, z.Mul(a, b), c) }
func exactOver(z, a, b, _ *big.Float)    { z.SetPrec(quotientBits).Quo(a, b) }
func exactInverse(z, a, _, _ *big.Float) { z.SetPrec(quotientBits).Quo(big.NewFloat(1), a) }
func exactRoot(z, a, _, _ *big.Float)    { z.SetPrec(quotientBits).Sqrt(a) }

// addExact sets z to x+y. A zero is -0 if both are, and under rounding down if one is.
func addExact(z, x, y *big.Float) {
	negative := x.Signbit() && y.Signbit() || z.Mode() == big.ToNegativeInf && x.Signbit() != y.Signbit()
	z.Add(x, y)
	if z.Sign() == 0 && z.Signbit() != negative {
		z.Neg(z)
	}
}

// inMode is the function near, which rounds to nearest, with another rounding.
func inMode[F floating](mode rounding, near func(a, b, c F) F, exact exactFunc) func(a, b, c F) F {
	if mode == nearest {
		return near
	}
	return func(a, b, c F) F {
		v := near(a, b, c)
		if v != v || !isFinite(a) || !isFinite(b) || !isFinite(c) {
			return v
		}
		z := new(big.Float).SetPrec(exactBits)
		if mode == down {
			z.SetMode(big.ToNegativeInf)
		}
		exact(z, big.NewFloat(float64(a)), big.NewFloat(float64(b)), big.NewFloat(float64(c)))
		return round[F](z, mode)
	}
}

func isFinite[F floating](x F) bool { return x-x == 0 }

// round rounds a number.
func round[F floating](x *big.Float, mode rounding) (f F) {
	switch p := any(&f).(type) {
	case *float32:
		near, acc := x.Float32()
		*p = math.Nextafter32(near, float32(corrected(float64(near), x, acc, mode)))
	case *float64:
		near, acc := x.Float64()
		*p = math.Nextafter(near, corrected(near, x, acc, mode))
	}
	return f
}

// corrected is infinity in the direction in which the nearest number to x, which lies on the side
// acc of it, must move by one step, and near itself if it need not.
func corrected(near float64, x *big.Float, acc big.Accuracy, mode rounding) float64 {
	if mode == towardZero {
		mode = down
		if x.Signbit() {
			mode = up
		}
	}
	switch {
	case mode == down && acc == big.Above:
		return math.Inf(-1)
	case mode == up && acc == big.Below:
		return math.Inf(1)
	}
	return near
}

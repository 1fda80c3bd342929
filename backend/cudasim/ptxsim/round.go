package ptxsim

import (
	"math"
	"math/big"

	"github.com/tandem-gpu/tandem/internal/host"
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
func saturate[F float32 | float64](x F) F {
	if !(x > 0) {
		return 0
	}
	return min(x, 1)
}

// direct32 rounds s+e to float32, where e is what s lacks of an exact sum and smaller than half its
// last bit.
func direct32(s, e float64, mode rounding) float32 {
	f := float32(s)
	d := s - float64(f) // exact where f is finite, and has the right sign where it is not
	if d == 0 {
		d = e
	}
	switch {
	case mode == towardZero && (s > 0 || s == 0 && e > 0), mode == down:
		if d < 0 {
			return math.Nextafter32(f, float32(math.Inf(-1)))
		}
	default:
		if d > 0 {
			return math.Nextafter32(f, float32(math.Inf(1)))
		}
	}
	return f
}

// fma32 is a*b + c, rounded once.
func fma32(mode rounding) func(a, b, c float32) float32 {
	if mode == nearest {
		return host.FMA32
	}
	return func(a, b, c float32) float32 {
		p, d := float64(a)*float64(b), float64(c) // the product is exact
		s := p + d
		if math.IsInf(s, 0) || math.IsNaN(s) {
			return float32(s)
		}
		t := s - p
		e := (p - (s - t)) + (d - t) // Knuth's two-sum: s+e is the exact sum
		if s == 0 && e == 0 {
			return zeroSum(float32(p), c, mode)
		}
		return direct32(s, e, mode)
	}
}

// zeroSum is a sum that is exactly zero: -0 if both operands are, and under rounding down if one of
// them is negative.
func zeroSum(a, b float32, mode rounding) float32 {
	if math.Signbit(float64(a)) && math.Signbit(float64(b)) || mode == down &&
		math.Signbit(float64(a)) != math.Signbit(float64(b)) {
		return float32(math.Copysign(0, -1))
	}
	return 0
}

func add32(mode rounding) func(a, b, _ float32) float32 {
	if mode == nearest {
		return func(a, b, _ float32) float32 { return a + b }
	}
	f := fma32(mode)
	return func(a, b, _ float32) float32 { return f(a, 1, b) }
}

func mul32(mode rounding) func(a, b, _ float32) float32 {
	return func(a, b, _ float32) float32 {
		if p := float64(a) * float64(b); mode != nearest && p != 0 && !math.IsInf(p, 0) {
			return direct32(p, 0, mode)
		}
		return a * b
	}
}

// div32 is a/b. Rounding a float64 quotient again is exact in the nearest mode, where a float32
// division does it; in the others the quotient of big numbers is used.
func div32(mode rounding) func(a, b, _ float32) float32 {
	return func(a, b, _ float32) float32 {
		if q := a / b; mode == nearest || !isFinite(float64(a)) || !isFinite(float64(b)) || a == 0 || b == 0 {
			return q
		}
		return round32(new(big.Float).SetPrec(200).Quo(big.NewFloat(float64(a)), big.NewFloat(float64(b))), mode)
	}
}

func sqrt32(mode rounding) func(a, _, _ float32) float32 {
	return func(a, _, _ float32) float32 {
		if mode == nearest || !(a > 0) || !isFinite(float64(a)) {
			// a float64 has more than twice the bits, so that rounding twice is harmless
			return float32(math.Sqrt(float64(a)))
		}
		return round32(new(big.Float).SetPrec(200).Sqrt(big.NewFloat(float64(a))), mode)
	}
}

func fma64(mode rounding) func(a, b, c float64) float64 {
	return func(a, b, c float64) float64 {
		s := math.FMA(a, b, c)
		if mode == nearest || !isFinite(a) || !isFinite(b) || !isFinite(c) {
			return s
		}
		x := new(big.Float).SetPrec(exact).SetFloat64(a)
		x.Mul(x, big.NewFloat(b))
		if sum := new(big.Float).SetPrec(exact).Add(x, big.NewFloat(c)); sum.Sign() != 0 {
			return round64(sum, mode)
		}
		return float64(zeroSum(float32(math.Copysign(0, a*b)), float32(math.Copysign(0, c)), mode))
	}
}

// exact is a precision, in bits, in which the sum of any product and any float64 is exact.
const exact = 4400

func add64(mode rounding) func(a, b, _ float64) float64 {
	f := fma64(mode)
	return func(a, b, _ float64) float64 {
		if mode == nearest {
			return a + b
		}
		return f(a, 1, b)
	}
}

func mul64(mode rounding) func(a, b, _ float64) float64 {
	return func(a, b, _ float64) float64 {
		if mode == nearest || !isFinite(a) || !isFinite(b) || a == 0 || b == 0 {
			return a * b
		}
		return round64(new(big.Float).SetPrec(exact).Mul(big.NewFloat(a), big.NewFloat(b)), mode)
	}
}

func div64(mode rounding) func(a, b, _ float64) float64 {
	return func(a, b, _ float64) float64 {
		if mode == nearest || !isFinite(a) || !isFinite(b) || a == 0 || b == 0 {
			return a / b
		}
		return round64(new(big.Float).SetPrec(200).Quo(big.NewFloat(a), big.NewFloat(b)), mode)
	}
}

func sqrt64(mode rounding) func(a, _, _ float64) float64 {
	return func(a, _, _ float64) float64 {
		if mode == nearest || !(a > 0) || !isFinite(a) {
			return math.Sqrt(a)
		}
		return round64(new(big.Float).SetPrec(200).Sqrt(big.NewFloat(a)), mode)
	}
}

func isFinite(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }

// round32 rounds a number that is not zero.
func round32(x *big.Float, mode rounding) float32 {
	f, acc := x.Float32()
	if toward := correction(x, acc, mode); toward != 0 {
		return math.Nextafter32(f, float32(math.Inf(toward)))
	}
	return f
}

func round64(x *big.Float, mode rounding) float64 {
	f, acc := x.Float64()
	if toward := correction(x, acc, mode); toward != 0 {
		return math.Nextafter(f, math.Inf(toward))
	}
	return f
}

// correction is the direction in which the nearest number to x, which lies on the side acc of it,
// must move by one step; 0 for none.
func correction(x *big.Float, acc big.Accuracy, mode rounding) int {
	if mode == towardZero {
		mode = down
		if x.Signbit() {
			mode = up
		}
	}
	switch {
	case mode == down && acc == big.Above:
		return -1
	case mode == up && acc == big.Below:
		return 1
	}
	return 0
}

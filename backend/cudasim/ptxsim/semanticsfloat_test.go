package ptxsim

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/tandem-gpu/tandem/internal/racetest"
)

// rational is a float of type t as an exact number; ok is false for infinities and NaN.
func rational(t typ, v uint64) (x *big.Rat, ok bool) {
	f := asFloat(t, v)
	if math.IsInf(f, 0) || f != f {
		return nil, false
	}
	return new(big.Rat).SetFloat64(f), true
}

// asFloat is a float of type t, exactly.
func asFloat(t typ, v uint64) float64 {
	if t.bits == 32 {
		return float64(math.Float32frombits(uint32(v)))
	}
	return math.Float64frombits(v)
}

func floatBits(t typ, f float64) uint64 {
	if t.bits == 32 {
		return uint64(math.Float32bits(float32(f)))
	}
	return math.Float64bits(f)
}

// rounded is x in type t: the nearest, then one step in the mode's direction if it lies on the
// wrong side. zero is the sign of an exact zero.
func rounded(t typ, x *big.Rat, mode rounding, zero float64) uint64 {
	if x.Sign() == 0 {
		return floatBits(t, math.Copysign(0, zero))
	}
	var f float64
	if t.bits == 32 {
		n, _ := x.Float32()
		f = float64(n)
	} else {
		f, _ = x.Float64()
	}
	sign := 0 // of f - x
	if math.IsInf(f, 0) {
		sign = int(math.Copysign(1, f))
	} else {
		sign = new(big.Rat).SetFloat64(f).Cmp(x)
	}
	if f == 0 {
		f = math.Copysign(0, float64(x.Sign()))
	}
	to := 0.0
	switch {
	case sign > 0 && (mode == down || mode == towardZero && x.Sign() > 0):
		to = -1
	case sign < 0 && (mode == up || mode == towardZero && x.Sign() < 0):
		to = 1
	default:
		return floatBits(t, f)
	}
	if t.bits == 32 {
		return floatBits(t, float64(math.Nextafter32(float32(f), float32(math.Inf(int(to))))))
	}
	return floatBits(t, math.Nextafter(f, math.Inf(int(to))))
}

// zeroOf is the sign of x + y where that is exactly zero.
func zeroOf(x, y float64, mode rounding) float64 {
	switch {
	case math.Signbit(x) == math.Signbit(y):
		return math.Copysign(1, x)
	case mode == down:
		return -1
	}
	return 1
}

// arithmetic is fma, and with it add (b = 1) and mul, by exact numbers; special operands are
// float64's own rules.
func arithmetic(t typ, mode rounding, a, b, c uint64, product bool) uint64 {
	x, okA := rational(t, a)
	y, okB := rational(t, b)
	z, okC := rational(t, c)
	fa, fb, fc := asFloat(t, a), asFloat(t, b), asFloat(t, c)
	sign := math.Copysign(1, fa) * math.Copysign(1, fb)
	if !okA || !okB || !okC {
		if okA && okB { // a finite product, which float64 might overflow
			return floatBits(t, fc)
		}
		return floatBits(t, fa*fb+fc)
	}
	p := new(big.Rat).Mul(x, y)
	if product {
		return rounded(t, p, mode, sign)
	}
	zero := zeroOf(sign, fc, mode)
	return rounded(t, p.Add(p, z), mode, zero)
}

func TestFloatArithmetic(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	for _, ty := range []typ{f32, f64} {
		one, n := floatBits(ty, 1), ty.String()[1:]
		three := n + " " + n + " " + n
		for name, mode := range roundings {
			for _, c := range []semantic{
				{
					"add." + name + "." + n + " %d, %a, %b;", three,
					func(v [3]uint64) uint64 { return arithmetic(ty, mode, v[0], one, v[1], false) },
				},
				{"sub." + name + "." + n + " %d, %a, %b;", three, func(v [3]uint64) uint64 {
					return arithmetic(ty, mode, v[0], one, v[1]^1<<(ty.bits-1), false)
				}},
				{
					"mul." + name + "." + n + " %d, %a, %b;", three,
					func(v [3]uint64) uint64 { return arithmetic(ty, mode, v[0], v[1], 0, true) },
				},
				{"fma." + name + "." + n + " %d, %a, %b, %c;", three + " " + n, func(v [3]uint64) uint64 {
					return arithmetic(ty, mode, v[0], v[1], v[2], false)
				}},
				{
					"div." + name + "." + n + " %d, %a, %b;", three,
					func(v [3]uint64) uint64 { return division(ty, mode, v[0], v[1]) },
				},
				{"rcp." + name + "." + n + " %d, %a;", n + " " +
					n, func(v [3]uint64) uint64 { return division(ty, mode, one, v[0]) }},
				{"sqrt." + name + "." + n + " %d, %a;", n + " " +
					n, func(v [3]uint64) uint64 { return root(ty, mode, v[0]) }},
			} {
				c.check(t)
			}
		}
	}
}

func division(t typ, mode rounding, a, b uint64) uint64 {
	x, okA := rational(t, a)
	y, okB := rational(t, b)
	if !okA || !okB || y.Sign() == 0 {
		return floatBits(t, asFloat(t, a)/asFloat(t, b))
	}
	return rounded(t, x.Quo(x, y), mode, math.Copysign(1, asFloat(t, a))*math.Copysign(1, asFloat(t, b)))
}

// root is the largest float whose square is at most x, corrected to the mode by comparing squares.
func root(t typ, mode rounding, a uint64) uint64 {
	x, ok := rational(t, a)
	if !ok || x.Sign() <= 0 {
		return floatBits(t, math.Sqrt(asFloat(t, a)))
	}
	next := func(f, to float64) float64 {
		if t.bits == 32 {
			return float64(math.Nextafter32(float32(f), float32(to)))
		}
		return math.Nextafter(f, to)
	}
	square := func(f *big.Rat) *big.Rat { return new(big.Rat).Mul(f, f) }
	lo := asFloat(t, floatBits(t, math.Sqrt(asFloat(t, a)))) // near enough to start from
	for square(new(big.Rat).SetFloat64(lo)).Cmp(x) > 0 {
		lo = next(lo, 0)
	}
	for square(new(big.Rat).SetFloat64(next(lo, math.Inf(1)))).Cmp(x) <= 0 {
		lo = next(lo, math.Inf(1))
	}
	hi := next(lo, math.Inf(1))
	l, h := new(big.Rat).SetFloat64(lo), new(big.Rat).SetFloat64(hi)
	mid := l.Add(l, h)
	mid.Quo(mid, big.NewRat(2, 1))
	exact := square(new(big.Rat).SetFloat64(lo)).Cmp(x) == 0
	if !exact && (mode == up || mode == nearest && square(mid).Cmp(x) < 0) {
		return floatBits(t, hi)
	}
	return floatBits(t, lo)
}

// flushed is f with subnormal numbers made zero.
func flushed(f float32) float32 {
	if f != 0 && math.Abs(float64(f)) < 0x1p-126 {
		return float32(math.Copysign(0, float64(f)))
	}
	return f
}

func single(v uint64) float32 { return math.Float32frombits(uint32(v)) }

func bitsOf(f float32) uint64 { return uint64(math.Float32bits(f)) }

// unit is f limited to 0 ... 1; NaN is 0.
func unit(f float32) float32 {
	if f != f || f <= 0 {
		return 0
	}
	return min(f, 1)
}

func TestFloatModifiers(t *testing.T) {
	for _, c := range []semantic{
		{
			"add.ftz.f32 %d, %a, %b;", "f32 f32 f32",
			func(v [3]uint64) uint64 { return bitsOf(flushed(flushed(single(v[0])) + flushed(single(v[1])))) },
		},
		{
			"mul.ftz.f32 %d, %a, %b;", "f32 f32 f32",
			func(v [3]uint64) uint64 { return bitsOf(flushed(flushed(single(v[0])) * flushed(single(v[1])))) },
		},
		{
			"add.sat.f32 %d, %a, %b;", "f32 f32 f32",
			func(v [3]uint64) uint64 { return bitsOf(unit(single(v[0]) + single(v[1]))) },
		},
		{"neg.f32 %d, %a;", "f32 f32", func(v [3]uint64) uint64 { return v[0] ^ 1<<31 }},
		{"neg.ftz.f32 %d, %a;", "f32 f32", func(v [3]uint64) uint64 { return bitsOf(-flushed(single(v[0]))) }},
		{"abs.f64 %d, %a;", "f64 f64", func(v [3]uint64) uint64 { return v[0] &^ (1 << 63) }},
		{"copysign.f64 %d, %a, %b;", "f64 f64 f64", func(v [3]uint64) uint64 {
			return math.Float64bits(math.Copysign(math.Float64frombits(v[1]), math.Float64frombits(v[0])))
		}},
		{
			"min.f32 %d, %a, %b;", "f32 f32 f32",
			func(v [3]uint64) uint64 { return floatBits(f32, lesser(single(v[0]), single(v[1]), 1)) },
		},
		{
			"max.f32 %d, %a, %b;", "f32 f32 f32",
			func(v [3]uint64) uint64 { return floatBits(f32, lesser(single(v[0]), single(v[1]), -1)) },
		},
		{"max.NaN.f32 %d, %a, %b;", "f32 f32 f32", func(v [3]uint64) uint64 {
			if a, b := single(v[0]), single(v[1]); a != a || b != b {
				return nan32
			}
			return floatBits(f32, lesser(single(v[0]), single(v[1]), -1))
		}},
		{"min.NaN.f32 %d, %a, %b;", "f32 f32 f32", func(v [3]uint64) uint64 {
			if a, b := single(v[0]), single(v[1]); a != a || b != b {
				return nan32
			}
			return floatBits(f32, lesser(single(v[0]), single(v[1]), 1))
		}},
		{
			"abs.ftz.f32 %d, %a;", "f32 f32",
			func(v [3]uint64) uint64 { return bitsOf(flushed(single(v[0]))) &^ (1 << 31) },
		},
		{"setp.ltu.ftz.f32 %d, %a, %b;", "pred f32 f32", func(v [3]uint64) uint64 {
			return flag(!(flushed(single(v[0])) >= flushed(single(v[1]))))
		}},
		{
			"rsqrt.approx.f64 %d, %a;", "f64 f64",
			func(v [3]uint64) uint64 { return math.Float64bits(1 / math.Sqrt(math.Float64frombits(v[0]))) },
		},
		{"rcp.approx.ftz.f64 %d, %a;", "f64 f64", func(v [3]uint64) uint64 {
			a := math.Float64frombits(v[0])
			if math.Abs(a) < 0x1p-1022 {
				return math.Float64bits(1 / math.Copysign(0, a))
			}
			if q := 1 / a; !(math.Abs(q) < 0x1p-1022) || q == 0 {
				return math.Float64bits(q) &^ (1<<32 - 1)
			}
			return math.Float64bits(math.Copysign(0, a))
		}},
	} {
		c.check(t)
	}
	for name, want := range map[string][2]bool{ // for numbers, the order; for NaN, the second
		"eq": {}, "ne": {}, "lt": {}, "le": {}, "gt": {}, "ge": {}, "equ": {1: true}, "neu": {1: true},
		"ltu": {1: true}, "leu": {1: true},
		"gtu": {1: true}, "geu": {1: true},
	} {
		for _, ty := range []typ{f32, f64} {
			n := ty.String()[1:]
			c := semantic{"setp." + name + "." + n + " %d, %a, %b;", "pred " + n + " " + n, func(v [3]uint64) uint64 {
				a, b := asFloat(ty, v[0]), asFloat(ty, v[1])
				if a != a || b != b {
					return flag(want[1])
				}
				sign := 0
				if a < b {
					sign = -1
				} else if a > b {
					sign = 1
				}
				return flag(ordered(name[:2], sign))
			}}
			c.check(t)
		}
	}
}

// lesser is the lesser of a and b for side 1, the greater for -1. A NaN loses; -0 is below +0.
func lesser(a, b float32, side float64) float64 {
	switch {
	case a != a:
		return float64(b)
	case b != b:
		return float64(a)
	case a == 0 && b == 0:
		if math.Signbit(float64(a)) == (side > 0) {
			return float64(a)
		}
		return float64(b)
	case (float64(a)-float64(b))*side < 0:
		return float64(a)
	case a < b || a > b:
		return float64(b)
	}
	return float64(a)
}

// toInt is a float as an integer of type t: rounded by f, limited to the range, with PTX's values
// for NaN.
func toInt(t typ, x float64, from uint8, f func(float64) float64) uint64 {
	if x != x {
		if from == 64 || t.bits == 64 {
			return 1 << (t.bits - 1)
		}
		return 0
	}
	lo, hi := newInt(), newInt().SetUint64(mask(t.bits))
	if t.class == signed {
		lo.Neg(newInt().Lsh(big.NewInt(1), uint(t.bits-1)))
		hi.SetUint64(mask(t.bits - 1))
	}
	if math.IsInf(x, 0) {
		return low(pick(x > 0, hi, lo), t.bits)
	}
	i, _ := new(big.Float).SetFloat64(f(x)).Int(nil)
	return low(pick(i.Cmp(lo) < 0, lo, pick(i.Cmp(hi) > 0, hi, i)), t.bits)
}

func TestConversions(t *testing.T) {
	integrals := map[string]func(float64) float64{
		"rni": math.RoundToEven, "rzi": math.Trunc, "rmi": math.Floor,
		"rpi": math.Ceil,
	}
	var cases []semantic
	for _, from := range []typ{f32, f64} {
		n := from.String()[1:]
		for mode, f := range integrals {
			for _, to := range []string{"s16", "u16", "s32", "u32", "s64", "u64"} {
				cases = append(cases, semantic{fmt.Sprintf("cvt.%s.%s.%s %%d, %%a;", mode, to, n), to + " " +
					n, func(v [3]uint64) uint64 {
					return toInt(types[to], asFloat(from, v[0]), from.bits, f)
				}})
			}
			cases = append(cases, semantic{fmt.Sprintf("cvt.%s.%s.%s %%d, %%a;", mode, n, n), n + " " +
				n, func(v [3]uint64) uint64 {
				return floatBits(from, f(asFloat(from, v[0])))
			}})
		}
	}
	for mode, m := range roundings {
		for _, to := range []typ{f32, f64} {
			for _, from := range []string{"s16", "u16", "s32", "u32", "s64", "u64"} {
				n := to.String()[1:]
				cases = append(cases, semantic{fmt.Sprintf("cvt.%s.%s.%s %%d, %%a;", mode, n, from), n + " " +
					from, func(v [3]uint64) uint64 {
					return rounded(to, new(big.Rat).SetInt(bigInt(types[from], v[0])), m, 1)
				}})
			}
		}
		cases = append(cases, semantic{"cvt." + mode + ".f32.f64 %d, %a;", "f32 f64", func(v [3]uint64) uint64 {
			if x, ok := rational(f64, v[0]); ok {
				return rounded(f32, x, m, math.Float64frombits(v[0]))
			}
			return floatBits(f32, math.Float64frombits(v[0]))
		}})
	}
	for _, from := range []string{"s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"} {
		for _, to := range []string{"s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"} {
			a, b := types[from], types[to]
			reg := max(b.bits, 16)
			cases = append(cases, semantic{fmt.Sprintf("cvt.%s.%s %%d, %%a;", to, from), to + " " +
				from, func(v [3]uint64) uint64 {
				return low(bigInt(b, low(bigInt(a, v[0]), b.bits)), reg)
			}})
		}
	}
	cases = append(cases,
		semantic{
			"cvt.f64.f32 %d, %a;", "f64 f32",
			func(v [3]uint64) uint64 { return math.Float64bits(asFloat(f32, v[0])) },
		},
		semantic{"cvt.sat.f32.f32 %d, %a;", "f32 f32", func(v [3]uint64) uint64 { return bitsOf(unit(single(v[0]))) }},
		semantic{
			"cvt.ftz.f64.f32 %d, %a;", "f64 f32",
			func(v [3]uint64) uint64 { return math.Float64bits(float64(flushed(single(v[0])))) },
		},
		semantic{"cvt.s32.s8 %d, %a; cvt.u16.u32 %h, %d; cvt.u32.u16 %d, %h;", "u32 s8", func(v [3]uint64) uint64 {
			return low(bigInt(types["s8"], v[0]), 16)
		}},
	)
	for _, c := range cases {
		c.check(t)
	}
}

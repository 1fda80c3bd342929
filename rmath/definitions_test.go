package rmath

import (
	"math"
	"math/big"
	"math/rand/v2"

	"github.com/tandem-gpu/tandem/rmath/internal/mp"
)

const (
	tiny    = 0x1p-30
	least   = 0x1p-1074
	largest = math.MaxFloat64
	below1  = 1 - 0x1p-53
)

var positive = []span{{least, largest}, {0.5, 1}, {1, 2}}

var definitions = []*definition{
	{
		name: "Exp", bound: 0.52, f: Exp, ranges: []span{{tiny, 745}, {-tiny, -745}}, edges: hardExp,
		series: mp.Series.Exp,
	},
	{name: "Exp2", bound: 0.52, f: Exp2, series: exp2Series, ranges: []span{{tiny, 1074}, {-tiny, -1074}}},
	{
		name: "Expm1", bound: 0.52, f: Expm1, ranges: []span{{tiny, 709}, {-tiny, -709}},
		series: func(x mp.Series) mp.Series { return x.Exp().Plus(-1) },
	},
	{
		name: "Sigmoid", bound: 0.52, f: Sigmoid, ranges: []span{{tiny, 745}, {-tiny, -745}},
		series: func(x mp.Series) mp.Series { return x.Neg().Exp().Plus(1).Inverse() },
	},
	{
		name: "Sinh", bound: 0.52, f: Sinh, ranges: []span{{tiny, 710.5}, {-tiny, -710.5}},
		series: func(x mp.Series) mp.Series { return sinhCosh(x, -1) },
	},
	{
		name: "Cosh", bound: 0.52, f: Cosh, ranges: []span{{tiny, 710.5}, {-tiny, -710.5}},
		series: func(x mp.Series) mp.Series { return sinhCosh(x, 1) },
	},
	{
		name: "Tanh", bound: 0.52, f: Tanh, ranges: []span{{tiny, 23}, {-tiny, -23}},
		series: func(x mp.Series) mp.Series { return sinhCosh(x, -1).Div(sinhCosh(x, 1)) },
	},
	{name: "Log", bound: 0.52, f: Log, edges: hardLog, series: mp.Series.Log, ranges: positive},
	{
		name: "Log2", bound: 0.52, f: Log2, ranges: positive,
		series: func(x mp.Series) mp.Series { return logSeries(x, 2) },
	},
	{
		name: "Log10", bound: 0.52, f: Log10, ranges: positive,
		series: func(x mp.Series) mp.Series { return logSeries(x, 10) },
	},
	{
		name: "Log1p", bound: 0.52, f: Log1p, ranges: []span{{tiny, largest}, {-tiny, -below1}},
		series: func(x mp.Series) mp.Series { return x.Plus(1).Log() },
	},
	{
		name: "Asinh", bound: 0.52, f: Asinh, ranges: []span{{tiny, largest}, {-tiny, -largest}},
		series: asinhSeries,
	},
	{
		name: "Acosh", bound: 0.52, f: Acosh, ranges: []span{{1, largest}, {1, 2}},
		series: func(x mp.Series) mp.Series { return x.Mul(x).Plus(-1).Sqrt().Add(x).Log() },
	},
	{
		name: "Atanh", bound: 0.52, f: Atanh, ranges: []span{{tiny, below1}, {-tiny, -below1}},
		series: func(x mp.Series) mp.Series {
			return half(x.Plus(1).Div(x.Neg().Plus(1)).Log())
		},
	},
	{name: "Pow", bound: 0.52, family: powFamily},
	{
		name: "Sin", bound: 0.52, f: Sin, ranges: angles, edges: halfPis(),
		series: func(x mp.Series) mp.Series { s, _ := x.SinCos(); return s },
	},
	{
		name: "Cos", bound: 0.52, f: Cos, ranges: angles, edges: halfPis(),
		series: func(x mp.Series) mp.Series { _, c := x.SinCos(); return c },
	},
	{
		name: "Tan", bound: 0.53, f: Tan, ranges: angles, edges: append(halfPis(), hardTan...),
		series: func(x mp.Series) mp.Series { s, c := x.SinCos(); return s.Div(c) },
	},
	{
		name: "SinPi", bound: 0.52, f: SinPi, ranges: []span{{least, 0x1p50}, {-tiny, -2}, {tiny, 2}},
		series: func(x mp.Series) mp.Series { s, _ := x.SinCosPi(); return s },
	},
	{
		name: "CosPi", bound: 0.52, f: CosPi, ranges: []span{{tiny, 0x1p50}, {-tiny, -2}, {tiny, 2}},
		series: func(x mp.Series) mp.Series { _, c := x.SinCosPi(); return c },
	},
	{
		name: "Asin", bound: 0.52, f: Asin, ranges: []span{{tiny, below1}, {-tiny, -below1}},
		series: mp.Series.Asin,
	},
	{
		name: "Acos", bound: 0.52, f: Acos, ranges: []span{{tiny, below1}, {-tiny, -below1}},
		series: acosSeries,
	},
	{
		name: "Atan", bound: 0.52, f: Atan, ranges: []span{{tiny, largest}, {-tiny, -4}, {tiny, 4}},
		series: mp.Series.Atan,
	},
	{name: "Atan2", bound: 0.52, family: atan2Family},
	{
		name: "Cbrt", bound: 0.52, f: Cbrt, ranges: []span{{least, largest}, {-least, -largest}, {1, 8}},
		series: mp.Series.Cbrt,
	},
	{
		name: "Rsqrt", bound: 0.52, f: Rsqrt, ranges: []span{{least, largest}, {1, 4}},
		series: func(x mp.Series) mp.Series { return x.Sqrt().Inverse() },
	},
	{name: "Hypot", bound: 0.52, family: hypotFamily},
	{name: "Erf", bound: 0.52, f: Erf, ranges: []span{{tiny, 6}, {-tiny, -6}}, series: mp.Series.Erf},
	{name: "Erfc", bound: 0.52, f: Erfc, ranges: []span{{tiny, 27.5}, {-tiny, -6}, {1, 8}}, series: mp.Series.Erfc},
}

// Arguments whose results lie closest to the middle of two numbers: a few of those that V. Lefevre
// and J.-M. Muller found and the CORE-MATH project collects.
var (
	hardExp = []float64{
		0x1.0122ef37212ebp-1, 0x1.00d48a707b93ep-1, 0x1.00e0e33c8c3fdp-1, 0x1.00bcc31ebded7p-1, 0x1.012c061237773p-1,
		0x1.7db00ba9aa1a7p-1, 0x1.ccf4099d60371p-1, 0x1.fedc746ddf8fap-1, 0x1.008eb56314daap+0, 0x1.6f699e4b482b7p+0,
	}
	hardLog = []float64{
		0x1.a6ae5142326b5p+0, 0x1.1e852e6951306p+1, 0x1.bbfff9457d5c3p+0, 0x1.000976581ce4ep+1, 0x1.6cda8bc1f5cadp+1,
		0x1.3fcc2931b4ff2p+2, 0x1.879c73969a24ap+3, 0x1.363ef18ee56a4p+5, 0x1.9241eb1a449bdp+9, 0x1.0d46d0a2ae2ap+24,
	}
	hardTan = []float64{
		0x1.0004b89dcb553p-11, 0x1.00452f0e0134dp-13, 0x1.005c4ae44e6cp+0, 0x1.00ddeead167aap-4, 0x1.02a3ad2ef6f44p-24,
		0x1.0807c9374cc91p-1, 0x1.0a402fcc79298p-25, 0x1.0dffffffd7f47p-16, 0x1.49ffffffb6e2dp-16,
	}
)

var angles = []span{{tiny, 0x1p40}, {-tiny, -10}, {-tiny, -1e5}, {0x1p20, largest}}

// halfPis is the numbers nearest to multiples of pi/2, and the one that is closest of all to one.
func halfPis() (list []float64) {
	half := mp.Scale(mp.Pi(1300), -1)
	for i := range 60 {
		list = append(list, float(mp.Mul(half, mp.New(64, float64(i+1)))))
	}
	for i := 6; i < 1023; i += 13 {
		list = append(list, float(mp.Mul(half, mp.New(64, math.Ldexp(1.25, i)))))
	}
	return append(list, 0x1.6ac5b262ca1ffp849) // 6381956970095103 2^797
}

// acosSeries is by the arc tangent of root (1-x) / (1+x), which is small near 1.
func acosSeries(x mp.Series) mp.Series {
	return x.Neg().Plus(1).Div(x.Plus(1)).Sqrt().Atan().Times(mp.New(64, 2))
}

func half(x mp.Series) mp.Series { return x.Times(mp.New(64, 0.5)) }

func exp2Series(x mp.Series) mp.Series { return x.Times(mp.Ln2(x[0].Prec())).Exp() }

// sinhCosh is (e^x + sign e^-x) / 2.
func sinhCosh(x mp.Series, sign float64) mp.Series {
	return half(x.Exp().Add(x.Neg().Exp().Times(mp.New(64, sign))))
}

func logSeries(x mp.Series, base float64) mp.Series {
	p := x[0].Prec()
	return x.Log().Times(mp.Div(mp.New(p, 1), mp.Log(mp.New(p, base))))
}

// asinhSeries is odd, so that the sum does not cancel.
func asinhSeries(x mp.Series) mp.Series {
	if x[0].Sign() < 0 {
		return asinhSeries(x.Neg()).Neg()
	}
	return x.Mul(x).Plus(1).Sqrt().Add(x).Log()
}

// powFamily has x^y with y fixed, or x fixed, where x^y is a number.
func powFamily(r *rand.Rand) (m member) {
	x := span{least, largest}.draw(r)
	switch r.IntN(3) {
	case 0:
		x = span{0.5, 1}.draw(r)
	case 1:
		x = 1 + math.Ldexp(1+r.Float64(), -r.IntN(52)-1)
	}
	y := 744 * (2*r.Float64() - 1) / Log(x)
	if r.IntN(4) == 0 {
		y = float64(2*r.IntN(20)-19) / 4
	}
	if r.IntN(2) == 0 {
		return member{
			x: x, other: y, plain: true,
			f:      func(x float64) float64 { return Pow(x, y) },
			series: func(x mp.Series) mp.Series { return x.Log().Times(mp.New(64, y)).Exp() },
		}
	}
	return member{
		x: y, other: x, plain: true,
		f: func(y float64) float64 { return Pow(x, y) },
		series: func(y mp.Series) mp.Series {
			return y.Times(mp.Log(mp.New(y[0].Prec(), x))).Exp()
		},
	}
}

// atan2Family has the angle with x fixed, or y.
func atan2Family(r *rand.Rand) member {
	x, y := twoNumbers(r, 80)
	if r.IntN(2) == 0 {
		x = -x
	}
	if r.IntN(2) == 0 {
		return member{
			x: x, other: y, plain: true,
			f:      func(x float64) float64 { return Atan2(y, x) },
			series: func(x mp.Series) mp.Series { return angle(fixed(x, y), x) },
		}
	}
	return member{
		x: y, other: x, plain: true,
		f:      func(y float64) float64 { return Atan2(y, x) },
		series: func(y mp.Series) mp.Series { return angle(y, fixed(y, x)) },
	}
}

// twoNumbers is positive numbers, of any magnitude or with a quotient from 2^-n to 2^n.
func twoNumbers(r *rand.Rand, n int) (x, y float64) {
	x = span{least, largest}.draw(r)
	switch r.IntN(3) {
	case 0:
		return x, span{least, largest}.draw(r)
	case 1:
		return span{tiny, 2}.draw(r), span{tiny, 2}.draw(r)
	}
	return x, min(max(least, float64(x*math.Ldexp(1+r.Float64(), r.IntN(2*n)-n))), largest)
}

// fixed is the number c as a series like x.
func fixed(x mp.Series, c float64) mp.Series { return x.Times(mp.New(64, 0)).Plus(c) }

// angle is the arc tangent of y/x for y > 0, from 0 to pi.
func angle(y, x mp.Series) mp.Series {
	pi := mp.Pi(x[0].Prec())
	turned := func(s mp.Series, by mp.Num) mp.Series {
		s[0] = mp.Add(s[0], by)
		return s
	}
	switch {
	case new(big.Float).Abs(x[0]).Cmp(y[0]) < 0:
		return turned(x.Div(y).Atan().Neg(), mp.Scale(pi, -1))
	case x[0].Sign() < 0:
		return turned(y.Div(x).Atan(), pi)
	}
	return y.Div(x).Atan()
}

// hypotFamily has one leg fixed.
func hypotFamily(r *rand.Rand) member {
	x, y := twoNumbers(r, 40)
	return member{
		x: x, other: y, plain: true,
		f:      func(x float64) float64 { return Hypot(y, x) },
		series: func(x mp.Series) mp.Series { y := fixed(x, y); return x.Mul(x).Add(y.Mul(y)).Sqrt() },
	}
}

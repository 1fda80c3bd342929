package f32

import (
	"math"

	"github.com/tandem-gpu/tandem/rmath/internal/mp"
)

const (
	largest = math.MaxFloat32
	tiny    = 0x1p-10
	below1  = 1 - 0x1p-24
)

var infinity = float32(math.Inf(1))

// always is a disc that is the same everywhere.
func always(r, m float64) func(float64) (float64, float64) {
	return func(float64) (float64, float64) { return r, m }
}

// half is a disc of half the distance to what is at the distance far(c).
func half(far, m func(c float64) float64) func(float64) (float64, float64) {
	return func(c float64) (float64, float64) { return far(c) / 2, m(c) }
}

func identity(c float64) float64 { return c }

var definitions = []*definition{
	{
		name: "Exp", f: Exp, series: mp.Series.Exp,
		zero: 1, minusZero: 1, plusInf: infinity, minusInf: 0,
		disc:     func(c float64) (r, m float64) { return 9, math.Exp(c + 9) },
		positive: []region{{tiny, around, 0}, {89, blocks, 0}, {largest, constant, math.Inf(1)}},
		negative: []region{{tiny, around, 0}, {104, blocks, 0}, {largest, constant, 0}},
	},
	{
		name: "Exp2", f: Exp2, series: exp2Series,
		zero: 1, minusZero: 1, plusInf: infinity, minusInf: 0,
		disc: func(c float64) (r, m float64) { return 13, math.Exp2(c + 13) },
		positive: []region{
			{0x1p-26, flat, 1},
			{tiny, around, 0},
			{127.99999, blocks, 0},
			{largest, constant, math.Inf(1)},
		},
		// 2^-150 is half of the smallest number: even is 0
		negative: []region{
			{0x1p-26, flat, 1},
			{tiny, around, 0},
			{149.99998, blocks, 0},
			{150, given, 0},
			{largest, constant, 0},
		},
	},
	{
		name: "Expm1", f: Expm1, series: func(x mp.Series) mp.Series { return x.Exp().Plus(-1) },
		zero: 0, minusZero: minus0, plusInf: infinity, minusInf: -1,
		disc: func(c float64) (r, m float64) { return 9, math.Exp(c+9) + 1 },
		positive: []region{
			{0x1p-26, itself, 0},
			{tiny, around, 0},
			{89, blocks, 0},
			{largest, constant, math.Inf(1)},
		},
		negative: []region{{0x1p-26, itself, 0}, {tiny, around, 0}, {18, blocks, 0}, {largest, constant, -1}},
	},
	{
		name: "Sigmoid", f: Sigmoid, series: func(x mp.Series) mp.Series { return x.Neg().Exp().Plus(1).Inverse() },
		zero: 0.5, minusZero: 0.5, plusInf: 1, minusInf: 0,
		// |1+e^-z| >= sin(2) where the imaginary part is at most 2
		disc:     func(c float64) (r, m float64) { return 2, 1.1 * min(1, math.Exp(c+2)) },
		positive: []region{{0x1p-26, flat, 0.5}, {tiny, around, 0}, {18, blocks, 0}, {largest, constant, 1}},
		negative: []region{{0x1p-26, flat, 0.5}, {tiny, around, 0}, {104, blocks, 0}, {largest, constant, 0}},
	},
	{
		name: "Sinh", f: Sinh, series: func(x mp.Series) mp.Series { return sinhCosh(x, -1) },
		zero: 0, minusZero: minus0, plusInf: infinity, minusInf: -infinity, symmetry: -1,
		disc: func(c float64) (r, m float64) { return 9, math.Exp(c + 9) },
		positive: []region{
			{0x1p-13, itself, 0},
			{tiny, around, 0},
			{90, blocks, 0},
			{largest, constant, math.Inf(1)},
		},
	},
	{
		name: "Cosh", f: Cosh, series: func(x mp.Series) mp.Series { return sinhCosh(x, 1) },
		zero: 1, minusZero: 1, plusInf: infinity, minusInf: infinity, symmetry: 1,
		disc:     func(c float64) (r, m float64) { return 9, math.Exp(c + 9) },
		positive: []region{{0x1p-13, flat, 1}, {tiny, around, 0}, {90, blocks, 0}, {largest, constant, math.Inf(1)}},
	},
	{
		name: "Tanh", f: Tanh, series: func(x mp.Series) mp.Series { return sinhCosh(x, -1).Div(sinhCosh(x, 1)) },
		zero: 0, minusZero: minus0, plusInf: 1, minusInf: -1, symmetry: -1,
		disc:     always(1, 1.6), // tan(1) < 1.6
		positive: []region{{0x1p-13, itself, 0}, {tiny, around, 0}, {10, blocks, 0}, {largest, constant, 1}},
	},
	{
		name: "Asinh", f: Asinh, series: func(x mp.Series) mp.Series { return x.Add(x.Mul(x).Plus(1).Sqrt()).Log() },
		zero: 0, minusZero: minus0, plusInf: infinity, minusInf: -infinity, symmetry: -1,
		// sqrt(z^2+1) is between i and -i, and |z+sqrt(z^2+1)| and its inverse are at most 2|z|+1
		disc: half(func(c float64) float64 { return math.Hypot(1, c) }, func(c float64) float64 {
			return math.Log(3*c+3) + math.Pi
		}),
		positive: []region{{0x1p-13, itself, 0}, {tiny, around, 0}, {largest, blocks, 0}},
	},
	{
		name: "Acosh", f: Acosh, series: func(x mp.Series) mp.Series { return x.Add(x.Mul(x).Plus(-1).Sqrt()).Log() },
		zero: nan(), minusZero: nan(), plusInf: infinity, minusInf: nan(),
		disc: half(func(c float64) float64 { return c - 1 }, func(c float64) float64 {
			return math.Log(3*c+1) + math.Pi
		}),
		positive: []region{{below1, given, math.NaN()}, {1, given, 0}, {largest, blocks, 0}}, negative: noNumber,
	},
	{
		name: "Atanh", f: Atanh, series: func(x mp.Series) mp.Series {
			return x.Plus(1).Div(x.Neg().Plus(1)).Log().Times(mp.New(x[0].Prec(), 0.5))
		},
		zero: 0, minusZero: minus0, plusInf: nan(), minusInf: nan(), symmetry: -1,
		disc: half(func(c float64) float64 { return 1 - c }, func(c float64) float64 {
			return math.Log(4/(1-c))/2 + math.Pi/2
		}),
		positive: []region{
			{0x1p-13, itself, 0},
			{tiny, around, 0},
			{below1, blocks, 0},
			{1, given, math.Inf(1)},
			{largest, given, math.NaN()},
		},
	},
	{
		name: "Asin", f: Asin, series: mp.Series.Asin,
		zero: 0, minusZero: minus0, plusInf: nan(), minusInf: nan(), symmetry: -1,
		disc: half(func(c float64) float64 { return 1 - c }, func(float64) float64 { return math.Pi / 2 }),
		positive: []region{
			{0x1p-13, itself, 0},
			{tiny, around, 0},
			{below1, blocks, 0},
			{1, flat, math.Pi / 2},
			{largest, given, math.NaN()},
		},
	},
	{
		name: "Acos", f: Acos, series: func(x mp.Series) mp.Series {
			s := x.Asin().Neg()
			s[0] = mp.Add(s[0], mp.Scale(mp.Pi(x[0].Prec()), -1))
			return s
		},
		zero: math.Pi / 2, minusZero: math.Pi / 2, plusInf: nan(), minusInf: nan(),
		disc: half(func(c float64) float64 { return 1 - math.Abs(c) }, func(float64) float64 { return math.Pi }),
		positive: []region{
			{0x1p-27, flat, math.Pi / 2},
			{tiny, around, 0},
			{below1, blocks, 0},
			{1, given, 0},
			{largest, given, math.NaN()},
		},
		negative: []region{
			{0x1p-27, flat, math.Pi / 2},
			{tiny, around, 0},
			{below1, blocks, 0},
			{1, flat, math.Pi},
			{largest, given, math.NaN()},
		},
	},
	{
		name: "Atan", f: Atan, series: mp.Series.Atan,
		zero: 0, minusZero: minus0, plusInf: math.Pi / 2, minusInf: -math.Pi / 2, symmetry: -1,
		// the distances to i and -i stay within a factor of 3, whose logarithm atan has
		disc: half(func(c float64) float64 { return math.Hypot(1, c) }, func(float64) float64 { return 4 }),
		positive: []region{
			{0x1p-13, itself, 0},
			{tiny, around, 0},
			{0x1p28, blocks, 0},
			{largest, constant, math.Pi / 2},
		},
	},
	{
		name: "Erf", f: Erf, series: mp.Series.Erf,
		zero: 0, minusZero: minus0, plusInf: 1, minusInf: -1, symmetry: -1,
		disc:     func(c float64) (r, m float64) { return 1, 1 + erfcBound(c) },
		positive: []region{{tiny, around, 0}, {4, blocks, 0}, {largest, constant, 1}},
	},
	{
		name: "Erfc", f: Erfc, series: mp.Series.Erfc,
		zero: 1, minusZero: 1, plusInf: 0, minusInf: 2,
		disc: func(c float64) (r, m float64) { return 1, erfcBound(c) },
		positive: []region{
			{0x1p-26, flat, 1},
			{tiny, around, 0},
			{10.125, blocks, 0},
			{largest, constant, 0},
		},
		negative: []region{{0x1p-26, flat, 1}, {tiny, around, 0}, {4, blocks, 0}, {largest, constant, 2}},
	},
	{
		name: "Log", f: Log, series: mp.Series.Log,
		zero: -infinity, minusZero: -infinity, plusInf: infinity, minusInf: nan(),
		disc:     half(identity, func(c float64) float64 { return math.Abs(math.Log(c)) + 0.7 }),
		positive: logRegions, negative: noNumber,
	},
	{
		name: "Log2", f: Log2, series: func(x mp.Series) mp.Series { return logTo(x, 2) },
		zero: -infinity, minusZero: -infinity, plusInf: infinity, minusInf: nan(),
		disc:     half(identity, func(c float64) float64 { return math.Abs(math.Log2(c)) + 1.1 }),
		positive: logRegions, negative: noNumber,
	},
	{
		name: "Log10", f: Log10, series: func(x mp.Series) mp.Series { return logTo(x, 10) },
		zero: -infinity, minusZero: -infinity, plusInf: infinity, minusInf: nan(),
		disc:     half(identity, func(c float64) float64 { return math.Abs(math.Log10(c)) + 0.4 }),
		positive: logRegions, negative: noNumber,
	},
	{
		name: "Log1p", f: Log1p, series: func(x mp.Series) mp.Series { return x.Plus(1).Log() },
		zero: 0, minusZero: minus0, plusInf: infinity, minusInf: nan(),
		disc: half(func(c float64) float64 { return 1 + c }, func(c float64) float64 {
			return math.Abs(math.Log1p(c)) + 0.7
		}),
		positive: []region{{0x1p-26, itself, 0}, {tiny, around, 0}, {largest, blocks, 0}},
		negative: []region{
			{0x1p-26, itself, 0},
			{tiny, around, 0},
			{below1, blocks, 0},
			{1, given, math.Inf(-1)},
			{largest, given, math.NaN()},
		},
	},
	{
		name: "Rsqrt", f: Rsqrt, series: func(x mp.Series) mp.Series { return x.Sqrt().Inverse() },
		zero: infinity, minusZero: -infinity, plusInf: 0, minusInf: nan(),
		disc:     half(identity, func(c float64) float64 { return math.Sqrt(2 / c) }),
		positive: []region{{largest, blocks, 0}}, negative: noNumber,
	},
	{
		name: "Cbrt", f: Cbrt, series: mp.Series.Cbrt,
		zero: 0, minusZero: minus0, plusInf: infinity, minusInf: -infinity, symmetry: -1,
		disc:     half(identity, func(c float64) float64 { return math.Cbrt(2 * c) }),
		positive: []region{{largest, blocks, 0}},
	},
	{
		name: "Sin", f: Sin, series: func(x mp.Series) mp.Series { s, _ := x.SinCos(); return s },
		zero: 0, minusZero: minus0, plusInf: nan(), minusInf: nan(), symmetry: -1,
		disc: always(1, 2), quarters: angleQuarters, turn: sine, // |sin(z)| <= cosh(1)
		positive: []region{{0x1p-13, itself, 0}, {tiny, around, 0}, {largest, periodic, 0}},
	},
	{
		name: "Cos", f: Cos, series: func(x mp.Series) mp.Series { _, c := x.SinCos(); return c },
		zero: 1, minusZero: 1, plusInf: nan(), minusInf: nan(), symmetry: 1,
		disc: always(1, 2), quarters: angleQuarters, turn: cosine,
		positive: []region{{0x1p-13, flat, 1}, {tiny, around, 0}, {largest, periodic, 0}},
	},
	{
		name: "Tan", f: Tan, series: func(x mp.Series) mp.Series { s, c := x.SinCos(); return s.Div(c) },
		zero: 0, minusZero: minus0, plusInf: nan(), minusInf: nan(), symmetry: -1,
		disc: always(1, 1.6), quarters: angleQuarters, turn: tangent, // |tan(z)| <= tan(1)
		positive: []region{{0x1p-13, itself, 0}, {tiny, around, 0}, {largest, periodic, 0}},
	},
	{
		name: "SinPi", f: SinPi, series: func(x mp.Series) mp.Series { s, _ := x.SinCosPi(); return s },
		zero: 0, minusZero: minus0, plusInf: nan(), minusInf: nan(), symmetry: -1,
		disc: always(0.25, 1.4), quarters: turnQuarters, turn: sine, // |sin(pi z)| <= cosh(pi/4)
		positive: []region{{tiny, around, 0}, {0x1p24, periodic, 0}, {largest, given, 0}},
	},
	{
		name: "CosPi", f: CosPi, series: func(x mp.Series) mp.Series { _, c := x.SinCosPi(); return c },
		zero: 1, minusZero: 1, plusInf: nan(), minusInf: nan(), symmetry: 1,
		disc: always(0.25, 1.4), quarters: turnQuarters, turn: cosine,
		positive: []region{{0x1p-14, flat, 1}, {tiny, around, 0}, {0x1p24, periodic, 0}, {largest, given, 1}},
	},
}

var minus0 = float32(math.Copysign(0, -1))

var noNumber = []region{{largest, given, math.NaN()}}

// logRegions are those of a logarithm, which is 0 at 1.
var logRegions = []region{{1 - 0x1p-9, blocks, 0}, {1 + 0x1p-9, around, 1}, {largest, blocks, 0}}

// erfcBound is at least |erfc(z)| for |z-c| <= 1. With z = a+bi it is at most e^(b^2-a^2) where a
// is not negative, and 2 more elsewhere.
func erfcBound(c float64) float64 {
	if c >= 2 {
		return math.Exp(-(c - 1) * (c - 1))
	}
	return 2 + math.E
}

func exp2Series(x mp.Series) mp.Series { return x.Times(mp.Ln2(x[0].Prec())).Exp() }

func logTo(x mp.Series, base float64) mp.Series {
	p := x[0].Prec()
	return x.Log().Times(mp.Div(mp.New(p, 1), mp.Log(mp.New(p, base))))
}

// sinhCosh is (e^x + sign e^-x) / 2.
func sinhCosh(x mp.Series, sign float64) mp.Series {
	p := x[0].Prec()
	return x.Exp().Add(x.Neg().Exp().Times(mp.New(p, sign))).Times(mp.New(p, 0.5))
}

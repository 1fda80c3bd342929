package f32

import (
	"math"

	"github.com/tandem-gpu/tandem/rmath/internal/mp"
)

const (
	largest = math.MaxFloat32
	tiny    = 0x1p-10
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
		name: "Sin", f: Sin, series: func(x mp.Series) mp.Series { s, _ := x.SinCos(); return s },
		zero: 0, minusZero: minus0, plusInf: nan(), minusInf: nan(), symmetry: -1,
		disc: always(1, 2), quarters: angleQuarters, turn: sine, // |sin(z)| <= cosh(1)
		positive: []region{{0x1p-13, itself, 0}, {tiny, around, 0}, {largest, periodic, 0}},
	},
}

var minus0 = float32(math.Copysign(0, -1))

var noNumber = []region{{largest, given, math.NaN()}}

// logRegions are those of a logarithm, which is 0 at 1.
var logRegions = []region{{1 - 0x1p-9, blocks, 0}, {1 + 0x1p-9, around, 1}, {largest, blocks, 0}}

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

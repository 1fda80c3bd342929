package rmath

import (
	"math"
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
	{name: "Exp", bound: 0.52, f: Exp, series: mp.Series.Exp, ranges: []span{{tiny, 745}, {-tiny, -745}}},
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
	{name: "Log", bound: 0.52, f: Log, series: mp.Series.Log, ranges: positive},
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
			x: x, other: y,
			f:      func(x float64) float64 { return Pow(x, y) },
			series: func(x mp.Series) mp.Series { return x.Log().Times(mp.New(64, y)).Exp() },
		}
	}
	return member{
		x: y, other: x,
		f: func(y float64) float64 { return Pow(x, y) },
		series: func(y mp.Series) mp.Series {
			return y.Times(mp.Log(mp.New(y[0].Prec(), x))).Exp()
		},
	}
}

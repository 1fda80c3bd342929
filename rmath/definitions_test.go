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
)

var (
	all      = span{lo: least, hi: largest}
	positive = []span{all, {lo: 0.5, hi: 1}, {lo: 1, hi: 2}, above1, under1}

	above1    = span{lo: 0x1p-52, hi: 1, at: 1}
	under1    = span{lo: -0x1p-53, hi: -0.5, at: 1}
	negative1 = span{lo: 0x1p-53, hi: 0.5, at: -1}
)

// around0 is the numbers from lo, which is below 0, to hi: half of those that are drawn are tiny.
func around0(lo, hi float64) []span {
	return []span{{lo: tiny, hi: hi}, {lo: -tiny, hi: lo}, {lo: least, hi: tiny}, {lo: -least, hi: -tiny}}
}

var definitions = []*definition{
	{
		name: "Exp", bound: 0.53, f: Exp, ranges: around0(-745, 745),
		series: mp.Series.Exp, edges: []float64{708, 708.4, 709},
	},
	{name: "Exp2", bound: 0.53, f: Exp2, series: exp2Series, ranges: around0(-1074, 1074)},
	{
		name: "Expm1", bound: 0.53, f: Expm1, ranges: around0(-709, 709),
		series: func(x mp.Series) mp.Series { return x.Exp().Plus(-1) },
	},
	{
		name: "Sigmoid", bound: 0.53, f: Sigmoid, ranges: around0(-745, 745),
		series: func(x mp.Series) mp.Series { return x.Neg().Exp().Plus(1).Inverse() },
	},
	{
		name: "Sinh", bound: 0.53, f: Sinh, ranges: around0(-710.5, 710.5),
		series: func(x mp.Series) mp.Series { return sinhCosh(x, -1) },
	},
	{
		name: "Cosh", bound: 0.53, f: Cosh, ranges: around0(-710.5, 710.5),
		series: func(x mp.Series) mp.Series { return sinhCosh(x, 1) },
	},
	{
		name: "Tanh", bound: 0.53, f: Tanh, ranges: around0(-23, 23),
		series: func(x mp.Series) mp.Series { return sinhCosh(x, -1).Div(sinhCosh(x, 1)) },
	},
	{name: "Log", bound: 0.53, f: Log, series: mp.Series.Log, ranges: positive},
	{
		name: "Log2", bound: 0.53, f: Log2, ranges: positive,
		series: func(x mp.Series) mp.Series { return logSeries(x, 2) },
	},
	{
		name: "Log10", bound: 0.53, f: Log10, ranges: positive,
		series: func(x mp.Series) mp.Series { return logSeries(x, 10) },
	},
	{
		name: "Log1p", bound: 0.53, f: Log1p, ranges: append(around0(-0.5, largest), negative1),
		series: func(x mp.Series) mp.Series { return x.Plus(1).Log() },
		edges:  []float64{1.718833623307616e-16, 1.80397934655601e-16, 0x1p-40},
	},
	{
		name: "Asinh", bound: 0.53, f: Asinh, series: asinhSeries,
		ranges: append(around0(-largest, largest), span{lo: 0.00195, hi: 0.00197}), // two of the logarithm's bins meet
	},
	{
		name: "Acosh", bound: 0.53, f: Acosh, ranges: []span{{lo: 1, hi: largest}, {lo: 1, hi: 2}, above1},
		series: func(x mp.Series) mp.Series { return x.Mul(x).Plus(-1).Sqrt().Add(x).Log() },
	},
	{
		name: "Atanh", bound: 0.53, f: Atanh, ranges: append(around0(-0.5, 0.5), negative1, under1),
		series: func(x mp.Series) mp.Series {
			return half(x.Plus(1).Div(x.Neg().Plus(1)).Log())
		},
	},
	{name: "Pow", bound: 0.53, family: powFamily},
	{
		name: "Sin", bound: 0.53, f: Sin, ranges: angles, edges: halfPis(),
		series: func(x mp.Series) mp.Series { s, _ := x.SinCos(); return s },
	},
	{
		name: "Cos", bound: 0.53, f: Cos, ranges: angles, edges: halfPis(),
		series: func(x mp.Series) mp.Series { _, c := x.SinCos(); return c },
	},
	{
		name: "Tan", bound: 0.53, f: Tan, ranges: angles, edges: halfPis(),
		series: func(x mp.Series) mp.Series { s, c := x.SinCos(); return s.Div(c) },
	},
	{
		name: "SinPi", bound: 0.53, f: SinPi, ranges: append(around0(-2, 2), span{lo: 1, hi: 0x1p50}, above1, under1),
		series: func(x mp.Series) mp.Series { s, _ := x.SinCosPi(); return s },
	},
	{
		name: "CosPi", bound: 0.53, f: CosPi,
		ranges: append(around0(-2, 2), span{lo: 1, hi: 0x1p50}, span{lo: 0x1p-53, hi: 0.5, at: 0.5},
			span{lo: -0x1p-54, hi: -0.5, at: 0.5}),
		series: func(x mp.Series) mp.Series { _, c := x.SinCosPi(); return c },
	},
	{
		name: "Asin", bound: 0.53, f: Asin, ranges: append(around0(-0.5, 0.5), negative1, under1),
		series: mp.Series.Asin,
	},
	{
		name: "Acos", bound: 0.53, f: Acos, ranges: append(around0(-0.5, 0.5), negative1, under1),
		series: acosSeries,
	},
	{
		name: "Atan", bound: 0.53, f: Atan, ranges: append(around0(-4, 4), span{lo: 1, hi: largest}),
		series: mp.Series.Atan,
	},
	{name: "Atan2", bound: 0.53, family: atan2Family},
	{
		name: "Cbrt", bound: 0.53, f: Cbrt, ranges: []span{all, {lo: -least, hi: -largest}, {lo: 1, hi: 8}},
		series: mp.Series.Cbrt,
	},
	{
		name: "Rsqrt", bound: 0.53, f: Rsqrt, ranges: []span{all, {lo: 1, hi: 4}},
		series: func(x mp.Series) mp.Series { return x.Sqrt().Inverse() },
	},
	{name: "Hypot", bound: 0.53, family: hypotFamily},
	{name: "Erf", bound: 0.53, f: Erf, ranges: around0(-6, 6), series: mp.Series.Erf},
	{name: "Erfc", bound: 0.53, f: Erfc, ranges: append(around0(-6, 27.5), span{lo: 1, hi: 8}), series: mp.Series.Erfc},
}

// hard is arguments whose results lie closest to the middle of two numbers: a few of those that
// V. Lefevre and J.-M. Muller found and the CORE-MATH project collects.
var hard = map[string][]float64{
	"Exp": {
		0x1.0122ef37212ebp-1, 0x1.00d48a707b93ep-1, 0x1.00e0e33c8c3fdp-1, 0x1.00bcc31ebded7p-1, 0x1.012c061237773p-1,
		0x1.7db00ba9aa1a7p-1, 0x1.ccf4099d60371p-1, 0x1.fedc746ddf8fap-1, 0x1.008eb56314daap+0, 0x1.6f699e4b482b7p+0,
	},
	"Exp2": {
		0x1.ee88559d92443p-21, 0x1.ed4a67da1b6b3p-21, 0x1.ef2b8dfe4ba39p-21, -0x1.ff00000000002p+9,
		-0x1.ff00000000001p+9, -0x1.fefffffffffffp+9, -0x1.feffffffffffep+9,
	},
	"Sinh": {
		0x1.72ab23d018098p-26, 0x1.71a7baa9570bdp-26, 0x1.71787ed2604c9p-26, 0x1.0265fffffffffp-3, 0x1.0000fffffffffp-3,
		0x1.0042fffffffffp-3,
	},
	"Log": {
		0x1.a6ae5142326b5p+0, 0x1.1e852e6951306p+1, 0x1.bbfff9457d5c3p+0, 0x1.000976581ce4ep+1, 0x1.6cda8bc1f5cadp+1,
		0x1.3fcc2931b4ff2p+2, 0x1.879c73969a24ap+3, 0x1.363ef18ee56a4p+5, 0x1.9241eb1a449bdp+9, 0x1.0d46d0a2ae2ap+24,
	},
	"Sin": {
		0x1.f6ed8be041402p+7, 0x1.f6f7467b00543p+7, 0x1.f70962241d019p+7, 0x1.f7a3b38eeb43bp+7, 0x1.f7e3ed344f5a9p+7,
		0x1.f7e8be74553bp+7, 0x1.f7e9e8b240178p+7, 0x1.f8456526811f5p+7, 0x1.f87d6fdde170cp+7, 0x1.f8b7d6caa3873p+7,
	},
	"Cos": {
		0x1.5788414424826p+10, 0x1.57a0a4ef05c03p+10, 0x1.57c1d083dbf66p+10, 0x1.57d0642f4a336p+10,
		0x1.58129567fd0d2p+10, 0x1.582d779b53224p+10, 0x1.58a02f46988d6p+10, 0x1.3f06778c3c6a1p+104,
	},
	"Tan": {
		0x1.0004b89dcb553p-11, 0x1.00452f0e0134dp-13, 0x1.005c4ae44e6cp+0, 0x1.00ddeead167aap-4, 0x1.02a3ad2ef6f44p-24,
		0x1.0807c9374cc91p-1, 0x1.0a402fcc79298p-25, 0x1.0dffffffd7f47p-16, 0x1.49ffffffb6e2dp-16,
	},
	"Atan": {0x1.b880844f10722p+7},
	"Acosh": {
		0x1.099318a43ac8p+0, 0x1.d143b7f2ab9e2p+0, 0x1.010e834498e0fp+1, 0x1.17433b9276562p+4,
		0x1.0f9afa701ec75p+11,
	},
	"Asinh": {
		0x1.d12ed0af1a239p-26, 0x1.8000000000001p-24, 0x1.e000000003f48p-19, 0x1.680000006ac98p-16,
		0x1.5949cd30315acp-3, 0x1.fddf5ce36345ep-1,
	},
	"Atanh": {0x1.d12ed0af1a27fp-27, 0x1.250bfe1b08232p-26, 0x1.dfffffffffabap-21},
	"Log10": {
		0x1.127ed722a5b8p-1028, 0x1.0341fa5659dbp-987, 0x1.ffe643c47dd6bp-977, 0x1.011a4fedfe3e6p-959,
		0x1.0baf8e9d433a9p-955, 0x1.ff36e6f3593c1p-952,
	},
	"Log2": {
		0x1.e342239a2ap-1035, 0x1.90564eb47015dp+0, 0x1.a04b5bbfeff7fp+0, 0x1.cfe517642410cp+0, 0x1.ffbd7d92d917ap+0,
		0x1.2dfca5419f0a4p-1024,
	},
	"Cosh": {
		0x1.003c1d82e8bb4p+0, 0x1.1fffffffffffcp-23, 0x1.3ffffffffffffp-24, 0x1.013065f3561b2p+4, 0x1.03fdf3603656dp+5,
		0x1.11aa0455a1679p-7,
	},
	"Tanh": {
		0x1.000b47bdb383fp-9, 0x1.0e000000280b9p-16, 0x1.30fc1931f09c9p+4, 0x1.00a0f3cf999acp+2, 0x1.015cee8026857p+1,
		0x1.3a4c651a4bdb6p+2, 0x1.01885ae3c818ap+0,
	},
	"Erf": {0x1.6d5ad4307dd52p-7},
	"Cbrt": {
		0x1.577a288016fdap1, 0x1.8781debec4298p1, 0x1.9b77e69493ba8p1, 0x1.9b78223aa307cp1, 0x1.7b97ec4239e11p1,
		0x1.d3954d3f1546ep1, 0x1.c7aa59329fd9ap1, 0x1.f7a68b92cbbafp1, 0x1.b7abfd282ff33p1, 0x1.6ff9143ff58a7p1,
	},
}

// hardPow is the same for pairs.
var hardPow = [][2]float64{
	{0x1.ffffffffffffcp-1, 0x1.fffffffffffffp-2},
	{0x1.ffffffffffffcp-1, -0x1.ffffffffffffdp-2},
	{0x1.ffffffffffffp-1, -0x1.ffffffffffff6p-3},
	{0x1.ffffffffffff8p-1, -0x1.ffffffffffffbp-3},
}

var angles = append(around0(-10, 0x1p40), span{lo: -tiny, hi: -1e5}, span{lo: 0x1p20, hi: largest})

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
func powFamily(r *rand.Rand, turn int) (m member) {
	x := all.draw(r, turn)
	switch r.IntN(3) {
	case 0:
		x = span{lo: 0.5, hi: 1}.draw(r, turn)
	case 1:
		x = 1 + math.Ldexp(1+r.Float64(), -r.IntN(52)-1)
	}
	y := 744 * (2*r.Float64() - 1) / Log(x)
	switch r.IntN(4) {
	case 0:
		y = float64(2*r.IntN(20)-19) / 4
	case 1:
		y = math.Ldexp(y, -r.IntN(1070))
	}
	if r.IntN(2) == 0 {
		return powMember(x, y)
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
func atan2Family(r *rand.Rand, turn int) member {
	x, y := twoNumbers(r, turn, 80)
	if r.IntN(2) == 0 {
		x = -x
	}
	if r.IntN(2) == 0 {
		return atan2Member(x, y)
	}
	return member{
		x: y, other: x, plain: true,
		f:      func(y float64) float64 { return Atan2(y, x) },
		series: func(y mp.Series) mp.Series { return angle(y, fixed(y, x)) },
	}
}

// twoNumbers is positive numbers, of any magnitude or with a quotient from 2^-n to 2^n.
func twoNumbers(r *rand.Rand, turn, n int) (x, y float64) {
	x = all.draw(r, turn)
	switch r.IntN(3) {
	case 0:
		return x, all.draw(r, r.IntN(1<<20))
	case 1:
		return span{lo: tiny, hi: 2}.draw(r, turn), span{lo: tiny, hi: 2}.draw(r, r.IntN(1<<20))
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
func hypotFamily(r *rand.Rand, turn int) member {
	return hypotMember(twoNumbers(r, turn, 40))
}

// The functions of x, with y fixed.

func hypotMember(x, y float64) member {
	return member{
		x: x, other: y, plain: true,
		f:      func(x float64) float64 { return Hypot(y, x) },
		series: func(x mp.Series) mp.Series { y := fixed(x, y); return x.Mul(x).Add(y.Mul(y)).Sqrt() },
	}
}

func atan2Member(x, y float64) member {
	return member{
		x: x, other: y, plain: true,
		f:      func(x float64) float64 { return Atan2(y, x) },
		series: func(x mp.Series) mp.Series { return angle(fixed(x, y), x) },
	}
}

func powMember(x, y float64) member {
	return member{
		x: x, other: y, plain: true,
		f:      func(x float64) float64 { return Pow(x, y) },
		series: func(x mp.Series) mp.Series { return x.Log().Times(mp.New(64, y)).Exp() },
	}
}

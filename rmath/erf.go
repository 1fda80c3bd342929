package rmath

import "math"

// erfTerms gives the row i of the table for x from 0 to 2, and erf(x) - erf(i/16) = p+e by its
// series, whose first term has two parts.
func erfTerms(x float64) (i uint64, p, e float64) {
	n := mad(x, 16, toInt)
	i = math.Float64bits(n) & 63
	d := x - float64((n-toInt)*0x1p-4)
	q := mad(mad(mad(mad(erfTable[i][14], d, erfTable[i][13]), d, erfTable[i][12]), d, erfTable[i][11]),
		d, erfTable[i][10])
	q = mad(mad(mad(mad(q, d, erfTable[i][9]), d, erfTable[i][8]), d, erfTable[i][7]), d, erfTable[i][6])
	p, e = twoMul(d, erfTable[i][4])
	return i, p, e + mad(d*d, q, float64(d*erfTable[i][5]))
}

// erfcPair is 1 - erf(x) = (h+l) 2^n for x from 2 to 28: e^(-x^2) times a function that varies
// little, in 16 polynomials an octave.
func erfcPair(x float64) (h, l float64, n int64) {
	p, e := twoMul(x, x)
	h, l, n = expPair(-p, -e)
	b := math.Float64bits(x)
	i := b>>48 - 0x4000
	d := x - math.Float64frombits(b>>48<<48|1<<47)
	q := mad(mad(mad(mad(erfcTable[i][11], d, erfcTable[i][10]), d, erfcTable[i][9]), d, erfcTable[i][8]),
		d, erfcTable[i][7])
	q = mad(mad(mad(mad(q, d, erfcTable[i][6]), d, erfcTable[i][5]), d, erfcTable[i][4]), d, erfcTable[i][3])
	p, e = twoMul(d, erfcTable[i][2])
	g, gl := fastSum(erfcTable[i][0], p)
	gl += mad(d*d, q, e+erfcTable[i][1])
	p, e = twoMul(h, g)
	return p, e + mad(h, gl, float64(l*g)), n
}

// Erf is the error function, 2/sqrt(pi) times the integral of e^(-t^2) from 0 to x.
func Erf(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a == 0 || x != x:
		return x
	case a < 0x1p-500: // the lower part of a product may underflow
		a *= 0x1p600
		h, l := twoMul(a, erfTable[0][4])
		return withSign(scale(h, l+float64(a*erfTable[0][5]), -600), x)
	case a < 2:
		i, p, e := erfTerms(a)
		h, l := fastSum(erfTable[i][0], p)
		return withSign(h+(l+(e+erfTable[i][1])), x)
	case a < 6:
		return withSign(fromErfc(1, a), x)
	}
	return withSign(1, x)
}

// fromErfc is c - erfc(x), for x from 2 to 6.
func fromErfc(c, x float64) float64 {
	h, l, n := erfcPair(x)
	f := power2(n)
	return less(c, 0, float64(h*f), float64(l*f))
}

// Erfc is 1 - Erf(x).
func Erfc(x float64) float64 {
	switch {
	case x != x:
		return x
	case x <= -6:
		return 2
	case x <= -2:
		return fromErfc(2, -x)
	case x < 0:
		i, p, e := erfTerms(-x)
		h, l := fastSum(1, erfTable[i][0])
		h, t := fastSum(h, p)
		return h + (t + (l + (e + erfTable[i][1])))
	case x < 2:
		i, p, e := erfTerms(x)
		h, l := fastSum(erfTable[i][2], -p)
		return h + (l + (erfTable[i][3] - e))
	case x < 28:
		return scale(erfcPair(x))
	}
	return 0
}

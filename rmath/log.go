package rmath

import "math"

// reduceLog gives x = 2^e m, and the bin i of m. x is positive.
func reduceLog(x float64) (e int64, m float64, i uint64) {
	var less int64
	if x < 0x1p-1022 {
		x *= 0x1p54
		less = 54
	}
	b := math.Float64bits(x) - logOffset
	return int64(b)>>52 - less, math.Float64frombits(b&(1<<52-1) + logOffset), b >> 45 & 127
}

// logPoly is (ln(1+r) - r + r^2/2) / r^3.
func logPoly(r float64) float64 {
	return mad(mad(mad(mad(mad(mad(logPoly6, r, logPoly5), r, logPoly4), r, logPoly3), r, logPoly2), r, logPoly1),
		r, logPoly0)
}

// logPair is the logarithm of x+y, as the sum of two parts with a relative error of 2^-68. x is
// positive; y is 0, or less than the last place of x, which is below 2^100 then. P. Tang's
// method, 1990: the bin around 1 has the factor 1, and a result that is small.
func logPair(x, y float64) (h, l float64) {
	e, m, i := reduceLog(x)
	p, v := twoMul(m, logInv[i])
	if y != 0 {
		v += float64(float64(y*power2(-e)) * logInv[i])
	}
	r, v := fastSum(p-1, v)
	h, hl := fastSum(mad(float64(e), logLn2_0, logTable[i][0]), r) // the product and the sum are exact
	s, sl := twoMul(r, r)
	h, l = fastSum(h, -float64(s/2))
	c := mad(r*s, logPoly(r), -float64(sl/2))
	l += hl + ((mad(float64(e), logLn2_1, logTable[i][1]) + v - float64(v*(r-s))) + c)
	return fastSum(h, l)
}

// logSpecial is the result for what is not a positive finite number.
func logSpecial(x float64) float64 {
	switch {
	case x == 0:
		return -inf()
	case x < 0:
		return nan()
	}
	return x
}

// logSum is the logarithm of x+y, as logPair takes them.
func logSum(x, y float64) float64 {
	e, m, i := reduceLog(x)
	p, v := twoMul(m, logInv[i])
	if y != 0 {
		v += float64(float64(y*power2(-e)) * logInv[i])
	}
	r := p - 1
	h, l := fastSum(mad(float64(e), logLn2_0, logTable[i][0]), r)
	c := mad(r*r, mad(r, logPoly(r), -0.5), v-float64(v*r))
	return h + (l + (mad(float64(e), logLn2_1, logTable[i][1]) + c))
}

// Log is the natural logarithm of x.
func Log(x float64) float64 {
	if !(x > 0 && x <= math.MaxFloat64) {
		return logSpecial(x)
	}
	return logSum(x, 0)
}

// Log2 is the logarithm of x to the base 2.
func Log2(x float64) float64 {
	if !(x > 0 && x <= math.MaxFloat64) {
		return logSpecial(x)
	}
	h, l := logPair(x, 0)
	p, e := twoMul(h, log2E_0)
	return p + (e + mad(h, log2E_1, float64(l*log2E_0)))
}

// Log10 is the logarithm of x to the base 10.
func Log10(x float64) float64 {
	if !(x > 0 && x <= math.MaxFloat64) {
		return logSpecial(x)
	}
	h, l := logPair(x, 0)
	p, e := twoMul(h, log10E_0)
	return p + (e + mad(h, log10E_1, float64(l*log10E_0)))
}

// Log1p is the logarithm of 1+x.
func Log1p(x float64) float64 {
	switch {
	case !(x > -1 && x < 0x1p60):
		return Log(x + 1)
	case math.Abs(x) < 0x1p-40: // of 1+x little more than the second part is left
		return mad(float64(x*x), -0.5, x)
	}
	return logSum(twoSum(1, x))
}

// Asinh is the inverse hyperbolic sine of x.
func Asinh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a < 0x1p-27 || !(a <= math.MaxFloat64):
		return x
	case a < 0x1p30:
		s, e := twoMul(a, a)
		h, l := twoSum(s, 1)
		h, l = root(h, l+e)
		h, e = twoSum(h, a)
		return withSign(logSum(fastSum(h, e+l)), x)
	}
	return withSign(logTwice(a), x)
}

// logTwice is ln(2x), where 2x may overflow.
func logTwice(x float64) float64 {
	h, l := logPair(x, 0)
	h, e := twoSum(h, ln2_0)
	return h + (e + l + ln2_1)
}

// Acosh is the inverse hyperbolic cosine of x.
func Acosh(x float64) float64 {
	switch {
	case !(x >= 1):
		return nan()
	case x == 1:
		return 0
	case x < 0x1p30:
		s, e := twoMul(x, x)
		h, l := twoSum(s, -1)
		h, l = root(fastSum(h, l+e))
		h, e = fastSum(x, h)
		return logSum(fastSum(h, e+l))
	case x > math.MaxFloat64:
		return x
	}
	return logTwice(x)
}

// Atanh is the inverse hyperbolic tangent of x: half of the logarithm of (1+x)/(1-x).
func Atanh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a < 0x1p-27:
		return x
	case a == 1:
		return x * inf()
	case !(a < 1):
		return nan()
	}
	n, nl := fastSum(1, a)
	d, dl := fastSum(1, -a)
	h, l := logPair(quotient(n, nl, d, dl))
	return withSign((h+l)/2, x)
}

// isOdd tells whether y is an odd integer.
func isOdd(y float64) bool {
	a := math.Abs(y)
	return a < 0x1p53 && math.Trunc(a) == a && uint64(a)&1 == 1
}

// Pow is x^y.
func Pow(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case x != x || y != y:
		return nan()
	}
	a := math.Abs(x)
	var result float64
	switch {
	case math.Abs(y) > math.MaxFloat64 && a == 1:
		return 1
	case math.Abs(y) > math.MaxFloat64 || a == 0 || a > math.MaxFloat64:
		if a > 1 == (y > 0) { // 0 and infinity
			result = inf()
		}
	default:
		if x < 0 && math.Trunc(y) != y {
			return nan()
		}
		h, l := logPair(a, 0)
		p := float64(y * h)
		switch {
		case p > 800:
			result = inf()
		case p > -800:
			h, l, n := expPair(p, math.FMA(y, h, -p)+float64(y*l))
			result = scale(h, l, n)
		}
	}
	if x < 0 || x == 0 && 1/x < 0 {
		if isOdd(y) {
			return -result
		}
	}
	return result
}

package rmath

import "math"

// Cbrt is the cube root of x: a polynomial, one step of Halley's method, and one of Newton's whose
// remainder is exact.
func Cbrt(x float64) float64 {
	a := math.Abs(x)
	if a == 0 || !(a <= math.MaxFloat64) {
		return x
	}
	e := int64(1200)
	if a < 0x1p-1022 {
		a *= 0x1p54
		e -= 54
	}
	b := math.Float64bits(a)
	e += int64(b>>52) - 1023
	f := math.Float64frombits(b&(1<<52-1) | 0x3ff<<52)
	y := mad(mad(mad(mad(cbrtPoly4, f, cbrtPoly3), f, cbrtPoly2), f, cbrtPoly1), f, cbrtPoly0)
	y = float64(y * cbrtTable[e%3])
	f = float64(f * power2(e%3))
	c := float64(float64(y*y) * y)
	y = float64(y * ((c + f + f) / (c + c + f)))
	s, t := twoMul(y, y)
	y -= (math.FMA(s, y, -f) + float64(t*y)) / (3 * s)
	return withSign(y*power2(e/3-400), x)
}

// Rsqrt is 1 / sqrt(x).
func Rsqrt(x float64) float64 {
	switch {
	case x == 0:
		return 1 / x
	case !(x > 0):
		return nan()
	case x > math.MaxFloat64:
		return 0
	}
	f := 1.0
	switch {
	case x < 0x1p-700:
		x *= 0x1p600
		f = 0x1p300
	case x > 0x1p700:
		x *= 0x1p-600
		f = 0x1p-300
	}
	y := 1 / math.Sqrt(x)
	s, t := twoMul(y, y)
	r := math.FMA(-x, s, 1) - float64(x*t) // what x y^2 leaves to 1
	return (y + float64(float64(y/2)*r)) * f
}

// Hypot is the square root of x^2 + y^2, without overflow on the way.
func Hypot(x, y float64) float64 {
	s, e := twoMul(x, x)
	t, g := twoMul(y, y)
	h, l := twoSum(s, t)
	if h > 0x1p-800 && h < 0x1p1000 {
		h, l = root(h, l+(e+g))
		return h + l
	}
	x, y = math.Abs(x), math.Abs(y)
	a, b := max(x, y), min(x, y)
	n := int64(600)
	switch {
	case x > math.MaxFloat64 || y > math.MaxFloat64:
		return inf()
	case x != x || y != y:
		return nan()
	case b < float64(a*0x1p-60) || b == 0:
		return a
	case a < 1:
		n = -600
	}
	a, b = float64(a*power2(-n)), float64(b*power2(-n))
	s, e = twoMul(a, a)
	t, g = twoMul(b, b)
	h, l = fastSum(s, t)
	h, l = root(h, l+(e+g))
	return scale(h, l, n)
}

package rmath

import "math"

// Floor is the largest integer not above x.
func Floor(x float64) float64 { return math.Floor(x) }

// Ceil is the smallest integer not below x.
func Ceil(x float64) float64 { return math.Ceil(x) }

// Trunc is the integer part of x.
func Trunc(x float64) float64 { return math.Trunc(x) }

// Round is the integer nearest to x; from the middle of two the one farther from 0.
func Round(x float64) float64 {
	t := math.Trunc(x)
	if math.Abs(x-t) >= 0.5 {
		return t + withSign(1, x)
	}
	return t
}

// RoundToEven is the integer nearest to x; from the middle of two the even one.
func RoundToEven(x float64) float64 {
	a := math.Abs(x)
	if !(a < 0x1p52) {
		return x
	}
	return withSign((a+0x1p52)-0x1p52, x)
}

// Ldexp is frac 2^exp, rounded once.
func Ldexp(frac float64, exp int) float64 {
	if frac == 0 || !(math.Abs(frac) <= math.MaxFloat64) {
		return frac
	}
	f, e := Frexp(frac)
	n := int64(e) + int64(max(-4000, min(exp, 4000)))
	switch {
	case n > 1024:
		return f * inf()
	case n > -1022:
		return 2 * f * power2(n-1)
	case n < -1075:
		return withSign(0, frac)
	}
	return f * 0x1p-1000 * power2(n+1000)
}

// Frexp gives f = frac 2^exp with frac from 1/2 to 1, or 0, infinite or NaN.
func Frexp(f float64) (frac float64, exp int) {
	a := math.Abs(f)
	if a == 0 || !(a <= math.MaxFloat64) {
		return f, 0
	}
	if a < 0x1p-1022 {
		a *= 0x1p54
		exp = -54
	}
	b := math.Float64bits(a)
	return withSign(math.Float64frombits(b&(1<<52-1)|0x3fe<<52), f), exp + int(b>>52) - 1022
}

// Mod is the remainder of x/y with the sign of x, below y in magnitude. It is exact.
func Mod(x, y float64) float64 {
	a, b := math.Abs(x), math.Abs(y)
	switch {
	case !(a <= math.MaxFloat64) || !(b > 0):
		return nan()
	case a < b:
		return x
	}
	m, e := integer(a)
	d, f := integer(b)
	m %= d
	for e > f && m != 0 { // m 2^e mod d, 11 bits at a time: m has 53
		n := min(e-f, 11)
		m = m << uint64(n) % d
		e -= n
	}
	// m 2^f is a number, since m < d
	r := math.Float64frombits(m)
	if f > -1074 {
		r = float64(int64(m)) * power2(f/2) * power2(f-f/2)
	}
	return withSign(r, x)
}

// integer gives x = m 2^e, for positive numbers.
func integer(x float64) (m uint64, e int64) {
	b := math.Float64bits(x)
	if b>>52 == 0 {
		return b, -1074
	}
	return b&(1<<52-1) | 1<<52, int64(b>>52) - 1075
}

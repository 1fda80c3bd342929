package f32

import "math"

// Trunc is the integer part of x.
func Trunc(x float32) float32 {
	z := math.Float32frombits(math.Float32bits(x) &^ (1 << 31))
	if !(z < 0x1p23) { // an integer, infinite or NaN
		return x
	}
	t := z + 0x1p23 - 0x1p23
	if t > z {
		t--
	}
	return withSign(t, x)
}

// Floor is the largest integer that is not above x.
func Floor(x float32) float32 {
	t := RoundToEven(x)
	if t > x {
		t--
	}
	return t
}

// Ceil is the smallest integer that is not below x.
func Ceil(x float32) float32 { return -Floor(-x) }

// Round is the integer nearest to x, of two the one away from 0.
func Round(x float32) float32 {
	t := Trunc(x)
	if d := x - t; d >= 0.5 || d <= -0.5 {
		t += withSign(1, x)
	}
	return t
}

// RoundToEven is the integer nearest to x, of two the even one.
func RoundToEven(x float32) float32 {
	z := math.Float32frombits(math.Float32bits(x) &^ (1 << 31))
	if !(z < 0x1p23) { // an integer, infinite or NaN
		return x
	}
	return withSign(z+0x1p23-0x1p23, x)
}

// Ldexp is x 2^n, rounded once.
func Ldexp(x float32, n int) float32 {
	n = max(-300, min(n, 300)) // beyond, all numbers become 0 or infinite
	return float32(float64(x) * math.Float64frombits(uint64(1023+n)<<52))
}

// Frexp gives x = frac 2^n with frac in [1/2, 1); 0, infinities and NaN are frac, and n is 0.
func Frexp(x float32) (frac float32, n int) {
	b := math.Float32bits(x)
	if b&0x7fffffff < 1<<23 { // subnormal
		if x == 0 {
			return x, 0
		}
		b = math.Float32bits(x * 0x1p24)
		n = -24
	}
	e := int(b >> 23 & 255)
	if e == 255 {
		return x, 0
	}
	return math.Float32frombits(b&^(255<<23) | 126<<23), n + e - 126
}

// Mod is the remainder of x/y, exact, with the sign of x; NaN where y is 0 or x is infinite.
func Mod(x, y float32) float32 {
	const inf = 255 << 23
	a, b := math.Float32bits(x)&0x7fffffff, math.Float32bits(y)&0x7fffffff
	switch {
	case b == 0 || a >= inf || b > inf:
		return nan()
	case a < b:
		return x
	}
	ea, ma := integer(a)
	eb, mb := integer(b)
	r := ma % mb
	for ea > eb {
		n := min(ea-eb, 40)
		r = r << n % mb
		ea -= n
	}
	return withSign(float32(r)*0x1p-23*math.Float32frombits(eb<<23), x)
}

// integer gives the finite number with bits b as m 2^(e-150).
func integer(b uint32) (e uint32, m uint64) {
	if b < 1<<23 {
		return 1, uint64(b)
	}
	return b >> 23, uint64(b&(1<<23-1) | 1<<23)
}

package f32

import "math"

// Rsqrt is 1 / sqrt(x); that of 0 is infinite, with its sign.
func Rsqrt(x float32) float32 {
	switch {
	case x == 0:
		return 1 / x
	case !(x > 0):
		return nan()
	}
	return float32(1 / math.Sqrt(float64(x)))
}

// Cbrt is the cube root of x. A polynomial makes about 20 bits of a first approximation, and
// E. Halley's iteration trebles them.
func Cbrt(x float32) float32 {
	v := float64(x) // x is not used again: its register would tie a call to the one before, on amd64
	z := math.Abs(v)
	if z == 0 || !(z <= math.MaxFloat32) {
		return float32(v)
	}
	t := math.Float64frombits(math.Float64bits(z)>>32/3<<32 + cbrtOffset)
	r := float64(t*t) * (t / z)
	w := float64(r * r)
	t *= mad(mad(cbrtPoly4, w, cbrtPoly2), w, cbrtPoly0) + float64(mad(cbrtPoly3, w, cbrtPoly1)*r)
	t = math.Float64frombits((math.Float64bits(t) + 1<<26) &^ (1<<27 - 1)) // its square is exact
	r = z / float64(t*t)
	t = mad(t, (r-t)/(t+t+r), t)
	if v < 0 {
		t = -t
	}
	return float32(t)
}

// Hypot is sqrt(x^2+y^2), correctly rounded; infinite where x or y is, even beside NaN.
func Hypot(x, y float32) float32 {
	a, b := abs(x), abs(y)
	if !(a <= math.MaxFloat32 && b <= math.MaxFloat32) {
		if a > math.MaxFloat32 || b > math.MaxFloat32 {
			return inf()
		}
		return nan()
	}
	p, q := float64(a*a), float64(b*b) // exact
	s := p + q
	h := math.Sqrt(s)
	if middle(h) {
		m := nearMiddle(h) // its square is exact
		t := sum(p, q)
		return beside(m, t.hi-float64(m*m)+t.lo)
	}
	return float32(h)
}

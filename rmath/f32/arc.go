package f32

import "math"

// Asin is the arc sine of x. Beyond 1/2 it is pi/2 - 2 asin(sqrt((1-x)/2)).
func Asin(x float32) float32 {
	z := abs(x)
	switch {
	case !(z <= 1):
		return nan()
	case z < 0x1p-13:
		return x
	}
	r, u := asinArgument(z, z)
	rest := asinRest(r, u)
	y := r + rest
	if z > 0.5 {
		y = arcHalfPi_0 - (2*r - (arcHalfPi_1 - 2*rest))
	}
	return withSign(float32(y), x)
}

// Acos is the arc cosine of x.
func Acos(x float32) float32 {
	z := abs(x)
	if !(z <= 1) {
		return nan()
	}
	r, u := asinArgument(z, float64(x))
	rest := asinRest(r, u)
	if z <= 0.5 {
		y := arcHalfPi_0 - (r - (arcHalfPi_1 - rest))
		if middle(y) {
			switch x {
			case 0x1.110b46p-26:
				return 0x1.921fb6p+00
			case 0x1.04c444p-12:
				return 0x1.920f6ap+00
			}
		}
		return float32(y)
	}
	y := r + rest
	if x < 0 {
		y = arcHalfPi_0 - (y - arcHalfPi_1)
	}
	return float32(2 * y)
}

// asinArgument gives r and r^2, where r is v up to 1/2, and sqrt((1-z)/2) beyond. z is |v|.
func asinArgument(z, v float64) (r, u float64) {
	if z <= 0.5 {
		return v, float64(v * v)
	}
	u = (1 - z) / 2
	return math.Sqrt(u), u
}

// asinRest is asin(r) - r for |r| <= 1/2, where u is r^2.
func asinRest(r, u float64) float64 {
	w := float64(u * u)
	p := mad(mad(mad(mad(mad(mad(asinPoly12, w, asinPoly10), w, asinPoly8), w, asinPoly6), w, asinPoly4), w, asinPoly2),
		w, asinPoly0)
	q := mad(mad(mad(mad(mad(asinPoly11, w, asinPoly9), w, asinPoly7), w, asinPoly5), w, asinPoly3), w, asinPoly1)
	return float64(float64(r*u) * mad(q, u, p))
}

// Atan is the arc tangent of x.
func Atan(x float32) float32 {
	if x != x {
		return x
	}
	z := abs(x)
	large, small := atan(z, z, 1)
	y := large + small
	if middle(y) && z == 0x1.1ad646p-04 {
		return withSign(0x1.1a6386p-04, x)
	}
	return withSign(float32(y), x)
}

// Atan2 is the angle of the point (x, y), between -pi and pi. It is correctly rounded but for
// values within 2^-95 of the middle of two float32, of which none is known.
func Atan2(y, x float32) float32 {
	a, b := abs(y), abs(x)
	switch {
	case x != x || y != y:
		return nan()
	case a > math.MaxFloat32 && b > math.MaxFloat32:
		a, b = 1, 1
	case a == 0:
		b = 1 // 0/0 is 0 as well
	}
	z := a / b
	large, small := atan(z, a, b)
	angle := large + small
	if math.Float32bits(x)>>31 != 0 {
		b = -b
		s := sum(2*arcHalfPi_0, -large)
		angle = s.hi + (s.lo + (2*arcHalfPi_1 - small))
	} else if z > 0 && z < 0x1p-26 {
		// the angle is below a/b, which may be the middle of two subnormal numbers
		angle = math.Float64frombits(math.Float64bits(angle) - 1)
	}
	if middle(angle) && angle > 0x1p-27 {
		m := nearMiddle(angle)
		return withSign(beside(m, angleFrom(m, a, b)), y)
	}
	return withSign(float32(angle), y)
}

// angleFrom has the sign of the angle of the point (x, y), y > 0, less m.
func angleFrom(m, y, x float64) float64 {
	sin, cos := sinCosTwo(m)
	d := cos.times(two{y, 0}).minus(sin.times(two{x, 0}))
	return d.hi + d.lo
}

// atan is the arc tangent of y/x, both positive, the sum of two parts of which the second is
// smaller; z is near y/x. In a bin whose middle is c it is atan(c) + atan((y-cx)/(x+cy)).
func atan(z, y, x float64) (large, small float64) {
	n, d := y, x
	switch {
	case z >= 16:
		large, small = arcHalfPi_0, arcHalfPi_1
		n, d = -x, y
	case z >= 0x1p-4:
		b := math.Float64bits(z) >> 49
		c := math.Float64frombits(b<<49 | 1<<48)
		large, small = atanTable[(b-0x3fb0000000000000>>49)&63][0], atanTable[(b-0x3fb0000000000000>>49)&63][1]
		n, d = y-float64(c*x), mad(c, y, x)
	}
	r := n / d
	u := float64(r * r)
	w := float64(u * u)
	p := mad(mad(atanPoly4, w, atanPoly2), w, atanPoly0)
	p = mad(mad(atanPoly3, w, atanPoly1), u, p)
	if large == 0 {
		return r, float64(float64(r*u) * p)
	}
	return large, r + mad(float64(r*u), p, small)
}

package f32

import "math"

// reduceLog gives z = 2^e m and the bin i of m; r = m logInv[i] - 1 is small. z is positive and not
// subnormal.
func reduceLog(z float64) (e, m float64, i uint64) {
	b := math.Float64bits(z) - logOffset
	return float64(int64(b) >> 52), math.Float64frombits(b&(1<<52-1) + logOffset), b >> 46 & 63
}

// log is ln(z) for a z of at most 41 bits, of which r is exact. In the bin around 1 logInv is 1, so
// that the result has a small relative error there. P. Tang's method, 1990.
func log(z float64) float64 {
	e, m, i := reduceLog(z)
	return logSum(e, i, float64(m*logInv[i])-1)
}

// logSum is e ln(2) - ln(logInv[i]) + ln(1+r): the sum of the large parts is exact.
func logSum(e float64, i uint64, r float64) float64 {
	large := mad(e, logLn2_0, logTable[i&63][0])
	small := mad(e, logLn2_1, logTable[i&63][1])
	s := large + r
	return s + ((large - s + r) + (logPoly(r) + small))
}

// logPoly is ln(1+r) - r for |r| < 0.008.
func logPoly(r float64) float64 {
	q := mad(mad(mad(mad(mad(mad(logPoly6, r, logPoly5), r, logPoly4), r, logPoly3), r, logPoly2), r, logPoly1),
		r, logPoly0)
	return float64(float64(r*r) * q)
}

// logBase is large + small + ln(1+r) c, where c is the sum of c0 and c1, and large and c0 r are
// exact.
func logBase(large, small, r, c0, c1 float64) float64 {
	t := float64(r * c0)
	s := large + t
	return s + ((large - s + t) + (mad(r, c1, small) + float64(logPoly(r)*(c0+c1))))
}

// log1p is ln(1+u) for u > -1 of 53 bits.
func log1p(u float64) float64 {
	if u < 0x1p-7 && u > -0x1p-7 {
		return logSum(0, logOne, u)
	}
	z := 1 + u
	e, m, i := reduceLog(z)
	lost := u - (z - 1) // exact, or small beside z
	scale := math.Float64frombits(math.Float64bits(m) - math.Float64bits(z) + 0x3ff0000000000000)
	h := math.Float64frombits(math.Float64bits(m) &^ (1<<20 - 1)) // its product with 12 bits is exact
	r := mad(m-h+float64(lost*scale), logInv[i&63], float64(h*logInv[i&63])-1)
	return logSum(e, i, r)
}

// logSpecial is the result for what is not a positive finite number, 0 for all others.
func logSpecial(x float32) float32 {
	switch {
	case x == 0:
		return -inf()
	case x < 0:
		return nan()
	case x > math.MaxFloat32 || x != x:
		return x
	}
	return 0
}

// Log is the natural logarithm of x.
func Log(x float32) float32 {
	if !(x > 0 && x <= math.MaxFloat32) {
		return logSpecial(x)
	}
	y := log(float64(x))
	if middle(y) {
		switch math.Float32bits(x) {
		case 0x3c413d3a:
			return -0x1.1c2b1ep+02
		case 0x41178feb:
			return 0x1.1fcbcep+01
		case 0x4c5d65a5:
			return 0x1.1e0696p+04
		case 0x65d890d3:
			return 0x1.a9a3f2p+05
		case 0x6f31a8ec:
			return 0x1.08b512p+06
		}
	}
	return float32(y)
}

// Log2 is the logarithm of x to the base 2.
func Log2(x float32) float32 {
	if !(x > 0 && x <= math.MaxFloat32) {
		return logSpecial(x)
	}
	e, m, i := reduceLog(float64(x))
	t := log2Table[i&63]
	return float32(logBase(e+t[0], t[1], float64(m*logInv[i&63])-1, log2E_0, log2E_1))
}

// Log10 is the logarithm of x to the base 10.
func Log10(x float32) float32 {
	if !(x > 0 && x <= math.MaxFloat32) {
		return logSpecial(x)
	}
	e, m, i := reduceLog(float64(x))
	t := log10Table[i&63]
	large, small := mad(e, log10Of2_0, t[0]), mad(e, log10Of2_1, t[1])
	y := logBase(large, small, float64(m*logInv[i&63])-1, log10E_0, log10E_1)
	if middle(y) && x == 0x1.fddcf4p-98 {
		return -0x1.d33a46p+04
	}
	return float32(y)
}

// Log1p is ln(1+x).
func Log1p(x float32) float32 {
	switch {
	case !(x > -1 && x <= math.MaxFloat32):
		return logSpecial(1 + x)
	case x < 0x1p-26 && x > -0x1p-26:
		return x
	}
	y := log1p(float64(x))
	if middle(y) {
		switch math.Float32bits(x) {
		case 0x35400003:
			return 0x1.7ffffep-21
		case 0x3710001b:
			return 0x1.1fffe6p-17
		case 0x3efd81ad:
			return 0x1.9bddc2p-02
		case 0x41078feb:
			return 0x1.1fcbcep+01
		case 0x65d890d3:
			return 0x1.a9a3f2p+05
		case 0x6f31a8ec:
			return 0x1.08b512p+06
		case 0xb53ffffd:
			return -0x1.800002p-21
		case 0xb70fffe5:
			return -0x1.20001ap-17
		case 0xbb0ec8c4:
			return -0x1.1de14ap-09
		}
	}
	return float32(y)
}

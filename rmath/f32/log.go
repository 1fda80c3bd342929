package f32

import "math"

// log is ln(z) for a positive z that is not subnormal.
func log(z float64) float64 {
	e, m := split(z, rootHalf)
	return logSum(e, m-1, 0)
}

// split gives z = 2^e m, for m from the number with the bits of least to twice that. z is positive
// and not subnormal.
func split(z float64, least uint64) (e, m float64) {
	b := math.Float64bits(z) - least
	e = math.Float64frombits(b>>52^0x4330000000000800) - 0x1.00000000008p52 // 12 bits, with a sign
	return e, math.Float64frombits(b&(1<<52-1) + least)
}

// logSum is e ln(2) + ln(1+f+l), where l is small beside 1+f.
func logSum(e, f, l float64) float64 {
	return mad(e, logLn2_0, f-logRest(f, mad(e, logLn2_1, mad(-f, l, l))))
}

// logRest is f - ln(1+f) - l for 1+f from sqrt(1/2) to sqrt(2): ln(1+f) is 2 atanh(s) for
// s = f/(2+f), written as f - h + s (h + ...) for h = f^2/2, since f has no error.
func logRest(f, l float64) float64 {
	s := f / (f + 2)
	u := float64(s * s)
	w := float64(u * u)
	p := mad(mad(mad(logPoly6, w, logPoly4), w, logPoly2), w, logPoly0)
	p = mad(mad(mad(logPoly5, w, logPoly3), w, logPoly1), u, p)
	h := float64(f / 2 * f)
	return h - mad(s, mad(u, p, h), l)
}

// logBase is large + small + ln(1+f) c, where c is the sum of c0 and c1, and f c0 is exact.
func logBase(large, small, f, c0, c1 float64) float64 {
	t := float64(f * c0)
	s := large + t
	return s + ((large - s + t) + mad(f, c1, mad(-logRest(f, 0), c0+c1, small)))
}

// log1p is ln(1+u) for u > -1 of 53 bits.
func log1p(u float64) float64 {
	z := 1 + u
	e, m := split(z, rootHalf)
	scale := math.Float64frombits(math.Float64bits(m) - math.Float64bits(z) + 0x3ff0000000000000)
	return logSum(e, m-1, float64((u-(z-1))*scale)) // what z has lost is exact, or small beside z
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
	e, m := split(float64(x), rootHalf)
	return float32(logBase(e, 0, m-1, log2E_0, log2E_1))
}

// Log10 is the logarithm of x to the base 10.
func Log10(x float32) float32 {
	if !(x > 0 && x <= math.MaxFloat32) {
		return logSpecial(x)
	}
	e, m := split(float64(x), rootHalf)
	y := logBase(float64(e*log10Of2_0), float64(e*log10Of2_1), m-1, log10E_0, log10E_1)
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

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
	q := mad(mad(mad(mad(mad(mad(logPoly6, r, logPoly5), r, logPoly4), r, logPoly3), r, logPoly2), r, logPoly1),
		r, logPoly0)
	s := large + r
	return s + ((large - s + r) + mad(r*r, q, small))
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
	r := float64(m*logInv[i]) - 1
	large := e + log2Table[i&63][0]
	q := mad(mad(mad(mad(mad(mad(log2Poly6, r, log2Poly5), r, log2Poly4), r, log2Poly3), r, log2Poly2), r, log2Poly1),
		r, log2Poly0)
	t := float64(r * log2E_0) // exact
	s := large + t
	return float32(s + ((large - s + t) + (mad(r, log2E_1, log2Table[i&63][1]) + float64(float64(r*r)*q))))
}

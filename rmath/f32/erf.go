package f32

// Erf is the error function of x.
func Erf(x float32) float32 {
	z := abs(x)
	switch {
	case z > 4:
		return withSign(1, x)
	case z < 0.5:
		return float32(erfSmall(float64(x)))
	case x != x:
		return x
	}
	return withSign(float32(1-erfc(z)), x)
}

// Erfc is 1 - Erf(x).
func Erfc(x float32) float32 {
	z := abs(x)
	switch {
	case x > 10.125: // below half of the smallest number
		return 0
	case x < -4:
		return 2
	case z < 0x1p-26:
		return 1
	case z < 0.5:
		y := 1 - erfSmall(float64(x))
		if middle(y) && x == -0x1.d93ec4p-17 {
			return 0x1.00010ap+00
		}
		return float32(y)
	case x != x:
		return x
	}
	y := erfc(z)
	if x < 0 {
		y = 2 - y
	}
	return float32(y)
}

// erfSmall is erf(z) for |z| <= 1/2.
func erfSmall(z float64) float64 {
	u := float64(z * z)
	w := float64(u * u)
	p := mad(mad(mad(mad(erfPoly8, w, erfPoly6), w, erfPoly4), w, erfPoly2), w, erfPoly0)
	q := mad(mad(mad(erfPoly7, w, erfPoly5), w, erfPoly3), w, erfPoly1)
	return float64(z * mad(q, u, p))
}

// erfc is erfc(z) for z from 1/2 to 10.125.
func erfc(z float64) float64 {
	i := int(4*z) - 2
	d := z - mad(float64(i), 0.25, 0.625)
	w := float64(d * d)
	// The row of the table is no variable: lanes would each copy all of it to memory.
	p := mad(mad(mad(erfcTable[i][10], w, erfcTable[i][8]), w, erfcTable[i][6]), w, erfcTable[i][4])
	p = mad(mad(p, w, erfcTable[i][2]), w, erfcTable[i][0])
	q := mad(mad(mad(erfcTable[i][9], w, erfcTable[i][7]), w, erfcTable[i][5]), w, erfcTable[i][3])
	q = mad(q, w, erfcTable[i][1])
	return float64(exp(-float64(z*z)) * mad(q, d, p))
}

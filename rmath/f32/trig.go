package f32

import "math"

// reduceHalfPi gives z = k pi/2 + r + v for z >= 0, with |r| <= pi/4, and v small beside r; of k
// the low bits count. W. Cody's and W. Waite's method with three parts of pi/2, 1980, below 2^19;
// M. Payne's and R. Hanek's beyond, 1983.
func reduceHalfPi(z float64) (k uint64, r, v float64) {
	if z >= 0x1p19 {
		return reduceLarge(z)
	}
	n := mad(z, twoOverPi0, toInt)
	k = math.Float64bits(n)
	n -= toInt
	a := mad(-n, halfPi_0, z) // exact
	r = mad(-n, halfPi_1, a)
	return k, r, mad(-n, halfPi_2, mad(-n, halfPi_1, a-r))
}

// reduceLarge is reduceHalfPi for z >= 2^19. The bits of z/(pi/2) around the point are the product
// of the 24 bits of z and five words of 2/pi; the words before make multiples of 4, and those
// after less than 2^-95.
func reduceLarge(z float64) (k uint64, r, v float64) {
	const low32 = 1<<32 - 1
	b := math.Float64bits(z)
	m := b&(1<<52-1)>>29 | 1<<23
	e := b>>52 - 1023 - 23 + 30 // z is m 2^(e-30)
	i, shift := e>>5, e&31      // word i is the first that counts, at 2^(shift-30)
	p := m*twoOverPiWords[i+3] + m*twoOverPiWords[i+4]>>32
	low := p & low32
	p = m*twoOverPiWords[i+2] + p>>32
	low |= p << 32
	p = m*twoOverPiWords[i+1] + p>>32
	high := p & low32
	high |= (m*twoOverPiWords[i] + p>>32) << 32
	high, low = high<<shift|low>>(64-shift), low<<shift // two bits before the point, 126 after
	k = high>>62 + high>>61&1                           // the nearest integer
	high, low = high<<2|low>>62, low<<2                 // what is left, signed
	f := float64(int64(high)>>44) * 0x1p-20
	g := float64(float64(high&(1<<44-1))*0x1p-64) + float64(float64(low>>12)*0x1p-116)
	large := float64(f * halfPi_0) // exact
	small := mad(f, halfPi_1, float64(g*(math.Pi/2)))
	r = large + small
	return k, r, large - r + small
}

// reduceTurn gives z/2 turns of pi as k pi/2 + r + v, for 0 <= z <= 2^24.
func reduceTurn(z float64) (k uint64, r, v float64) {
	n := 2*z + toInt
	f := 2*z - (n - toInt) // exact, 24 bits
	large := float64(f * turnPi_0)
	small := float64(f * turnPi_1)
	r = large + small
	return math.Float64bits(n), r, large - r + small
}

// sinPoly is sin(r+v) for |r| <= pi/4.
func sinPoly(r, v float64) float64 {
	u := float64(r * r)
	w := float64(u * u)
	p := mad(mad(mad(sinPoly6, w, sinPoly4), w, sinPoly2), w, sinPoly0)
	p = mad(mad(mad(sinPoly5, w, sinPoly3), w, sinPoly1), u, p)
	return r + mad(float64(r*u), p, mad(-u/2, v, v))
}

// cosPoly is cos(r+v) for |r| <= pi/4.
func cosPoly(r, v float64) float64 {
	u := float64(r * r)
	w := float64(u * u)
	p := mad(mad(cosPoly4, w, cosPoly2), w, cosPoly0)
	p = mad(mad(mad(cosPoly5, w, cosPoly3), w, cosPoly1), u, p)
	h := float64(u / 2)
	c := 1 - h
	return c + mad(w, p, mad(-r, v, 1-c-h))
}

// Sin is the sine of x.
func Sin(x float32) float32 {
	z := abs(x)
	if !(z <= math.MaxFloat32) {
		return nan()
	}
	k, r, v := reduceHalfPi(z)
	y := quadrant(k+uint64(math.Float32bits(x)>>31<<1), r, v)
	if middle(y) && z == 0x1.33333p+13 {
		return withSign(0x1.63f4bap-02, -x)
	}
	return float32(y)
}

// Cos is the cosine of x.
func Cos(x float32) float32 {
	z := abs(x)
	if !(z <= math.MaxFloat32) {
		return nan()
	}
	k, r, v := reduceHalfPi(z)
	y := quadrant(k+1, r, v)
	if middle(y) {
		switch z {
		case 0x1.3170fp+63:
			return 0x1.fe2976p-01
		case 0x1.2b9622p+67:
			return 0x1.f0285ep-01
		}
	}
	return float32(y)
}

// Tan is the tangent of x.
func Tan(x float32) float32 {
	z := abs(x)
	switch {
	case !(z <= math.MaxFloat32):
		return nan()
	case z < 0x1p-13:
		return x
	}
	k, r, v := reduceHalfPi(z)
	s, c := sinPoly(r, v), cosPoly(r, v)
	if k&1 != 0 {
		s, c = -c, s
	}
	y := s / c
	if x < 0 {
		y = -y
	}
	return float32(y)
}

// SinPi is the sine of pi x; it is 0 with the sign of x for all integers x.
func SinPi(x float32) float32 {
	z := abs(x)
	switch {
	case !(z <= math.MaxFloat32):
		return nan()
	case z >= 0x1p24:
		return withSign(0, x)
	}
	k, r, v := reduceTurn(z)
	if k&1 == 0 && r == 0 {
		return withSign(0, x)
	}
	return float32(quadrant(k+uint64(math.Float32bits(x)>>31<<1), r, v))
}

// CosPi is the cosine of pi x; its zeros are +0.
func CosPi(x float32) float32 {
	z := abs(x)
	switch {
	case !(z <= math.MaxFloat32):
		return nan()
	case z >= 0x1p24:
		return 1
	}
	k, r, v := reduceTurn(z)
	return float32(quadrant(k+1, r, v)) + 0 // of both zeros
}

// quadrant is sin(k pi/2 + r + v).
func quadrant(k uint64, r, v float64) float64 {
	y, c := sinPoly(r, v), cosPoly(r, v) // both: lanes take both
	if k&1 != 0 {
		y = c
	}
	if k&2 != 0 {
		y = -y
	}
	return y
}

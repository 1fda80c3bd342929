package rmath

import (
	"math"
	"math/bits"
)

// reduce gives x = k pi/64 + r + v for x >= 0, with |r| <= pi/128, and v below its last place; of k
// the low bits count. W. Cody's and W. Waite's method with four parts of pi/64, 1980; where x is
// large or r small M. Payne's and R. Hanek's, 1983.
func reduce(x float64) (k uint64, r, v float64) {
	if x < 0x1p22 {
		n := mad(x, stepInv0, toInt)
		k = math.Float64bits(n)
		n -= toInt
		a := x - float64(n*step_0) - float64(n*step_1) // exact, as are the products
		r, v = fastSum(a, -float64(n*step_2))
		if math.Abs(r) > 0x1p-25 || n == 0 {
			return k, r, v - float64(n*step_3)
		}
	}
	return reduceLarge(x)
}

// reduceLarge is reduce for x >= 1/32. x is m 2^e; the bits of 2/pi before the one with the weight
// 2^(1-e) make multiples of 4, and those after the next 192 less than 2^-137.
func reduceLarge(x float64) (k uint64, r, v float64) {
	b := math.Float64bits(x)
	m := b&(1<<52-1) | 1<<52
	s := b>>52 - 1075 + 62 // where these bits begin
	i, s := s>>6, s&63
	a0 := twoOverPiWords[i]<<s | twoOverPiWords[i+1]>>(64-s)
	a1 := twoOverPiWords[i+1]<<s | twoOverPiWords[i+2]>>(64-s)
	a2 := twoOverPiWords[i+2]<<s | twoOverPiWords[i+3]>>(64-s)
	low, mid := m*a2, m*a1
	high := m*a0 + mulHigh(m, a1)
	mid += mulHigh(m, a2)
	if mid < m*a1 {
		high++
	}
	k = high>>57 + high>>56&1 // in units of pi/64 seven bits are before the point: the nearest integer
	high, mid, low = high<<7|mid>>57, mid<<7|low>>57, low<<7
	negative := high>>63 != 0
	if negative {
		high, mid, low = ^high, ^mid, ^low // one unit less, of 2^-185
	}
	e := int64(0)
	if high == 0 {
		high, mid, low, e = mid, low, 0, 64
	}
	z := uint64(bits.LeadingZeros64(high))
	e += int64(z)
	high, mid = high<<z|mid>>(64-z), mid<<z|low>>(64-z)
	f := float64(float64(int64(high>>11)) * power2(-58-e))
	g := float64(float64(int64(high&0x7ff<<42|mid>>22)) * power2(-111-e))
	r, v = twoMul(f, halfPi0)
	r, v = fastSum(r, v+mad(f, halfPi1, float64(g*halfPi0)))
	if negative {
		r, v = -r, -v
	}
	return k, r, v
}

// mulHigh is the upper half of x*y.
func mulHigh(x, y uint64) uint64 {
	const low32 = 1<<32 - 1
	a, b, c, d := x>>32, x&low32, y>>32, y&low32
	t := a*d + b*d>>32
	u := b*c + t&low32
	return a*c + t>>32 + u>>32
}

// addition is s+sl + (c+cl) (r+q) + s w, h+l: the sine of a sum, where s is the sine of one part
// and c its cosine, and r+q and 1+w are those of the other. s is not below c r, or 0.
func addition(s, sl, c, cl, r, q, w float64) (h, l float64) {
	p, e := twoMul(c, r)
	h, l = fastSum(s, p)
	return h, l + (e + sl + (mad(c, q, float64(cl*r)) + float64(s*w)))
}

// turned is sin(k pi/64 + r + v) for |r| <= pi/128: sin(r+v) is r+q, and cos(r+v) is 1+w.
func turned(k uint64, r, v float64) float64 {
	u := float64(r * r)
	w := float64(u * mad(mad(cosPoly2, u, cosPoly1), u, cosPoly0))
	q := mad(float64(u*r), mad(mad(sinPoly2, u, sinPoly1), u, sinPoly0), v)
	s, c := k&127, (k+32)&127
	h, l := addition(sinTable[s][0], sinTable[s][1], sinTable[c][0], sinTable[c][1], r, q, w)
	return h + l
}

// Sin is the sine of x.
func Sin(x float64) float64 {
	a := math.Abs(x)
	switch {
	case !(a <= math.MaxFloat64):
		return nan()
	case a < 0x1p-27:
		return x
	}
	k, r, v := reduce(a)
	return turned(k+math.Float64bits(x)>>63<<6, r, v)
}

// Cos is the cosine of x.
func Cos(x float64) float64 {
	a := math.Abs(x)
	if !(a <= math.MaxFloat64) {
		return nan()
	}
	k, r, v := reduce(a)
	return turned(k+32, r, v)
}

// Tan is the tangent of x, by the addition theorem.
func Tan(x float64) float64 {
	a := math.Abs(x)
	switch {
	case !(a <= math.MaxFloat64):
		return nan()
	case a < 0x1p-27:
		return x
	}
	k, r, v := reduce(a)
	u := float64(r * r)
	q := mad(mad(tanPoly3, u, tanPoly2), float64(u*u), mad(tanPoly1, u, tanPoly0))
	q = mad(float64(u*r), q, v) // tan(r+v) is r+q
	k += 16
	t, tl := tanTable[k&31][0], tanTable[k&31][1]
	n, nl := fastSum(t, r)
	n, nl = fastSum(n, nl+(tl+q))
	p, e := twoMul(t, r)
	d, dl := fastSum(1, -p)
	d, dl = fastSum(d, dl-(e+mad(t, q, float64(tl*r))))
	if k&32 != 0 {
		n, nl, d, dl = -d, -dl, n, nl
	}
	h, l := quotient(n, nl, d, dl)
	return math.Float64frombits(math.Float64bits(h+l) ^ math.Float64bits(x)&signBit)
}

// reduceHalf gives x pi = k pi/64 + r + v for x >= 0, with |r| <= pi/128.
func reduceHalf(x float64) (k uint64, r, v float64) {
	x -= float64(2 * math.Trunc(float64(x/2)))
	n := mad(x, 64, toInt)
	x -= float64((n - toInt) * 0x1p-6) // exact
	r, v = twoMul(x, pi0)
	return math.Float64bits(n), r, v + float64(x*pi1)
}

// SinPi is the sine of pi x. That of an integer is 0, with the sign of x.
func SinPi(x float64) float64 {
	a := math.Abs(x)
	switch {
	case !(a <= math.MaxFloat64):
		return nan()
	case a == math.Trunc(a):
		return withSign(0, x)
	case a < 0x1p-500: // the lower part of a product may underflow
		h, l := twoMul(a*0x1p600, pi0)
		return withSign(scale(h, l+float64(float64(a*0x1p600)*pi1), -600), x)
	}
	k, r, v := reduceHalf(a)
	return turned(k+math.Float64bits(x)>>63<<6, r, v)
}

// CosPi is the cosine of pi x. That of an integer and a half is 0.
func CosPi(x float64) float64 {
	a := math.Abs(x)
	if !(a <= math.MaxFloat64) {
		return nan()
	}
	k, r, v := reduceHalf(a)
	if r == 0 && k&63 == 32 {
		return 0
	}
	return turned(k+32, r, v)
}

// atanPair is the arc tangent of x+y, the sum of two parts, for x from 0 to 1 and y below its last
// place: Taylor's series around a multiple of 1/64.
func atanPair(x, y float64) (h, l float64) {
	n := mad(x, 64, toInt)
	i := math.Float64bits(n) & 127
	d := x - float64((n-toInt)*0x1p-6) // exact
	dd := float64(d * d)
	q := mad(mad(mad(atanTable[i][10], d, atanTable[i][9]), d, atanTable[i][8]), d, atanTable[i][7])
	q = mad(mad(q, dd, mad(atanTable[i][6], d, atanTable[i][5])), d, atanTable[i][4])
	p, e := twoMul(d, atanTable[i][2])
	h, l = fastSum(atanTable[i][0], p)
	return h, l + (e + atanTable[i][1] + mad(dd, q, mad(d, atanTable[i][3], float64(y*atanTable[i][2]))))
}

// asinPair is the arc sine of x+y, the same for x from 0 to 1/2.
func asinPair(x, y float64) (h, l float64) {
	n := mad(x, 64, toInt)
	i := math.Float64bits(n) & 63
	d := x - float64((n-toInt)*0x1p-6) // exact
	dd := float64(d * d)
	q := mad(mad(mad(asinTable[i][11], d, asinTable[i][10]), d, asinTable[i][9]), d, asinTable[i][8])
	q = mad(mad(q, dd, mad(asinTable[i][7], d, asinTable[i][6])), dd, mad(asinTable[i][5], d, asinTable[i][4]))
	p, e := twoMul(d, asinTable[i][2])
	h, l = fastSum(asinTable[i][0], p)
	return h, l + (e + asinTable[i][1] + mad(dd, q, mad(d, asinTable[i][3], float64(y*asinTable[i][2]))))
}

// Atan is the arc tangent of x.
func Atan(x float64) float64 {
	a := math.Abs(x)
	switch {
	case !(a >= 0x1p-27):
		return x
	case a <= 1:
		h, l := atanPair(a, 0)
		return withSign(h+l, x)
	case a < 0x1p60:
		y := 1 / a
		h, l := atanPair(y, float64(math.FMA(-y, a, 1)*y))
		return withSign(less(halfPi0, halfPi1, h, l), x)
	}
	return withSign(halfPi0, x)
}

// less is (ah+al) - (bh+bl), which is less than ah.
func less(ah, al, bh, bl float64) float64 {
	h, l := fastSum(ah, -bh)
	return h + (l + (al - bl))
}

// Asin is the arc sine of x.
func Asin(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a < 0x1p-27:
		return x
	case a <= 0.5:
		h, l := asinPair(a, 0)
		return withSign(h+l, x)
	case a < 1:
		h, l := asinPair(root((1-a)/2, 0))
		return withSign(less(halfPi0, halfPi1, 2*h, 2*l), x)
	case a == 1:
		return withSign(halfPi0, x)
	}
	return nan()
}

// Acos is the arc cosine of x.
func Acos(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a < 0x1p-60:
		return halfPi0
	case a <= 0.5:
		h, l := asinPair(a, 0)
		if x < 0 {
			h, l = -h, -l
		}
		return less(halfPi0, halfPi1, h, l)
	case a < 1:
		h, l := asinPair(root((1-a)/2, 0)) // exact but for the root
		if x < 0 {
			return less(pi0, pi1, 2*h, 2*l)
		}
		return 2 * (h + l)
	case x == 1:
		return 0
	case x == -1:
		return pi0
	}
	return nan()
}

// Atan2 is the angle of the point (x, y), from -pi to pi.
func Atan2(y, x float64) float64 {
	a, b := math.Abs(y), math.Abs(x)
	left := math.Float64bits(x)>>63 != 0
	switch {
	case x != x || y != y:
		return nan()
	case a > math.MaxFloat64 && b > math.MaxFloat64:
		if left {
			return withSign(3*math.Pi/4, y)
		}
		return withSign(math.Pi/4, y)
	case a == 0 || b > math.MaxFloat64 || b > float64(a*0x1p60):
		if left {
			return withSign(pi0, y)
		}
		if a == 0 {
			return y
		}
		return withSign(a/b, y)
	case a > math.MaxFloat64 || a > float64(b*0x1p60):
		return withSign(halfPi0, y)
	}
	switch c := max(a, b); {
	case c > 0x1p500:
		a, b = a*0x1p-600, b*0x1p-600
	case c < 0x1p-400:
		a, b = a*0x1p600, b*0x1p600
	}
	switch {
	case a > b:
		h, l := atanPair(quotient(b, 0, a, 0))
		if left {
			h, l = -h, -l
		}
		return withSign(less(halfPi0, halfPi1, h, l), y)
	case left:
		h, l := atanPair(quotient(a, 0, b, 0))
		return withSign(less(pi0, pi1, h, l), y)
	}
	h, l := atanPair(quotient(a, 0, b, 0))
	return withSign(h+l, y)
}

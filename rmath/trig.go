package rmath

import (
	"math"
	"math/bits"
)

// reduceHalfPi gives x = k pi/2 + r + v for x >= 0, with |r| <= pi/4, and v below its last place;
// of k the low bits count. W. Cody's and W. Waite's method with four parts of pi/2, 1980; where x
// is large or r small M. Payne's and R. Hanek's, 1983.
func reduceHalfPi(x float64) (k uint64, r, v float64) {
	if x < 0.78 {
		return 0, x, 0
	}
	if x < 0x1p22 {
		n := mad(x, twoOverPi0, toInt)
		k = math.Float64bits(n)
		n -= toInt
		a := x - float64(n*halfPi_0) - float64(n*halfPi_1) // exact, as are the products
		r, v = fastSum(a, -float64(n*halfPi_2))
		if math.Abs(r) > 0x1p-20 {
			return k, r, v - float64(n*halfPi_3)
		}
	}
	return reduceLarge(x)
}

// reduceLarge is reduceHalfPi for x >= 1/2. x is m 2^e; the bits of 2/pi before the one with the
// weight 2^(1-e) make multiples of 4, and those after the next 192 less than 2^-137.
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
	k = high>>62 + high>>61&1 // two bits before the point: the nearest integer
	high, mid, low = high<<2|mid>>62, mid<<2|low>>62, low<<2
	negative := high>>63 != 0
	if negative {
		high, mid, low = ^high, ^mid, ^low // one unit less, of 2^-192
	}
	e := int64(0)
	if high == 0 {
		high, mid, low, e = mid, low, 0, 64
	}
	z := uint64(bits.LeadingZeros64(high))
	e += int64(z)
	high, mid = high<<z|mid>>(64-z), mid<<z|low>>(64-z)
	f := float64(float64(int64(high>>11)) * power2(-53-e))
	g := float64(float64(int64(high&0x7ff<<42|mid>>22)) * power2(-106-e))
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

// leading is the first 10 bits of r: their products are exact.
func leading(r float64) float64 { return math.Float64frombits(math.Float64bits(r) >> 43 << 43) }

// sinPair is sin(r+v) for |r| <= pi/4, the sum of two parts. Of r^3/6 all but a part that is small
// is exact: t^3 times the leading bits of 1/6.
func sinPair(r, v float64) (h, l float64) {
	u := float64(r * r)
	t := leading(r)
	uu := float64(u * u)
	p := mad(mad(sinPoly5, u, sinPoly4), uu, mad(sinPoly3, u, sinPoly2))
	p = mad(p, uu, mad(sinPoly1, u, sinPoly0))
	h, l = fastSum(r, -float64(float64(float64(t*t)*t)*sixth0))
	rest := float64((r - t) * (u + float64(t*(r+t)))) // of the cube
	l += mad(float64(u*r), mad(p, u, -sixth1), float64(v*(1-float64(u/2)))) - float64(rest*sixth0)
	return fastSum(h, l)
}

// cosPair is cos(r+v) for |r| <= pi/4, the sum of two parts, with r^2/2 and r^4/24 as sinPair has
// r^3/6.
func cosPair(r, v float64) (h, l float64) {
	u := float64(r * r)
	t := leading(r)
	w := float64(t * t)
	uu := float64(u * u)
	p := mad(mad(cosPoly5, u, cosPoly4), uu, mad(cosPoly3, u, cosPoly2))
	p = mad(p, uu, mad(cosPoly1, u, cosPoly0))
	c, e := fastSum(1, -float64(w/2))
	h, l = fastSum(c, float64(float64(w*w)*over24_0))
	rest := float64((r - t) * (r + t)) // of the square
	rest = float64(rest*mad(u+w, over24_0, -0.5)) - float64(float64(r*v)*(1-float64(u*sixth0)))
	l += e + mad(uu, mad(p, u, over24_1), rest)
	return fastSum(h, l)
}

// quadrant is sin(k pi/2 + r + v).
func quadrant(k uint64, r, v float64) float64 {
	var h, l float64
	if k&1 == 0 {
		h, l = sinPair(r, v)
	} else {
		h, l = cosPair(r, v)
	}
	if k&2 != 0 {
		return -(h + l)
	}
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
	k, r, v := reduceHalfPi(a)
	return quadrant(k+math.Float64bits(x)>>63<<1, r, v)
}

// Cos is the cosine of x.
func Cos(x float64) float64 {
	a := math.Abs(x)
	if !(a <= math.MaxFloat64) {
		return nan()
	}
	k, r, v := reduceHalfPi(a)
	return quadrant(k+1, r, v)
}

// Tan is the tangent of x.
func Tan(x float64) float64 {
	a := math.Abs(x)
	switch {
	case !(a <= math.MaxFloat64):
		return nan()
	case a < 0x1p-27:
		return x
	}
	k, r, v := reduceHalfPi(a)
	s, sl := sinPair(r, v)
	c, cl := cosPair(r, v)
	if k&1 != 0 {
		s, sl, c, cl = -c, -cl, s, sl
	}
	h, l := quotient(s, sl, c, cl)
	if x < 0 {
		return -(h + l)
	}
	return h + l
}

// reduceHalf gives x pi = k pi/2 + r + v for x >= 0, with |r| <= pi/4.
func reduceHalf(x float64) (k uint64, r, v float64) {
	x -= float64(2 * math.Trunc(float64(x/2)))
	n := mad(x, 2, toInt)
	r, v = twoMul(x-float64((n-toInt)/2), pi0)
	return math.Float64bits(n), r, v + float64((x-float64((n-toInt)/2))*pi1)
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
	return quadrant(k+math.Float64bits(x)>>63<<1, r, v)
}

// CosPi is the cosine of pi x. That of an integer and a half is 0.
func CosPi(x float64) float64 {
	a := math.Abs(x)
	if !(a <= math.MaxFloat64) {
		return nan()
	}
	k, r, v := reduceHalf(a)
	if r == 0 && k&1 == 1 {
		return 0
	}
	return quadrant(k+1, r, v)
}

// most is the first 46 bits of x, whose products with 7 bits are exact.
func most(x float64) float64 { return math.Float64frombits(math.Float64bits(x) >> 7 << 7) }

// atanPair is the arc tangent of (n+nl)/(m+ml), the sum of two parts, where the quotient is from
// 2^-100 to 1. With c near it, a multiple of 1/64, it is atan(c) + atan((n - c m) / (m + c n)).
func atanPair(n, nl, m, ml float64) (h, l float64) {
	j := mad(n/m, 64, toInt)
	i := math.Float64bits(j) & 127
	c := float64((j - toInt) * 0x1p-6)
	t, s := most(m), most(n)
	a, al := twoSum(n, -float64(c*t))
	al += nl - float64(c*(m-t)) - float64(c*ml)
	b, bl := fastSum(m, float64(c*s))
	bl += float64(c*(n-s)) + mad(c, nl, ml)
	d, dl := quotient(a, al, b, bl)
	dd := float64(d * d)
	p := mad(mad(atanPoly3, dd, atanPoly2), float64(dd*dd), mad(atanPoly1, dd, atanPoly0))
	h, l = fastSum(atanTable[i][0], d)
	return fastSum(h, l+(atanTable[i][1]+mad(d*dd, p, dl)))
}

// Atan is the arc tangent of x.
func Atan(x float64) float64 {
	a := math.Abs(x)
	switch {
	case !(a >= 0x1p-27):
		return x
	case a <= 1:
		h, l := atanPair(a, 0, 1, 0)
		return withSign(h+l, x)
	case a < 0x1p60:
		h, l := atanPair(1, 0, a, 0)
		return withSign(less(halfPi0, halfPi1, h, l), x)
	}
	return withSign(halfPi0, x)
}

// less is (ah+al) - (bh+bl), which is less than ah.
func less(ah, al, bh, bl float64) float64 {
	h, l := fastSum(ah, -bh)
	return h + (l + (al - bl))
}

// cosine is the root of 1-x^2, for 0 <= x < 1: the cosine of the angle whose sine is x.
func cosine(x float64) (h, l float64) {
	p, e := twoMul(x, x)
	h, l = fastSum(1, -p)
	return root(fastSum(h, l-e))
}

// Asin is the arc sine of x.
func Asin(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a < 0x1p-27:
		return x
	case a == 1:
		return withSign(halfPi0, x)
	case !(a < 1):
		return nan()
	}
	s, sl := cosine(a)
	if a < s {
		h, l := atanPair(a, 0, s, sl)
		return withSign(h+l, x)
	}
	h, l := atanPair(s, sl, a, 0)
	return withSign(less(halfPi0, halfPi1, h, l), x)
}

// Acos is the arc cosine of x.
func Acos(x float64) float64 {
	a := math.Abs(x)
	switch {
	case x == 1:
		return 0
	case x == -1:
		return pi0
	case !(a < 1):
		return nan()
	case a < 0x1p-60:
		return halfPi0
	}
	s, sl := cosine(a)
	if a < s {
		h, l := atanPair(a, 0, s, sl)
		if x < 0 {
			h, l = -h, -l
		}
		return less(halfPi0, halfPi1, h, l)
	}
	h, l := atanPair(s, sl, a, 0)
	if x < 0 {
		return less(pi0, pi1, h, l)
	}
	return h + l
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
		h, l := atanPair(b, 0, a, 0)
		if left {
			h, l = -h, -l
		}
		return withSign(less(halfPi0, halfPi1, h, l), y)
	case left:
		h, l := atanPair(a, 0, b, 0)
		return withSign(less(pi0, pi1, h, l), y)
	}
	h, l := atanPair(a, 0, b, 0)
	return withSign(h+l, y)
}

package rmath

import "math"

// reduceExp gives z = k ln(2)/64 + r, the sum of two parts: e^z is 2^(k/64) e^r. z is between -2000
// and 2000. P. Tang's method, 1989.
func reduceExp(z float64) (k int64, r, v float64) {
	n := mad(z, expInv0, toInt)
	k = int64(math.Float64bits(n) - toIntBits)
	n -= toInt
	a := z - float64(n*expLn2_0) // exact
	b := float64(n * expLn2_1)
	r = a - b
	return k, r, a - r - b
}

// expm1Poly is (e^r - 1 - r) / r^2 for |r| <= ln(2)/128.
func expm1Poly(r float64) float64 {
	return mad(mad(mad(mad(expPoly4, r, expPoly3), r, expPoly2), r, expPoly1), r, expPoly0)
}

// expSum is t+s, the number 2^(k/64-k>>6) e^(r+v), whose last rounding is still to be done: s is
// below 0.006 t.
func expSum(k int64, r, v float64) (t, s float64) {
	t = expTable[k&63][0]
	return t, mad(t, r+mad(r*r, expm1Poly(r), v), expTable[k&63][1])
}

// expParts is e^(z+y) = (t+p+e) 2^n: t is the value of the table, p is below 0.006 t, e below 2^-52
// of p. z is between -2000 and 2000, and y below its last place.
func expParts(z, y float64) (t, p, e float64, n int64) {
	k, r, v := reduceExp(z)
	r, v = fastSum(r, v+y)
	c := mad(r*r, expm1Poly(r), v)
	s, sl := fastSum(r, c)
	t, u := expTable[k&63][0], expTable[k&63][1]
	p, e = twoMul(t, s)
	return t, p, e + mad(t, sl, mad(u, s, u)), k >> 6
}

// expPair is e^(z+y) = (h+l) 2^n.
func expPair(z, y float64) (h, l float64, n int64) {
	t, p, e, n := expParts(z, y)
	h, l = fastSum(t, p)
	return h, l + e, n
}

// expm1Pair is e^z - 1 = h+l, for z between -44 and 44.
func expm1Pair(z float64) (h, l float64) {
	t, p, e, n := expParts(z, 0)
	f := power2(n)
	a, b := twoSum(float64(t*f), -1)
	h, l = twoSum(a, float64(p*f))
	return fastSum(h, l+b+float64(e*f))
}

// Exp is e^x.
func Exp(x float64) float64 {
	k, r, v := reduceExp(x)
	t, s := expSum(k, r, v)
	y := math.Float64frombits(math.Float64bits(t+s) + uint64(k>>6)<<52)
	if !(math.Abs(x) < 708) {
		y = expFar(x, k, t, s)
	}
	return y
}

// expFar is e^x where the result may not be normal.
func expFar(x float64, k int64, t, s float64) float64 {
	switch {
	case x > 710 || x != x:
		return x * inf()
	case x < -746:
		return 0
	}
	return scale(t, s, k>>6)
}

// Exp2 is 2^x.
func Exp2(x float64) float64 {
	switch {
	case x >= 1024 || x != x:
		return x * inf()
	case x < -1076:
		return 0
	}
	n := mad(x, 64, toInt)
	k := int64(math.Float64bits(n) - toIntBits)
	r := x - float64((n-toInt)*0x1p-6) // exact
	t, s := expSum(k, float64(r*ln2_0), float64(r*ln2_1))
	return scale(t, s, k>>6)
}

// Expm1 is e^x - 1.
func Expm1(x float64) float64 {
	switch {
	case x < -44:
		return -1
	case x > 44 || x != x:
		return Exp(x)
	}
	h, l := expm1Pair(x)
	if h == 0 { // -0
		return x
	}
	return h + l
}

// Sigmoid is 1 / (1 + e^-x), the logistic function.
func Sigmoid(x float64) float64 {
	switch {
	case x < -44:
		return Exp(x)
	case x > 44:
		return 1
	case x != x:
		return x
	}
	t, p, e, n := expParts(-math.Abs(x), 0)
	f := power2(n)
	h, l := fastSum(float64(t*f), float64(p*f))
	l += float64(e * f)
	d, dl := fastSum(1, h)
	dl += l
	if x > 0 {
		h, l = 1, 0
	}
	h, l = quotient(h, l, d, dl)
	return h + l
}

// hyperbolic gives sinh(x) = s+sl and cosh(x) = c+cl for x from 0 to 40, by their addition theorems
// with x = k ln(2)/64 + r + v.
func hyperbolic(x float64) (s, sl, c, cl float64) {
	k, r, v := reduceExp(x)
	f, g := power2(k>>6-1), power2((-k)>>6-1)
	a, b := float64(expTable[k&63][0]*f), float64(expTable[-k&63][0]*g)
	al, bl := float64(expTable[k&63][1]*f), float64(expTable[-k&63][1]*g)
	d, dl := fastSum(a, -b)
	t, tl := fastSum(a, b)
	dl += al - bl
	tl += al + bl
	u := float64(r * r)
	w := float64(u * mad(mad(coshPoly2, u, coshPoly1), u, coshPoly0))
	q := mad(float64(u*r), mad(mad(sinhPoly2, u, sinhPoly1), u, sinhPoly0), v)
	s, sl = addition(d, dl, t, tl, r, q, w)
	c, cl = addition(t, tl, d, dl, r, q, w)
	return s, sl, c, cl
}

// Sinh is the hyperbolic sine of x.
func Sinh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a < 0x1p-27:
		return x
	case a < 40:
		h, l, _, _ := hyperbolic(a)
		return withSign(h+l, x)
	case a < 712:
		h, l, n := expPair(a, 0)
		return withSign(scale(h, l, n-1), x)
	}
	return x * inf()
}

// Cosh is the hyperbolic cosine of x.
func Cosh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a < 40:
		_, _, h, l := hyperbolic(a)
		return h + l
	case a < 712:
		h, l, n := expPair(a, 0)
		return scale(h, l, n-1)
	}
	return a * inf()
}

// Tanh is the hyperbolic tangent of x: a series, or 1 - 2/(e^2x + 1).
func Tanh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a < 0x1p-27 || x != x:
		return x
	case a > 22:
		return withSign(1, x)
	case a > 3:
		return withSign(1-2/(Exp(2*a)+1), x)
	}
	n := mad(a, 16, toInt)
	i := math.Float64bits(n) & 63
	d := a - float64((n-toInt)*0x1p-4) // exact
	dd := float64(d * d)
	q := mad(mad(mad(tanhTable[i][13], d, tanhTable[i][12]), d, tanhTable[i][11]), d, tanhTable[i][10])
	q = mad(mad(q, dd, mad(tanhTable[i][9], d, tanhTable[i][8])), dd, mad(tanhTable[i][7], d, tanhTable[i][6]))
	q = mad(q, dd, mad(tanhTable[i][5], d, tanhTable[i][4]))
	p, e := twoMul(d, tanhTable[i][2])
	h, l := fastSum(tanhTable[i][0], p)
	return withSign(h+(l+(e+tanhTable[i][1]+mad(dd, q, float64(d*tanhTable[i][3])))), x)
}

package f32

import "math"

// reduceExp gives z = k ln(2) + r, the number t = 2^k, and s = e^r - 1: e^z is t + t s. Where z is
// not between -700 and 700 t is any number.
func reduceExp(z float64) (t, s float64) {
	k := mad(z, expInv0, toPower)
	t = powerOf2(k)
	k -= toPower
	return t, expm1Poly(mad(k, -expLn2_1, mad(k, -expLn2_0, z)))
}

// powerOf2 is 2^n for the integer n = k - toPower.
func powerOf2(k float64) float64 {
	return math.Float64frombits(math.Float64bits(k) << 52)
}

// expm1Poly is e^r - 1 for |r| <= ln(2)/2.
func expm1Poly(r float64) float64 {
	u := float64(r * r)
	p := mad(mad(mad(mad(expPoly8, u, expPoly6), u, expPoly4), u, expPoly2), u, expPoly0)
	q := mad(mad(mad(mad(expPoly9, u, expPoly7), u, expPoly5), u, expPoly3), u, expPoly1)
	return mad(u, mad(q, r, p), r)
}

// exp is e^z for z between -700 and 700.
func exp(z float64) float64 {
	t, s := reduceExp(z)
	return mad(t, s, t)
}

// expm1 is e^z - 1 for z between -700 and 700. Where k is 0 it is s, with a small relative error;
// elsewhere t-1 is exact, or large.
func expm1(z float64) float64 {
	t, s := reduceExp(z)
	return mad(t, s, t-1)
}

// Exp is e^x.
func Exp(x float32) float32 {
	if x > 104 { // e^x is infinite
		x = 104
	}
	if x < -104 { // below half of the smallest number
		x = -104
	}
	return float32(exp(float64(x)))
}

// Exp2 is 2^x.
func Exp2(x float32) float32 {
	switch {
	case x < -150:
		return 0
	case x > 128 || x != x:
		return x * inf()
	case x < 0x1p-26 && x > -0x1p-26:
		return 1
	}
	z := float64(x)
	k := z + toPower
	t := powerOf2(k)
	y := mad(t, expm1Poly((z-(k-toPower))*math.Ln2), t)
	if middle(y) {
		switch x {
		case 0x1.853a6ep-09:
			return 0x1.00870ap+00
		case -0x1.e7526ep-06:
			return 0x1.f58d62p-01
		}
	}
	return float32(y)
}

// Expm1 is e^x - 1.
func Expm1(x float32) float32 {
	switch {
	case x < -18: // above -1 by less than a quarter of 2^-24
		return -1
	case x > 89 || x != x:
		return x * inf()
	case x < 0x1p-26 && x > -0x1p-26:
		return x
	}
	return float32(expm1(float64(x)))
}

// Sigmoid is 1 / (1 + e^-x), the logistic function.
func Sigmoid(x float32) float32 {
	switch {
	case x < -104:
		return 0
	case x > 18:
		return 1
	case x != x:
		return x
	case x < 0x1p-10 && x > -0x1p-10:
		return sigmoidNear0(float64(x))
	}
	y := 1 / (1 + exp(-float64(x)))
	if middle(y) && x == -0x1.250c02p-10 {
		return 0x1.ffb6bep-02
	}
	return float32(y)
}

// sigmoidNear0 is 1/2 + z/4 - z^3/48: the first two terms are exact from 2^-26 on, and may be the
// middle of two float32. Then the third decides, however small it is.
func sigmoidNear0(z float64) float32 {
	if z < 0x1p-26 && z > -0x1p-26 {
		return 0.5
	}
	s := 0.5 + float64(z/4)
	y := s - float64(z*z)*z/48
	if y == s {
		y = math.Float64frombits(math.Float64bits(s) + math.Float64bits(z)>>63*2 - 1) // towards 1/2
	}
	return float32(y)
}

// Sinh is the hyperbolic sine of x.
func Sinh(x float32) float32 {
	a := abs(x)
	if a > 90 || x != x {
		return x * inf()
	}
	if a < 0x1p-13 {
		return x
	}
	t := expm1(a)
	y := (t + t/(t+1)) / 2
	if middle(y) && a == 0x1.250bfep-11 {
		return x
	}
	return withSign(float32(y), x)
}

// Cosh is the hyperbolic cosine of x.
func Cosh(x float32) float32 {
	a := abs(x)
	if a > 90 || x != x {
		return x * x * inf()
	}
	if a < 0x1p-13 {
		return 1
	}
	t := exp(a)
	return float32((t + 1/t) / 2)
}

// Tanh is the hyperbolic tangent of x.
func Tanh(x float32) float32 {
	a := abs(x)
	switch {
	case a > 10:
		return withSign(1, x)
	case a < 0x1p-13 || x != x:
		return x
	}
	t := expm1(2 * a)
	return withSign(float32(t/(t+2)), x)
}

// abs is |x| as a float64.
func abs(x float32) float64 { return math.Abs(float64(x)) }

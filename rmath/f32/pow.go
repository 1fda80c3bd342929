package f32

import "math"

// Pow is x^y, with the special cases of package math. It is correctly rounded but for values within
// 2^-89 of the middle of two float32, of which none is known that is not the middle itself.
func Pow(x, y float32) float32 {
	z, p := abs(x), float64(y)
	switch {
	case y == 0 || x == 1:
		return 1
	case x != x || y != y:
		return nan()
	}
	negative := false
	if math.Float32bits(x)>>31 != 0 {
		t := Trunc(y)
		switch {
		case t == y:
			negative = Trunc(y/2)*2 != y
		case z != 0 && z <= math.MaxFloat32 && math.Abs(p) <= math.MaxFloat32:
			return nan()
		}
	}
	var r float32
	switch {
	case z == 0 || z > math.MaxFloat32 || math.Abs(p) > math.MaxFloat32:
		switch {
		case z == 1:
			r = 1
		case z > 1 == (y > 0):
			r = inf()
		}
	default:
		r = pow(z, p)
	}
	if negative {
		r = -r
	}
	return r
}

// log2Poly is ln(1+r) - r for |r| < 0.008.
func log2Poly(r float64) float64 {
	q := mad(mad(mad(mad(mad(mad(binPoly6, r, binPoly5), r, binPoly4), r, binPoly3), r, binPoly2), r, binPoly1),
		r, binPoly0)
	return float64(float64(r*r) * q)
}

// pow is z^y for a positive z and y, which is not 0: 2^(y log2(z)), whose exponent has two parts.
func pow(z, y float64) float32 {
	e, m := split(z, logOffset)
	i := (math.Float64bits(m) - logOffset) >> 46 & 63 // the bin of m
	r := mad(m, logInv[i], -1)                        // is small
	a, b := e+log2Table[i][0], float64(r*log2E_0)     // exact
	s := a + b
	l := fastSum(s, (a-s+b)+(mad(r, log2E_1, log2Table[i][1])+float64(log2Poly(r)*(1/math.Ln2))))
	h := math.Float64frombits(math.Float64bits(l.hi) &^ (1<<27 - 1))
	large, rest := float64(h*y), mad(l.lo, y, float64((l.hi-h)*y)) // the products with 24 bits are exact
	switch {
	case large > 129:
		return inf()
	case large < -151:
		return 0
	}
	k := large + toPower
	t := powerOf2(k)
	w := mad(t, expm1Poly((large-(k-toPower)+rest)*math.Ln2), t)
	if w < 0x1p-126 {
		// the middles are the odd multiples of 2^-150
		q := float64(w * 0x1p150)
		odd := mad(2, math.Floor(q/2), 1)
		if math.Abs(q-odd) > float64(q*0x1p-48) {
			return float32(w)
		}
		w = odd * 0x1p-150
	} else if middle(w) {
		w = nearMiddle(w)
	} else {
		return float32(w)
	}
	return beside(w, powFrom(w, z, y))
}

// powFrom has the sign of ln(z^y/m), 0 if z^y is m.
func powFrom(m, z, y float64) float64 {
	d := logTwo(z).times(two{y, 0}).minus(logTwo(m))
	if math.Abs(d.hi) < 0x1p-89 {
		return 0
	}
	return d.hi
}

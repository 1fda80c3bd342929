// Package rcmplx has the arithmetic and the functions of complex numbers, most under the names of
// package math/cmplx, with the same bits on every machine. Go's own x*y and x/y of complex numbers,
// and math/cmplx, have other bits where a processor's fused instructions are used, or functions in
// assembly.
//
// Parts are computed in float64, by sums, products, quotients, square roots and fused
// multiply-adds, each rounded once, and the functions of package rmath; docs/rmath.md has each
// step, and the errors measured. What overflows on the way does no harm where the result has room.
// A complex64 is computed as a complex128, whose parts are rounded once at the end.
//
// Infinities, NaN and zeros are those of Annex G of C99: a number is infinite where one of its
// parts is, even if the other is NaN.
package rcmplx

import (
	"math"

	"github.com/tandem-gpu/tandem/rmath"
)

// Complex is the complex numbers.
type Complex interface{ ~complex64 | ~complex128 }

// Abs is |x|, rmath.Hypot of its parts.
func Abs[C Complex](x C) float64 {
	a, b := parts(x)
	return rmath.Hypot(a, b)
}

// Phase is the angle of x, from -pi to pi: rmath.Atan2 of its parts.
func Phase[C Complex](x C) float64 {
	a, b := parts(x)
	return rmath.Atan2(b, a)
}

// Mul is x*y, with an error of at most a unit in the last place in each part, however much cancels
// in it. Mul(y, x) has the same bits.
func Mul[C Complex](x, y C) C { return C(mul(complex128(x), complex128(y))) }

// Div is x/y. A real y divides both parts. By zero x is infinite, unless it is zero or NaN.
func Div[C Complex](x, y C) C { return C(div(complex128(x), complex128(y))) }

// Sqrt is the square root of x whose real part is not negative; the imaginary part has the sign
// that it has in x.
func Sqrt[C Complex](x C) C { return C(root(complex128(x))) }

// Exp is e^x.
func Exp[C Complex](x C) C { return C(exp(complex128(x))) }

// Log is the natural logarithm of x: the logarithm of Abs(x), and Phase(x). Of zero it is -Inf.
func Log[C Complex](x C) C { return C(log(complex128(x))) }

// Pow is x^y = Exp(Mul(y, Log(x))); of real x and y the magnitude is rmath.Pow of Abs(x) and y. The
// error grows with the magnitude of y*Log(x); where the angle, its imaginary part, is beyond
// float64, parts are NaN. x^0 is 1. Of zero Pow is what math/cmplx has: 0 where the real part of y
// is positive, infinite where it is negative, and else 1.
func Pow[C Complex](x, y C) C { return C(pow(complex128(x), complex128(y))) }

// parts is the real and the imaginary part of x.
func parts[C Complex](x C) (a, b float64) {
	z := complex128(x)
	return real(z), imag(z)
}

func finite(x float64) bool { return x*0 == 0 }

func isFinite(x complex128) bool { return finite(real(x)) && finite(imag(x)) }

func isInf(x complex128) bool { return math.IsInf(real(x), 0) || math.IsInf(imag(x), 0) }

// larger is the larger magnitude of the parts of x.
func larger(x complex128) float64 { return max(math.Abs(real(x)), math.Abs(imag(x))) }

// times is x*f of a real f.
func times(x complex128, f float64) complex128 {
	return complex(float64(real(x)*f), float64(imag(x)*f))
}

// signed is a, which is not negative, with the sign of b. That of a NaN differs between processors,
// and does not count.
func signed(a, b float64) float64 {
	if math.IsNaN(b) {
		return a
	}
	return math.Copysign(a, b)
}

func conj(x complex128) complex128 { return complex(real(x), -imag(x)) }

// products is a*b + c*d: the sum of both rounded products, and what these three roundings left out.
// Where a product is beyond float64, all numbers are smaller first.
func products(a, b, c, d float64) float64 {
	p, q := float64(a*b), float64(c*d)
	s := p + q
	if !finite(s) {
		if !isFinite(complex(a, b)) || !isFinite(complex(c, d)) {
			return s
		}
		const n = 0x1p-540
		return products(a*n, b*n, c*n, d*n) / n / n
	}
	t := s - p
	rest := (p - (s - t)) + (q - t) + (math.FMA(a, b, -p) + math.FMA(c, d, -q))
	if rest == 0 { // a zero keeps its sign
		return s
	}
	return s + rest
}

// product is x*y, but for what Annex G says of infinities.
func product(x, y complex128) complex128 {
	a, b, c, d := real(x), imag(x), real(y), imag(y)
	return complex(products(a, c, -b, d), products(a, d, b, c))
}

func mul(x, y complex128) complex128 {
	z := product(x, y)
	if math.IsNaN(real(z)) && math.IsNaN(imag(z)) && (isInf(x) || isInf(y)) {
		return times(product(direction(x), direction(y)), math.Inf(1))
	}
	return z
}

// direction is x as a factor of what is infinite or zero: of an infinite number the infinite parts
// are 1 and others 0, of another a NaN is 0, each with its sign.
func direction(x complex128) complex128 {
	part := func(a float64) float64 {
		switch {
		case math.IsInf(a, 0):
			return signed(1, a)
		case isInf(x) || math.IsNaN(a):
			return signed(0, a)
		}
		return a
	}
	return complex(part(real(x)), part(imag(x)))
}

func div(x, y complex128) complex128 {
	a, b, c := real(x), imag(x), real(y)
	switch {
	case y == 0:
		inf := signed(math.Inf(1), c)
		return complex(a*inf, b*inf)
	case imag(y) == 0:
		return complex(a/c, b/c)
	case isInf(x) && isFinite(y):
		return times(product(direction(x), conj(y)), math.Inf(1))
	case isFinite(x) && isInf(y):
		return times(product(times(x, 0.5), conj(direction(y))), 0)
	}
	return quotient(x, y)
}

// quotient is x*conj(y) / |y|^2, with both scaled so that their larger parts are between 2^-500 and
// 2^500.
func quotient(x, y complex128) complex128 {
	f, g := middle(larger(x)), middle(larger(y))
	x, y = times(x, f), times(y, g)
	z := product(x, conj(y))
	c, d := real(y), imag(y)
	s := products(c, c, d, d)
	z = complex(real(z)/s, imag(z)/s)
	if f != g {
		z = times(times(z, g), 1/f)
	}
	return z
}

// middle is the power of two that brings m between 2^-500 and 2^500.
func middle(m float64) float64 {
	switch {
	case m > 0x1p500:
		return 0x1p-600
	case m < 0x1p-500:
		return 0x1p600
	}
	return 1
}

func root(x complex128) complex128 {
	b := imag(x)
	switch {
	case x == 0:
		return complex(0, b)
	case math.IsInf(b, 0):
		return complex(math.Inf(1), b)
	}
	f, back := 1.0, 1.0
	switch m := larger(x); {
	case m > 0x1p1000:
		f, back = 0x1p-100, 0x1p50
	case m < 0x1p-900:
		f, back = 0x1p200, 0x1p-100
	}
	x = times(x, f)
	a, b := math.Abs(real(x)), imag(x)
	t := math.Sqrt((a + rmath.Hypot(a, b)) / 2)
	u := float64(b*back) / (2 * t)
	t *= back
	if real(x) < 0 {
		return complex(math.Abs(u), signed(t, b))
	}
	return complex(t, u)
}

const exp709 = 0x1.d422d2be5dc9bp+1022 // e^709

func exp(x complex128) complex128 {
	a, b := real(x), imag(x)
	switch {
	case b == 0:
		return complex(rmath.Exp(a), b)
	case math.IsInf(a, 0) && !finite(b):
		if a < 0 {
			return complex(0, signed(0, b))
		}
		return complex(a, math.NaN())
	}
	z := complex(rmath.Cos(b), rmath.Sin(b))
	for range 2 { // e^a may be beyond float64, and a part not: sines go down to 2^-1074
		if a > 709 {
			a -= 709
			z = times(z, exp709)
		}
	}
	return times(z, rmath.Exp(a))
}

func log(x complex128) complex128 {
	const n = 600
	a, b := real(x), imag(x)
	h, angle := rmath.Hypot(a, b), rmath.Atan2(b, a)
	switch {
	case h > 0.5 && h < 1.5:
		return complex(rmath.Log1p(squaresLess1(a, b))/2, angle)
	case h > 0x1p1000:
		return complex(rmath.Log(rmath.Hypot(a*0x1p-600, b*0x1p-600))+n*math.Ln2, angle)
	case h < 0x1p-1000:
		return complex(rmath.Log(rmath.Hypot(a*0x1p600, b*0x1p600))-n*math.Ln2, angle)
	}
	return complex(rmath.Log(h), angle)
}

// squaresLess1 is a*a + b*b - 1: the exact terms, summed up with what sums leave out, twice.
func squaresLess1(a, b float64) float64 {
	p, q := float64(a*a), float64(b*b)
	x := [5]float64{-1, p, q, math.FMA(a, a, -p), math.FMA(b, b, -q)}
	for range 2 {
		for i := range 4 {
			x[i+1], x[i] = twoSum(x[i], x[i+1])
		}
	}
	return x[0] + x[1] + x[2] + x[3] + x[4]
}

// twoSum is a+b, rounded, and what the rounding left out (Knuth, 1969).
func twoSum(a, b float64) (h, l float64) {
	h = a + b
	t := h - a
	return h, (a - (h - t)) + (b - t)
}

func pow(x, y complex128) complex128 {
	switch {
	case y == 0:
		return 1
	case x == 0:
		return powOfZero(y)
	case imag(x) == 0 && imag(y) == 0:
		return polar(rmath.Pow(math.Abs(real(x)), real(y)), real(y)*Phase(x))
	}
	return exp(mul(y, log(x)))
}

// powOfZero is 0^y for a y that is not 0.
func powOfZero(y complex128) complex128 {
	switch a, b := real(y), imag(y); {
	case math.IsNaN(a) || math.IsNaN(b):
		return complex(math.NaN(), math.NaN())
	case a > 0:
		return 0
	case a == 0:
		return 1
	case b == 0:
		return complex(math.Inf(1), 0)
	}
	return complex(math.Inf(1), math.Inf(1))
}

// polar is the number of magnitude r at an angle.
func polar(r, angle float64) complex128 {
	if angle == 0 {
		return complex(r, angle)
	}
	return complex(float64(r*rmath.Cos(angle)), float64(r*rmath.Sin(angle)))
}

// Package rmath has the elementary functions for float64, under the names of package math, with the
// same bits on every machine: in plain Go, and in a kernel (docs/kernels.md). The errors measured
// stay below 0.53 units in the last place (ulp); docs/rmath.md has them, and the methods. Package
// f32 has the functions for float32.
//
// The functions compute in operations that every processor rounds alike: sums, products, quotients,
// square roots and fused multiply-adds. A number that needs more digits than a float64 has is the
// sum of two, not evaluated; what is left out then is below 2^-60, so that the last rounding
// decides.
//
// Special cases are those of package math.
package rmath

import "math"

//go:generate go run ./internal/gen -package rmath

const (
	toInt     = 0x1.8p52 // x+toInt has the integer nearest to x in its low bits
	toIntBits = 0x4338000000000000
	signBit   = 1 << 63
)

// inf is +Inf; kernels have no variables of their own.
func inf() float64 { return math.Float64frombits(0x7ff0000000000000) }

func nan() float64 { return math.Float64frombits(0x7ff8000000000000) }

// withSign is x, which is positive, with the sign of s.
func withSign(x, s float64) float64 {
	return math.Float64frombits(math.Float64bits(x) | math.Float64bits(s)&signBit)
}

// power2 is 2^n, for n from -1022 to 1023.
func power2(n int64) float64 { return math.Float64frombits(uint64(n+1023) << 52) }

// mad is x*y + z, rounded twice. A conversion keeps a product from being fused with the sum.
func mad(x, y, z float64) float64 { return float64(x*y) + z }

// Sums and products of two numbers without an error, h+l. T. Dekker, 1971; D. Knuth, 1969.

// twoSum is a+b.
func twoSum(a, b float64) (h, l float64) {
	h = a + b
	t := h - a
	return h, (a - (h - t)) + (b - t)
}

// fastSum is a+b where b is not larger than a, or a is 0.
func fastSum(a, b float64) (h, l float64) {
	h = a + b
	return h, b - (h - a)
}

// twoMul is a*b, unless the lower part underflows.
func twoMul(a, b float64) (h, l float64) {
	h = float64(a * b)
	return h, math.FMA(a, b, -h)
}

// Operations on sums of two numbers, h+l with l near the last place of h at most. The relative
// error is a few units of 2^-104.

// quotient is (ah+al) / (bh+bl).
func quotient(ah, al, bh, bl float64) (h, l float64) {
	h = ah / bh
	inverse := 1 / bh // beside the division
	return h, float64((math.FMA(-h, bh, ah) + (al - float64(h*bl))) * inverse)
}

// root is the square root of ah+al, which is positive.
func root(ah, al float64) (h, l float64) {
	h = math.Sqrt(ah)
	inverse := 0.5 / h
	return h, float64((math.FMA(-h, h, ah) + al) * inverse)
}

// scale is (h+l) 2^n, rounded once. h+l is between 2^-50 and 2^50 in magnitude.
func scale(h, l float64, n int64) float64 {
	y := h + l
	e := int64(math.Float64bits(y)>>52&0x7ff) + n
	switch {
	case e >= 0x7ff:
		return y * inf()
	case e > 0:
		return math.Float64frombits(math.Float64bits(y) + uint64(n)<<52)
	case e < -54:
		return withSign(0, y)
	}
	// The result is subnormal. The last place of m is that of the result, times 2^-n.
	m := withSign(power2(-1022-n), y)
	s, t := fastSum(m, h)
	s += t + l
	return withSign(math.Float64frombits(math.Float64bits(s)-math.Float64bits(m)), y)
}

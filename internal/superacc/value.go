package superacc

import "math/bits"

// A Value is a number that waits to be rounded: Hi and Lo are 128 bits of it, of which the highest
// is set unless it is zero.
type Value struct {
	Hi, Lo uint64
	Exp    int  // of the lowest of the 128 bits
	Neg    bool // below zero
	Rest   bool // there is something below the lowest bit
}

// NewValue is (hi, lo) * 2^exp, or its negative.
func NewValue(hi, lo uint64, exp int, neg bool) Value {
	if hi|lo == 0 {
		return Value{}
	}
	return Value{Neg: neg}.become(hi, lo, exp, false)
}

// Top is the number in the words w at a place, of which word k counts 2^(32k+bottom). It leaves the
// magnitude in them.
func Top(w []int64, at Place, bottom int) Value {
	Carry(w, at)
	v := Value{Neg: w[at.At+(at.N-1)*at.Step] < 0}
	if v.Neg {
		for k := range at.N {
			w[at.At+k*at.Step] *= -1
		}
		Carry(w, at)
	}
	k := at.N - 1
	for k > 0 && w[at.At+k*at.Step] == 0 {
		k--
	}
	a, b, c, d, e := digit(w, at, k), digit(w, at, k-1), digit(w, at, k-2), digit(w, at, k-3), digit(w, at, k-4)
	if a == 0 {
		return v
	}
	z := uint(bits.LeadingZeros32(uint32(a)))
	v.Hi = a<<(32+z) | b<<z | c>>(32-z)
	v.Lo = c<<(32+z) | d<<z | e>>(32-z)
	v.Exp = 32*(k-3) + bottom - int(z)
	v.Rest = e<<(32+z) != 0
	for i := 0; i < k-4 && !v.Rest; i++ {
		v.Rest = w[at.At+i*at.Step] != 0
	}
	return v
}

// digit is word k, which is 0 below the lowest.
func digit(w []int64, at Place, k int) uint64 {
	if k < 0 {
		return 0
	}
	return uint64(w[at.At+k*at.Step])
}

// quotientBits is how many bits of a quotient Over finds at least: enough for the root of it.
const quotientBits = 120

// Over is v / n, for n from 1 to 2^63-1.
func (v Value) Over(n uint64) Value {
	if n == 1 || v.Hi == 0 {
		return v
	}
	if n < 1<<32 {
		return v.overShort(n)
	}
	known := bits.Len64(n) - 1 // so many bits of v are less than n
	hi, lo, rem := v.Hi<<known|v.Lo>>(64-known), v.Lo<<known, v.Hi>>(64-known)
	qhi, qlo := uint64(0), uint64(0)
	for range quotientBits {
		rem = rem<<1 | hi>>63
		hi, lo = hi<<1|lo>>63, lo<<1
		qhi, qlo = qhi<<1|qlo>>63, qlo<<1
		if rem >= n {
			rem -= n
			qlo |= 1
		}
	}
	return v.become(qhi, qlo, v.Exp+128-known-quotientBits, rem|hi|lo != 0)
}

// overShort is v / n for n of 32 bits: 32 bits of the quotient at a time, of which there are 160 in
// all, by a product with the reciprocal (Möller and Granlund, "Improved division by invariant
// integers", 2011).
func (v Value) overShort(n uint64) Value {
	z := uint(bits.LeadingZeros32(uint32(n)))
	d := n << z
	r := reciprocal{d, (1<<64-1)/d - 1<<32}
	q4, rem := r.divide(v.Hi>>(64-z), v.Hi<<z>>32)
	q3, rem := r.divide(rem, (v.Hi<<z|v.Lo>>(64-z))&low)
	q2, rem := r.divide(rem, v.Lo<<z>>32)
	q1, rem := r.divide(rem, v.Lo<<z&low)
	q0, rem := r.divide(rem, 0)
	hi, lo := q4<<32|q3, q2<<32|q1
	up := uint(bits.LeadingZeros64(hi)) // 32 at most
	return Value{
		Hi: hi<<up | lo>>(64-up), Lo: lo<<up | q0<<up>>32, Exp: v.Exp - int(up), Neg: v.Neg,
		Rest: v.Rest || rem|q0<<(32+up) != 0,
	}
}

// low is the lower half of a word.
const low = 1<<32 - 1

// A reciprocal is a divisor d of 32 bits, of which the highest is set, and 2^64/d, rounded down,
// less 2^32.
type reciprocal struct{ d, inverse uint64 }

// divide divides (u1, u0), of 32 bits each, by d, above u1.
func (r reciprocal) divide(u1, u0 uint64) (quotient, rem uint64) {
	q := r.inverse*u1 + (u1<<32 | u0)
	quotient = (q>>32 + 1) & low
	rem = (u0 - quotient*r.d) & low
	if rem > q&low {
		quotient--
		rem = (rem + r.d) & low
	}
	if rem >= r.d {
		quotient++
		rem -= r.d
	}
	return quotient & low, rem
}

// Root is the square root of v, which is not below zero, to be rounded to a float of so many bits,
// of float64 at most. It finds some more, and whether there is a rest.
func (v Value) Root(precision int) Value {
	if v.Hi == 0 {
		return v
	}
	hi, lo := v.Hi, v.Lo
	if v.Exp&1 != 0 {
		v.Rest = v.Rest || lo&1 != 0
		hi, lo = hi>>1, lo>>1|hi<<63
		v.Exp++
	}
	rem, root := uint64(0), uint64(0)
	n := precision + 4
	for range n {
		rem = rem<<2 | hi>>62
		hi, lo = hi<<2|lo>>62, lo<<2
		t := root<<2 | 1
		root <<= 1
		if rem >= t {
			rem -= t
			root |= 1
		}
	}
	return v.become(0, root, v.Exp/2+64-n, rem|hi|lo != 0)
}

// become is (hi, lo) * 2^exp, which is not zero, with v's sign and rest.
func (v Value) become(hi, lo uint64, exp int, rest bool) Value {
	if hi == 0 {
		hi, lo, exp = lo, 0, exp-64
	}
	z := bits.LeadingZeros64(hi)
	return Value{Hi: hi<<z | lo>>(64-z), Lo: lo << z, Exp: exp - z, Neg: v.Neg, Rest: v.Rest || rest}
}

// Bits64 is v as a float64, rounded to nearest even.
func (v Value) Bits64() uint64 { return v.round(53, 2047) }

// Bits32 is v as a float32, rounded to nearest even.
func (v Value) Bits32() uint32 { return uint32(v.round(24, 255)) }

// round gives the bits of a float with so many bits in its significand, whose exponent field is inf
// in infinity.
func (v Value) round(precision int, inf uint64) uint64 {
	if v.Hi == 0 {
		return 0
	}
	exp, least := v.Exp+64, lowest(precision, inf)
	drop := max(64-precision, least-exp)
	keep := uint64(0)
	if drop <= 64 {
		keep = v.Hi >> drop
		below := v.Hi << (64 - drop)
		if below > 1<<63 || below == 1<<63 && (keep&1 != 0 || v.Lo != 0 || v.Rest) {
			keep++ // a carry into the exponent is right
		}
		keep += uint64(exp+drop-least) << (precision - 1)
	}
	keep = min(keep, inf<<(precision-1))
	if v.Neg {
		keep |= (inf + 1) << (precision - 1)
	}
	return keep
}

// lowest is the exponent of a float's lowest bit where it is subnormal.
func lowest(precision int, inf uint64) int { return 2 - precision - int(inf>>1) }

// Split64 gives the magnitude of a float64 as m * 2^exp, and whether it is finite.
func Split64(b uint64) (m uint64, exp int, finite bool) { return split(b, 53, 2047) }

// Split32 gives the magnitude of a float32 as m * 2^exp, and whether it is finite.
func Split32(b uint32) (m uint64, exp int, finite bool) { return split(uint64(b), 24, 255) }

func split(b uint64, precision int, inf uint64) (m uint64, exp int, finite bool) {
	one := uint64(1) << (precision - 1)
	m, field := b&(one-1), b>>(precision-1)&inf
	normal := min(field, 1)
	return m | normal<<(precision-1), lowest(precision, inf) + int(field-normal), field != inf
}

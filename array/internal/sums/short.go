package sums

import (
	"math/bits"

	"github.com/tandem-gpu/tandem/internal/superacc"
)

// A short is an exact sum in 128 bits: an integer in two's complement, times 2^base, where whoever
// adds up knows the base.
type short struct{ hi, lo uint64 }

// plus is s and a term of 64 bits that fits.
func (s short) plus(t wide, base int) short {
	up := uint(t.exp - base)
	hi, lo := t.lo<<(up-64)|t.lo>>(64-up), t.lo<<up // the shift that is huge shifts all away
	if t.neg {
		l, borrow := bits.Sub64(s.lo, lo, 0)
		h, _ := bits.Sub64(s.hi, hi, borrow)
		return short{h, l}
	}
	l, carry := bits.Add64(s.lo, lo, 0)
	h, _ := bits.Add64(s.hi, hi, carry)
	return short{h, l}
}

// and is s + t.
func (s short) and(t short) short {
	lo, carry := bits.Add64(s.lo, t.lo, 0)
	hi, _ := bits.Add64(s.hi, t.hi, carry)
	return short{hi, lo}
}

// value is s as a number that waits to be rounded.
func (s short) value(base int) superacc.Value {
	if int64(s.hi) < 0 {
		lo, borrow := bits.Sub64(0, s.lo, 0)
		hi, _ := bits.Sub64(0, s.hi, borrow)
		return superacc.NewValue(hi, lo, base, true)
	}
	return superacc.NewValue(s.hi, s.lo, base, false)
}

// valueWith is s * 2^up + c, which may take 192 bits, as a number that waits to be rounded.
func (s short) valueWith(up int, c short, base int) superacc.Value {
	lo, carry := bits.Add64(s.lo<<up, c.lo, 0)
	mid, carry := bits.Add64(s.hi<<up|s.lo>>(64-up), c.hi, carry)
	hi, _ := bits.Add64(uint64(int64(s.hi)>>(64-up)), uint64(int64(c.hi)>>63), carry)
	neg := int64(hi) < 0
	if neg {
		borrow := uint64(0)
		lo, borrow = bits.Sub64(0, lo, 0)
		mid, borrow = bits.Sub64(0, mid, borrow)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	if hi == 0 {
		hi, mid, lo, base = mid, lo, 0, base-64
	}
	v := superacc.NewValue(hi, mid, base+64, neg)
	z := uint(bits.LeadingZeros64(hi)) // 64 where lo is 0
	v.Lo |= lo >> (64 - z)
	v.Rest = lo<<z != 0
	return v
}

// shortOf is v in units of 2^base, of which it is a multiple; it fits.
func shortOf(v superacc.Value, base int) short {
	if v.Hi == 0 {
		return short{}
	}
	down := uint(base - v.Exp)
	s := short{v.Hi >> down, v.Lo>>down | v.Hi<<(64-down) | v.Hi>>(down-64)}
	if v.Neg {
		lo, borrow := bits.Sub64(0, s.lo, 0)
		hi, _ := bits.Sub64(0, s.hi, borrow)
		return short{hi, lo}
	}
	return s
}

// A reach is where the terms of a sum lie: the exponents of the lowest bit and above the highest;
// and the set of what is no number among them.
type reach struct {
	least, top int
	special    int64
}

// noReach is the reach of no terms.
func noReach() reach { return reach{least: 1 << 20, top: -1 << 20} }

// with is r with a term more, of so many bits at most.
func (r reach) with(t wide, size int) reach {
	r.special |= t.special
	if t.special == 0 && t.hi|t.lo != 0 {
		r.least, r.top = min(r.least, t.exp), max(r.top, t.exp+size)
	}
	return r
}

// withValue is r with v more, which may have bits below any that are known.
func (r reach) withValue(v superacc.Value) reach {
	if v.Hi == 0 {
		return r
	}
	least := v.Exp + 64 + bits.TrailingZeros64(v.Hi)
	if v.Lo != 0 {
		least = v.Exp + bits.TrailingZeros64(v.Lo)
	}
	if v.Rest {
		least = -1 << 20
	}
	return reach{min(r.least, least), max(r.top, v.Exp+128), r.special}
}

// fits says whether every sum of n terms fits a short whose base is r.least.
func (r reach) fits(n int) bool { return r.top+bits.Len64(uint64(n)) <= r.least+127 }

package sums

import (
	"math/bits"

	"github.com/tandem-gpu/tandem/internal/superacc"
)

// An int128 is an exact sum in two's complement. Whoever adds up knows what it counts.
type int128 struct{ hi, lo uint64 }

func (s int128) added(t int128) int128 {
	lo, carry := bits.Add64(s.lo, t.lo, 0)
	return int128{s.hi + t.hi + carry, lo}
}

// addTo adds s, in units of 2^at, to the words of a sum.
func (s int128) addTo(words []int64, at int) {
	superacc.Add(words, at, s.lo, false)
	addInt(words, at+64, int64(s.hi))
}

// value is s as a number that waits to be rounded.
func (s int128) value(base int) superacc.Value {
	if int64(s.hi) < 0 {
		lo, borrow := bits.Sub64(0, s.lo, 0)
		hi, _ := bits.Sub64(0, s.hi, borrow)
		return superacc.NewValue(hi, lo, base, true)
	}
	return superacc.NewValue(s.hi, s.lo, base, false)
}

// valueWith is s * 2^up + c, which may take 192 bits, as a number that waits to be rounded.
func (s int128) valueWith(up int, c int128, base int) superacc.Value {
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

// int128Of is v in units of 2^base, of which it is a multiple; it fits.
func int128Of(v superacc.Value, base int) int128 {
	if v.Hi == 0 {
		return int128{}
	}
	down := uint(base - v.Exp)
	s := int128{v.Hi >> down, v.Lo>>down | v.Hi<<(64-down) | v.Hi>>(down-64)}
	if v.Neg {
		lo, borrow := bits.Sub64(0, s.lo, 0)
		hi, _ := bits.Sub64(0, s.hi, borrow)
		return int128{hi, lo}
	}
	return s
}

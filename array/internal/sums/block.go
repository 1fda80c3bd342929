package sums

import (
	"math"
	"math/bits"

	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/internal/superacc"
)

// A block of terms is extracted, as Rump, Ogita and Oishi have it ("Accurate floating-point
// summation", 2008), where their exponents do not differ much: each term is added to a number so
// large that what is cut off is a multiple of a unit, and what is left is added to another. Both
// sums are exact by construction, and their bits count units.
const (
	maxTurns = 1 << headroom // terms that a work-item extracts of a block, at most
	headroom = 6             // bits
	stride   = 52 - headroom // bits between the units of a and b, and of c and d
	halves   = 54            // bits between those of b and d

	// maxBlocks is how many blocks extracted can hold.
	maxBlocks = 1 << 11
)

// Extracted counts the units of a sum, from large ones to small: a and b of terms, c and d of what
// is left of products that were rounded.
type extracted struct{ a, b, c, d int64 }

func (e extracted) plus(g extracted) extracted {
	return extracted{e.a + g.a, e.b + g.b, e.c + g.c, e.d + g.d}
}

// A window is where the terms of a block lie that are not 0, by the upper bits of magnitudes, which
// processors compare faster than all: hi is the largest, and lo the smallest less 1, which wraps
// around, so that 0 is the largest.
type window struct{ hi, lo uint32 }

// nowhere is the window of no terms.
func nowhere() window { return window{lo: math.MaxUint32} }

// and is where the terms of both windows lie.
func (w window) and(v window) window { return window{max(w.hi, v.hi), min(w.lo, v.lo)} }

// upper is the upper bits of the magnitude of the term t of u and v. They are not 0 unless it is: a
// product that is too small for a number is not 0.
func upper[S float32 | float64, F format[S], P terms](f F, p P, t, u, v float64) uint32 {
	m := math.Float64bits(t) &^ (1 << 63)
	if f.precision() == 24 {
		return uint32(m >> 32)
	}
	if p.multiplied() {
		if m == 0 && u != 0 && v != 0 {
			m = 1
		}
	}
	return uint32((m + 1<<32 - 1) >> 32)
}

// asDouble is w, of magnitudes of float32, as a window of float64.
func (w window) asDouble() window {
	const bias = (1023 - 127) << 20
	switch {
	case w.hi == 0:
		return w
	case w.hi>>23 == 255: // not finite, in float64, too
		return window{0x7ff << 20, 0}
	}
	lo := max((w.lo+1)>>3, 1<<20) // subnormal numbers have no bits below those of the least normal one
	return window{w.hi>>3 + 1 + bias, lo + bias - 1}
}

// isShort says whether terms are float32 themselves, which most blocks have in a alone, without b.
func isShort[S float32 | float64, F format[S], P terms](f F, p P) bool {
	return f.precision() == 24 && !p.multiplied()
}

// fits says whether terms of window w are extracted exactly by the magic numbers of the exponent
// field top: none is larger, and none has bits below the least unit, that of a where it is alone.
func fits[S float32 | float64, F format[S], P terms](f F, p P, w window, top int, alone bool) bool {
	span := 102 - 2*headroom
	if alone {
		span -= stride
	}
	tail, least := f.precision()-1, 1 // bits of a term below the first, and the least exponent field
	switch {
	case isHalved(f, p):
		least = 55 // that of a product whose rest is a number
	case p.multiplied():
		tail = 47
	}
	lo := int(w.lo >> 20)
	if !isHalved(f, p) {
		lo = max(lo, 1) // as in asDouble
	}
	return w.hi == 0 || int(w.hi>>20) <= top && lo >= least && top-lo <= span-tail
}

// topOf is the exponent field that fits terms of window w, with some bits of room where these fit,
// too; or 0 where none does.
func topOf[S float32 | float64, F format[S], P terms](f F, p P, w window) int {
	const room = 4
	least := 51 - 2*headroom // the magic numbers have to be normal
	switch {
	case isHalved(f, p):
		least = 105 - 2*headroom
	case f.precision() == 24:
		least = 1023 + f.bottom() + 102 - 2*headroom // and the units words'
	}
	top := max(int(w.hi>>20), least)
	switch {
	case top > 2046-2-headroom-room || !fits(f, p, w, top, false):
		return 0
	case fits(f, p, w, top+room, false):
		return top + room
	}
	return top
}

// nextTop is top where it fits, else topOf.
func nextTop[S float32 | float64, F format[S], P terms](f F, p P, w window, top int) int {
	if fits(f, p, w, top, false) {
		return top
	}
	return topOf(f, p, w)
}

// firstTop fits numbers that are not far from 1.
const firstTop = 1023 + 3

// unit is the exponent of what b of terms up to the exponent field top counts.
func unit(top int) int { return top - 1023 + 2*headroom - 102 }

// magicFor is the magic numbers of terms up to the exponent field top: 1.5*2^k each.
func magicFor(top int) (a, b, c, d float64) {
	return magic(top + headroom + 2), magic(top + 2*headroom - 50),
		magic(top + headroom + 2 - halves), magic(top + 2*headroom - 50 - halves)
}

func magic(field int) float64 { return math.Float64frombits(uint64(field)<<52 | 1<<51) }

// An extraction is what a block comes to so far.
type extraction struct {
	a, b, c, d float64
	w          window
}

// extract begins with the magic numbers of an exponent field.
func extract(top int) extraction {
	a, b, c, d := magicFor(top)
	return extraction{a, b, c, d, nowhere()}
}

// with is e with the term of x and y; alone says that a has all of it.
func with[S float32 | float64, F format[S], P terms](f F, p P, e extraction, x, y, shift S, mask int64, alone bool,
) extraction {
	u, v := factors(p, x, y, shift, mask)
	t := u
	if p.multiplied() {
		t = u * v
	}
	h := uint32(0)
	if isShort(f, p) {
		h = math.Float32bits(float32(x)) &^ (1 << 31)
	} else {
		h = upper(f, p, t, u, v)
	}
	e.w = window{max(e.w.hi, h), min(e.w.lo, h-1)}
	z := e.a + t
	if !alone {
		e.b += t - (z - e.a)
	}
	e.a = z
	if isHalved(f, p) {
		t = gpu.FMA(u, v, -t)
		z = e.c + t
		e.d += t - (z - e.c)
		e.c = z
	}
	return e
}

// window is where the terms of e lie.
func windowOf[S float32 | float64, F format[S], P terms](f F, p P, e extraction) window {
	if isShort(f, p) {
		return e.w.asDouble()
	}
	return e.w
}

// counted is what e, which began with the exponent field top, has extracted.
func (e extraction) counted(top int) extracted {
	a, b, c, d := magicFor(top)
	return extracted{unitsAbove(e.a, a), unitsAbove(e.b, b), unitsAbove(e.c, c), unitsAbove(e.d, d)}
}

// unitsAbove is how many units x is above a magic number.
func unitsAbove(x, magic float64) int64 { return int64(math.Float64bits(x) - math.Float64bits(magic)) }

// addTo adds e, of terms up to the exponent field top, to the words of a sum.
func addTo[S float32 | float64, F format[S], P terms](f F, p P, words []int64, e extracted, top int) {
	at := unit(top) - f.bottom()
	addInt(words, at+stride, e.a)
	addInt(words, at, e.b)
	if isHalved(f, p) {
		addInt(words, at+stride-halves, e.c)
		addInt(words, at-halves, e.d)
	}
}

// leave leaves e in place of a sum's words, which begin at at: behind words is the set of what is
// no number, which has three bits, and here top, above these.
func leave[S float32 | float64, F format[S], P terms](f F, p P, words []int64, at int, e extracted, top int) {
	words[at], words[at+1], words[at+2], words[at+3] = e.a, e.b, 0, 0
	if isHalved(f, p) {
		words[at+2], words[at+3] = e.c, e.d
	}
	words[at+f.words()] = int64(top) << setBits
}

// setBits is the bits of a set of what is no number.
const setBits = 3

func addInt(words []int64, at int, v int64) { superacc.Add(words, at, uint64(max(v, -v)), v < 0) }

// valueOf is e as a number that waits to be rounded.
func valueOf[S float32 | float64, F format[S], P terms](f F, p P, e extracted, top int) superacc.Value {
	s := joined(e.a, e.b)
	if !isHalved(f, p) {
		return s.value(unit(top))
	}
	return s.valueWith(halves, joined(e.c, e.d), unit(top)-halves)
}

// joined is a and b as one number that counts the units of b.
func joined(a, b int64) int128 {
	lo, carry := bits.Add64(uint64(a)<<stride, uint64(b), 0)
	return int128{uint64(a>>(64-stride)) + uint64(b>>63) + carry, lo}
}

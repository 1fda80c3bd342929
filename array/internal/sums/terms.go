package sums

import (
	"math"
	"math/bits"

	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/internal/superacc"
)

// What is added up of the elements x and y at one place: x alone, or their product.
type (
	terms interface {
		exact() bool   // it is the product, which a float64 holds
		product() bool // it is the product, rounded, and the rest
	}
	one  struct{}
	pair struct{} // of float32
	two  struct{}
)

func (one) exact() bool    { return false }
func (one) product() bool  { return false }
func (pair) exact() bool   { return true }
func (pair) product() bool { return false }
func (two) exact() bool    { return false }
func (two) product() bool  { return true }

// near is the term of x and y, rounded.
func near[T float32 | float64, P terms](p P, x, y T) T {
	if p.product() {
		return x * y
	}
	return x
}

// magnitude is the upper bits of the magnitude of the term of x and y, rounded. A product that is
// too small for a number is not 0.
func magnitude[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, x, y T) uint32 {
	m := f.bits(near(p, x, y)) & f.most()
	if p.product() {
		if m == 0 && x != 0 && y != 0 {
			m = 1
		}
	}
	return f.upper(m)
}

// A window is where the terms of a block lie that are not 0, by the upper bits of magnitudes, which
// processors compare faster than all: hi is the largest, and lo the smallest less 1, which wraps
// around, so that 0 is the largest.
type window struct{ hi, lo uint32 }

// nowhere is the window of no terms.
func nowhere() window { return window{lo: math.MaxUint32} }

// with is w with a term more, the upper bits of whose magnitude are h.
func (w window) with(h uint32) window { return window{max(w.hi, h), min(w.lo, h-1)} }

// and is where the terms of both windows lie.
func (w window) and(v window) window { return window{max(w.hi, v.hi), min(w.lo, v.lo)} }

// fits says whether digits hold each term of a block exactly, by the magic numbers of the exponent
// field top: no term is larger, none is subnormal, and none so small that it has bits below, but
// for 0. Of a product the lower half, which fma finds, has to be a number.
func fits[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, w window, top int, deep bool,
) bool {
	hi, lo := f.field(w.hi), f.least(w.lo)
	span, least := step(f, p), 1
	if deep {
		span *= 2
	}
	span -= headroom(f, p) + 2
	if p.exact() {
		span += f.precision() - 48 // the bits of a product of two float32
	}
	if p.product() {
		span, least = f.precision()-5, f.precision()+2
	}
	return (w.hi == 0 || lo >= least && top-lo <= span) && top >= leastTop(f, p, deep) && hi <= top &&
		top <= 2*f.bias()-2-headroom(f, p)
}

// leastTop is the least exponent field whose magic numbers, two or three, are not subnormal.
func leastTop[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, deep bool) int {
	if deep || p.product() {
		return 2*step(f, p) - headroom(f, p) - 1
	}
	return step(f, p) - headroom(f, p) - 1
}

// isDeep says whether terms of window w, which the exponent field top fits best, take a third
// integer. Products always do.
func isDeep[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, w window, top int) bool {
	return !p.product() && !fits(f, p, w, top, false)
}

// topOf is the exponent field that fits the terms of a window best.
func topOf[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, w window) int {
	return max(f.field(w.hi)+1, leastTop(f, p, false))
}

// What choose says besides the exponent field.
const (
	isWide   = 1 << iota // the terms fit no integers
	isDeeper             // they take a third integer
	topShift = iota
)

// choose is what fits terms of window w best.
func choose[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, w window) int {
	top := topOf(f, p, w)
	deep := isDeep(f, p, w, top)
	c := top << topShift
	switch {
	case !fits(f, p, w, top, deep):
		c |= isWide
	case deep:
		c |= isDeeper
	}
	return c
}

// firstTop is the first guess: it fits numbers that are not far from 1.
func firstTop[T float32 | float64, I int32 | int64, F format[T, I]](f F) int { return f.bias() + 3 }

// added says whether terms are added to magic numbers, in floating point. Else integers add up the
// last bits of such sums: an instruction more, but float32 have too few bits for the sum of a
// block, and three numbers too few for products.
func added[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P) bool {
	return f.precision() > 24 && !p.product()
}

// headroom is the bits of a magic number that are there for the sum of a block: 256 terms take it
// to the ends of its binade, and not beyond.
func headroom[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P) int {
	if added(f, p) {
		return 8
	}
	return 0
}

// step is how many bits lie between the units of digits.a and digits.b, and of b and c.
func step[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P) int {
	return f.precision() - 1 - headroom(f, p)
}

// unit is the exponent of what digits.a counts for terms up to the exponent field top.
func unit[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, top int) int {
	return top - f.bias() + 3 - f.precision() + headroom(f, p)
}

// A magic is three numbers 1.5*2^k. A number added to one is rounded to a multiple of what the
// integer of digits of that name counts, and the last bits of the sum are how many.
type magic[T float32 | float64] struct{ a, b, c T }

// magicFor is the magic of terms up to the exponent field top.
func magicFor[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, top int) magic[T] {
	const half = 1.5
	first, down := top+2+headroom(f, p), step(f, p)
	return magic[T]{half * f.power(first), half * f.power(first-down), half * f.power(first-2*down)}
}

// A digits is an exact sum of terms that fit, of 256 at most: b counts 2^-step of what a counts, c
// of b. Products need c, and so do deep terms, whose exponents differ much.
type digits[I int32 | int64] struct{ a, b, c I }

// none is the digits of no terms, which have the bits of magic numbers where terms are added to
// these.
func none[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, m magic[T]) (d digits[I]) {
	if added(f, p) {
		return digits[I]{f.bits(m.a), f.bits(m.b), f.bits(m.c)}
	}
	return d
}

// plus is d and the term of x and y. What rounding by a magic number leaves is exact.
func plus[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, d digits[I], x, y T, m magic[T],
	deep bool,
) digits[I] {
	if added(f, p) {
		m = magic[T]{f.from(d.a), f.from(d.b), f.from(d.c)}
		d = digits[I]{}
	}
	term := near(p, x, y)
	z := term + m.a
	d.a += f.bits(z)
	rest := term - (z - m.a)
	z = rest + m.b
	d.b += f.bits(z)
	if deep {
		d.c += f.bits(rest - (z - m.b) + m.c)
	}
	if p.product() {
		lower := gpu.FMA(x, y, -term)
		z = lower + m.b
		d.b += f.bits(z)
		d.c += f.bits(lower - (z - m.b) + m.c)
	}
	return d
}

// without is d without the magic numbers of n terms.
func without[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, d digits[I], n I, m magic[T],
	deep bool,
) digits[I] {
	if added(f, p) {
		n = 1
	}
	a, b, c := n*f.bits(m.a), n*f.bits(m.b), n*f.bits(m.c)
	if p.product() {
		return digits[I]{d.a - a, d.b - 2*b, d.c - c}
	}
	if deep {
		return digits[I]{d.a - a, d.b - b, d.c - c}
	}
	return digits[I]{a: d.a - a, b: d.b - b}
}

// Halves are the exact sum of digits of any number of blocks: of the lower 32 bits of their
// integers, and of what is above.
type halves struct{ lower, upper digits[int64] }

// with is t and the digits of a block.
func (t halves) with(a, b, c int64) halves {
	const low = 1<<32 - 1
	return halves{
		digits[int64]{t.lower.a + a&low, t.lower.b + b&low, t.lower.c + c&low},
		digits[int64]{t.upper.a + a>>32, t.upper.b + b>>32, t.upper.c + c>>32},
	}
}

// and is t + u.
func (t halves) and(u halves) halves {
	return halves{
		digits[int64]{t.lower.a + u.lower.a, t.lower.b + u.lower.b, t.lower.c + u.lower.c},
		digits[int64]{t.upper.a + u.upper.a, t.upper.b + u.upper.b, t.upper.c + u.upper.c},
	}
}

// part is an integer of t: lower.a, upper.a, lower.b and so on.
func (t halves) part(k int) int64 {
	switch k {
	case 0:
		return t.lower.a
	case 1:
		return t.upper.a
	case 2:
		return t.lower.b
	case 3:
		return t.upper.b
	case 4:
		return t.lower.c
	}
	return t.upper.c
}

// up is the exponent of what part k counts, over that of what lower.a does.
func (halves) up(step, k int) int { return 32*(k&1) - (k>>1)*step }

// A wide is the magnitude of a term, (hi, lo) * 2^exp, or what it is instead of a number.
type wide struct {
	hi, lo  uint64
	exp     int
	neg     bool
	special int64
}

// exactly is the term of x and y; one that is no number has a magnitude, too.
func exactly[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, x, y T) wide {
	m, e, finite := f.split(x)
	if !p.product() {
		t := wide{lo: m, exp: e, neg: f.bits(x) < 0}
		if !finite {
			t.special = superacc.Special(x)
		}
		return t
	}
	n, g, finite2 := f.split(y)
	hi, lo := bits.Mul64(m, n)
	t := wide{hi: hi, lo: lo, exp: e + g, neg: f.bits(x) < 0 != (f.bits(y) < 0)}
	if !finite || !finite2 {
		t.special = superacc.Special(x * y)
	}
	return t
}

// size is the most bits that a term has.
func size[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P) int {
	if p.product() {
		return 2 * f.precision()
	}
	return f.precision()
}

// digitBits is the bits of a digit of wide terms: 2^15 of them add up in an int64.
const digitBits = 48

// digit is the digit of so many bits that counts 2^base.
func (w wide) digit(base int, width uint) int64 {
	up, down := uint(w.exp-base), uint(base-w.exp) // one of them is huge, and shifts all away
	d := int64((w.lo<<up | w.lo>>down | w.hi<<(64-down) | w.hi>>(down-64)) & (1<<width - 1))
	if w.neg {
		return -d
	}
	return d
}

package sums

import (
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

// magnitude is the bits of the magnitude of the term of x and y, rounded. A product that is too
// small for a number is not 0.
func magnitude[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, x, y T) I {
	m := f.bits(near(p, x, y)) & f.most()
	if p.product() {
		if m == 0 && x != 0 && y != 0 {
			m = 1
		}
	}
	return m
}

// A window is where the terms of a block lie that are not 0: hi is the largest magnitude, and lo
// the smallest plus the most that an I holds, which wraps around, so that 0 is the largest.
type window[I int32 | int64] struct{ hi, lo I }

// nowhere is the window of no terms.
func nowhere[T float32 | float64, I int32 | int64, F format[T, I]](f F) window[I] {
	return window[I]{lo: f.most()}
}

// with is w with a term more, whose magnitude is m.
func (w window[I]) with(most, m I) window[I] { return window[I]{max(w.hi, m), min(w.lo, m+most)} }

// fits says whether the integers of digits hold each term of a block exactly, where terms are
// scaled for the exponent field top: none is larger, none is subnormal, and none so small that it
// has bits below, but for 0. Of a product the lower half, which fma finds, has to be a number.
func fits[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, w window[I], top int, deep bool,
) bool {
	hi, lo := f.field(w.hi), f.field(w.lo-f.most())
	span, least := f.precision()-3, 1
	if deep {
		span += f.precision() - 1
	}
	if p.product() {
		span, least = f.precision()-5, f.precision()+2
	}
	return (w.hi == 0 || lo >= least && top-lo <= span) && top >= f.precision()-3 && hi <= top && top <= 2*f.bias()
}

// deepens says whether terms that are not products may take a third integer.
func deepens[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P) bool {
	return !p.product() && f.precision() <= 24
}

// isDeep says whether terms of window w, which the exponent field top fits best, take one.
func isDeep[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, w window[I], top int) bool {
	return deepens(f, p) && !fits(f, p, w, top, false)
}

// topOf is the exponent field that fits the terms of a window best.
func topOf[T float32 | float64, I int32 | int64, F format[T, I]](f F, w window[I]) int {
	return max(f.field(w.hi)+1, f.precision()-3)
}

// What choose says besides the exponent field.
const (
	isWide   = 1 << iota // the terms fit no integers
	isDeeper             // they take a third integer
	topShift = iota
)

// choose is what fits terms of window w best.
func choose[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, w window[I]) int {
	top := topOf(f, w)
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

// scale makes terms up to the exponent field top less than 2^(precision-2).
func scale[T float32 | float64, I int32 | int64, F format[T, I]](f F, top int) T {
	return f.power(2*f.bias() + f.precision() - 3 - top)
}

// unit is the exponent of what digits.a counts then.
func unit[T float32 | float64, I int32 | int64, F format[T, I]](f F, top int) int {
	return top - f.bias() + 3 - f.precision()
}

// A digits is an exact sum of terms that fit: b counts 2^(1-precision) of what a counts, c of b. It
// takes 256 terms; each leaves a magic number in every integer that it goes to. A product needs c,
// and so do deep terms, whose exponents differ much.
type digits[I int32 | int64] struct{ a, b, c I }

// plus is d and the term of x and y. A number that is added to the magic one is rounded to an
// integer, and the rest is exact.
func plus[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, d digits[I], x, y, scale T,
	deep bool,
) digits[I] {
	term := near(p, x, y)
	upper := term * scale
	z := upper + f.magic()
	d.a += f.bits(z)
	rest := upper - (z - f.magic())
	z = gpu.FMA(rest, f.down(), f.magic())
	d.b += f.bits(z)
	if deep {
		rest = gpu.FMA(rest, f.down(), -(z - f.magic()))
		d.c += f.bits(gpu.FMA(rest, f.down(), f.magic()))
	}
	if p.product() {
		lower := gpu.FMA(x, y, -term) * scale * f.down()
		z = lower + f.magic()
		d.b += f.bits(z)
		d.c += f.bits(gpu.FMA(lower-(z-f.magic()), f.down(), f.magic()))
	}
	return d
}

// without is d without the magic numbers.
func (d digits[I]) without(magic I, product, deep bool) digits[I] {
	if product {
		return digits[I]{d.a - magic, d.b - 2*magic, d.c - magic}
	}
	if deep {
		return digits[I]{d.a - magic, d.b - magic, d.c - magic}
	}
	return digits[I]{a: d.a - magic, b: d.b - magic}
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
func (halves) up(precision, k int) int { return 32*(k&1) + (k>>1)*(1-precision) }

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

package sums

import (
	"math"
	"math/bits"

	"github.com/tandem-gpu/tandem/internal/superacc"
)

// A format is a type of numbers S, and of exact sums of these, or of their products, in words.
type format[S float32 | float64] interface {
	precision() int // bits of the significand
	words() int     // of a sum, the lowest of which counts 2^bottom
	bottom() int
	term(x S) wide
	round(v superacc.Value) S
	inf() S
}

type (
	single struct{}
	double struct{}
)

func (single) precision() int                 { return 24 }
func (single) words() int                     { return 24 }
func (single) bottom() int                    { return -384 }
func (single) round(v superacc.Value) float32 { return math.Float32frombits(v.Bits32()) }
func (single) inf() float32                   { return math.Float32frombits(0xff << 23) }
func (double) precision() int                 { return 53 }
func (double) words() int                     { return 136 }
func (double) bottom() int                    { return -2176 }
func (double) round(v superacc.Value) float64 { return math.Float64frombits(v.Bits64()) }
func (double) inf() float64                   { return math.Float64frombits(0x7ff << 52) }

// Terms are what is added up of the elements x and y at one place: x, or the product of both. Bare
// terms are float32 for a device without float64, where each goes into words.
type (
	terms interface {
		multiplied() bool
		wordwise() bool
	}
	plain   struct{}
	product struct{}
	bare    struct{}
)

func (plain) multiplied() bool   { return false }
func (product) multiplied() bool { return true }
func (bare) multiplied() bool    { return false }
func (plain) wordwise() bool     { return false }
func (product) wordwise() bool   { return false }
func (bare) wordwise() bool      { return true }

// isHalved says whether terms are products of float64, each of which takes two numbers: the rounded
// product and what is left. Products of float32 are float64.
func isHalved[S float32 | float64, F format[S], P terms](f F, p P) bool {
	return p.multiplied() && f.precision() > 24
}

// factors is the elements at one place, less the shift where they are factors. Of numbers the bits
// in mask are taken: all of them, or all but the sign.
func factors[S float32 | float64, P terms](p P, x, y, shift S, mask int64) (u, v float64) {
	if p.multiplied() {
		return float64(x - shift), float64(y - shift)
	}
	return math.Float64frombits(math.Float64bits(float64(x)) & uint64(mask)), 1
}

// addTerm adds the term of x and y to the words of a sum, behind which is the set of what is no
// number.
func addTerm[S float32 | float64, F format[S], P terms](f F, p P, words []int64, x, y, shift S, mask int64) {
	u, v := factors(p, x, y, shift, mask)
	if isHalved(f, p) {
		addProduct(f, words, u, v)
	} else {
		addNumber(f, words, u*v)
	}
}

func addNumber[S float32 | float64, F format[S]](f F, words []int64, x float64) {
	m, e, finite := superacc.Split64(math.Float64bits(x))
	if finite {
		superacc.Add(words, max(e-f.bottom(), 0), m, math.Float64bits(x)>>63 != 0) // the exponent of 0 may be below
	} else {
		words[f.words()] |= superacc.Special(x)
	}
}

func addProduct[S float32 | float64, F format[S]](f F, words []int64, x, y float64) {
	m, e, finite := superacc.Split64(math.Float64bits(x))
	n, g, finite2 := superacc.Split64(math.Float64bits(y))
	if finite && finite2 {
		hi, lo := bits.Mul64(m, n)
		neg := (math.Float64bits(x)^math.Float64bits(y))>>63 != 0
		superacc.Add(words, e+g-f.bottom(), lo, neg)
		superacc.Add(words, e+g+64-f.bottom(), hi, neg)
	} else {
		words[f.words()] |= superacc.Special(x * y)
	}
}

// rounded is a sum over so many, or the root of that. What is over 0 is NaN.
func rounded[S float32 | float64, F format[S]](f F, v superacc.Value, special int64, q quotient) S {
	if q.over > 1 {
		v = v.Over(q.over)
	}
	if q.root {
		v = v.Root(f.precision())
	}
	switch {
	case q.over == 0:
		return notNumber(f, superacc.NaN)
	case special != 0:
		return notNumber(f, special)
	}
	return f.round(v)
}

// A quotient is what is made of a sum: it over so much, or, with root, the square root of that.
type quotient struct {
	over uint64
	root bool
}

// notNumber is a sum that is none.
func notNumber[S float32 | float64, F format[S]](f F, special int64) S {
	inf := f.inf()
	switch special {
	case superacc.Inf:
		return inf
	case superacc.NegInf:
		return -inf
	}
	return inf - inf
}

// wordsOf is the place of the words of a sum that begin a slice.
func wordsOf[S float32 | float64, F format[S]](f F) superacc.Place {
	return superacc.Place{Step: 1, N: f.words()}
}

// ofWords is what q makes of a sum in words, which change.
func ofWords[S float32 | float64, F format[S]](f F, sum []int64, q quotient) S {
	return rounded(f, superacc.Top(sum, wordsOf(f), f.bottom()), sum[f.words()], q)
}

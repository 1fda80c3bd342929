// Package exact sums numbers without an error and rounds once. The sum does not depend on the order
// of the numbers, nor on how they are split up and merged, so that any program, on any machine, has
// the same bits; the sums of package array on every device among them.
//
// A sum is the exact sum, rounded once to nearest with ties to even. A sum that is zero, or of
// nothing, is +0. It is NaN where one of the numbers is NaN, or where there are infinities of both
// signs; else an infinity where there is one. What overflows on the way does no harm: a sum is
// infinite only where its own value rounds to that.
package exact

import (
	"math"
	"math/bits"

	"github.com/tandem-gpu/tandem/internal/superacc"
)

// words is the words of an accumulator, of 32 bits each, and bottom the exponent of the lowest bit:
// products of any two float64 fit, and 2^63 of them.
const (
	words  = 136
	bottom = -2176
)

// all is the place of the words.
var all = superacc.Place{Step: 1, N: words}

// carryAt is the additions after which words are carried: 2^31 fill a word.
const carryAt = 1 << 30

// An Acc is an exact sum. The zero value is a sum of nothing. It takes 1.1 KB and never allocates.
//
// What was added can be taken away again, in any order: then the sum is that of the rest, with the
// same bits, as of a window that slides along numbers. So it is of infinities and NaN, which an Acc
// counts: without them the sum is finite again. Where more infinities or NaN are taken away than
// were added, the sum is NaN, until they are.
type Acc struct {
	w       [words]int64
	added   int // to one word since the last carry
	special special
}

// A special counts what is no number.
type special struct{ nan, inf, negInf int64 }

// Add adds x.
func (a *Acc) Add(x float64) { a.add(x, false) }

// Sub takes x away.
func (a *Acc) Sub(x float64) { a.add(x, true) }

// add adds x, or takes it away.
func (a *Acc) add(x float64, away bool) {
	m, exp, ok := superacc.Split64(math.Float64bits(x))
	if !ok {
		a.special.add(x, sign(away))
		return
	}
	superacc.Add(a.w[:], exp-bottom, m, math.Signbit(x) != away)
	a.count(1)
}

// AddProduct adds x*y, which is not rounded.
func (a *Acc) AddProduct(x, y float64) { a.addProduct(x, y, false) }

// SubProduct takes x*y away, which is not rounded.
func (a *Acc) SubProduct(x, y float64) { a.addProduct(x, y, true) }

func (a *Acc) addProduct(x, y float64, away bool) {
	m, e, ok := superacc.Split64(math.Float64bits(x))
	n, f, ok2 := superacc.Split64(math.Float64bits(y))
	if !ok || !ok2 {
		a.special.add(x*y, sign(away))
		return
	}
	hi, lo := bits.Mul64(m, n)
	neg := math.Signbit(x) != math.Signbit(y) != away
	superacc.Add(a.w[:], e+f-bottom, lo, neg)
	superacc.Add(a.w[:], e+f+64-bottom, hi, neg)
	a.count(2)
}

// Merge adds what b holds.
func (a *Acc) Merge(b *Acc) { a.merge(b, false) }

// Remove takes away what b holds.
func (a *Acc) Remove(b *Acc) { a.merge(b, true) }

func (a *Acc) merge(b *Acc, away bool) {
	c, n := *b, sign(away)
	superacc.Carry(c.w[:], all)
	for k, v := range c.w {
		a.w[k] += n * v
	}
	a.special.nan += n * c.special.nan
	a.special.inf += n * c.special.inf
	a.special.negInf += n * c.special.negInf
	a.count(1)
}

// sign is what counts change by for one number.
func sign(away bool) int64 {
	if away {
		return -1
	}
	return 1
}

// Float64 is the sum, rounded once.
func (a *Acc) Float64() float64 {
	if a.special != (special{}) {
		return a.special.float64()
	}
	c := *a
	return math.Float64frombits(superacc.Top(c.w[:], all, bottom).Bits64())
}

// Float32 is the sum, rounded once.
func (a *Acc) Float32() float32 {
	if a.special != (special{}) {
		return float32(a.special.float64())
	}
	c := *a
	return math.Float32frombits(superacc.Top(c.w[:], all, bottom).Bits32())
}

// count counts additions to a word, and carries in time.
func (a *Acc) count(n int) {
	if a.added += n; a.added >= carryAt {
		superacc.Carry(a.w[:], all)
		a.added = 1
	}
}

// add counts x, which is NaN or infinite, or a product with such a factor, n times.
func (s *special) add(x float64, n int64) {
	switch {
	case math.IsNaN(x):
		s.nan += n
	case x > 0:
		s.inf += n
	default:
		s.negInf += n
	}
}

func (s special) float64() float64 {
	switch {
	case s.nan == 0 && s.negInf == 0 && s.inf > 0:
		return math.Inf(1)
	case s.nan == 0 && s.inf == 0 && s.negInf > 0:
		return math.Inf(-1)
	}
	return math.NaN()
}

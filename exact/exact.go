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
type Acc struct {
	w       [words]int64
	added   int // to one word since the last carry
	special special
}

// A special is a set of what is no number.
type special uint8

const (
	nan special = 1 << iota
	inf
	negInf
)

// Add adds x.
func (a *Acc) Add(x float64) {
	m, exp, ok := superacc.Split64(math.Float64bits(x))
	if !ok {
		a.addSpecial(x)
		return
	}
	superacc.Add(a.w[:], exp-bottom, m, math.Signbit(x))
	a.count(1)
}

// AddProduct adds x*y, which is not rounded.
func (a *Acc) AddProduct(x, y float64) {
	m, e, ok := superacc.Split64(math.Float64bits(x))
	n, f, ok2 := superacc.Split64(math.Float64bits(y))
	if !ok || !ok2 {
		a.addSpecial(x * y)
		return
	}
	hi, lo := bits.Mul64(m, n)
	neg := math.Signbit(x) != math.Signbit(y)
	superacc.Add(a.w[:], e+f-bottom, lo, neg)
	superacc.Add(a.w[:], e+f+64-bottom, hi, neg)
	a.count(2)
}

// Merge adds what b holds.
func (a *Acc) Merge(b *Acc) {
	c := *b
	superacc.Carry(c.w[:], all)
	for k, v := range c.w {
		a.w[k] += v
	}
	a.special |= c.special
	a.count(1)
}

// Float64 is the sum, rounded once.
func (a *Acc) Float64() float64 {
	if a.special != 0 {
		return a.special.float64()
	}
	c := *a
	return math.Float64frombits(superacc.Top(c.w[:], all, bottom).Bits64())
}

// Float32 is the sum, rounded once.
func (a *Acc) Float32() float32 {
	if a.special != 0 {
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

// addSpecial adds x, which is NaN or infinite, or a product with such a factor.
func (a *Acc) addSpecial(x float64) {
	switch {
	case math.IsNaN(x):
		a.special |= nan
	case x > 0:
		a.special |= inf
	default:
		a.special |= negInf
	}
}

func (s special) float64() float64 {
	switch s {
	case inf:
		return math.Inf(1)
	case negInf:
		return math.Inf(-1)
	}
	return math.NaN()
}

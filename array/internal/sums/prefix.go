package sums

import (
	"math"
	"math/bits"

	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/internal/superacc"
)

// A number is a type of numbers T that are added up one by one.
type number[T float32 | float64 | int32] interface {
	wraps() bool // its sums wrap around, and the rest here is not for it
	words() int  // of a sum, the lowest of which counts 2^bottom
	bottom() int // of its lowest bit
	term(x T) wide
	of(v superacc.Value, special int64) T // rounded
}

func (single) term(x float32) wide {
	m, e, finite := superacc.Split32(math.Float32bits(x))
	return newWide(x, m, e, finite, math.Float32bits(x)>>31 != 0)
}

func (double) term(x float64) wide {
	m, e, finite := superacc.Split64(math.Float64bits(x))
	return newWide(x, m, e, finite, math.Float64bits(x)>>63 != 0)
}

func (single) wraps() bool { return false }
func (double) wraps() bool { return false }

func (f single) of(v superacc.Value, special int64) float32 {
	if special != 0 {
		return notNumber(f, special)
	}
	return f.round(v)
}

func (f double) of(v superacc.Value, special int64) float64 {
	if special != 0 {
		return notNumber(f, special)
	}
	return f.round(v)
}

// An integer is an int32, whose sums wrap around: those of an int64 do to the same bits.
type integer struct{}

func (integer) wraps() bool                    { return true }
func (integer) words() int                     { return 1 }
func (integer) bottom() int                    { return 0 }
func (integer) term(int32) wide                { return wide{} }
func (integer) of(superacc.Value, int64) int32 { return 0 }

// addWords adds a term of 64 bits to the words of a sum, and what is no number to the one behind
// them.
func addWords(words []int64, at superacc.Place, t wide, bottom int) {
	v := int64(t.m)
	if t.neg {
		v = -v
	}
	for k := range 3 {
		superacc.AddPart(words, at, t.exp-bottom, v, k)
	}
	words[at.At+at.N*at.Step] |= t.special
}

// clearWords makes the words of a sum 0.
func clearWords(words []int64, at superacc.Place) {
	for k := range at.N + 1 {
		words[at.At+k*at.Step] = 0
	}
}

// valueOfWords is what the words of a sum hold, which they still do then.
func valueOfWords(words []int64, at superacc.Place, bottom int) superacc.Value {
	v := superacc.Top(words, at, bottom)
	if v.Neg {
		for k := range at.N {
			words[at.At+k*at.Step] *= -1
		}
	}
	return v
}

// Totals makes the sums of blocks of so many elements of the rows of x, a work-item each. Word k of
// block b of all n, counted by rows, is element k*n+b of sums; behind the words is what is no
// number.
//
//tandem:kernel float32,single float64,double int32,integer
func Totals[T float32 | float64 | int32, F number[T]](it gpu.Item, f F, x gpu.Matrix[T], sums []int64,
	block, blocks int,
) {
	n := x.Rows * blocks
	for o := it.Global(0); o < n; o += it.GlobalSize(0) {
		at := superacc.Place{At: o, Step: n, N: f.words()}
		i, from := o/blocks, o%blocks*block
		if f.wraps() {
			s := int64(0)
			for j := from; j < min(from+block, x.Cols); j++ {
				s += int64(x.Data[i*x.Stride+j])
			}
			sums[o], sums[n+o] = s, 0
			continue
		}
		clearWords(sums, at)
		for j := from; j < min(from+block, x.Cols); j++ {
			addWords(sums, at, f.term(x.Data[i*x.Stride+j]), f.bottom())
		}
		superacc.Carry(sums, at)
	}
}

// Offsets makes of the sums of blocks, which have so many words, those of what is before each in
// its row: a group of maxLanes at most takes a word of a row, and each of its work-items a run of
// blocks.
//
//tandem:kernel
func Offsets(it gpu.Item, sums []int64, rows, blocks, words int) {
	runs := gpu.Local[[maxLanes]int64](it) // their sums
	l, run := it.Local(0), (blocks+it.LocalSize(0)-1)/it.LocalSize(0)
	for o := it.Group(0); o < rows*(words+1); o += it.Groups(0) {
		at, marks := o*blocks, o/rows == words
		from, to := at+min(l*run, blocks), at+min(l*run+run, blocks)
		sum, before := int64(0), int64(0)
		for b := from; b < to; b++ {
			sum = merged(sum, sums[b], marks)
		}
		runs[l] = sum
		it.Barrier()
		for i := range l {
			before = merged(before, runs[i], marks)
		}
		for b := from; b < to; b++ {
			v := sums[b]
			sums[b] = before
			before = merged(before, v, marks)
		}
		it.Barrier()
	}
}

// merged is a + b, or of marks of what is no number both.
func merged(a, b int64, marks bool) int64 {
	if marks {
		return a | b
	}
	return a + b
}

// Prefix makes each element of c the sum of those of x in its row up to there, by blocks as Totals
// has them: each goes on from its sum, or, where there is one to a row, from nothing. It changes
// the sums.
//
//tandem:kernel float32,single float64,double int32,integer
func Prefix[T float32 | float64 | int32, F number[T]](it gpu.Item, f F, c, x gpu.Matrix[T], sums []int64,
	block, blocks int,
) {
	n := x.Rows * blocks
	for o := it.Global(0); o < n; o += it.GlobalSize(0) {
		at := superacc.Place{At: o, Step: n, N: f.words()}
		i, from := o/blocks, o%blocks*block
		to := min(from+block, x.Cols)
		if f.wraps() {
			s := int64(0)
			if blocks > 1 {
				s = sums[o]
			}
			for j := from; j < to; j++ {
				s += int64(x.Data[i*x.Stride+j])
				c.Data[i*c.Stride+j] = T(int32(s))
			}
			continue
		}
		before, special := superacc.Value{}, int64(0)
		if blocks > 1 {
			before, special = valueOfWords(sums, at, f.bottom()), sums[o+at.N*n]
		}
		r := noReach().withValue(before)
		for j := from; j < to; j++ {
			r = r.with(f.term(x.Data[i*x.Stride+j]), 64)
		}
		if r.fits(block + 1) {
			s := int128Of(before, r.least)
			for j := from; j < to; j++ {
				t := f.term(x.Data[i*x.Stride+j])
				special |= t.special
				s = s.plus(t, r.least)
				c.Data[i*c.Stride+j] = f.of(s.value(r.least), special)
			}
			continue
		}
		if blocks == 1 {
			clearWords(sums, at)
		}
		for j := from; j < to; j++ {
			addWords(sums, at, f.term(x.Data[i*x.Stride+j]), f.bottom())
			c.Data[i*c.Stride+j] = f.of(valueOfWords(sums, at, f.bottom()), sums[o+at.N*n])
		}
	}
}

// Scatter adds to each element of c the elements of its column in those rows of x whose element in
// index is its row, unless an index is bad. order has the places of index in ascending order of
// what is there: the first of a row's has all of them. words has room for a sum of each work-item.
// With short a work-item takes all columns.
//
//tandem:kernel float32,single float64,double int32,integer
func Scatter[T float32 | float64 | int32, F number[T]](it gpu.Item, f F, c, x gpu.Matrix[T],
	index, order, bad []int32, words []int64, short bool,
) {
	if bad[0] > 0 {
		return
	}
	at := superacc.Place{
		At: it.Global(1)*it.GlobalSize(0) + it.Global(0), Step: it.GlobalSize(0) * it.GlobalSize(1), N: f.words(),
	}
	if short {
		for k := it.Global(0); k < len(order); k += it.GlobalSize(0) {
			row, end := rowsOf(index, order, k)
			if end > k {
				for j := range c.Cols {
					z := int(row)*c.Stride + j
					c.Data[z] = gathered(f, c.Data[z], x, j, order, k, end, words, at)
				}
			}
		}
		return
	}
	for k := it.Global(1); k < len(order); k += it.GlobalSize(1) {
		row, end := rowsOf(index, order, k)
		if end > k {
			for j := it.Global(0); j < c.Cols; j += it.GlobalSize(0) {
				z := int(row)*c.Stride + j
				c.Data[z] = gathered(f, c.Data[z], x, j, order, k, end, words, at)
			}
		}
	}
}

// rowsOf is the row that element k of order has, and the end of those that have it, which is k
// where an element before has it.
func rowsOf(index, order []int32, k int) (row int32, end int) {
	row = index[order[k]]
	if k > 0 && index[order[k-1]] == row {
		return row, k
	}
	end = k + 1
	for end < len(order) && index[order[end]] == row {
		end++
	}
	return row, end
}

// gathered is the sum of first and elements of column j of x, in the rows of order from k to end-1.
func gathered[T float32 | float64 | int32, F number[T]](f F, first T, x gpu.Matrix[T], j int, order []int32,
	k, end int, words []int64, at superacc.Place,
) T {
	if f.wraps() {
		s := int64(first)
		for i := k; i < end; i++ {
			s += int64(x.Data[int(order[i])*x.Stride+j])
		}
		return T(int32(s))
	}
	t := f.term(first)
	special := t.special
	r := noReach().with(t, 64)
	for i := k; i < end; i++ {
		u := f.term(x.Data[int(order[i])*x.Stride+j])
		special |= u.special
		r = r.with(u, 64)
	}
	if r.fits(end - k + 1) {
		s := int128{}.plus(t, r.least)
		for i := k; i < end; i++ {
			s = s.plus(f.term(x.Data[int(order[i])*x.Stride+j]), r.least)
		}
		return f.of(s.value(r.least), special)
	}
	clearWords(words, at)
	addWords(words, at, t, f.bottom())
	for i := k; i < end; i++ {
		addWords(words, at, f.term(x.Data[int(order[i])*x.Stride+j]), f.bottom())
	}
	return f.of(superacc.Top(words, at, f.bottom()), special)
}

// A wide is a number, m * 2^exp or minus that, and what it is instead where it is none.
type wide struct {
	m       uint64
	exp     int
	neg     bool
	special int64
}

// newWide is x, of magnitude m * 2^exp where it is finite.
func newWide[T float32 | float64](x T, m uint64, exp int, finite, neg bool) wide {
	t := wide{m: m, exp: exp, neg: neg}
	if !finite {
		t.special = superacc.Special(x)
	}
	return t
}

// plus is s and a term of 64 bits that fits.
func (s int128) plus(t wide, base int) int128 {
	up := uint(t.exp - base)
	hi, lo := t.m<<(up-64)|t.m>>(64-up), t.m<<up // the shift that is huge shifts all away
	if t.neg {
		l, borrow := bits.Sub64(s.lo, lo, 0)
		h, _ := bits.Sub64(s.hi, hi, borrow)
		return int128{h, l}
	}
	l, carry := bits.Add64(s.lo, lo, 0)
	h, _ := bits.Add64(s.hi, hi, carry)
	return int128{h, l}
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
	if t.special == 0 && t.m != 0 {
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

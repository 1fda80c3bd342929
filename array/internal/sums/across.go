package sums

import (
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/internal/superacc"
)

// Across adds up columns of x, a work-item each, in as many parts as there are groups in y; parts
// are as Along leaves them. Where c has elements there is one part, and it makes these as Round
// does. Where shift has elements, one for each column, it is subtracted from both factors of
// products, which are squares.
//
//tandem:kernel float32,float32,int32,single,one,single float64,float64,int64,double,one,double
//tandem:kernel float32,float64,int64,double,pair,single float64,float64,int64,double,two,double
func Across[S, T float32 | float64, I int32 | int64, F format[T, I], P terms, R rounder[S]](it gpu.Item, f F, p P,
	r R, c gpu.Matrix[S], parts []int64, x gpu.Matrix[S], shift []S, turns int, over uint64, root, short bool,
	mask I,
) {
	rows := (x.Rows + it.Groups(1) - 1) / it.Groups(1) // of a part
	from := min(it.Group(1)*rows, x.Rows)
	to := min(from+rows, x.Rows)
	for o := it.Global(0); o < x.Cols; o += it.GlobalSize(0) {
		words := superacc.Place{At: it.Group(1)*Words*x.Cols + o, Step: x.Cols, N: Words - 1}
		less := S(0)
		if len(shift) != 0 {
			less = shift[o]
		}
		t := table[S, I]{x: x, y: x, height: x.Rows, width: 1, down: true, mask: mask}
		if p.exact() && c.Cols > 0 {
			if z, ok := sure[S](f, p, guessOf(f, p, t, o, less), over, root, x.Rows); ok {
				put(c, o, z)
				continue
			}
		}
		t.height = min(sample, x.Rows)
		w, _ := addOf(f, p, t, o, less, magic[T]{}, false)
		s := column{top: topOf(f, p, w) + room} // the same for all parts
		for i := from; i < to; i += turns {
			t.first, t.height = i, min(turns, to-i)
			s = withBlock(f, p, parts, words, t, o, less, s)
		}
		if s.dirty || !short {
			addToWords(f, p, parts, words, s.sum, s.top, s.dirty)
			s.dirty = true
		}
		if c.Cols == 0 {
			leave(f, p, parts, words, s)
			continue
		}
		v := valueOf(step(f, p), s.sum, unit(f, p, s.top), s.deep || p.product())
		if s.dirty {
			words.N = f.words()
			v = superacc.Top(parts, words, f.bottom())
		}
		put(c, o, rounded(r, v, s.special, over, root))
	}
}

// A column is the sum of a column so far: that of the blocks that the exponent top fits, and
// whether they are not all 0; and in words what others come to, where there were some.
type column struct {
	sum               halves
	top               int
	special           int64
	held, deep, dirty bool
}

// withBlock is s and a block of terms of output o. Where some need a third integer it takes that,
// and where that is not enough another exponent: what came before goes into words then.
func withBlock[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, parts []int64,
	words superacc.Place, t table[S, I], o int, less S, s column,
) column {
	w, d := addOf(f, p, t, o, less, magicFor(f, p, s.top), false)
	if !fits(f, p, w, s.top, false) {
		top, deep := s.top, !p.product()
		if !fits(f, p, w, top, deep) {
			top = max(topOf(f, p, w), leastTop(f, p, deep))
			if fits(f, p, w, top+room, deep) {
				top += room
			}
		}
		if s.held && top != s.top || !fits(f, p, w, top, deep) {
			addToWords(f, p, parts, words, s.sum, s.top, s.dirty)
			s.sum, s.held, s.dirty = halves{}, false, true
		}
		if !fits(f, p, w, top, deep) {
			s.special |= addDigits(f, p, parts, words, t, o, less, w)
			return s
		}
		s.top, s.deep = top, s.deep || deep
		_, d = addOf(f, p, t, o, less, magicFor(f, p, top), deep)
	}
	s.sum, s.held = s.sum.with(int64(d.a), int64(d.b), int64(d.c)), s.held || w.hi != 0
	return s
}

// leave leaves s for Round.
func leave[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, parts []int64,
	words superacc.Place, s column,
) {
	if !s.dirty {
		for k := range 6 {
			parts[words.At+k*words.Step] = s.sum.part(k)
		}
		parts[words.At+6*words.Step] = stateOf(unit(f, p, s.top), step(f, p), s.deep || p.product())
		s.special = clean
	}
	parts[words.At+(Words-1)*words.Step] = s.special
}

// addToWords adds a sum of terms to which the exponent top fits to the words, which are cleared
// before unless they are dirty.
func addToWords[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, parts []int64,
	words superacc.Place, s halves, top int, dirty bool,
) {
	if !dirty {
		clearWords(parts, words)
	}
	addHalves(parts, words, s, unit(f, p, top)-f.bottom(), step(f, p))
}

// addHalves adds a sum whose lower.a counts 2^at of the lowest word.
func addHalves(parts []int64, words superacc.Place, s halves, at, step int) {
	for k := range 6 {
		for n := range 3 {
			superacc.AddPart(parts, words, at+s.up(step, k), s.part(k), n)
		}
	}
}

// addDigits adds any terms of output o, of window w, to the words, and returns the set of what is
// no number.
func addDigits[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, parts []int64,
	words superacc.Place, t table[S, I], o int, less S, w window,
) int64 {
	r := reachOf(f, p, t, o, less, w)
	for base := r.least; base < r.top; base += digitBits {
		s := sumOfDigits(f, p, t, o, less, base, digitBits)
		for k := range 3 {
			superacc.AddPart(parts, words, base-f.bottom(), s, k)
		}
	}
	return r.special
}

package sums

import (
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/internal/superacc"
)

// Across adds up columns of x, a work-item each, in as many parts as there are groups in y; parts
// are as Along leaves them. Where shift has elements, one for each column, it is subtracted from
// both factors of products, which are squares.
//
//tandem:kernel float32,float32,int32,single,one float64,float64,int64,double,one
//tandem:kernel float32,float64,int64,double,pair float64,float64,int64,double,two
func Across[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](it gpu.Item, f F, p P, parts []int64,
	x gpu.Matrix[S], shift []S, turns int, short bool, mask I,
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
		special, top, deep, sum, held, dirty := int64(0), firstTop(f), false, halves{}, false, false
		for i := from; i < to; i += turns {
			t := table[S, I]{x: x, y: x, first: i, height: min(turns, to-i), width: 1, down: true, mask: mask}
			w, d := addOf(f, p, t, o, less, magicFor(f, p, top), deep)
			next := topOf(f, p, w)
			if deeper := isDeep(f, p, w, next); !fits(f, p, w, top, deep) && fits(f, p, w, next, deeper) {
				if held {
					addToWords(f, p, parts, words, sum, top, dirty)
				}
				dirty = dirty || held
				sum, held, top, deep = halves{}, false, next, deeper
				_, d = addOf(f, p, t, o, less, magicFor(f, p, top), deep)
			}
			if fits(f, p, w, top, deep) {
				sum, held = sum.with(int64(d.a), int64(d.b), int64(d.c)), true
			} else {
				if !dirty {
					clearWords(parts, words)
				}
				dirty = true
				special |= addDigits(f, p, parts, words, t, o, less, w)
			}
		}
		if dirty || !short {
			addToWords(f, p, parts, words, sum, top, dirty)
		} else {
			for k := range 6 {
				parts[words.At+k*words.Step] = sum.part(k)
			}
			parts[words.At+6*words.Step], special = stateOf(unit(f, p, top), step(f, p), deep || p.product()), clean
		}
		parts[words.At+(Words-1)*words.Step] = special
	}
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
	words superacc.Place, t table[S, I], o int, less S, w window[I],
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

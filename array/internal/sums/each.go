package sums

import (
	"math"

	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/internal/superacc"
)

// Each adds up rows of x, and of y, or, with down, columns of x, a work-item each, in as many parts
// as there are groups in y, in words as Along leaves them, with spread, words. If c has elements
// there is one part, which makes these, and words has room for a sum of each work-item. Where shift
// has elements, one for each output, it is subtracted from the factors of products, which of
// columns are squares; of numbers the bits in mask are taken.
//
//tandem:kernel float32,single,plain float64,double,plain float32,single,product float64,double,product
//tandem:kernel float32,single,bare
func Each[S float32 | float64, F format[S], P terms](it gpu.Item, f F, p P, c, x, y gpu.Matrix[S], words []int64,
	shift []S, down, spread bool, turns int, q quotient, mask int64,
) {
	outputs, n := x.Rows, x.Cols
	if down {
		outputs, n = n, outputs
	}
	share := (n + it.Groups(1) - 1) / it.Groups(1) // of a part
	from := min(it.Group(1)*share, n)
	to := min(from+share, n)
	first, beyond := shareOf(it, outputs)
	for o := first + it.Local(0); o < beyond; o += it.LocalSize(0) {
		less := S(0)
		if len(shift) == 1 { // for all lines of a whole matrix
			less = shift[0]
		} else if len(shift) != 0 {
			less = shift[o]
		}
		at := it.Group(1)*outputs + o
		if c.Cols > 0 {
			at = it.Global(0)
			if !p.wordwise() && (f.precision() == 24 || n <= mostGuessed) {
				quick := f.precision() == 24 && n > fewQuick
				if z, ok := sure(f, guessLine(f, p, x, y, o, n, down, less, mask, quick), q, quick, n); ok {
					put(c, o, z)
					continue
				}
			}
		}
		sum := words[at*(f.words()+1) : (at+1)*(f.words()+1)]
		e, top, held, dirty := extracted{}, firstTop, 0, false
		if p.wordwise() {
			clearWords(sum, wordsOf(f))
			for k := from; k < to; k++ {
				z, _ := lineElements(p, x, x, o, k, down)
				addWords(sum, wordsOf(f), f.term(masked(z, mask)), f.bottom())
			}
			dirty = true
		} else {
			for i := from; i < to; i += turns {
				end := min(i+turns, to)
				g := extractLine(f, p, x, y, o, i, end, down, less, mask, top, isShort(f, p))
				if !fits(f, p, g.w, top, isShort(f, p)) || held == maxBlocks {
					next := nextTop(f, p, g.w, top)
					if held > 0 && next != top || next == 0 || held == maxBlocks {
						if !dirty {
							clearWords(sum, wordsOf(f))
							dirty = true
						}
						addTo(f, p, sum, e, top)
						e, held = extracted{}, 0
					}
					if next == 0 {
						for k := i; k < end; k++ {
							z, w := lineElements(p, x, y, o, k, down)
							addTerm(f, p, sum, z, w, less, mask)
						}
						if sum[f.words()]&superacc.NaN != 0 { // whatever else is added
							break
						}
						continue
					}
					top = next
					g = extractLine(f, p, x, y, o, i, end, down, less, mask, top, false)
				}
				e = e.plus(g.counted(top))
				held++
			}
		}
		if c.Cols > 0 && !dirty {
			put(c, o, rounded(f, valueOf(f, p, e, top), 0, q))
			continue
		}
		if c.Cols == 0 && !dirty && !spread {
			leave(f, p, sum, 0, e, top)
			continue
		}
		if !dirty {
			clearWords(sum, wordsOf(f))
		}
		addTo(f, p, sum, e, top)
		if c.Cols > 0 {
			put(c, o, ofWords(f, sum, q))
		} else {
			superacc.Carry(sum, wordsOf(f))
		}
	}
}

// shareOf is where the outputs of a group begin, and end: they lie side by side.
func shareOf(it gpu.Item, outputs int) (from, end int) {
	turns := (outputs + it.GlobalSize(0) - 1) / it.GlobalSize(0)
	from = min(it.Group(0)*turns*it.LocalSize(0), outputs)
	return from, min(from+turns*it.LocalSize(0), outputs)
}

// masked is the bits of a float32 that are in the upper ones of mask.
func masked[S float32 | float64](x S, mask int64) S {
	return S(math.Float32frombits(math.Float32bits(float32(x)) & uint32(mask>>32)))
}

// guessLine is the guess of the n terms of output o.
func guessLine[S float32 | float64, F format[S], P terms](f F, p P, x, y gpu.Matrix[S], o, n int, down bool, shift S,
	mask int64, quick bool,
) (g guess) {
	if down { // a loop of its own: here elements of one term lie side by side
		for k := range n {
			z, w := lineElements(p, x, x, o, k, true)
			g = plus(f, p, g, z, w, shift, mask, quick)
		}
		return g
	}
	for k := range n {
		z, w := lineElements(p, x, y, o, k, false)
		g = plus(f, p, g, z, w, shift, mask, quick)
	}
	return g
}

// extractLine extracts terms from i to end-1 of output o.
func extractLine[S float32 | float64, F format[S], P terms](f F, p P, x, y gpu.Matrix[S], o, i, end int, down bool,
	shift S, mask int64, top int, alone bool,
) extraction {
	e, k := extract(top), i
	if down { // as in guessLine; four at a time, as in extractLanes
		for ; k+3 < end; k += 4 {
			z0, w0 := lineElements(p, x, x, o, k, true)
			z1, w1 := lineElements(p, x, x, o, k+1, true)
			z2, w2 := lineElements(p, x, x, o, k+2, true)
			z3, w3 := lineElements(p, x, x, o, k+3, true)
			e = with(f, p, e, z0, w0, shift, mask, alone)
			e = with(f, p, e, z1, w1, shift, mask, alone)
			e = with(f, p, e, z2, w2, shift, mask, alone)
			e = with(f, p, e, z3, w3, shift, mask, alone)
		}
		for ; k < end; k++ {
			z, w := lineElements(p, x, x, o, k, true)
			e = with(f, p, e, z, w, shift, mask, alone)
		}
	} else {
		for ; k < end; k++ {
			z, w := lineElements(p, x, y, o, k, false)
			e = with(f, p, e, z, w, shift, mask, alone)
		}
	}
	e.w = windowOf(f, p, e)
	return e
}

// lineElements is the elements of term k of output o.
func lineElements[S float32 | float64, P terms](p P, x, y gpu.Matrix[S], o, k int, down bool) (z, w S) {
	if down {
		z = x.Data[k*x.Stride+o]
		return z, z
	}
	if p.multiplied() {
		w = y.Data[o*y.Stride+k]
	}
	return x.Data[o*x.Stride+k], w
}

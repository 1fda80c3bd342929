package sums

import (
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/internal/superacc"
)

// Each adds up rows of x, and of y, or, with down, columns of x, a work-item each, in as many parts
// as there are groups in y, which are left in words as Along leaves them. Where c has elements
// there is one part, which makes these, and words has room for a sum of each work-item. Where shift
// has elements, one for each output, it is subtracted from the factors of products, which of
// columns are squares; of numbers the bits in mask are taken.
//
//tandem:kernel float32,single,plain float64,double,plain float32,single,product float64,double,product
func Each[S float32 | float64, F format[S], P terms](it gpu.Item, f F, p P, c, x, y gpu.Matrix[S], words []int64,
	shift []S, down bool, turns int, q quotient, mask int64,
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
		if len(shift) != 0 {
			less = shift[min(o, len(shift)-1)] // one for all lines of a whole matrix
		}
		at := it.Group(1)*outputs + o
		if c.Cols > 0 {
			at = it.Global(0)
			if f.precision() == 24 {
				g := quickly(p, x, y, o, n, down, less, mask)
				if z, ok := sure(f, g, q, true, n); ok {
					put(c, o, z)
					continue
				}
			}
		}
		sum := words[at*(f.words()+1) : (at+1)*(f.words()+1)]
		e, top, held, dirty := extracted{}, firstTop, 0, false
		for i := from; i < to; i += turns {
			end := min(i+turns, to)
			g := extractLine(f, p, x, y, o, i, end, down, less, mask, top, isShort(f, p))
			if !fits(f, p, g.w, top, isShort(f, p)) || held == maxBlocks {
				next := nextTop(f, p, g.w, top)
				if held > 0 && next != top || next == 0 || held == maxBlocks {
					if !dirty {
						clearSum(sum)
						dirty = true
					}
					addTo(f, p, sum, e, top)
					e, held = extracted{}, 0
				}
				if next == 0 {
					for k := i; k < end; k++ {
						u, v := lineFactors(p, x, y, o, k, down, less, mask)
						addTerm(f, p, sum, u, v)
					}
					continue
				}
				top = next
				g = extractLine(f, p, x, y, o, i, end, down, less, mask, top, false)
			}
			e = e.plus(g.counted(top))
			held++
		}
		if c.Cols > 0 && !dirty {
			put(c, o, rounded(f, valueOf(f, p, e, top), 0, q))
			continue
		}
		if !dirty {
			clearSum(sum)
		}
		addTo(f, p, sum, e, top)
		all := superacc.Place{Step: 1, N: f.words()}
		if c.Cols > 0 {
			put(c, o, rounded(f, superacc.Top(sum, all, f.bottom()), sum[f.words()], q))
		} else {
			superacc.Carry(sum, all)
		}
	}
}

// quickly is a quick guess of the n terms of output o.
func quickly[S float32 | float64, P terms](p P, x, y gpu.Matrix[S], o, n int, down bool, shift S, mask int64) (
	g guess,
) {
	if down { // a loop of its own: here elements of one term lie side by side
		for k := range n {
			u, v := lineFactors(p, x, x, o, k, true, shift, mask)
			g = g.plusQuick(u * v)
		}
		return g
	}
	for k := range n {
		u, v := lineFactors(p, x, y, o, k, false, shift, mask)
		g = g.plusQuick(u * v)
	}
	return g
}

// extractLine extracts terms from i to end-1 of output o.
func extractLine[S float32 | float64, F format[S], P terms](f F, p P, x, y gpu.Matrix[S], o, i, end int, down bool,
	shift S, mask int64, top int, alone bool,
) extraction {
	e := extract(top)
	if down { // as in quickly
		for k := i; k < end; k++ {
			z := x.Data[k*x.Stride+o]
			e = with(f, p, e, z, z, shift, mask, alone)
		}
	} else {
		for k := i; k < end; k++ {
			z, w := x.Data[o*x.Stride+k], S(0)
			if p.multiplied() {
				w = y.Data[o*y.Stride+k]
			}
			e = with(f, p, e, z, w, shift, mask, alone)
		}
	}
	e.w = windowOf(f, p, e)
	return e
}

// lineFactors is the factors of term k of output o.
func lineFactors[S float32 | float64, P terms](p P, x, y gpu.Matrix[S], o, k int, down bool, shift S, mask int64) (
	u, v float64,
) {
	if down {
		z := x.Data[k*x.Stride+o]
		return factors(p, z, z, shift, mask)
	}
	z, w := x.Data[o*x.Stride+k], S(0)
	if p.multiplied() {
		w = y.Data[o*y.Stride+k]
	}
	return factors(p, z, w, shift, mask)
}

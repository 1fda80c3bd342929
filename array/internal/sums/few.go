package sums

import (
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/internal/superacc"
)

// Few makes each output of c of few terms, a work-item each: of a row of x and y, or, with down, of
// a column of x. It guesses; words has room for a sum of each work-item, for those where that is
// not sure. Shift and mask are as those of Along and Each.
//
//tandem:kernel float32,single,plain float64,double,plain float32,single,product float64,double,product
func Few[S float32 | float64, F format[S], P terms](it gpu.Item, f F, p P, c, x, y gpu.Matrix[S], words []int64,
	shift []S, down bool, q quotient, mask int64,
) {
	outputs, n := x.Rows, x.Cols
	if down {
		outputs, n = x.Cols, x.Rows
	}
	from, end := shareOf(it, outputs)
	for o := from + it.Local(0); o < end; o += it.LocalSize(0) {
		less := S(0)
		if len(shift) != 0 {
			less = shift[o]
		}
		z, ok := sure(f, guessFew(f, p, x, y, o, n, down, less, mask), q, false, n)
		if !ok {
			sum := words[it.Global(0)*(f.words()+1) : (it.Global(0)+1)*(f.words()+1)]
			clearSum(sum)
			for k := range n {
				u, v := lineFactors(p, x, y, o, k, down, less, mask)
				addTerm(f, p, sum, u, v)
			}
			v := superacc.Top(sum, superacc.Place{Step: 1, N: f.words()}, f.bottom())
			z = rounded(f, v, sum[f.words()], q)
		}
		put(c, o, z)
	}
}

// shareOf is where the outputs of a group begin, and end: they lie side by side.
func shareOf(it gpu.Item, outputs int) (from, end int) {
	turns := (outputs + it.GlobalSize(0) - 1) / it.GlobalSize(0)
	from = min(it.Group(0)*turns*it.LocalSize(0), outputs)
	return from, min(from+turns*it.LocalSize(0), outputs)
}

// guessFew is the guess of the n terms of output o.
func guessFew[S float32 | float64, F format[S], P terms](f F, p P, x, y gpu.Matrix[S], o, n int, down bool, shift S,
	mask int64,
) (g guess) {
	if down { // a loop of its own: here elements of one term lie side by side
		for k := range n {
			u, v := lineFactors(p, x, x, o, k, true, shift, mask)
			g = plus(f, p, g, u, v)
		}
		return g
	}
	for k := range n {
		u, v := lineFactors(p, x, y, o, k, false, shift, mask)
		g = plus(f, p, g, u, v)
	}
	return g
}

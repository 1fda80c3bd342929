package solve

import (
	"cmp"
	"math"

	"github.com/tandem-gpu/tandem/internal/parallel"
)

// A part is rows lo to hi-1 of a tridiagonal or bidiagonal matrix, which hang together with no
// others. It is solved by itself and at its own scale, so that the digits of small parts do not
// depend on large ones.
type part struct{ lo, hi int }

func (p part) of(x []float64) []float64 { return x[p.lo:p.hi] }

// partsOf cuts a matrix with the elements e beside the diagonal behind each row i of which cut says
// so, and behind the last; there e becomes 0.
func partsOf(e []float64, cut func(i int) bool) (parts []part) {
	lo := 0
	for i := range e {
		if i == len(e)-1 || cut(i) {
			e[i] = 0
			parts = append(parts, part{lo, i + 1})
			lo = i + 1
		}
	}
	return parts
}

// tridiagonalParts cuts the symmetric (d, e) of more than leafRows rows where e is next to nothing
// beside the diagonal.
func tridiagonalParts(d, e []float64) []part {
	return partsOf(e, func(i int) bool {
		return len(d) > leafRows && math.Abs(e[i]) <= ulp*math.Sqrt(math.Abs(d[i]))*math.Sqrt(math.Abs(d[i+1]))
	})
}

// bidiagonalParts cuts the upper bidiagonal (d, e) of more than leafRows rows where e is next to
// nothing beside all singular values of the rows of this part up to it, of which mu is a lower
// bound (Demmel and Kahan).
func bidiagonalParts(d, e []float64) []part {
	mu := math.Abs(d[0])
	return partsOf(e, func(i int) bool {
		v, next := math.Abs(e[i]), math.Abs(d[i+1])
		if len(d) > leafRows && v <= ulp*mu {
			mu = next
			return true
		}
		mu = next * (mu / (mu + v))
		return false
	})
}

// solveParts calls solve for each part of (d, e). Several are scaled first, and d is scaled back.
func solveParts(parts []part, d, e []float64, solve func(i int, d, e []float64) error) error {
	for i, p := range parts {
		d, e, exp := p.of(d), p.of(e), 0
		if len(parts) > 1 {
			exp, _ = rescaleVectors(d, e)
		}
		if err := solve(i, d, e); err != nil {
			return err
		}
		scaleBack(exp, d)
	}
	return nil
}

// beside calls values in a goroutine of its own while it calls vectors in the caller's, which alone
// may call the solver, and waits for both.
func beside(values, vectors func() error) error {
	var group parallel.Group
	var errValues error
	group.Go(func() { errValues = values() })
	err := func() error {
		defer group.Wait()
		return vectors()
	}()
	return cmp.Or(err, errValues)
}

// permute makes x the elements of y in an order.
func permute(x, y []float64, order []int) {
	for i, o := range order {
		x[i] = y[o]
	}
}

// gather is the vectors z of all parts in an order, with zeros beside what a part has, and gives
// their memory back. In z each has so many elements more, which are left out.
func gather(parts []part, z []rows, more int, order []int) rows {
	n := len(order)
	out, of := takeRows(n*n), make([]int, n)
	clear(out.data)
	for i, p := range parts {
		for k := p.lo; k < p.hi; k++ {
			of[k] = i
		}
	}
	for i, o := range order {
		p := parts[of[o]]
		copy(p.of(out.data[i*n:][:n]), z[of[o]].data[(o-p.lo)*(p.hi-p.lo+more):])
	}
	for _, x := range z {
		x.give()
	}
	return out
}

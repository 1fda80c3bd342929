package solve

import (
	"cmp"
	"math"
	"slices"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/parallel"
)

// ulp is half a unit in the last place of 1, and leafRows the rows of a tridiagonal or bidiagonal
// matrix that is not divided: a part of the definition.
const (
	ulp      = 0x1p-53
	leafRows = 32
)

// Matrices of up to smallDivide rows are divided on one core each, without a device.
const smallDivide = 256

// halves calls f for both halves of a matrix of n rows, at once where they are small.
func (s Solver[T]) halves(n int, f func(s Solver[T], i int) error) error {
	var errs [2]error
	if n <= 2*smallDivide {
		parallel.Do(2, func(i int) { errs[i] = f(Solver[T]{}, i) })
	} else {
		errs[0] = f(s, 0)
		errs[1] = f(s, 1)
	}
	return cmp.Or(errs[0], errs[1])
}

// each calls f for 0 to n-1, on all cores where there is work for them.
func each(n int, f func(i int)) {
	if n <= smallDivide {
		for i := range n {
			f(i)
		}
		return
	}
	const some = 8
	parallel.Do((n+some-1)/some, func(b int) {
		for i := b * some; i < min(n, (b+1)*some); i++ {
			f(i)
		}
	})
}

// rows are vectors, one after the other, in memory to be given back.
type rows struct {
	*host.Scratch
	data []float64
}

func takeRows(n int) rows {
	memory, data := host.Take[float64](n)
	return rows{memory, data}
}

func (r rows) give() { r.Give() }

// ascending is the order of values, stable.
func ascending(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	return order
}

// A merge makes n vectors of two halves those of the whole. The values are the roots of a
// [secularEquation] of the halves' values d, which are its poles, and z; vectors that take no part
// in it stay as they are.
type merge struct {
	Solver[float64]
	n, h  int // vectors, and elements that the first half has of each
	d, z  []float64
	upper []bool // vectors that have elements in the first h places, and in the others
	lower []bool
	keep  []int // vectors that take part, and those that are done
	gone  []int

	// of those that take part:
	poles poles
	zh    []float64 // z of which the roots that were found are exact
	delta rows      // element j*k+i is pole i less root j, of k
	perm  []int     // the order that products add in: by the half that they have elements in,
	kinds [3]int    // so many in the first alone, in both, in the second alone
}

// blend makes of two vectors, where their values are next to each other, one that takes part, j,
// and one that is done: it gives them their values, and c and s, by which they are to be rotated.
func (m *merge) blend(i, j int, tol float64) (c, s float64, near bool) {
	c, s, r := rotation(m.z[j], m.z[i])
	di, dj, cc, ss := m.d[i], m.d[j], c*c, s*s
	if math.Abs((dj-di)*c*s) > tol {
		return 0, 0, false
	}
	m.z[j] = r
	m.d[i] = float64(di*cc) + float64(dj*ss)
	m.d[j] = float64(di*ss) + float64(dj*cc)
	m.upper[j], m.lower[j] = m.upper[i] || m.upper[j], m.lower[i] || m.lower[j]
	m.gone = append(m.gone, i)
	return c, -s, true
}

// solve finds the values of the vectors that take part, and those of the others after them, and
// takes memory for delta.
func (m *merge) solve() (values []float64, err error) {
	k := len(m.keep)
	m.poles.d, m.poles.z = make([]float64, k), make([]float64, k)
	for i, o := range m.keep {
		m.poles.d[i], m.poles.z[i] = m.d[o], m.z[o]
	}
	values, m.zh, m.delta = make([]float64, k, m.n), make([]float64, k), takeRows(k*k)
	each(k, func(j int) { values[j] = m.poles.root(j, m.delta.data[j*k:][:k]) })
	if slices.ContainsFunc(values, math.IsNaN) {
		return nil, ErrNotConverged
	}
	each(k, func(i int) { m.zh[i] = m.poles.anew(i, m.delta.data) })
	for kind := range m.kinds {
		for i, o := range m.keep {
			if (kind < 2) == m.upper[o] && (kind > 0) == m.lower[o] {
				m.perm = append(m.perm, i)
				m.kinds[kind]++
			}
		}
	}
	for _, o := range m.gone {
		values = append(values, m.d[o])
	}
	return values, nil
}

// vectors is the vectors, of cols elements, in the order of values. q has those of the halves.
// mix makes row the factors of those in the vector of a root, in the order of perm, of any length.
func (m *merge) vectors(cols int, q []float64, order []int, mix func(row, delta []float64)) (rows, error) {
	h, k := m.h, len(m.keep)
	memory, z := takeRows(k*(k+cols)), takeRows(cols*cols)
	defer memory.give()
	v, packed, out := memory.data[:k*k], memory.data[k*k:], z.data
	roots := slices.DeleteFunc(slices.Clone(order), func(o int) bool { return o >= k })
	each(k, func(j int) {
		row := v[j*k:][:k]
		mix(row, m.delta.data[roots[j]*k:][:k])
		f := 1 / host.Nrm2(row)
		for t := range row {
			row[t] *= f
		}
		copy(packed[j*cols:][:cols], q[m.keep[m.perm[j]]*cols:])
		clear(out[j*cols:][:cols])
	})
	both, first := m.kinds[0]+m.kinds[1], m.kinds[0]
	err := m.update(false, k, h, both, v, k, packed, cols, out, cols)
	if err == nil && first < k {
		err = m.update(false, k, cols-h, k-first, v[first:], k, packed[first*cols+h:], cols, out[h:], cols)
	}
	for i, r := m.n-1, k-1; r < i; i-- { // make room for those that are done
		if o := order[i]; o < k {
			copy(out[i*cols:][:cols], out[r*cols:])
			r--
		} else {
			copy(out[i*cols:][:cols], q[m.gone[o-k]*cols:])
		}
	}
	return z, err
}

// right is the mixture of eigenvectors, and of right singular vectors.
func (m *merge) right(row, delta []float64) {
	for t, i := range m.perm {
		row[t] = m.zh[i] / delta[i]
	}
}

package solve

import (
	"cmp"
	"math"
	"slices"

	"github.com/tandem-gpu/tandem/internal/host"
)

// qlSteps bounds the steps, in each row. Three are needed, but one of the first eigenvalues may
// take as many as there are rows.
const qlSteps = 30

// ql is the implicit QL method for the symmetric tridiagonal (d, e): d becomes the eigenvalues in
// ascending order, and zt, if it is not nil, has the eigenvectors of at most leafRows rows in its
// rows. e is overwritten, and has as many elements as d, of which the last is not read. x is
// working memory for eigenvectors.
func ql(d, e, zt, x []float64) error {
	n := len(d)
	var z *tiles // the last vector first, as rotations begin there
	var st []float64
	if zt != nil {
		z, st = &tiles{rows: n, cols: n, data: x[2*n : qlMemory(n)]}, x[:2*n]
		clear(z.data)
		for i := range n {
			z.tile(i / tileColumns)[(n-1-i)*tileColumns+i%tileColumns] = 1
		}
	}
	e[n-1] = 0
	steps := 0
	for l := range n {
		nothing, least := 0.0, 1e-300
		for {
			m := l
			for x := math.Abs(d[l]); m < n-1; m++ {
				v, y := math.Abs(e[m]), math.Abs(d[m+1])
				large := v > 2*ulp*x && v > 2*ulp*y && v > least // more than the roots, which are at most the larger
				if !large && (!(v > nothing) || isSplit(v, x, y)) {
					break
				}
				x = y
			}
			if m == l {
				break
			}
			e[m] = 0
			if steps++; steps > qlSteps*n {
				return ErrNotConverged
			}
			first, off := d[l], e[l]
			st = qlSweep(l, m, d, e, st[:0])
			if d[l] == first && e[l] == off { // the step has vanished on its way through very small numbers
				nothing = ulp * max(math.Abs(d[l+host.Iamax(d[l:m+1])]), math.Abs(e[l+host.Iamax(e[l:m])]))
				least = max(least, nothing)
			}
			if z != nil {
				for i := range z.count() { // as rotate does, for which memory on the stack would escape
					host.Rotate(false, st, z.tile(i)[(n-1-m)*tileColumns:])
				}
			}
		}
	}
	if !isFinite(d) {
		return ErrNotConverged
	}
	if z == nil {
		slices.Sort(d)
		return nil
	}
	var order [leafRows]int
	for i := range n { // by insertion: equal ones stay as they are
		order[i] = i
		for k := i; k > 0 && cmp.Less(d[k], d[k-1]); k-- {
			d[k], d[k-1], order[k], order[k-1] = d[k-1], d[k], order[k-1], order[k]
		}
	}
	for i, o := range order[:n] {
		for j := 0; j < n; j += tileColumns {
			copy(zt[i*n+j:][:min(tileColumns, n-j)], z.tile(j / tileColumns)[(n-1-o)*tileColumns:])
		}
	}
	return nil
}

// leafMemory is the elements of memory for the eigenvectors of n rows, and for qlMemory.
func leafMemory(n int) int { return n*n + qlMemory(n) }

// qlMemory is the elements of working memory for n rows.
func qlMemory(n int) int { return (2 + (n+tileColumns-1)/tileColumns*tileColumns) * n }

// isSplit tells whether v, between x and y on the diagonal, is next to nothing.
func isSplit(v, x, y float64) bool {
	return v <= ulp*math.Sqrt(x)*math.Sqrt(y) || v < 1e-300
}

// qlSweep is one step for rows l to m, which hang together. It appends the rotations of rows m and
// m-1, and so on, as [host.Rotate] takes them, where st has room for them.
func qlSweep(l, m int, d, e, st []float64) []float64 {
	g := (d[l+1] - d[l]) / (2 * e[l])
	q := squares(g, 1)
	r := math.Sqrt(q) // of rotation, without its divisions
	if !isPlainRotation(g, 1, q) {
		_, _, r = rareRotation(math.Abs(g), 1)
	}
	g = d[m] - d[l] + float64(e[l]*math.Copysign(1, g))/(math.Abs(g)+r) // signs in the time of the root
	s, c, p := 1.0, 1.0, 0.0
	for i := m - 1; i >= l; i-- {
		f, b := float64(s*e[i]), float64(c*e[i])
		if g == 0 && f == 0 {
			e[i+1] = 0
			d[i+1] -= p
			e[m] = 0
			return st
		}
		if q := squares(g, f); isPlainRotation(g, f, q) { // without a call, as all waits for it
			c, s, r = plainRotation(g, f, q)
		} else {
			c, s, r = rareRotation(g, f)
		}
		e[i+1] = r
		g = d[i+1] - p
		r = float64((d[i]-g)*s) + float64(c*(2*b))
		p = float64(s * r)
		d[i+1] = g + p
		g = float64(c*r) - b
		if cap(st) > 0 {
			st = append(st, s, s/(1+c))
		}
	}
	d[l] -= p
	e[l] = g
	e[m] = 0
	return st
}

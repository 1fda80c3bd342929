package solve

import (
	"math"
	"slices"
)

// qlSteps bounds the steps for one eigenvalue.
const qlSteps = 100

// ql is the implicit QL method for the symmetric tridiagonal (d, e): d becomes the eigenvalues in
// ascending order, and zt, if it is not nil, has the eigenvectors in its rows. e is overwritten,
// and has as many elements as d, of which the last is not read.
func ql(d, e, zt []float64) (ok bool) {
	n := len(d)
	for i := range n {
		if zt != nil {
			zt[i*(n+1)] = 1
		}
	}
	e[n-1] = 0
	for l := range n {
		for iter := 0; ; iter++ {
			m := l
			for ; m < n-1 && !isSplit(d, e, m); m++ {
			}
			if m == l {
				break
			}
			e[m] = 0
			if iter == qlSteps {
				return false
			}
			qlSweep(l, m, d, e, zt)
		}
	}
	sortRows(d, zt)
	return true
}

// isSplit tells whether e[m] is next to nothing.
func isSplit(d, e []float64, m int) bool {
	v := math.Abs(e[m])
	return v <= ulp*math.Sqrt(math.Abs(d[m]))*math.Sqrt(math.Abs(d[m+1])) || v < 1e-300
}

// qlSweep is one step for rows l to m, which hang together.
func qlSweep(l, m int, d, e, zt []float64) {
	n := len(d)
	g := (d[l+1] - d[l]) / (2 * e[l])
	_, _, r := rotation(g, 1)
	g = d[m] - d[l] + e[l]/(g+math.Copysign(r, g))
	s, c, p := 1.0, 1.0, 0.0
	for i := m - 1; i >= l; i-- {
		f, b := float64(s*e[i]), float64(c*e[i])
		if g == 0 && f == 0 {
			e[i+1] = 0
			d[i+1] -= p
			e[m] = 0
			return
		}
		c, s, r = rotation(g, f) // c >= 0
		e[i+1] = r
		g = d[i+1] - p
		r = float64((d[i]-g)*s) + float64(2*c*b)
		p = float64(s * r)
		d[i+1] = g + p
		g = float64(c*r) - b
		if zt != nil {
			rotate(c, s, zt[(i+1)*n:][:n], zt[i*n:][:n])
		}
	}
	d[l] -= p
	e[l] = g
	e[m] = 0
}

// sortRows brings d into ascending order, and the rows of zt with it.
func sortRows(d, zt []float64) {
	n := len(d)
	if zt == nil {
		slices.Sort(d)
		return
	}
	values, rows := slices.Clone(d), slices.Clone(zt)
	for i, o := range ascending(values) {
		d[i] = values[o]
		copy(zt[i*n:][:n], rows[o*n:])
	}
}

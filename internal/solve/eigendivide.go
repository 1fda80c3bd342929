package solve

import (
	"math"

	"github.com/tandem-gpu/tandem/internal/host"
)

// divide solves the symmetric tridiagonal eigenproblem (d, e) by divide and conquer (J. J. M.
// Cuppen, "A divide and conquer method for the symmetric tridiagonal eigenproblem", Numerische
// Mathematik 36, 1981; M. Gu and S. C. Eisenstat, "A divide-and-conquer algorithm for the symmetric
// tridiagonal eigenproblem", SIAM J. Matrix Anal. Appl. 16, 1995): d becomes the eigenvalues in
// ascending order, and zt has the eigenvectors. n rows are cut behind the first n/2.
func divide(s Solver[float64], d, e []float64) (zt rows, err error) {
	n := len(d)
	if n <= leafRows {
		zt = takeRows(leafMemory(n))
		return zt, ql(d, e, zt.data, zt.data[n*n:])
	}
	h := n / 2
	rho := e[h-1]
	d[h-1] -= math.Abs(rho)
	d[h] -= math.Abs(rho)
	var z [2]rows
	err = s.halves(n, func(s Solver[float64], i int) (err error) {
		lo, hi := i*h, h+i*(n-h)
		z[i], err = divide(s, d[lo:hi], e[lo:hi])
		return err
	})
	if err != nil {
		return rows{}, err
	}
	g := glue{
		merge: merge{Solver: s, n: n, h: h, d: d, poles: poles{rho: 2 * math.Abs(rho)}},
		sign:  math.Copysign(1, rho),
	}
	return g.join(z[0], z[1])
}

// glue is the merge of eigenvectors: diag(D1, D2) + rho*z*zᵀ, where z comes of the last elements of
// the first half's vectors and the first of the second's.
type glue struct {
	merge
	sign float64
	q    []float64 // vectors
}

func (g *glue) join(q1, q2 rows) (rows, error) {
	q := takeRows(g.n * g.n)
	defer q.give()
	g.q = q.data
	g.place(q1.data, q2.data)
	q1.give()
	q2.give()
	g.deflate()
	values, err := g.solve()
	defer g.delta.give()
	if err != nil {
		return rows{}, err
	}
	order := ascending(values) // equal ones as they are, those of roots first
	permute(g.d, values, order)
	return g.vectors(g.n, g.q, order, g.right)
}

// place puts both halves into one matrix, and makes z of length 1.
func (g *glue) place(q1, q2 []float64) {
	n, h := g.n, g.h
	c := n - h
	g.z, g.upper, g.lower = make([]float64, n), make([]bool, n), make([]bool, n)
	each(n, func(i int) {
		row := g.q[i*n:][:n]
		if i < h {
			copy(row[:h], q1[i*h:])
			clear(row[h:])
		} else {
			clear(row[:h])
			copy(row[h:], q2[(i-h)*c:])
		}
	})
	for i := range h {
		g.z[i], g.upper[i] = q1[i*h+h-1]*(math.Sqrt2/2), true
	}
	for i := range c {
		g.z[h+i], g.lower[h+i] = g.sign*q2[i*c]*(math.Sqrt2/2), true
	}
}

// deflate sorts out the vectors whose element of z is next to nothing; of two with values next to
// each other it makes one such.
func (g *glue) deflate() {
	d, z := g.d, g.z
	tol := 8 * ulp * max(math.Abs(d[host.Iamax(d)]), math.Abs(z[host.Iamax(z)]))
	last := -1
	for _, i := range ascending(d) {
		if g.poles.rho*math.Abs(z[i]) <= tol {
			g.gone = append(g.gone, i)
			continue
		}
		if last >= 0 {
			if c, s, near := g.blend(last, i, tol); near {
				rotateRows(c, s, g.q, g.n, last, i)
			} else {
				g.keep = append(g.keep, last)
			}
		}
		last = i
	}
	if last >= 0 {
		g.keep = append(g.keep, last)
	}
}

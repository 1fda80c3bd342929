package solve

import (
	"math"

	"github.com/tandem-gpu/tandem/internal/host"
)

// divideSingular is the singular values and vectors of the upper bidiagonal (d, e), of n rows and
// n+1 columns, by divide and conquer (M. Gu and S. C. Eisenstat, "A divide-and-conquer algorithm
// for the bidiagonal SVD", SIAM J. Matrix Anal. Appl. 16, 1995): d becomes the values in descending
// order, ut has with left n vectors, and vt n+1, of which the last has no value. The row behind the
// first n/2 is cut out. A largest element below 2^-400 is scaled before.
func divideSingular(s Solver[float64], left bool, d, e []float64) (ut, vt rows, err error) {
	n := len(d)
	if n <= leafRows {
		return singularLeaf(false, d, e, n+1)
	}
	mid := n / 2
	var u, v [2]rows
	err = s.halves(n, func(s Solver[float64], i int) (err error) {
		lo, hi := i*(mid+1), mid+i*(n-mid)
		u[i], v[i], err = divideSingular(s, left, d[lo:hi], e[lo:hi])
		return err
	})
	if err != nil {
		return rows{}, rows{}, err
	}
	w := seam{
		merge: merge{Solver: s, n: n, h: mid + 1, d: d, poles: poles{rho: 1, squares: true}},
		mid:   mid, left: left, row: [2]float64{d[mid], e[mid]},
	}
	d[mid] = 0
	return w.join(u, v)
}

// seam is the merge of singular vectors: that of the diagonal matrix D with z for row mid, whose
// element of D is 0. z comes of the last elements of the first half's right vectors and the first
// of the second's. The left vector of mid is the unit vector, and the right one makes of both
// without values one with z, and another one, which has none.
type seam struct {
	merge
	mid  int
	left bool
	row  [2]float64 // mid of the bidiagonal matrix
	u, v []float64  // vectors, those of v one longer and one more
}

func (w *seam) join(u, v [2]rows) (ut, vt rows, err error) {
	n := w.n
	exp, _ := rescaleVectors(w.d, w.row[:])
	memory := takeRows(n*n + (n+1)*(n+1))
	defer memory.give()
	w.u, w.v = memory.data[:n*n], memory.data[n*n:]
	if w.left {
		w.place(w.u, n, w.mid, u)
		w.u[w.mid*(n+1)] = 1
	}
	w.place(w.v, n+1, w.mid+1, v)
	w.weigh(v[0].data, v[1].data)
	for i := range v {
		u[i].give()
		v[i].give()
	}
	w.deflate()
	values, err := w.solve()
	defer w.delta.give()
	if err != nil {
		return rows{}, rows{}, err
	}
	order := descending(values)
	permute(w.d, values, order)
	scaleBack(exp, w.d)
	if w.left {
		if ut, err = w.vectors(n, w.u, order, w.leftMix); err != nil {
			return rows{}, rows{}, err
		}
	}
	if vt, err = w.vectors(n+1, w.v, order, w.right); err == nil {
		copy(vt.data[n*(n+1):][:n+1], w.v[n*(n+1):])
	}
	return ut, vt, err
}

// place puts the vectors of both halves, of which the first has h elements, into the rows of q
// before mid and after it.
func (w *seam) place(q []float64, cols, h int, halves [2]rows) {
	each(w.n, func(i int) {
		row := q[i*cols:][:cols]
		clear(row)
		switch second := w.mid + 1; {
		case i < w.mid:
			copy(row[:h], halves[0].data[i*h:])
		case i > w.mid:
			copy(row[second:], halves[1].data[(i-second)*(cols-second):])
		}
	})
}

// weigh makes z, and of both halves' right vectors without values those of mid and of none.
func (w *seam) weigh(first, second []float64) {
	n, mid, h := w.n, w.mid, w.h
	c := n + 1 - h
	w.z, w.upper, w.lower = make([]float64, n), make([]bool, n), make([]bool, n)
	for i := range n {
		if w.upper[i], w.lower[i] = i <= mid, i >= mid; i < mid {
			w.z[i] = w.row[0] * first[i*h+mid]
		} else if i > mid {
			w.z[i] = w.row[1] * second[(i-h)*c]
		}
	}
	first, second = first[mid*h:][:h], second[(n-h)*c:][:c]
	cs, sn, r := rotation(w.row[0]*first[mid], w.row[1]*second[0])
	w.z[mid] = r
	row, none := w.v[mid*(n+1):][:n+1], w.v[n*(n+1):][:n+1]
	for k, x := range first {
		row[k], none[k] = cs*x, -sn*x
	}
	for k, x := range second {
		row[h+k], none[h+k] = sn*x, cs*x
	}
}

// deflate sorts out the vectors whose element of z is next to nothing; of two with values next to
// each other, or with a value next to that of mid, which is 0, it makes one such. The row of mid
// takes part always.
func (w *seam) deflate() {
	d, z, mid := w.d, w.z, w.mid
	tol := 8 * ulp * max(d[host.Iamax(d)], math.Abs(w.row[0]), math.Abs(w.row[1]))
	last := mid
	for _, i := range ascending(d) {
		switch {
		case i == mid:
			continue
		case math.Abs(z[i]) <= tol:
			w.gone = append(w.gone, i)
			continue
		case last == mid:
			c, s, r := rotation(z[mid], z[i])
			if math.Abs(s*d[i]) <= tol {
				z[mid] = r
				rotateRows(c, s, w.v, w.n+1, mid, i)
				d[i] *= c
				w.gone = append(w.gone, i)
				continue
			}
		default:
			if c, s, near := w.blend(last, i, tol); near {
				rotateRows(c, s, w.v, w.n+1, last, i)
				if w.left {
					rotateRows(c, s, w.u, w.n, last, i)
				}
				last = i
				continue
			}
		}
		w.keep = append(w.keep, last)
		last = i
	}
	w.keep = append(w.keep, last)
	if tol = max(tol, 0x1p-500); math.Abs(z[mid]) <= tol { // so that the first root is apart from 0
		z[mid] = math.Copysign(tol, z[mid])
	}
}

// leftMix is the mixture of left singular vectors.
func (w *seam) leftMix(row, delta []float64) {
	for t, i := range w.perm {
		if i == 0 { // that of mid
			row[t] = -1
		} else {
			row[t] = w.poles.d[i] * w.zh[i] / delta[i]
		}
	}
}

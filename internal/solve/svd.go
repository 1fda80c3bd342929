package solve

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/tandem-gpu/tandem/internal/host"
)

// SingularVectors is where [SVD] leaves vectors. With k the smaller dimension of A, of m by n, U is
// m by Cols, and VT is Rows by n; each is 0 or from k to the larger number.
type SingularVectors struct {
	U, VT      []float64
	Cols, LdU  int
	Rows, LdVT int
}

// SVD factors A = U*S*Vᵀ for A of m by n, which is overwritten: sv becomes the min(m, n) singular
// values, in descending order, of which none is negative. With NaN or infinities ok is false, and
// all is NaN; where the iteration does not end, the error is [ErrNotConverged]. docs/contract.md
// has the definition.
func SVD(s Solver[float64], m, n int, a []float64, lda int, sv []float64, v SingularVectors) (ok bool, err error) {
	if min(m, n) == 0 {
		unitColumns(m, 0, v.Cols, v.U, v.LdU)
		unitColumns(v.Rows, 0, n, v.VT, v.LdVT)
		return true, nil
	}
	exp, finite := rescale(m, n, a, lda)
	if !finite {
		fill(sv, math.NaN())
		fillMatrix(m, v.Cols, v.U, v.LdU)
		fillMatrix(v.Rows, n, v.VT, v.LdVT)
		return false, nil
	}
	switch {
	case isTall(m, n):
		err = svdTall(s, m, n, a, lda, sv, v)
	case isTall(n, m):
		err = svdFlat(s, m, n, a, lda, sv, v)
	case m < n:
		err = svdWide(s, m, n, a, lda, sv, v)
	default:
		err = svd(s, false, m, n, a, lda, sv, v)
	}
	scaleBack(exp, sv)
	return err == nil, err
}

// isTall tells whether a matrix of more than one column is first made a triangle: from 1.6 times as
// many rows as columns on, as in LAPACK.
func isTall(m, n int) bool { return n > 1 && m >= 8*n/5 }

// fillMatrix makes all elements NaN.
func fillMatrix(rows, cols int, x []float64, ld int) {
	for i := range rows {
		if cols > 0 {
			fill(x[i*ld:][:cols], math.NaN())
		}
	}
}

// svdWide is the transpose of svd of Aᵀ.
func svdWide(s Solver[float64], m, n int, a []float64, lda int, sv []float64, v SingularVectors) error {
	t := SingularVectors{
		U: make([]float64, n*v.Rows), Cols: v.Rows, LdU: v.Rows,
		VT: make([]float64, v.Cols*m), Rows: v.Cols, LdVT: m,
	}
	memory, at := host.Take[float64](m * n)
	defer memory.Give()
	host.Transpose(m, n, a, lda, at, m)
	if err := svd(s, true, n, m, at, m, sv, t); err != nil {
		return err
	}
	if v.Rows > 0 {
		host.Transpose(n, v.Rows, t.U, v.Rows, v.VT, v.LdVT)
	}
	if v.Cols > 0 {
		host.Transpose(v.Cols, m, t.VT, m, v.U, v.LdU)
	}
	return nil
}

// svdFlat is svd of L, with its Vᵀ times Q, for A = L*Q.
func svdFlat(s Solver[float64], m, n int, a []float64, lda int, sv []float64, v SingularVectors) error {
	tau, l := make([]float64, m), make([]float64, m*m)
	if err := s.LQ(m, n, a, lda, tau); err != nil {
		return err
	}
	for i := range m {
		copy(l[i*m:][:i+1], a[i*lda:])
	}
	inner := v
	if v.Rows > 0 {
		inner.Rows = m
		unitColumns(v.Rows, 0, n, v.VT, v.LdVT)
	}
	if err := svd(s, false, m, m, l, m, sv, inner); err != nil || v.Rows == 0 {
		return err
	}
	return s.MultiplyRows(false, false, v.Rows, n, m, a, lda, tau, v.VT, v.LdVT)
}

// svdTall is svd of R, with Q times its U, for A = Q*R.
func svdTall(s Solver[float64], m, n int, a []float64, lda int, sv []float64, v SingularVectors) error {
	tau, r := make([]float64, n), make([]float64, n*n)
	if err := s.QR(m, n, a, lda, tau); err != nil {
		return err
	}
	for i := range n {
		copy(r[i*n+i:][:n-i], a[i*lda+i:])
	}
	inner := v
	if v.Cols > 0 {
		inner.Cols = n
		unitColumns(m, 0, v.Cols, v.U, v.LdU)
	}
	if err := svd(s, false, n, n, r, n, sv, inner); err != nil || v.Cols == 0 {
		return err
	}
	return s.ApplyQ(false, m, v.Cols, n, a, lda, tau, v.U, v.LdU)
}

// svd is SVD for m >= n > 0. With wide A is the transpose of a matrix whose SVD is wanted: the
// lower bidiagonal of that is made an upper one for the values.
func svd(s Solver[float64], wide bool, m, n int, a []float64, lda int, sv []float64, v SingularVectors) error {
	memory, x := host.Take[float64](n * (n + 3))
	defer memory.Give()
	b := bidiagonal{
		Solver: s, m: m, n: n, lda: lda, a: a, d: sv, e: x[:n], tauQ: x[n : 2*n], tauP: x[2*n : 3*n],
		vectorsQ: v.Cols > 0,
	}
	if v.Rows > 0 {
		b.p = x[3*n:]
	}
	if err := b.reduce(); err != nil {
		return err
	}
	if v.Cols == 0 && v.Rows == 0 {
		err := singularValues(func() error {
			_, err := s.atOnce(0, 0, 0)
			return err
		}, wide, b.d, b.e, bidiagonalParts(b.d, b.e))
		sortDescending(b.d)
		return err
	}
	ut, vt, ldvt, err := b.diagonalize(wide)
	if err != nil {
		return err
	}
	defer ut.give()
	defer vt.give()
	if v.Cols > 0 {
		unitColumns(m, 0, v.Cols, v.U, v.LdU)
		host.Transpose(n, n, ut.data, n, v.U, v.LdU)
		if err := s.ApplyQ(false, m, v.Cols, n, a, lda, b.tauQ, v.U, v.LdU); err != nil {
			return err
		}
	}
	if v.Rows > 0 {
		x := takeRows(n * n)
		defer x.give()
		host.Transpose(n, n, vt.data, ldvt, x.data, n)
		if n > 2 { // the last reflector, of one row, changes nothing
			if err := s.ApplyQ(false, n-1, n, n-2, b.p[n:], n, b.tauP, x.data[n:], n); err != nil {
				return err
			}
		}
		host.Transpose(n, n, x.data, n, v.VT, v.LdVT)
	}
	return nil
}

// diagonalize makes d the singular values, in descending order, and gives the vectors of the
// bidiagonal matrix, n of n elements, of which those of vt lie ldvt apart.
func (b *bidiagonal) diagonalize(wide bool) (ut, vt rows, ldvt int, err error) {
	if b.n <= leafRows {
		if ut, vt, err = singularLeaf(wide, b.d, b.e, b.n); wide {
			ut, vt = vt, ut
		}
		return ut, vt, b.n, err
	}
	parts := bidiagonalParts(b.d, b.e)
	d, e := slices.Clone(b.d), slices.Clone(b.e)
	u, v := make([]rows, len(parts)), make([]rows, len(parts))
	var failed atomic.Bool
	ask := func() error {
		if failed.Load() {
			return ErrNotConverged
		}
		return nil
	}
	err = beside(func() error { return singularValues(ask, wide, b.d, b.e, parts) }, func() error {
		err := solveParts(parts, d, e, func(i int, d, e []float64) (err error) {
			u[i], v[i], err = divideSingular(b.Solver, b.vectorsQ, d, e)
			return err
		})
		failed.Store(err != nil)
		return err
	})
	if err != nil || len(parts) == 1 {
		return u[0], v[0], b.n + 1, err
	}
	order := descending(b.d)
	permute(b.d, slices.Clone(b.d), order)
	if b.vectorsQ {
		ut = gather(parts, u, 0, order)
	}
	return ut, gather(parts, v, 1, order), b.n, nil
}

// descending is the order of values, the largest first.
func descending(values []float64) []int {
	order := ascending(values)
	slices.Reverse(order)
	return order
}

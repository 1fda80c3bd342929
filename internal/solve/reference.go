package solve

import (
	"math"
	"slices"

	"github.com/tandem-gpu/tandem/internal/host"
)

// LUReference is [Solver.LU] by the definition: a plain loop for each element's chain, column by
// column.
func LUReference[T host.Float](m, n int, a []T, lda int, piv []int) int {
	singular := -1
	for j := range n {
		for i := range m {
			for k := range min(i, j) {
				a[i*lda+j] = host.FMA(-a[i*lda+k], a[k*lda+j], a[i*lda+j])
			}
		}
		if j >= m {
			continue
		}
		p := j
		for i := j; i < m; i++ {
			best, v := math.Abs(float64(a[p*lda+j])), math.Abs(float64(a[i*lda+j]))
			if best == best && (v > best || v != v) {
				p = i
			}
		}
		piv[j] = p
		for c := range n {
			a[j*lda+c], a[p*lda+c] = a[p*lda+c], a[j*lda+c]
		}
		u := a[j*lda+j]
		if u == 0 && singular < 0 {
			singular = j
		}
		for i := j + 1; i < m && u != 0; i++ {
			a[i*lda+j] /= u
		}
	}
	return singular
}

// CholeskyReference is [Solver.Cholesky] by the definition, where at gives element (i, j) of the
// lower triangle.
func CholeskyReference[T host.Float](n int, at func(i, j int) *T) int {
	for j := range n {
		for i := j; i < n; i++ {
			acc := *at(i, j)
			for k := range j {
				acc = host.FMA(-*at(i, k), *at(j, k), acc)
			}
			switch {
			case i > j:
				acc /= *at(j, j)
			case !(acc > 0):
				return j
			default:
				acc = T(math.Sqrt(float64(acc)))
			}
			*at(i, j) = acc
		}
	}
	return -1
}

// TriangleReference is [Solver.Solve] or [Solver.Multiply] by the definition, for one column at the
// right of op(A), whose element (i, k) at gives.
func TriangleReference[T host.Float](solve bool, n int, at func(i, k int) T, upper, unit bool, alpha T, b []T) {
	x := slices.Clone(b)
	for r := range n {
		i, step := r, 1
		if upper {
			i, step = n-1-r, -1
		}
		if solve {
			acc, k := host.Mul(alpha, b[i]), 0
			if upper {
				k = n - 1
			}
			for ; k != i; k += step {
				acc = host.FMA(-at(i, k), x[k], acc)
			}
			if !unit {
				acc /= at(i, i)
			}
			x[i] = acc
			continue
		}
		var acc T
		for k := range n {
			switch {
			case k == i && unit:
				acc = host.FMA(1, b[k], acc)
			case k == i || (k > i) == upper:
				acc = host.FMA(at(i, k), b[k], acc)
			}
		}
		x[i] = host.Mul(alpha, acc)
	}
	copy(b, x)
}

// QRReference is [Solver.QR] by the definition, for a matrix that needs no power of two.
func QRReference[T host.Float](m, n int, a []T, lda int, tau []T) {
	k := min(m, n)
	for p := 0; p < k; p += Panel {
		end := min(p+Panel, k)
		for j := p; j < end; j++ {
			x := make([]T, m-j)
			for i := range x {
				x[i] = a[(j+i)*lda+j]
			}
			a[j*lda+j], tau[j] = householder(x)
			for i, v := range x[1:] {
				a[(j+1+i)*lda+j] = v
			}
			for c := j + 1; c < end && tau[j] != 0; c++ {
				f := host.Mul(-tau[j], sumReference(m-j, func(i int) (T, T) { return a[(j+i)*lda+c], x[i] }))
				for i, v := range x {
					a[(j+i)*lda+c] = host.FMA(f, v, a[(j+i)*lda+c])
				}
			}
		}
		if n > end {
			applyReference(true, m-p, n-end, end-p, a[p*(lda+1):], lda, tau[p:], a[p*lda+end:], lda)
		}
	}
}

// ApplyQReference is [Solver.ApplyQ] by the definition.
func ApplyQReference[T host.Float](trans bool, m, n, k int, a []T, lda int, tau, c []T, ldc int) {
	last := (k - 1) / Panel * Panel
	for i := 0; i < k; i += Panel {
		j := i
		if !trans {
			j = last - i
		}
		applyReference(trans, m-j, n, min(Panel, k-j), a[j*(lda+1):], lda, tau[j:], c[j*ldc:], ldc)
	}
}

// sumReference is the sum of m products that at gives: chains of PieceRows, added in order.
func sumReference[T host.Float](m int, at func(i int) (T, T)) (sum T) {
	for first := 0; first < m; first += PieceRows {
		acc := T(0)
		for i := first; i < min(m, first+PieceRows); i++ {
			x, y := at(i)
			acc = host.FMA(x, y, acc)
		}
		if first == 0 {
			sum = acc
		} else {
			sum += acc
		}
	}
	return sum
}

// applyReference is what a panel of w reflectors does to C, of m by n.
func applyReference[T host.Float](trans bool, m, n, w int, a []T, lda int, tau, c []T, ldc int) {
	v := func(i, j int) T {
		switch {
		case i == j:
			return 1
		case i < j:
			return 0
		}
		return a[i*lda+j]
	}
	t := make([]T, w*w)
	for j := range w {
		t[j*w+j] = tau[j]
		g := make([]T, j)
		for k := range g {
			g[k] = sumReference(m, func(r int) (T, T) { return v(r, k), v(r, j) })
		}
		for i := range j {
			acc := T(0)
			for k := i; k < j; k++ {
				acc = host.FMA(t[i*w+k], g[k], acc)
			}
			t[i*w+j] = host.Mul(-tau[j], acc)
		}
	}
	for col := range n {
		x, y := make([]T, w), make([]T, w)
		for j := range w {
			x[j] = sumReference(m, func(i int) (T, T) { return v(i, j), c[i*ldc+col] })
		}
		for j := range w {
			for k := range w {
				e := t[j*w+k]
				if trans {
					e = t[k*w+j]
				}
				y[j] = host.FMA(e, x[k], y[j])
			}
		}
		for i := range m {
			for j := range w {
				c[i*ldc+col] = host.FMA(-v(i, j), y[j], c[i*ldc+col])
			}
		}
	}
}

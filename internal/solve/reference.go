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

package solve

import (
	"math"
	"unsafe"

	"github.com/tandem-gpu/tandem/internal/host"
)

// A condition number is |A|·|A⁻¹|, in the 1-norm (the largest sum of magnitudes in a column) or the
// infinity-norm (in a row). The norm of the inverse is estimated from a few solutions, as Hager and
// Higham do it: N. J. Higham, "FORTRAN codes for estimating the one-norm of a real or complex
// matrix", ACM TOMS 14 (1988). The estimate is a lower bound but for rounding, mostly within a
// factor of 3. Right sides are multiplied by |A|, so that it neither overflows nor vanishes before
// the condition number does; where |A| is large, both that and a copy of the factor are divided by
// a power of two. A singular matrix has +Inf.

// A Norm is that of a matrix, Value * 2^Exp.
type Norm[T host.Float] struct {
	Value T
	Exp   int
}

// scaled is the norm over 2^exp, which is 1 where it is not large.
func (n Norm[T]) scaled() (norm T, exp int) {
	large := 256
	if unsafe.Sizeof(T(0)) == 4 {
		large = 32
	}
	frac, e := math.Frexp(float64(n.Value))
	if exp = e + n.Exp; exp <= large {
		return n.Value, 0 // with an exponent it is large
	}
	return T(frac), exp
}

// divided is a triangle of n by n, without what is beside it, over 2^exp.
func divided[T host.Float](upper bool, n int, a []T, lda, exp int) []T {
	t := make([]T, n*n)
	for i := range n {
		lo, hi := 0, i+1
		if upper {
			lo, hi = i, n
		}
		copy(t[i*n+lo:i*n+hi], a[i*lda+lo:])
		scaleBack(-exp, t[i*n:][lo:hi])
	}
	return t
}

// LUCondition estimates the condition number of A of n by n, as [Solver.LU] left it: in the 1-norm,
// or with rows in the infinity-norm; neither depends on the order of its rows. norm is that of the
// matrix before.
func LUCondition[T host.Float](rows bool, n int, a []T, lda int, norm Norm[T]) T {
	u, ldu := a, lda
	size, exp := norm.scaled()
	if exp != 0 {
		u, ldu = divided(true, n, a, lda, exp), n
	}
	return condition(rows, n, func(trans bool, x []T) {
		host.Scal(size, x)
		if trans {
			host.Trsv(false, true, false, n, u, ldu, x)
			host.Trsv(true, true, true, n, a, lda, x)
			return
		}
		host.Trsv(true, false, true, n, a, lda, x)
		host.Trsv(false, false, false, n, u, ldu, x)
	})
}

// CholeskyCondition estimates the condition number of A of n by n, as [Solver.Cholesky] left it:
// the 1-norm of a symmetric matrix is its infinity-norm. norm is that of the matrix before.
func CholeskyCondition[T host.Float](lower bool, n int, a []T, lda int, norm Norm[T]) T {
	size, exp := norm.scaled()
	if exp != 0 {
		a, lda = divided(!lower, n, a, lda, exp/2), n
		size = T(math.Ldexp(float64(size), exp%2))
	}
	return condition(false, n, func(_ bool, x []T) {
		host.Scal(size, x)
		host.Trsv(lower, !lower, false, n, a, lda, x) // L
		host.Trsv(lower, lower, false, n, a, lda, x)
	})
}

// TriangleCondition estimates the condition number of op(A) for a triangle: in the 1-norm, or with
// rows in the infinity-norm. norm is that of op(A).
func TriangleCondition[T host.Float](rows bool, t Triangle[T], norm Norm[T]) T {
	size, exp := norm.scaled()
	if exp != 0 && !t.Unit {
		t.Data, t.Stride = divided(t.Upper, t.N, t.Data, t.Stride, exp), t.N
	} else if exp != 0 {
		size = norm.Value // the diagonal stays 1
	}
	return condition(rows, t.N, func(trans bool, x []T) {
		host.Scal(size, x)
		host.Trsv(!t.Upper, t.Trans != trans, t.Unit, t.N, t.Data, t.Stride, x)
	})
}

// conditionSteps bounds the steps of an estimate.
const conditionSteps = 5

// condition estimates the 1-norm, or with rows the infinity-norm, of M, where solve makes x M*x or,
// with trans, Mᵀ*x.
func condition[T host.Float](rows bool, n int, solve func(trans bool, x []T)) T {
	memory, x := host.Take[T](3 * n)
	defer memory.Give()
	v, signs, z := x[:n], x[n:2*n], x[2*n:]
	clear(signs)
	for i := range v {
		v[i] = 1 / T(n)
	}
	best, last := T(0), -1
	for step := range conditionSteps {
		solve(rows, v)
		norm := magnitudes(v)
		if step > 0 && !(norm > best) {
			best = max(best, norm) // a NaN stays
			break
		}
		if best = norm; n == 1 || step == conditionSteps-1 || !changeSigns(signs, v) {
			break
		}
		copy(z, signs)
		solve(!rows, z)
		j := host.Iamax(z)
		if last >= 0 && abs(z[j]) == abs(z[last]) {
			break
		}
		clear(v)
		v[j], last = 1, j
	}
	// growing elements of changing signs are for matrices that deceive the steps
	for i := range v {
		v[i] = 1
		if n > 1 {
			v[i] += T(i) / T(n-1)
		}
		if i%2 == 1 {
			v[i] = -v[i]
		}
	}
	solve(rows, v)
	return orInfinite(max(best, 2*magnitudes(v)/(3*T(n))))
}

// changeSigns makes signs those of v, and tells whether one of them has changed.
func changeSigns[T host.Float](signs, v []T) (changed bool) {
	for i, y := range v {
		s := T(1)
		if y < 0 {
			s = -1
		}
		changed = changed || s != signs[i]
		signs[i] = s
	}
	return changed
}

// orInfinite is a condition number: what is no number comes of a singular matrix.
func orInfinite[T host.Float](c T) T {
	if c != c {
		return T(math.Inf(1))
	}
	return c
}

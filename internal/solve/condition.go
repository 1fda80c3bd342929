package solve

import (
	"math"

	"github.com/tandem-gpu/tandem/internal/host"
)

// A condition number is |A|·|A⁻¹|, in the 1-norm (the largest sum of magnitudes in a column) or the
// infinity-norm (in a row). The norm of the inverse is estimated from a few solutions, as Hager and
// Higham do it: N. J. Higham, "FORTRAN codes for estimating the one-norm of a real or complex
// matrix", ACM TOMS 14 (1988). The estimate is a lower bound but for rounding, mostly within a
// factor of 3. Right sides are multiplied by |A|, so that it neither overflows nor vanishes before
// the condition number does. A singular matrix has +Inf.

// LUCondition estimates the condition number of A of n by n, as [Solver.LU] left it: in the 1-norm,
// or with rows in the infinity-norm; neither depends on the order of its rows. norm is that of the
// matrix before.
func (s Solver[T]) LUCondition(rows bool, n int, a []T, lda int, norm T) (T, error) {
	return condition(rows, n, func(trans bool, x []T) error {
		return s.solveLU(trans, norm, n, 1, a, lda, nil, x, 1)
	})
}

// CholeskyCondition estimates the condition number of A of n by n, as [Solver.Cholesky] left it:
// the 1-norm of a symmetric matrix is its infinity-norm. norm is that of the matrix before.
func (s Solver[T]) CholeskyCondition(lower bool, n int, a []T, lda int, norm T) (T, error) {
	return condition(false, n, func(_ bool, x []T) error {
		return s.solveCholesky(lower, norm, n, 1, a, lda, x, 1)
	})
}

// TriangleCondition estimates the condition number of op(A) for a triangle: in the 1-norm, or with
// rows in the infinity-norm. norm is that of op(A).
func (s Solver[T]) TriangleCondition(rows bool, t Triangle[T], norm T) (T, error) {
	return condition(rows, t.N, func(trans bool, x []T) error {
		t := t
		t.Trans = t.Trans != trans
		return s.Solve(t, true, norm, t.N, 1, x, 1)
	})
}

// conditionSteps bounds the steps of an estimate.
const conditionSteps = 5

// condition estimates the 1-norm, or with rows the infinity-norm, of M, where solve makes x M*x or,
// with trans, Mᵀ*x.
func condition[T host.Float](rows bool, n int, solve func(trans bool, x []T) error) (T, error) {
	v, signs, z := make([]T, n), make([]T, n), make([]T, n)
	for i := range v {
		v[i] = 1 / T(n)
	}
	best, last := T(0), -1
	for step := range conditionSteps {
		if err := solve(rows, v); err != nil {
			return 0, err
		}
		norm := magnitudes(v)
		if step > 0 && !(norm > best) {
			best = max(best, norm) // a NaN stays
			break
		}
		if best = norm; step == conditionSteps-1 || !changeSigns(signs, v) {
			break
		}
		copy(z, signs)
		if err := solve(!rows, z); err != nil {
			return 0, err
		}
		j := host.Iamax(z)
		if last >= 0 && magnitude(z[j]) == magnitude(z[last]) {
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
	if err := solve(rows, v); err != nil {
		return 0, err
	}
	return orInfinite(max(best, 2*magnitudes(v)/(3*T(n)))), nil
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

// magnitudes is the sum of the magnitudes, in order.
func magnitudes[T host.Float](x []T) (sum T) {
	for _, v := range x {
		sum += magnitude(v)
	}
	return sum
}

// orInfinite is a condition number: what is no number comes of a singular matrix.
func orInfinite[T host.Float](c T) T {
	if c != c {
		return T(math.Inf(1))
	}
	return c
}

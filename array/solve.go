package array

import (
	"cmp"
	"fmt"

	"github.com/tandem-gpu/tandem/linalg"
)

// What follows is on package linalg's factorizations, with their bits: the elements come to the
// host's memory, which the result goes back from, so that c may share elements with a and b. Each
// waits. Who factors once and solves often, or needs vectors, calls those of a.Download().

// Solve makes c the solution X of A*X = B, by the LU factorization of a, which is square:
// [linalg.FactorLU]. c has the shape of b. The error is linalg.ErrSingular, which names the
// pivot, where a pivot is 0, and linalg.ErrOverflow where a number of X, or on the way to it, is
// beyond the type.
func Solve[T Float](c, a, b *Array[T]) error {
	s, rows, cols, err := dims("Solve", "c", c)
	if err == nil {
		err = cmp.Or(checkShape("Solve", "b", b, s, rows, cols), checkShape("Solve", "a", a, s, rows, rows))
	}
	if err != nil {
		return err
	}
	right, err := b.Download()
	if err != nil {
		return err
	}
	return solution(c, a, func(lu *linalg.LU[T]) (linalg.Matrix[T], error) { return lu.Solve(right) })
}

// Inv makes c the inverse of a, which is square: the solution of A*X = I. [Solve] takes less time
// than a product with it, and is more accurate. The rest is as for Solve.
func Inv[T Float](c, a *Array[T]) error {
	s, rows, _, err := dims("Inv", "c", c)
	if err == nil {
		err = cmp.Or(checkShape("Inv", "c", c, s, rows, rows), checkShape("Inv", "a", a, s, rows, rows))
	}
	if err != nil {
		return err
	}
	return solution(c, a, func(lu *linalg.LU[T]) (linalg.Matrix[T], error) { return lu.Inverse() })
}

// solution makes c what f has of the factors of a.
func solution[T Float](c, a *Array[T], f func(lu *linalg.LU[T]) (linalg.Matrix[T], error)) error {
	m, err := a.Download()
	if err != nil {
		return err
	}
	lu, err := linalg.FactorLU(m, linalg.On(a.Session()))
	if err != nil {
		return err
	}
	x, err := f(lu)
	if err != nil {
		return err
	}
	return c.CopyFrom(x)
}

// Pinv makes c, of n by m, the pseudoinverse of a, of m by n: V times the inverse of S times Uᵀ of
// its singular values and vectors, of which those above relative times the largest count, or, where
// relative is 0, those that [linalg.SVD.Rank] counts then. It is [linalg.SVD.Solve] of the unit
// matrix. Where a has NaN or infinities all of c is NaN.
func Pinv[T Float](c, a *Array[T], relative T) error {
	s, n, m, err := dims("Pinv", "c", c)
	if err == nil {
		err = checkShape("Pinv", "a", a, s, m, n)
	}
	if err != nil {
		return err
	}
	x, err := a.Download()
	if err != nil {
		return err
	}
	svd, err := linalg.FactorSVD(x, linalg.On(s))
	if err != nil {
		return err
	}
	unit := linalg.NewMatrix[T](m, m, nil)
	for i := range m {
		unit.Set(i, i, 1)
	}
	if x, err = svd.Solve(unit, relative); err != nil {
		return err
	}
	return c.CopyFrom(x)
}

// EigenvaluesSym makes c, a row or a column, the eigenvalues of a symmetric a, of whose lower
// triangle they are, in ascending order: [linalg.EigenvaluesSym].
func EigenvaluesSym[T Float](c, a *Array[T]) error {
	s, rows, cols, err := dims("EigenvaluesSym", "a", a)
	switch {
	case err != nil:
		return err
	case rows != cols:
		return fmt.Errorf("%w: EigenvaluesSym: a is %s, and must be square", linalg.ErrShape, a)
	}
	return values("EigenvaluesSym", c, a, s, rows, linalg.EigenvaluesSym[T])
}

// SingularValues makes c, a row or a column, the singular values of a, in descending order:
// [linalg.SingularValues].
func SingularValues[T Float](c, a *Array[T]) error {
	s, rows, cols, err := dims("SingularValues", "a", a)
	if err != nil {
		return err
	}
	return values("SingularValues", c, a, s, min(rows, cols), linalg.SingularValues[T])
}

// values makes c the n numbers that f finds for a.
func values[T Float](op string, c, a *Array[T], s *linalg.Session, n int,
	f func(linalg.Matrix[T], ...linalg.Option) ([]T, error),
) error {
	if err := checkLength(op, "c", c, s, n); err != nil {
		return err
	}
	m, err := a.Download()
	if err != nil {
		return err
	}
	x, err := f(m, linalg.On(s))
	if err != nil {
		return err
	}
	rows, cols := c.Dims()
	return c.CopyFrom(linalg.NewMatrix(rows, cols, x))
}

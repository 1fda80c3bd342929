package linalg

import (
	"errors"
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/solve"
)

var (
	// ErrShape: the dimensions, the stride or the data of a matrix do not fit, by themselves or to
	// each other.
	ErrShape = errors.New("linalg: shape")
	// ErrOverlap: the destination shares elements with a source, and the result would depend on the
	// order of the work.
	ErrOverlap = errors.New("linalg: destination overlaps a source")
	// ErrSingular: a pivot is 0, so that there is no solution, or more than one.
	ErrSingular = errors.New("linalg: singular matrix")
	// ErrNotConverged: the iteration for eigenvalues or singular values did not end.
	ErrNotConverged = errors.New("linalg: not converged")
	// ErrOverflow: a result has numbers beyond its type, though all that it is made of are finite.
	ErrOverflow = errors.New("linalg: overflow")
	// ErrNotPositiveDefinite: the matrix has no Cholesky factorization.
	ErrNotPositiveDefinite = errors.New("linalg: matrix is not positive definite")
)

// factorError is err, which a solver returned for what of a.
func factorError[T Float](err error, what string, a Matrix[T]) error {
	if errors.Is(err, solve.ErrNotConverged) {
		return fmt.Errorf("%w: the iteration for the %s of %s did not end", ErrNotConverged, what, a)
	}
	return err
}

// finite is a solution x, or ErrOverflow where it has NaN or infinities, and nothing of what it is
// made of has.
func finite[T Float](x Matrix[T], of ...Matrix[T]) (Matrix[T], error) {
	if isFinite(x) {
		return x, nil
	}
	for _, m := range of {
		if !isFinite(m) {
			return x, nil
		}
	}
	return Matrix[T]{}, fmt.Errorf("%w: numbers of a solution of %s, or on the way to it, are beyond %T; "+
		"scale the matrix and the right side", ErrOverflow, x, T(0))
}

func isFinite[T Float](m Matrix[T]) bool {
	var nothing T // or NaN
	for i := range m.Rows {
		for _, v := range m.Row(i) {
			nothing += v * 0
		}
	}
	return nothing == 0
}

func errClosed(what string) error {
	return &backend.Error{Op: "linalg", Err: backend.ErrClosed, Detail: what}
}

func errArgument(what string) error {
	return &backend.Error{Op: "linalg", Err: backend.ErrArgument, Detail: what}
}

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

func errClosed(what string) error {
	return &backend.Error{Op: "linalg", Err: backend.ErrClosed, Detail: what}
}

func errArgument(what string) error {
	return &backend.Error{Op: "linalg", Err: backend.ErrArgument, Detail: what}
}

package linalg

import (
	"errors"

	"github.com/tandem-gpu/tandem/backend"
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
	// ErrNotPositiveDefinite: the matrix has no Cholesky factorization.
	ErrNotPositiveDefinite = errors.New("linalg: matrix is not positive definite")
)

func errClosed(what string) error {
	return &backend.Error{Op: "linalg", Err: backend.ErrClosed, Detail: what}
}

func errArgument(what string) error {
	return &backend.Error{Op: "linalg", Err: backend.ErrArgument, Detail: what}
}

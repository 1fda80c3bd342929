// Package solve factors matrices and solves by them on the host: triangles, LU, Cholesky, QR,
// symmetric eigenvalues, singular values, their inverses and condition numbers, by the definitions
// of docs/contract.md.
//
// In LU and Cholesky every element is one chain of fused multiply-adds, so that a chain may be cut
// anywhere and go on: what is left of the chains of many elements at once is a product that starts
// from C. Where the cuts are changes no bits. The functions divide by halves, so that nearly all of
// the work is in large products, which may run elsewhere.
//
// A matrix is row-major with a leading dimension, as in package host. Functions trust their
// arguments. Factors overwrite the matrix.
package solve

import (
	"errors"

	"github.com/tandem-gpu/tandem/internal/host"
)

// ErrNotConverged is of an iteration for eigenvalues or singular values that does not end, or that
// has no numbers to begin with.
var ErrNotConverged = errors.New("not converged")

// A Solver factors and solves. The zero value computes on the host. It is safe for concurrent use
// if Update is.
type Solver[T host.Float] struct {
	// Update is C = C + A*B, or with negate C - A*B, for C of m by n and A of m by k, in chains
	// that start from C: host.Update, which nil stands for. An error of it ends the work and leaves
	// undefined what was to be overwritten.
	Update func(negate bool, m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int) error

	// AtOnce tells whether the host is to do half of a product of m by n with k steps at once: a
	// solution by a triangle, or the triangle of a square. Else parts of it go to Update. Where
	// AtOnce is nil the host does if Update is nil. An error ends the work.
	AtOnce func(m, n, k int) (bool, error)

	// Remote calls f with a matrix of m by n in the memory of a device, for k reflectors. It is
	// false where the host is to do what f does.
	Remote func(m, n, k int, f func(r Remote[T]) error) (done bool, err error)

	// Reduce calls f with a copy of A, of m by n and perhaps symmetric, of which all is left, in
	// the memory of a device. It is false where the host is to do what f does.
	Reduce func(symmetric bool, m, n int, a []float64, lda int, f func(r Reduction) error) (done bool, err error)
}

func (s Solver[T]) update(negate bool, m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int) error {
	switch {
	case m == 0 || n == 0 || k == 0:
	case s.Update != nil:
		return s.Update(negate, m, n, k, a, lda, b, ldb, c, ldc)
	default:
		host.Update(negate, m, n, k, a, lda, b, ldb, c, ldc)
	}
	return nil
}

// Half is where n rows are divided: at a multiple of block near their middle.
func Half(n, block int) int { return (n/2 + block - 1) / block * block }

func (s Solver[T]) atOnce(m, n, k int) (bool, error) {
	if s.AtOnce == nil {
		return s.Update == nil, nil
	}
	return s.AtOnce(m, n, k)
}

package linalg

import (
	"fmt"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/solve"
)

// An EigSym is the eigenvalues and eigenvectors of a symmetric matrix: A*V = V*W for orthogonal V
// and diagonal W. A reduction to tridiagonal form, implicit QL, and divide and conquer for vectors
// of more than 32 values make it, in float64 also where A is of float32, as docs/contract.md
// defines: so its bits, signs of vectors too, depend on nothing but those of A. It is read only,
// and safe for concurrent use.
type EigSym[T Float] struct {
	values  []T
	vectors Matrix[T]
}

// FactorEigSym is the eigenvalues and eigenvectors of A. Of A, which stays as it is, the lower
// triangle alone is read. Where that has NaN or infinities, all results are NaN. The error is
// ErrShape where A is not square, and ErrNotConverged as for [FactorSVD]. A value beyond the type
// is infinite.
func FactorEigSym[T Float](a Matrix[T], opts ...Option) (*EigSym[T], error) {
	return eigSym("FactorEigSym", true, a, opts)
}

// EigenvaluesSym is the eigenvalues of [FactorEigSym] alone, with the same bits, in ascending
// order, in less time.
func EigenvaluesSym[T Float](a Matrix[T], opts ...Option) ([]T, error) {
	f, err := eigSym("EigenvaluesSym", false, a, opts)
	if err != nil {
		return nil, err
	}
	return f.values, nil
}

// eigSym is FactorEigSym, or without vectors the values alone.
func eigSym[T Float](op string, vectors bool, a Matrix[T], opts []Option) (*EigSym[T], error) {
	if a.Rows != a.Cols {
		return nil, fmt.Errorf("%w: the eigenvalues of %s, which is not square", ErrShape, a)
	}
	o, v, err := begin(op, a, opts)
	if err != nil {
		return nil, err
	}
	n, steps := a.Rows, 2.0/3
	if vectors {
		steps = 2
	}
	x, w, size := converted[float64](v), make([]float64, n), float64(n)
	_, err = solve.EigSym(solver[float64](o.ctx, o.s, steps*size*size*size), vectors, true, n, x.Data, max(n, 1), w)
	if err := ended(o.ctx, err); err != nil {
		return nil, factorError(err, "eigenvalues", a)
	}
	f := &EigSym[T]{values: make([]T, n), vectors: v}
	roundTo(f.values, w)
	roundTo(v.Data, x.Data)
	return f, nil
}

// Values is the eigenvalues in ascending order. It shares memory with f.
func (f *EigSym[T]) Values() []T { return f.values }

// Vectors is the eigenvectors: column i belongs to value i. It shares memory with f.
func (f *EigSym[T]) Vectors() Matrix[T] { return f.vectors }

// converted is a packed matrix in type D: of that type itself.
func converted[D, S Float](a Matrix[S]) Matrix[D] {
	if same, ok := any(a).(Matrix[D]); ok {
		return same
	}
	d := NewMatrix[D](a.Rows, a.Cols, nil)
	roundTo(d.Data, a.Data)
	return d
}

// roundTo makes dst the numbers of src.
func roundTo[D, S host.Float](dst []D, src []S) {
	for i, v := range src {
		dst[i] = D(v)
	}
}

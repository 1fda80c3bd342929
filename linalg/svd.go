package linalg

import (
	"fmt"
	"math"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/solve"
)

// An SVD is a factorization A = U*S*Vᵀ of a matrix of m by n, where S is diagonal, and the columns
// of U and V are orthogonal and of length 1. A reduction to bidiagonal form, implicit QR, and
// divide and conquer for vectors of more than 32 values make it, in float64 also where A is of
// float32, as docs/contract.md defines: so its bits, signs of vectors too, depend on nothing but
// those of A. It is read only, and safe for concurrent use.
type SVD[T Float] struct {
	values []T
	u, vt  Matrix[T]
}

// FactorSVD is the singular value decomposition of A. A stays as it is; it may have any shape.
// Where it has NaN or infinities, all results are NaN. The error is ErrNotConverged where the
// iteration does not end, which no finite matrix is known for. A value beyond the type is +Inf.
func FactorSVD[T Float](a Matrix[T], opts ...Option) (*SVD[T], error) {
	var u, vt Matrix[float64]
	values, err := svd("FactorSVD", a, opts, 4, func(m, n, k int) solve.SingularVectors {
		u, vt = NewMatrix[float64](m, k, nil), NewMatrix[float64](k, n, nil)
		return solve.SingularVectors{U: u.Data, Cols: k, LdU: max(k, 1), VT: vt.Data, Rows: k, LdVT: max(n, 1)}
	})
	if err != nil {
		return nil, err
	}
	return &SVD[T]{values: values, u: converted[T](u), vt: converted[T](vt)}, nil
}

// SingularValues is the singular values of [FactorSVD] alone, with the same bits, in descending
// order, in less time.
func SingularValues[T Float](a Matrix[T], opts ...Option) ([]T, error) {
	return svd("SingularValues", a, opts, 4.0/3, func(_, _, _ int) (none solve.SingularVectors) { return none })
}

// svd is the singular values of A, and makes its vectors what vectors gives for m by n with k
// values. work is the multiplications as times the square of the smaller dimension and the larger
// one.
func svd[T Float](op string, a Matrix[T], opts []Option, work float64,
	vectors func(m, n, k int) solve.SingularVectors,
) ([]T, error) {
	o, c, err := begin(op, a, opts)
	if err != nil {
		return nil, err
	}
	m, n, k := a.Rows, a.Cols, min(a.Rows, a.Cols)
	values, small, large := make([]float64, k), float64(k), float64(max(m, n))
	_, err = solve.SVD(solver[float64](o.ctx, o.s, work*small*small*large), m, n, converted[float64](c).Data, max(n, 1),
		values, vectors(m, n, k))
	if err := ended(o.ctx, err); err != nil {
		return nil, factorError(err, "singular values", a)
	}
	rounded := make([]T, k)
	roundTo(rounded, values)
	return rounded, nil
}

// Values is the singular values, min(m, n) of them, in descending order. It shares memory with f.
func (f *SVD[T]) Values() []T { return f.values }

// U is the left singular vectors, in min(m, n) columns. It shares memory with f.
func (f *SVD[T]) U() Matrix[T] { return f.u }

// VT is the right singular vectors, in min(m, n) rows. It shares memory with f.
func (f *SVD[T]) VT() Matrix[T] { return f.vt }

// Rank is the number of singular values above relative times the largest. Where relative is 0 it is
// max(m, n) units in the last place of 1, which is what rounding leaves of a zero. Of a largest one
// beyond the type the largest number of the type stands for it.
func (f *SVD[T]) Rank(relative T) int {
	ulp, most := T(0x1p-52), math.MaxFloat64
	if _, single := any(ulp).(float32); single {
		ulp, most = 0x1p-23, math.MaxFloat32
	}
	if relative == 0 {
		relative = T(max(f.u.Rows, f.vt.Cols)) * ulp
	}
	for i, v := range f.values {
		if !(v > relative*min(f.values[0], T(most))) {
			return i
		}
	}
	return len(f.values)
}

// Cond is the condition number of A in the 2-norm: the largest singular value over the smallest,
// which may be +Inf, and 1 where there is none, or all are beyond the type.
func (f *SVD[T]) Cond() T {
	n := len(f.values)
	switch {
	case n == 0 || math.IsInf(float64(f.values[n-1]), 1):
		return 1
	case f.values[n-1] == 0:
		return T(math.Inf(1))
	}
	return f.values[0] / f.values[n-1]
}

// Solve is the X of which each column makes the norm of that of A*X - B the smallest, and is itself
// the smallest such: V times the inverse of S times UᵀB, where only the first Rank(relative)
// singular values count. It is packed and new. The error is ErrShape where B has other rows than A,
// backend.ErrArgument where relative is negative or NaN, and ErrOverflow where the largest singular
// value, X, or a number on the way to it is beyond the type. Subnormal singular values have lost
// digits, and X with them: scale such a matrix. Where A has NaN or infinities X is NaN.
func (f *SVD[T]) Solve(b Matrix[T], relative T) (Matrix[T], error) {
	if err := checkRightSide(f.u.Rows, f.vt.Cols, b); err != nil {
		return Matrix[T]{}, err
	}
	if !(relative >= 0) {
		return Matrix[T]{}, errArgument(fmt.Sprintf("SVD.Solve: relative is %v, and must be 0 or more", relative))
	}
	if len(f.values) > 0 && math.IsInf(float64(f.values[0]), 1) {
		return Matrix[T]{}, fmt.Errorf("%w: the largest singular value is beyond %T; scale the matrix", ErrOverflow,
			relative)
	}
	rank, x := f.Rank(relative), NewMatrix[T](f.vt.Cols, b.Cols, nil)
	if n := len(f.values); n > 0 && f.values[0] != f.values[0] {
		rank = n // so that NaN come through
	}
	y := NewMatrix[T](rank, b.Cols, nil)
	if rank == 0 || b.Cols == 0 {
		return x, nil
	}
	multiplyColumns(f.u, b, y)
	for i := range rank {
		row := y.Row(i)
		for j := range row {
			row[j] /= f.values[i]
		}
	}
	host.GemmTrans(true, false, x.Rows, x.Cols, rank, 1, f.vt.Data, f.vt.Stride, y.Data, y.Stride, 0, x.Data, x.Stride)
	return finite(x, b, f.u)
}

// multiplyColumns makes c the product of the first columns of a, transposed, and b: sums over rows
// as QR has them, as the errors of one chain over many rows add up.
func multiplyColumns[T Float](a, b, c Matrix[T]) {
	beta := T(0)
	for i := 0; i < b.Rows; i += solve.PieceRows {
		k := min(solve.PieceRows, b.Rows-i)
		host.GemmTrans(true, false, c.Rows, c.Cols, k, 1, a.Data[i*a.Stride:], a.Stride, b.Data[i*b.Stride:], b.Stride,
			beta, c.Data, c.Stride)
		beta = 1
	}
}

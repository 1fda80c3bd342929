package gonumblas

import (
	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

// triangleBlock is the rows of a triangular matrix that are not divided any more. The bits of trmm
// and trsm depend on it.
const triangleBlock = host.MaxTriangle

// half is where a matrix of n rows is divided: at a multiple of the block near its middle.
func half(n, block int) int { return (n/2 + block - 1) / block * block }

// A triangle is op(A) for a triangular matrix A at one side of B. Nothing but A's triangle is read,
// and with unit not the diagonal either.
//
// It is seen as a matrix E at the left side of the columns of B, which is its transpose at the
// right side of B's rows: E is A, or with transposed Aᵀ. What is said below of rows and columns of
// B is meant for a matrix at the left side.
type triangle[T float] struct {
	linalg.Matrix[T]      // A
	left             bool // the side of B
	transposed       bool // E is Aᵀ
	lower            bool // E is
	unit             bool
}

// triangular is trmm, B = alpha*op(A)*B or alpha*B*op(A), or with solve trsm, which makes B the
// solution X of op(A)*X = alpha*B or of X*op(A) = alpha*B.
func triangular[T float](e *engine, solve bool, s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int,
	alpha T, a []T, lda int, b []T, ldb int,
) {
	left := s == blas.Left
	transposed := (tA != blas.NoTrans) == left
	lower := (ul == blas.Lower) != transposed
	k := order(s, m, n)
	switch {
	case alpha == 0: // A is not read
		host.Gemm(m, n, 0, alpha, nil, 0, nil, n, 0, b, ldb)
		return
	case k <= triangleBlock:
		row, col := lda, 1
		if transposed {
			row, col = col, row
		}
		host.ApplyTriangle(solve, left, k, m+n-k, alpha, a, row, col, !lower, d == blas.Unit, b, ldb)
		return
	}
	t := triangle[T]{
		Matrix: matrix(k, k, a, lda), left: left, transposed: transposed, lower: lower, unit: d == blas.Unit,
	}
	if solve {
		t.solve(e, alpha, matrix(m, n, b, ldb))
	} else {
		t.multiply(e, alpha, matrix(m, n, b, ldb))
	}
}

// halves divides the triangle and B: the rows of B that belong to first make do with first, those
// of second need off times those of first as well. off is a part of A.
func (t triangle[T]) halves(
	b linalg.Matrix[T],
) (first triangle[T], b1 linalg.Matrix[T], second triangle[T], b2, off linalg.Matrix[T]) {
	n := t.Rows
	h := half(n, triangleBlock)
	first, second = t, t
	first.Matrix, second.Matrix = t.Slice(0, h, 0, h), t.Slice(h, n, h, n)
	b1, b2 = t.rows(b, 0, h), t.rows(b, h, n)
	if t.lower == t.transposed { // A is upper triangular
		off = t.Slice(0, h, h, n)
	} else {
		off = t.Slice(h, n, 0, h)
	}
	if t.lower {
		return first, b1, second, b2, off
	}
	return second, b2, first, b1, off
}

// rows is the part of B that the rows i to k-1 of E belong to.
func (t triangle[T]) rows(b linalg.Matrix[T], i, k int) linalg.Matrix[T] {
	if t.left {
		return b.Slice(i, k, 0, b.Cols)
	}
	return b.Slice(0, b.Rows, i, k)
}

// update is B2 = alpha*off*B1 + beta*B2.
func (t triangle[T]) update(e *engine, alpha T, off, b1 linalg.Matrix[T], beta T, b2 linalg.Matrix[T]) {
	switch {
	case t.left && t.transposed:
		gemm(e, alpha, blas.Trans, off, blas.NoTrans, b1, beta, b2)
	case t.left:
		gemm(e, alpha, blas.NoTrans, off, blas.NoTrans, b1, beta, b2)
	case t.transposed:
		gemm(e, alpha, blas.NoTrans, b1, blas.NoTrans, off, beta, b2)
	default:
		gemm(e, alpha, blas.NoTrans, b1, blas.Trans, off, beta, b2)
	}
}

// multiply is B = alpha*E*B.
func (t triangle[T]) multiply(e *engine, alpha T, b linalg.Matrix[T]) {
	if t.Rows <= triangleBlock {
		t.leaf(false, alpha, b)
		return
	}
	first, b1, second, b2, off := t.halves(b)
	second.multiply(e, alpha, b2)
	t.update(e, alpha, off, b1, 1, b2)
	first.multiply(e, alpha, b1)
}

// solve makes B the solution X of E*X = alpha*B.
func (t triangle[T]) solve(e *engine, alpha T, b linalg.Matrix[T]) {
	if t.Rows <= triangleBlock {
		t.leaf(true, alpha, b)
		return
	}
	first, b1, second, b2, off := t.halves(b)
	first.solve(e, alpha, b1)
	t.update(e, -1, off, b1, alpha, b2)
	second.solve(e, 1, b2)
}

// leaf is multiply, or with solve solve, for a triangle that is not divided any more.
func (t triangle[T]) leaf(solve bool, alpha T, b linalg.Matrix[T]) {
	row, col, columns := t.Stride, 1, b.Cols
	if t.transposed {
		row, col = col, row
	}
	if !t.left {
		columns = b.Rows
	}
	host.ApplyTriangle(solve, t.left, t.Rows, columns, alpha, t.Data, row, col, !t.lower, t.unit, b.Data, b.Stride)
}

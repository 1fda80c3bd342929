package gonumblas

import (
	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

// A triangle is op(A) for a triangular matrix A at one side of B. Nothing but A's triangle is read, and with unit not the diagonal either.
//
// It is seen as a matrix E at the left side of the columns of B, which is its transpose at the right side of B's rows: E is A, or with
// transposed Aᵀ. What is said below of rows and columns of B is meant for a matrix at the left side.
type triangle[T float] struct {
	linalg.Matrix[T]      // A
	left             bool // the side of B
	transposed       bool // E is Aᵀ
	lower            bool // E is
	unit             bool
}

func triangleOf[T float](left, lower, trans, unit bool, a linalg.Matrix[T]) triangle[T] {
	transposed := trans == left
	return triangle[T]{Matrix: a, left: left, transposed: transposed, lower: lower != transposed, unit: unit}
}

// trmm is B = alpha*op(A)*B, or alpha*B*op(A).
func trmm[T float](e *engine, left, lower, trans, unit bool, alpha T, a, b linalg.Matrix[T]) {
	if alpha == 0 { // A is not read
		clearMatrix(b)
		return
	}
	triangleOf(left, lower, trans, unit, a).multiply(e, alpha, b)
}

// trsm makes B the solution X of op(A)*X = alpha*B, or of X*op(A) = alpha*B.
func trsm[T float](e *engine, left, lower, trans, unit bool, alpha T, a, b linalg.Matrix[T]) {
	if alpha == 0 { // A is not read
		clearMatrix(b)
		return
	}
	triangleOf(left, lower, trans, unit, a).solve(e, alpha, b)
}

func clearMatrix[T float](m linalg.Matrix[T]) {
	for i := range m.Rows {
		clear(m.Row(i))
	}
}

// halves divides the triangle and B: the rows of B that belong to first make do with first, those of second need off times those of first
// as well. off is a part of A.
func (t triangle[T]) halves(b linalg.Matrix[T]) (first triangle[T], b1 linalg.Matrix[T], second triangle[T], b2, off linalg.Matrix[T]) {
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

// leafRows is how many rows of B are transposed at a time where the triangle is at the right side.
const leafRows = 64

// leaf is multiply, or with solve solve, for a triangle that is not divided any more. Package host wants it at the left side of B.
func (t triangle[T]) leaf(solve bool, alpha T, b linalg.Matrix[T]) {
	apply := host.MultiplyTriangle[T]
	if solve {
		apply = host.SolveTriangle[T]
	}
	row, col := t.Stride, 1
	if t.transposed {
		row, col = col, row
	}
	if t.left {
		apply(t.Rows, b.Cols, alpha, t.Data, row, col, !t.lower, t.unit, b.Data, b.Stride)
		return
	}
	if b.Rows == 1 { // its transpose lies in memory as it does
		if e, ok := any(t.Data).([]float64); ok {
			column64(solve, !t.lower, t.unit, t.Rows, float64(alpha), e, row, col, any(b.Data).([]float64), 1)
			return
		}
		apply(t.Rows, 1, alpha, t.Data, row, col, !t.lower, t.unit, b.Data, 1)
		return
	}
	x, memory := scratch[T](t.Rows, min(leafRows, b.Rows))
	for i := 0; i < b.Rows; i += leafRows {
		part := b.Slice(i, min(i+leafRows, b.Rows), 0, b.Cols)
		x.Cols = part.Rows
		transpose(part, x)
		apply(t.Rows, x.Cols, alpha, t.Data, row, col, !t.lower, t.unit, x.Data, x.Stride)
		transpose(x, part)
	}
	give(memory)
}

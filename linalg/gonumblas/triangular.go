package gonumblas

import (
	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/linalg"
)

// trmm is B = alpha*op(A)*B, or alpha*B*op(A).
func trmm[T float](e *engine, left, lower, trans, unit bool, alpha T, a, b linalg.Matrix[T]) {
	fromLeft(left, lower, trans, unit, alpha, a, b, func(t triangle[T], b linalg.Matrix[T]) { t.multiply(e, alpha, b) })
}

// trsm makes B the solution X of op(A)*X = alpha*B, or of X*op(A) = alpha*B.
func trsm[T float](e *engine, left, lower, trans, unit bool, alpha T, a, b linalg.Matrix[T]) {
	fromLeft(left, lower, trans, unit, alpha, a, b, func(t triangle[T], b linalg.Matrix[T]) { t.solve(e, alpha, b) })
}

// fromLeft calls f to change B by a triangle at its left side. One at the right side is at the left of B's transpose.
func fromLeft[T float](left, lower, trans, unit bool, alpha T, a, b linalg.Matrix[T], f func(t triangle[T], b linalg.Matrix[T])) {
	if alpha == 0 { // A is not read
		for i := range b.Rows {
			clear(b.Row(i))
		}
		return
	}
	t := triangle[T]{Matrix: a, lower: lower, unit: unit}
	if trans == left {
		transposed, memory := scratch[T](a.Rows, a.Cols)
		defer give(memory)
		transposeTriangle(lower, unit, a, transposed)
		t.Matrix, t.lower = transposed, !lower
	}
	if left {
		f(t, b)
		return
	}
	transposed, memory := scratch[T](b.Cols, b.Rows)
	defer give(memory)
	transpose(b, transposed)
	f(t, transposed)
	transpose(transposed, b)
}

// A triangle is a triangular matrix. Nothing but its triangle is read, and with unit not the diagonal either.
type triangle[T float] struct {
	linalg.Matrix[T]
	lower, unit bool
}

func (t triangle[T]) block(i, k int) triangle[T] {
	return triangle[T]{Matrix: t.Slice(i, k, i, k), lower: t.lower, unit: t.unit}
}

// halves divides the triangle and B: the rows of B that belong to first make do with first, those of second need off times those of first
// as well.
func (t triangle[T]) halves(b linalg.Matrix[T]) (first triangle[T], b1 linalg.Matrix[T], second triangle[T], b2, off linalg.Matrix[T]) {
	n := t.Rows
	h := half(n, triangleBlock)
	first, b1 = t.block(0, h), b.Slice(0, h, 0, b.Cols)
	second, b2 = t.block(h, n), b.Slice(h, n, 0, b.Cols)
	if t.lower {
		return first, b1, second, b2, t.Slice(h, n, 0, h)
	}
	return second, b2, first, b1, t.Slice(0, h, h, n)
}

// multiply is B = alpha*A*B.
func (t triangle[T]) multiply(e *engine, alpha T, b linalg.Matrix[T]) {
	if t.Rows <= triangleBlock {
		t.multiplyBlock(alpha, b)
		return
	}
	first, b1, second, b2, off := t.halves(b)
	second.multiply(e, alpha, b2)
	gemm(e, alpha, blas.NoTrans, off, blas.NoTrans, b1, 1, b2)
	first.multiply(e, alpha, b1)
}

// solve makes B the solution X of A*X = alpha*B.
func (t triangle[T]) solve(e *engine, alpha T, b linalg.Matrix[T]) {
	if t.Rows <= triangleBlock {
		t.solveBlock(alpha, b)
		return
	}
	first, b1, second, b2, off := t.halves(b)
	first.solve(e, alpha, b1)
	gemm(e, -1, blas.NoTrans, off, blas.NoTrans, b1, alpha, b2)
	second.solve(e, 1, b2)
}

// multiplyBlock is multiply without blocks. In row i of B it sums a[i,i]*b[i] first, then a[i,k]*b[k] by ascending k, and multiplies the
// sum by alpha. Every product and every sum is rounded on its own.
func (t triangle[T]) multiplyBlock(alpha T, b linalg.Matrix[T]) {
	for p := range t.Rows {
		i := p // a row is done before those that it needs
		if t.lower {
			i = t.Rows - 1 - p
		}
		row := b.Row(i)
		if !t.unit {
			scale(t.At(i, i), row)
		}
		t.addOthers(i, 1, b)
		scale(alpha, row)
	}
}

// solveBlock is solve without blocks: substitution. From alpha*b[i] it takes a[i,k]*x[k] by ascending k, and divides by a[i,i]. Every step
// is rounded on its own.
func (t triangle[T]) solveBlock(alpha T, b linalg.Matrix[T]) {
	for p := range t.Rows {
		i := p // a row is done after those that it needs
		if !t.lower {
			i = t.Rows - 1 - p
		}
		row := b.Row(i)
		scale(alpha, row)
		t.addOthers(i, -1, b)
		if t.unit {
			continue
		}
		d := t.At(i, i)
		for j := range row {
			row[j] /= d
		}
	}
}

// addOthers adds sign*a[i,k]*b[k] to row i of B, for each k beside the diagonal. Four rows at a time save loads and stores.
func (t triangle[T]) addOthers(i int, sign T, b linalg.Matrix[T]) {
	k, end := i+1, t.Rows
	if t.lower {
		k, end = 0, i
	}
	a, y := t.Row(i), b.Row(i)
	for ; k+4 <= end; k += 4 {
		a0, a1, a2, a3 := sign*a[k], sign*a[k+1], sign*a[k+2], sign*a[k+3]
		x0, x1, x2, x3 := b.Row(k)[:len(y)], b.Row(k + 1)[:len(y)], b.Row(k + 2)[:len(y)], b.Row(k + 3)[:len(y)]
		for j, v := range y { // the conversions keep the compiler from fusing
			y[j] = v + T(a0*x0[j]) + T(a1*x1[j]) + T(a2*x2[j]) + T(a3*x3[j])
		}
	}
	for ; k < end; k++ {
		a, x := sign*a[k], b.Row(k)[:len(y)]
		for j, v := range x {
			y[j] += T(a * v)
		}
	}
}

func scale[T float](a T, x []T) {
	if a == 1 {
		return
	}
	for i := range x {
		x[i] *= a
	}
}

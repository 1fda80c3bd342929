package gonumblas

import (
	"gonum.org/v1/gonum/blas"

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
		var l leaf[T]
		l.take(t, b)
		l.multiply(alpha, b.Data)
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
		var l leaf[T]
		l.take(t, b)
		l.solve(alpha, b.Data)
		return
	}
	first, b1, second, b2, off := t.halves(b)
	first.solve(e, alpha, b1)
	t.update(e, -1, off, b1, alpha, b2)
	second.solve(e, 1, b2)
}

// A leaf is a triangle that is not divided any more, and where its part of B is. It is a lower one: an upper one is turned around, its last
// row first.
type leaf[T float] struct {
	e               [triangleBlock * (triangleBlock + 1) / 2]T // its rows, each up to the diagonal
	n               int                                        // rows
	cols            int                                        // of B
	unit            bool
	at, row, column int // of B's first element, and the steps from there
}

// columns are some columns of a leaf's part of B. They are independent chains, that the processor works on at the same time.
type columns[T float] [triangleBlock][leafColumns]T

const leafColumns = 4

// take makes l the leaf of t and B.
func (l *leaf[T]) take(t triangle[T], b linalg.Matrix[T]) {
	l.n, l.unit, l.cols, l.row, l.column = t.Rows, t.unit, b.Cols, b.Stride, 1
	if !t.left {
		l.cols, l.row, l.column = b.Rows, 1, b.Stride
	}
	at, row, column := 0, t.Stride, 1 // of A
	if t.transposed {
		row, column = column, row
	}
	if !t.lower {
		at, row, column = (l.n-1)*(row+column), -row, -column
		l.at, l.row = (l.n-1)*l.row, -l.row
	}
	for i := range l.n {
		e := l.rowOf(i)
		for k := range e[:i] {
			e[k] = t.Data[at+i*row+k*column]
		}
		if !l.unit {
			e[i] = t.Data[at+i*(row+column)]
		}
	}
}

func (l *leaf[T]) rowOf(i int) []T { return l.e[i*(i+1)/2:][:i+1] }

// load is the columns from j on, and store puts them back.
func (l *leaf[T]) load(x *columns[T], b []T, j int) {
	w, step := min(leafColumns, l.cols-j), l.column
	for i := range l.n {
		x, b := &x[i], b[l.at+i*l.row+j*step:]
		if w == leafColumns {
			x[0], x[1], x[2], x[3] = b[0], b[step], b[2*step], b[3*step]
			continue
		}
		for c := range w {
			x[c] = b[c*step]
		}
	}
}

func (l *leaf[T]) store(x *columns[T], b []T, j int) {
	w, step := min(leafColumns, l.cols-j), l.column
	for i := range l.n {
		x, b := &x[i], b[l.at+i*l.row+j*step:]
		if w == leafColumns {
			b[0], b[step], b[2*step], b[3*step] = x[0], x[1], x[2], x[3]
			continue
		}
		for c := range w {
			b[c*step] = x[c]
		}
	}
}

// multiply is B = alpha*E*B: row i is the sum of e[i,i]*b[i] and, by ascending k, of e[i,k]*b[k], multiplied by alpha. Every product and every
// sum is rounded on its own.
func (l *leaf[T]) multiply(alpha T, b []T) {
	var x columns[T]
	for j := 0; j < l.cols; j += leafColumns {
		l.load(&x, b, j)
		for i := l.n - 1; i >= 0; i-- {
			e := l.rowOf(i)
			r := &x[i]
			y0, y1, y2, y3 := r[0], r[1], r[2], r[3]
			if !l.unit { // the conversions keep the compiler from fusing
				d := e[i]
				y0, y1, y2, y3 = T(y0*d), T(y1*d), T(y2*d), T(y3*d)
			}
			for k, a := range e[:i] {
				v := &x[k]
				y0, y1, y2, y3 = y0+T(a*v[0]), y1+T(a*v[1]), y2+T(a*v[2]), y3+T(a*v[3])
			}
			*r = [leafColumns]T{alpha * y0, alpha * y1, alpha * y2, alpha * y3}
		}
		l.store(&x, b, j)
	}
}

// solve makes B the solution of E*X = alpha*B: from alpha*b[i] it takes e[i,k]*x[k] by ascending k, and divides by e[i,i]. Every step is rounded
// on its own.
func (l *leaf[T]) solve(alpha T, b []T) {
	var x columns[T]
	for j := 0; j < l.cols; j += leafColumns {
		l.load(&x, b, j)
		for i := range l.n {
			e, r := l.rowOf(i), &x[i]
			y0, y1, y2, y3 := T(alpha*r[0]), T(alpha*r[1]), T(alpha*r[2]), T(alpha*r[3])
			for k, a := range e[:i] {
				v := &x[k]
				y0, y1, y2, y3 = y0-T(a*v[0]), y1-T(a*v[1]), y2-T(a*v[2]), y3-T(a*v[3])
			}
			if !l.unit {
				d := e[i]
				y0, y1, y2, y3 = y0/d, y1/d, y2/d, y3/d
			}
			*r = [leafColumns]T{y0, y1, y2, y3}
		}
		l.store(&x, b, j)
	}
}

package host

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/internal/parallel"
)

// Triangles of complex numbers, by the products of complex.go: results of which one triangle is
// kept, and products and solutions with a triangle.

// resultRows is the rows of a triangle that are not divided any more: its other half is computed,
// too.
const resultRows = 128

// middle divides rows lo to hi-1 at a multiple of unit.
func middle(lo, hi, unit int) int { return lo + roundUp((hi-lo)/2, unit) }

// triangle is [ComplexProduct.Compute] for one triangle.
func (p *ComplexProduct[T]) triangle(multiply RealProduct[T]) error {
	t := complexTriangle[T]{ComplexProduct: *p, multiply: multiply}
	if !p.readsFactors() {
		t.finishPart(0, p.N, nil)
		return nil
	}
	left, ldl, leftMemory := complexLeft(p.N, p.K, p.A)
	defer leftMemory.Give()
	rightMemory, right := Take[T](4 * p.K * p.N)
	defer rightMemory.Give()
	complexRight(p.K, p.N, signOf[T](p.A.Conj), p.B, right)
	t.left, t.ldl, t.right = left, ldl, right
	return t.run(0, p.N)
}

// A complexTriangle is a triangle of a product.
type complexTriangle[T Float] struct {
	ComplexProduct[T]
	left, right []T // n by 2k, with rows ldl apart; 2k by 2n, packed
	ldl         int
	multiply    RealProduct[T]
}

// run computes rows lo to hi-1 of the triangle in columns lo to hi-1.
func (t *complexTriangle[T]) run(lo, hi int) error {
	if hi-lo <= resultRows {
		memory, p := Take[T](2 * (hi - lo) * (hi - lo))
		defer memory.Give()
		if err := t.chains(lo, hi, lo, hi, p); err != nil {
			return err
		}
		t.finishPart(lo, hi, p)
		return nil
	}
	mid := middle(lo, hi, resultRows)
	if err := t.run(lo, mid); err != nil {
		return err
	}
	top, end, left, right := mid, hi, lo, mid
	if t.Part == UpperTriangle {
		top, end, left, right = lo, mid, mid, hi
	}
	memory, p := Take[T](2 * (end - top) * (right - left))
	defer memory.Give()
	if err := t.chains(top, end, left, right, p); err != nil {
		return err
	}
	complexFinish(end-top, right-left, t.Alpha, p, t.Beta, t.C[2*(top*t.StrideC+left):], t.StrideC)
	return t.run(mid, hi)
}

// chains makes p, packed, the chains of rows top to end-1 and columns left to right-1.
func (t *complexTriangle[T]) chains(top, end, left, right int, p []T) error {
	n := 2 * (right - left)
	return t.multiply(end-top, n, 2*t.K, 1, t.left[t.ldl*top:], t.ldl, t.right[2*left:], 2*t.N, 0, p, n)
}

// finishPart makes the triangle from rows and columns lo to hi-1 what their chains make of it, or
// without them beta times what it was.
func (t *complexTriangle[T]) finishPart(lo, hi int, p []T) {
	for i := range hi - lo {
		first, end := t.Part.row(i, hi-lo)
		row := p
		if p != nil {
			row = p[2*(i*(hi-lo)+first):]
		}
		complexFinish(1, end-first, t.Alpha, row, t.Beta, t.C[2*((lo+i)*t.StrideC+lo+first):], t.StrideC)
	}
}

// A ComplexOperand is a triangle of N by N complex numbers: the real part of element (i, k) is
// Data[i*Row+k*Col], and the imaginary part is behind it, with Conj negated. Nothing beside
// the triangle is read, nor with Unit the diagonal, which is then of ones.
type ComplexOperand[T Float] struct {
	N                 int
	Data              []T
	Row, Col          int // reals
	Upper, Conj, Unit bool

	start int
	signs [4]T // of the steps of a product or a solution
}

func (e *ComplexOperand[T]) at(i, k int) (re, im T) {
	x := e.Data[e.start+i*e.Row+k*e.Col:][:2]
	if e.Conj {
		return x[0], -x[1]
	}
	return x[0], x[1]
}

// inOrder turns an upper triangle that is to be solved round: in reverse order it is a lower one.
// It gives the first of the rows of B, which are step reals apart, and how far they are apart then.
func (e *ComplexOperand[T]) inOrder(solve bool, step int) (first, newStep int) {
	e.signs = complexSigns[T](solve, e.Conj, false)
	if !solve || !e.Upper {
		return 0, step
	}
	last := e.N - 1
	e.start, e.Row, e.Col, e.Upper = last*(e.Row+e.Col), -e.Row, -e.Col, false
	return last * step, -step
}

// ComplexTriangular makes B, whose element (i, j) is b[i*bRow+j*bCol] with the imaginary part
// behind it, of e.N by cols, alpha*E*B, or with solve the X of E*X = alpha*B. update continues the
// chains of Z, of m by n, by X*Y; it is not called for e.N up to [MaxTriangle].
func ComplexTriangular[T Float](solve bool, e ComplexOperand[T], cols int, alpha [2]T, b []T, bRow, bCol int,
	update func(m, n, k int, x []T, ldx int, y []T, ldy int, z []T, ldz int),
) {
	n := e.N
	first, bRow := e.inOrder(solve, bRow)
	switch {
	case cols <= complexFew || n <= MaxTriangle && cols <= MaxTriangle:
		e.apply(solve, cols, alpha, b, first, bRow, bCol)
		return
	case n <= MaxTriangle:
		whole := e // so that one of few columns needs no heap
		complexColumns[T](n, cols, func(j, w int) { whole.apply(solve, w, alpha, b[j*bCol:], first, bRow, bCol) })
		return
	}
	e.packed(solve, cols, alpha, b, first, bRow, bCol, update)
}

// packed is [ComplexTriangular] by products of packed factors.
func (e ComplexOperand[T]) packed(solve bool, cols int, alpha [2]T, b []T, first, bRow, bCol int,
	update func(m, n, k int, x []T, ldx int, y []T, ldy int, z []T, ldz int),
) {
	n := e.N
	size := 2*n*n + 4*n*cols
	if !solve {
		size += 2 * n * cols
	}
	s, memory := Take[T](size)
	defer s.Give()
	t := complexTriangular[T]{
		e: e, n: n, cols: cols, left: memory[:2*n*n], right: memory[2*n*n:][:4*n*cols], update: update,
	}
	t.packLeft(solve)
	for i := range n {
		t.packRow(i, solve, alpha, b, first+i*bRow, bCol)
	}
	from, ld := t.right, 4*cols
	if solve {
		t.solve(0, n)
	} else {
		from, ld = memory[size-2*n*cols:], 2*cols
		clear(from)
		t.acc = from
		t.multiply(0, n)
		complexFinish(n, cols, alpha, from, [2]T{}, from, cols)
	}
	for i := range n {
		complexRow[T]{b, first + i*bRow, bCol}.store(from[i*ld:][:2*cols])
	}
}

// complexColumns calls f for w columns from j on, some at a time, on all cores where rows by cols
// complex numbers are many.
func complexColumns[T Float](rows, cols int, f func(j, w int)) {
	const width = MaxTriangle
	if isSmall[T](rows, 2*cols) {
		for j := 0; j < cols; j += width {
			f(j, min(width, cols-j))
		}
		return
	}
	parallel.Do((cols+width-1)/width, func(i int) { f(i*width, min(width, cols-i*width)) })
}

// apply is [ComplexTriangular] in place, for at most [MaxTriangle] columns: row i of B begins at
// first+i*bRow, and e is in order.
func (e *ComplexOperand[T]) apply(solve bool, cols int, alpha [2]T, b []T, first, bRow, bCol int) {
	if solve {
		e.solve(cols, alpha, b, first, bRow, bCol)
	} else {
		e.multiply(cols, alpha, b, bRow, bCol)
	}
}

func (e *ComplexOperand[T]) solve(cols int, alpha [2]T, b []T, first, bRow, bCol int) {
	var few [2 * MaxTriangle]T
	x := few[:2*cols]
	for i := range e.N {
		row := complexRow[T]{b, first + i*bRow, bCol}
		if bCol == 2 {
			x = b[row.at:][:2*cols]
		} else {
			row.load(x)
		}
		scaleComplex(alpha, x)
		if i > 0 {
			addComplexRow(i, cols, &e.Data[e.start+i*e.Row], e.Col, &e.signs, &b[first], bRow, bCol, &x[0], false)
		}
		if !e.Unit {
			divideComplex(x, newDivisor(e.at(i, i)))
		}
		if bCol != 2 {
			row.store(x)
		}
	}
}

// multiply does the rows that others need last.
func (e *ComplexOperand[T]) multiply(cols int, alpha [2]T, b []T, bRow, bCol int) {
	var few [2 * MaxTriangle]T
	acc := few[:2*cols]
	for r := range e.N {
		i := r
		if !e.Upper {
			i = e.N - 1 - r
		}
		e.addRow(i, b, bRow, bCol, acc, true)
		scaleComplex(alpha, acc)
		complexRow[T]{b, i * bRow, bCol}.store(acc)
	}
}

// addRow goes on with the chains of row i of E*B, or with zero begins them.
func (e *ComplexOperand[T]) addRow(i int, b []T, bRow, bCol int, acc []T, zero bool) {
	row := complexRow[T]{b, i * bRow, bCol}
	lo, hi := triangleRow(!e.Upper, i, e.N)
	if e.Unit {
		if zero {
			clear(acc)
			zero = false
		}
		if e.Upper {
			row.add(acc)
			lo++
		} else {
			hi--
		}
	}
	if lo < hi {
		addComplexRow(hi-lo, len(acc)/2, &e.Data[e.start+i*e.Row+lo*e.Col], e.Col, &e.signs, &b[lo*bRow], bRow, bCol,
			&acc[0], zero)
	}
	if e.Unit && !e.Upper {
		row.add(acc)
	}
}

// A complexRow is complex numbers of which the first is data[at] and data[at+1], and the next step
// elements further on.
type complexRow[T Float] struct {
	data     []T
	at, step int
}

// load makes acc the row.
func (r complexRow[T]) load(acc []T) {
	at := r.at
	for j := 0; j+1 < len(acc); j += 2 {
		x := r.data[at:][:2]
		acc[j], acc[j+1] = x[0], x[1]
		at += r.step
	}
}

// add adds the row to acc.
func (r complexRow[T]) add(acc []T) {
	at := r.at
	for j := 0; j+1 < len(acc); j += 2 {
		x := r.data[at:][:2]
		acc[j] += x[0]
		acc[j+1] += x[1]
		at += r.step
	}
}

// store makes the row acc.
func (r complexRow[T]) store(acc []T) {
	at := r.at
	for j := 0; j+1 < len(acc); j += 2 {
		x := r.data[at:][:2]
		x[0], x[1] = acc[j], acc[j+1]
		at += r.step
	}
}

// scaleComplex multiplies complex numbers by alpha: part by part where that is real.
func scaleComplex[T Float](alpha [2]T, x []T) {
	switch {
	case alpha == [2]T{1}:
	case alpha[1] == 0:
		scaleRow(alpha[0], x)
	default:
		for j := 0; j+1 < len(x); j += 2 {
			x[j], x[j+1] = addComplexProduct(alpha, x[j], x[j+1], 0, 0)
		}
	}
}

// A complexTriangular works on packed factors: left is conj(E) as reals, for a solution -conj(E),
// and right has two rows for each of B or X, the row and -i times it.
type complexTriangular[T Float] struct {
	e           ComplexOperand[T] // in order
	n, cols     int
	left, right []T
	acc         []T // of a product
	update      func(m, n, k int, x []T, ldx int, y []T, ldy int, z []T, ldz int)
}

func (t *complexTriangular[T]) packLeft(negate bool) {
	for i := range t.n {
		lo, hi := triangleRow(!t.e.Upper, i, t.n)
		row := t.left[2*i*t.n:]
		for k := lo; k < hi; k++ {
			if k == i && t.e.Unit {
				continue
			}
			re, im := t.e.at(i, k)
			if negate {
				re, im = -re, -im
			}
			row[2*k], row[2*k+1] = re, -im
		}
	}
}

// packRow makes the rows of right for row i of b, or where it is to be solved alpha times the row.
func (t *complexTriangular[T]) packRow(i int, solve bool, alpha [2]T, b []T, at, step int) {
	x, _ := t.row(i)
	complexRow[T]{b, at, step}.load(x)
	if solve {
		scaleComplex(alpha, x)
	} else {
		t.turn(i, 0, len(x))
	}
}

// row is the two rows of right for row i.
func (t *complexTriangular[T]) row(i int) (x, y []T) {
	w := 2 * t.cols
	return t.right[2*i*w:][:w], t.right[(2*i+1)*w:][:w]
}

// turn makes elements lo to hi-1 of the second row for row i: -i times the first.
func (t *complexTriangular[T]) turn(i, lo, hi int) {
	x, y := t.row(i)
	turnComplex(-1, x[lo:hi], y[lo:hi])
}

// leaf is the part of E in rows and columns lo to hi-1.
func (t *complexTriangular[T]) leaf(lo, hi int) ComplexOperand[T] {
	e := t.e
	e.N, e.start = hi-lo, e.start+lo*(e.Row+e.Col)
	return e
}

// solve solves rows lo to hi-1: the first half, then what it gives to the second, then that.
func (t *complexTriangular[T]) solve(lo, hi int) {
	if hi-lo <= MaxTriangle {
		e, w := t.leaf(lo, hi), 2*t.cols
		complexColumns[T](e.N, t.cols, func(j, cols int) {
			e.solve(cols, [2]T{1}, t.right[2*(lo*w+j):], 0, 2*w, 2)
			for i := lo; i < hi; i++ {
				t.turn(i, 2*j, 2*(j+cols))
			}
		})
		return
	}
	mid, w := middle(lo, hi, MaxTriangle), 2*t.cols
	t.solve(lo, mid)
	t.add(mid, hi, lo, mid, t.right[2*mid*w:], 2*w)
	t.solve(mid, hi)
}

// add goes on with the chains of rows top to end-1, which acc begins with, by columns lo to hi-1 of
// E.
func (t *complexTriangular[T]) add(top, end, lo, hi int, acc []T, ld int) {
	w := 2 * t.cols
	t.update(end-top, w, 2*(hi-lo), t.left[2*(top*t.n+lo):], 2*t.n, t.right[2*lo*w:], w, acc, ld)
}

// multiply goes on with the chains of rows lo to hi-1 of acc, by ascending column of E.
func (t *complexTriangular[T]) multiply(lo, hi int) {
	if hi-lo <= MaxTriangle {
		e, w := t.leaf(lo, hi), 2*t.cols
		complexColumns[T](e.N, t.cols, func(j, cols int) {
			for i := range e.N {
				e.addRow(i, t.right[2*(lo*w+j):], 2*w, 2, t.acc[(lo+i)*w+2*j:][:2*cols], false)
			}
		})
		return
	}
	mid, w := middle(lo, hi, MaxTriangle), 2*t.cols
	t.multiply(lo, mid)
	if t.e.Upper {
		t.add(lo, mid, mid, hi, t.acc[lo*w:], w)
	} else {
		t.add(mid, hi, lo, mid, t.acc[mid*w:], w)
	}
	t.multiply(mid, hi)
}

// A divisor divides complex numbers by d (Smith, Algorithm 116, 1962): with ratio the smaller part
// of d over the larger one, and sum the larger part plus ratio times the smaller one, by fma. A
// real d divides both parts.
type divisor[T Float] struct {
	ratio, sum T
	kind       int8
}

const (
	realDivisor = iota
	wideDivisor // its real part is the larger one
	highDivisor
)

func newDivisor[T Float](re, im T) divisor[T] {
	switch {
	case im == 0:
		return divisor[T]{sum: re}
	case magnitudeBits(re) >= magnitudeBits(im):
		r := im / re
		return divisor[T]{r, FMA(im, r, re), wideDivisor}
	}
	r := re / im
	return divisor[T]{r, FMA(re, r, im), highDivisor}
}

// divideComplex divides complex numbers.
func divideComplex[T Float](x []T, d divisor[T]) {
	switch {
	case d.kind == realDivisor:
		for j := range x {
			x[j] /= d.sum
		}
	case hasVectors:
		factors := [6]T{d.ratio, -d.ratio, 1, 1, d.sum, d.sum}
		if d.kind == highDivisor {
			factors = [6]T{d.ratio, d.ratio, 1, -1, d.sum, d.sum}
		}
		complexDivideNative(len(x)/2, unsafe.Pointer(unsafe.SliceData(x)), unsafe.Pointer(&factors),
			d.kind == highDivisor, isFloat64[T]())
	default:
		for j := 0; j+1 < len(x); j += 2 {
			re, im := x[j], x[j+1]
			if d.kind == wideDivisor {
				re, im = FMA(d.ratio, im, re), FMA(-d.ratio, re, im)
			} else {
				re, im = FMA(d.ratio, re, im), FMA(d.ratio, im, -re)
			}
			x[j], x[j+1] = re/d.sum, im/d.sum
		}
	}
}

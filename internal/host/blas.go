package host

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/element"
)

// What BLAS has beside [Gemm] and the triangles: transposed operands, symmetric matrices, and
// results of which one triangle is kept.

// An Operand is op(X): X in memory or, with Trans, its transpose.
type Operand[T element.Element] struct {
	Data   []T
	Stride int
	Trans  bool
}

// steps are how far apart two rows and two columns of op(X) are in memory.
func (x *Operand[T]) steps() (row, col int) { return Steps(x.Trans, x.Stride) }

// GemmTrans is [Gemm] with op(A) and op(B) in the place of A and B: with transA A is k by m in
// memory, with transB B is n by k.
func GemmTrans[T element.Element](
	transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int,
) {
	check("C", m, n, ldc, len(c))
	if m == 0 || n == 0 {
		return
	}
	if alpha == 0 || k == 0 {
		scaleC(m, n, beta, c, ldc)
		return
	}
	checkOp("A", transA, m, k, lda, len(a))
	checkOp("B", transB, k, n, ldb, len(b))
	x, y := Operand[T]{a, lda, transA}, Operand[T]{b, ldb, transB}
	if isVector[T](m, n) {
		gemmVector(m, n, k, alpha, x, y, beta, c, ldc)
	} else {
		gemm(kernels[T]()[0], m, n, k, alpha, x, y, beta, c, ldc)
	}
}

// checkOp is check for an op(M) of rows by cols.
func checkOp(name string, trans bool, rows, cols, ld, n int) {
	if trans {
		rows, cols = cols, rows
	}
	check(name, rows, cols, ld, n)
}

// isVector tells whether C is a column or a row that [Gemv] computes faster than tiles.
func isVector[T element.Element](m, n int) bool {
	return (m == 1 || n == 1) && element.TypeOf[T]() != element.Int32
}

// gemmVector is [GemmTrans] where C is a column or a row of a floating type.
func gemmVector[T element.Element](m, n, k int, alpha T, a, b Operand[T], beta T, c []T, ldc int) {
	if isFloat64[T]() {
		x, y := operand[float64](a), operand[float64](b)
		gemmVectorOf(m, n, k, float64(alpha), x, y, float64(beta), slice[float64](c), ldc)
	} else {
		x, y := operand[float32](a), operand[float32](b)
		gemmVectorOf(m, n, k, float32(alpha), x, y, float32(beta), slice[float32](c), ldc)
	}
}

// operand is x, whose elements are of type U.
func operand[U, T element.Element](x Operand[T]) Operand[U] {
	return Operand[U]{slice[U](x.Data), x.Stride, x.Trans}
}

// slice is x, whose elements are of type U.
func slice[U, T element.Element](x []T) []U {
	return unsafe.Slice((*U)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

func gemmVectorOf[T Float](m, n, k int, alpha T, a, b Operand[T], beta T, c []T, ldc int) {
	if n == 1 {
		step, _ := b.steps()
		gemvSteps(a.Trans, m, k, alpha, a.Data, a.Stride, b.Data, step, beta, c, ldc)
		return
	}
	_, step := a.steps()
	gemvSteps(!b.Trans, n, k, alpha, b.Data, b.Stride, a.Data, step, beta, c, 1)
}

// gemvSteps is [Gemv] where op(A) is m by k, and the elements of x and y are so far apart.
func gemvSteps[T Float](
	trans bool, m, k int, alpha T, a []T, lda int, x []T, xStep int, beta T, y []T, yStep int,
) {
	rows, cols := m, k
	if trans {
		rows, cols = k, m
	}
	if xStep == 1 && yStep == 1 {
		Gemv(trans, rows, cols, alpha, a, lda, x, beta, y)
		return
	}
	s, memory := Take[T](elementsIf(xStep != 1, k) + elementsIf(yStep != 1, m))
	defer s.Give()
	if xStep != 1 {
		copyRows(k, 1, x, xStep, memory, 1)
		x, memory = memory[:k], memory[k:]
	}
	if yStep == 1 {
		Gemv(trans, rows, cols, alpha, a, lda, x, beta, y)
		return
	}
	if beta != 0 {
		copyRows(m, 1, y, yStep, memory, 1)
	}
	Gemv(trans, rows, cols, alpha, a, lda, x, beta, memory)
	copyRows(m, 1, memory, 1, y, yStep)
}

func elementsIf(is bool, n int) int {
	if is {
		return n
	}
	return 0
}

// transposeInto makes t, the beginning of memory, the transpose of x, of rows by cols.
func transposeInto[T element.Element](memory []T, rows, cols int, x []T, ld int) (t []T, ldt int, rest []T) {
	if rows == 1 { // the elements of a row and of a column lie alike
		return x, 1, memory
	}
	t, rest = memory[:rows*cols], memory[rows*cols:]
	transposeTiles(rows, cols, x, ld, t, rows)
	return t, rows, rest
}

// mirrorRows is the rows of a triangle that Mirror does not divide.
const mirrorRows = 64

// Mirror makes whole the symmetric matrix of n by n whose lower or upper triangle a has, and reads
// nothing else of a.
func Mirror[T Float](lower bool, n int, a []T, lda int, whole []T, ld int) {
	if n <= mirrorRows {
		mirrorBlock(lower, n, a, lda, whole, ld)
		return
	}
	h := n / 2
	Mirror(lower, h, a, lda, whole, ld)
	if lower {
		CopyMatrix(n-h, h, a[h*lda:], lda, whole[h*ld:], ld)
		Transpose(n-h, h, a[h*lda:], lda, whole[h:], ld)
	} else {
		CopyMatrix(h, n-h, a[h:], lda, whole[h:], ld)
		Transpose(h, n-h, a[h:], lda, whole[h*ld:], ld)
	}
	Mirror(lower, n-h, a[h*(lda+1):], lda, whole[h*(ld+1):], ld)
}

func mirrorBlock[T Float](lower bool, n int, a []T, lda int, whole []T, ld int) {
	for i := range n {
		lo, hi := triangleRow(lower, i, n)
		for j, v := range a[i*lda:][:hi][lo:] {
			j += lo
			whole[i*ld+j], whole[j*ld+i] = v, v
		}
	}
}

// triangleRow is the columns, lo to hi-1, of a triangle of n columns in a row.
func triangleRow(lower bool, row, n int) (lo, hi int) {
	if lower {
		return 0, row + 1
	}
	return row, n
}

// stripRows is the rows of a triangle that are computed at a time.
const stripRows = 8

// GemmTriangle is the lower or upper triangle of C = alpha*op(X)*op(Y) + beta*C, of n by n, with
// the bits of [GemmTrans], for op(X) of n by k. Nothing else of C is read or written. It is meant
// for a few hundred rows at most.
func GemmTriangle[T Float](lower bool, n, k int, alpha T, x, y Operand[T], beta T, c []T, ldc int) {
	if alpha == 0 || k == 0 {
		scaleTriangle(lower, n, beta, c, ldc)
		return
	}
	if n*k > stripElements {
		s, whole := Take[T](n * n)
		defer s.Give()
		GemmTrans(x.Trans, y.Trans, n, n, k, 1, x.Data, x.Stride, y.Data, y.Stride, 0, whole, n)
		FinishTriangle(lower, n, alpha, whole, n, beta, c, ldc)
		return
	}
	strips(lower, n, k, alpha, x, y, beta, c, ldc)
}

// strips is [GemmTriangle] in strips of rows.
func strips[T Float](lower bool, n, k int, alpha T, x, y Operand[T], beta T, c []T, ldc int) {
	kern, rows := kernels[T]()[0], min(stripRows, n)
	s, memory := Take[T](rows*n + elementsIf(y.Trans, n*k))
	defer s.Give()
	acc, memory := memory[:rows*n], memory[rows*n:]
	right, ldr := y.Data, y.Stride
	if y.Trans {
		right, ldr, _ = transposeInto(memory, n, k, right, ldr)
	}
	row, col := x.steps()
	for i := 0; i < n; i += rows {
		end := min(i+rows, n)
		lo, hi := i, n
		if lower {
			lo, hi = 0, end
		}
		kern.tiles(end-i, hi-lo, k, x.Data[i*row:], row, col, right[lo:], ldr, acc[lo:], n, true)
		for r := i; r < end; r++ {
			lo, hi := triangleRow(lower, r, n)
			kern.finish(1, hi-lo, alpha, &acc[(r-i)*n+lo], n, beta, &c[r*ldc+lo], n, beta != 0)
		}
	}
}

// Finish is C = alpha*P + beta*C, of m by n, where the chains of a product have ended in P: what
// [Gemm] does after the last of them.
func Finish[T element.Element](m, n int, alpha T, p []T, ldp int, beta T, c []T, ldc int) {
	check("P", m, n, ldp, len(p))
	check("C", m, n, ldc, len(c))
	if m > 0 && n > 0 {
		finish := kernels[T]()[0].finish
		if isSmall[T](m, n) { // no closure, which is an allocation
			finish(m, n, alpha, &p[0], ldp, beta, &c[0], ldc, beta != 0)
			return
		}
		bands[T](m, n, 1, func(lo, hi int) {
			finish(hi-lo, n, alpha, &p[lo*ldp], ldp, beta, &c[lo*ldc], ldc, beta != 0)
		})
	}
}

// FinishTriangle is the lower or upper triangle of C = alpha*P + beta*C, of n by n, where the
// chains of a product have ended in P.
func FinishTriangle[T Float](lower bool, n int, alpha T, p []T, ldp int, beta T, c []T, ldc int) {
	finish := kernels[T]()[0].finish
	for i := range n {
		lo, hi := triangleRow(lower, i, n)
		finish(1, hi-lo, alpha, &p[i*ldp+lo], n, beta, &c[i*ldc+lo], n, beta != 0)
	}
}

// scaleTriangle is C = beta*C in one triangle, and zero where beta is.
func scaleTriangle[T Float](lower bool, n int, beta T, c []T, ldc int) {
	for i := range n {
		lo, hi := triangleRow(lower, i, n)
		row := c[i*ldc:][lo:hi]
		if beta == 0 {
			clear(row)
			continue
		}
		scaleRow(beta, row)
	}
}

// transposedColumns is how many columns of B [ApplyTriangle] transposes at a time.
const transposedColumns = 64

// ApplyTriangle is [MultiplyTriangle], or with solve [SolveTriangle], for a B that is transposed in
// memory where left is not set: cols rows of n elements. So the matrix that is at the left side of
// B here is the transpose of one at the right side of what is in memory.
func ApplyTriangle[T Float](
	solve, left bool, n, cols int, alpha T, e []T, eRow, eCol int, upper, unit bool, b []T, ldb int,
) {
	if n == 0 || cols == 0 {
		return
	}
	if left || cols == 1 {
		if !left { // it lies in memory as its transpose does
			ldb = 1
		}
		triangle(solve, n, cols, alpha, e, eRow, eCol, upper, unit, b, ldb)
		return
	}
	s, x := Take[T](n * min(transposedColumns, cols))
	for i := 0; i < cols; i += transposedColumns {
		w := min(transposedColumns, cols-i)
		transposeTiles(w, n, b[i*ldb:], ldb, x, w)
		triangle(solve, n, w, alpha, e, eRow, eCol, upper, unit, x, w)
		transposeTiles(n, w, x, w, b[i*ldb:], ldb)
	}
	s.Give()
}

package gonumblas

import (
	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

// Triangular and symmetric matrices are halved until they have at most so many rows. The bits of trmm and trsm depend on triangleBlock,
// those of the others on neither.
const (
	triangleBlock  = 32
	symmetricBlock = 64
)

// half is where a matrix of n rows is divided: at a multiple of the block near its middle.
func half(n, block int) int { return (n/2 + block - 1) / block * block }

// symm is C = alpha*A*B + beta*C, or with B*A, where A is the symmetric matrix that its triangle stands for: one product with the whole of it.
func symm[T float](e *engine, left, lower bool, alpha T, a, b linalg.Matrix[T], beta T, c linalg.Matrix[T]) {
	whole, memory := scratch[T](a.Rows, a.Cols)
	defer give(memory)
	if alpha != 0 {
		mirror(lower, a, whole)
	}
	if left {
		gemm(e, alpha, blas.NoTrans, whole, blas.NoTrans, b, beta, c)
	} else {
		gemm(e, alpha, blas.NoTrans, b, blas.NoTrans, whole, beta, c)
	}
}

// syrk is the triangle of C = alpha*op(A)*op(A)ᵀ + beta*C: the bits of a product.
func syrk[T float](e *engine, lower bool, t blas.Transpose, alpha T, a linalg.Matrix[T], beta T, c linalg.Matrix[T]) {
	x := operand[T]{a, t}
	if alpha == 0 || x.cols() == 0 {
		scaleTriangle(lower, beta, c)
		return
	}
	y := x.transpose()
	defer give(x.settle(c.Rows))
	defer give(y.settle(c.Rows))
	p := triangleProduct[T]{e: e, lower: lower, alpha: alpha, x: x, y: y, beta: beta}
	p.run(0, c)
}

// syr2k is the triangle of C = alpha*op(A)*op(B)ᵀ + alpha*op(B)*op(A)ᵀ + beta*C: the bits of two products, the first with beta and the
// second with 1.
func syr2k[T float](e *engine, lower bool, t blas.Transpose, alpha T, a, b linalg.Matrix[T], beta T, c linalg.Matrix[T]) {
	x, y := operand[T]{a, t}, operand[T]{b, t}
	if alpha == 0 || x.cols() == 0 {
		scaleTriangle(lower, beta, c)
		return
	}
	xT, yT := x.transpose(), y.transpose()
	defer give(x.settle(c.Rows))
	defer give(y.settle(c.Rows))
	defer give(xT.settle(c.Rows))
	defer give(yT.settle(c.Rows))
	p := triangleProduct[T]{e: e, lower: lower, alpha: alpha, x: x, y: yT, beta: beta}
	p.run(0, c)
	p.x, p.y, p.beta = y, xT, 1
	p.run(0, c)
}

// An operand is op(M).
type operand[T float] struct {
	linalg.Matrix[T]
	t blas.Transpose
}

func (o operand[T]) cols() int {
	_, cols := stored(o.t, o.Rows, o.Cols)
	return cols
}

// transpose is op(M)ᵀ.
func (o operand[T]) transpose() operand[T] {
	if o.t == blas.NoTrans {
		return operand[T]{o.Matrix, blas.Trans}
	}
	return operand[T]{o.Matrix, blas.NoTrans}
}

// part is the rows i to k-1 of op(M), or with columns its columns.
func (o operand[T]) part(columns bool, i, k int) linalg.Matrix[T] {
	if columns == (o.t == blas.NoTrans) {
		return o.Slice(0, o.Rows, i, k)
	}
	return o.Slice(i, k, 0, o.Cols)
}

// settle transposes M where n rows mean that several products take parts of op(M). The memory is nil where that is not needed.
func (o *operand[T]) settle(n int) (memory *[]T) {
	if n > symmetricBlock {
		o.Matrix, memory = op(o.t, o.Matrix)
		o.t = blas.NoTrans
	}
	return memory
}

// A triangleProduct is C = alpha*X*Y + beta*C in one triangle.
type triangleProduct[T float] struct {
	e           *engine
	lower       bool
	alpha, beta T
	x, y        operand[T]
}

// run computes the part of the triangle in C, which begins at row and column i of the whole.
func (p *triangleProduct[T]) run(i int, c linalg.Matrix[T]) {
	n := c.Rows
	if n <= symmetricBlock {
		p.block(i, c)
		return
	}
	h := half(n, symmetricBlock)
	p.run(i, c.Slice(0, h, 0, h))
	if p.lower {
		gemm(p.e, p.alpha, p.x.t, p.x.part(false, i+h, i+n), p.y.t, p.y.part(true, i, i+h), p.beta, c.Slice(h, n, 0, h))
	} else {
		gemm(p.e, p.alpha, p.x.t, p.x.part(false, i, i+h), p.y.t, p.y.part(true, i+h, i+n), p.beta, c.Slice(0, h, h, n))
	}
	p.run(i+h, c.Slice(h, n, h, n))
}

// block computes a block that the diagonal runs through: in strips, or by the whole product, of which it takes the triangle.
func (p *triangleProduct[T]) block(i int, c linalg.Matrix[T]) {
	n := c.Rows
	x, y := p.x.part(false, i, i+n), p.y.part(true, i, i+n)
	if inStrips[T](p.e, n, p.x.cols()) {
		x, xMemory := op(p.x.t, x)
		y, yMemory := op(p.y.t, y)
		acc, memory := scratch[T](stripRows, n)
		strips(p.lower, n, x.Cols, p.alpha, x.Data, x.Stride, y.Data, y.Stride, p.beta, c.Data, c.Stride, acc.Data)
		give(memory)
		give(xMemory)
		give(yMemory)
		return
	}
	acc, memory := scratch[T](n, n)
	defer give(memory)
	gemm(p.e, 1, p.x.t, x, p.y.t, y, 0, acc)
	for r := range n {
		lo, hi := ofTriangle(p.lower, r, n)
		finish(p.alpha, acc.Row(r)[lo:hi], p.beta, c.Row(r)[lo:hi])
	}
}

// Strips have so many rows. Each reads all of Y, which the caches keep where there are at most stripSteps steps.
const (
	stripRows  = 8
	stripSteps = 512
)

// inStrips tells whether to compute a triangle of n rows in strips.
func inStrips[T float](e *engine, n, k int) bool { return k <= stripSteps && !toDevice[T](e, n, n, k) }

// strips is the triangle of C = alpha*X*Y + beta*C on the host, by products of a few rows that end behind the diagonal. acc is memory for the
// chains of stripRows rows.
func strips[T float](lower bool, n, k int, alpha T, x []T, ldx int, y []T, ldy int, beta T, c []T, ldc int, acc []T) {
	for i := 0; i < n; i += stripRows {
		end := min(i+stripRows, n)
		lo, hi := i, n
		if lower {
			lo, hi = 0, end
		}
		host.Gemm(end-i, hi-lo, k, 1, x[i*ldx:], ldx, y[lo:], ldy, 0, acc[lo:], n)
		for r := i; r < end; r++ {
			lo, hi := ofTriangle(lower, r, n)
			finish(alpha, acc[(r-i)*n:][lo:hi], beta, c[r*ldc:][lo:hi])
		}
	}
}

// ofTriangle is the columns, lo to hi-1, of a triangle of n columns in row r.
func ofTriangle(lower bool, r, n int) (lo, hi int) {
	if lower {
		return 0, r + 1
	}
	return r, n
}

// scaleTriangle is C = beta*C in one triangle, and zero where beta is.
func scaleTriangle[T float](lower bool, beta T, c linalg.Matrix[T]) {
	for r := range c.Rows {
		lo, hi := ofTriangle(lower, r, c.Cols)
		row := c.Row(r)[lo:hi]
		if beta == 0 {
			clear(row)
			continue
		}
		for j := range row {
			row[j] *= beta
		}
	}
}

// mirror fills whole with the symmetric matrix whose triangle a has, and reads only that.
func mirror[T float](lower bool, a, whole linalg.Matrix[T]) {
	n := a.Rows
	if n <= symmetricBlock {
		for i := range n {
			lo, hi := ofTriangle(lower, i, n)
			for j, v := range a.Row(i)[lo:hi] {
				j += lo
				whole.Data[i*whole.Stride+j], whole.Data[j*whole.Stride+i] = v, v
			}
		}
		return
	}
	h := half(n, symmetricBlock)
	mirror(lower, a.Slice(0, h, 0, h), whole.Slice(0, h, 0, h))
	upper, below := whole.Slice(0, h, h, n), whole.Slice(h, n, 0, h)
	if lower {
		copyMatrix(below, a.Slice(h, n, 0, h))
		transpose(below, upper)
	} else {
		copyMatrix(upper, a.Slice(0, h, h, n))
		transpose(upper, below)
	}
	mirror(lower, a.Slice(h, n, h, n), whole.Slice(h, n, h, n))
}

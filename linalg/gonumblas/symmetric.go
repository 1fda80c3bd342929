package gonumblas

import (
	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/linalg"
)

// symm is C = alpha*A*B + beta*C, or with B*A, where A is the symmetric matrix that its triangle
// stands for: one product with the whole of it.
func symm[T float](
	e *engine, left, lower bool, m, n int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int,
) {
	k := n
	if left {
		k = m
	}
	whole, memory := scratch[T](k, k)
	defer memory.Give()
	if alpha != 0 {
		host.Mirror(lower, k, a, lda, whole.Data, whole.Stride)
	}
	x, y := matrix(m, n, b, ldb), matrix(m, n, c, ldc)
	if left {
		gemm(e, alpha, blas.NoTrans, whole, blas.NoTrans, x, beta, y)
	} else {
		gemm(e, alpha, blas.NoTrans, x, blas.NoTrans, whole, beta, y)
	}
}

// symmetricBlock is the rows of a symmetric matrix that are not divided any more. Bits do not
// depend on it.
const symmetricBlock = 64

// syrk is the triangle of C = alpha*op(A)*op(B)ᵀ + beta*C: the bits of a product. With both it is
// then that of C = alpha*op(B)*op(A)ᵀ + C. As gemmStored it tells whether the arguments are valid.
func syrk[T float](
	e *engine, both bool, ul blas.Uplo, t blas.Transpose, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T,
	c []T, ldc int,
) (valid bool) {
	if !isUplo(ul) || !isTranspose(t) || n <= 0 || k < 0 {
		return false
	}
	rows, cols := stored(t, n, k)
	if !fits(rows, cols, lda, len(a)) || !fits(rows, cols, ldb, len(b)) || !fits(n, n, ldc, len(c)) {
		return false
	}
	lower, trans := ul == blas.Lower, t != blas.NoTrans
	x, y := host.Operand[T]{Data: a, Stride: lda, Trans: trans}, host.Operand[T]{Data: b, Stride: ldb, Trans: !trans}
	onHost := n <= symmetricBlock && !toDevice[T](e, n, n, k)
	for {
		if onHost || alpha == 0 || k == 0 {
			host.GemmTriangle(lower, n, k, alpha, x, y, beta, c, ldc)
		} else {
			productTriangle(e, lower, k, alpha, x, y, beta, matrix(n, n, c, ldc))
		}
		if !both {
			return true
		}
		both, beta = false, 1
		x.Data, x.Stride, y.Data, y.Stride = b, ldb, a, lda
	}
}

// productTriangle is the triangle of C = alpha*op(X)*op(Y) + beta*C by products of its parts.
func productTriangle[T float](
	e *engine, lower bool, k int, alpha T, x, y host.Operand[T], beta T, c linalg.Matrix[T],
) {
	n := c.Rows
	left, leftMemory := inOrder(n, k, x)
	defer leftMemory.Give()
	right, rightMemory := inOrder(k, n, y)
	defer rightMemory.Give()
	p := triangleProduct[T]{e: e, lower: lower, alpha: alpha, beta: beta, x: left, y: right}
	p.run(0, c)
}

// inOrder is op(X), of rows by cols, as a matrix, which may be in scratch memory: several products
// take parts of it.
func inOrder[T float](rows, cols int, x host.Operand[T]) (linalg.Matrix[T], *host.Scratch) {
	if !x.Trans {
		return matrix(rows, cols, x.Data, x.Stride), nil
	}
	t, memory := scratch[T](rows, cols)
	host.Transpose(cols, rows, x.Data, x.Stride, t.Data, t.Stride)
	return t, memory
}

// A triangleProduct is C = alpha*X*Y + beta*C in one triangle.
type triangleProduct[T float] struct {
	e           *engine
	lower       bool
	alpha, beta T
	x, y        linalg.Matrix[T]
}

// run computes the part of the triangle in C, which begins at row and column i of the whole.
func (p *triangleProduct[T]) run(i int, c linalg.Matrix[T]) {
	n := c.Rows
	if n <= symmetricBlock {
		p.block(i, c)
		return
	}
	h := solve.Half(n, symmetricBlock)
	p.run(i, c.Slice(0, h, 0, h))
	if p.lower {
		gemm(p.e, p.alpha, blas.NoTrans, p.rows(i+h, i+n), blas.NoTrans, p.columns(i, i+h), p.beta, c.Slice(h, n, 0, h))
	} else {
		gemm(p.e, p.alpha, blas.NoTrans, p.rows(i, i+h), blas.NoTrans, p.columns(i+h, i+n), p.beta, c.Slice(0, h, h, n))
	}
	p.run(i+h, c.Slice(h, n, h, n))
}

func (p *triangleProduct[T]) rows(i, k int) linalg.Matrix[T] { return p.x.Slice(i, k, 0, p.x.Cols) }

func (p *triangleProduct[T]) columns(i, k int) linalg.Matrix[T] { return p.y.Slice(0, p.y.Rows, i, k) }

// block computes a block that the diagonal runs through: on the device by the whole product, of
// which it takes the triangle.
func (p *triangleProduct[T]) block(i int, c linalg.Matrix[T]) {
	n := c.Rows
	x, y := p.rows(i, i+n), p.columns(i, i+n)
	if !toDevice[T](p.e, n, n, x.Cols) {
		left, right := host.Operand[T]{Data: x.Data, Stride: x.Stride}, host.Operand[T]{Data: y.Data, Stride: y.Stride}
		host.GemmTriangle(p.lower, n, x.Cols, p.alpha, left, right, p.beta, c.Data, c.Stride)
		return
	}
	acc, memory := scratch[T](n, n)
	defer memory.Give()
	gemm(p.e, 1, blas.NoTrans, x, blas.NoTrans, y, 0, acc)
	host.FinishTriangle(p.lower, n, p.alpha, acc.Data, acc.Stride, p.beta, c.Data, c.Stride)
}

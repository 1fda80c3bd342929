package gonumblas

import (
	"gonum.org/v1/gonum/blas"

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
func syrk[T float](e *engine, lower, trans bool, alpha T, a linalg.Matrix[T], beta T, c linalg.Matrix[T]) {
	rows, cols, memory := both(trans, alpha, a)
	defer give(memory)
	eachBlock(lower, 0, 0, c, func(i, j int, c linalg.Matrix[T]) {
		gemm(e, alpha, blas.NoTrans, rows.Slice(i, i+c.Rows, 0, rows.Cols), blas.NoTrans, cols.Slice(0, cols.Rows, j, j+c.Cols), beta, c)
	})
}

// syr2k is the triangle of C = alpha*op(A)*op(B)ᵀ + alpha*op(B)*op(A)ᵀ + beta*C: the bits of two products, the first with beta and the
// second with 1.
func syr2k[T float](e *engine, lower, trans bool, alpha T, a, b linalg.Matrix[T], beta T, c linalg.Matrix[T]) {
	aRows, aCols, aMemory := both(trans, alpha, a)
	defer give(aMemory)
	bRows, bCols, bMemory := both(trans, alpha, b)
	defer give(bMemory)
	eachBlock(lower, 0, 0, c, func(i, j int, c linalg.Matrix[T]) {
		gemm(e, alpha, blas.NoTrans, aRows.Slice(i, i+c.Rows, 0, aRows.Cols), blas.NoTrans, bCols.Slice(0, bCols.Rows, j, j+c.Cols), beta, c)
		gemm(e, alpha, blas.NoTrans, bRows.Slice(i, i+c.Rows, 0, bRows.Cols), blas.NoTrans, aCols.Slice(0, aCols.Rows, j, j+c.Cols), 1, c)
	})
}

// both is op(A) and its transpose, one of which is A itself. Where alpha is 0 they have nothing to multiply, as A is not read.
func both[T float](trans bool, alpha T, a linalg.Matrix[T]) (rows, cols linalg.Matrix[T], memory *[]T) {
	if alpha == 0 {
		n := a.Rows
		if trans {
			n = a.Cols
		}
		return linalg.NewMatrix[T](n, 0, nil), linalg.NewMatrix[T](0, n, nil), nil
	}
	t, memory := op(blas.Trans, a)
	if trans {
		return t, a, memory
	}
	return a, t, memory
}

// eachBlock calls f for rectangles that make up a triangle of C, with the position of each. For a block that the diagonal runs through it
// is a copy of C's, of which only the triangle's part is put back.
func eachBlock[T float](lower bool, i, j int, c linalg.Matrix[T], f func(i, j int, c linalg.Matrix[T])) {
	n := c.Rows
	if n <= symmetricBlock {
		square, memory := scratch[T](n, n)
		defer give(memory)
		clear(square.Data)
		copyTriangle(lower, square, c)
		f(i, j, square)
		copyTriangle(lower, c, square)
		return
	}
	h := half(n, symmetricBlock)
	eachBlock(lower, i, j, c.Slice(0, h, 0, h), f)
	if lower {
		f(i+h, j, c.Slice(h, n, 0, h))
	} else {
		f(i, j+h, c.Slice(0, h, h, n))
	}
	eachBlock(lower, i+h, j+h, c.Slice(h, n, h, n), f)
}

func copyTriangle[T float](lower bool, dst, src linalg.Matrix[T]) {
	for i := range dst.Rows {
		if lower {
			copy(dst.Row(i)[:i+1], src.Row(i))
		} else {
			copy(dst.Row(i)[i:], src.Row(i)[i:])
		}
	}
}

// mirror fills whole with the symmetric matrix whose triangle a has, and reads only that.
func mirror[T float](lower bool, a, whole linalg.Matrix[T]) {
	copyTriangle(lower, whole, a)
	transposeTriangle(lower, false, a, whole)
}

// transposeTriangle fills the other triangle of dst with the transpose of a's. With unit the diagonal is left out.
func transposeTriangle[T float](lower, unit bool, a, dst linalg.Matrix[T]) {
	n := a.Rows
	if n <= symmetricBlock {
		for i := range n {
			if !unit {
				dst.Set(i, i, a.At(i, i))
			}
			for j := range i {
				if lower {
					dst.Set(j, i, a.At(i, j))
				} else {
					dst.Set(i, j, a.At(j, i))
				}
			}
		}
		return
	}
	h := half(n, symmetricBlock)
	transposeTriangle(lower, unit, a.Slice(0, h, 0, h), dst.Slice(0, h, 0, h))
	off, to := a.Slice(0, h, h, n), dst.Slice(h, n, 0, h)
	if lower {
		off, to = a.Slice(h, n, 0, h), dst.Slice(0, h, h, n)
	}
	transpose(off, to)
	transposeTriangle(lower, unit, a.Slice(h, n, h, n), dst.Slice(h, n, h, n))
}

package gonumblas

import (
	"fmt"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

type float interface{ float32 | float64 }

// gemm is C = alpha*op(A)*op(B) + beta*C by the numerics contract, on the device or on the host. C
// may lie between the rows of A and B, but shares no elements with them.
func gemm[T float](e *engine, alpha T, tA blas.Transpose, a linalg.Matrix[T], tB blas.Transpose, b linalg.Matrix[T],
	beta T, c linalg.Matrix[T],
) {
	k := steps(tA, a)
	if alpha != 0 && k != 0 && toDevice[T](e, c.Rows, c.Cols, k) {
		err := deviceGemm(e, alpha, tA, a, tB, b, beta, c)
		if err == nil {
			return
		}
		e.report(fmt.Sprintf("a product of %dx%d by %dx%d (%T) was", c.Rows, k, k, c.Cols, alpha), err)
	}
	hostGemm(alpha, tA, a, tB, b, beta, c)
}

// gemmStored is gemm for matrices in memory, those of op(A) and op(B). It tells whether the
// arguments are valid, and does nothing if they are not.
func gemmStored[T float](e *engine, tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T,
	c []T, ldc int,
) (valid bool) {
	if !validGemm(tA, tB, m, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		return false
	}
	aRows, aCols := stored(tA, m, k)
	bRows, bCols := stored(tB, k, n)
	gemm(e, alpha, tA, matrix(aRows, aCols, a, lda), tB, matrix(bRows, bCols, b, ldb), beta, matrix(m, n, c, ldc))
	return true
}

// steps is the length of the chains of a product with op(A).
func steps[T float](tA blas.Transpose, a linalg.Matrix[T]) int {
	if tA == blas.NoTrans {
		return a.Cols
	}
	return a.Rows
}

// deviceGemm is gemm on the device. One that fails leaves C as it was, or, where beta is 0,
// undefined.
func deviceGemm[T float](e *engine, alpha T, tA blas.Transpose, a linalg.Matrix[T], tB blas.Transpose,
	b linalg.Matrix[T], beta T, c linalg.Matrix[T],
) error {
	if beta == 0 {
		return linalg.Gemm(alpha, tA, a, tB, b, beta, c, linalg.On(e.s))
	}
	result, memory := scratch[T](c.Rows, c.Cols)
	defer memory.Give()
	copyMatrix(result, c)
	if err := linalg.Gemm(alpha, tA, a, tB, b, beta, result, linalg.On(e.s)); err != nil {
		return err
	}
	copyMatrix(c, result)
	return nil
}

// hostGemm is gemm on the host.
func hostGemm[T float](
	alpha T, tA blas.Transpose, a linalg.Matrix[T], tB blas.Transpose, b linalg.Matrix[T], beta T, c linalg.Matrix[T],
) {
	host.GemmTrans(tA != blas.NoTrans, tB != blas.NoTrans, c.Rows, c.Cols, steps(tA, a), alpha, a.Data, a.Stride,
		b.Data, b.Stride, beta, c.Data, c.Stride)
}

func copyMatrix[T float](dst, src linalg.Matrix[T]) {
	host.CopyMatrix(src.Rows, src.Cols, src.Data, src.Stride, dst.Data, dst.Stride)
}

// scratch is a packed matrix of any values, in memory to be given back.
func scratch[T float](rows, cols int) (linalg.Matrix[T], *host.Scratch) {
	memory, data := host.Take[T](rows * cols)
	return linalg.Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: data}, memory
}

package gonumblas

import (
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

// Complex products are real ones, of m by 2n by 2k: see [host.ComplexGemm]. A call with an
// invalid argument, or with nothing to do, goes to gonum's own implementation, which panics or
// returns.

// reals64 is the elements of x as reals: real and imaginary part of one after the other.
func reals64(x []complex128) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

// reals32 is the same for complex64.
func reals32(x []complex64) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

func parts64(x complex128) [2]float64 { return [2]float64{real(x), imag(x)} }
func parts32(x complex64) [2]float32  { return [2]float32{real(x), imag(x)} }

// complexGemm is C = alpha*op(A)*op(B) + beta*C for matrices of complex numbers, given as reals
// with their leading dimensions in complex elements.
func complexGemm[T float](e *engine, tA, tB blas.Transpose, m, n, k int, alpha [2]T, a []T, lda int, b []T, ldb int,
	beta [2]T, c []T, ldc int,
) {
	transA, conjA, transB, conjB := tA != blas.NoTrans, tA == blas.ConjTrans, tB != blas.NoTrans, tB == blas.ConjTrans
	host.ComplexGemm(transA, conjA, transB, conjB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, e.keepsOnHost(m, n, k),
		func(s T, x, y []T, t T, z []T, ldz int) error {
			realProduct(e, s, matrix(m, 2*k, x, 2*k), matrix(2*k, 2*n, y, 2*n), t, matrix(m, 2*n, z, ldz))
			return nil
		})
}

func realProduct[T float](e *engine, alpha T, a, b linalg.Matrix[T], beta T, c linalg.Matrix[T]) {
	if e.keepsOnHost(c.Rows, c.Cols, a.Cols) {
		hostGemm(alpha, blas.NoTrans, a, blas.NoTrans, b, beta, c)
		return
	}
	gemm(e, alpha, blas.NoTrans, a, blas.NoTrans, b, beta, c)
}

// complexSymm is C = alpha*A*B + beta*C, or without left alpha*B*A + beta*C, where A is the
// symmetric or, with conj, Hermitian matrix that its triangle stands for.
func complexSymm[T float](e *engine, s blas.Side, ul blas.Uplo, conj bool, m, n int, alpha [2]T, a []T, lda int,
	b []T, ldb int, beta [2]T, c []T, ldc int,
) {
	k := order(s, m, n)
	whole, memory := scratch[T](k, 2*k)
	defer memory.Give()
	if alpha != [2]T{} {
		host.ComplexMirror(ul == blas.Lower, conj, k, a, lda, whole.Data)
	}
	if s == blas.Left {
		complexGemm(e, blas.NoTrans, blas.NoTrans, m, n, k, alpha, whole.Data, k, b, ldb, beta, c, ldc)
	} else {
		complexGemm(e, blas.NoTrans, blas.NoTrans, m, n, k, alpha, b, ldb, whole.Data, k, beta, c, ldc)
	}
}

// Zgemm is C = alpha*op(A)*op(B) + beta*C.
func (i *implementation) Zgemm(tA, tB blas.Transpose, m, n, k int, alpha complex128, a []complex128, lda int,
	b []complex128, ldb int, beta complex128, c []complex128, ldc int,
) {
	if !validGemm(tA, tB, m, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Zgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	complexGemm(i.e, tA, tB, m, n, k, parts64(alpha), reals64(a), lda, reals64(b), ldb, parts64(beta), reals64(c), ldc)
}

// Zsymm is C = alpha*A*B + beta*C or C = alpha*B*A + beta*C for a symmetric A.
func (i *implementation) Zsymm(s blas.Side, ul blas.Uplo, m, n int, alpha complex128, a []complex128, lda int,
	b []complex128, ldb int, beta complex128, c []complex128, ldc int,
) {
	if !validSymm(s, ul, m, n, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Zsymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	complexSymm(i.e, s, ul, false, m, n, parts64(alpha), reals64(a), lda, reals64(b), ldb, parts64(beta), reals64(c),
		ldc)
}

// Zhemm is C = alpha*A*B + beta*C or C = alpha*B*A + beta*C for a Hermitian A.
func (i *implementation) Zhemm(s blas.Side, ul blas.Uplo, m, n int, alpha complex128, a []complex128, lda int,
	b []complex128, ldb int, beta complex128, c []complex128, ldc int,
) {
	if !validSymm(s, ul, m, n, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Zhemm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	complexSymm(i.e, s, ul, true, m, n, parts64(alpha), reals64(a), lda, reals64(b), ldb, parts64(beta), reals64(c),
		ldc)
}

// Cgemm is C = alpha*op(A)*op(B) + beta*C.
func (i *implementation) Cgemm(tA, tB blas.Transpose, m, n, k int, alpha complex64, a []complex64, lda int,
	b []complex64, ldb int, beta complex64, c []complex64, ldc int,
) {
	if !validGemm(tA, tB, m, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Cgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	complexGemm(i.e, tA, tB, m, n, k, parts32(alpha), reals32(a), lda, reals32(b), ldb, parts32(beta), reals32(c), ldc)
}

// Csymm is C = alpha*A*B + beta*C or C = alpha*B*A + beta*C for a symmetric A.
func (i *implementation) Csymm(s blas.Side, ul blas.Uplo, m, n int, alpha complex64, a []complex64, lda int,
	b []complex64, ldb int, beta complex64, c []complex64, ldc int,
) {
	if !validSymm(s, ul, m, n, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Csymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	complexSymm(i.e, s, ul, false, m, n, parts32(alpha), reals32(a), lda, reals32(b), ldb, parts32(beta), reals32(c),
		ldc)
}

// Chemm is C = alpha*A*B + beta*C or C = alpha*B*A + beta*C for a Hermitian A.
func (i *implementation) Chemm(s blas.Side, ul blas.Uplo, m, n int, alpha complex64, a []complex64, lda int,
	b []complex64, ldb int, beta complex64, c []complex64, ldc int,
) {
	if !validSymm(s, ul, m, n, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Chemm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	complexSymm(i.e, s, ul, true, m, n, parts32(alpha), reals32(a), lda, reals32(b), ldb, parts32(beta), reals32(c),
		ldc)
}

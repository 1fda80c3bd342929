package gonumblas

import (
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
)

// What follows is level 3 for complex numbers as gonum declares it. A call with an invalid
// argument, or with nothing to do, goes to gonum's own implementation, which panics or returns.
// complex64.go is made of this file.

// reals64 is the elements of x as reals: real and imaginary part of one after the other.
func reals64(x []complex128) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

func parts64(x complex128) [2]float64 { return [2]float64{real(x), imag(x)} }

// op64 is op(X).
func op64(t blas.Transpose, x []complex128, ld int) host.ComplexMatrix[float64] {
	trans, conj := t != blas.NoTrans, t == blas.ConjTrans
	return host.ComplexMatrix[float64]{Data: reals64(x), Stride: ld, Trans: trans, Conj: conj}
}

// product64 is C = alpha*op(A)*op(B) + beta*C for op(A) of m by k and op(B) of k by n.
func product64(m, n, k int, alpha complex128, a, b host.ComplexMatrix[float64], beta complex128, c []complex128,
	ldc int,
) *host.ComplexProduct[float64] {
	return &host.ComplexProduct[float64]{
		M: m, N: n, K: k, Alpha: parts64(alpha), Beta: parts64(beta), A: a, B: b, C: reals64(c), StrideC: ldc,
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
	complexGemm(i.e, product64(m, n, k, alpha, op64(tA, a, lda), op64(tB, b, ldb), beta, c, ldc))
}

// Zsymm is C = alpha*A*B + beta*C or C = alpha*B*A + beta*C for a symmetric A.
func (i *implementation) Zsymm(s blas.Side, ul blas.Uplo, m, n int, alpha complex128, a []complex128, lda int,
	b []complex128, ldb int, beta complex128, c []complex128, ldc int,
) {
	if !validSymm(s, ul, m, n, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Zsymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	x, y := op64(blas.NoTrans, a, lda), op64(blas.NoTrans, b, ldb)
	complexSymm(i.e, s, ul, false, product64(m, n, 0, alpha, x, y, beta, c, ldc))
}

// Zhemm is C = alpha*A*B + beta*C or C = alpha*B*A + beta*C for a Hermitian A.
func (i *implementation) Zhemm(s blas.Side, ul blas.Uplo, m, n int, alpha complex128, a []complex128, lda int,
	b []complex128, ldb int, beta complex128, c []complex128, ldc int,
) {
	if !validSymm(s, ul, m, n, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Zhemm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	x, y := op64(blas.NoTrans, a, lda), op64(blas.NoTrans, b, ldb)
	complexSymm(i.e, s, ul, true, product64(m, n, 0, alpha, x, y, beta, c, ldc))
}

// Zsyrk is C = alpha*op(A)*op(A)ᵀ + beta*C in one triangle.
func (i *implementation) Zsyrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex128, a []complex128, lda int,
	beta complex128, c []complex128, ldc int,
) {
	if t == blas.ConjTrans || !validSyrk(ul, t, n, k, len(a), lda, len(c), ldc) {
		i.Implementation.Zsyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	x := op64(t, a, lda)
	complexSyrk(i.e, ul, false, product64(n, n, k, alpha, x, x, beta, c, ldc))
}

// Zherk is C = alpha*op(A)*op(A)ᴴ + beta*C in one triangle.
func (i *implementation) Zherk(ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []complex128, lda int,
	beta float64, c []complex128, ldc int,
) {
	if t == blas.Trans || !validSyrk(ul, t, n, k, len(a), lda, len(c), ldc) {
		i.Implementation.Zherk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	x := op64(t, a, lda)
	complexSyrk(i.e, ul, true, product64(n, n, k, complex(alpha, 0), x, x, complex(beta, 0), c, ldc))
}

// Zsyr2k is C = alpha*op(A)*op(B)ᵀ + alpha*op(B)*op(A)ᵀ + beta*C in one triangle.
func (i *implementation) Zsyr2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex128, a []complex128, lda int,
	b []complex128, ldb int, beta complex128, c []complex128, ldc int,
) {
	if t == blas.ConjTrans || !validSyr2k(ul, t, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Zsyr2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	complexSyr2k(i.e, ul, false, product64(n, n, k, alpha, op64(t, a, lda), op64(t, b, ldb), beta, c, ldc))
}

// Zher2k is C = alpha*op(A)*op(B)ᴴ + conj(alpha)*op(B)*op(A)ᴴ + beta*C in one triangle.
func (i *implementation) Zher2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex128, a []complex128, lda int,
	b []complex128, ldb int, beta float64, c []complex128, ldc int,
) {
	if t == blas.Trans || !validSyr2k(ul, t, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Zher2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	complexSyr2k(i.e, ul, true, product64(n, n, k, alpha, op64(t, a, lda), op64(t, b, ldb), complex(beta, 0), c, ldc))
}

// Ztrmm is B = alpha*op(A)*B or B = alpha*B*op(A) for a triangular A.
func (i *implementation) Ztrmm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha complex128,
	a []complex128, lda int, b []complex128, ldb int,
) {
	if !validTriangular(s, ul, t, d, m, n, len(a), lda, len(b), ldb) {
		i.Implementation.Ztrmm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	complexTriangular(i.e, false, s, ul, t, d, m, n, parts64(alpha), reals64(a), lda, reals64(b), ldb)
}

// Ztrsm solves op(A)*X = alpha*B or X*op(A) = alpha*B for a triangular A, and leaves X in B.
func (i *implementation) Ztrsm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha complex128,
	a []complex128, lda int, b []complex128, ldb int,
) {
	if !validTriangular(s, ul, t, d, m, n, len(a), lda, len(b), ldb) {
		i.Implementation.Ztrsm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	complexTriangular(i.e, true, s, ul, t, d, m, n, parts64(alpha), reals64(a), lda, reals64(b), ldb)
}

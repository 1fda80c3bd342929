package gonumblas

import (
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
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
	if e.keepsOnHost(m, n, k) && host.SmallComplexGemm(host.Whole, transA, conjA, transB, conjB, m, n, k, alpha, a, lda,
		b, ldb, beta, c, ldc) {
		return
	}
	var product host.RealProduct[T] // on the host
	if alpha != [2]T{} && toDevice[T](e, m, 2*n, 2*k) {
		product = realProduct[T](e)
	}
	must(host.ComplexGemm(transA, conjA, transB, conjB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, product))
}

// realProduct gives the products that complex ones are made of.
func realProduct[T float](e *engine) host.RealProduct[T] {
	return func(m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) error {
		x, y, z := matrix(m, k, a, lda), matrix(k, n, b, ldb), matrix(m, n, c, ldc)
		if e.keepsOnHost(m, n, k) {
			hostGemm(alpha, blas.NoTrans, x, blas.NoTrans, y, beta, z)
		} else {
			gemm(e, alpha, blas.NoTrans, x, blas.NoTrans, y, beta, z)
		}
		return nil
	}
}

// complexSyrk is the triangle of C = alpha*op(A)*op(B)ᵀ + beta*C, or with hermitian of
// alpha*op(A)*op(B)ᴴ + beta*C, whose diagonal is then real.
func complexSyrk[T float](e *engine, ul blas.Uplo, t blas.Transpose, hermitian bool, n, k int, alpha [2]T, a []T,
	lda int, b []T, ldb int, beta [2]T, c []T, ldc int,
) {
	trans := t != blas.NoTrans
	conjA, conjB := hermitian && trans, hermitian && !trans
	part := host.UpperTriangle
	if ul == blas.Lower {
		part = host.LowerTriangle
	}
	if hermitian { // imaginary parts of the diagonal are not read
		clearDiagonal(n, c, ldc)
	}
	small := e.fixed == nil || e.keepsOnHost(n, n, k)
	if !small || !host.SmallComplexGemm(part, trans, conjA, !trans, conjB, n, n, k, alpha, a, lda, b, ldb, beta, c,
		ldc) {
		must(host.ComplexGemmTriangle(part, trans, conjA, !trans, conjB, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
			realProduct[T](e)))
	}
	if hermitian {
		clearDiagonal(n, c, ldc)
	}
}

// clearDiagonal makes the imaginary parts of the diagonal of C, of n by n, +0.
func clearDiagonal[T float](n int, c []T, ldc int) {
	for i := range n {
		c[2*i*(ldc+1)+1] = 0
	}
}

// complexTriangular is trmm, or with solve trsm.
func complexTriangular[T float](e *engine, solve bool, s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag,
	m, n int, alpha [2]T, a []T, lda int, b []T, ldb int,
) {
	if alpha == [2]T{} { // A is not read
		host.Gemm(m, 2*n, 0, 0, nil, 0, nil, 2*n, 0, b, 2*ldb)
		return
	}
	k, cols := order(s, m, n), m+n-order(s, m, n)
	x := host.ComplexOperand[T]{
		N: k, Data: a, Row: 2 * lda, Col: 2, Upper: ul == blas.Upper, Conj: t == blas.ConjTrans, Unit: d == blas.Unit,
	}
	row, col := 2*ldb, 2
	if s == blas.Right { // the transpose is a triangle at the left of the transpose of B
		row, col = col, row
	}
	if (s == blas.Right) != (t != blas.NoTrans) {
		x.Row, x.Col, x.Upper = x.Col, x.Row, !x.Upper
	}
	if k <= host.ComplexRows {
		host.ComplexTriangular(solve, x, cols, alpha, b, row, col, nil)
		return
	}
	host.ComplexTriangular(solve, x, cols, alpha, b, row, col,
		func(m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int) {
			update(e, false, matrix(m, k, a, lda), matrix(k, n, b, ldb), matrix(m, n, c, ldc))
		})
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

// Zsyrk is C = alpha*op(A)*op(A)ᵀ + beta*C in one triangle.
func (i *implementation) Zsyrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex128, a []complex128, lda int,
	beta complex128, c []complex128, ldc int,
) {
	if t == blas.ConjTrans || !validSyrk(ul, t, n, k, len(a), lda, len(c), ldc) {
		i.Implementation.Zsyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	x := reals64(a)
	complexSyrk(i.e, ul, t, false, n, k, parts64(alpha), x, lda, x, lda, parts64(beta), reals64(c), ldc)
}

// Zherk is C = alpha*op(A)*op(A)ᴴ + beta*C in one triangle.
func (i *implementation) Zherk(ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []complex128, lda int,
	beta float64, c []complex128, ldc int,
) {
	if t == blas.Trans || !validSyrk(ul, t, n, k, len(a), lda, len(c), ldc) {
		i.Implementation.Zherk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	x := reals64(a)
	complexSyrk(i.e, ul, t, true, n, k, [2]float64{alpha}, x, lda, x, lda, [2]float64{beta}, reals64(c), ldc)
}

// Zsyr2k is C = alpha*op(A)*op(B)ᵀ + alpha*op(B)*op(A)ᵀ + beta*C in one triangle.
func (i *implementation) Zsyr2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex128, a []complex128, lda int,
	b []complex128, ldb int, beta complex128, c []complex128, ldc int,
) {
	if t == blas.ConjTrans || !validSyr2k(ul, t, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Zsyr2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	s, x, y, z := parts64(alpha), reals64(a), reals64(b), reals64(c)
	complexSyrk(i.e, ul, t, false, n, k, s, x, lda, y, ldb, parts64(beta), z, ldc)
	complexSyrk(i.e, ul, t, false, n, k, s, y, ldb, x, lda, [2]float64{1}, z, ldc)
}

// Zher2k is C = alpha*op(A)*op(B)ᴴ + conj(alpha)*op(B)*op(A)ᴴ + beta*C in one triangle.
func (i *implementation) Zher2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex128, a []complex128, lda int,
	b []complex128, ldb int, beta float64, c []complex128, ldc int,
) {
	if t == blas.Trans || !validSyr2k(ul, t, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Zher2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	s, x, y, z := parts64(alpha), reals64(a), reals64(b), reals64(c)
	complexSyrk(i.e, ul, t, true, n, k, s, x, lda, y, ldb, [2]float64{beta}, z, ldc)
	complexSyrk(i.e, ul, t, true, n, k, [2]float64{s[0], -s[1]}, y, ldb, x, lda, [2]float64{1}, z, ldc)
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

// Csyrk is C = alpha*op(A)*op(A)ᵀ + beta*C in one triangle.
func (i *implementation) Csyrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex64, a []complex64, lda int,
	beta complex64, c []complex64, ldc int,
) {
	if t == blas.ConjTrans || !validSyrk(ul, t, n, k, len(a), lda, len(c), ldc) {
		i.Implementation.Csyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	x := reals32(a)
	complexSyrk(i.e, ul, t, false, n, k, parts32(alpha), x, lda, x, lda, parts32(beta), reals32(c), ldc)
}

// Cherk is C = alpha*op(A)*op(A)ᴴ + beta*C in one triangle.
func (i *implementation) Cherk(ul blas.Uplo, t blas.Transpose, n, k int, alpha float32, a []complex64, lda int,
	beta float32, c []complex64, ldc int,
) {
	if t == blas.Trans || !validSyrk(ul, t, n, k, len(a), lda, len(c), ldc) {
		i.Implementation.Cherk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	x := reals32(a)
	complexSyrk(i.e, ul, t, true, n, k, [2]float32{alpha}, x, lda, x, lda, [2]float32{beta}, reals32(c), ldc)
}

// Csyr2k is C = alpha*op(A)*op(B)ᵀ + alpha*op(B)*op(A)ᵀ + beta*C in one triangle.
func (i *implementation) Csyr2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex64, a []complex64, lda int,
	b []complex64, ldb int, beta complex64, c []complex64, ldc int,
) {
	if t == blas.ConjTrans || !validSyr2k(ul, t, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Csyr2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	s, x, y, z := parts32(alpha), reals32(a), reals32(b), reals32(c)
	complexSyrk(i.e, ul, t, false, n, k, s, x, lda, y, ldb, parts32(beta), z, ldc)
	complexSyrk(i.e, ul, t, false, n, k, s, y, ldb, x, lda, [2]float32{1}, z, ldc)
}

// Cher2k is C = alpha*op(A)*op(B)ᴴ + conj(alpha)*op(B)*op(A)ᴴ + beta*C in one triangle.
func (i *implementation) Cher2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex64, a []complex64, lda int,
	b []complex64, ldb int, beta float32, c []complex64, ldc int,
) {
	if t == blas.Trans || !validSyr2k(ul, t, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Cher2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	s, x, y, z := parts32(alpha), reals32(a), reals32(b), reals32(c)
	complexSyrk(i.e, ul, t, true, n, k, s, x, lda, y, ldb, [2]float32{beta}, z, ldc)
	complexSyrk(i.e, ul, t, true, n, k, [2]float32{s[0], -s[1]}, y, ldb, x, lda, [2]float32{1}, z, ldc)
}

// Ctrmm is B = alpha*op(A)*B or B = alpha*B*op(A) for a triangular A.
func (i *implementation) Ctrmm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha complex64,
	a []complex64, lda int, b []complex64, ldb int,
) {
	if !validTriangular(s, ul, t, d, m, n, len(a), lda, len(b), ldb) {
		i.Implementation.Ctrmm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	complexTriangular(i.e, false, s, ul, t, d, m, n, parts32(alpha), reals32(a), lda, reals32(b), ldb)
}

// Ctrsm solves op(A)*X = alpha*B or X*op(A) = alpha*B for a triangular A, and leaves X in B.
func (i *implementation) Ctrsm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha complex64,
	a []complex64, lda int, b []complex64, ldb int,
) {
	if !validTriangular(s, ul, t, d, m, n, len(a), lda, len(b), ldb) {
		i.Implementation.Ctrsm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	complexTriangular(i.e, true, s, ul, t, d, m, n, parts32(alpha), reals32(a), lda, reals32(b), ldb)
}

package gonumblas

import (
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
)

// Complex products are real ones, of m by 2n by 2k: see [host.ComplexProduct]. A call with an
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

// op64 is op(X).
func op64(t blas.Transpose, x []complex128, ld int) host.ComplexMatrix[float64] {
	trans, conj := t != blas.NoTrans, t == blas.ConjTrans
	return host.ComplexMatrix[float64]{Data: reals64(x), Stride: ld, Trans: trans, Conj: conj}
}

func op32(t blas.Transpose, x []complex64, ld int) host.ComplexMatrix[float32] {
	trans, conj := t != blas.NoTrans, t == blas.ConjTrans
	return host.ComplexMatrix[float32]{Data: reals32(x), Stride: ld, Trans: trans, Conj: conj}
}

// product64 is C = alpha*op(A)*op(B) + beta*C for op(A) of m by k and op(B) of k by n.
func product64(m, n, k int, alpha complex128, a, b host.ComplexMatrix[float64], beta complex128, c []complex128,
	ldc int,
) *host.ComplexProduct[float64] {
	return &host.ComplexProduct[float64]{
		M: m, N: n, K: k, Alpha: parts64(alpha), Beta: parts64(beta), A: a, B: b, C: reals64(c), StrideC: ldc,
	}
}

func product32(m, n, k int, alpha complex64, a, b host.ComplexMatrix[float32], beta complex64, c []complex64,
	ldc int,
) *host.ComplexProduct[float32] {
	return &host.ComplexProduct[float32]{
		M: m, N: n, K: k, Alpha: parts32(alpha), Beta: parts32(beta), A: a, B: b, C: reals32(c), StrideC: ldc,
	}
}

// complexGemm computes p, the whole of C.
func complexGemm[T float](e *engine, p *host.ComplexProduct[T]) {
	if e.keepsOnHost(p.M, p.N, p.K) && p.IsSmall() {
		p.ComputeRows()
		return
	}
	var multiply host.RealProduct[T] // on the host
	if p.Alpha != [2]T{} && toDevice[T](e, p.M, 2*p.N, 2*p.K) {
		multiply = realProduct[T](e)
	}
	must(p.Compute(multiply))
}

// realProduct gives the products that complex ones are made of.
func realProduct[T float](e *engine) host.RealProduct[T] {
	return func(m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) error {
		x, y, z := matrix(m, k, a, lda), matrix(k, n, b, ldb), matrix(m, n, c, ldc)
		gemm(e, alpha, blas.NoTrans, x, blas.NoTrans, y, beta, z)
		return nil
	}
}

// complexSyrk computes a triangle of p with op(B)ᵀ in the place of op(B), or with hermitian with
// op(B)ᴴ: then the diagonal of C is real.
func complexSyrk[T float](e *engine, ul blas.Uplo, hermitian bool, p *host.ComplexProduct[T]) {
	p.Part = host.UpperTriangle
	if ul == blas.Lower {
		p.Part = host.LowerTriangle
	}
	p.B.Trans = !p.A.Trans
	p.B.Conj = hermitian && p.B.Trans
	if hermitian { // imaginary parts of the diagonal are not read
		clearDiagonal(p)
	}
	if (e.fixed == nil || e.keepsOnHost(p.N, p.N, p.K)) && p.IsSmall() {
		p.ComputeRows()
	} else {
		must(p.Compute(realProduct[T](e)))
	}
	if hermitian {
		clearDiagonal(p)
	}
}

// complexSyr2k is complexSyrk, and then that for op(B)*op(A)ᵀ, or with hermitian op(B)*op(A)ᴴ times
// the conjugate of alpha.
func complexSyr2k[T float](e *engine, ul blas.Uplo, hermitian bool, p *host.ComplexProduct[T]) {
	q := *p
	q.A.Data, q.A.Stride, q.B.Data, q.B.Stride, q.Beta = p.B.Data, p.B.Stride, p.A.Data, p.A.Stride, [2]T{1}
	if hermitian {
		q.Alpha[1] = -q.Alpha[1]
	}
	complexSyrk(e, ul, hermitian, p)
	complexSyrk(e, ul, hermitian, &q)
}

// clearDiagonal makes the imaginary parts of the diagonal of C +0.
func clearDiagonal[T float](p *host.ComplexProduct[T]) {
	for i := range p.N {
		p.C[2*i*(p.StrideC+1)+1] = 0
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
	if k <= host.MaxTriangle {
		host.ComplexTriangular(solve, x, cols, alpha, b, row, col, nil)
		return
	}
	host.ComplexTriangular(solve, x, cols, alpha, b, row, col,
		func(m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int) {
			update(e, false, matrix(m, k, a, lda), matrix(k, n, b, ldb), matrix(m, n, c, ldc))
		})
}

// complexSymm computes p where A is the symmetric or, with conj, Hermitian matrix that its triangle
// stands for, and at the right side of B unless s is blas.Left.
func complexSymm[T float](e *engine, s blas.Side, ul blas.Uplo, conj bool, p *host.ComplexProduct[T]) {
	p.K = order(s, p.M, p.N)
	memory, whole := host.Take[T](2 * p.K * p.K)
	if p.Alpha != [2]T{} {
		host.ComplexMirror(ul == blas.Lower, conj, p.K, p.A.Data, p.A.Stride, whole)
	}
	p.A.Data, p.A.Stride = whole, p.K
	if s == blas.Right {
		p.A, p.B = p.B, p.A
	}
	complexGemm(e, p)
	memory.Give()
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

// Cgemm is C = alpha*op(A)*op(B) + beta*C.
func (i *implementation) Cgemm(tA, tB blas.Transpose, m, n, k int, alpha complex64, a []complex64, lda int,
	b []complex64, ldb int, beta complex64, c []complex64, ldc int,
) {
	if !validGemm(tA, tB, m, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Cgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	complexGemm(i.e, product32(m, n, k, alpha, op32(tA, a, lda), op32(tB, b, ldb), beta, c, ldc))
}

// Csymm is C = alpha*A*B + beta*C or C = alpha*B*A + beta*C for a symmetric A.
func (i *implementation) Csymm(s blas.Side, ul blas.Uplo, m, n int, alpha complex64, a []complex64, lda int,
	b []complex64, ldb int, beta complex64, c []complex64, ldc int,
) {
	if !validSymm(s, ul, m, n, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Csymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	x, y := op32(blas.NoTrans, a, lda), op32(blas.NoTrans, b, ldb)
	complexSymm(i.e, s, ul, false, product32(m, n, 0, alpha, x, y, beta, c, ldc))
}

// Chemm is C = alpha*A*B + beta*C or C = alpha*B*A + beta*C for a Hermitian A.
func (i *implementation) Chemm(s blas.Side, ul blas.Uplo, m, n int, alpha complex64, a []complex64, lda int,
	b []complex64, ldb int, beta complex64, c []complex64, ldc int,
) {
	if !validSymm(s, ul, m, n, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Chemm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	x, y := op32(blas.NoTrans, a, lda), op32(blas.NoTrans, b, ldb)
	complexSymm(i.e, s, ul, true, product32(m, n, 0, alpha, x, y, beta, c, ldc))
}

// Csyrk is C = alpha*op(A)*op(A)ᵀ + beta*C in one triangle.
func (i *implementation) Csyrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex64, a []complex64, lda int,
	beta complex64, c []complex64, ldc int,
) {
	if t == blas.ConjTrans || !validSyrk(ul, t, n, k, len(a), lda, len(c), ldc) {
		i.Implementation.Csyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	x := op32(t, a, lda)
	complexSyrk(i.e, ul, false, product32(n, n, k, alpha, x, x, beta, c, ldc))
}

// Cherk is C = alpha*op(A)*op(A)ᴴ + beta*C in one triangle.
func (i *implementation) Cherk(ul blas.Uplo, t blas.Transpose, n, k int, alpha float32, a []complex64, lda int,
	beta float32, c []complex64, ldc int,
) {
	if t == blas.Trans || !validSyrk(ul, t, n, k, len(a), lda, len(c), ldc) {
		i.Implementation.Cherk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	x := op32(t, a, lda)
	complexSyrk(i.e, ul, true, product32(n, n, k, complex(alpha, 0), x, x, complex(beta, 0), c, ldc))
}

// Csyr2k is C = alpha*op(A)*op(B)ᵀ + alpha*op(B)*op(A)ᵀ + beta*C in one triangle.
func (i *implementation) Csyr2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex64, a []complex64, lda int,
	b []complex64, ldb int, beta complex64, c []complex64, ldc int,
) {
	if t == blas.ConjTrans || !validSyr2k(ul, t, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Csyr2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	complexSyr2k(i.e, ul, false, product32(n, n, k, alpha, op32(t, a, lda), op32(t, b, ldb), beta, c, ldc))
}

// Cher2k is C = alpha*op(A)*op(B)ᴴ + conj(alpha)*op(B)*op(A)ᴴ + beta*C in one triangle.
func (i *implementation) Cher2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex64, a []complex64, lda int,
	b []complex64, ldb int, beta float32, c []complex64, ldc int,
) {
	if t == blas.Trans || !validSyr2k(ul, t, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Cher2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	complexSyr2k(i.e, ul, true, product32(n, n, k, alpha, op32(t, a, lda), op32(t, b, ldb), complex(beta, 0), c, ldc))
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

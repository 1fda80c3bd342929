package gonumblas

import (
	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
)

// Complex products are real ones, of m by 2n by 2k: see [host.ComplexProduct].

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

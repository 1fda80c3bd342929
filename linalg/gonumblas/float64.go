package gonumblas

import (
	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
)

//go:generate go run twins.go

// What follows is BLAS as gonum declares it. A call with an invalid argument, or with nothing to
// do, goes to gonum's own implementation, which panics or returns. A valid call of level 3 never
// does. float32.go is made of this file.

// Ddot is the sum of the products of x and y.
func (i *implementation) Ddot(n int, x []float64, incX int, y []float64, incY int) float64 {
	if n <= 0 || !fitsVector(n, incX, len(x)) || !fitsVector(n, incY, len(y)) {
		return i.Implementation.Ddot(n, x, incX, y, incY)
	}
	return float64(dot(n, x, incX, y, incY))
}

// Dasum is the sum of the magnitudes of x.
func (i *implementation) Dasum(n int, x []float64, incX int) float64 {
	if n <= 0 || incX < 0 || !fitsVector(n, incX, len(x)) {
		return i.Implementation.Dasum(n, x, incX)
	}
	return float64(asum(n, x, incX))
}

// Dnrm2 is the square root of the sum of the squares of x.
func (i *implementation) Dnrm2(n int, x []float64, incX int) float64 {
	if n <= 0 || incX < 0 || !fitsVector(n, incX, len(x)) {
		return i.Implementation.Dnrm2(n, x, incX)
	}
	return float64(nrm2(n, x, incX))
}

// Idamax is the index of the element of the largest magnitude.
func (i *implementation) Idamax(n int, x []float64, incX int) int {
	if n <= 0 || incX < 0 || !fitsVector(n, incX, len(x)) {
		return i.Implementation.Idamax(n, x, incX)
	}
	return host.IamaxSteps(n, &x[0], incX)
}

// Daxpy is y = alpha*x + y.
func (i *implementation) Daxpy(n int, alpha float64, x []float64, incX int, y []float64, incY int) {
	if n <= 0 || alpha == 0 || !fitsVector(n, incX, len(x)) || !fitsVector(n, incY, len(y)) {
		i.Implementation.Daxpy(n, alpha, x, incX, y, incY)
		return
	}
	if incX == 1 && incY == 1 {
		host.Axpy(alpha, x[:n], y[:n])
		return
	}
	host.AxpySteps(n, alpha, &x[start(n, incX)], incX, &y[start(n, incY)], incY)
}

// Dscal is x = alpha*x.
func (i *implementation) Dscal(n int, alpha float64, x []float64, incX int) {
	if n <= 0 || alpha == 0 || incX < 0 || !fitsVector(n, incX, len(x)) {
		i.Implementation.Dscal(n, alpha, x, incX)
		return
	}
	if incX == 1 {
		host.Scal(alpha, x[:n])
		return
	}
	host.ScalSteps(n, alpha, &x[0], incX)
}

// Dgemv is y = alpha*op(A)*x + beta*y.
func (i *implementation) Dgemv(t blas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int,
	beta float64, y []float64, incY int,
) {
	if !gemv(t, m, n, alpha, a, lda, x, incX, beta, y, incY) {
		i.Implementation.Dgemv(t, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Dsymv is y = alpha*A*x + beta*y for a symmetric A.
func (i *implementation) Dsymv(ul blas.Uplo, n int, alpha float64, a []float64, lda int, x []float64, incX int,
	beta float64, y []float64, incY int,
) {
	if !symv(ul, n, alpha, a, lda, x, incX, beta, y, incY) {
		i.Implementation.Dsymv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Dger is A = A + alpha*x*yᵀ.
func (i *implementation) Dger(
	m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int,
) {
	if !ger(m, n, alpha, x, incX, y, incY, a, lda) {
		i.Implementation.Dger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Dsyr is A = A + alpha*x*xᵀ in one triangle.
func (i *implementation) Dsyr(ul blas.Uplo, n int, alpha float64, x []float64, incX int, a []float64, lda int) {
	if !syr(ul, n, alpha, x, incX, a, lda) {
		i.Implementation.Dsyr(ul, n, alpha, x, incX, a, lda)
	}
}

// Dsyr2 is A = A + alpha*x*yᵀ + alpha*y*xᵀ in one triangle.
func (i *implementation) Dsyr2(
	ul blas.Uplo, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int,
) {
	if !syr2(ul, n, alpha, x, incX, y, incY, a, lda) {
		i.Implementation.Dsyr2(ul, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Dtrmv is x = op(A)*x for a triangular A.
func (i *implementation) Dtrmv(
	ul blas.Uplo, t blas.Transpose, d blas.Diag, n int, a []float64, lda int, x []float64, incX int,
) {
	if !triangularVector(false, ul, t, d, n, a, lda, x, incX) {
		i.Implementation.Dtrmv(ul, t, d, n, a, lda, x, incX)
	}
}

// Dtrsv solves op(A)*X = x for a triangular A, and leaves X in x.
func (i *implementation) Dtrsv(
	ul blas.Uplo, t blas.Transpose, d blas.Diag, n int, a []float64, lda int, x []float64, incX int,
) {
	if !triangularVector(true, ul, t, d, n, a, lda, x, incX) {
		i.Implementation.Dtrsv(ul, t, d, n, a, lda, x, incX)
	}
}

// Dgemm is C = alpha*op(A)*op(B) + beta*C.
func (i *implementation) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64,
	ldb int, beta float64, c []float64, ldc int,
) {
	if !gemmStored(i.e, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		i.Implementation.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Dsymm is C = alpha*A*B + beta*C or C = alpha*B*A + beta*C for a symmetric A.
func (i *implementation) Dsymm(s blas.Side, ul blas.Uplo, m, n int, alpha float64, a []float64, lda int, b []float64,
	ldb int, beta float64, c []float64, ldc int,
) {
	if !validSymm(s, ul, m, n, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Dsymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	symm(i.e, s == blas.Left, ul == blas.Lower, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Dsyrk is C = alpha*op(A)*op(A)ᵀ + beta*C in one triangle.
func (i *implementation) Dsyrk(
	ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int,
) {
	if !syrk(i.e, false, ul, t, n, k, alpha, a, lda, a, lda, beta, c, ldc) {
		i.Implementation.Dsyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Dsyr2k is C = alpha*op(A)*op(B)ᵀ + alpha*op(B)*op(A)ᵀ + beta*C in one triangle.
func (i *implementation) Dsyr2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []float64, lda int,
	b []float64, ldb int, beta float64, c []float64, ldc int,
) {
	if !syrk(i.e, true, ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		i.Implementation.Dsyr2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Dtrmm is B = alpha*op(A)*B or B = alpha*B*op(A) for a triangular A.
func (i *implementation) Dtrmm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha float64,
	a []float64, lda int, b []float64, ldb int,
) {
	if !triangular(i.e, false, s, ul, t, d, m, n, alpha, a, lda, b, ldb) {
		i.Implementation.Dtrmm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Dtrsm solves op(A)*X = alpha*B or X*op(A) = alpha*B for a triangular A, and leaves X in B.
func (i *implementation) Dtrsm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha float64,
	a []float64, lda int, b []float64, ldb int,
) {
	if !triangular(i.e, true, s, ul, t, d, m, n, alpha, a, lda, b, ldb) {
		i.Implementation.Dtrsm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
	}
}

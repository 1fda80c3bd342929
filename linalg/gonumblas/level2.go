package gonumblas

import "gonum.org/v1/gonum/blas"

// What follows is level 2 as gonum declares it. A call with an invalid argument, or with
// nothing to do, goes to gonum's own implementation, which panics or returns.

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

// Sgemv is y = alpha*op(A)*x + beta*y.
func (i *implementation) Sgemv(t blas.Transpose, m, n int, alpha float32, a []float32, lda int, x []float32, incX int,
	beta float32, y []float32, incY int,
) {
	if !gemv(t, m, n, alpha, a, lda, x, incX, beta, y, incY) {
		i.Implementation.Sgemv(t, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Ssymv is y = alpha*A*x + beta*y for a symmetric A.
func (i *implementation) Ssymv(ul blas.Uplo, n int, alpha float32, a []float32, lda int, x []float32, incX int,
	beta float32, y []float32, incY int,
) {
	if !symv(ul, n, alpha, a, lda, x, incX, beta, y, incY) {
		i.Implementation.Ssymv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Sger is A = A + alpha*x*yᵀ.
func (i *implementation) Sger(
	m, n int, alpha float32, x []float32, incX int, y []float32, incY int, a []float32, lda int,
) {
	if !ger(m, n, alpha, x, incX, y, incY, a, lda) {
		i.Implementation.Sger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Ssyr is A = A + alpha*x*xᵀ in one triangle.
func (i *implementation) Ssyr(ul blas.Uplo, n int, alpha float32, x []float32, incX int, a []float32, lda int) {
	if !syr(ul, n, alpha, x, incX, a, lda) {
		i.Implementation.Ssyr(ul, n, alpha, x, incX, a, lda)
	}
}

// Ssyr2 is A = A + alpha*x*yᵀ + alpha*y*xᵀ in one triangle.
func (i *implementation) Ssyr2(
	ul blas.Uplo, n int, alpha float32, x []float32, incX int, y []float32, incY int, a []float32, lda int,
) {
	if !syr2(ul, n, alpha, x, incX, y, incY, a, lda) {
		i.Implementation.Ssyr2(ul, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Strmv is x = op(A)*x for a triangular A.
func (i *implementation) Strmv(
	ul blas.Uplo, t blas.Transpose, d blas.Diag, n int, a []float32, lda int, x []float32, incX int,
) {
	if !triangularVector(false, ul, t, d, n, a, lda, x, incX) {
		i.Implementation.Strmv(ul, t, d, n, a, lda, x, incX)
	}
}

// Strsv solves op(A)*X = x for a triangular A, and leaves X in x.
func (i *implementation) Strsv(
	ul blas.Uplo, t blas.Transpose, d blas.Diag, n int, a []float32, lda int, x []float32, incX int,
) {
	if !triangularVector(true, ul, t, d, n, a, lda, x, incX) {
		i.Implementation.Strsv(ul, t, d, n, a, lda, x, incX)
	}
}

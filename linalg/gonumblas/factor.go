package gonumblas

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

// Large matrices are factored by linalg, which keeps them in the device's memory. One that fails
// leaves the matrix as it was, for the host.

// isForDevice tells whether a matrix of m by n is: the product of half its columns is for the
// device.
func (e *engine) isForDevice(m, n int) bool {
	half := (min(m, n) + 1) / 2
	return !e.info.Host && toDevice[float64](e, m-half, n-half, half)
}

// deviceLU is Dgetrf. It is false where the device fails, and where numbers are beyond the type,
// which the host leaves as LAPACK does.
func (e *engine) deviceLU(a linalg.Matrix[float64], ipiv []int) (done bool) {
	lu, err := linalg.FactorLU(cut(a), linalg.On(e.s))
	switch {
	case errors.Is(err, linalg.ErrOverflow):
		return false
	case err != nil:
		e.report(fmt.Sprintf("LU of %s was", a), err)
		return false
	}
	copyMatrix(a, lu.Packed())
	copy(ipiv, lu.Pivots())
	return true
}

// deviceCholesky is Dpotrf. Where A is not positive definite it stays as it is.
func (e *engine) deviceCholesky(ul blas.Uplo, a linalg.Matrix[float64]) (definite, done bool) {
	n := a.Rows
	triangle, memory := scratch[float64](n, n)
	defer memory.Give()
	takeTriangle(ul, triangle, a)
	lower := triangle
	if ul == blas.Upper {
		transposed, memory := scratch[float64](n, n)
		defer memory.Give()
		host.Transpose(n, n, triangle.Data, n, transposed.Data, n)
		lower = transposed
	}
	c, err := linalg.FactorCholesky(lower, linalg.On(e.s))
	switch {
	case errors.Is(err, linalg.ErrNotPositiveDefinite):
		return false, true
	case err != nil:
		e.report(fmt.Sprintf("Cholesky of %s was", a), err)
		return false, false
	}
	l := c.L()
	if ul == blas.Upper {
		host.Transpose(n, n, l.Data, l.Stride, triangle.Data, n)
		l = triangle
	}
	takeTriangle(ul, a, l)
	return true, true
}

// takeTriangle makes a triangle of dst that of src, and touches nothing else.
func takeTriangle(ul blas.Uplo, dst, src linalg.Matrix[float64]) {
	for i := range src.Rows {
		from, to := 0, i+1
		if ul == blas.Upper {
			from, to = i, src.Cols
		}
		copy(dst.Row(i)[from:to], src.Row(i)[from:to])
	}
}

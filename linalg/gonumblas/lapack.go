package gonumblas

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"

	"github.com/tandem-gpu/tandem/internal/solve"
)

// A factorizer is gonum's LAPACK, but for LU, Cholesky, QR, LQ, symmetric eigenvalues, SVD and
// triangles. As in level 3, a call with an invalid argument, or with nothing to do, goes to gonum's
// own implementation.
type factorizer struct {
	gonum.Implementation
	e *engine
}

var _ lapack.Float64 = factorizer{}

func (f factorizer) solver() solve.Solver[float64] { return solver[float64](f.e) }

// isSquare tells whether A is a matrix of n by n, and n is not 0.
func isSquare(n int, a []float64, lda int) bool { return n > 0 && fits(n, n, lda, len(a)) }

func isRightSide(n, nrhs int, b []float64, ldb int) bool {
	return nrhs > 0 && fits(n, nrhs, ldb, len(b))
}

func isNorm(norm lapack.MatrixNorm) bool {
	return norm == lapack.MaxColumnSum || norm == lapack.MaxRowSum
}

// Dlange is a norm of A: sums as gonum's, of several rows at once.
func (f factorizer) Dlange(norm lapack.MatrixNorm, m, n int, a []float64, lda int, work []float64) float64 {
	if !isNorm(norm) || min(m, n) <= 0 || !fits(m, n, lda, len(a)) || norm == lapack.MaxColumnSum && len(work) < n {
		return f.Implementation.Dlange(norm, m, n, a, lda, work)
	}
	if norm == lapack.MaxColumnSum {
		solve.ColumnSums(m, n, a, lda, work)
		return largest(work[:n])
	}
	value := 0.0
	var sums [8]float64
	for i := 0; i < m; i += len(sums) {
		rows := min(len(sums), m-i)
		solve.RowSums(rows, n, a[i*lda:], lda, sums[:])
		value = math.Max(value, largest(sums[:rows])) // an infinity before a NaN
	}
	return value
}

// largest is the largest of sums of magnitudes, an infinity before a NaN.
func largest(sums []float64) float64 {
	value := 0.0
	for _, v := range sums {
		value = max(value, v)
	}
	if value != value && slices.Contains(sums, math.Inf(1)) {
		return math.Inf(1)
	}
	return value
}

// Dlansy is a norm of a symmetric matrix in the same way.
func (f factorizer) Dlansy(norm lapack.MatrixNorm, ul blas.Uplo, n int, a []float64, lda int, work []float64) float64 {
	if !isNorm(norm) || !isUplo(ul) || !isSquare(n, a, lda) || len(work) < n {
		return f.Implementation.Dlansy(norm, ul, n, a, lda, work)
	}
	solve.SymmetricSums(ul == blas.Lower, n, a, lda, work)
	value := 0.0
	for _, v := range work[:n] {
		value = max(value, v)
	}
	return value
}

// isMagnitude tells whether a norm is positive and finite.
func isMagnitude(norm float64) bool { return norm > 0 && !math.IsInf(norm, 1) }

// Dgetrf factors A = P*L*U. It is false where a pivot is 0.
func (f factorizer) Dgetrf(m, n int, a []float64, lda int, ipiv []int) bool {
	if m <= 0 || n <= 0 || !fits(m, n, lda, len(a)) || len(ipiv) != min(m, n) {
		return f.Implementation.Dgetrf(m, n, a, lda, ipiv)
	}
	if f.e.isForDevice(m, n) && f.e.deviceLU(matrix(m, n, a, lda), ipiv) {
		return !hasZero(min(m, n), a, lda)
	}
	singular, err := f.solver().LU(m, n, a, lda, ipiv)
	must(err)
	return singular < 0
}

// Dgetrs solves op(A)*X = B for A as Dgetrf left it.
func (f factorizer) Dgetrs(trans blas.Transpose, n, nrhs int, a []float64, lda int, ipiv []int, b []float64, ldb int) {
	if !isTranspose(trans) || !isSquare(n, a, lda) || !isRightSide(n, nrhs, b, ldb) || len(ipiv) != n {
		f.Implementation.Dgetrs(trans, n, nrhs, a, lda, ipiv, b, ldb)
		return
	}
	must(f.solver().SolveLU(trans != blas.NoTrans, n, nrhs, a, lda, ipiv, b, ldb))
}

// Dgetri makes A, as Dgetrf left it, its inverse. It is false where a pivot is 0.
func (f factorizer) Dgetri(n int, a []float64, lda int, ipiv []int, work []float64, lwork int) bool {
	if !isSquare(n, a, lda) || len(ipiv) != n || lwork < n || len(work) < lwork {
		return f.Implementation.Dgetri(n, a, lda, ipiv, work, lwork)
	}
	if hasZero(n, a, lda) {
		return false
	}
	must(f.solver().InvertLU(n, a, lda, ipiv))
	work[0] = float64(n)
	return true
}

// hasZero tells whether there is a 0 on the diagonal.
func hasZero(n int, a []float64, lda int) bool {
	for i := range n {
		if a[i*(lda+1)] == 0 {
			return true
		}
	}
	return false
}

// Dgecon estimates the reciprocal of the condition number of A as Dgetrf left it.
func (f factorizer) Dgecon(norm lapack.MatrixNorm, n int, a []float64, lda int, anorm float64, work []float64,
	iwork []int,
) float64 {
	if !isNorm(norm) || !isSquare(n, a, lda) || !isMagnitude(anorm) || len(work) < 4*n || len(iwork) < n {
		return f.Implementation.Dgecon(norm, n, a, lda, anorm, work, iwork)
	}
	return reciprocal(solve.LUCondition(norm == lapack.MaxRowSum, n, a, lda, solve.Norm[float64]{Value: anorm}), anorm)
}

// reciprocal is 1/cond, or 0 where the inverse of A, whose norm is anorm, overflows: package mat
// asks the condition number alone whether what it has computed can be used.
func reciprocal(cond, anorm float64) float64 {
	if math.IsInf(cond/anorm, 1) {
		return 0
	}
	return 1 / cond
}

// Dpotrf factors A = L*Lᵀ or Uᵀ*U. It is false where A is not positive definite.
func (f factorizer) Dpotrf(ul blas.Uplo, n int, a []float64, lda int) bool {
	if !isUplo(ul) || !isSquare(n, a, lda) {
		return f.Implementation.Dpotrf(ul, n, a, lda)
	}
	if f.e.isForDevice(n, n) {
		if definite, done := f.e.deviceCholesky(ul, matrix(n, n, a, lda)); done {
			return definite
		}
	}
	row, err := f.solver().Cholesky(ul == blas.Lower, n, a, lda)
	must(err)
	return row < 0
}

// Dpotrs solves A*X = B for A as Dpotrf left it.
func (f factorizer) Dpotrs(ul blas.Uplo, n, nrhs int, a []float64, lda int, b []float64, ldb int) {
	if !isUplo(ul) || !isSquare(n, a, lda) || !isRightSide(n, nrhs, b, ldb) {
		f.Implementation.Dpotrs(ul, n, nrhs, a, lda, b, ldb)
		return
	}
	must(f.solver().SolveCholesky(ul == blas.Lower, n, nrhs, a, lda, b, ldb))
}

// Dpotri makes the triangle of A, as Dpotrf left it, that of its inverse.
func (f factorizer) Dpotri(ul blas.Uplo, n int, a []float64, lda int) bool {
	if !isUplo(ul) || !isSquare(n, a, lda) {
		return f.Implementation.Dpotri(ul, n, a, lda)
	}
	if hasZero(n, a, lda) {
		return false
	}
	must(f.solver().InvertCholesky(ul == blas.Lower, n, a, lda))
	return true
}

// Dpocon estimates the reciprocal of the condition number of A as Dpotrf left it.
func (f factorizer) Dpocon(ul blas.Uplo, n int, a []float64, lda int, anorm float64, work []float64, iwork []int,
) float64 {
	if !isUplo(ul) || !isSquare(n, a, lda) || !isMagnitude(anorm) || len(work) < 3*n || len(iwork) < n {
		return f.Implementation.Dpocon(ul, n, a, lda, anorm, work, iwork)
	}
	return reciprocal(solve.CholeskyCondition(ul == blas.Lower, n, a, lda, solve.Norm[float64]{Value: anorm}), anorm)
}

// Dtrtri inverts a triangle. It is false where there is a 0 on its diagonal.
func (f factorizer) Dtrtri(ul blas.Uplo, d blas.Diag, n int, a []float64, lda int) bool {
	if !isUplo(ul) || !isDiag(d) || !isSquare(n, a, lda) {
		return f.Implementation.Dtrtri(ul, d, n, a, lda)
	}
	if d == blas.NonUnit && hasZero(n, a, lda) {
		return false
	}
	must(f.solver().InvertTriangle(ul == blas.Upper, d == blas.Unit, n, a, lda))
	return true
}

// Dtrtrs solves op(A)*X = B for a triangle. It is false where there is a 0 on its diagonal.
func (f factorizer) Dtrtrs(ul blas.Uplo, trans blas.Transpose, d blas.Diag, n, nrhs int, a []float64, lda int,
	b []float64, ldb int,
) bool {
	if !isUplo(ul) || !isTranspose(trans) || !isDiag(d) || !isSquare(n, a, lda) || !isRightSide(n, nrhs, b, ldb) {
		return f.Implementation.Dtrtrs(ul, trans, d, n, nrhs, a, lda, b, ldb)
	}
	if d == blas.NonUnit && hasZero(n, a, lda) {
		return false
	}
	must(f.solver().Solve(triangle(ul, trans, d, n, a, lda), true, 1, n, nrhs, b, ldb))
	return true
}

// Dtrcon estimates the reciprocal of the condition number of a triangle.
func (f factorizer) Dtrcon(norm lapack.MatrixNorm, ul blas.Uplo, d blas.Diag, n int, a []float64, lda int,
	work []float64, iwork []int,
) float64 {
	if !isNorm(norm) || !isUplo(ul) || !isDiag(d) || !isSquare(n, a, lda) || len(work) < 3*n || len(iwork) < n {
		return f.Implementation.Dtrcon(norm, ul, d, n, a, lda, work, iwork)
	}
	anorm := f.Dlantr(norm, ul, d, n, n, a, lda, work)
	if !isMagnitude(anorm) { // with NaN or infinities, QR and LQ are singular
		return 0
	}
	t := triangle(ul, blas.NoTrans, d, n, a, lda)
	cond := solve.TriangleCondition(norm == lapack.MaxRowSum, t, solve.Norm[float64]{Value: anorm})
	return reciprocal(cond, anorm)
}

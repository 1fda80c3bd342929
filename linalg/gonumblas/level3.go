package gonumblas

import (
	"math"
	"math/bits"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

// fits tells whether n elements hold a matrix with that leading dimension, as gonum counts. It
// panics where gonum would miscount.
func fits(rows, cols, ld, n int) bool {
	if ld < max(1, cols) {
		return false
	}
	if host.Fits(rows, cols, ld, n) {
		return true
	}
	checkCount(bits.Mul(uint(rows-1), uint(ld)))
	return false
}

// checkCount panics where the elements before the last row, or before the last element of a vector,
// are more than gonum counts to: it would take their number for a small one, or one below zero, and
// reach outside the slice. Room is left for the rest of a row.
func checkCount(hi, lo uint) {
	if hi != 0 || lo > math.MaxInt/2 {
		panic("blas: insufficient length: the increment or leading dimension is beyond any slice")
	}
}

func isTranspose(t blas.Transpose) bool {
	return t == blas.NoTrans || t == blas.Trans || t == blas.ConjTrans
}
func isUplo(ul blas.Uplo) bool { return ul == blas.Lower || ul == blas.Upper }
func isSide(s blas.Side) bool  { return s == blas.Left || s == blas.Right }
func isDiag(d blas.Diag) bool  { return d == blas.Unit || d == blas.NonUnit }

// stored is the shape of a matrix in memory whose op is rows by cols.
func stored(t blas.Transpose, rows, cols int) (int, int) {
	if t == blas.NoTrans {
		return rows, cols
	}
	return cols, rows
}

// order is the number of rows of the square matrix at side s of an m by n matrix.
func order(s blas.Side, m, n int) int {
	if s == blas.Left {
		return m
	}
	return n
}

func validGemm(tA, tB blas.Transpose, m, n, k, a, lda, b, ldb, c, ldc int) bool {
	if !isTranspose(tA) || !isTranspose(tB) || m <= 0 || n <= 0 || k < 0 {
		return false
	}
	aRows, aCols := stored(tA, m, k)
	bRows, bCols := stored(tB, k, n)
	return fits(aRows, aCols, lda, a) && fits(bRows, bCols, ldb, b) && fits(m, n, ldc, c)
}

func validSymm(s blas.Side, ul blas.Uplo, m, n, a, lda, b, ldb, c, ldc int) bool {
	k := order(s, m, n)
	return isSide(s) && isUplo(ul) && m > 0 && n > 0 && fits(k, k, lda, a) && fits(m, n, ldb, b) && fits(m, n, ldc, c)
}

func validSyrk(ul blas.Uplo, t blas.Transpose, n, k, a, lda, c, ldc int) bool {
	if !isUplo(ul) || !isTranspose(t) || n <= 0 || k < 0 {
		return false
	}
	rows, cols := stored(t, n, k)
	return fits(rows, cols, lda, a) && fits(n, n, ldc, c)
}

func validSyr2k(ul blas.Uplo, t blas.Transpose, n, k, a, lda, b, ldb, c, ldc int) bool {
	return validSyrk(ul, t, n, k, a, lda, c, ldc) && validSyrk(ul, t, n, k, b, ldb, c, ldc)
}

func validTriangular(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n, a, lda, b, ldb int) bool {
	k := order(s, m, n)
	return isSide(s) && isUplo(ul) && isTranspose(t) && isDiag(d) && m > 0 && n > 0 && fits(k, k, lda, a) &&
		fits(m, n, ldb, b)
}

// matrix is what BLAS passes as three arguments.
func matrix[T float](rows, cols int, x []T, ld int) linalg.Matrix[T] {
	return linalg.Matrix[T]{Rows: rows, Cols: cols, Stride: ld, Data: x}
}

package gonumblas

import (
	"math/bits"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
)

// Levels 1 and 2 run on the host, whatever the device: they read each element once, which takes
// less time than to copy it. Vectors whose elements are apart, or in reverse order, are worked on
// in contiguous copies, but where one at a time is as fast.

// fitsVector tells whether a slice of so many elements holds n that are inc apart. As fits it
// panics where gonum would miscount.
func fitsVector(n, inc, elements int) bool {
	hi, lo := bits.Mul(uint(n-1), uint(max(inc, -inc)))
	if hi == 0 && lo < uint(elements) {
		return inc != 0
	}
	checkCount(hi, lo)
	return false
}

// start is the index of the first of n elements that are inc apart: BLAS begins at the end where
// inc is below zero.
func start(n, inc int) int { return max(0, (1-n)*inc) }

// gather is n elements of x side by side: themselves where inc is 1, else a copy in scratch memory.
func gather[T float](n int, x []T, inc int) ([]T, *host.Scratch) {
	if inc == 1 {
		return x[:n], nil
	}
	memory, c := host.Take[T](n)
	copySteps(c, x, inc)
	return c, memory
}

// copySteps makes c elements of x that are inc apart.
func copySteps[T float](c, x []T, inc int) {
	at := start(len(c), inc)
	for i := range c {
		c[i] = x[at]
		at += inc
	}
}

// scatter puts what gather gave, and has changed since, back into x, and gives the memory back.
func scatter[T float](c []T, memory *host.Scratch, x []T, inc int) {
	if inc == 1 {
		return
	}
	at := start(len(c), inc)
	for _, v := range c {
		x[at] = v
		at += inc
	}
	memory.Give()
}

// gemv, as all that follows, tells whether the arguments are valid, and does nothing if they are
// not: to check them in a function of its own would be felt in small calls.
func gemv[T float](
	t blas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int,
) (valid bool) {
	if !isTranspose(t) || m <= 0 || n <= 0 || !fits(m, n, lda, len(a)) {
		return false
	}
	trans := t != blas.NoTrans
	rows, cols := stored(t, m, n)
	if !fitsVector(cols, incX, len(x)) || !fitsVector(rows, incY, len(y)) {
		return false
	}
	xs, memory := gather(cols, x, incX)
	ys, result := gather(rows, y, incY)
	host.Gemv(trans, m, n, alpha, a, lda, xs, beta, ys)
	scatter(ys, result, y, incY)
	memory.Give()
	return true
}

func symv[T float](
	ul blas.Uplo, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int,
) (valid bool) {
	if !isUplo(ul) || n <= 0 || !fits(n, n, lda, len(a)) || !fitsVector(n, incX, len(x)) ||
		!fitsVector(n, incY, len(y)) {
		return false
	}
	xs, memory := gather(n, x, incX)
	ys, result := gather(n, y, incY)
	host.Symv(ul == blas.Lower, n, alpha, a, lda, xs, beta, ys)
	scatter(ys, result, y, incY)
	memory.Give()
	return true
}

// ger does nothing either where alpha is 0.
func ger[T float](m, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int) (valid bool) {
	if alpha == 0 || m <= 0 || n <= 0 || !fits(m, n, lda, len(a)) || !fitsVector(m, incX, len(x)) ||
		!fitsVector(n, incY, len(y)) {
		return false
	}
	xs, memory := gather(m, x, incX)
	ys, more := gather(n, y, incY)
	host.Ger(m, n, alpha, xs, ys, a, lda)
	memory.Give()
	more.Give()
	return true
}

// syr and syr2 do nothing either where alpha is 0.
func syr[T float](ul blas.Uplo, n int, alpha T, x []T, incX int, a []T, lda int) (valid bool) {
	if alpha == 0 || !isUplo(ul) || n <= 0 || !fits(n, n, lda, len(a)) || !fitsVector(n, incX, len(x)) {
		return false
	}
	xs, memory := gather(n, x, incX)
	host.Syr(ul == blas.Lower, n, alpha, xs, a, lda)
	memory.Give()
	return true
}

func syr2[T float](ul blas.Uplo, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int) (valid bool) {
	if alpha == 0 || !isUplo(ul) || n <= 0 || !fits(n, n, lda, len(a)) || !fitsVector(n, incX, len(x)) ||
		!fitsVector(n, incY, len(y)) {
		return false
	}
	xs, memory := gather(n, x, incX)
	ys, more := gather(n, y, incY)
	host.Syr2(ul == blas.Lower, n, alpha, xs, ys, a, lda)
	memory.Give()
	more.Give()
	return true
}

// triangularVector is trmv, or with solve trsv.
func triangularVector[T float](
	solve bool, ul blas.Uplo, t blas.Transpose, d blas.Diag, n int, a []T, lda int, x []T, incX int,
) (valid bool) {
	if !isUplo(ul) || !isTranspose(t) || !isDiag(d) || n <= 0 || !fits(n, n, lda, len(a)) ||
		!fitsVector(n, incX, len(x)) {
		return false
	}
	lower, trans, unit := ul == blas.Lower, t != blas.NoTrans, d == blas.Unit
	xs, memory := gather(n, x, incX)
	if solve {
		host.Trsv(lower, trans, unit, n, a, lda, xs)
	} else {
		host.Trmv(lower, trans, unit, n, a, lda, xs)
	}
	scatter(xs, memory, x, incX)
	return true
}

func dot[T float](n int, x []T, incX int, y []T, incY int) float64 {
	xs, memory := gather(n, x, incX)
	ys, more := gather(n, y, incY)
	sum := host.Dot(xs, ys)
	memory.Give()
	more.Give()
	return sum
}

func asum[T float](n int, x []T, incX int) float64 {
	xs, memory := gather(n, x, incX)
	sum := host.Asum(xs)
	memory.Give()
	return sum
}

func nrm2[T float](n int, x []T, incX int) float64 {
	xs, memory := gather(n, x, incX)
	norm := host.Nrm2(xs)
	memory.Give()
	return norm
}

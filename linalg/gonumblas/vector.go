package gonumblas

import (
	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
)

// Levels 1 and 2 run on the host, whatever the device: they read each element once, which takes
// less time than to copy it. Vectors whose elements are apart, or in reverse order, are worked on
// in contiguous copies, but for few elements, and where one at a time is as fast. What needs no
// copy goes on at once: in small calls each function on the way would be felt.

// fitsVector tells whether a slice of so many elements holds n that are inc apart.
func fitsVector(n, inc, elements int) bool {
	return inc != 0 && (n-1)*max(inc, -inc) < elements
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

func validGemv(t blas.Transpose, m, n, a, lda, x, incX, y, incY int) bool {
	if !isTranspose(t) || m <= 0 || n <= 0 || !fits(m, n, lda, a) {
		return false
	}
	rows, cols := stored(t, m, n)
	return fitsVector(cols, incX, x) && fitsVector(rows, incY, y)
}

func validGer(m, n, x, incX, y, incY, a, lda int) bool {
	return m > 0 && n > 0 && fits(m, n, lda, a) && fitsVector(m, incX, x) && fitsVector(n, incY, y)
}

func validSymv(ul blas.Uplo, n, a, lda, x, incX, y, incY int) bool {
	return isUplo(ul) && validGer(n, n, x, incX, y, incY, a, lda)
}

func validTrmv(ul blas.Uplo, t blas.Transpose, d blas.Diag, n, a, lda, x, incX int) bool {
	return isTranspose(t) && isDiag(d) && validSymv(ul, n, a, lda, x, incX, x, incX)
}

// fewSteps is the steps of chains up to which one element at a time is the fastest.
const fewSteps = 8

func gemv[T float](
	t blas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int,
) {
	trans := t != blas.NoTrans
	rows, cols := stored(t, m, n)
	side := incX == 1 && incY == 1
	if rows <= host.FewRows && (!side || cols <= fewSteps) {
		row, col := host.Steps(trans, lda)
		host.GemvSteps(rows, cols, alpha, &a[0], row, col, &x[start(cols, incX)], incX, beta, &y[start(rows, incY)],
			incY)
		return
	}
	if side {
		host.Gemv(trans, m, n, alpha, a, lda, x, beta, y)
		return
	}
	xs, memory := gather(cols, x, incX)
	ys, result := gather(rows, y, incY)
	host.Gemv(trans, m, n, alpha, a, lda, xs, beta, ys)
	scatter(ys, result, y, incY)
	memory.Give()
}

func symv[T float](
	ul blas.Uplo, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int,
) {
	if n <= host.FewSymv && alpha != 0 {
		host.SymvSteps(ul == blas.Lower, n, alpha, &a[0], lda, &x[start(n, incX)], incX, beta, &y[start(n, incY)], incY)
		return
	}
	if incX == 1 && incY == 1 {
		host.Symv(ul == blas.Lower, n, alpha, a, lda, x, beta, y)
		return
	}
	xs, memory := gather(n, x, incX)
	ys, result := gather(n, y, incY)
	host.Symv(ul == blas.Lower, n, alpha, a, lda, xs, beta, ys)
	scatter(ys, result, y, incY)
	memory.Give()
}

func ger[T float](m, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int) {
	if incX == 1 && incY == 1 {
		host.Ger(m, n, alpha, x, y, a, lda)
		return
	}
	if max(m, n) <= fewElements {
		var xs, ys [fewElements]T
		copySteps(xs[:m], x, incX)
		copySteps(ys[:n], y, incY)
		host.GerAlone(m, n, alpha, xs[:m], ys[:n], a, lda)
		return
	}
	xs, memory := gather(m, x, incX)
	ys, more := gather(n, y, incY)
	host.Ger(m, n, alpha, xs, ys, a, lda)
	memory.Give()
	more.Give()
}

func syr[T float](ul blas.Uplo, n int, alpha T, x []T, incX int, a []T, lda int) {
	if incX == 1 {
		host.Syr(ul == blas.Lower, n, alpha, x, a, lda)
		return
	}
	xs, memory := gather(n, x, incX)
	host.Syr(ul == blas.Lower, n, alpha, xs, a, lda)
	memory.Give()
}

func syr2[T float](ul blas.Uplo, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int) {
	if incX == 1 && incY == 1 {
		host.Syr2(ul == blas.Lower, n, alpha, x, y, a, lda)
		return
	}
	xs, memory := gather(n, x, incX)
	ys, more := gather(n, y, incY)
	host.Syr2(ul == blas.Lower, n, alpha, xs, ys, a, lda)
	memory.Give()
	more.Give()
}

// triangularVector is trmv, or with solve trsv.
func triangularVector[T float](
	solve bool, ul blas.Uplo, t blas.Transpose, d blas.Diag, n int, a []T, lda int, x []T, incX int,
) {
	lower, trans, unit := ul == blas.Lower, t != blas.NoTrans, d == blas.Unit
	if n <= host.MaxTriangle {
		row, col := host.Steps(trans, lda)
		host.TriangleSteps(solve, n, 1, a, row, col, lower == trans, unit, &x[start(n, incX)], incX)
		return
	}
	xs, memory := gather(n, x, incX)
	if solve {
		host.Trsv(lower, trans, unit, n, a, lda, xs)
	} else {
		host.Trmv(lower, trans, unit, n, a, lda, xs)
	}
	scatter(xs, memory, x, incX)
}

// fewElements is the elements of vectors up to which a copy side by side in scratch memory does not
// pay.
const fewElements = 32

func dot[T float](n int, x []T, incX int, y []T, incY int) float64 {
	if incX == 1 && incY == 1 {
		return host.Dot(x[:n], y[:n])
	}
	if n <= fewElements {
		return host.DotSteps(n, &x[start(n, incX)], incX, &y[start(n, incY)], incY)
	}
	xs, memory := gather(n, x, incX)
	ys, more := gather(n, y, incY)
	sum := host.Dot(xs, ys)
	memory.Give()
	more.Give()
	return sum
}

func asum[T float](n int, x []T, incX int) float64 {
	if incX == 1 {
		return host.Asum(x[:n])
	}
	if n <= fewElements {
		return host.AsumSteps(n, &x[0], incX)
	}
	xs, memory := gather(n, x, incX)
	sum := host.Asum(xs)
	memory.Give()
	return sum
}

func nrm2[T float](n int, x []T, incX int) float64 {
	if incX != 1 && n <= fewElements {
		return host.Nrm2Steps(n, &x[0], incX)
	}
	xs, memory := gather(n, x, incX)
	norm := host.Nrm2(xs)
	memory.Give()
	return norm
}

func axpy[T float](n int, alpha T, x []T, incX int, y []T, incY int) {
	if incX == 1 && incY == 1 {
		host.Axpy(alpha, x[:n], y[:n])
		return
	}
	host.AxpySteps(n, alpha, &x[start(n, incX)], incX, &y[start(n, incY)], incY)
}

func scal[T float](n int, alpha T, x []T, incX int) {
	if incX == 1 {
		host.Scal(alpha, x[:n])
		return
	}
	host.ScalSteps(n, alpha, &x[0], incX)
}

func iamax[T float](n int, x []T, incX int) int { return host.IamaxSteps(n, &x[0], incX) }

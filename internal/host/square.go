package host

import "github.com/tandem-gpu/tandem/element"

// SubSquare is the upper triangle of C = C - Aᵀ*A, of n by n, for A of k by n, in the chains of
// [SubMul]. Nothing else of C is read or written.
func SubSquare[T Float](n, k int, a []T, lda int, c []T, ldc int) {
	if n == 0 || k == 0 {
		return
	}
	check("C", n, n, ldc, len(c))
	check("A", k, n, lda, len(a))
	p := newProduct(kernels[T]()[0], problem[T]{
		m: n, n: n, k: k, alpha: 1, accumulate: true, negateA: true, upper: true, transA: true,
		a: a, lda: lda, b: a, ldb: lda, c: c, ldc: ldc,
	})
	if float64(n)*float64(n)*float64(k)/2 <= SerialWork {
		p.workers = 1
	}
	p.directA = false // it is negated when it is packed
	p.run()
}

// SubMulAlone is [SubMul] in this goroutine, or with trans C - Aᵀ*B for A of k by m.
func SubMulAlone[T Float](trans bool, m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int) {
	if m == 0 || n == 0 || k == 0 {
		return
	}
	check("C", m, n, ldc, len(c))
	checkOp("A", trans, m, k, lda, len(a))
	check("B", k, n, ldb, len(b))
	p := newProduct(kernels[T]()[0], problem[T]{
		m: m, n: n, k: k, alpha: 1, accumulate: true, negateA: true, transA: trans,
		a: a, lda: lda, b: b, ldb: ldb, c: c, ldc: ldc,
	})
	p.workers, p.directA = 1, false
	p.run()
}

// copyAbove copies the elements on and above the diagonal, which begins in row -d, or d columns
// further in row 0.
func copyAbove[T element.Element](d, rows, cols int, src []T, lds int, dst []T, ldd int) {
	for i := range rows {
		if lo := max(d+i, 0); lo < cols {
			copy(dst[i*ldd:][lo:cols], src[i*lds:][lo:cols])
		}
	}
}

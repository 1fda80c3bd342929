package host

// AddRows goes on with a chain for each element of y by the rows of A, of k by len(y), times the
// elements of x: y[j] = fma(a[p,j], x[p], y[j]) for p = 0 ... k-1. Neither vector overlaps
// anything.
func AddRows[T Float](k int, a []T, lda int, x, y []T) {
	if k == 0 || len(y) == 0 {
		return
	}
	check("A", k, len(y), lda, len(a))
	spreadRow(k, len(y), &a[0], lda, x[:k], y)
}

// AddColumns goes on with a chain for each element of y by the rows of A, of len(y) by len(x):
// y[i] = fma(a[i,p], x[p], y[i]) for p = 0 ... len(x)-1. Neither vector overlaps anything.
func AddColumns[T Float](a []T, lda int, x, y []T) {
	if len(x) == 0 || len(y) == 0 {
		return
	}
	check("A", len(y), len(x), lda, len(a))
	spreadColumn(len(y), len(x), &a[0], lda, 1, x, y)
}

//go:build !purego

package host

//go:noescape
func choleskyF32AVX2(n int, a *float32, row, col int) (failed int)

//go:noescape
func choleskyF64AVX2(n int, a *float64, row, col int) (failed int)

// nativeCholesky is [Cholesky] for n of at least one.
func nativeCholesky[T Float](n int, a *T, row, col int) int {
	if isFloat64[T]() {
		return choleskyF64AVX2(n, f64(a), row, col)
	}
	return choleskyF32AVX2(n, f32(a), row, col)
}

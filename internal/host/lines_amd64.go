//go:build !purego

package host

//go:noescape
func addLinesAVX512(k, n int, a *float64, lda int, x, from *float64, alpha float64, y *float64)

//go:noescape
func subLinesAVX512(k, n int, a *float64, lda int, x, from *float64, alpha float64, y *float64)

//go:noescape
func addLinesAVX2(k, n int, a *float64, lda int, x, from *float64, alpha float64, y *float64)

//go:noescape
func subLinesAVX2(k, n int, a *float64, lda int, x, from *float64, alpha float64, y *float64)

func linesNative(
	negate bool, k, n int, a *float64, lda int, x, from *float64, alpha float64, y *float64,
) bool {
	switch {
	case hasAVX512 && negate:
		subLinesAVX512(k, n, a, lda, x, from, alpha, y)
	case hasAVX512:
		addLinesAVX512(k, n, a, lda, x, from, alpha, y)
	case hasAVX2 && negate:
		subLinesAVX2(k, n, a, lda, x, from, alpha, y)
	case hasAVX2:
		addLinesAVX2(k, n, a, lda, x, from, alpha, y)
	default:
		return false
	}
	return true
}

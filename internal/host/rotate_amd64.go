//go:build !purego

package host

//go:noescape
func rotateAVX512(n int, st, rows *float64)

//go:noescape
func rotateAVX2(n int, st, rows *float64)

// rotationColumns is four registers of elements: fewer would wait for each other.
func rotationColumns() int {
	if hasAVX512 {
		return 32
	}
	return 16
}

func rotateNative(n int, st, rows *float64) bool {
	switch {
	case hasAVX512:
		rotateAVX512(n, st, rows)
	case hasAVX2:
		rotateAVX2(n, st, rows)
	default:
		return false
	}
	return true
}

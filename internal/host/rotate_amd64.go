//go:build !purego

package host

//go:noescape
func rotateAVX512(n int, st, row *float64, step int)

//go:noescape
func rotateAVX2(n int, st, row *float64, step int)

// rotationColumns is four registers of elements: fewer would wait for each other.
func rotationColumns() int {
	if hasAVX512 {
		return 32
	}
	return 16
}

func rotateNative(n int, st, row *float64, step int) bool {
	switch {
	case hasAVX512:
		rotateAVX512(n, st, row, step)
	case hasAVX2:
		rotateAVX2(n, st, row, step)
	default:
		return false
	}
	return true
}

//go:build !purego

package host

//go:noescape
func rotateAVX2(n int, st, rows *float64)

func rotateNative(n int, st, rows *float64) bool {
	if hasAVX2 {
		rotateAVX2(n, st, rows)
	}
	return hasAVX2
}

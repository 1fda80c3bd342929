//go:build purego || !amd64

package host

func linesNative(_ bool, _, _ int, _ *float64, _ int, _, _ *float64, _ float64, _ *float64) bool {
	return false
}

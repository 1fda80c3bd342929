//go:build purego || !amd64

package host

func rotateNative(int, *float64, *float64) bool { return false }

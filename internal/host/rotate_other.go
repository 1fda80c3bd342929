//go:build purego || !amd64

package host

func rotationColumns() int { return 16 }

func rotateNative(int, *float64, *float64, int) bool { return false }

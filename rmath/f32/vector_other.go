//go:build !amd64 || purego

package f32

func vectorOf(func(float32) float32) func(dst, src *float32, n int) int { return nil }

//go:build purego || !amd64

package host

func nativeCholesky[T Float](int, *T, int, int) int { panic(noVectors) }

//go:build purego || !amd64

package host

// There are no products with vectors in assembly.

func nativeVectorsF32() *vectorSet[float32] { return nil }
func nativeVectorsF64() *vectorSet[float64] { return nil }

func addProducts[T Float](int, *T, *T, *[lanes]float64) bool { return false }

//go:build purego || !amd64

package host

// There are no triangles in assembly.

func nativeTrianglesF32() []*triangleSet[float32] { return nil }
func nativeTrianglesF64() []*triangleSet[float64] { return nil }

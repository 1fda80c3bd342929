//go:build !purego

package host

//go:noescape
func multiplyF32AVX512(n, cols int, alpha float32, e *float32, eRow, eCol int, b *float32, bRow int, unit bool)

//go:noescape
func multiplyF64AVX512(n, cols int, alpha float64, e *float64, eRow, eCol int, b *float64, bRow int, unit bool)

//go:noescape
func multiplyF32AVX2(n, cols int, alpha float32, e *float32, eRow, eCol int, b *float32, bRow int, unit bool)

//go:noescape
func multiplyF64AVX2(n, cols int, alpha float64, e *float64, eRow, eCol int, b *float64, bRow int, unit bool)

//go:noescape
func solveF32AVX512(n, cols int, alpha float32, e *float32, eRow, eCol int, b *float32, bRow int, unit bool)

//go:noescape
func solveF64AVX512(n, cols int, alpha float64, e *float64, eRow, eCol int, b *float64, bRow int, unit bool)

//go:noescape
func solveF32AVX2(n, cols int, alpha float32, e *float32, eRow, eCol int, b *float32, bRow int, unit bool)

//go:noescape
func solveF64AVX2(n, cols int, alpha float64, e *float64, eRow, eCol int, b *float64, bRow int, unit bool)

// A division in a register of AVX-512 takes longer than in one of AVX2, which has half the
// elements.

func nativeTrianglesF32() []*triangleSet[float32] {
	return availableTriangles(
		&triangleSet[float32]{"avx512", 8, multiplyF32AVX512, solveF32AVX512},
		&triangleSet[float32]{"avx2", 0, multiplyF32AVX2, solveF32AVX2})
}

func nativeTrianglesF64() []*triangleSet[float64] {
	return availableTriangles(
		&triangleSet[float64]{"avx512", 4, multiplyF64AVX512, solveF64AVX512},
		&triangleSet[float64]{"avx2", 0, multiplyF64AVX2, solveF64AVX2})
}

// availableTriangles is those of the two that this processor can run.
func availableTriangles[T Float](avx512, avx2 *triangleSet[T]) []*triangleSet[T] {
	var list []*triangleSet[T]
	if hasAVX512 && hasAVX2 {
		list = append(list, avx512)
	}
	if hasAVX2 {
		list = append(list, avx2)
	}
	return list
}

//go:build !purego

package host

import "unsafe"

//go:noescape
func columnsF32AVX2(k int, a *float32, lda int, x, acc *float32)

//go:noescape
func columnsF64AVX2(k int, a *float64, lda int, x, acc *float64)

//go:noescape
func rowsF32AVX2(n int, a *float32, lda int, x, y *float32)

//go:noescape
func rowsF64AVX2(n int, a *float64, lda int, x, y *float64)

//go:noescape
func dotF32AVX2(n int, x, y *float32, lanes *[8]float64)

//go:noescape
func dotF64AVX2(n int, x, y *float64, lanes *[8]float64)

func nativeVectorsF32() *vectorSet[float32] {
	if !hasAVX2 {
		return nil
	}
	return &vectorSet[float32]{"avx2", columnsF32AVX2, 4, rowsF32AVX2, 16, gemmF32AVX2, 6, 16, finishF32AVX2}
}

func nativeVectorsF64() *vectorSet[float64] {
	if !hasAVX2 {
		return nil
	}
	return &vectorSet[float64]{"avx2", columnsF64AVX2, 4, rowsF64AVX2, 8, gemmF64AVX2, 6, 8, finishF64AVX2}
}

// addProducts adds the products of n elements, a multiple of the lanes, to the lanes, and tells
// whether the processor can. A function in a variable would make the lanes escape to the heap.
func addProducts[T Float](n int, x, y *T, sums *[lanes]float64) bool {
	switch {
	case !hasAVX2:
		return false
	case isFloat64[T]():
		dotF64AVX2(n, (*float64)(unsafe.Pointer(x)), (*float64)(unsafe.Pointer(y)), sums)
	default:
		dotF32AVX2(n, (*float32)(unsafe.Pointer(x)), (*float32)(unsafe.Pointer(y)), sums)
	}
	return true
}

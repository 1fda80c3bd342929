//go:build !purego

package host

import "unsafe"

// hasVectors tells whether the processor has what vectors_avx2_amd64.s needs.
var hasVectors = hasAVX2

//go:noescape
func multiplyNativeAVX512(n, cols int, alpha float64, e unsafe.Pointer, eRow, eCol int, b unsafe.Pointer, bRow int,
	unit, double bool)

//go:noescape
func solveNativeAVX512(n, cols int, alpha float64, e unsafe.Pointer, eRow, eCol int, b unsafe.Pointer, bRow int,
	unit, double bool)

//go:noescape
func rotateNativeAVX512(n int, st, row unsafe.Pointer, step int)

//go:noescape
func transposeNativeHalf(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, tiles int)

//go:noescape
func transpose4NativeAVX512(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, tiles int)

//go:noescape
func transpose8NativeAVX512(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, tiles int)

//go:noescape
func stream4NativeAVX512(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, tiles int)

//go:noescape
func stream8NativeAVX512(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, tiles int)

//go:noescape
func stream4Native(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, tiles int)

//go:noescape
func stream8Native(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, tiles int)

//go:noescape
func pairsAlongNative(dst, src unsafe.Pointer, stride, n int, unsigned bool)

//go:noescape
func pairsDownNative(dst, src unsafe.Pointer, stride, n int, unsigned bool)

// nativeTransposes is the transposes of this processor, best first.
func nativeTransposes() []*transposeSet {
	var list []*transposeSet
	if hasAVX512 {
		list = append(list, &transposeSet{
			"avx512", 64, transpose4NativeAVX512, transpose8NativeAVX512, stream4NativeAVX512, stream8NativeAVX512,
		})
	}
	if hasAVX2 {
		list = append(list, &transposeSet{"avx2", 32, transpose4Native, transpose8Native, stream4Native, stream8Native})
	}
	return list
}

// nativeTriangles is the functions for triangles of this processor, best first. A division in a
// register of AVX-512 takes longer than in one of AVX2, which has half the elements.
func nativeTriangles[T Float]() []*triangleSet[T] {
	var list []*triangleSet[T]
	if hasAVX512 && hasAVX2 {
		narrow := 32 / int(unsafe.Sizeof(T(0)))
		list = append(list, triangleSetOf[T]("avx512", narrow, multiplyNativeAVX512, solveNativeAVX512))
	}
	if hasAVX2 {
		list = append(list, triangleSetOf[T]("avx2", 0, multiplyNative, solveNative))
	}
	return list
}

// rotation is how rotations run here, and of how many columns.
func rotation() (run func(n int, st, row unsafe.Pointer, step int), columns int) {
	switch {
	case hasAVX512:
		return rotateNativeAVX512, 32
	case hasAVX2:
		return rotateNative, 16
	}
	return nil, 16
}

//go:build !purego

package host

import "unsafe"

// hasVectors tells whether the processor has what vectors_avx2_amd64.s needs.
var hasVectors = hasAVX2

//go:noescape
func transposeNativeHalf(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, tiles int)

//go:noescape
func pairsAlongNative(dst, src unsafe.Pointer, stride, n int, unsigned bool)

//go:noescape
func pairsDownNative(dst, src unsafe.Pointer, stride, n int, unsigned bool)

var (
	nativeTransposes4 = transposes{[]squareTile{{8, transpose4Native}, {4, transposeNativeHalf}}, lines4Native}
	nativeTransposes8 = transposes{[]squareTile{{4, transpose8Native}}, lines8Native}
)

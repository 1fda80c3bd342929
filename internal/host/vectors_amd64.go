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

func nativeTransposes() []*transposeSet {
	if !hasVectors {
		return nil
	}
	return []*transposeSet{{
		name: "avx2",
		four: []squareTile{{8, transpose4Native}, {4, transposeNativeHalf}}, eight: []squareTile{{4, transpose8Native}},
		streamFour: lines4Native, streamEight: lines8Native,
	}}
}

//go:build !purego

package host

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:noescape
func gemmF32AVX512(kc int, a *float32, aRow, aStep int, b *float32, bStep int, c *float32, ldc int, zero bool)

//go:noescape
func gemmF64AVX512(kc int, a *float64, aRow, aStep int, b *float64, bStep int, c *float64, ldc int, zero bool)

//go:noescape
func gemmI32AVX512(kc int, a *int32, aRow, aStep int, b *int32, bStep int, c *int32, ldc int, zero bool)

//go:noescape
func gemmF32AVX2(kc int, a *float32, aRow, aStep int, b *float32, bStep int, c *float32, ldc int, zero bool)

//go:noescape
func gemmF64AVX2(kc int, a *float64, aRow, aStep int, b *float64, bStep int, c *float64, ldc int, zero bool)

//go:noescape
func gemmI32AVX2(kc int, a *int32, aRow, aStep int, b *int32, bStep int, c *int32, ldc int, zero bool)

//go:noescape
func transpose4AVX2(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, tiles int)

//go:noescape
func transpose8AVX2(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, tiles int)

var (
	hasAVX512 = cpu.X86.HasAVX512F
	hasAVX2   = cpu.X86.HasAVX2 && cpu.X86.HasFMA
)

func nativeF32() []*microKernel[float32] {
	return available(&microKernel[float32]{"avx512", 12, 32, gemmF32AVX512, 256, 192, 4096},
		&microKernel[float32]{"avx2", 6, 16, gemmF32AVX2, 256, 192, 4096})
}

func nativeF64() []*microKernel[float64] {
	return available(&microKernel[float64]{"avx512", 12, 16, gemmF64AVX512, 256, 96, 4096},
		&microKernel[float64]{"avx2", 6, 8, gemmF64AVX2, 256, 96, 4096})
}

func nativeI32() []*microKernel[int32] {
	return available(&microKernel[int32]{"avx512", 12, 32, gemmI32AVX512, 256, 192, 4096},
		&microKernel[int32]{"avx2", 6, 16, gemmI32AVX2, 256, 192, 4096})
}

// available is those of the two that this processor can run.
func available[T Element](avx512, avx2 *microKernel[T]) []*microKernel[T] {
	var list []*microKernel[T]
	if hasAVX512 {
		list = append(list, avx512)
	}
	if hasAVX2 {
		list = append(list, avx2)
	}
	return list
}

// The transposes of this processor; nil where it has none.
var transpose4, transpose8 = func() (four, eight tileTranspose) {
	if hasAVX2 {
		return transpose4AVX2, transpose8AVX2
	}
	return nil, nil
}()

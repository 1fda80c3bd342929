//go:build !purego

package host

import (
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/tandem-gpu/tandem/element"
)

//go:noescape
func gemmF32AVX512(
	rows, cols, kc int, a *float32, aRow, aStep int, b *float32, bStep int, c *float32, ldc int, zero bool)

//go:noescape
func gemmF64AVX512(
	rows, cols, kc int, a *float64, aRow, aStep int, b *float64, bStep int, c *float64, ldc int, zero bool)

//go:noescape
func gemmI32AVX512(
	rows, cols, kc int, a *int32, aRow, aStep int, b *int32, bStep int, c *int32, ldc int, zero bool)

//go:noescape
func gemmF32AVX2(
	rows, cols, kc int, a *float32, aRow, aStep int, b *float32, bStep int, c *float32, ldc int, zero bool)

//go:noescape
func gemmF64AVX2(
	rows, cols, kc int, a *float64, aRow, aStep int, b *float64, bStep int, c *float64, ldc int, zero bool)

//go:noescape
func gemmI32AVX2(
	rows, cols, kc int, a *int32, aRow, aStep int, b *int32, bStep int, c *int32, ldc int, zero bool)

//go:noescape
func gemmPairsAVX2(
	rows, cols, kc int, a *int32, aRow, aStep int, b *int32, bStep int, c *int32, ldc int, zero bool)

//go:noescape
func gemmQuadsVNNI(
	rows, cols, kc int, a *int32, aRow, aStep int, b *int32, bStep int, c *int32, ldc int, zero bool)

//go:noescape
func gemmQuadsAVXVNNI(
	rows, cols, kc int, a *int32, aRow, aStep int, b *int32, bStep int, c *int32, ldc int, zero bool)

//go:noescape
func quadsNativeAMX(rows, cols, kc int, a unsafe.Pointer, lda int, b unsafe.Pointer, ldb int, c unsafe.Pointer, ldc int,
	zero, unsigned bool)

//go:noescape
func finishF32AVX512(
	rows, cols int, alpha float32, acc *float32, ldacc int, beta float32, c *float32, ldc int, readC bool)

//go:noescape
func finishF64AVX512(
	rows, cols int, alpha float64, acc *float64, ldacc int, beta float64, c *float64, ldc int, readC bool)

//go:noescape
func finishI32AVX512(rows, cols int, alpha int32, acc *int32, ldacc int, beta int32, c *int32, ldc int, readC bool)

//go:noescape
func finishF32AVX2(
	rows, cols int, alpha float32, acc *float32, ldacc int, beta float32, c *float32, ldc int, readC bool)

//go:noescape
func finishF64AVX2(
	rows, cols int, alpha float64, acc *float64, ldacc int, beta float64, c *float64, ldc int, readC bool)

//go:noescape
func finishI32AVX2(rows, cols int, alpha int32, acc *int32, ldacc int, beta int32, c *int32, ldc int, readC bool)

//go:noescape
func packAVX512(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, panels, rows int)

//go:noescape
func packAVX2(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, panels, rows int)

//go:noescape
func packAMX(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, panels, rows int)

var (
	hasAVX2   = cpu.X86.HasAVX2 && cpu.X86.HasFMA // only where the operating system keeps the registers
	hasAVX512 = cpu.X86.HasAVX512F && hasAVX2
)

func nativeF32() []*microKernel[float32] {
	return available(
		&microKernel[float32]{"avx512", 8, 48, gemmF32AVX512, finishF32AVX512, packAVX512, false, 1024, 1024, 144},
		&microKernel[float32]{"avx2", 6, 16, gemmF32AVX2, finishF32AVX2, packAVX2, false, 256, 1536, 480})
}

func nativeF64() []*microKernel[float64] {
	return available(
		&microKernel[float64]{"avx512", 8, 24, gemmF64AVX512, finishF64AVX512, packAVX512, false, 512, 1024, 144},
		&microKernel[float64]{"avx2", 6, 8, gemmF64AVX2, finishF64AVX2, packAVX2, false, 256, 1536, 240})
}

func nativeI32() []*microKernel[int32] {
	return available(
		&microKernel[int32]{"avx512", 8, 48, gemmI32AVX512, finishI32AVX512, packAVX512, false, 1024, 1024, 144},
		&microKernel[int32]{"avx2", 6, 16, gemmI32AVX2, finishI32AVX2, packAVX2, false, 256, 1536, 480})
}

// nativeBytes is the kernels for products of bytes, best first: of four in a word, of which A's are
// unsigned where it is not AMX, and of two int16.
func nativeBytes(unsigned bool) []*bytesKernel {
	var list []*bytesKernel
	quads := func(onlyUnsigned bool, kern microKernel[int32]) {
		list = append(list, &bytesKernel{microKernel: &kern, width: 4, unsigned: onlyUnsigned, down: quadsDownNative})
	}
	if hasAVX512 && cpu.X86.HasAMXTile && cpu.X86.HasAMXInt8 && mayUseTiles() {
		quads(false, microKernel[int32]{
			"amx", 32, 32, quadsAMX(unsigned), finishI32AVX512, packAMX, true, 512, 512, 256,
		})
	}
	if hasAVX512 && cpu.X86.HasAVX512VNNI {
		quads(true, microKernel[int32]{
			"vnni", 8, 48, gemmQuadsVNNI, finishI32AVX512, packAVX512, false, 1024, 1024, 144,
		})
	}
	if hasAVX2 && cpu.X86.HasAVXVNNI {
		quads(true, microKernel[int32]{
			"avxvnni", 6, 16, gemmQuadsAVXVNNI, finishI32AVX2, packAVX2, false, 512, 768, 480,
		})
	}
	if hasAVX2 {
		kern := &microKernel[int32]{"avx2", 6, 16, gemmPairsAVX2, finishI32AVX2, packAVX2, false, 512, 768, 480}
		list = append(list, &bytesKernel{microKernel: kern, width: 2, along: pairsAlongNative, down: pairsDownNative})
	}
	return list
}

func quadsAMX(unsigned bool) tileProduct[int32] {
	return func(rows, cols, kc int, a *int32, aRow, _ int, b *int32, bStep int, c *int32, ldc int, zero bool) {
		quadsNativeAMX(rows, cols, kc, unsafe.Pointer(a), aRow, unsafe.Pointer(b), bStep, unsafe.Pointer(c), ldc,
			zero, unsigned)
	}
}

// available is those of the two that this processor can run.
func available[T element.Element](avx512, avx2 *microKernel[T]) []*microKernel[T] {
	var list []*microKernel[T]
	if hasAVX512 {
		list = append(list, avx512)
	}
	if hasAVX2 {
		list = append(list, avx2)
	}
	return list
}

package host

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/element"
)

// The generator uses this package, without assembly.
//
//go:generate go run -tags purego ./gen

// A microKernel computes tiles of C.
type microKernel[T element.Element] struct {
	name       string // instruction set, for tests
	rows, cols int    // of the largest tile
	run        tileProduct[T]
	finish     tileFinish[T]

	pack    panelCopy // a fast copy for packing B; nil where there is none
	inPlace bool      // run takes A where it is, with aStep 1, and any number of rows

	// The sizes of the longest blocks; shorter ones are higher and wider. A block of A, mc by kc,
	// stays in the last-level cache; one of B, kc by nc, in the second level. mc is a multiple of
	// rows, nc of cols. The longer a block, the less often C is read and written. With AVX-512 a
	// panel of A need not stay in the first-level cache for that, as the kernel asks for what it
	// reads ahead of time.
	kc, mc, nc int
}

// A tileProduct computes rows by cols elements of C, at most a tile, by kc steps of their chains.
// These start from what C holds, or from +0 where zero is set. Element (i, k) of A is
// a[i*aRow+k*aStep], row k of B is the cols elements from b[k*bStep], and C's rows are ldc elements
// apart. So it takes operands that are packed into panels, and operands where they are. rows, cols
// and kc are at least 1.
type tileProduct[T element.Element] func(
	rows, cols, kc int, a *T, aRow, aStep int, b *T, bStep int, c *T, ldc int, zero bool)

// A tileFinish makes C what [Gemm] says, for any number of rows and columns whose chains have ended
// in acc: fma(alpha, acc, beta*C), or alpha*acc where C is not to be read. rows and cols are at
// least 1.
type tileFinish[T element.Element] func(rows, cols int, alpha T, acc *T, ldacc int, beta T, c *T, ldc int, readC bool)

// A panelCopy packs rows of B into panels of a tile's columns: panel i of src follows panel i-1 in
// the same rows, and in dst it is i*ldd bytes further, its rows side by side. lds and ldd are in
// bytes, panels and rows are at least 1.
type panelCopy func(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, panels, rows int)

// height is the rows of so many that run takes at a time.
func (kern *microKernel[T]) height(rows int) int {
	if kern.inPlace {
		return rows
	}
	return kern.rows
}

// InstructionSet names what Gemm runs on here: "avx512", "avx2", "neon", or "go" where there
// is no assembly for the processor.
func InstructionSet() string { return kernelsF32[0].name }

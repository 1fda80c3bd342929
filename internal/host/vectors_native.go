//go:build !purego && (amd64 || arm64)

package host

import "unsafe"

// What gen/c/vectors.c has; each function there says what it computes. The last argument tells
// whether elements are float64: a variable for a function of each type would be slower to call, and
// what its arguments point to would live on the heap.

//go:noescape
func addRowNative(k, n int, a unsafe.Pointer, lda int, x, y unsafe.Pointer, double bool)

//go:noescape
func addColumnNative(m, k int, a unsafe.Pointer, lda, step int, x unsafe.Pointer, incX int, y unsafe.Pointer, incY int,
	double bool)

//go:noescape
func crossNative(k int, a unsafe.Pointer, lda int, x, acc, u, y unsafe.Pointer, ahead int, double bool)

//go:noescape
func outerNative(m, n, dn int, alpha float64, x, y unsafe.Pointer, dy int, a unsafe.Pointer, da int,
	u, v unsafe.Pointer, double bool)

//go:noescape
func substituteNative(n int, e unsafe.Pointer, eRow, eCol int, b unsafe.Pointer, bRow int, unit, double bool)

//go:noescape
func accumulateNative(upper, unit bool, n int, e unsafe.Pointer, eRow, eCol int, x unsafe.Pointer, incX int,
	acc unsafe.Pointer, double bool)

//go:noescape
func symmetricNative(lower bool, n int, a unsafe.Pointer, lda int, x, acc unsafe.Pointer, double bool)

//go:noescape
func complexRowNative(k, n int, a unsafe.Pointer, aStep int, signs, b unsafe.Pointer, bRow, bCol int, y unsafe.Pointer,
	zero, double bool)

//go:noescape
func complexDivideNative(n int, x, d unsafe.Pointer, high, double bool)

//go:noescape
func dotNative(n int, x, y unsafe.Pointer, double bool) (sum float64)

//go:noescape
func asumNative(n int, x unsafe.Pointer, double bool) (sum float64)

//go:noescape
func multiplyNative(n, cols int, alpha float64, e unsafe.Pointer, eRow, eCol int, b unsafe.Pointer, bRow int,
	unit, double bool)

//go:noescape
func solveNative(n, cols int, alpha float64, e unsafe.Pointer, eRow, eCol int, b unsafe.Pointer, bRow int,
	unit, double bool)

//go:noescape
func choleskyNative(n int, a unsafe.Pointer, row, col int, double bool) (failed int)

//go:noescape
func rotateNative(n int, st, row unsafe.Pointer, step int)

//go:noescape
func transpose4Native(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, tiles int)

//go:noescape
func transpose8Native(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, tiles int)

//go:noescape
func lines4Native(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, tiles int)

//go:noescape
func lines8Native(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, tiles int)

//go:noescape
func quadsDownNative(dst, src unsafe.Pointer, stride, n int, unsigned bool)

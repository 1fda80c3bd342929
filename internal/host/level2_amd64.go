//go:build !purego

package host

import "unsafe"

// hasVectors tells whether the processor has what the functions below need.
var hasVectors = hasAVX2

//go:noescape
func columnsF32AVX2(k int, a *float32, lda int, x, acc *float32)

//go:noescape
func columnsF64AVX2(k int, a *float64, lda int, x, acc *float64)

//go:noescape
func crossF32AVX2(k int, a *float32, lda int, x, acc, u, y *float32)

//go:noescape
func crossF64AVX2(k int, a *float64, lda int, x, acc, u, y *float64)

//go:noescape
func rowsF32AVX2(n int, a *float32, lda int, x, y *float32)

//go:noescape
func rowsF64AVX2(n int, a *float64, lda int, x, y *float64)

//go:noescape
func panelF32AVX2(k, n int, a *float32, lda int, x, y *float32)

//go:noescape
func panelF64AVX2(k, n int, a *float64, lda int, x, y *float64)

//go:noescape
func complexRowF32AVX2(k, n int, a *float32, aStep int, signs, b *float32, bRow, bCol int, y *float32, zero bool)

//go:noescape
func complexRowF64AVX2(k, n int, a *float64, aStep int, signs, b *float64, bRow, bCol int, y *float64, zero bool)

//go:noescape
func complexDivideF32AVX2(n int, x, d *float32, high bool)

//go:noescape
func complexDivideF64AVX2(n int, x, d *float64, high bool)

//go:noescape
func chainsAVX2(m, k int, a unsafe.Pointer, lda, step int, x unsafe.Pointer, incX int, y unsafe.Pointer, incY int,
	double bool)

//go:noescape
func outerAVX2(m, n, dn int, alpha float64, x, y unsafe.Pointer, dy int, a unsafe.Pointer, da int, double bool)

//go:noescape
func outer2AVX2(m, n, dn int, alpha float64, x, y unsafe.Pointer, dy int, a unsafe.Pointer, da int,
	u, v unsafe.Pointer, double bool)

//go:noescape
func substituteAVX2(n int, e unsafe.Pointer, eRow, eCol int, b unsafe.Pointer, bRow int, unit, double bool)

//go:noescape
func accumulateAVX2(upper, unit bool, n int, e unsafe.Pointer, eRow, eCol int, x unsafe.Pointer, incX int,
	acc unsafe.Pointer, double bool)

//go:noescape
func symmetricAVX2(lower bool, n int, a unsafe.Pointer, lda int, x, acc unsafe.Pointer, double bool)

//go:noescape
func dotAVX2(n int, x, y unsafe.Pointer, double bool) (sum float64)

//go:noescape
func asumAVX2(n int, x unsafe.Pointer, double bool) (sum float64)

// The functions of both types. One in a variable would be slower to call, and what it points to
// would live on the heap.

// nativeColumns goes on with the chains of so many rows, and by a multiple of so many steps, as
// columnTile says.
func nativeColumns[T Float](k int, a *T, lda int, x, acc *T) {
	if isFloat64[T]() {
		columnsF64AVX2(k, f64(a), lda, f64(x), f64(acc))
	} else {
		columnsF32AVX2(k, f32(a), lda, f32(x), f32(acc))
	}
}

// nativeCross goes on with the chains of crossRows rows as nativeColumns does, and for the same
// rows with the columns' chains y and the elements u as nativeRows.
func nativeCross[T Float](k int, a *T, lda int, x, acc, u, y *T) {
	if isFloat64[T]() {
		crossF64AVX2(k, f64(a), lda, f64(x), f64(acc), f64(u), f64(y))
	} else {
		crossF32AVX2(k, f32(a), lda, f32(x), f32(acc), f32(u), f32(y))
	}
}

// nativeChains is chains.
func nativeChains[T Float](m, k int, a *T, lda, step int, x *T, incX int, y *T, incY int) {
	chainsAVX2(m, k, unsafe.Pointer(a), lda, step, unsafe.Pointer(x), incX, unsafe.Pointer(y), incY, isFloat64[T]())
}

// nativeRows goes on with n chains, a multiple of rowsWidth bytes, by rowsAtOnce rows.
func nativeRows[T Float](n int, a *T, lda int, x, y *T) {
	if isFloat64[T]() {
		rowsF64AVX2(n, f64(a), lda, f64(x), f64(y))
	} else {
		rowsF32AVX2(n, f32(a), lda, f32(x), f32(y))
	}
}

// nativePanel is [addRow] for any k and n of at least one, which keeps the chains in registers.
func nativePanel[T Float](k, n int, a *T, lda int, x, y *T) {
	if isFloat64[T]() {
		panelF64AVX2(k, n, f64(a), lda, f64(x), f64(y))
	} else {
		panelF32AVX2(k, n, f32(a), lda, f32(x), f32(y))
	}
}

// nativeOuter is addOuter.
func nativeOuter[T Float](m, n, dn int, alpha T, x, y *T, dy int, a *T, da int) {
	outerAVX2(m, n, dn, float64(alpha), unsafe.Pointer(x), unsafe.Pointer(y), dy, unsafe.Pointer(a), da, isFloat64[T]())
}

// addOuter2 is addOuter, and then that for u and v.
func addOuter2[T Float](m, n, dn int, alpha T, x, y *T, dy int, a *T, da int, u, v *T) {
	if !hasVectors {
		addOuter(m, n, dn, alpha, x, y, dy, a, da)
		addOuter(m, n, dn, alpha, u, v, dy, a, da)
		return
	}
	outer2AVX2(m, n, dn, float64(alpha), unsafe.Pointer(x), unsafe.Pointer(y), dy, unsafe.Pointer(a), da,
		unsafe.Pointer(u), unsafe.Pointer(v), isFloat64[T]())
}

// nativeSubstitute is substitute.
func nativeSubstitute[T Float](n int, e *T, eRow, eCol int, b *T, bRow int, unit bool) {
	substituteAVX2(n, unsafe.Pointer(e), eRow, eCol, unsafe.Pointer(b), bRow, unit, isFloat64[T]())
}

// nativeMultiply is multiplyTriangle.
func nativeMultiply[T Float](upper, unit bool, n int, e *T, eRow, eCol int, x *T, incX int, acc *T) {
	accumulateAVX2(upper, unit, n, unsafe.Pointer(e), eRow, eCol, unsafe.Pointer(x), incX, unsafe.Pointer(acc),
		isFloat64[T]())
}

// nativeSymmetric is addSymmetric.
func nativeSymmetric[T Float](lower bool, n int, a *T, lda int, x, acc *T) {
	symmetricAVX2(lower, n, unsafe.Pointer(a), lda, unsafe.Pointer(x), unsafe.Pointer(acc), isFloat64[T]())
}

// nativeComplexRow is addComplexRow.
func nativeComplexRow[T Float](k, n int, a *T, aStep int, signs, b *T, bRow, bCol int, y *T, zero bool) {
	if isFloat64[T]() {
		complexRowF64AVX2(k, n, f64(a), aStep, f64(signs), f64(b), bRow, bCol, f64(y), zero)
	} else {
		complexRowF32AVX2(k, n, f32(a), aStep, f32(signs), f32(b), bRow, bCol, f32(y), zero)
	}
}

// nativeComplexDivide makes x[j] (d[0:2]*x'[j] + d[2:4]*x[j])/d[4:6], part by part, for n complex
// numbers: x' are they with their parts exchanged, or with high x and x' are exchanged.
func nativeComplexDivide[T Float](n int, x, d *T, high bool) {
	if isFloat64[T]() {
		complexDivideF64AVX2(n, f64(x), f64(d), high)
	} else {
		complexDivideF32AVX2(n, f32(x), f32(d), high)
	}
}

// nativeDot is dotPiece.
func nativeDot[T Float](n int, x, y *T) float64 {
	return dotAVX2(n, unsafe.Pointer(x), unsafe.Pointer(y), isFloat64[T]())
}

// nativeAsum is asumPiece.
func nativeAsum[T Float](n int, x *T) float64 {
	return asumAVX2(n, unsafe.Pointer(x), isFloat64[T]())
}

func f32[T Float](p *T) *float32 { return (*float32)(unsafe.Pointer(p)) }
func f64[T Float](p *T) *float64 { return (*float64)(unsafe.Pointer(p)) }

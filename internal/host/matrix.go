package host

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/parallel"
)

// bandBytes is the bytes of one goroutine's turn.
const bandBytes = 128 << 10

// isSmall tells whether one goroutine is best for a matrix.
func isSmall[T element.Element](rows, cols int) bool {
	return rows*cols <= SerialBytes/int(unsafe.Sizeof(T(0))) // a division would be felt in small calls
}

// bands calls f(lo, hi) for consecutive ranges of rows that make up 0 ... rows, over the cores
// where the matrix is large. Ranges start at multiples of unit.
func bands[T element.Element](rows, cols, unit int, f func(lo, hi int)) {
	if isSmall[T](rows, cols) {
		f(0, rows)
		return
	}
	spreadBands[T](rows, cols, unit, f)
}

// spreadBands is bands for a large matrix.
func spreadBands[T element.Element](rows, cols, unit int, f func(lo, hi int)) {
	band := max(bandBytes/int(unsafe.Sizeof(T(0)))/cols/unit, 1) * unit
	parallel.Do((rows+band-1)/band, func(i int) { f(i*band, min(rows, i*band+band)) })
}

// CopyMatrix copies src, of rows by cols, to dst, which must not overlap it.
func CopyMatrix[T element.Element](rows, cols int, src []T, lds int, dst []T, ldd int) {
	check("src", rows, cols, lds, len(src))
	check("dst", rows, cols, ldd, len(dst))
	if cols == 0 { // src and dst may have nothing between their rows, either
		return
	}
	if isSmall[T](rows, cols) { // no closure, which is an allocation
		copyRows(rows, cols, src, lds, dst, ldd)
		return
	}
	bands[T](rows, cols, 1, func(lo, hi int) { copyRows(hi-lo, cols, src[lo*lds:], lds, dst[lo*ldd:], ldd) })
}

// ScaleMatrix computes z = alpha*x, element by element, for matrices of rows by cols. z may be x
// itself, with the same leading dimension.
func ScaleMatrix[T element.Element](rows, cols int, alpha T, x []T, ldx int, z []T, ldz int) {
	check("x", rows, cols, ldx, len(x))
	check("z", rows, cols, ldz, len(z))
	if rows == 0 || cols == 0 {
		return
	}
	bands[T](rows, cols, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x, z := x[i*ldx:][:cols], z[i*ldz:][:cols]
			for j := range z {
				z[j] = alpha * x[j]
			}
		}
	})
}

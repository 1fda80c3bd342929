package host

import (
	"math"
	"unsafe"
)

const lineElements = 8

// WholeLines is n, or the next number of elements of float64 that whole cache lines have.
func WholeLines(n int) int { return roundUp(n, lineElements) }

// LineStart is the first element of the line that has element i.
func LineStart(i int) int { return i &^ (lineElements - 1) }

// AddLines makes y alpha times chains by the rows of A times the elements of x: from from[j], or +0
// where from is nil, fma(a[p,j], x[p], .) for p = 0, 1, ..., or with negate of -x[p]. y, from and
// the rows of A are whole cache lines long: what [AddRows] does needs no masks then. y may be from.
func AddLines(negate bool, a []float64, lda int, x, from []float64, alpha float64, y []float64) {
	k, n := len(x), len(y)/lineElements
	if n == 0 {
		return
	}
	y = y[:n*lineElements]
	if k > 0 {
		_ = a[(k-1)*lda+len(y)-1]
	}
	if from != nil {
		from = from[:len(y)]
	}
	if linesNative(negate, k, n, unsafe.SliceData(a), lda, unsafe.SliceData(x), unsafe.SliceData(from), alpha, &y[0]) {
		return
	}
	if from == nil {
		clear(y)
	} else {
		copy(y, from)
	}
	for p, v := range x {
		if negate {
			v = -v
		}
		for j, u := range a[p*lda:][:len(y)] {
			y[j] = math.FMA(u, v, y[j])
		}
	}
	for j := range y {
		y[j] *= alpha
	}
}

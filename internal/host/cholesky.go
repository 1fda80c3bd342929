package host

import (
	"fmt"
	"math"
	"unsafe"
)

// Cholesky factors the symmetric matrix of n by n, for n of at most [MaxTriangle], whose element
// (i, j), for j of at least i, is a[i*row+j*col], and leaves Lᵀ there; nothing else of a is read or
// written. Element (i, j) is the chain of fma(-l[i,k], l[j,k], .) from that of a for k = 0 ... i-1,
// divided by l[i,i], which is the square root of its own chain. It returns the first row whose
// chain is not above 0, or -1; that row, and those after it, are as they were.
func Cholesky[T Float](n int, a []T, row, col int) int {
	if n == 0 {
		return -1
	}
	if n > MaxTriangle || row < 0 || col < 0 || (n-1)*(row+col) >= len(a) {
		panic(fmt.Sprintf("host: A has %d elements, for %dx%d with steps of %d and %d", len(a), n, n, row, col))
	}
	if hasVectors {
		return choleskyNative(n, unsafe.Pointer(&a[0]), row, col, isFloat64[T]())
	}
	for i := range n {
		for j := i; j < n; j++ {
			acc := a[i*row+j*col]
			for k := range i {
				acc = FMA(-a[k*row+i*col], a[k*row+j*col], acc)
			}
			if j > i {
				a[i*row+j*col] = acc / a[i*(row+col)]
				continue
			}
			if !(acc > 0) {
				return i
			}
			a[i*(row+col)] = T(math.Sqrt(float64(acc))) // rounded once, of a float32 too
		}
	}
	return -1
}

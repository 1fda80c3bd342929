package host

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/element"
)

func isFloat64[T element.Element]() bool { return unsafe.Sizeof(T(0)) == 8 }

// Steps are how far apart two rows and two columns of op(M) are in memory.
func Steps(trans bool, ld int) (row, col int) {
	if trans {
		return 1, ld
	}
	return ld, 1
}

// finishRow is what [Gemm] does after the last step of a chain, for at least one.
func finishRow[T Float](alpha T, acc []T, beta T, y []T) {
	if beta == 0 {
		for i, v := range acc {
			y[i] = alpha * v
		}
		return
	}
	if beta != 1 {
		scaleRow(beta, y)
	}
	addScaled(alpha, acc, y)
}

// solveTriangle makes x the solution of E*X = x for a triangle E of n by n, of at least one row.
func solveTriangle[T Float](n int, e *T, eRow, eCol int, upper, unit bool, x *T) {
	inc := 1
	if upper { // in reverse order it is a lower triangle
		last := n - 1
		e, eRow, eCol, x, inc = elementAt(e, last*(eRow+eCol)), -eRow, -eCol, elementAt(x, last), -1
	}
	if hasVectors {
		substituteNative(n, unsafe.Pointer(e), eRow, eCol, unsafe.Pointer(x), inc, unit, isFloat64[T]())
		return
	}
	substitute(n, e, eRow, eCol, x, inc, unit)
}

// substitute solves E*X = b for a lower triangular E of n by n, and leaves X in b: as soon as an
// unknown is known, the others take what it gives them.
func substitute[T Float](n int, e *T, eRow, eCol int, b *T, bRow int, unit bool) {
	for k := range n {
		x := elementAt(b, k*bRow)
		if !unit {
			*x /= *elementAt(e, k*(eRow+eCol))
		}
		for i := k + 1; i < n; i++ {
			y := elementAt(b, i*bRow)
			*y = FMA(-*elementAt(e, i*eRow+k*eCol), *x, *y)
		}
	}
}

// multiplyTriangle goes on with the chains of a triangle E of n by n and x, one column after the
// other.
func multiplyTriangle[T Float](upper, unit bool, n int, e *T, eRow, eCol int, x *T, incX int, acc *T) {
	if hasVectors {
		accumulateNative(upper, unit, n, unsafe.Pointer(e), eRow, eCol, unsafe.Pointer(x), incX, unsafe.Pointer(acc),
			isFloat64[T]())
		return
	}
	for k := range n {
		v, lo, hi := *elementAt(x, k*incX), k+1, n
		if upper {
			lo, hi = 0, k
		}
		for i := lo; i < hi; i++ {
			y := elementAt(acc, i)
			*y = FMA(*elementAt(e, i*eRow+k*eCol), v, *y)
		}
		d := T(1)
		if !unit {
			d = *elementAt(e, k*(eRow+eCol))
		}
		y := elementAt(acc, k)
		*y = FMA(d, v, *y)
	}
}

// addSymmetric goes on with the chains of a symmetric matrix of n by n, of which a has a triangle,
// and x: each element beside the diagonal is a step of the chain of its row and of that of its
// column.
func addSymmetric[T Float](lower bool, n int, a *T, lda int, x, acc []T) {
	if hasVectors {
		symmetricNative(lower, n, unsafe.Pointer(a), lda, unsafe.Pointer(&x[0]), unsafe.Pointer(&acc[0]),
			isFloat64[T]())
		return
	}
	for i, v := range x[:n] {
		lo, hi := triangleRow(lower, i, n)
		row, s := at(a, i*lda, n), acc[i]
		if !lower {
			lo++
			s = FMA(row[i], v, s)
		} else {
			hi--
		}
		for k := lo; k < hi; k++ {
			s = FMA(row[k], x[k], s)
			acc[k] = FMA(row[k], v, acc[k])
		}
		if lower {
			s = FMA(row[i], v, s)
		}
		acc[i] = s
	}
}

package host

import (
	"fmt"
	"math"
	"unsafe"
)

// A Float is a floating type of matrices.
type Float interface{ float32 | float64 }

// MaxTriangle is the number of rows of the largest triangle that [MultiplyTriangle] and
// [SolveTriangle] take.
const MaxTriangle = 32

// MultiplyTriangle computes B = alpha*E*B for a triangular matrix E of n by n and B of n by cols.
// Element (i, k) of E is e[i*eRow+k*eCol], so that it may be a transposed matrix in memory. Nothing
// but the triangle is read, and with unit not the diagonal either, which is then 1.
//
// Row i is the chain acc = fma(e[i,k], b[k], acc) from +0, for k = 0 ... i in a lower triangle and
// for k = i ... n-1 in an upper one; and alpha*acc. With unit e[i,i] is 1. B and E do not overlap.
func MultiplyTriangle[T Float](n, cols int, alpha T, e []T, eRow, eCol int, upper, unit bool, b []T, ldb int) {
	triangle(false, n, cols, alpha, e, eRow, eCol, upper, unit, b, ldb)
}

// SolveTriangle makes B the solution X of E*X = alpha*B, for operands as those of
// [MultiplyTriangle].
//
// Row i of a lower triangle is acc = alpha*b[i], rounded; then acc = fma(-e[i,k], x[k], acc) for k
// = 0 ... i-1; and acc/e[i,i], or acc with unit. In an upper triangle rows become known from the
// last on, and k = n-1 ... i+1.
func SolveTriangle[T Float](n, cols int, alpha T, e []T, eRow, eCol int, upper, unit bool, b []T, ldb int) {
	triangle(true, n, cols, alpha, e, eRow, eCol, upper, unit, b, ldb)
}

// triangle is [MultiplyTriangle], or with solve [SolveTriangle]. What it calls is for a lower
// triangle, with rows of E and B that may follow each other towards lower addresses. Where B's do,
// E is an upper triangle in reverse order.
func triangle[T Float](
	solve bool, n, cols int, alpha T, e []T, eRow, eCol int, upper, unit bool, b []T, ldb int,
) {
	if n == 0 || cols == 0 {
		return
	}
	check("B", n, cols, ldb, len(b))
	if n > MaxTriangle || eRow < 0 || eCol < 0 || (n-1)*(eRow+eCol) >= len(e) {
		panic(fmt.Sprintf("host: E has %d elements, for %dx%d with steps of %d and %d", len(e), n, n, eRow, eCol))
	}
	x, y := &e[0], &b[0]
	if upper {
		x, eRow, eCol, y, ldb = &e[(n-1)*(eRow+eCol)], -eRow, -eCol, &b[(n-1)*ldb], -ldb
	}
	px, py := unsafe.Pointer(x), unsafe.Pointer(y)
	switch {
	case hasVectors && solve:
		solveNative(n, cols, float64(alpha), px, eRow, eCol, py, ldb, unit, isFloat64[T]())
	case hasVectors:
		multiplyNative(n, cols, float64(alpha), px, eRow, eCol, py, ldb, unit, isFloat64[T]())
	case solve:
		solveGo(n, cols, alpha, x, eRow, eCol, y, ldb, unit)
	default:
		multiplyGo(n, cols, alpha, x, eRow, eCol, y, ldb, unit)
	}
}

// axpyGo is [Axpy] in Go.
func axpyGo[T Float](a T, x, y []T) {
	if isFloat64[T]() {
		axpyF64(float64(a), slice[float64](x), slice[float64](y))
		return
	}
	axpyF32(float32(a), slice[float32](x), slice[float32](y))
}

func axpyF32(a float32, x, y []float32) {
	y = y[:len(x)]
	for j, v := range x {
		y[j] = FMA32(a, v, y[j])
	}
}

func axpyF64(a float64, x, y []float64) {
	y = y[:len(x)]
	for j, v := range x {
		y[j] = math.FMA(a, v, y[j])
	}
}

// at is the n elements from i elements behind p.
func at[T Float](p *T, i, n int) []T {
	return unsafe.Slice((*T)(unsafe.Add(unsafe.Pointer(p), i*int(unsafe.Sizeof(*p)))), n)
}

func multiplyGo[T Float](n, cols int, alpha T, e *T, eRow, eCol int, b *T, bRow int, unit bool) {
	s, x := Take[T](cols)
	defer s.Give()
	for i := n - 1; i >= 0; i-- {
		y, d := at(b, i*bRow, cols), T(1)
		if !unit {
			d = at(e, i*(eRow+eCol), 1)[0]
		}
		copy(x, y)
		clear(y)
		if bRow < 0 {
			axpyGo(d, x, y)
		}
		for p := range i {
			k := p
			if bRow < 0 {
				k = i - 1 - p
			}
			axpyGo(at(e, i*eRow+k*eCol, 1)[0], at(b, k*bRow, cols), y)
		}
		if bRow >= 0 {
			axpyGo(d, x, y)
		}
		scaleRow(alpha, y)
	}
}

func solveGo[T Float](n, cols int, alpha T, e *T, eRow, eCol int, b *T, bRow int, unit bool) {
	for i := range n {
		y := at(b, i*bRow, cols)
		scaleRow(alpha, y)
		for k := range i {
			axpyGo(-at(e, i*eRow+k*eCol, 1)[0], at(b, k*bRow, cols), y)
		}
		if unit {
			continue
		}
		d := at(e, i*(eRow+eCol), 1)[0]
		for j := range y {
			y[j] /= d
		}
	}
}

func scaleRow[T Float](a T, y []T) {
	for ; len(y) >= 4; y = y[4:] { // the compiler does not unroll
		y[0] *= a
		y[1] *= a
		y[2] *= a
		y[3] *= a
	}
	for j := range y {
		y[j] *= a
	}
}

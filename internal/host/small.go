package host

import (
	"math"
	"unsafe"

	"github.com/tandem-gpu/tandem/element"
)

// What follows is for matrices of few elements, where plain loops are done before what is made for
// large ones would have begun. The bits are the same. Only those of float64 use the processor's
// fma: Go has none for float32.

// Plain loops compute products with at most so many rows, columns and steps; of float64 one more
// where an operand is transposed or C is read.
const (
	smallProduct32 = 2
	smallProduct64 = 3
	smallSymm      = 4
	smallTriangle  = 16 // elements of a transposed B
)

func isFloat64[T element.Element]() bool { return unsafe.Sizeof(T(0)) == 8 }

// float64s is x, whose elements are float64.
func float64s[T element.Element](x []T) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// isSmallProduct tells whether smallGemm is the fastest for a product with neither alpha nor k
// zero. What [Gemm] does not take as it is makes the loops pay a little longer.
func isSmallProduct[T element.Element](changed bool, m, n, k int) bool {
	size := smallProduct32
	if isFloat64[T]() {
		size = smallProduct64
		if changed {
			size++
		}
	}
	return m <= size && n <= size && k <= size
}

// steps are how far apart two rows and two columns of op(M) are.
func steps(trans bool, ld int) (row, col int) {
	if trans {
		return 1, ld
	}
	return ld, 1
}

// smallGemm is [GemmTrans].
func smallGemm[T element.Element](
	transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int,
) {
	if isFloat64[T]() {
		smallGemm64(transA, transB, m, n, k, float64(alpha), float64s(a), lda, float64s(b), ldb, float64(beta),
			float64s(c), ldc)
		return
	}
	aRow, aCol := steps(transA, lda)
	bRow, bCol := steps(transB, ldb)
	for i := range m {
		for j := range n {
			x := &c[i*ldc+j]
			var acc T
			for p := range k {
				acc = FMA(a[i*aRow+p*aCol], b[p*bRow+j*bCol], acc)
			}
			if beta == 0 {
				*x = alpha * acc
			} else {
				*x = FMA(alpha, acc, Mul(beta, *x))
			}
		}
	}
}

func smallGemm64(transA, transB bool, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int,
	beta float64, c []float64, ldc int,
) {
	aRow, aCol := steps(transA, lda)
	bRow, bCol := steps(transB, ldb)
	for i := range m {
		row64(k, alpha, a[i*aRow:], aCol, b, bRow, bCol, beta, c[i*ldc:][:n])
	}
}

// row64 is the elements of C in a row. a is a row of op(A), and op(B) is that from C's first column
// on.
func row64(k int, alpha float64, a []float64, aStep int, b []float64, bRow, bCol int, beta float64, c []float64) {
	for ; len(c) >= 4; b, c = b[min(4*bCol, len(b)):], c[4:] {
		var acc0, acc1, acc2, acc3 float64
		for p := range k {
			x, at := a[p*aStep], p*bRow
			acc0, acc1 = math.FMA(x, b[at], acc0), math.FMA(x, b[at+bCol], acc1)
			acc2, acc3 = math.FMA(x, b[at+2*bCol], acc2), math.FMA(x, b[at+3*bCol], acc3)
		}
		c[0], c[1] = finish64(alpha, acc0, beta, c[0]), finish64(alpha, acc1, beta, c[1])
		c[2], c[3] = finish64(alpha, acc2, beta, c[2]), finish64(alpha, acc3, beta, c[3])
	}
	for j := range c {
		var acc float64
		for p := range k {
			acc = math.FMA(a[p*aStep], b[p*bRow+j*bCol], acc)
		}
		c[j] = finish64(alpha, acc, beta, c[j])
	}
}

func finish64(alpha, acc, beta, old float64) float64 {
	if beta == 0 {
		return alpha * acc
	}
	return math.FMA(alpha, acc, beta*old)
}

// SmallSymm is C = alpha*A*B + beta*C for m by n matrices, or without left alpha*B*A + beta*C,
// where A is the symmetric matrix whose lower or upper triangle a has. It computes that, and tells
// so, where plain loops are the fastest.
func SmallSymm(left, lower bool, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64,
	c []float64, ldc int,
) bool {
	if m > smallSymm || n > smallSymm || alpha == 0 {
		return false
	}
	k := n
	if left {
		k = m
	}
	var whole [smallSymm * smallSymm]float64
	mirrorBlock(lower, k, a, lda, whole[:], k)
	if left {
		smallGemm64(false, false, m, n, k, alpha, whole[:], k, b, ldb, beta, c, ldc)
	} else {
		smallGemm64(false, false, m, n, k, alpha, b, ldb, whole[:], k, beta, c, ldc)
	}
	return true
}

// SmallGemmTriangle is [GemmTriangle] for two matrices of n by k, X and the transpose of Y, which
// with trans are k by n in memory. It computes that, and tells so, where plain loops are the
// fastest: for two elements at a time.
func SmallGemmTriangle(lower, trans bool, n, k int, alpha float64, x []float64, ldx int, y []float64, ldy int,
	beta float64, c []float64, ldc int,
) bool {
	if n > 6 || n > 3 && n*k > 48 || alpha == 0 || k == 0 {
		return false
	}
	for i := range n {
		lo, hi := triangleRow(lower, i, n)
		row := c[i*ldc:][:hi]
		for j := lo; j < hi; j += 2 {
			next := min(j+1, hi-1)
			var s0, s1 float64
			if !trans {
				s0, s1 = dots(x[i*ldx:][:k], y[j*ldy:][:k], y[next*ldy:][:k])
			} else {
				s0, s1 = dotsOfColumns(k, x[i:], ldx, y[j:], ldy, next-j)
			}
			if next > j {
				row[next] = finish64(alpha, s1, beta, row[next])
			}
			row[j] = finish64(alpha, s0, beta, row[j])
		}
	}
	return true
}

// dots are the chains of x with two rows.
func dots(x, y0, y1 []float64) (s0, s1 float64) {
	y0, y1 = y0[:len(x)], y1[:len(x)]
	for p, v := range x {
		s0, s1 = math.FMA(v, y0[p], s0), math.FMA(v, y1[p], s1)
	}
	return s0, s1
}

// dotsOfColumns are those of the column that x begins with and two columns of y: the first and the
// one at next.
func dotsOfColumns(k int, x []float64, ldx int, y []float64, ldy, next int) (s0, s1 float64) {
	from, at := 0, 0
	for range k {
		v := x[from]
		s0, s1 = math.FMA(v, y[at], s0), math.FMA(v, y[at+next], s1)
		from, at = from+ldx, at+ldy
	}
	return s0, s1
}

// isFewColumns tells whether smallApplyTriangle is the fastest.
func isFewColumns[T Float](left bool, n, cols int) bool {
	return isFloat64[T]() && n <= MaxTriangle && (cols == 1 || !left && n*cols <= smallTriangle)
}

// smallApplyTriangle is [ApplyTriangle], one column after the other.
func smallApplyTriangle(
	solve, left bool, n, cols int, alpha float64, e []float64, eRow, eCol int, upper, unit bool, b []float64, ldb int,
) {
	bRow, bCol := steps(!left, ldb)
	for j := range cols {
		column64(solve, upper, unit, n, alpha, e, eRow, eCol, b[j*bCol:], bRow)
	}
}

// column64 is [MultiplyTriangle], or with solve [SolveTriangle], for E and one column of B, whose
// elements are bRow apart.
func column64(solve, upper, unit bool, n int, alpha float64, e []float64, eRow, eCol int, b []float64, bRow int) {
	if n > smallColumn && eRow == 1 && bRow == 1 {
		columns64(solve, upper, unit, n, alpha, e, eCol, b)
		return
	}
	if !solve {
		multiplyColumn64(upper, unit, n, alpha, e, eRow, eCol, b, bRow)
		return
	}
	for p := range n {
		i := p
		if upper {
			i = n - 1 - p
		}
		acc := alpha * b[i*bRow]
		switch contiguous := eCol == 1 && bRow == 1; {
		case contiguous && upper:
			acc = chainDown64(acc, e[i*eRow:][i+1:n], b[i+1:n])
		case contiguous:
			acc = chainUp64(-1, acc, e[i*eRow:][:i], b[:i])
		case upper:
			acc = chain64(n-1-i, -1, acc, e, i*eRow+(n-1)*eCol, -eCol, b, (n-1)*bRow, -bRow)
		default:
			acc = chain64(i, -1, acc, e, i*eRow, eCol, b, 0, bRow)
		}
		if !unit {
			acc /= e[i*(eRow+eCol)]
		}
		b[i*bRow] = acc
	}
}

// multiplyColumn64 is [MultiplyTriangle] for E and one column of B.
func multiplyColumn64(upper, unit bool, n int, alpha float64, e []float64, eRow, eCol int, b []float64, bRow int) {
	for p := range n {
		i, first, count := n-1-p, 0, n-1-p // the columns of E beside the diagonal
		if upper {
			i, first, count = p, p+1, n-1-p
		}
		d, acc := 1.0, 0.0
		if !unit {
			d = e[i*(eRow+eCol)]
		}
		if upper {
			acc = math.FMA(d, b[i*bRow], acc)
		}
		if eCol == 1 && bRow == 1 {
			acc = chainUp64(1, acc, e[i*eRow:][first:first+count], b[first:first+count])
		} else {
			acc = chain64(count, 1, acc, e, i*eRow+first*eCol, eCol, b, first*bRow, bRow)
		}
		if !upper {
			acc = math.FMA(d, b[i*bRow], acc)
		}
		b[i*bRow] = alpha * acc
	}
}

// chainUp64 adds the products of x and y, times a sign, to acc, from the first on.
func chainUp64(sign, acc float64, x, y []float64) float64 {
	y = y[:len(x)]
	for k, v := range x {
		acc = math.FMA(sign*v, y[k], acc)
	}
	return acc
}

// chainDown64 subtracts the products, from the last on.
func chainDown64(acc float64, x, y []float64) float64 {
	y = y[:len(x)]
	for k := len(x) - 1; k >= 0; k-- {
		acc = math.FMA(-x[k], y[k], acc)
	}
	return acc
}

// chain64 is chainUp64 for n elements, those of x from i on and those of y from j on, as far apart
// as the steps say.
func chain64(n int, sign, acc float64, x []float64, i, xStep int, y []float64, j, yStep int) float64 {
	for range n {
		acc = math.FMA(sign*x[i], y[j], acc)
		i, j = i+xStep, j+yStep
	}
	return acc
}

// smallColumn is how many rows E has at most where what columns64 gains does not pay.
const smallColumn = 6

// columns64 is column64 where the columns of E and that of B are contiguous: as soon as what row k
// gives the others is known, they all take it.
func columns64(solve, upper, unit bool, n int, alpha float64, e []float64, eCol int, b []float64) {
	b = b[:n]
	if !solve {
		var memory [MaxTriangle]float64
		x := memory[:copy(memory[:], b)]
		clear(b)
		for k, v := range x {
			col, lo, hi := e[k*eCol:][:n], k, n
			if upper {
				lo, hi = 0, k+1
			}
			if unit { // the diagonal is an end of lo to hi
				b[k] = math.FMA(1, v, b[k])
				if upper {
					hi--
				} else {
					lo++
				}
			}
			axpyF64(v, col[lo:hi], b[lo:hi])
		}
		scaleRow(alpha, b)
		return
	}
	scaleRow(alpha, b)
	for p := range n {
		k, lo, hi := p, p+1, n
		if upper {
			k, lo, hi = n-1-p, 0, n-1-p
		}
		col := e[k*eCol:][:n]
		if !unit {
			b[k] /= col[k]
		}
		axpyF64(-b[k], col[lo:hi], b[lo:hi])
	}
}

// Plain loops compute products with a vector of at most so many elements of the matrix, and of a
// symmetric one with at most so many rows.
const (
	smallGemv32 = 4
	smallGemv64 = 64
	smallSymv   = 32
)

// smallGemv is [Gemv] with alpha not zero. It computes that, and tells so, where plain loops are
// the fastest.
func smallGemv[T Float](trans bool, m, n int, alpha T, a []T, lda int, x []T, beta T, y []T) bool {
	row, col := steps(trans, lda)
	k := m + n - len(y)
	switch {
	case isFloat64[T]() && m*n <= smallGemv64:
		row64(k, float64(alpha), float64s(x), 1, float64s(a), col, row, float64(beta), float64s(y))
		return true
	case !isFloat64[T]() && m*n <= smallGemv32:
		for i := range y {
			var acc T
			for p := range k {
				acc = FMA(a[i*row+p*col], x[p], acc)
			}
			if beta == 0 {
				y[i] = alpha * acc
			} else {
				y[i] = FMA(alpha, acc, Mul(beta, y[i]))
			}
		}
		return true
	}
	return false
}

// smallSymv64 is [Symv] with at most smallSymv rows, and alpha not zero.
func smallSymv64(lower bool, n int, alpha float64, a []float64, lda int, x []float64, beta float64, y []float64) {
	var acc [smallSymv]float64
	for i, v := range x[:n] {
		lo, hi := triangleRow(lower, i, n)
		row, s := a[i*lda:][lo:hi], acc[i]
		if !lower {
			s = math.FMA(row[0], v, s)
			row, lo = row[1:], lo+1
		} else {
			row, hi = row[:i], i
		}
		xs, others := x[lo:hi], acc[lo:hi]
		for k, w := range row {
			s = math.FMA(w, xs[k], s)
			others[k] = math.FMA(w, v, others[k])
		}
		if lower {
			s = math.FMA(a[i*(lda+1)], v, s)
		}
		acc[i] = s
	}
	for i := range y {
		y[i] = finish64(alpha, acc[i], beta, y[i])
	}
}

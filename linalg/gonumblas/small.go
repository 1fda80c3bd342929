package gonumblas

import (
	"math"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

// What follows is level 3 for small matrices on the host: it is done before what is made for large ones would have begun. The bits are the same.

// smallSize is how many rows, columns and steps a product has at most for which plain loops are the fastest.
const smallSize = 2

// Plain loops compute products of float64 up to smallProduct, one more where an operand is transposed or C is read, symm up to smallSymm, and syrk and
// syr2k where isTinySyrk says so. With a triangle at B's right side they do it where B has at most smallTriangle elements, and with a
// single column or row of B on either side.
const (
	smallProduct  = 3
	smallSymm     = 4
	smallTriangle = 16
	smallMean     = 8 // the largest harmonic mean of what these have
)

// smallOnHost tells whether what has a harmonic mean of smallMean or less stays on the host. It does where the crossover is measured.
func (e *engine) smallOnHost() bool { return e.fixed == nil || *e.fixed > smallMean }

// isSmallProduct tells it of a product with neither alpha nor k zero.
func isSmallProduct(tA, tB blas.Transpose, m, n, k int, beta float64) bool {
	size := smallProduct
	if tA != blas.NoTrans || tB != blas.NoTrans || beta != 0 {
		size++
	}
	return m <= size && n <= size && k <= size
}

// small tells whether smallGemm is the fastest for a product on the host. What the host's product does not take as it is makes the loops pay a little
// longer, unless in float32, where Go cannot use the processor's instruction.
func small[T float](m, n, k int, plain bool) bool {
	size := smallSize
	if !plain && !is32[T]() {
		size++
	}
	return m <= size && n <= size && k <= size
}

// steps are how far apart two rows and two columns of op(M) are.
func steps(t blas.Transpose, ld int) (row, col int) {
	if t == blas.NoTrans {
		return ld, 1
	}
	return 1, ld
}

// smallGemm is hostGemm for small matrices.
func smallGemm[T float](alpha T, tA blas.Transpose, a linalg.Matrix[T], tB blas.Transpose, b linalg.Matrix[T], beta T, c linalg.Matrix[T], k int) {
	switch x := any(a.Data).(type) {
	case []float64:
		alpha, y, beta, z := any(alpha).(float64), any(b.Data).([]float64), any(beta).(float64), any(c.Data).([]float64)
		smallGemm64(tA, tB, c.Rows, c.Cols, k, alpha, x, a.Stride, y, b.Stride, beta, z, c.Stride)
	case []float32:
		alpha, y, beta, z := any(alpha).(float32), any(b.Data).([]float32), any(beta).(float32), any(c.Data).([]float32)
		aRow, aCol := steps(tA, a.Stride)
		bRow, bCol := steps(tB, b.Stride)
		for i := range c.Rows {
			for j := range c.Cols {
				at := i*c.Stride + j
				z[at] = element32(k, alpha, x[i*aRow:], aCol, y[j*bCol:], bRow, beta, z[at])
			}
		}
	}
}

func element32(k int, alpha float32, a []float32, aStep int, b []float32, bStep int, beta, old float32) float32 {
	var acc float32
	for p := range k {
		acc = host.FMA32(a[p*aStep], b[p*bStep], acc)
	}
	if beta == 0 {
		return alpha * acc
	}
	return host.FMA32(alpha, acc, beta*old)
}

func smallGemm64(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	aRow, aCol := steps(tA, lda)
	bRow, bCol := steps(tB, ldb)
	for i := range m {
		row64(k, alpha, a[i*aRow:], aCol, b, bRow, bCol, beta, c[i*ldc:][:n])
	}
}

// row64 is the elements of C in a row. a is a row of op(A), and op(B) is that from C's first column on.
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

// isSmallSyrk tells whether smallSyrk computes syrk and syr2k.
func isSmallSyrk[T float](e *engine, n, k int, alpha T) bool {
	return alpha != 0 && k > 0 && n <= symmetricBlock && inStrips[T](e, n, k)
}

// smallSyrk is the triangle of C = alpha*op(A)*op(B)ᵀ + beta*C on the host, of at most symmetricBlock rows and with neither alpha nor k zero.
func smallSyrk[T float](lower bool, t blas.Transpose, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	s, memory := scratch[T](1, n*(k+stripRows))
	acc, whole := s.Data[:n*stripRows], s.Data[n*stripRows:]
	if t == blas.NoTrans {
		transposeTo(n, k, b, ldb, whole, n)
		strips(lower, n, k, alpha, a, lda, whole, n, beta, c, ldc, acc)
	} else {
		transposeTo(k, n, a, lda, whole, k)
		strips(lower, n, k, alpha, whole, k, b, ldb, beta, c, ldc, acc)
	}
	give(memory)
}

// smallSymm64 is symm for at most smallSymm rows and columns, with alpha not zero.
func smallSymm64(left, lower bool, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	k := n
	if left {
		k = m
	}
	var whole [smallSymm * smallSymm]float64
	for i := range k {
		lo, hi := ofTriangle(lower, i, k)
		for j := lo; j < hi; j++ {
			v := a[i*lda+j]
			whole[i*k+j], whole[j*k+i] = v, v
		}
	}
	if left {
		smallGemm64(blas.NoTrans, blas.NoTrans, m, n, k, alpha, whole[:], k, b, ldb, beta, c, ldc)
	} else {
		smallGemm64(blas.NoTrans, blas.NoTrans, m, n, k, alpha, b, ldb, whole[:], k, beta, c, ldc)
	}
}

// isTinySyrk tells whether plain loops are the fastest for syrk and syr2k.
func isTinySyrk(e *engine, n, k int, alpha float64) bool {
	return alpha != 0 && k > 0 && (n <= 3 || n <= 6 && n*k <= 48) && e.smallOnHost()
}

// tinySyrk64 is smallSyrk by plain loops, for two elements at a time.
func tinySyrk64(lower bool, t blas.Transpose, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	for i := range n {
		lo, hi := ofTriangle(lower, i, n)
		row := c[i*ldc:][:hi]
		for j := lo; j < hi; j += 2 {
			next := min(j+1, hi-1)
			var s0, s1 float64
			if t == blas.NoTrans {
				s0, s1 = dots(a[i*lda:][:k], b[j*ldb:][:k], b[next*ldb:][:k])
			} else {
				s0, s1 = dotsOfColumns(k, a[i:], lda, b[j:], ldb, next-j)
			}
			if next > j {
				row[next] = finish64(alpha, s1, beta, row[next])
			}
			row[j] = finish64(alpha, s0, beta, row[j])
		}
	}
}

// dots are the chains of x with two rows.
func dots(x, y0, y1 []float64) (s0, s1 float64) {
	y0, y1 = y0[:len(x)], y1[:len(x)]
	for p, v := range x {
		s0, s1 = math.FMA(v, y0[p], s0), math.FMA(v, y1[p], s1)
	}
	return s0, s1
}

// dotsOfColumns are those of the column that x begins with and two columns of y: the first and the one at next.
func dotsOfColumns(k int, x []float64, ldx int, y []float64, ldy, next int) (s0, s1 float64) {
	from, at := 0, 0
	for range k {
		v := x[from]
		s0, s1 = math.FMA(v, y[at], s0), math.FMA(v, y[at+next], s1)
		from, at = from+ldx, at+ldy
	}
	return s0, s1
}

// triangular64 is trmm, or with solve trsm, where one call of package host or plain loops compute it. It tells whether they have.
func triangular64(solve bool, s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) bool {
	left, rows, cols := s == blas.Left, m, n
	if !left {
		rows, cols = n, m
	}
	if rows > triangleBlock || alpha == 0 {
		return false
	}
	transposed := (tA != blas.NoTrans) == left
	upper := (ul == blas.Upper) != transposed
	row, col := lda, 1
	if transposed {
		row, col = col, row
	}
	switch unit := d == blas.Unit; {
	case cols == 1 || !left && rows*cols <= smallTriangle:
		bRow, bCol := ldb, 1
		if !left {
			bRow, bCol = bCol, bRow
		}
		for j := range cols {
			column64(solve, upper, unit, rows, alpha, a, row, col, b[j*bCol:], bRow)
		}
	case left && solve:
		host.SolveTriangle(rows, cols, alpha, a, row, col, upper, unit, b, ldb)
	case left:
		host.MultiplyTriangle(rows, cols, alpha, a, row, col, upper, unit, b, ldb)
	default:
		return false
	}
	return true
}

// column64 is trmm, or with solve trsm, for E and one column of B, whose elements are bRow apart.
func column64(solve, upper, unit bool, n int, alpha float64, e []float64, eRow, eCol int, b []float64, bRow int) {
	if n > smallColumn && eRow == 1 && bRow == 1 {
		columns64(solve, upper, unit, n, alpha, e, eCol, b)
		return
	}
	for p := range n {
		i := p
		if upper == solve {
			i = n - 1 - p
		}
		acc, sign := b[i*bRow], 1.0
		if solve {
			acc, sign = alpha*acc, -1
		} else if !unit {
			acc *= e[i*(eRow+eCol)]
		}
		switch contiguous := eCol == 1 && bRow == 1; {
		case contiguous && upper:
			acc = chainDown64(sign, acc, e[i*eRow:][i+1:n], b[i+1:n])
		case contiguous:
			acc = chainUp64(sign, acc, e[i*eRow:][:i], b[:i])
		case upper:
			acc = chain64(n-1-i, sign, acc, e, i*eRow+(n-1)*eCol, -eCol, b, (n-1)*bRow, -bRow)
		default:
			acc = chain64(i, sign, acc, e, i*eRow, eCol, b, 0, bRow)
		}
		if !solve {
			acc *= alpha
		} else if !unit {
			acc /= e[i*(eRow+eCol)]
		}
		b[i*bRow] = acc
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

// chainDown64 is chainUp64 from the last on.
func chainDown64(sign, acc float64, x, y []float64) float64 {
	y = y[:len(x)]
	for k := len(x) - 1; k >= 0; k-- {
		acc = math.FMA(sign*x[k], y[k], acc)
	}
	return acc
}

// chain64 is chainUp64 for n elements, those of x from i on and those of y from j on, as far apart as the steps say.
func chain64(n int, sign, acc float64, x []float64, i, xStep int, y []float64, j, yStep int) float64 {
	for range n {
		acc = math.FMA(sign*x[i], y[j], acc)
		i, j = i+xStep, j+yStep
	}
	return acc
}

// smallColumn is how many rows E has at most where what columns64 gains does not pay.
const smallColumn = 6

// columns64 is column64 where the columns of E and that of B are contiguous: as soon as what row k gives the others is known, they all take it.
func columns64(solve, upper, unit bool, n int, alpha float64, e []float64, eCol int, b []float64) {
	var memory [triangleBlock]float64
	b = b[:n]
	x := memory[:copy(memory[:], b)]
	for i := range b {
		if solve {
			b[i] *= alpha
		} else if !unit {
			b[i] *= e[i*(1+eCol)]
		}
	}
	for p := range n {
		k, lo, hi := p, p+1, n
		if upper {
			k, lo, hi = n-1-p, 0, n-1-p
		}
		col, v := e[k*eCol:][:n], x[k]
		if solve {
			if !unit {
				b[k] /= col[k]
			}
			v = -b[k]
		}
		axpy64(v, col[lo:hi], b[lo:hi])
	}
	if !solve {
		for i := range b {
			b[i] *= alpha
		}
	}
}

// axpy64 is y = a*x + y.
func axpy64(a float64, x, y []float64) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] = math.FMA(v, a, y[i])
	}
}

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

// Plain loops compute products of float64 up to smallProduct, one more where an operand is transposed or C is read, and syrk and syr2k whose rows times
// rows times steps are at most smallSyrk. With a triangle at B's right side they do it where B has at most smallTriangle elements, and with
// a single column or row of B on either side.
const (
	smallProduct  = 3
	smallSyrk     = 512
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

// smallSyrk64 is the triangle of C = alpha*op(A)*op(B)ᵀ + beta*C, with neither alpha nor k zero.
func smallSyrk64(lower bool, t blas.Transpose, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	aRow, aCol := steps(t, lda)
	bRow, bCol := steps(t, ldb)
	for i := range n {
		lo, hi := ofTriangle(lower, i, n)
		row64(k, alpha, a[i*aRow:], aCol, b[lo*bRow:], bCol, bRow, beta, c[i*ldc:][lo:hi])
	}
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
		l := loops64{n: rows, alpha: alpha, unit: unit, e: a, eRow: row, eCol: col, b: b, bRow: ldb}
		bCol := 1
		if !left {
			l.bRow, bCol = bCol, ldb
		}
		l.run(solve, upper, cols, bCol)
	case left && solve:
		host.SolveTriangle(rows, cols, alpha, a, row, col, upper, unit, b, ldb)
	case left:
		host.MultiplyTriangle(rows, cols, alpha, a, row, col, upper, unit, b, ldb)
	default:
		return false
	}
	return true
}

// loops64 are the loops for a lower triangle and a column of B. Element (i, k) of E is e[e0+i*eRow+k*eCol], and row i of B is b[b0+i*bRow].
type loops64 struct {
	n                        int
	alpha                    float64
	unit                     bool
	e, b                     []float64
	e0, eRow, eCol, b0, bRow int
}

// run works on columns of B that are bCol apart.
func (l *loops64) run(solve, upper bool, cols, bCol int) {
	if upper {
		l.e0, l.eRow, l.eCol = (l.n-1)*(l.eRow+l.eCol), -l.eRow, -l.eCol
		l.b0, l.bRow = (l.n-1)*l.bRow, -l.bRow
	}
	for range cols {
		if solve {
			l.solve()
		} else {
			l.multiply()
		}
		l.b0 += bCol
	}
}

func (l *loops64) multiply() {
	for i := l.n - 1; i >= 0; i-- {
		e, at := l.e0+i*l.eRow, l.b0
		acc := l.b[at+i*l.bRow]
		if !l.unit {
			acc *= l.e[e+i*l.eCol]
		}
		for range i {
			acc = math.FMA(l.e[e], l.b[at], acc)
			e, at = e+l.eCol, at+l.bRow
		}
		l.b[at] = l.alpha * acc
	}
}

// solve takes each x[k] from all the rows below before it goes on, so that the processor works on several chains at the same time.
func (l *loops64) solve() {
	if l.alpha != 1 {
		for i := range l.n {
			l.b[l.b0+i*l.bRow] *= l.alpha
		}
	}
	for k := range l.n {
		e, at := l.e0+k*(l.eRow+l.eCol), l.b0+k*l.bRow
		x := l.b[at]
		if !l.unit {
			x /= l.e[e]
			l.b[at] = x
		}
		for range l.n - 1 - k {
			e, at = e+l.eRow, at+l.bRow
			l.b[at] = math.FMA(-l.e[e], x, l.b[at])
		}
	}
}

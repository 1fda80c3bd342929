package host

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/element"
)

// A complex product is one real product of m by 2n by 2k, of matrices whose elements lie as real
// and imaginary part: each row of A as reals, by two rows for each of B, the row and i times it, or
// -i times it for the conjugate of A. What follows makes these. Complex matrices are given as reals
// here, with their leading dimension in complex elements.

// A RealProduct makes Z, of m by n, s*X*Y + t*Z, for X of m by k and Y of k by n.
type RealProduct[T Float] func(m, n, k int, s T, x []T, ldx int, y []T, ldy int, t T, z []T, ldz int) error

// ComplexGemm is C = alpha*op(A)*op(B) + beta*C for complex numbers alpha and beta, their real part
// first. op(A) is of m by k, op(B) of k by n: with trans memory has the transpose, and with conj
// that is conjugated as well. Without product it is computed here. An error of product leaves C
// undefined.
func ComplexGemm[T Float](transA, conjA, transB, conjB bool, m, n, k int, alpha [2]T, a []T, lda int, b []T, ldb int,
	beta [2]T, c []T, ldc int, product RealProduct[T],
) error {
	switch {
	case m == 0 || n == 0:
		return nil
	case alpha == [2]T{} || k == 0:
		complexFinish(m, n, alpha, nil, beta, c, ldc)
		return nil
	case alpha[1] != 0 || beta[1] != 0:
		memory, chains := Take[T](2 * m * n)
		defer memory.Give()
		err := ComplexGemm(transA, conjA, transB, conjB, m, n, k, [2]T{1}, a, lda, b, ldb, [2]T{}, chains, n, product)
		if err != nil {
			return err
		}
		complexFinish(m, n, alpha, chains, beta, c, ldc)
		return nil
	}
	if product == nil &&
		complexPacked(transA, conjA, transB, conjB, m, n, k, alpha[0], a, lda, b, ldb, beta[0], c, ldc) {
		return nil
	}
	left, ldl, leftMemory := complexLeft(transA, m, k, a, lda)
	defer leftMemory.Give()
	rightMemory, right := Take[T](4 * k * n)
	defer rightMemory.Give()
	complexRight(transB, conjB, conjA, k, n, b, ldb, right)
	if product == nil {
		Gemm(m, 2*n, 2*k, alpha[0], left, ldl, right, 2*n, beta[0], c, 2*ldc)
		return nil
	}
	return product(m, 2*n, 2*k, alpha[0], left, ldl, right, 2*n, beta[0], c, 2*ldc)
}

// complexPacked is [ComplexGemm] for real numbers alpha and beta, with factors that are made where
// they are packed. It computes that, and tells so, unless a product that does not pack B is faster.
func complexPacked[T Float](transA, conjA, transB, conjB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int,
	beta T, c []T, ldc int,
) bool {
	p := newProduct(kernels[T]()[0], problem[T]{
		m: m, n: 2 * n, k: 2 * k, alpha: alpha, beta: beta, transA: transA, iSign: signOf[T](conjA), conjB: conjB,
		a: a, lda: 2 * lda, b: b, ldb: 2 * n, c: c, ldc: 2 * ldc,
	})
	// A row is no matter of tiles. Of tall products each core would pack B again.
	if m == 1 || max(p.m, p.n, p.k) <= FewTiles || p.m >= p.n && (p.isNarrow() || p.isSlim()) {
		return false
	}
	p.transB, p.ldb, p.directA = transB, 2*ldb, p.directA && !transA
	p.compute()
	return true
}

// packParts is [packRows] for rows of n complex numbers: of each the real parts, and below them the
// imaginary ones.
func packParts[T element.Element](width, n, rows int, src []T, lds int, dst []T, ldd int) {
	for k := range rows {
		from, to, j := src[k*lds:][:2*n], dst[2*k*width:], 0
		for ; width == 8 && j+8 <= n; j += 8 {
			x, y := (*[16]T)(from[2*j:]), (*[16]T)(to[j/8*ldd:])
			for i := range 8 {
				y[i], y[8+i] = x[2*i], x[2*i+1]
			}
		}
		for ; j < n; j += width {
			x, y := from[2*j:min(2*(j+width), 2*n)], to[j/width*ldd:]
			for i := range len(x) / 2 {
				y[i], y[width+i] = x[2*i], x[2*i+1]
			}
		}
	}
}

// packTurned is packB for the right factor of a complex product, a few rows at a time, which are
// near when they are turned.
func (p *product[T]) packTurned(j, n int, dst []T) {
	cols := p.kern.cols
	for k := 0; k < p.kc; k += chunkB {
		rows := min(chunkB, p.kc-k)
		for i := 0; i < n; i += cols {
			width, to, from := min(cols, n-i), dst[i*p.kc+k*cols:], p.bFrom(p.p0+k, j+i)
			if p.transB {
				transposeComplex(signOf[T](p.conjB), 0, rows/2, width/2, from, p.ldb/2, to, 2*cols)
			} else {
				copyRows(rows/2, width, from, p.ldb, to, 2*cols)
			}
			for r := 0; r < rows; r += 2 {
				turnComplex(p.iSign, to[r*cols:][:width], to[(r+1)*cols:])
			}
		}
	}
}

// signOf is that of the imaginary part.
func signOf[T element.Element](conjA bool) T {
	if conjA {
		return -1
	}
	return 1
}

// complexBlock is the rows of a transposed matrix that are read at a time: a cache line or two.
const complexBlock = 8

// complexLeft is the left factor for A, of m by k, and the distance of its rows in reals: A where
// it lies, or with trans, where that is k by m, its transpose in memory to be given back.
func complexLeft[T Float](trans bool, m, k int, a []T, lda int) (left []T, ld int, memory *Scratch) {
	if !trans {
		return a, 2 * lda, nil
	}
	memory, left = Take[T](2 * m * k)
	if isSmall[T](m, 2*k) { // no closure, which is an allocation
		transposeComplex(1, 0, m, k, a, lda, left, 2*k)
	} else {
		bands[T](m, 2*k, complexBlock, func(lo, hi int) { transposeComplex(1, lo, hi, k, a, lda, left, 2*k) })
	}
	return left, 2 * k, memory
}

// transposeComplex makes rows lo to hi-1 of dst, which are ldd reals apart, those of the transpose
// of x, of cols rows, with the imaginary parts times sign.
func transposeComplex[T element.Element](sign T, lo, hi, cols int, x []T, ldx int, dst []T, ldd int) {
	size := int(unsafe.Sizeof(T(0)))
	for i := lo; i < hi; i += complexBlock {
		rows := min(complexBlock, hi-i)
		for p := range cols {
			from, to := x[2*(p*ldx+i):][:2*rows], dst[i*ldd+2*p:][:(rows-1)*ldd+2]
			if rows < complexBlock {
				for r := range rows {
					to[r*ldd], to[r*ldd+1] = from[2*r], sign*from[2*r+1]
				}
				continue
			}
			x, y := (*[2 * complexBlock]T)(from), unsafe.Pointer(&to[0])
			for r := range complexBlock {
				*(*[2]T)(unsafe.Add(y, r*ldd*size)) = [2]T{x[2*r], sign * x[2*r+1]}
			}
		}
	}
}

// complexRight makes dst, packed of 2k by 2n, the right factor for op(B): B is k by n in memory,
// with trans n by k, and with conj it is conjugated as well.
func complexRight[T Float](trans, conj, conjA bool, k, n int, b []T, ldb int, dst []T) {
	if isSmall[T](k, 4*n) {
		complexRightRows(trans, conj, conjA, 0, k, n, b, ldb, dst)
		return
	}
	bands[T](k, 4*n, complexBlock, func(lo, hi int) { complexRightRows(trans, conj, conjA, lo, hi, n, b, ldb, dst) })
}

// complexRightRows makes the rows of the right factor for rows lo to hi-1 of op(B).
func complexRightRows[T Float](trans, conj, conjA bool, lo, hi, n int, b []T, ldb int, dst []T) {
	turn, sign := signOf[T](conjA), signOf[T](conj)
	for p := lo; p < hi; p += complexBlock {
		end := min(p+complexBlock, hi)
		if trans {
			transposeComplex(sign, p, end, n, b, ldb, dst, 4*n)
		}
		for r := p; r < end; r++ {
			y, z := dst[4*r*n:][:2*n], dst[(4*r+2)*n:][:2*n]
			if !trans {
				copy(y, b[2*r*ldb:])
			}
			turnComplex(turn, y, z)
		}
	}
}

// turnComplex makes y, as long as x, turn*i times x.
func turnComplex[T element.Element](turn T, x, y []T) {
	for ; len(x) >= 8; x, y = x[8:], y[8:] {
		x, y := (*[8]T)(x), (*[8]T)(y)
		y[0], y[1], y[2], y[3] = -turn*x[1], turn*x[0], -turn*x[3], turn*x[2]
		y[4], y[5], y[6], y[7] = -turn*x[5], turn*x[4], -turn*x[7], turn*x[6]
	}
	for j := 0; j+1 < len(x); j += 2 {
		y[j], y[j+1] = -turn*x[j+1], turn*x[j]
	}
}

// complexFinish is C = alpha*P + beta*C for complex numbers alpha and beta, their real part first,
// where the chains of a product have ended in P, packed of m by n; without P the sum is beta*C.
func complexFinish[T Float](m, n int, alpha [2]T, p []T, beta [2]T, c []T, ldc int) {
	if alpha[1] == 0 && beta[1] == 0 {
		if p == nil {
			scaleC(m, 2*n, beta[0], c, 2*ldc)
		} else {
			Finish(m, 2*n, alpha[0], p, 2*n, beta[0], c, 2*ldc)
		}
		return
	}
	bands[T](m, 2*n, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			chains := p
			if p != nil {
				chains = p[2*i*n:]
			}
			finishComplexRow(alpha, chains, beta, c[2*i*ldc:][:2*n])
		}
	})
}

// finishComplexRow is complexFinish of a row, where alpha or beta is not real: beta*c is the chain
// of two products for each part, from +0 as all, and goes on with alpha*p; where beta is 0 c is not
// read.
func finishComplexRow[T Float](alpha [2]T, p []T, beta [2]T, c []T) {
	for j := 0; j < len(c); j += 2 {
		var re, im T
		if beta != [2]T{} {
			re, im = addComplexProduct(beta, c[j], c[j+1], 0, 0)
		}
		if p != nil {
			re, im = addComplexProduct(alpha, p[j], p[j+1], re, im)
		}
		c[j], c[j+1] = re, im
	}
}

// addComplexProduct goes on with the chains of a complex number by s*(xr+i*xi).
func addComplexProduct[T Float](s [2]T, xr, xi, re, im T) (T, T) {
	return fma(-s[1], xi, fma(s[0], xr, re)), fma(s[1], xr, fma(s[0], xi, im))
}

// ComplexMirror makes whole, packed, the symmetric or, with conj, Hermitian matrix of n by n whose
// lower or upper triangle a has; the imaginary parts of a Hermitian diagonal are 0 and not read.
func ComplexMirror[T Float](lower, conj bool, n int, a []T, lda int, whole []T) {
	sign := T(1)
	if conj {
		sign = -1
	}
	for i := range n {
		lo, hi := triangleRow(lower, i, n)
		for j := lo; j < hi; j++ {
			re, im := a[2*(i*lda+j)], a[2*(i*lda+j)+1]
			if i == j && conj {
				im = 0
			}
			whole[2*(j*n+i)], whole[2*(j*n+i)+1] = re, sign*im
			whole[2*(i*n+j)], whole[2*(i*n+j)+1] = re, im
		}
	}
}

// A Part of a matrix: the whole, or one triangle.
type Part int8

// The parts of a matrix.
const (
	Whole Part = iota
	LowerTriangle
	UpperTriangle
)

// row is the columns, lo to hi-1, of a row of n columns.
func (p Part) row(i, n int) (lo, hi int) {
	if p == Whole {
		return 0, n
	}
	return triangleRow(p == LowerTriangle, i, n)
}

// complexSigns is the signs by which [addComplexRow] multiplies op(a)*op(b), or with negate
// -op(a)*op(b): a's real part beside the parts of b, and its imaginary part beside b's imaginary
// and real part.
func complexSigns[T Float](negate, conjA, conjB bool) [4]T {
	sign := func(negative bool) T {
		if negative {
			return -1
		}
		return 1
	}
	s, a, b := sign(negate), sign(conjA), sign(conjB)
	return [4]T{s, s * b, -s * a * b, s * a}
}

// addComplexRow goes on with n chains of k steps of complex numbers, given as reals: y[j] by
// op(a[p])*op(b[p,j]) for each p, first by the real part of a[p] and then by the imaginary one. The
// elements of a are aStep reals apart, the rows of b bRow and the numbers of a row bCol. With zero
// the chains begin at +0.
func addComplexRow[T Float](
	k, n int, a *T, aStep int, signs *[4]T, b *T, bRow, bCol int, y *T, zero bool,
) {
	if hasVectors {
		nativeComplexRow(k, n, a, aStep, &signs[0], b, bRow, bCol, y, zero)
		return
	}
	for j := range n {
		sum := at(y, 2*j, 2)
		if zero {
			clear(sum)
		}
		for p := range k {
			x, z := at(a, p*aStep, 2), at(b, p*bRow+j*bCol, 2)
			sum[0] = fma(signs[2]*x[1], z[1], fma(signs[0]*x[0], z[0], sum[0]))
			sum[1] = fma(signs[3]*x[1], z[0], fma(signs[1]*x[0], z[1], sum[1]))
		}
	}
}

// smallComplex is the products of complex numbers up to which a row after the other is the fastest.
const smallComplex = 1 << 13

// SmallComplexGemm is [ComplexGemm] of which a part is kept. It computes that, and tells so, where
// that is the fastest.
func SmallComplexGemm[T Float](part Part, transA, conjA, transB, conjB bool, m, n, k int, alpha [2]T, a []T, lda int,
	b []T, ldb int, beta [2]T, c []T, ldc int,
) bool {
	if m*n*k > smallComplex || m == 0 || n == 0 || k == 0 || alpha == [2]T{} {
		return false
	}
	aRow, aCol := Steps(transA, lda)
	bRow, bCol := Steps(transB, ldb)
	signs := complexSigns[T](false, conjA, conjB)
	inC := alpha == [2]T{1} && beta == [2]T{}
	var few [2 * FewRows]T
	chains := few[:]
	if n > FewRows && !inC {
		memory, more := Take[T](2 * n)
		defer memory.Give()
		chains = more
	}
	for i := range m {
		lo, hi := part.row(i, n)
		to := c[2*(i*ldc+lo):][:2*(hi-lo)]
		acc := to
		if !inC {
			acc = chains[:len(to)]
		}
		addComplexRow(k, hi-lo, &a[2*i*aRow], 2*aCol, &signs, &b[2*lo*bCol], 2*bRow, 2*bCol, &acc[0], true)
		switch {
		case inC:
		case alpha[1] != 0 || beta[1] != 0:
			finishComplexRow(alpha, acc, beta, to)
		default:
			finishSteps(alpha[0], acc, beta[0], &to[0], 1)
		}
	}
	return true
}

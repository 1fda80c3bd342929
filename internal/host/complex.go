package host

// A complex product is one real product of m by 2n by 2k, of matrices whose elements lie as real
// and imaginary part: each row of conj(A) as reals, by two rows for each of B, the row and -i times
// it. What follows makes these. Complex matrices are given as reals here, with their leading
// dimension in complex elements.

// A RealProduct makes Z, of m by n, s*X*Y + t*Z, for X of m by k and Y of k by n.
type RealProduct[T Float] func(m, n, k int, s T, x []T, ldx int, y []T, ldy int, t T, z []T, ldz int) error

// ComplexGemm is C = alpha*op(A)*op(B) + beta*C for complex numbers alpha and beta, their real part
// first, with A of m by k and B of k by n, transposed and conjugated as complexLeft has it.
// An error of product leaves C undefined.
func ComplexGemm[T Float](transA, conjA, transB, conjB bool, m, n, k int, alpha [2]T, a []T, lda int, b []T, ldb int,
	beta [2]T, c []T, ldc int, product RealProduct[T],
) error {
	plain := alpha[1] == 0 && beta[1] == 0
	switch {
	case m == 0 || n == 0:
		return nil
	case alpha == [2]T{} || k == 0:
		complexFinish(m, n, alpha, nil, beta, c, ldc)
		return nil
	}
	leftMemory, left := Take[T](2 * m * k)
	defer leftMemory.Give()
	complexLeft(transA, conjA, m, k, a, lda, left)
	rightMemory, right := Take[T](4 * k * n)
	defer rightMemory.Give()
	complexRight(transB, conjB, k, n, b, ldb, right)
	if plain {
		return product(m, 2*n, 2*k, alpha[0], left, 2*k, right, 2*n, beta[0], c, 2*ldc)
	}
	memory, p := Take[T](2 * m * n)
	defer memory.Give()
	if err := product(m, 2*n, 2*k, 1, left, 2*k, right, 2*n, 0, p, 2*n); err != nil {
		return err
	}
	complexFinish(m, n, alpha, p, beta, c, ldc)
	return nil
}

// complexBlock is the rows of a transposed matrix that are read at a time: a cache line or two.
const complexBlock = 8

// complexLeft makes dst, packed of m by 2k, the left factor for op(A): A is m by k in memory, with
// trans k by m, and with conj it is conjugated as well.
func complexLeft[T Float](trans, conj bool, m, k int, a []T, lda int, dst []T) {
	if isSmall[T](m, 2*k) { // no closure, which is an allocation
		complexLeftRows(trans, conj, 0, m, k, a, lda, dst)
		return
	}
	bands[T](m, 2*k, complexBlock, func(lo, hi int) {
		complexLeftRows(trans, conj, lo, hi, k, a, lda, dst[lo*2*k:])
	})
}

// complexLeftRows makes dst rows lo to hi-1 of the left factor.
func complexLeftRows[T Float](trans, conj bool, lo, hi, k int, a []T, lda int, dst []T) {
	for i := lo; i < hi; i += complexBlock {
		rows := min(complexBlock, hi-i)
		to := dst[(i-lo)*2*k:]
		if trans {
			transposeComplex(conj, rows, k, a[2*i:], lda, to, 2*k)
			continue
		}
		for r := range rows {
			x, y := a[2*(i+r)*lda:][:2*k], to[r*2*k:][:2*k]
			for j := 0; j < len(y); j += 2 {
				y[j], y[j+1] = x[j], -x[j+1]
			}
		}
	}
}

// transposeComplex makes dst, whose rows are ldd reals apart, the transpose of x of cols by rows,
// conjugated unless conj is set.
func transposeComplex[T Float](conj bool, rows, cols int, x []T, ldx int, dst []T, ldd int) {
	sign := T(-1)
	if conj {
		sign = 1
	}
	for p := range cols {
		from := x[2*p*ldx:][:2*rows]
		for r := range rows {
			dst[r*ldd+2*p], dst[r*ldd+2*p+1] = from[2*r], sign*from[2*r+1]
		}
	}
}

// complexRight makes dst, packed of 2k by 2n, the right factor for op(B): B is k by n in memory,
// with trans n by k, and with conj it is conjugated as well.
func complexRight[T Float](trans, conj bool, k, n int, b []T, ldb int, dst []T) {
	if isSmall[T](k, 4*n) {
		complexRightRows(trans, conj, 0, k, n, b, ldb, dst)
		return
	}
	bands[T](k, 4*n, complexBlock, func(lo, hi int) { complexRightRows(trans, conj, lo, hi, n, b, ldb, dst) })
}

// complexRightRows makes the rows of the right factor for rows lo to hi-1 of op(B).
func complexRightRows[T Float](trans, conj bool, lo, hi, n int, b []T, ldb int, dst []T) {
	for p := lo; p < hi; p += complexBlock {
		rows := min(complexBlock, hi-p)
		if trans {
			transposeComplex(!conj, rows, n, b[2*p:], ldb, dst[4*p*n:], 4*n)
		}
		for r := p; r < p+rows; r++ {
			y, z := dst[4*r*n:][:2*n], dst[(4*r+2)*n:][:2*n]
			if !trans {
				copy(y, b[2*r*ldb:])
			}
			turnComplex(y, z)
		}
	}
}

// turnComplex makes y -i times x.
func turnComplex[T Float](x, y []T) {
	for j := 0; j+1 < len(x) && j+1 < len(y); j += 2 {
		y[j], y[j+1] = x[j+1], -x[j]
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

package host

import (
	"math"
	"unsafe"

	"github.com/tandem-gpu/tandem/element"
)

// A complex product is one real product of m by 2n by 2k, of matrices whose elements lie as real
// and imaginary part: each row of A as reals, by two rows for each of B, the row and i times it, or
// -i times it for the conjugate of A. What follows makes these. Complex matrices are given as reals
// here, with their leading dimension in complex elements.

// A RealProduct makes Z, of m by n, s*X*Y + t*Z, for X of m by k and Y of k by n.
type RealProduct[T Float] func(m, n, k int, s T, x []T, ldx int, y []T, ldy int, t T, z []T, ldz int) error

// A ComplexMatrix is op(X), of which Data has the numbers as reals, with Stride numbers from row to
// row: with Trans memory has the transpose, and with Conj that is conjugated as well.
type ComplexMatrix[T Float] struct {
	Data        []T
	Stride      int
	Trans, Conj bool
}

// A ComplexProduct is C = Alpha*op(A)*op(B) + Beta*C for op(A) of M by K and op(B) of K by N, or a
// part of that. Alpha and Beta have their real parts first, and StrideC is in complex elements,
// too.
type ComplexProduct[T Float] struct {
	M, N, K     int
	Alpha, Beta [2]T
	A, B        ComplexMatrix[T]
	C           []T
	StrideC     int
	Part        Part // of C: nothing else of it is read or written. M is N unless it is the whole.
}

// isReal tells whether alpha and beta are.
func (p *ComplexProduct[T]) isReal() bool { return p.Alpha[1] == 0 && p.Beta[1] == 0 }

// readsFactors tells whether A and B count.
func (p *ComplexProduct[T]) readsFactors() bool { return p.Alpha != [2]T{} && p.K > 0 }

// finish makes C what the chains, packed, make of it; without them it is Beta*C.
func (p *ComplexProduct[T]) finish(chains []T) {
	complexFinish(p.M, p.N, p.Alpha, chains, p.Beta, p.C, p.StrideC)
}

// Compute computes the product by real ones, without multiply here. An error of multiply leaves C
// undefined.
func (p *ComplexProduct[T]) Compute(multiply RealProduct[T]) error {
	switch {
	case p.M == 0 || p.N == 0:
		return nil
	case p.Part != Whole:
		return p.triangle(multiply)
	case !p.readsFactors():
		p.finish(nil)
		return nil
	case !p.isReal():
		return p.byChains(multiply)
	}
	if multiply == nil {
		if q := p.packing(); p.packsFactors(&q) {
			q.transB, q.ldb, q.directA = p.B.Trans, 2*p.B.Stride, q.directA && !p.A.Trans
			q.compute()
			return nil
		}
		multiply = realGemm[T]
	}
	left, ldl, leftMemory := complexLeft(p.M, p.K, p.A)
	defer leftMemory.Give()
	rightMemory, right := Take[T](4 * p.K * p.N)
	defer rightMemory.Give()
	complexRight(p.K, p.N, signOf[T](p.A.Conj), p.B, right)
	return multiply(p.M, 2*p.N, 2*p.K, p.Alpha[0], left, ldl, right, 2*p.N, p.Beta[0], p.C, 2*p.StrideC)
}

// realGemm is [Gemm] as a [RealProduct].
func realGemm[T Float](m, n, k int, s T, x []T, ldx int, y []T, ldy int, t T, z []T, ldz int) error {
	Gemm(m, n, k, s, x, ldx, y, ldy, t, z, ldz)
	return nil
}

// byChains is Compute by way of the chains, in memory of their own.
func (p *ComplexProduct[T]) byChains(multiply RealProduct[T]) error {
	memory, chains := Take[T](2 * p.M * p.N)
	defer memory.Give()
	q := *p
	q.Alpha, q.Beta, q.C, q.StrideC = [2]T{1}, [2]T{}, chains, p.N
	if err := q.Compute(multiply); err != nil {
		return err
	}
	p.finish(chains)
	return nil
}

// packing is the real product, with factors that are made where they are packed: planned for those
// that it packs.
func (p *ComplexProduct[T]) packing() product[T] {
	return newProduct(kernels[T]()[0], problem[T]{
		m: p.M, n: 2 * p.N, k: 2 * p.K, alpha: p.Alpha[0], beta: p.Beta[0], transA: p.A.Trans,
		iSign: signOf[T](p.A.Conj), conjB: p.B.Conj,
		a: p.A.Data, lda: 2 * p.A.Stride, b: p.B.Data, ldb: 2 * p.N, c: p.C, ldc: 2 * p.StrideC,
	})
}

// packsFactors tells whether packing is faster than a product that does not pack B. A row is no
// matter of tiles, and of tall products each core would pack B again.
func (p *ComplexProduct[T]) packsFactors(q *product[T]) bool {
	return q.m > 1 && max(q.m, q.n, q.k) > FewTiles && (q.m < q.n || !q.isNarrow() && !q.isSlim())
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

// complexLeft is the left factor for op(A), of m by k, and the distance of its rows in reals: A
// where it lies, or its transpose in memory to be given back.
func complexLeft[T Float](m, k int, a ComplexMatrix[T]) (left []T, ld int, memory *Scratch) {
	if !a.Trans {
		return a.Data, 2 * a.Stride, nil
	}
	memory, left = Take[T](2 * m * k)
	if isSmall[T](m, 2*k) { // no closure, which is an allocation
		transposeComplex(1, 0, m, k, a.Data, a.Stride, left, 2*k)
	} else {
		bands[T](m, 2*k, complexBlock, func(lo, hi int) {
			transposeComplex(1, lo, hi, k, a.Data, a.Stride, left, 2*k)
		})
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

// complexRight makes dst, packed of 2k by 2n, the right factor for op(B), of k by n, and an op(A)
// whose imaginary parts count times iSign.
func complexRight[T Float](k, n int, iSign T, b ComplexMatrix[T], dst []T) {
	if isSmall[T](k, 4*n) {
		complexRightRows(0, k, n, iSign, b, dst)
		return
	}
	bands[T](k, 4*n, complexBlock, func(lo, hi int) { complexRightRows(lo, hi, n, iSign, b, dst) })
}

// complexRightRows makes the rows of the right factor for rows lo to hi-1 of op(B).
func complexRightRows[T Float](lo, hi, n int, iSign T, b ComplexMatrix[T], dst []T) {
	for p := lo; p < hi; p += complexBlock {
		end := min(p+complexBlock, hi)
		if b.Trans {
			transposeComplex(signOf[T](b.Conj), p, end, n, b.Data, b.Stride, dst, 4*n)
		}
		for r := p; r < end; r++ {
			y, z := dst[4*r*n:][:2*n], dst[(4*r+2)*n:][:2*n]
			if !b.Trans {
				copy(y, b.Data[2*r*b.Stride:])
			}
			turnComplex(iSign, y, z)
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
// where the chains of a product have ended in P, packed of m by n; without P the sum is beta*C,
// whatever alpha is.
func complexFinish[T Float](m, n int, alpha [2]T, p []T, beta [2]T, c []T, ldc int) {
	if beta[1] == 0 && (alpha[1] == 0 || p == nil) {
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
	if isFloat64[T]() { // four instructions, where fma would be four calls
		a, b, x, y := float64(s[0]), float64(s[1]), float64(xr), float64(xi)
		return T(math.FMA(-b, y, math.FMA(a, x, float64(re)))), T(math.FMA(b, x, math.FMA(a, y, float64(im))))
	}
	return FMA(-s[1], xi, FMA(s[0], xr, re)), FMA(s[1], xr, FMA(s[0], xi, im))
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
		complexRowNative(k, n, unsafe.Pointer(a), aStep, unsafe.Pointer(signs), unsafe.Pointer(b), bRow, bCol,
			unsafe.Pointer(y), zero, isFloat64[T]())
		return
	}
	for j := range n {
		sum := at(y, 2*j, 2)
		if zero {
			clear(sum)
		}
		for p := range k {
			x, z := at(a, p*aStep, 2), at(b, p*bRow+j*bCol, 2)
			sum[0] = FMA(signs[2]*x[1], z[1], FMA(signs[0]*x[0], z[0], sum[0]))
			sum[1] = FMA(signs[3]*x[1], z[0], FMA(signs[1]*x[0], z[1], sum[1]))
		}
	}
}

// IsSmall tells whether [ComplexProduct.ComputeRows] is the fastest.
func (p *ComplexProduct[T]) IsSmall() bool {
	return p.M*p.N*p.K <= smallComplex && p.M > 0 && p.N > 0 && p.readsFactors()
}

// ComputeRows computes a product of at least a row, a column and a step, with alpha not 0, one row
// after the other.
func (p *ComplexProduct[T]) ComputeRows() {
	aRow, aCol := Steps(p.A.Trans, p.A.Stride)
	bRow, bCol := Steps(p.B.Trans, p.B.Stride)
	signs := complexSigns[T](false, p.A.Conj, p.B.Conj)
	inC := p.Alpha == [2]T{1} && p.Beta == [2]T{}
	var few [2 * FewRows]T
	chains := few[:]
	if p.N > FewRows && !inC {
		memory, more := Take[T](2 * p.N)
		defer memory.Give()
		chains = more
	}
	for i := range p.M {
		lo, hi := p.Part.row(i, p.N)
		to := p.C[2*(i*p.StrideC+lo):][:2*(hi-lo)]
		acc := to
		if !inC {
			acc = chains[:len(to)]
		}
		addComplexRow(p.K, hi-lo, &p.A.Data[2*i*aRow], 2*aCol, &signs, &p.B.Data[2*lo*bCol], 2*bRow, 2*bCol, &acc[0],
			true)
		switch {
		case inC:
		case p.isReal():
			finishRow(p.Alpha[0], acc, p.Beta[0], to)
		default:
			finishComplexRow(p.Alpha, acc, p.Beta, to)
		}
	}
}

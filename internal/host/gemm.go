package host

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/parallel"
)

// Gemm computes C = alpha*A*B + beta*C for A of m by k, B of k by n and C of m by n, which overlaps
// neither.
//
// Every product A*B of an element is one chain acc = fma(a[i,p], b[p,j], acc) for p = 0 ... k-1,
// from +0. The result is fma(alpha, acc, beta*C) with beta*C rounded on its own. beta == 0 does not
// read C, and the result is alpha*acc, rounded once. alpha == 0 or k == 0 reads neither A nor B and
// gives beta*C, or +0 where beta == 0. Large products are spread over the cores; the bits depend on
// nothing but the operands.
func Gemm[T element.Element](m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	GemmTrans(false, false, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Tiles computes C = A*B, or without zero C + A*B, in this goroutine and without packing: it is for
// operands that a near cache holds, of at least one row, column and step. Element (i, p) of A is
// a[i*aRow+p*aCol]. It checks nothing.
func Tiles[T Float](m, n, k int, a []T, aRow, aCol int, b []T, ldb int, c []T, ldc int, zero bool) {
	if n > 1 || ldc > 1 || ldb > 1 { // not a vector
		kernels[T]()[0].tiles(m, n, k, a, aRow, aCol, b, ldb, c, ldc, zero)
		return
	}
	if zero {
		clear(c[:m])
	}
	if aRow == 1 {
		addRow(k, m, &a[0], aCol, b, c[:m])
	} else {
		addColumn(m, k, &a[0], aRow, aCol, b, c[:m])
	}
}

// tiles computes C = A*B, or without zero C + A*B, where it lies, one tile after the other. Element
// (i, p) of A is a[i*aRow+p*aCol].
func (kern *microKernel[T]) tiles(m, n, k int, a []T, aRow, aCol int, b []T, ldb int, c []T, ldc int, zero bool) {
	for i := 0; i < m; i += kern.rows {
		h, a := min(kern.rows, m-i), &a[i*aRow]
		for j := 0; j < n; j += kern.cols {
			kern.run(h, min(kern.cols, n-j), k, a, aRow, aCol, &b[j], ldb, &c[i*ldc+j], ldc, zero)
		}
	}
}

// AddMul computes C + A*B in one chain for A of m by k, B of k by n and C of m by n, which overlaps
// neither: every element is acc = fma(a[i,p], b[p,j], acc) for p = 0 ... k-1, from c[i,j]. k == 0
// reads neither A nor B, and leaves C as it is. So a product may be cut anywhere in k: its parts,
// one after the other, have the bits of the whole.
func AddMul[T element.Element](m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int) {
	Update(false, m, n, k, a, lda, b, ldb, c, ldc)
}

// SubMul is [AddMul] for C - A*B: every element is acc = fma(-a[i,p], b[p,j], acc), from c[i,j].
func SubMul[T element.Element](m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int) {
	Update(true, m, n, k, a, lda, b, ldb, c, ldc)
}

// Update is [AddMul], or with negate [SubMul].
func Update[T element.Element](negate bool, m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int) {
	check("C", m, n, ldc, len(c))
	if m == 0 || n == 0 || k == 0 {
		return
	}
	check("A", m, k, lda, len(a))
	check("B", k, n, ldb, len(b))
	p := newProduct(kernels[T]()[0], problem[T]{
		m: m, n: n, k: k, alpha: 1, accumulate: true, a: a, lda: lda, b: b, ldb: ldb, c: c, ldc: ldc,
	})
	if negate {
		defer p.negate().Give()
	}
	p.choose()
}

// negate makes the product that of -A. Where A is packed it is negated there; else a copy of A or
// of B is, whichever is smaller: the products are the same. The copy is in the memory that it
// returns.
func (p *product[T]) negate() *Scratch {
	switch {
	case !p.directA && !p.isThin(): // a thin one packs A anew for each of its parts
		p.negateA = true
		return nil
	case p.n < p.m:
		s, b := Take[T](p.k * p.n)
		p.kern.negate(p.k, p.n, p.b, p.ldb, b, p.n)
		p.b, p.ldb = b, p.n
		return s
	default:
		s, a := Take[T](p.m * p.k)
		p.kern.negate(p.m, p.k, p.a, p.lda, a, p.k)
		p.a, p.lda = a, p.k
		return s
	}
}

// negate makes dst, which may be src, -src.
func (kern *microKernel[T]) negate(rows, cols int, src []T, lds int, dst []T, ldd int) {
	kern.finish(rows, cols, -1, &src[0], lds, 0, &dst[0], ldd, false)
}

// scaleC is C = beta*C, and zero where beta is zero.
func scaleC[T element.Element](m, n int, beta T, c []T, ldc int) {
	if beta != 0 {
		ScaleMatrix(m, n, beta, c, ldc, c, ldc)
		return
	}
	for i := range m {
		clear(c[i*ldc:][:n])
	}
}

// maxTemp is the number of elements that a product whose chains do not rest in C may take at a
// time. Tests make it small.
var maxTemp = 1 << 20

// gemm is [GemmTrans] by one micro-kernel, for checked arguments with m, n, k and alpha not zero.
func gemm[T element.Element](
	kern *microKernel[T], m, n, k int, alpha T, a, b Operand[T], beta T, c []T, ldc int,
) {
	p := newProduct(kern, problem[T]{
		m: m, n: n, k: k, alpha: alpha, beta: beta, transA: a.Trans, transB: b.Trans,
		a: a.Data, lda: a.Stride, b: b.Data, ldb: b.Stride, c: c, ldc: ldc,
	})
	p.choose()
}

// choose computes a product that is planned in the way that is best for its shape.
func (p *product[T]) choose() {
	switch {
	case p.isNarrow():
		p.narrow()
	case p.isSlim():
		p.slim()
	case p.workers > 1 && p.isThin():
		p.spreadThin()
	default:
		p.compute()
	}
}

// compute computes the product in blocks.
func (p *product[T]) compute() {
	if !p.scaled() || p.k <= p.steps {
		p.run()
		return
	}
	// Chains longer than a block of k rest in C between the blocks. Here C still holds what beta
	// needs, so that they rest elsewhere.
	whole := *p
	cols := min(p.n, maxTemp)
	rows := min(p.m, max(maxTemp/cols, 1))
	s, temp := Take[T](rows * cols)
	defer s.Give()
	p.partial = temp
	for j := 0; j < whole.n; j += cols {
		for i := 0; i < whole.m; i += rows {
			p.m, p.n = min(rows, whole.m-i), min(cols, whole.n-j)
			p.a, p.b, p.c = whole.aFrom(i, 0), whole.bFrom(0, j), whole.c[i*p.ldc+j:]
			p.run()
		}
	}
}

// An operand is not packed when it is used in so few tiles that it does not pay, or when it is so
// small that it stays in the first-level caches.
const (
	directPanelsB = 2
	directTilesA  = 2
	directBytes   = 32 << 10
)

// A product of few rows and a B of more than thinBytesB, which no cache holds, reads that once, at
// the speed of the memory: in blocks of few steps, so that it walks along the rows of B, not down
// its columns. thinBytes are those of a block's column: the processor does not look ahead in many
// more rows at a time.
const (
	thinBytes  = 128
	thinBytesB = 16 << 20
)

// A product computes C = alpha*op(A)*op(B) + beta*C in blocks: mc rows of C at a time, and of those
// kc steps of every chain. Between the blocks of k the chains rest in C, or in partial where C
// holds what beta needs.
//
// A's block is packed into panels of the tile's rows, once for all workers. Each task packs its
// part of B's block into panels of the tile's columns, and multiplies it by A's panels from the top
// to the bottom: so a panel of A, used by one panel of B after the other, is in a near cache, B's
// part is in the second level, and C is read along its rows.
type product[T element.Element] struct {
	problem[T]
	blocking[T]
	block[T]
}

// A problem is what a product computes, in the terms of BLAS: C is of m by n, and chains have k
// steps.
type problem[T element.Element] struct {
	m, n, k        int
	alpha, beta    T
	a, b, c        []T
	lda, ldb, ldc  int
	transA, transB bool // memory has the transposes

	// What BLAS has no argument for.
	accumulate bool // C + A*B in one chain: alpha is 1, and beta is not used
	negateA    bool // with accumulate: C - A*B
	upper      bool // the uplo of C: nothing below its diagonal is read or written; see [SubSquare]
	iSign      T    // not 0: A and B are of complex numbers, and B's rows are followed by iSign*i times them
	conjB      bool // with iSign and transB: B is conjugated
	ordered    bool // the kernel reads A's elements in another way than B's: not for the transposed product
}

// scaled tells whether C is not the chain itself.
func (p *problem[T]) scaled() bool { return p.alpha != 1 || p.beta != 0 }

// A blocking is how a product is cut into blocks.
type blocking[T element.Element] struct {
	kern              *microKernel[T]
	workers           int
	directA, directB  bool // not packed
	steps, rows, cols int  // of a block, at most: steps of k, rows of C, and columns of B that are packed at a time
	partial           []T  // m by n, where scaled chains rest between blocks of k; nil where there is one block
}

// A block is the part of a product that is computed at a time.
type block[T element.Element] struct {
	i0, mc  int // the block's rows of C
	p0, kc  int // the block's steps of k
	packedA []T // panels of kern.rows rows
}

// newProduct is a product that is planned.
func newProduct[T element.Element](kern *microKernel[T], problem problem[T]) product[T] {
	p := product[T]{problem: problem, blocking: blocking[T]{kern: kern}}
	p.plan()
	return p
}

// A task is a part of a block: rows from i to i+rows of C, in columns from j to j+cols.
type task struct{ i, rows, j, cols int }

// aFrom is op(A) in memory from element (i, k) on.
func (p *product[T]) aFrom(i, k int) []T {
	switch {
	case p.transA && p.iSign != 0:
		i, k = k/2, 2*i
	case p.transA:
		i, k = k, i
	}
	return p.a[i*p.lda+k:]
}

// bFrom is op(B) in memory from element (k, j) on.
func (p *product[T]) bFrom(k, j int) []T {
	switch {
	case p.transB && p.iSign != 0:
		k, j = j/2, k
	case p.transB:
		k, j = j, k
	case p.iSign != 0:
		k /= 2
	}
	return p.b[k*p.ldb+j:]
}

// endsPage tells whether less than a line follows x in its page. What loads the end of x under a
// mask then reaches into the next one, which takes half a microsecond each time where none is yet.
func endsPage[T any](x []T) bool {
	const page = 4096
	end := uintptr(unsafe.Pointer(unsafe.SliceData(x))) + uintptr(len(x))*unsafe.Sizeof(*new(T))
	return -end%page < lineBytes
}

// plan decides how to compute the product.
func (p *product[T]) plan() {
	kern, size := p.kern, int(unsafe.Sizeof(T(0)))
	p.workers = 1
	if float64(p.m)*float64(roundUp(p.n, lineBytes/size))*float64(p.k) > SerialWork { // of whole registers
		p.workers = parallel.Workers()
	}
	p.directA = kern.inPlace || p.n <= directPanelsB*kern.cols || p.m <= directBytes/size/p.k
	p.directB = !p.transB && p.iSign == 0 && (p.m <= directTilesA*kern.rows || p.n <= directBytes/size/p.k)
	if p.directB && p.n*size%lineBytes != 0 && p.m > kern.rows && endsPage(p.b[(p.k-1)*p.ldb:][:p.n]) {
		p.directB = false
	}
	p.steps = equal(p.k, kern.kc, 8) // as each block reads and writes C
	if p.isThin() {
		p.steps = thinBytes / size
	}
	// Blocks of fewer steps may be so much wider and higher, up to four times.
	full, steps := kern.kc, max(p.steps, kern.kc/4)
	p.cols = full * kern.nc / steps / kern.cols * kern.cols
	p.rows = equal(p.m, full*kern.mc/steps, kern.rows) // as each block packs all of B
}

// isThin tells whether the product has few rows, and a B that no cache holds.
func (p *product[T]) isThin() bool {
	return !p.transB && p.iSign == 0 && p.m <= directTilesA*p.kern.rows &&
		p.n > thinBytesB/int(unsafe.Sizeof(T(0)))/p.k
}

// equal is the size of the fewest equal parts of n that are at most limit, rounded up to a multiple
// of unit.
func equal(n, limit, unit int) int {
	parts := (n + limit - 1) / limit
	return max(min(roundUp((n+parts-1)/parts, unit), limit/unit*unit), unit)
}

func (p *product[T]) run() {
	if p.workers > 1 {
		p.spread()
		return
	}
	if !p.directA {
		s, a := Take[T](p.sizeA())
		defer s.Give()
		p.packedA = a
	}
	for p.i0 = 0; p.i0 < p.m; p.i0 += p.rows {
		p.mc = min(p.m-p.i0, p.rows)
		for p.p0 = 0; p.p0 < p.k; p.p0 += p.steps {
			p.kc = min(p.k-p.p0, p.steps)
			for i := range p.chunks() {
				p.packA(i)
			}
			for j := 0; j < p.n; j += p.cols {
				p.multiply(task{p.i0, p.mc, j, min(p.cols, p.n-j)})
			}
		}
	}
}

// sizeA is the number of elements of a packed block of A, in whole cache lines.
func (p *product[T]) sizeA() int {
	return roundUp(p.steps*roundUp(min(p.m, p.rows), p.kern.rows), cacheLine)
}

const chunkA = 8 // panels of A that are packed at a time

// chunks is the number of calls of packA for a block.
func (p *product[T]) chunks() int {
	if p.directA {
		return 0
	}
	return (p.mc + chunkA*p.kern.rows - 1) / (chunkA * p.kern.rows)
}

// packA packs a chunk of A's block.
func (p *product[T]) packA(chunk int) {
	rows := p.kern.rows
	first := chunk * chunkA * rows
	last := min(p.mc, first+chunkA*rows)
	packed := p.packedA[first*p.kc : roundUp(last, rows)*p.kc]
	switch {
	case p.transA && p.iSign != 0:
		packParts(rows, last-first, p.kc/2, p.aFrom(p.i0+first, p.p0), p.lda, packed, rows*p.kc)
	case p.transA:
		packRows(rows, last-first, p.kc, p.aFrom(p.i0+first, p.p0), p.lda, packed, rows*p.kc)
	default:
		for i := first; i < last; i += rows {
			transposeTiles(min(rows, last-i), p.kc, p.aFrom(p.i0+i, p.p0), p.lda, packed[(i-first)*p.kc:], rows)
		}
	}
	if p.negateA {
		p.kern.negate(1, len(packed), packed, 0, packed, 0)
	}
}

// packRows packs rows of n elements into panels of width of their columns, which are ldd elements
// apart in dst.
func packRows[T element.Element](width, n, rows int, src []T, lds int, dst []T, ldd int) {
	for k := range rows {
		row, to := src[k*lds:][:n], dst[k*width:]
		for j := 0; j < n; j += width {
			copy(to[j/width*ldd:], row[j:min(j+width, n)])
		}
	}
}

const chunkB = 16 // rows of B that are packed at a time, so that they are read along

// packB packs the part of B's block from column j on into panels of the tile's columns.
func (p *product[T]) packB(j, n int, dst []T) {
	cols, size := p.kern.cols, int(unsafe.Sizeof(T(0)))
	if p.iSign != 0 {
		p.packTurned(j, n, dst)
		return
	}
	if p.transB {
		for i := 0; i < n; i += cols {
			transposeTiles(min(cols, n-i), p.kc, p.bFrom(p.p0, j+i), p.ldb, dst[i*p.kc:], cols)
		}
		return
	}
	for k := 0; k < p.kc; k += chunkB {
		rows := min(chunkB, p.kc-k)
		src, full := p.b[(p.p0+k)*p.ldb+j:], 0
		if p.kern.pack != nil && n >= cols {
			full = n / cols * cols
			p.kern.pack(unsafe.Pointer(&src[0]), p.ldb*size, unsafe.Pointer(&dst[k*cols]), p.kc*cols*size,
				full/cols, rows)
		}
		if full < n {
			packRows(cols, n-full, rows, src[full:], p.ldb, dst[full*p.kc+k*cols:], cols*p.kc)
		}
	}
}

// multiply packs a part of B and multiplies A by it.
func (p *product[T]) multiply(t task) {
	rows, cols, kc := p.kern.height(t.rows), p.kern.cols, p.kc
	a, aRow, aStep, aLine := p.packedA, 1, rows, kc // a panel begins its first row times aLine further
	if p.directA {
		a, aRow, aStep = p.aFrom(p.i0, p.p0), p.lda, 1
		if p.transA {
			aRow, aStep = 1, p.lda
		}
		aLine = aRow
	}
	b, bStep, bLine := p.bFrom(p.p0, t.j), p.ldb, 1
	acc, ldacc := p.c, p.ldc // the chains
	if p.partial != nil {
		acc, ldacc = p.partial, p.n
	}
	alone := p.scaled() && p.partial == nil // a tile's chains, in memory of their own
	var side []T
	if !p.directB || alone || p.upper {
		s, memory := Take[T](rows*cols + kc*roundUp(t.cols, cols))
		defer s.Give()
		side = memory[:rows*cols]
		if alone {
			acc, ldacc = memory, cols
		}
		if !p.directB {
			b, bStep, bLine = memory[rows*cols:], cols, kc
			p.packB(t.j, t.cols, b)
		}
	}
	zero, finish := p.p0 == 0 && !p.accumulate, p.scaled() && p.p0+kc == p.k
	for i := 0; i < t.rows; i += rows {
		for j := 0; j < t.cols; j += cols {
			h, w := min(rows, t.rows-i), min(cols, t.cols-j)
			at := (t.i+i)*ldacc + t.j + j
			if p.upper && t.i+i+h-1 > t.j+j { // the diagonal runs through it, or it is below that
				if d := t.i + i - t.j - j; d < w {
					copyAbove(d, h, w, acc[at:], ldacc, side, cols)
					p.kern.run(h, w, kc, &a[(t.i-p.i0+i)*aLine], aRow, aStep, &b[j*bLine], bStep,
						&side[0], cols, zero)
					copyAbove(d, h, w, side, cols, acc[at:], ldacc)
				}
				continue
			}
			if alone {
				at = 0
			}
			p.kern.run(h, w, kc, &a[(t.i-p.i0+i)*aLine], aRow, aStep, &b[j*bLine], bStep,
				&acc[at], ldacc, zero)
			if finish {
				p.kern.finish(h, w, p.alpha, &acc[at], ldacc, p.beta, &p.c[(t.i+i)*p.ldc+t.j+j], p.ldc, p.beta != 0)
			}
		}
	}
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

package host

import "unsafe"

// Gemm computes C = alpha*A*B + beta*C for A of m by k, B of k by n and C of m by n, which overlaps neither.
//
// Every product A*B of an element is one chain acc = fma(a[i,p], b[p,j], acc) for p = 0 ... k-1, from +0. The result is
// fma(alpha, acc, beta*C) with beta*C rounded on its own. beta == 0 does not read C, and the result is alpha*acc, rounded once. alpha == 0 or k == 0
// reads neither A nor B and gives beta*C, or +0 where beta == 0. Large products are spread over the cores; the bits depend on nothing but
// the operands.
func Gemm[T Element](m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	check("C", m, n, ldc, len(c))
	if m == 0 || n == 0 {
		return
	}
	if alpha == 0 || k == 0 {
		scaleC(m, n, beta, c, ldc)
		return
	}
	check("A", m, k, lda, len(a))
	check("B", k, n, ldb, len(b))
	gemm(kernels[T]()[0], m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// scaleC is C = beta*C, and zero where beta is zero.
func scaleC[T Element](m, n int, beta T, c []T, ldc int) {
	if beta != 0 {
		ScaleMatrix(m, n, beta, c, ldc, c, ldc)
		return
	}
	for i := range m {
		clear(c[i*ldc:][:n])
	}
}

// maxTemp is the number of elements that a product which must not go to C itself may take at a time.
const maxTemp = 1 << 20

// gemm is Gemm by one micro-kernel, for checked arguments with m, n, k and alpha not zero.
func gemm[T Element](kern *microKernel[T], m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	if alpha == 1 && beta == 0 {
		p := product[T]{kern: kern, m: m, n: n, k: k, a: a, lda: lda, b: b, ldb: ldb, c: c, ldc: ldc}
		p.run()
		return
	}
	// Chains longer than a block of k rest in C between the blocks. Here C still holds what beta needs, so that they rest elsewhere.
	cols := min(n, kern.nc)
	rows := min(m, max(maxTemp/cols, kern.mc))
	s, temp := take[T](rows * cols)
	defer s.give()
	for j := 0; j < n; j += cols {
		w := min(cols, n-j)
		for i := 0; i < m; i += rows {
			h := min(rows, m-i)
			p := product[T]{kern: kern, m: h, n: w, k: k, a: a[i*lda:], lda: lda, b: b[j:], ldb: ldb, c: temp, ldc: w}
			p.run()
			epilogue(h, w, alpha, temp, beta, c[i*ldc+j:], ldc)
		}
	}
}

// epilogue is C = fma(alpha, acc, beta*C) for packed acc.
func epilogue[T Element](m, n int, alpha T, acc []T, beta T, c []T, ldc int) {
	if isSmall[T](m, n) { // spares the closure below, which lives on the heap
		epilogueRows(0, m, n, alpha, acc, beta, c, ldc)
		return
	}
	bands[T](m, n, 1, func(lo, hi int) { epilogueRows(lo, hi, n, alpha, acc, beta, c, ldc) })
}

func epilogueRows[T Element](lo, hi, n int, alpha T, acc []T, beta T, c []T, ldc int) {
	for i := lo; i < hi; i++ {
		acc, c := acc[i*n:][:n], c[i*ldc:][:n]
		switch {
		case beta == 0:
			for j, x := range acc {
				c[j] = Mul(alpha, x)
			}
		case alpha == 1:
			for j, x := range acc {
				c[j] = x + Mul(beta, c[j])
			}
		default:
			for j, x := range acc {
				c[j] = FMA(alpha, x, Mul(beta, c[j]))
			}
		}
	}
}

// serialWork is the number of multiplications below which one goroutine is faster than several.
const serialWork = 128 * 128 * 128

// Sizes up to which packing an operand does not pay. A panel of B, which is read again for each tile below the first, should stay in the
// first-level cache, where rows of an unlucky leading dimension push each other out.
const (
	directBytesA = 64 << 10
	directBytesB = 32 << 10
)

// A product computes C = A*B in blocks: nc columns of C at a time, and of those kc steps of every chain. The chains rest in C between
// the blocks of k.
//
// Blocks of A and B are packed into panels, in the order in which the micro-kernel reads them, unless they are used so little that it
// does not pay. B's block is packed once for all; each block of A is packed by the goroutine that multiplies it. What does not fill a panel is
// always packed, and padded with zeros; what is computed from the padding is not used.
type product[T Element] struct {
	kern             *microKernel[T]
	m, n, k          int
	a, b, c          []T
	lda, ldb, ldc    int
	directA, directB bool // full panels are not packed

	j0, nc     int // the block's columns of C
	p0, kc     int // the block's steps of k
	packedB    []T // panels of kern.cols columns, the last one alone where directB is set
	mc         int // rows of A that a task takes
	groups     int // tasks that share the same rows
	groupWidth int // panels of a task
}

func (p *product[T]) run() {
	kern, size := p.kern, int(unsafe.Sizeof(T(0)))
	workers := 1
	if float64(p.m)*float64(p.n)*float64(p.k) > serialWork {
		workers = maxWorkers()
	}
	p.directA = p.n <= 2*kern.cols || workers == 1 && p.m <= directBytesA/size/p.k
	p.directB = p.m <= 2*kern.rows || workers == 1 && p.n <= directBytesB/size/p.k
	packed := kern.cols
	if !p.directB {
		packed = roundUp(min(p.n, kern.nc), kern.cols)
	}
	s, b := take[T](min(p.k, kern.kc) * packed)
	defer s.give()
	p.packedB = b
	for p.j0 = 0; p.j0 < p.n; p.j0 += kern.nc {
		p.nc = min(p.n-p.j0, kern.nc)
		p.split(workers)
		for p.p0 = 0; p.p0 < p.k; p.p0 += kern.kc {
			p.kc = min(p.k-p.p0, kern.kc)
			if workers > 1 {
				p.spread()
				continue
			}
			for i := range p.chunks() {
				p.packB(i)
			}
			for i := range p.tasks() {
				p.multiply(i)
			}
		}
	}
}

// split divides a block of C into tasks, two or more for each worker, so that none waits long at the end: fewer rows each, and where that
// does not suffice, fewer columns.
func (p *product[T]) split(workers int) {
	panels := (p.nc + p.kern.cols - 1) / p.kern.cols
	p.mc, p.groups = p.kern.mc, 1
	if workers > 1 {
		p.mc = min(p.kern.mc, roundUp((p.m+2*workers-1)/(2*workers), p.kern.rows))
		blocks := (p.m + p.mc - 1) / p.mc
		p.groups = min(panels, (2*workers+blocks-1)/blocks)
	}
	p.groupWidth = (panels + p.groups - 1) / p.groups
}

// spread computes a block on all cores. It works on a copy, so that a product that never comes here needs no heap.
func (p *product[T]) spread() {
	q := *p
	Parallel(q.chunks(), q.packB)
	Parallel(q.tasks(), q.multiply)
}

const chunk = 32 // steps of k that are packed at a time

// chunks is the number of calls of packB for a block.
func (p *product[T]) chunks() int { return (p.kc + chunk - 1) / chunk }

// packB packs a chunk of B's block.
func (p *product[T]) packB(i int) {
	cols := p.kern.cols
	full := p.nc / cols * cols
	if p.directB && full == p.nc {
		return
	}
	for k := i * chunk; k < min(p.kc, i*chunk+chunk); k++ {
		src := p.b[(p.p0+k)*p.ldb+p.j0:][:p.nc]
		at := k * cols
		for j := 0; j < full && !p.directB; j += cols {
			copy(p.packedB[at:at+cols], src[j:])
			at += p.kc * cols
		}
		if full < p.nc {
			d := p.packedB[at : at+cols]
			clear(d[copy(d, src[full:]):])
		}
	}
}

// panelB is where the kernel finds a panel of B's block, and the step from row to row.
func (p *product[T]) panelB(j int) (b *T, step int) {
	cols := p.kern.cols
	switch {
	case !p.directB:
		return &p.packedB[j*p.kc], cols
	case j+cols > p.nc:
		return &p.packedB[0], cols
	}
	return &p.b[p.p0*p.ldb+p.j0+j], p.ldb
}

// tasks is the number of calls of multiply for a block.
func (p *product[T]) tasks() int { return (p.m + p.mc - 1) / p.mc * p.groups }

// multiply packs a block of A and multiplies it by panels of B's block.
func (p *product[T]) multiply(task int) {
	rows, cols, kc := p.kern.rows, p.kern.cols, p.kc
	i0 := task / p.groups * p.mc
	mc := min(p.mc, p.m-i0)
	first := task % p.groups * p.groupWidth
	last := min(first+p.groupWidth, (p.nc+cols-1)/cols)
	if first >= last {
		return
	}
	s, packedA := take[T](roundUp(mc, rows)*kc + rows*cols)
	defer s.give()
	tile := packedA[roundUp(mc, rows)*kc:]
	a := p.a[i0*p.lda+p.p0:]
	for i := 0; i < mc; i += rows {
		if h := min(rows, mc-i); h < rows || !p.directA {
			packA(rows, h, kc, a[i*p.lda:], p.lda, packedA[i*kc:])
		}
	}
	for panel := first; panel < last; panel++ {
		j := panel * cols
		w := min(cols, p.nc-j)
		b, bStep := p.panelB(j)
		for i := 0; i < mc; i += rows {
			h := min(rows, mc-i)
			panelA, aRow, aStep := &packedA[i*kc], 1, rows
			if p.directA && h == rows {
				panelA, aRow, aStep = &a[i*p.lda], p.lda, 1
			}
			c := p.c[(i0+i)*p.ldc+p.j0+j:]
			if h == rows && w == cols {
				p.kern.run(kc, panelA, aRow, aStep, b, bStep, &c[0], p.ldc, p.p0 == 0)
				continue
			}
			// A tile that crosses C's edge is computed beside it.
			if p.p0 > 0 {
				copyRows(h, w, c, p.ldc, tile, cols)
			}
			p.kern.run(kc, panelA, aRow, aStep, b, bStep, &tile[0], cols, p.p0 == 0)
			copyRows(h, w, tile, cols, c, p.ldc)
		}
	}
}

func copyRows[T Element](rows, cols int, src []T, lds int, dst []T, ldd int) {
	for i := range rows {
		copy(dst[i*ldd:][:cols], src[i*lds:])
	}
}

// packA packs a panel of A, of which there are m rows, and zeros for the rest.
func packA[T Element](rows, m, kc int, a []T, lda int, dst []T) {
	dst = dst[:rows*kc]
	row := func(i int) []T { return a[i*lda:][:kc] }
	i := 0
	for ; i+6 <= m; i += 6 {
		pack6(row(i), row(i+1), row(i+2), row(i+3), row(i+4), row(i+5), dst[i:], rows)
	}
	for ; i < m; i++ {
		at := i
		for _, x := range row(i) {
			dst[at] = x
			at += rows
		}
	}
	for ; i < rows; i++ {
		for at := i; at < len(dst); at += rows {
			dst[at] = 0
		}
	}
}

// pack6 interleaves six rows: d[k*step] to d[k*step+5] are their elements k.
func pack6[T Element](r0, r1, r2, r3, r4, r5, d []T, step int) {
	n := len(r0)
	r1, r2, r3, r4, r5 = r1[:n], r2[:n], r3[:n], r4[:n], r5[:n]
	_ = d[(n-1)*step+5]
	next := unsafe.Pointer(unsafe.SliceData(d))
	for k := range r0 {
		q := (*[6]T)(next)
		q[0], q[1], q[2], q[3], q[4], q[5] = r0[k], r1[k], r2[k], r3[k], r4[k], r5[k]
		next = unsafe.Add(next, step*int(unsafe.Sizeof(T(0))))
	}
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

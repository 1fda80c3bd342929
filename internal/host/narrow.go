package host

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/internal/parallel"
)

// A product of few columns does not fill a register with a row of C. Its transpose does: C's
// columns are rows of the tile there, and its chains are the same, as a product does not depend on
// the order of its factors. So a panel of A is as high as the tile is wide, and packed by
// transposing it; one that is transposed in memory is read where it is.

// isNarrow tells whether to compute the transposed product. Elements of 8 bytes would gain nothing,
// as half as many of them fit a register.
func (p *product[T]) isNarrow() bool {
	return unsafe.Sizeof(T(0)) == 4 && !p.transB && p.kern.pack != nil && !p.ordered && 2*p.n <= p.kern.rows &&
		p.m >= p.workers*p.kern.cols && p.k >= narrowSteps
}

// narrow computes the product, on all cores where it is large.
func (p *product[T]) narrow() {
	if p.ldb > p.n { // every panel reads all of B
		s, b := Take[T](p.k * p.n)
		defer s.Give()
		copyRows(p.k, p.n, p.b, p.ldb, b, p.n)
		p.b, p.ldb = b, p.n
	}
	panels := (p.m + p.kern.cols - 1) / p.kern.cols
	if p.workers > 1 {
		q := *p // so that a product that never comes here needs no heap
		parallel.Do(panels, q.narrowPanel)
		return
	}
	for i := range panels {
		p.narrowPanel(i)
	}
}

// narrowPanel computes kern.cols rows of C.
func (p *product[T]) narrowPanel(panel int) {
	kern, cols := p.kern, p.kern.cols
	i := panel * cols
	h := min(cols, p.m-i)
	s, memory := Take[T]((p.steps + 2*p.n) * cols)
	defer s.Give()
	a, acc, ct := memory[:p.steps*cols], memory[p.steps*cols:][:p.n*cols], memory[(p.steps+p.n)*cols:]
	c := p.c[i*p.ldc:]
	if p.accumulate {
		transposeTiles(h, p.n, c, p.ldc, acc, cols)
	}
	for k := 0; k < p.k; k += p.steps {
		kc := min(p.steps, p.k-k)
		at, ld := p.aFrom(i, k), p.lda
		if !p.transA {
			transposeTiles(h, kc, at, ld, a, cols)
			at, ld = a, cols
		}
		kern.run(p.n, h, kc, &p.b[k*p.ldb], 1, p.ldb, &at[0], ld, &acc[0], cols, k == 0 && !p.accumulate)
	}
	if p.scaled() {
		if p.beta != 0 {
			transposeTiles(h, p.n, c, p.ldc, ct, cols)
		}
		kern.finish(p.n, h, p.alpha, &acc[0], cols, p.beta, &ct[0], cols, p.beta != 0)
		acc = ct
	}
	transposeTiles(p.n, h, acc, cols, c, p.ldc)
}

package host

import "github.com/tandem-gpu/tandem/internal/parallel"

// A product is slim from slimSteps on. The near caches hold the operands of slimBlock steps; for
// that rows of an operand are at most as far apart as slimTiles times the columns of a tile, since
// wider tiles come back to a line less often.
const (
	slimSteps = 256
	slimBlock = 128
	slimTiles = 44
)

// isSlim tells whether the product has few elements and long chains, as that of the transpose of a
// tall matrix and one of its height: each core does a part of C from the first to the last step,
// from operands that are not packed, and does not wait for the others.
func (p *product[T]) isSlim() bool {
	most := slimTiles * p.kern.cols
	return p.k >= slimSteps && 2*p.k >= 3*max(p.m, p.n) && p.ldb <= most && (!p.transA || p.lda <= most) &&
		!p.transB && !p.minusA && !p.upper
}

// slim computes the product.
func (p *product[T]) slim() {
	chains, ld := p.c, p.ldc
	if p.scaled {
		s, memory := Take[T](p.m * p.n)
		defer s.Give()
		chains, ld = memory, p.n
	}
	if p.workers == 1 {
		p.slimPart(task{0, p.m, 0, p.n}, chains, ld)
		return
	}
	q := *p // so that other products need no heap
	down, across := p.slimParts()
	rows, cols := (p.m+down-1)/down, roundUp((p.n+across-1)/across, p.kern.cols)
	down, across = (p.m+rows-1)/rows, (p.n+cols-1)/cols
	parallel.Do(down*across, func(i int) {
		r, c := i/across*rows, i%across*cols
		q.slimPart(task{r, min(rows, q.m-r), c, min(cols, q.n-c)}, chains, ld)
	})
}

// slimParts is into how many parts C is divided down and across: one for each core, first along the
// longer side, as each part reads its rows of A and columns of B.
func (p *product[T]) slimParts() (down, across int) {
	high, wide := (p.m+p.kern.rows-1)/p.kern.rows, (p.n+p.kern.cols-1)/p.kern.cols
	if p.m >= p.n {
		down = min(high, p.workers)
		return down, min(wide, (p.workers+down-1)/down)
	}
	across = min(wide, p.workers)
	return min(high, (p.workers+across-1)/across), across
}

// slimPart computes a part of C by way of its chains, which lie as C does, ld elements between the
// rows.
func (p *product[T]) slimPart(t task, chains []T, ld int) {
	kern := p.kern
	aRow, aStep := p.lda, 1
	if p.transA {
		aRow, aStep = 1, p.lda
	}
	for k := 0; k < p.k; k += slimBlock {
		a, b, steps := p.aFrom(t.i, k), p.bFrom(k, t.j), min(slimBlock, p.k-k)
		for j := 0; j < t.cols; j += kern.cols {
			for i := 0; i < t.rows; i += kern.rows {
				at := &chains[(t.i+i)*ld+t.j+j]
				kern.run(min(kern.rows, t.rows-i), min(kern.cols, t.cols-j), steps, &a[i*aRow], aRow, aStep, &b[j],
					p.ldb, at, ld, k == 0 && !p.fromC, at)
			}
		}
	}
	if p.scaled {
		kern.finish(t.rows, t.cols, p.alpha, &chains[t.i*ld+t.j], ld, p.beta, &p.c[t.i*p.ldc+t.j], p.ldc,
			p.beta != 0)
	}
}

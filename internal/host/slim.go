package host

import "github.com/tandem-gpu/tandem/internal/parallel"

// slimBlock is the steps of which the near caches hold the operands.
const slimBlock = 128

// slimTiles times the columns of a tile is how far apart rows in memory may be of which a part is
// read again and again: wider tiles come back to a line less often. Tests make it small.
var slimTiles = 44

// isSlim tells whether the product has few elements and long chains, as that of the transpose of a
// tall matrix and one of its height: each core does a part of C from the first to the last step,
// from operands that are not packed, and does not wait for the others.
func (p *product[T]) isSlim() bool {
	return p.k >= slimSteps && 2*p.k >= 3*max(p.m, p.n) && p.m*p.n <= slimPart*p.workers &&
		p.ldb <= slimTiles*p.kern.cols && !p.transB && !p.negateA && !p.upper &&
		(!p.isApart() || p.n > directPanelsB*p.kern.cols)
}

// isApart tells whether the columns of A, which are rows in memory, are too far apart to be read
// more than once: slim products pack them, a tile at a time.
func (p *product[T]) isApart() bool { return p.transA && p.lda > slimTiles*p.kern.cols }

// slim computes the product.
func (p *product[T]) slim() {
	chains, ld := p.c, p.ldc
	if p.scaled() {
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
	kern, rows := p.kern, p.kern.height(t.rows)
	aRow, aStep := Steps(p.transA, p.lda)
	var tile []T
	if p.isApart() {
		s, memory := Take[T](kern.rows * slimBlock)
		defer s.Give()
		tile, aRow, aStep = memory, 1, kern.rows
	}
	for k := 0; k < p.k; k += slimBlock {
		b, count := p.bFrom(k, t.j), min(slimBlock, p.k-k)
		for i := 0; i < t.rows; i += rows {
			a, h := p.aFrom(t.i+i, k), min(rows, t.rows-i)
			if tile != nil {
				packRows(rows, h, count, a, p.lda, tile, 0)
				a = tile
			}
			for j := 0; j < t.cols; j += kern.cols {
				kern.run(h, min(kern.cols, t.cols-j), count, &a[0], aRow, aStep, &b[j], p.ldb,
					&chains[(t.i+i)*ld+t.j+j], ld, k == 0 && !p.accumulate)
			}
		}
	}
	if p.scaled() {
		kern.finish(t.rows, t.cols, p.alpha, &chains[t.i*ld+t.j], ld, p.beta, &p.c[t.i*p.ldc+t.j], p.ldc,
			p.beta != 0)
	}
}

package host

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/parallel"
)

// Products of a matrix and a vector are two loops over parts of the matrix, both of which read it
// along its rows, and by which chains go on: addColumn, in which every element of the result has a
// row of the matrix, and addRow, in which it has a column. Vectors are contiguous, and overlap
// nothing.

// A vectorSet is the functions of an instruction set that products of a matrix and a vector are
// made of.
type vectorSet[T Float] struct {
	name string // for tests

	// columns goes on with the chains of columnRows rows by k steps, a multiple of long.
	columns func(k int, a *T, lda int, x, acc *T)
	long    int

	// rows goes on with n chains, a multiple of wide, by rowsAtOnce rows.
	rows func(n int, a *T, lda int, x, y *T)
	wide int

	// tile does what is left, tileRows chains of rows or tileCols of columns at a time.
	tile               tileProduct[T]
	tileRows, tileCols int

	finish tileFinish[T]
}

// What the functions of a vectorSet take.
const (
	columnRows = 8
	rowsAtOnce = 8
)

// The functions of this processor; nil where there is no assembly.
var (
	vectorsF32 = nativeVectorsF32()
	vectorsF64 = nativeVectorsF64()
)

func vectorsOf[T Float]() *vectorSet[T] {
	if isFloat64[T]() { // an interface would be felt in small products
		return (*vectorSet[T])(unsafe.Pointer(vectorsF64))
	}
	return (*vectorSet[T])(unsafe.Pointer(vectorsF32))
}

// addColumn goes on with m chains of k steps: y[i] = fma(a[i,p], x[p], y[i]). Element (i, p) is
// a[i*lda+p*step] from a on.
func addColumn[T Float](m, k int, a *T, lda, step int, x, y []T) {
	if m == 0 || k == 0 {
		return
	}
	set := vectorsOf[T]()
	if set == nil {
		addColumnGo(m, k, a, lda, step, x, y)
		return
	}
	i, full := 0, k&^(set.long-1)
	if step != 1 {
		full = 0
	}
	for ; full > 0 && i+columnRows <= m; i += columnRows {
		set.columns(full, elementAt(a, i*lda), lda, &x[0], &y[i])
	}
	if i > 0 && k > full { // no pointer beyond the matrix
		set.chains(i, k-full, elementAt(a, full*step), lda, step, x[full:], y)
	}
	if m > i {
		set.chains(m-i, k, elementAt(a, i*lda), lda, step, x, y[i:])
	}
}

// chains is addColumn in small tiles.
func (set *vectorSet[T]) chains(m, k int, a *T, lda, step int, x, y []T) {
	for i := 0; i < m; i += set.tileRows {
		set.tile(min(set.tileRows, m-i), 1, k, elementAt(a, i*lda), lda, step, &x[0], 1, &y[i], 1, false, &y[i])
	}
}

// addRow goes on with n chains of k steps: y[j] = fma(a[p,j], x[p], y[j]). Rows are lda elements
// apart, which may be less than zero.
func addRow[T Float](k, n int, a *T, lda int, x, y []T) {
	if k == 0 || n == 0 {
		return
	}
	set := vectorsOf[T]()
	if set == nil {
		addRowGo(k, n, a, lda, x, y)
		return
	}
	p, full := 0, n&^(set.wide-1)
	for ; full > 0 && p+rowsAtOnce <= k; p += rowsAtOnce {
		set.rows(full, elementAt(a, p*lda), lda, &x[p], &y[0])
	}
	if p > 0 && n > full {
		set.tiles(p, n-full, elementAt(a, full), lda, x, y[full:])
	}
	if k > p {
		set.tiles(k-p, n, elementAt(a, p*lda), lda, x[p:], y)
	}
}

// tiles is addRow in small tiles.
func (set *vectorSet[T]) tiles(k, n int, a *T, lda int, x, y []T) {
	for j := 0; j < n; j += set.tileCols {
		w := min(set.tileCols, n-j)
		set.tile(1, w, k, &x[0], 0, 1, elementAt(a, j), lda, &y[j], w, false, &y[j])
	}
}

// elementAt is the element i elements behind p.
func elementAt[T element.Element](p *T, i int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(p), i*int(unsafe.Sizeof(*p))))
}

func addColumnGo[T Float](m, k int, a *T, lda, step int, x, y []T) {
	for i := range m {
		acc := y[i]
		for p, v := range x[:k] {
			acc = FMA(*elementAt(a, i*lda+p*step), v, acc)
		}
		y[i] = acc
	}
}

func addRowGo[T Float](k, n int, a *T, lda int, x, y []T) {
	for p := range k {
		axpyGo(x[p], unsafe.Slice(elementAt(a, p*lda), n), y)
	}
}

// stripe is the chains of a row that one goroutine takes at a time, at least.
const stripe = 512

// spreadColumn is addColumn, and spreadRow is addRow, on all cores where the matrix is large.

func spreadColumn[T Float](m, k int, a *T, lda, step int, x, y []T) {
	if isSmall[T](m, k) {
		addColumn(m, k, a, lda, step, x, y)
		return
	}
	bands[T](m, k, columnRows, func(lo, hi int) { addColumn(hi-lo, k, elementAt(a, lo*lda), lda, step, x, y[lo:hi]) })
}

func spreadRow[T Float](k, n int, a *T, lda int, x, y []T) {
	if isSmall[T](k, n) {
		addRow(k, n, a, lda, x, y)
		return
	}
	width := max(roundUp((n+2*parallel.Workers()-1)/(2*parallel.Workers()), cacheLine), stripe)
	parallel.Do((n+width-1)/width, func(i int) {
		j := i * width
		addRow(k, min(width, n-j), elementAt(a, j), lda, x, y[j:])
	})
}

// Gemv computes y = alpha*op(A)*x + beta*y, with the bits of [GemmTrans] with one column: A is m by
// n in memory, and op(A) with trans its transpose. Neither vector overlaps anything.
func Gemv[T Float](trans bool, m, n int, alpha T, a []T, lda int, x []T, beta T, y []T) {
	check("A", m, n, lda, len(a))
	if trans {
		y = y[:n]
	} else {
		y = y[:m]
	}
	if alpha == 0 || m == 0 || n == 0 {
		scaleC(1, len(y), beta, y, len(y))
		return
	}
	if smallGemv(trans, m, n, alpha, a, lda, x, beta, y) {
		return
	}
	acc, memory := startChains(alpha, beta, y)
	if trans {
		spreadRow(m, n, &a[0], lda, x, acc)
	} else {
		spreadColumn(m, n, &a[0], lda, 1, x, acc)
	}
	endChains(alpha, acc, beta, y)
	memory.Give()
}

// startChains gives chains of +0: in y itself where the result does not need its elements.
func startChains[T Float](alpha, beta T, y []T) (acc []T, memory *Scratch) {
	if beta == 0 {
		clear(y)
		return y, nil
	}
	memory, acc = Take[T](len(y))
	clear(acc)
	return acc, memory
}

// endChains makes y what [Gemm] says.
func endChains[T Float](alpha T, acc []T, beta T, y []T) {
	if len(y) > 0 && (alpha != 1 || beta != 0) {
		kernels[T]()[0].finish(1, len(y), alpha, &acc[0], len(y), beta, &y[0], len(y), beta != 0)
	}
}

// Symv computes y = alpha*A*x + beta*y for the symmetric matrix A of n by n whose lower or upper
// triangle a has: the bits are those of [Gemv] with the whole matrix. Each element is read from the
// memory once. Neither vector overlaps anything.
func Symv[T Float](lower bool, n int, alpha T, a []T, lda int, x []T, beta T, y []T) {
	check("A", n, n, lda, len(a))
	y = y[:n]
	if alpha == 0 || n == 0 {
		scaleC(1, n, beta, y, n)
		return
	}
	if isFloat64[T]() && n <= smallSymv {
		smallSymv64(lower, n, float64(alpha), float64s(a), lda, float64s(x), float64(beta), float64s(y))
		return
	}
	acc, memory := startChains(alpha, beta, y)
	s := symmetric[T]{lower: lower, n: n, a: a, lda: lda, x: x, acc: acc}
	if groups := (n + groupRows - 1) / groupRows; isSmall[T](n, n) {
		for g := range groups {
			s.group(g)
		}
	} else {
		s.spread(groups)
	}
	endChains(alpha, acc, beta, y)
	memory.Give()
}

// symmetric is a product of a symmetric matrix and a vector. It goes down the rows in groups, and
// along a group in chunks of columns, which the nearest cache keeps: a chunk is a part of the
// chains of its rows, and of those of its columns. Row i of a lower triangle begins chain i, whose
// later steps are in the rows below; row i of an upper triangle goes on with what the rows above
// began.
type symmetric[T Float] struct {
	lower  bool
	n      int
	a      []T
	lda    int
	x, acc []T

	done []atomic.Int64 // by group: the chains before this one have its rows' steps; nil without spread
}

// groupRows is the rows of a group, and chunkColumns the columns of a chunk.
const (
	groupRows    = 16
	chunkColumns = 512
)

// spread does the groups on all cores. A group follows the one before it by a chunk at least.
func (s *symmetric[T]) spread(groups int) {
	t := *s // so that a small product needs no heap
	t.done = make([]atomic.Int64, groups)
	parallel.Do(groups, t.group)
}

// group does groupRows rows.
func (s *symmetric[T]) group(g int) {
	i := g * groupRows
	rows := min(groupRows, s.n-i)
	if s.lower {
		for j := 0; j < i; j += chunkColumns {
			s.chunk(g, i, rows, j, min(j+chunkColumns, i))
		}
		s.diagonal(i, rows)
	} else {
		s.await(g, i+rows)
		s.diagonal(i, rows)
		for j := i + rows; j < s.n; {
			end := min((j/chunkColumns+1)*chunkColumns, s.n)
			s.chunk(g, i, rows, j, end)
			j = end
		}
	}
	s.tell(g, s.n)
}

// chunk is the columns j to end-1 of a group that begins at row i.
func (s *symmetric[T]) chunk(g, i, rows, j, end int) {
	a := &s.a[i*s.lda+j]
	addColumn(rows, end-j, a, s.lda, 1, s.x[j:], s.acc[i:])
	s.await(g, end)
	addRow(rows, end-j, a, s.lda, s.x[i:], s.acc[j:])
	s.tell(g, end)
}

// diagonal is the square that the diagonal runs through, of which only a triangle is there.
func (s *symmetric[T]) diagonal(i, rows int) {
	memory, whole := Take[T](rows * rows)
	mirrorBlock(s.lower, rows, s.a[i*(s.lda+1):], s.lda, whole, rows)
	addColumn(rows, rows, &whole[0], rows, 1, s.x[i:], s.acc[i:])
	memory.Give()
}

// tell says that the chains before end have the steps of group g.
func (s *symmetric[T]) tell(g, end int) {
	if s.done != nil {
		s.done[g].Store(int64(end))
	}
}

// await returns when the chains before end have the steps of the group before g. Some goroutine has
// that group in hand.
func (s *symmetric[T]) await(g, end int) {
	if s.done == nil || g == 0 || s.done[g-1].Load() >= int64(end) {
		return
	}
	for !parallel.Spin(func() bool { return s.done[g-1].Load() >= int64(end) }) {
		runtime.Gosched()
	}
}

// Ger adds alpha*x*yᵀ to A of m by n: a[i,j] = fma(alpha*x[i], y[j], a[i,j]), with alpha*x[i]
// rounded. Neither vector overlaps anything.
func Ger[T Float](m, n int, alpha T, x, y []T, a []T, lda int) {
	check("A", m, n, lda, len(a))
	if m == 0 || n == 0 {
		return
	}
	if isSmall[T](m, n) {
		addOuter(m, n, alpha, x, y, a, lda)
		return
	}
	bands[T](m, n, 1, func(lo, hi int) { addOuter(hi-lo, n, alpha, x[lo:], y, a[lo*lda:], lda) })
}

// addOuter is Ger in this goroutine. A row of few elements takes longer to call for than to add.
func addOuter[T Float](m, n int, alpha T, x, y []T, a []T, lda int) {
	set := vectorsOf[T]()
	if set == nil || n > outerTiles {
		for i := range m {
			addScaled(alpha*x[i], y[:n], a[i*lda:])
		}
		return
	}
	memory, ax := Take[T](m)
	for i := range ax {
		ax[i] = alpha * x[i]
	}
	for i := 0; i < m; i += set.tileRows {
		for j := 0; j < n; j += set.tileCols {
			c := &a[i*lda+j]
			set.tile(min(set.tileRows, m-i), min(set.tileCols, n-j), 1, &ax[i], 1, 0, &y[j], 0, c, lda, false, c)
		}
	}
	memory.Give()
}

// outerTiles is the columns up to which Ger takes tiles rather than rows.
const outerTiles = 64

// addScaled is y = fma(a, x, y) for x of at least one element.
func addScaled[T Float](a T, x, y []T) {
	n := len(x)
	if set := vectorsOf[T](); set != nil {
		set.finish(1, n, a, &x[0], n, 1, &y[0], n, true)
		return
	}
	axpyGo(a, x, y)
}

// Syr adds alpha*x*xᵀ to the lower or upper triangle of A of n by n, element by element as [Ger].
func Syr[T Float](lower bool, n int, alpha T, x, a []T, lda int) {
	check("A", n, n, lda, len(a))
	bands[T](n, n, 1, func(from, to int) {
		for i := from; i < to; i++ {
			lo, hi := triangleRow(lower, i, n)
			addScaled(alpha*x[i], x[lo:hi], a[i*lda+lo:])
		}
	})
}

// Syr2 adds alpha*x*yᵀ and then alpha*y*xᵀ to the lower or upper triangle of A of n by n, element
// by element as [Ger] does twice.
func Syr2[T Float](lower bool, n int, alpha T, x, y, a []T, lda int) {
	check("A", n, n, lda, len(a))
	bands[T](n, n, 1, func(from, to int) {
		for i := from; i < to; i++ {
			lo, hi := triangleRow(lower, i, n)
			row := a[i*lda+lo:]
			addScaled(alpha*x[i], y[lo:hi], row)
			addScaled(alpha*y[i], x[lo:hi], row)
		}
	})
}

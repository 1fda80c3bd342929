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

// addColumn goes on with m chains of k steps: y[i] = fma(a[i,p], x[p], y[i]). Element (i, p) is
// a[i*lda+p*step] from a on.
func addColumn[T Float](m, k int, a *T, lda, step int, x, y []T) {
	if m > 0 && k > 0 {
		chains(m, k, a, lda, step, &x[0], 1, &y[0], 1)
	}
}

// addRow goes on with n chains of k steps: y[j] = fma(a[p,j], x[p], y[j]). Rows are lda elements
// apart, which may be less than zero.
func addRow[T Float](k, n int, a *T, lda int, x, y []T) {
	switch {
	case k == 0 || n == 0:
	case hasVectors:
		addRowNative(k, n, unsafe.Pointer(a), lda, unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), isFloat64[T]())
	default:
		for p := range k {
			axpyGo(x[p], unsafe.Slice(elementAt(a, p*lda), n), y)
		}
	}
}

// What the functions in C take.
const (
	columnRows = 16 // rows whose chains go on together
	crossRows  = 16 // by crossNative
	lineBytes  = 64 // of a row, of which it takes a multiple
)

// elementAt is the element i elements behind p.
func elementAt[T element.Element](p *T, i int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(p), i*int(unsafe.Sizeof(*p))))
}

// chains is addColumn for m and k of at least one, and for vectors whose elements are apart.
func chains[T Float](m, k int, a *T, lda, step int, x *T, incX int, y *T, incY int) {
	if hasVectors {
		addColumnNative(m, k, unsafe.Pointer(a), lda, step, unsafe.Pointer(x), incX, unsafe.Pointer(y), incY,
			isFloat64[T]())
		return
	}
	for i := range m {
		acc := *elementAt(y, i*incY)
		for p := range k {
			acc = FMA(*elementAt(a, i*lda+p*step), *elementAt(x, p*incX), acc)
		}
		*elementAt(y, i*incY) = acc
	}
}

// stripe is the chains of a row that one goroutine takes at a time, at least, where every core has
// as many.
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
	workers := parallel.Workers()
	width := roundUp((n+workers-1)/workers, lineBytes/int(unsafe.Sizeof(*a))) // a part for each core, of whole lines
	if n >= workers*stripe {
		width = max(roundUp((n+2*workers-1)/(2*workers), cacheLine), stripe)
	}
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
	acc, memory := startChains(beta, y)
	if trans {
		spreadRow(m, n, &a[0], lda, x, acc)
	} else {
		spreadColumn(m, n, &a[0], lda, 1, x, acc)
	}
	endChains(alpha, acc, beta, y)
	memory.Give()
}

// startChains gives chains of +0: in y itself where the result does not need its elements.
func startChains[T Float](beta T, y []T) (acc []T, memory *Scratch) {
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
	acc, memory := startChains(beta, y)
	s := symmetric[T]{lower: lower, n: n, width: stripeWidth[T](n), a: a, lda: lda, x: x, acc: acc}
	if n*n > fetchElements {
		s.ahead = crossRows * lda
	}
	if stripes := (n + s.width - 1) / s.width; isSmall[T](n, n) {
		for i := range stripes {
			s.stripe(i)
		}
	} else {
		s.spread(stripes)
	}
	endChains(alpha, acc, beta, y)
	memory.Give()
}

// symmetric is a product of a symmetric matrix and a vector. It goes down stripes of columns, whose
// chains the nearest cache keeps, by strips of rows: a strip is a part of the chains of its rows,
// and of those of its columns. Row i of a lower triangle begins chain i, whose later steps are in
// the rows below; row i of an upper triangle goes on with what the rows above began.
type symmetric[T Float] struct {
	lower  bool
	n      int
	width  int // of a stripe
	a      []T
	lda    int
	x, acc []T
	ahead  int // elements from a strip to the next one, which is fetched meanwhile; or 0

	done []atomic.Int64 // by stripe: the rows before this one have its columns' steps; nil without spread
}

// groupRows is the rows after which a stripe tells the next one how far it is: reading that from
// another core takes a while.
const groupRows = 64

// stripeWidth is the columns of a stripe: few enough that the second stripe, which goes on behind
// the first, begins soon, and that cores end at one time.
func stripeWidth[T Float](n int) int {
	return min(max(roundUp(n/8, groupRows), groupRows), 4096/int(unsafe.Sizeof(T(0))))
}

// spread does the stripes on all cores. A stripe follows the one before it by a group at least.
func (s *symmetric[T]) spread(stripes int) {
	t := *s // so that a small product needs no heap
	t.done = make([]atomic.Int64, stripes)
	parallel.InOrder(stripes, t.stripe)
}

// stripe does the columns of a stripe.
func (s *symmetric[T]) stripe(i int) {
	left, right := i*s.width, min((i+1)*s.width, s.n)
	row, last := left, s.n
	if !s.lower {
		row, last = 0, right
	}
	for row < last {
		end := min(row+groupRows, last)
		s.await(i, end)
		for ; row < end; row += crossRows {
			s.rows(row, min(row+crossRows, end), left, right)
		}
		s.tell(i, end)
	}
	s.tell(i, s.n)
}

// rows does the rows i to k-1 of a stripe, as far as they are in the triangle.
func (s *symmetric[T]) rows(i, k, left, right int) {
	switch {
	case s.lower && i < right:
		s.strip(i, k, left, i)
		s.diagonal(i, k)
	case !s.lower && i >= left:
		s.diagonal(i, k)
		s.strip(i, k, k, right)
	default:
		s.strip(i, k, left, right)
	}
}

// strip is the columns j to l-1 of the rows i to k-1, which are beside the diagonal.
func (s *symmetric[T]) strip(i, k, j, l int) {
	if full := (l - j) &^ (lineBytes/int(unsafe.Sizeof(T(0))) - 1); hasVectors && k-i == crossRows && full > 0 {
		crossNative(full, unsafe.Pointer(&s.a[i*s.lda+j]), s.lda, unsafe.Pointer(&s.x[j]), unsafe.Pointer(&s.acc[i]),
			unsafe.Pointer(&s.x[i]), unsafe.Pointer(&s.acc[j]), s.ahead, isFloat64[T]())
		j += full
	}
	if j < l {
		a := &s.a[i*s.lda+j]
		addColumn(k-i, l-j, a, s.lda, 1, s.x[j:], s.acc[i:])
		addRow(k-i, l-j, a, s.lda, s.x[i:], s.acc[j:])
	}
}

// diagonal is the square of the rows i to k-1 that the diagonal runs through, of which only a
// triangle is there.
func (s *symmetric[T]) diagonal(i, k int) {
	addSymmetric(s.lower, k-i, &s.a[i*(s.lda+1)], s.lda, s.x[i:], s.acc[i:])
}

// tell says that the rows before end have the steps of stripe i.
func (s *symmetric[T]) tell(i, end int) {
	if s.done != nil {
		s.done[i].Store(int64(end))
	}
}

// await returns when the rows before end have the steps of the stripe before i. Some goroutine has
// that stripe in hand.
func (s *symmetric[T]) await(i, end int) {
	if s.done == nil || i == 0 || s.done[i-1].Load() >= int64(end) {
		return
	}
	for !parallel.Spin(func() bool { return s.done[i-1].Load() >= int64(end) }) {
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
		addOuter(m, n, 0, alpha, &x[0], &y[0], 0, &a[0], lda, nil, nil)
		return
	}
	bands[T](m, n, 1, func(lo, hi int) { addOuter(hi-lo, n, 0, alpha, &x[lo], &y[0], 0, &a[lo*lda], lda, nil, nil) })
}

// addOuter adds alpha*x*yᵀ to m rows: the first has n elements, and each next one dn more; it
// begins da elements behind the beginning of the one before, and dy elements later in y. Where u is
// not nil the same follows for u and v.
func addOuter[T Float](m, n, dn int, alpha T, x, y *T, dy int, a *T, da int, u, v *T) {
	if hasVectors {
		outerNative(m, n, dn, float64(alpha), unsafe.Pointer(x), unsafe.Pointer(y), dy, unsafe.Pointer(a), da,
			unsafe.Pointer(u), unsafe.Pointer(v), isFloat64[T]())
		return
	}
	for i := range m {
		axpyGo(alpha**elementAt(x, i), at(y, i*dy, n+i*dn), at(a, i*da, n+i*dn))
	}
	if u != nil {
		addOuter(m, n, dn, alpha, u, v, dy, a, da, nil, nil)
	}
}

// Syr adds alpha*x*xᵀ to the lower or upper triangle of A of n by n, element by element as [Ger].
func Syr[T Float](lower bool, n int, alpha T, x, a []T, lda int) {
	addTriangles(lower, n, alpha, x, nil, a, lda)
}

// Syr2 adds alpha*x*yᵀ and then alpha*y*xᵀ to the lower or upper triangle of A of n by n, element
// by element as [Ger] does twice.
func Syr2[T Float](lower bool, n int, alpha T, x, y, a []T, lda int) {
	addTriangles(lower, n, alpha, x, y[:n], a, lda)
}

// addTriangles is Syr2, or without y Syr.
func addTriangles[T Float](lower bool, n int, alpha T, x, y, a []T, lda int) {
	if n == 0 {
		return
	}
	x = x[:n]
	_ = a[(n-1)*(lda+1)]
	if isSmall[T](n, n) { // no closure, which is an allocation
		addTriangle(lower, 0, n, n, alpha, x, y, a, lda)
		return
	}
	bands[T](n, n, 1, func(lo, hi int) { addTriangle(lower, lo, hi, n, alpha, x, y, a, lda) })
}

// addTriangle is addTriangles for rows lo to hi-1, in this goroutine.
func addTriangle[T Float](lower bool, lo, hi, n int, alpha T, x, y, a []T, lda int) {
	first, rows, count, dn, step, begin, da := 0, hi-lo, lo+1, 1, 0, lo*lda, lda
	if !lower {
		first, count, dn, step, begin, da = lo, n-lo, -1, 1, lo*(lda+1), lda+1
	}
	if y == nil {
		addOuter(rows, count, dn, alpha, &x[lo], &x[first], step, &a[begin], da, nil, nil)
		return
	}
	addOuter(rows, count, dn, alpha, &x[lo], &y[first], step, &a[begin], da, &y[lo], &x[first])
}

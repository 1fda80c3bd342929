package solve

import (
	"slices"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/parallel"
)

// A Triangle is op(A) for a triangular matrix A of N by N. Nothing but the triangle is read, and
// with Unit not the diagonal either, which is 1 then.
type Triangle[T host.Float] struct {
	N      int
	Data   []T // A
	Stride int
	Upper  bool // A is
	Trans  bool // op(A) is Aᵀ
	Unit   bool
}

// base is the rows of a triangle that is not divided.
const base = host.MaxTriangle

// Solve makes B, of m by n, the solution X of op(A)*X = alpha*B, or without left of X*op(A) =
// alpha*B. With op(A) at the left, x[i,j] is the chain of fma(-a[i,k], x[k,j], .) from
// alpha*b[i,j], rounded, over the k that become known before i: ascending ones below i where op(A)
// is lower triangular, descending ones above i where it is upper; and then divided by a[i,i]. At
// the right it is the transpose of that.
func (s Solver[T]) Solve(t Triangle[T], left bool, alpha T, m, n int, b []T, ldb int) error {
	return s.apply(true, &t, left, alpha, m, n, b, ldb)
}

// Multiply makes B, of m by n, alpha*op(A)*B, or without left alpha*B*op(A): the chain of the
// product from +0, by ascending k, over the triangle alone, and then times alpha.
func (s Solver[T]) Multiply(t Triangle[T], left bool, alpha T, m, n int, b []T, ldb int) error {
	return s.apply(false, &t, left, alpha, m, n, b, ldb)
}

func (s Solver[T]) apply(solve bool, t *Triangle[T], left bool, alpha T, m, n int, b []T, ldb int) error {
	if m == 0 || n == 0 {
		return nil
	}
	transposed, cols := t.Trans == left, m+n-t.N
	if t.N <= base {
		row, col := host.Steps(transposed, t.Stride)
		host.ApplyTriangle(solve, left, t.N, cols, alpha, t.Data, row, col, t.Upper != transposed, t.Unit, b, ldb)
		return nil
	}
	e := factor[T]{Triangle: *t, transposed: transposed, lower: t.Upper == transposed}
	if cols == 1 && (!left || ldb == 1) {
		vector(solve, e, alpha, b[:t.N])
		return nil
	}
	x := work[T]{Solver: s, e: e, cols: cols}
	if solve {
		return x.solve(left, alpha, b, ldb)
	}
	return x.multiply(left, alpha, b, ldb)
}

// vector solves for, or multiplies, one column.
func vector[T host.Float](solve bool, e factor[T], alpha T, x []T) {
	if !solve {
		host.Trmv(!e.Upper, e.transposed, e.Unit, e.N, e.Data, e.Stride, x)
		host.Scal(alpha, x)
		return
	}
	if alpha != 1 {
		host.Scal(alpha, x)
	}
	host.Trsv(!e.Upper, e.transposed, e.Unit, e.N, e.Data, e.Stride, x)
}

// A factor is a triangle E at the left of the columns of B: op(A), or for one at the right of B's
// rows its transpose.
type factor[T host.Float] struct {
	Triangle[T]
	transposed bool // E is Aᵀ
	lower      bool // E is
}

// steps are how far apart the rows and the columns of E are in memory.
func (e factor[T]) steps() (row, col int) { return host.Steps(e.transposed, e.Stride) }

// block is rows i to k-1 and columns j to l-1 of E, which are off the diagonal, in A or in scratch
// memory.
func (e factor[T]) block(i, k, j, l int) (a []T, lda int, s *host.Scratch) {
	if !e.transposed {
		return e.Data[i*e.Stride+j:], e.Stride, nil
	}
	s, a = host.Take[T]((k - i) * (l - j))
	host.Transpose(l-j, k-i, e.Data[j*e.Stride+i:], e.Stride, a, l-j)
	return a, l - j, s
}

// work is a triangle at work. X has the rows of B as rows of its own.
type work[T host.Float] struct {
	Solver[T]
	e    factor[T]
	cols int // of X
	x    []T
	ldx  int
	c    []T // what is multiplied, with x's leading dimension

	alone bool // in this goroutine
}

// solve is [Solver.Solve] for a triangle that is divided. Rows become known from the last on where
// E is upper triangular. So X has B's rows in reverse order there, and E is lower triangular.
func (x *work[T]) solve(left bool, alpha T, b []T, ldb int) error {
	n := x.e.N
	x.x, x.ldx = b, ldb
	if !left || !x.e.lower {
		s, memory := host.Take[T](n * x.cols)
		defer s.Give()
		x.x, x.ldx = memory, x.cols
		x.turn(left, true, b, ldb)
	}
	if alpha != 1 {
		host.ScaleMatrix(n, x.cols, alpha, x.x, x.ldx, x.x, x.ldx)
	}
	if err := x.solveColumns(); err != nil {
		return err
	}
	if !left || !x.e.lower {
		x.turn(left, false, b, ldb)
	}
	return nil
}

// solveColumns is solveRows for all rows. On the host each core takes columns of its own.
func (x *work[T]) solveColumns() error {
	n := x.e.N
	if x.cols < 2*columns || float64(n)*float64(n)*float64(x.cols)/2 < host.SerialWork {
		return x.solveRows(0, n)
	}
	once, err := x.atOnce(n, x.cols, n)
	if err != nil {
		return err
	}
	if !once {
		return x.solveRows(0, n)
	}
	width := max(x.cols/(2*parallel.Workers()), columns) / 8 * 8 // whole lines of the cache
	parallel.Do((x.cols+width-1)/width, func(i int) {
		y := *x
		y.x, y.cols, y.alone = x.x[i*width:], min(width, x.cols-i*width), true
		_ = y.solveRows(0, n)
	})
	return nil
}

// turn brings B to X, or back.
func (x *work[T]) turn(left, to bool, b []T, ldb int) {
	n := x.e.N
	switch {
	case left:
		for i := range n {
			row, of := x.row(n-1-i), b[i*ldb:][:x.cols]
			if to {
				copy(row, of)
			} else {
				copy(of, row)
			}
		}
		return
	case to:
		host.Transpose(x.cols, n, b, ldb, x.x, x.ldx)
	}
	if !x.e.lower {
		for i := range n / 2 {
			p, q := x.row(i), x.row(n-1-i)
			for j, v := range p {
				p[j], q[j] = q[j], v
			}
		}
	}
	if !to {
		host.Transpose(n, x.cols, x.x, x.ldx, b, ldb)
	}
}

func (x *work[T]) row(i int) []T { return x.x[i*x.ldx:][:x.cols] }

// solveRows makes rows i to k-1 those of the solution, where the chains of what comes before are
// done.
func (x *work[T]) solveRows(i, k int) error {
	if k-i <= base {
		x.solveBase(i, k)
		return nil
	}
	h := i + Half(k-i, base)
	if err := x.solveRows(i, h); err != nil {
		return err
	}
	if err := x.subtract(h, k, i, h); err != nil {
		return err
	}
	return x.solveRows(h, k)
}

// subtract subtracts E's rows i to k-1, columns j to l-1, times X's rows j to l-1.
func (x *work[T]) subtract(i, k, j, l int) error {
	b, c := x.x[j*x.ldx:], x.x[i*x.ldx:]
	if x.e.lower && x.alone {
		row, col := x.e.steps()
		host.SubMulAlone(x.e.transposed, k-i, x.cols, l-j, x.e.Data[i*row+j*col:], x.e.Stride, b, x.ldx, c, x.ldx)
		return nil
	}
	var a []T
	var lda int
	var s *host.Scratch
	if n := x.e.N; x.e.lower {
		a, lda, s = x.e.block(i, k, j, l)
		defer s.Give()
	} else {
		from, ld, memory := x.e.block(n-k, n-i, n-l, n-j)
		defer memory.Give()
		s, a = host.Take[T]((k - i) * (l - j))
		defer s.Give()
		lda = l - j
		for r := range k - i {
			row := a[(k-i-1-r)*lda:][:lda]
			copy(row, from[r*ld:])
			slices.Reverse(row)
		}
	}
	if x.alone {
		host.SubMulAlone(false, k-i, x.cols, l-j, a, lda, b, x.ldx, c, x.ldx)
		return nil
	}
	return x.update(true, k-i, x.cols, l-j, a, lda, b, x.ldx, c, x.ldx)
}

// solveBase is solveRows for a triangle that is not divided, on all cores where X has many columns.
func (x *work[T]) solveBase(i, k int) {
	n := k - i
	row, col := x.e.steps()
	e := x.e.Data
	if x.e.lower {
		e = e[i*(row+col):]
	} else {
		memory, turned := host.Take[T](base * base)
		defer memory.Give()
		at := (x.e.N - 1 - i) * (row + col)
		for r := range n {
			for c := range r {
				turned[r*base+c] = e[at-r*row-c*col]
			}
			if !x.e.Unit {
				turned[r*base+r] = e[at-r*(row+col)]
			}
		}
		e, row, col = turned, base, 1
	}
	b := x.x[i*x.ldx:]
	if x.cols < columns*2 || x.alone {
		host.SolveTriangle(n, x.cols, 1, e, row, col, false, x.e.Unit, b, x.ldx)
		return
	}
	parallel.Do((x.cols+columns-1)/columns, func(i int) {
		host.SolveTriangle(n, min(columns, x.cols-i*columns), 1, e, row, col, false, x.e.Unit, b[i*columns:], x.ldx)
	})
}

// columns is how many columns of a solution one core takes at a time.
const columns = 96

// multiply is [Solver.Multiply] for a triangle that is divided: the chains are in C, and X is a
// copy of B.
func (x *work[T]) multiply(left bool, alpha T, b []T, ldb int) error {
	n := x.e.N
	s, memory := host.Take[T](2 * n * x.cols)
	defer s.Give()
	x.x, x.c, x.ldx = memory[:n*x.cols], memory[n*x.cols:], x.cols
	if left {
		host.CopyMatrix(n, x.cols, b, ldb, x.x, x.ldx)
	} else {
		host.Transpose(x.cols, n, b, ldb, x.x, x.ldx)
	}
	clear(x.c)
	if err := x.multiplyRows(0, n); err != nil {
		return err
	}
	if left {
		host.ScaleMatrix(n, x.cols, alpha, x.c, x.ldx, b, ldb)
		return nil
	}
	host.ScaleMatrix(n, x.cols, alpha, x.c, x.ldx, x.c, x.ldx)
	host.Transpose(n, x.cols, x.c, x.ldx, b, ldb)
	return nil
}

// multiplyRows adds the products of the triangle of rows i to k-1, with ascending columns.
func (x *work[T]) multiplyRows(i, k int) error {
	if k-i <= base {
		x.multiplyBase(i, k)
		return nil
	}
	h := i + Half(k-i, base)
	if err := x.multiplyRows(i, h); err != nil {
		return err
	}
	r0, r1, c0, c1 := h, k, i, h
	if !x.e.lower {
		r0, r1, c0, c1 = i, h, h, k
	}
	a, lda, s := x.e.block(r0, r1, c0, c1)
	defer s.Give()
	if err := x.update(false, r1-r0, x.cols, c1-c0, a, lda, x.x[c0*x.ldx:], x.ldx, x.c[r0*x.ldx:], x.ldx); err != nil {
		return err
	}
	return x.multiplyRows(h, k)
}

// multiplyBase is multiplyRows for a triangle that is not divided: a product for each row.
func (x *work[T]) multiplyBase(i, k int) {
	row, col := x.e.steps()
	var e [base]T
	for r := i; r < k; r++ {
		c0, c1 := i, r+1
		if !x.e.lower {
			c0, c1 = r, k
		}
		for c := c0; c < c1; c++ {
			if c == r && x.e.Unit {
				e[c-c0] = 1
			} else {
				e[c-c0] = x.e.Data[r*row+c*col]
			}
		}
		host.AddMul(1, x.cols, c1-c0, e[:], base, x.x[c0*x.ldx:], x.ldx, x.c[r*x.ldx:], x.ldx)
	}
}

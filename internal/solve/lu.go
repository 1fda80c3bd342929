package solve

import "github.com/tandem-gpu/tandem/internal/host"

const (
	luPanel   = 64 // columns that are factored in their transpose
	luColumns = 16 // of a panel that are factored one by one
)

// LU factors P*A = L*U for A of m by n: L has a unit diagonal, which is not stored. With rows
// swapped, u[i,j] is the chain of fma(-l[i,k], u[k,j], .) from a[i,j] for k = 0 ... i-1, and l[i,j]
// is that chain for k = 0 ... j-1, divided by u[j,j]. The pivot of column j is the element of the
// largest magnitude of those chains, a NaN before all others, the first of equals. Where it is 0
// the column is not divided. Row j changed places with row piv[j], for j = 0 ... min(m, n)-1 in
// this order. It returns the first column whose pivot is 0, or -1.
func (s Solver[T]) LU(m, n int, a []T, lda int, piv []int) (singular int, err error) {
	l := lu[T]{Solver: s, m: m, lda: lda, a: a, piv: piv, singular: -1}
	err = l.factor(0, n)
	return l.singular, err
}

type lu[T host.Float] struct {
	Solver[T]
	m, lda, singular int
	a                []T
	piv              []int
}

func swap[T host.Float](x, y []T) {
	for k, v := range x {
		x[k], y[k] = y[k], v
	}
}

// factor factors columns j to end-1, whose chains are done for what comes before.
func (l *lu[T]) factor(j, end int) error {
	switch {
	case j >= l.m:
		return nil
	case end-j <= luPanel:
		return l.panel(j, end)
	}
	h := min(j+Half(end-j, luPanel), l.m)
	if err := l.factor(j, h); err != nil {
		return err
	}
	l.swapRows(j, h, h, end)
	a, ld := l.a, l.lda
	e := Triangle[T]{N: h - j, Data: a[j*ld+j:], Stride: ld, Unit: true}
	if err := l.Solve(e, true, 1, h-j, end-h, a[j*ld+h:], ld); err != nil {
		return err
	}
	if h == l.m {
		return nil
	}
	if err := l.update(true, l.m-h, end-h, h-j, a[h*ld+j:], ld, a[j*ld+h:], ld, a[h*ld+h:], ld); err != nil {
		return err
	}
	if err := l.factor(h, end); err != nil {
		return err
	}
	l.swapRows(h, min(end, l.m), j, h)
	return nil
}

// swapRows applies pivots j to end-1 to columns c0 to c1-1.
func (l *lu[T]) swapRows(j, end, c0, c1 int) { SwapRows(false, l.piv, j, end, l.a[c0:], l.lda, c1-c0) }

// SwapRows swaps rows i and piv[i] of a matrix of cols columns for i = lo ... hi-1, or in reverse
// order.
func SwapRows[T host.Float](reverse bool, piv []int, lo, hi int, a []T, lda, cols int) {
	for k := range hi - lo {
		i := lo + k
		if reverse {
			i = hi - 1 - k
		}
		if p := piv[i]; p != i {
			swap(a[i*lda:][:cols], a[p*lda:][:cols])
		}
	}
}

// panel factors columns j to end-1 in their transpose: so a column is contiguous, and a register
// has elements of many rows.
func (l *lu[T]) panel(j, end int) error {
	w, rows := end-j, l.m-j
	ld := (rows+7)/8*8 + 8 // columns are not a power of two apart
	s, t := host.Take[T](w*ld + luColumns)
	defer s.Give()
	host.Transpose(rows, w, l.a[j*l.lda+j:], l.lda, t, ld)
	p := panel[T]{piv: l.piv, j: j, w: w, rows: rows, ld: ld, singular: l.singular, t: t}
	err := p.factor(0, w)
	l.singular = p.singular
	host.Transpose(w, rows, t, ld, l.a[j*l.lda+j:], l.lda)
	return err
}

// A panel is columns from j on, from row j on, in the rows of t. It has no pointer, by which the
// whole lu would be on the heap.
type panel[T host.Float] struct {
	piv                      []int
	j, w, rows, ld, singular int
	t                        []T // and luColumns elements of working memory
}

// factor factors columns c0 to c1-1 of the panel.
func (p *panel[T]) factor(c0, c1 int) error {
	switch {
	case c0 >= p.rows:
		return nil
	case c1-c0 <= luColumns:
		p.columns(c0, c1)
		return nil
	}
	h := min((c0+c1)/2, p.rows)
	if err := p.factor(c0, h); err != nil {
		return err
	}
	t, ld := p.t, p.ld
	e := Triangle[T]{N: h - c0, Data: t[c0*(ld+1):], Stride: ld, Upper: true, Unit: true}
	if err := (Solver[T]{}).Solve(e, false, 1, c1-h, h-c0, t[h*ld+c0:], ld); err != nil || h == p.rows {
		return err
	}
	host.SubMul(c1-h, p.rows-h, h-c0, t[h*ld+c0:], ld, t[c0*ld+h:], ld, t[h*ld+h:], ld)
	return p.factor(h, c1)
}

// columns factors few columns, one after the other.
func (p *panel[T]) columns(c0, c1 int) {
	t, ld := p.t, p.ld
	u := t[p.w*ld:] // a row of U, which lies down a column of t
	for c := c0; c < min(c1, p.rows); c++ {
		p.column(c)
		for r := c + 1; r < c1; r++ {
			u[r-c-1] = t[r*ld+c]
		}
		if n := p.rows - c - 1; n > 0 && c+1 < c1 {
			host.Ger(c1-c-1, n, -1, u, t[c*ld+c+1:], t[(c+1)*ld+c+1:], ld)
		}
	}
}

// column chooses the pivot of column c, whose chains are done, swaps, and divides.
func (p *panel[T]) column(c int) {
	t, ld := p.t, p.ld
	x := t[c*ld:][:p.rows]
	i := c + host.Iamax(x[c:])
	p.piv[p.j+c] = p.j + i
	if i != c {
		for at := 0; at < p.w*ld; at += ld {
			t[at+i], t[at+c] = t[at+c], t[at+i]
		}
	}
	if x[c] != 0 {
		divideRest(x[c:])
	} else if p.singular < 0 {
		p.singular = p.j + c
	}
}

// divideRest divides all elements but the first by that.
func divideRest[T host.Float](x []T) {
	n := len(x) - 1
	if n > 8 {
		host.SolveTriangle(1, n, 1, x[:1], 1, 1, false, false, x[1:], n)
		return
	}
	for i := range n {
		x[i+1] /= x[0]
	}
}

package solve

import "github.com/tandem-gpu/tandem/internal/host"

// A bidiagonal makes A, of m by n with m >= n, QᵀAP = upper bidiagonal (d, e) by Householder's
// method, with updates put off for the columns of a panel. The vectors of Q are left in A, as
// [Solver.QR] leaves them, and those of P in the same way in rows 1 to n-1 of p, of n by n.
type bidiagonal struct {
	Solver[float64]
	m, n, lda        int
	a                []float64
	vectorsQ         bool      // whether anybody wants those of Q
	p                []float64 // nil where nobody wants those of P
	d, e, tauQ, tauP []float64
}

// A bidiagonalPanel is w columns and rows of the trailing matrix, of m by n, which is A - L*R: rows
// 2i and 2i+1 of Lᵀ are v and x of pair i, and those of R are y and u.
type bidiagonalPanel struct {
	w, m, n, lda int
	a            []float64
	columns      []float64 // w by m
	lt, r        []float64 // 2w by m, 2w by n
	s            []float64 // 2w factors
}

func (b *bidiagonal) reduce() error {
	for k := 0; k < b.n; k += Panel {
		m, n := b.m-k, b.n-k
		if err := b.panel(k, min(Panel, n), m, n, b.a[k*(b.lda+1):]); err != nil {
			return err
		}
	}
	b.e[b.n-1] = 0
	return nil
}

// panel reduces w columns and rows, from k on, of the trailing matrix of m by n, and brings the
// rest up to date.
func (b *bidiagonal) panel(k, w, m, n int, a []float64) error {
	memory, x := host.Take[float64](w * (3*m + 2*n + 2))
	defer memory.Give()
	p := bidiagonalPanel{
		w: w, m: m, n: n, lda: b.lda, a: a,
		columns: x[:w*m], lt: x[w*m : 3*w*m], r: x[3*w*m : w*(3*m+2*n)], s: x[w*(3*m+2*n):],
	}
	host.Transpose(m, w, a, b.lda, p.columns, m)
	for j := range w {
		b.d[k+j], b.tauQ[k+j] = p.column(j)
		b.e[k+j], b.tauP[k+j] = p.row(j, b.tauQ[k+j])
	}
	b.keep(k, w, m, n, &p)
	if m == w || n == w {
		return nil
	}
	side, l := host.Take[float64](2 * w * (m - w))
	defer side.Give()
	host.Transpose(2*w, m-w, p.lt[w:], m, l, 2*w)
	return b.update(true, m-w, n-w, 2*w, l, 2*w, p.r[w:], n, a[w*(b.lda+1):], b.lda)
}

// keep brings the vectors of a panel, where anybody wants them, to their places.
func (b *bidiagonal) keep(k, w, m, n int, p *bidiagonalPanel) {
	if b.vectorsQ {
		host.Transpose(w, m, p.columns, m, b.a[k*(b.lda+1):], b.lda)
	}
	for j := 0; j < w && b.p != nil; j++ {
		for i, v := range p.r[(2*j+1)*n:][j+1 : n] {
			b.p[(k+j+1+i)*b.n+k+j] = v
		}
	}
}

// column does column j, but for y.
func (p *bidiagonalPanel) column(j int) (d, tau float64) {
	v := p.lt[2*j*p.m+j:][:p.m-j]
	copy(v, p.columns[j*p.m+j:])
	for i := range 2 * j {
		p.s[i] = -p.r[i*p.n+j]
	}
	host.AddRows(2*j, p.lt[j:], p.m, p.s, v)
	d, tau = householder(v)
	copy(p.columns[j*p.m+j:], v)
	return d, tau
}

// row does row j, whose column is done, with the factor of its reflector.
func (p *bidiagonalPanel) row(j int, tauQ float64) (e, tau float64) {
	c := p.n - j - 1
	if c == 0 {
		return 0, 0
	}
	v, y, u := p.lt[2*j*p.m+j:][:p.m-j], p.r[2*j*p.n+j+1:][:c], p.r[(2*j+1)*p.n+j+1:][:c]
	x := p.lt[(2*j+1)*p.m+j+1:][:p.m-j-1]
	// y = tauQ*(Aᵀ*v - Rᵀ*(Lᵀ*v))
	clear(y)
	if tauQ != 0 {
		host.AddRows(len(v), p.a[j*p.lda+j+1:], p.lda, v, y)
		p.subtract(2*j, p.lt[j:], p.m, v, p.r[j+1:], p.n, y)
		host.Scal(tauQ, y)
	}
	for i := range 2*j + 1 {
		p.s[i] = -p.lt[i*p.m+j]
	}
	copy(u, p.a[j*p.lda+j+1:])
	host.AddRows(2*j+1, p.r[j+1:], p.n, p.s, u)
	e, tau = householder(u)
	// x = tau*(A*u - L*(R*u))
	clear(x)
	if tau != 0 && len(x) > 0 {
		host.AddColumns(p.a[(j+1)*(p.lda+1):], p.lda, u, x)
		p.subtract(2*j+1, p.r[j+1:], p.n, u, p.lt[j+1:], p.m, x)
		host.Scal(tau, x)
	}
	return e, tau
}

// subtract is y less the first k rows of to times the sums of those of from times x.
func (p *bidiagonalPanel) subtract(k int, from []float64, ldf int, x, to []float64, ldt int, y []float64) {
	if k == 0 {
		return
	}
	s := p.s[:k]
	clear(s)
	host.AddColumns(from, ldf, x, s)
	for i, v := range s {
		s[i] = -v
	}
	host.AddRows(k, to, ldt, s, y)
}

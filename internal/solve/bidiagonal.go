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
	remote           Reduction // where a device has what is left of A
}

// A bidiagonalPanel is w columns and rows of the trailing matrix, of m by n, which is A - L*R: rows
// 2i and 2i+1 of Lᵀ are v and x of pair i, and those of R are y and u. Where remote is not nil it
// has A, but for the panel's rows.
type bidiagonalPanel struct {
	w, m, n, lda int
	a            []float64
	remote       Reduction
	columns      []float64 // w by m
	lt, r        []float64 // 2w by m, 2w by n
	s            []float64 // 2w factors
}

func (b *bidiagonal) reduce() error {
	if b.Reduce != nil {
		remote := *b // which has to be on the heap
		done, err := b.Reduce(false, b.m, b.n, b.a, b.lda, func(r Reduction) error {
			remote.remote = r
			return remote.panels()
		})
		if done || err != nil {
			return err
		}
	}
	return b.panels()
}

func (b *bidiagonal) panels() error {
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
		w: w, m: m, n: n, lda: b.lda, a: a, remote: b.remote,
		columns: x[:w*m], lt: x[w*m : 3*w*m], r: x[3*w*m : w*(3*m+2*n)], s: x[w*(3*m+2*n):],
	}
	if err := p.begin(); err != nil {
		return err
	}
	for j := range w {
		b.d[k+j], b.tauQ[k+j] = p.column(j)
		var err error
		if b.e[k+j], b.tauP[k+j], err = p.row(j, b.tauQ[k+j]); err != nil {
			return err
		}
	}
	b.keep(k, w, m, n, &p)
	if m == w || n == w {
		return nil
	}
	side, l := host.Take[float64](2 * w * (m - w))
	defer side.Give()
	host.Transpose(2*w, m-w, p.lt[w:], m, l, 2*w)
	if b.remote != nil {
		return b.remote.Subtract(w, l, p.r[w:], n)
	}
	return b.update(true, m-w, n-w, 2*w, l, 2*w, p.r[w:], n, a[w*(b.lda+1):], b.lda)
}

// begin takes the columns, and from a device the rows, to their place on the host.
func (p *bidiagonalPanel) begin() error {
	if p.remote != nil {
		return p.remote.Fetch(p.w, p.columns, p.a, p.lda)
	}
	host.Transpose(p.m, p.w, p.a, p.lda, p.columns, p.m)
	return nil
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
func (p *bidiagonalPanel) row(j int, tauQ float64) (e, tau float64, err error) {
	c := p.n - j - 1
	if c == 0 {
		return 0, 0, nil
	}
	v, y, u := p.lt[2*j*p.m+j:][:p.m-j], p.r[2*j*p.n+j+1:][:c], p.r[(2*j+1)*p.n+j+1:][:c]
	x := p.lt[(2*j+1)*p.m+j+1:][:p.m-j-1]
	// y = tauQ*(Aᵀ*v - Rᵀ*(Lᵀ*v))
	clear(y)
	if tauQ != 0 {
		if err := p.multiply(true, j, v, y); err != nil {
			return 0, 0, err
		}
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
		if err := p.multiply(false, j, u, x); err != nil {
			return 0, 0, err
		}
		host.Scal(tau, x)
	}
	return e, tau, nil
}

// multiply makes y, which is 0, the product of the last rows and columns of the matrix and x, or
// with trans of their transpose and x, as the pairs before j leave it, without trans with y and v
// of pair j.
func (p *bidiagonalPanel) multiply(trans bool, j int, x, y []float64) error {
	rows, cols, k := len(y), len(x), 2*j+1
	from, ldf, to, ldt := p.r[j+1:], p.n, p.lt[j+1:], p.m
	if trans {
		rows, cols, k = cols, rows, 2*j
		from, ldf, to, ldt = p.lt[j:], p.m, p.r[j+1:], p.n
	}
	a := p.a[(p.m-rows)*p.lda+p.n-cols:]
	switch {
	case p.remote != nil:
		if err := p.remote.Multiply(trans, x); err != nil {
			return err
		}
	case trans:
		host.AddRows(rows, a, p.lda, x, y)
	default:
		host.AddColumns(a, p.lda, x, y)
	}
	s := p.s[:k] // while a device is at work
	clear(s)
	if k > 0 {
		host.AddColumns(from, ldf, x, s)
	}
	for i, v := range s {
		s[i] = -v
	}
	if p.remote != nil {
		if err := p.remote.Multiplied(y); err != nil {
			return err
		}
	}
	host.AddRows(k, to, ldt, s, y)
	return nil
}

package solve

import "github.com/tandem-gpu/tandem/internal/host"

// A nearSymmetric is a tridiagonalPanel of a small matrix, as a nearPanel is a bidiagonalPanel. It
// has the whole of A, and beside it w and v, in this order, of each reflector, which makes factors
// of elements in the place of the row that they belong to.
type nearSymmetric struct {
	w, m, lm, ld int
	a            []float64 // m rows
	vw           []float64 // 2w by lm
	sums         []float64
}

// take takes a panel of w columns of A, of m by m, of which a triangle counts, with memory in x.
func (p *nearSymmetric) take(lower bool, w, m int, a []float64, lda int, x []float64) {
	p.w, p.m, p.lm, p.ld = w, m, host.WholeLines(m), nearSymmetricRow(w, m)
	p.a, x = x[:m*p.ld], x[m*p.ld:]
	p.vw, p.sums = x[:2*w*p.lm], x[2*w*p.lm:]
	host.Mirror(lower, m, a, lda, p.a, p.ld)
}

// nearSymmetricRow is the elements of a row, and nearSymmetricMemory those of all.
func nearSymmetricRow(w, m int) int { return host.WholeLines(m) + host.WholeLines(2*w) + 8 }

func nearSymmetricMemory(w, m int) int { return (m+1)*nearSymmetricRow(w, m) + 2*w*host.WholeLines(m) }

// chains makes y, from lo on, column j as the reflectors before make it.
func (p *nearSymmetric) chains(j, lo int, y []float64) {
	c := p.a[j*p.ld:][:p.ld]
	host.AddLines(true, p.vw[lo:], p.lm, c[p.lm:][:2*min(j, p.w)], c[lo:p.lm], 1, y[lo:])
}

// column does column j, as that of tridiagonalPanel does. The vector is left in row j.
func (p *nearSymmetric) column(j int) (d, e, tau float64) {
	v, w, lo := p.vw[2*j*p.lm:][:p.lm], p.vw[(2*j+1)*p.lm:][:p.lm], host.LineStart(j+1)
	p.chains(j, host.LineStart(j), v)
	d, x := v[j], v[j+1:p.m]
	e, tau = householder(x)
	copy(p.a[j*p.ld+j+1:], x)
	if tau == 0 {
		clear(w[lo:])
	} else {
		n := p.lm - lo
		sums := p.sums[:n+host.WholeLines(2*j)]
		host.AddLines(false, p.a[(j+1)*p.ld+lo:], p.ld, x, nil, 1, sums)
		host.AddLines(true, p.vw[lo:], p.lm, sums[n:][:2*j], sums[:n], tau, w[lo:])
		y := w[j+1 : p.m]
		host.Axpy(-0.5*tau*host.Dot(y, x), x, y)
	}
	for i := j + 1; i < p.m; i++ {
		pair := p.a[i*p.ld+p.lm+2*j:][:2]
		pair[0], pair[1] = w[i], v[i]
	}
	return d, e, tau
}

// finish brings the upper triangle of the matrix after the panel up to date, and the vectors, where
// anybody wants them, to their place.
func (p *nearSymmetric) finish(s Solver[float64], vectors bool, a []float64, lda int) error {
	if vectors {
		host.Transpose(p.w, p.m, p.a, p.ld, a, lda)
	}
	n, c := p.m-p.w, a[p.w*(lda+1):]
	if n == 1 { // the last panel
		p.chains(p.w, host.LineStart(p.w), p.sums[:p.lm])
		c[0] = p.sums[p.w]
		return nil
	}
	host.CopyMatrix(n, n, p.a[p.w*(p.ld+1):], p.ld, c, lda) // whose upper triangle may not have counted
	return s.update(true, n, n, 2*p.w, p.a[p.w*p.ld+p.lm:], p.ld, p.vw[p.w:], p.lm, c, lda)
}

package solve

import "github.com/tandem-gpu/tandem/internal/host"

// nearRows is the rows up to which a panel, but of one or two, is reduced in this way. It has both
// A and Aᵀ, which no near cache has of larger ones, and it has one core.
const nearRows = 192

// A nearPanel is a bidiagonalPanel of a small matrix, where calls take longer than arithmetic. It
// has A and L side by side, and so their transposes and R's, in whole cache lines: one call makes
// all sums with a vector, and what it makes before the first column that counts is of no use.
type nearPanel struct {
	w, m, n     int
	lm, ln      int       // elements of rows of whole lines
	left, right []float64 // m rows of A and of L, n rows of Aᵀ and of Rᵀ
	ldl, ldr    int
	lt, r       []float64 // 2w by lm, 2w by ln
	sums        []float64
}

// newNearPanel takes a panel of w columns of A, of m by n.
func newNearPanel(w, m, n int, a []float64, lda int) (*host.Scratch, nearPanel) {
	lm, ln, lw := host.WholeLines(m), host.WholeLines(n), host.WholeLines(2*w)
	ldl, ldr := ln+lw+8, lm+lw+8 // no power of two, by which the lines of a column would share a place in the cache
	memory, x := host.Take[float64](m*ldl + n*ldr + 2*w*(lm+ln) + max(ldl, ldr))
	cut := func(n int) (part []float64) {
		part, x = x[:n], x[n:]
		return part
	}
	p := nearPanel{
		w: w, m: m, n: n, lm: lm, ln: ln, ldl: ldl, ldr: ldr, left: cut(m * ldl), right: cut(n * ldr),
		lt: cut(2 * w * lm), r: cut(2 * w * ln), sums: x,
	}
	host.CopyMatrix(m, n, a, lda, p.left, ldl)
	host.Transpose(m, n, a, lda, p.right, ldr)
	return memory, p
}

// column does column j, but for y, as that of bidiagonalPanel does. The vector is left in Aᵀ, too.
func (p *nearPanel) column(j int) (d, tau float64) {
	lo, v, c := host.LineStart(j), p.lt[2*j*p.lm:][:p.lm], p.right[j*p.ldr:][:p.ldr]
	host.AddLines(true, p.lt[lo:], p.lm, c[p.lm:][:2*j], c[lo:], 1, v[lo:])
	v = v[:p.m]
	d, tau = householder(v[j:])
	for i := j; i < len(v); i++ {
		c[i] = v[i]
	}
	setColumn(p.left[p.ln+2*j:], p.ldl, j, v)
	return d, tau
}

// row does row j, whose column is done.
func (p *nearPanel) row(j int, tauQ float64) (e, tau float64) {
	if j+1 == p.n {
		return 0, 0
	}
	lo, c := host.LineStart(j+1), p.left[j*p.ldl:][:p.ldl]
	y, u, x := p.r[2*j*p.ln:][:p.ln], p.r[(2*j+1)*p.ln:][:p.ln], p.lt[(2*j+1)*p.lm:][:p.lm]
	p.product(tauQ, lo, 2*j, p.left[j*p.ldl:], p.ldl, p.lt[2*j*p.lm:][j:p.m], p.r, y)
	setColumn(p.right[p.lm+2*j:], p.ldr, j+1, y[:p.n])
	host.AddLines(true, p.r[lo:], p.ln, c[p.ln:][:2*j+1], c[lo:], 1, u[lo:])
	u = u[:p.n]
	e, tau = householder(u[j+1:])
	setColumn(p.right[p.lm+2*j+1:], p.ldr, j+1, u)
	p.product(tau, lo, 2*j+1, p.right[(j+1)*p.ldr:], p.ldr, u[j+1:], p.lt, x)
	setColumn(p.left[p.ln+2*j+1:], p.ldl, j+1, x[:p.m])
	return e, tau
}

// product makes y, from lo on, tau times what A's part of a gives with x, less the first k rows of
// to times what the k columns beside A give.
func (p *nearPanel) product(tau float64, lo, k int, a []float64, lda int, x, to, y []float64) {
	if tau == 0 {
		clear(y[lo:])
		return
	}
	n := len(y) - lo
	sums := p.sums[:n+host.WholeLines(k)]
	host.AddLines(false, a[lo:], lda, x, nil, 1, sums)
	host.AddLines(true, to[lo:], len(y), sums[n:][:k], sums[:n], tau, y[lo:])
}

// setColumn makes a column, from row lo on, that of x.
func setColumn(a []float64, lda, lo int, x []float64) {
	for i := lo; i < len(x); i++ {
		a[i*lda] = x[i]
	}
}

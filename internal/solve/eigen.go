package solve

import (
	"cmp"
	"math"
	"slices"

	"github.com/tandem-gpu/tandem/internal/host"
)

// EigSym makes the symmetric A of n by n, whose lower or upper triangle counts and of which all is
// overwritten, its eigenvectors, in columns, and w its eigenvalues, in ascending order. Without
// vectors it makes w alone, of the same bits, and leaves A. With NaN or infinities ok is false, and
// all is NaN; where the iteration for an eigenvalue does not end, the error is [ErrNotConverged].
func EigSym(
	s Solver[float64], vectors, lower bool, n int, a []float64, lda int, w []float64,
) (ok bool, err error) {
	if n == 0 {
		return true, nil
	}
	ok, err = eigSym(s, vectors, lower, n, a, lda, w)
	if err != nil {
		return false, err
	}
	if !ok {
		fill(w, math.NaN())
		for i := 0; i < n && vectors; i++ {
			fill(a[i*lda:][:n], math.NaN())
		}
	}
	return ok, nil
}

// eigSym is EigSym but for what it leaves where ok is false.
func eigSym(
	s Solver[float64], vectors, lower bool, n int, a []float64, lda int, w []float64,
) (ok bool, err error) {
	work := n * (n + 2)
	memory, x := host.Take[float64](work + max(tridiagonalMemory(n), leafMemory(min(n, leafRows))))
	defer memory.Give()
	q, e, tau := x[:n*n], x[n*n:][:n], x[n*(n+1):][:n]
	e[n-1] = 0
	host.Mirror(lower, n, a, lda, q, n)
	if !lower { // from the last row and column on, as LAPACK does it
		slices.Reverse(q)
	}
	exp, finite := rescale(n, n, q, n)
	if !finite {
		return false, nil
	}
	t := tridiagonal{Solver: s, n: n, a: q, vectors: vectors, d: w, e: e, tau: tau, memory: x[work:]}
	if err := t.reduce(); err != nil {
		return false, err
	}
	if !isFinite(w) || !isFinite(e) {
		return false, ErrNotConverged
	}
	if !lower {
		slices.Reverse(w)
		slices.Reverse(e[:n-1])
	}
	if !vectors {
		err = eigenvalues(w, e, tridiagonalParts(w, e))
		slices.SortStableFunc(w, cmp.Compare[float64])
		scaleBack(exp, w)
		return true, err
	}
	z := rows{data: x[work:]}
	if n <= leafRows {
		err = ql(w, e, z.data[:n*n], z.data[n*n:])
	} else {
		z, err = diagonalize(s, w, e)
	}
	if err != nil {
		return false, err
	}
	scaleBack(exp, w)
	for i := 0; i < n && !lower; i++ {
		slices.Reverse(z.data[i*n:][:n])
	}
	host.Transpose(n, n, z.data, n, a, lda)
	z.give() // the last reflector, of one row, changes nothing
	err = s.ApplyQ(false, n-1, n, n-2, q[n:], n, tau, a[lda:], lda)
	for i := 0; i < n/2 && !lower; i++ {
		swap(a[i*lda:][:n], a[(n-1-i)*lda:][:n])
	}
	return true, err
}

// diagonalize makes d the eigenvalues of the tridiagonal (d, e) in ascending order, and gives the
// eigenvectors, in rows.
func diagonalize(s Solver[float64], d, e []float64) (z rows, err error) {
	parts := tridiagonalParts(d, e)
	dv, ev, all := slices.Clone(d), slices.Clone(e), make([]rows, len(parts))
	err = beside(func() error { return eigenvalues(d, e, parts) }, func() error {
		return solveParts(parts, dv, ev, func(i int, d, e []float64) (err error) {
			rescaleVectors(d, e)
			all[i], err = divide(s, d, e)
			return err
		})
	})
	if err != nil || len(parts) == 1 {
		return all[0], err
	}
	order := ascending(d)
	permute(d, slices.Clone(d), order)
	return gather(parts, all, 0, order), nil
}

// eigenvalues makes d the eigenvalues of the tridiagonal (d, e), those of each part in ascending
// order.
func eigenvalues(d, e []float64, parts []part) error {
	return solveParts(parts, d, e, func(_ int, d, e []float64) error { return ql(d, e, nil, nil) })
}

func fill(x []float64, v float64) {
	for i := range x {
		x[i] = v
	}
}

// rescaleVectors multiplies x and y by the power of two that brings their largest magnitude to 1/2
// or more and below 1, and returns the exponent of the inverse: 0 where they stay as they are, as
// do zeros and numbers that are not finite.
func rescaleVectors(x, y []float64) (exp int, finite bool) {
	most := math.Float64frombits(max(largestBits(x), largestBits(y)))
	if most == 0 || most-most != 0 {
		return 0, most == 0
	}
	_, exp = math.Frexp(most)
	scaleBack(-exp, x)
	scaleBack(-exp, y)
	return exp, true
}

// largestBits is the bits of the largest magnitude, a NaN above all. They have the order of the
// magnitudes, and take a fraction of the time to compare.
func largestBits(x []float64) (most uint64) {
	for _, v := range x {
		most = max(most, math.Float64bits(v)&^(1<<63))
	}
	return most
}

func isFinite(x []float64) bool { return largestBits(x) < math.Float64bits(math.Inf(1)) }

// A tridiagonal makes the symmetric A, of n by n, QᵀAQ = tridiagonal (d, e) by Householder's
// method, with updates put off for the columns of a panel. Both triangles are read. The vectors of
// Q's reflectors are left below the first diagonal under the main one, as [Solver.QR] leaves them
// for rows 1 to n-1; what is above them in A, or without vectors all that is there, is undefined.
type tridiagonal struct {
	Solver[float64]
	n         int
	a         []float64
	vectors   bool
	d, e, tau []float64
	memory    []float64 // to work in
	remote    Reduction // where a device has what is left of A
}

func (t *tridiagonal) reduce() error {
	if t.Reduce != nil {
		remote := *t // which has to be on the heap
		done, err := t.Reduce(true, t.n, t.n, t.a, t.n, func(r Reduction) error {
			remote.remote = r
			return remote.panels()
		})
		if done || err != nil {
			return err
		}
	}
	return t.panels()
}

func (t *tridiagonal) panels() error {
	n := t.n
	for k := 0; k < n-1; k += Panel {
		w, m, at := min(Panel, n-1-k), n-k, t.a[k*(n+1):]
		p := tridiagonalPanel{w: w, m: m, lda: n, a: at, remote: t.remote}
		if err := p.begin(t.memory); err != nil {
			return err
		}
		for j := range w {
			var err error
			if t.d[k+j], t.e[k+j], t.tau[k+j], err = p.column(j); err != nil {
				return err
			}
		}
		if t.vectors {
			host.Transpose(w, m, p.columns, m, at, n)
		}
		if err := p.finish(t.Solver); err != nil {
			return err
		}
	}
	if t.remote != nil {
		return t.remote.Fetch(1, t.d[n-1:n], nil, 0)
	}
	t.d[n-1] = t.a[n*n-1]
	return nil
}

// tridiagonalMemory is the elements of working memory for n rows.
func tridiagonalMemory(n int) int {
	return min(Panel, n) * (3*n + 2)
}

// A tridiagonalPanel is w columns of the trailing matrix of m rows, which remote has, if it is not
// nil. Rows 2i and 2i+1 of vw are v and w of reflector i, which make the matrix A - v*wᵀ - w*vᵀ.
type tridiagonalPanel struct {
	w, m, lda int
	a         []float64
	remote    Reduction
	columns   []float64 // w by m
	vw        []float64 // 2w by m
	s         []float64 // 2w factors
}

// begin takes the columns, and memory to work in.
func (p *tridiagonalPanel) begin(x []float64) error {
	w, m := p.w, p.m
	p.columns, p.vw, p.s = x[:w*m], x[w*m:3*w*m], x[3*w*m:]
	if p.remote != nil {
		return p.remote.Fetch(w, p.columns, nil, 0)
	}
	host.Transpose(m, w, p.a, p.lda, p.columns, m)
	return nil
}

// column does column j: elements of the diagonal and below it, and the factor of the reflector.
func (p *tridiagonalPanel) column(j int) (d, e, tau float64, err error) {
	s := p.s
	c, m := p.columns[j*p.m+j:][:p.m-j], p.m
	for i := range j {
		s[2*i], s[2*i+1] = -p.vw[(2*i+1)*m+j], -p.vw[2*i*m+j]
	}
	host.AddRows(2*j, p.vw[j:], m, s, c)
	v := p.vw[2*j*m+j+1:][:m-j-1]
	copy(v, c[1:])
	e, tau = householder(v)
	copy(c[1:], v)
	w := p.vw[(2*j+1)*m+j+1:][:len(v)]
	if tau == 0 {
		clear(w)
		return c[0], e, 0, nil
	}
	// w = tau*(A*v - V*(Wᵀ*v) - W*(Vᵀ*v)), and then less v times half of tau*wᵀv
	if err := p.multiply(j, v, w); err != nil {
		return 0, 0, 0, err
	}
	host.Scal(tau, w)
	host.Axpy(-0.5*tau*host.Dot(w, v), v, w)
	return c[0], e, tau, nil
}

// multiply makes y the product of v and the matrix as the first j columns leave it.
func (p *tridiagonalPanel) multiply(j int, v, y []float64) error {
	at := p.m - len(v)
	if p.remote != nil {
		if err := p.remote.Multiply(false, v); err != nil {
			return err
		}
	} else {
		host.Symv(true, len(v), 1, p.a[at*(p.lda+1):], p.lda, v, 0, y)
	}
	s := p.s[:2*j]
	clear(s)
	if j > 0 {
		host.AddColumns(p.vw[at:], p.m, v, s)
	}
	for i := range j {
		s[2*i], s[2*i+1] = -s[2*i+1], -s[2*i]
	}
	if p.remote != nil {
		if err := p.remote.Multiplied(y); err != nil {
			return err
		}
	}
	host.AddRows(2*j, p.vw[at:], p.m, s, y)
	return nil
}

// finish brings the matrix after the panel up to date, on the host its lower triangle.
func (p *tridiagonalPanel) finish(s Solver[float64]) error {
	n, k := p.m-p.w, 2*p.w
	memory, x := host.Take[float64](2 * n * k)
	defer memory.Give()
	left, right := x[:n*k], x[n*k:]
	host.Transpose(k, n, p.vw[p.w:], p.m, left, k)
	for i := range p.w {
		copy(right[2*i*n:][:n], p.vw[(2*i+1)*p.m+p.w:])
		copy(right[(2*i+1)*n:][:n], p.vw[2*i*p.m+p.w:])
	}
	if p.remote != nil {
		return p.remote.Subtract(p.w, left, right, n)
	}
	c := p.a[p.w*(p.lda+1):]
	for i := 0; i < n; i += lowerStrip {
		rows := min(lowerStrip, n-i)
		if err := s.update(true, rows, i+rows, k, left[i*k:], k, right, n, c[i*p.lda:], p.lda); err != nil {
			return err
		}
	}
	return nil
}

// lowerStrip is the rows of a strip of a lower triangle, which is computed to the end of its last
// row.
const lowerStrip = 128

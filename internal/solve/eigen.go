package solve

import (
	"cmp"
	"math"
	"slices"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/parallel"
)

// EigSym makes the symmetric A of n by n, whose lower or upper triangle counts and of which all is
// overwritten, its eigenvectors, in columns, and w its eigenvalues, in ascending order. Without
// vectors it makes w alone, by another way, and leaves A: the last bits differ. With NaN or
// infinities ok is false, and all is NaN; where the iteration for an eigenvalue does not end, the
// error is [ErrNotConverged].
func EigSym(
	s Solver[float64], vectors, lower bool, n int, a []float64, lda int, w []float64,
) (ok bool, err error) {
	if n == 0 {
		return true, nil
	}
	if n == 1 && a[0]-a[0] == 0 {
		if w[0] = a[0]; vectors {
			a[0] = 1
		}
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
		err = ql(w, e, nil, nil)
		scaleBack(exp, w)
		return true, err
	}
	z := rows{data: x[work:]}
	if n <= leafRows {
		err = ql(w, e, z.data[:n*n], z.data[n*n:])
	} else {
		more, _ := rescaleVectors(w, e)
		exp += more
		z, err = divide(s, w, e)
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
	if n == 1 && p.remote == nil { // the last panel
		last := p.a[p.w*(p.lda+1):]
		for i := p.w; i < len(p.vw); i += 2 * p.m {
			v, w := p.vw[i], p.vw[i+p.m]
			last[0] = math.FMA(-w, v, math.FMA(-v, w, last[0]))
		}
		return nil
	}
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

// ulp is half a unit in the last place of 1, and leafRows the rows of a tridiagonal matrix that is
// not divided: a part of the definition.
const (
	ulp      = 0x1p-53
	leafRows = 32
)

// Matrices of up to smallDivide rows are divided on one core each, without a device.
const smallDivide = 256

// rows are vectors, one after the other, in memory to be given back.
type rows struct {
	*host.Scratch
	data []float64
}

func takeRows(n int) rows {
	memory, data := host.Take[float64](n)
	return rows{memory, data}
}

func (r rows) give() { r.Give() }

// divide solves the symmetric tridiagonal eigenproblem (d, e) by divide and conquer (J. J. M.
// Cuppen, "A divide and conquer method for the symmetric tridiagonal eigenproblem", Numerische
// Mathematik 36, 1981; M. Gu and S. C. Eisenstat, "A divide-and-conquer algorithm for the symmetric
// tridiagonal eigenproblem", SIAM J. Matrix Anal. Appl. 16, 1995): d becomes the eigenvalues in
// ascending order, and zt has the eigenvectors. n rows are cut behind the first n/2.
func divide(s Solver[float64], d, e []float64) (zt rows, err error) {
	n := len(d)
	if n <= leafRows {
		zt = takeRows(leafMemory(n))
		return zt, ql(d, e, zt.data, zt.data[n*n:])
	}
	h := n / 2
	rho := e[h-1]
	d[h-1] -= math.Abs(rho)
	d[h] -= math.Abs(rho)
	var z [2]rows
	var errs [2]error
	half := func(s Solver[float64], i int) {
		lo, hi := i*h, h+i*(n-h)
		z[i], errs[i] = divide(s, d[lo:hi], e[lo:hi])
	}
	if n <= 2*smallDivide {
		parallel.Do(2, func(i int) { half(Solver[float64]{}, i) })
	} else {
		half(s, 0)
		half(s, 1)
	}
	if err := cmp.Or(errs[0], errs[1]); err != nil {
		return rows{}, err
	}
	g := glue{Solver: s, n: n, h: h, d: d, sign: math.Copysign(1, rho), rho: 2 * math.Abs(rho)}
	return g.join(z[0], z[1])
}

// glue makes the eigenvectors of two halves those of the whole: diag(D1, D2) + rho*z*zᵀ, where z
// comes of the last elements of the first half's vectors and the first of the second's.
type glue struct {
	Solver[float64]
	n, h      int
	d, z      []float64
	sign, rho float64
	q         []float64 // vectors
	upper     []bool    // that have elements in the first h places, and in the others
	lower     []bool
	keep      []int // vectors that take part, and those that are done
	gone      []int
}

func (g *glue) join(q1, q2 rows) (rows, error) {
	q := takeRows(g.n * g.n)
	defer q.give()
	g.q = q.data
	g.place(q1.data, q2.data)
	q1.give()
	q2.give()
	g.deflate()
	k := len(g.keep)
	dk, zk := make([]float64, k), make([]float64, k)
	for i, o := range g.keep {
		dk[i], zk[i] = g.d[o], g.z[o]
	}
	lambda := make([]float64, k, g.n)
	memory := takeRows(k * (k + g.n))
	defer memory.give()
	delta, vectors := memory.data[:k*k], memory.data[k*k:] // delta[j*k+i] = dk[i] - lambda[j]
	each(k, func(j int) { lambda[j] = secular(j, dk, zk, g.rho, delta[j*k:][:k]) })
	if slices.ContainsFunc(lambda, math.IsNaN) {
		return rows{}, ErrNotConverged
	}
	zh := make([]float64, k)
	each(k, func(i int) { zh[i] = anew(i, dk, zk, delta) })
	if err := g.multiply(zh, delta, vectors); err != nil {
		return rows{}, err
	}
	return g.sort(lambda, vectors), nil
}

// each calls f for 0 to n-1, on all cores where there is work for them.
func each(n int, f func(i int)) {
	if n <= smallDivide {
		for i := range n {
			f(i)
		}
		return
	}
	const some = 8
	parallel.Do((n+some-1)/some, func(b int) {
		for i := b * some; i < min(n, (b+1)*some); i++ {
			f(i)
		}
	})
}

// place puts both halves into one matrix, and makes z of length 1.
func (g *glue) place(q1, q2 []float64) {
	n, h := g.n, g.h
	c := n - h
	g.z, g.upper, g.lower = make([]float64, n), make([]bool, n), make([]bool, n)
	each(n, func(i int) {
		row := g.q[i*n:][:n]
		if i < h {
			copy(row[:h], q1[i*h:])
			clear(row[h:])
		} else {
			clear(row[:h])
			copy(row[h:], q2[(i-h)*c:])
		}
	})
	for i := range h {
		g.z[i], g.upper[i] = q1[i*h+h-1]*(math.Sqrt2/2), true
	}
	for i := range c {
		g.z[h+i], g.lower[h+i] = g.sign*q2[i*c]*(math.Sqrt2/2), true
	}
}

// ascending is the order of values, stable.
func ascending(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	return order
}

// deflate sorts out the vectors whose element of z is next to nothing; of two with values next to
// each other it makes one such.
func (g *glue) deflate() {
	d, z := g.d, g.z
	tol := 8 * ulp * max(math.Abs(d[host.Iamax(d)]), math.Abs(z[host.Iamax(z)]))
	last := -1
	for _, i := range ascending(d) {
		if g.rho*math.Abs(z[i]) <= tol {
			g.gone = append(g.gone, i)
			continue
		}
		if last >= 0 {
			c, s, tau := rotation(z[i], z[last])
			s = -s
			if math.Abs((d[i]-d[last])*c*s) > tol {
				g.keep = append(g.keep, last)
			} else {
				z[i], z[last] = tau, 0
				g.rotate(c, s, last, i)
				g.gone = append(g.gone, last)
			}
		}
		last = i
	}
	if last >= 0 {
		g.keep = append(g.keep, last)
	}
}

// rotate makes vectors i and j c*i + s*j and c*j - s*i, and their values those that belong to them.
func (g *glue) rotate(c, s float64, i, j int) {
	rotate(c, s, g.q[i*g.n:][:g.n], g.q[j*g.n:][:g.n])
	g.upper[i], g.lower[i] = g.upper[i] || g.upper[j], g.lower[i] || g.lower[j]
	g.upper[j], g.lower[j] = g.upper[i], g.lower[i]
	di, dj, cc, ss := g.d[i], g.d[j], c*c, s*s
	g.d[i] = float64(di*cc) + float64(dj*ss)
	g.d[j] = float64(di*ss) + float64(dj*cc)
}

// anew is element i of the z of which the roots that were found are exact (Gu and Eisenstat).
func anew(i int, d, z, delta []float64) float64 {
	k := len(d)
	p := -delta[i*k+i]
	for j := range k {
		if j != i {
			p *= delta[j*k+i] / (d[i] - d[j])
		}
	}
	return math.Copysign(math.Sqrt(math.Abs(p)), z[i])
}

// multiply makes out the vectors of the roots, in rows of n, which has k*n elements. Those that
// take part are sorted by the half that they have elements in, so that products leave out the
// zeros.
func (g *glue) multiply(zh, delta, out []float64) error {
	n, h, k := g.n, g.h, len(g.keep)
	var perm []int
	var counts [3]int
	for kind := range counts {
		for i, o := range g.keep {
			if (kind < 2) == g.upper[o] && (kind > 0) == g.lower[o] {
				perm = append(perm, i)
				counts[kind]++
			}
		}
	}
	clear(out)
	if k == 0 {
		return nil
	}
	memory := takeRows(k * (k + n))
	defer memory.give()
	v, packed := memory.data[:k*k], memory.data[k*k:]
	each(k, func(j int) {
		row, x := v[j*k:][:k], delta[j*k:]
		for t, i := range perm {
			row[t] = zh[i] / x[i]
		}
		f := 1 / host.Nrm2(row)
		for t := range row {
			row[t] *= f
		}
		copy(packed[j*n:][:n], g.q[g.keep[perm[j]]*n:])
	})
	both, first := counts[0]+counts[1], counts[0]
	err := g.update(false, k, h, both, v, k, packed, n, out, n)
	if err == nil && first < k {
		err = g.update(false, k, n-h, k-first, v[first:], k, packed[first*n+h:], n, out[h:], n)
	}
	return err
}

// sort brings values and vectors into ascending order: equal ones as they are, those of roots
// first.
func (g *glue) sort(lambda, vectors []float64) rows {
	n, k := g.n, len(lambda)
	values := lambda
	for _, o := range g.gone {
		values = append(values, g.d[o])
	}
	zt, order := takeRows(n*n), ascending(values)
	each(n, func(i int) {
		o := order[i]
		g.d[i] = values[o]
		if row := zt.data[i*n:][:n]; o < k {
			copy(row, vectors[o*n:])
		} else {
			copy(row, g.q[g.gone[o-k]*n:])
		}
	})
	return zt
}

// rotate makes x and y c*x + s*y and c*y - s*x, for c >= 0, with s/(1+c) in the place of c: so
// small angles lose nothing.
func rotate(c, s float64, x, y []float64) {
	t := s / (1 + c)
	y = y[:len(x)]
	for i, u := range x {
		v := y[i]
		x[i] = math.FMA(s, math.FMA(-t, u, v), u)
		y[i] = math.FMA(-s, math.FMA(t, v, u), v)
	}
}

// rotation is c >= 0 and s with c*f + s*g = r and c*g - s*f = 0.
func rotation(f, g float64) (c, s, r float64) {
	if q := squares(f, g); isPlainRotation(f, g, q) {
		return plainRotation(f, g, q)
	}
	return rareRotation(f, g)
}

func squares(f, g float64) float64 { return math.FMA(f, f, float64(g*g)) }

// isPlainRotation tells whether nothing is lost in the sum q of squares.
func isPlainRotation(f, g, q float64) bool { return f != 0 && g != 0 && q > 0x1p-790 && q < 0x1p790 }

func plainRotation(f, g, q float64) (c, s, r float64) {
	sign, root := math.Copysign(1, f), math.Sqrt(q)
	return math.Abs(f) / root, float64(g*sign) / root, float64(root * sign)
}

// rareRotation is rotation where an element is 0, or squares may be lost.
func rareRotation(f, g float64) (c, s, r float64) {
	switch {
	case g == 0:
		return 1, 0, f
	case f == 0:
		return 0, 1, g
	}
	scale := 1.0 // a power of two, so that no square is lost
	if u := max(math.Abs(f), math.Abs(g)); u < 0x1p-400 {
		scale = 0x1p700
	} else if u > 0x1p400 {
		scale = 0x1p-700
	}
	f, g = f*scale, g*scale
	r = math.Copysign(math.Sqrt(math.FMA(f, f, float64(g*g))), f)
	return f / r, g / r, r / scale
}

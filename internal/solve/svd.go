package solve

import (
	"cmp"
	"math"
	"slices"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/parallel"
)

// SingularVectors is where [SVD] leaves vectors. With k the smaller dimension of A, of m by n, U is
// m by Cols, and VT is Rows by n; each is 0 or from k to the larger number.
type SingularVectors struct {
	U, VT      []float64
	Cols, LdU  int
	Rows, LdVT int
}

// SVD factors A = U*S*Vᵀ for A of m by n, which is overwritten: sv becomes the min(m, n) singular
// values, in descending order, of which none is negative. With NaN or infinities ok is false, and
// all is NaN; where the iteration does not end, the error is [ErrNotConverged]. docs/contract.md
// has the definition.
func SVD(s Solver[float64], m, n int, a []float64, lda int, sv []float64, v SingularVectors) (ok bool, err error) {
	if min(m, n) == 0 {
		unitColumns(m, 0, v.Cols, v.U, v.LdU)
		unitColumns(v.Rows, 0, n, v.VT, v.LdVT)
		return true, nil
	}
	if m == 1 && n == 1 && a[0]-a[0] == 0 {
		if sv[0] = math.Abs(a[0]); v.Cols > 0 {
			v.U[0] = 1
		}
		if v.Rows > 0 {
			v.VT[0] = math.Copysign(1, a[0])
		}
		return true, nil
	}
	exp, finite := rescale(m, n, a, lda)
	if !finite {
		fill(sv, math.NaN())
		fillMatrix(m, v.Cols, v.U, v.LdU)
		fillMatrix(v.Rows, n, v.VT, v.LdVT)
		return false, nil
	}
	switch {
	case isTall(m, n):
		err = svdTall(s, m, n, a, lda, sv, v)
	case isTall(n, m):
		err = svdFlat(s, m, n, a, lda, sv, v)
	case m < n:
		err = svdWide(s, m, n, a, lda, sv, v)
	default:
		err = svd(s, false, m, n, a, lda, sv, v)
	}
	scaleBack(exp, sv)
	return err == nil, err
}

// isTall tells whether a matrix of more than one column is first made a triangle: from 1.6 times as
// many rows as columns on, as in LAPACK.
func isTall(m, n int) bool { return n > 1 && m >= 8*n/5 }

// fillMatrix makes all elements NaN.
func fillMatrix(rows, cols int, x []float64, ld int) {
	for i := range rows {
		if cols > 0 {
			fill(x[i*ld:][:cols], math.NaN())
		}
	}
}

// svdWide is the transpose of svd of Aᵀ.
func svdWide(s Solver[float64], m, n int, a []float64, lda int, sv []float64, v SingularVectors) error {
	t := SingularVectors{
		U: make([]float64, n*v.Rows), Cols: v.Rows, LdU: v.Rows,
		VT: make([]float64, v.Cols*m), Rows: v.Cols, LdVT: m,
	}
	memory, at := host.Take[float64](m * n)
	defer memory.Give()
	host.Transpose(m, n, a, lda, at, m)
	if err := svd(s, true, n, m, at, m, sv, t); err != nil {
		return err
	}
	if v.Rows > 0 {
		host.Transpose(n, v.Rows, t.U, v.Rows, v.VT, v.LdVT)
	}
	if v.Cols > 0 {
		host.Transpose(v.Cols, m, t.VT, m, v.U, v.LdU)
	}
	return nil
}

// svdFlat is svd of L, with its Vᵀ times Q, for A = L*Q.
func svdFlat(s Solver[float64], m, n int, a []float64, lda int, sv []float64, v SingularVectors) error {
	tau, l := make([]float64, m), make([]float64, m*m)
	if err := s.LQ(m, n, a, lda, tau); err != nil {
		return err
	}
	for i := range m {
		copy(l[i*m:][:i+1], a[i*lda:])
	}
	inner := v
	if v.Rows > 0 {
		inner.Rows = m
		unitColumns(v.Rows, 0, n, v.VT, v.LdVT)
	}
	if err := svd(s, false, m, m, l, m, sv, inner); err != nil || v.Rows == 0 {
		return err
	}
	return s.MultiplyRows(false, false, v.Rows, n, m, a, lda, tau, v.VT, v.LdVT)
}

// svdTall is svd of R, with Q times its U, for A = Q*R.
func svdTall(s Solver[float64], m, n int, a []float64, lda int, sv []float64, v SingularVectors) error {
	tau, r := make([]float64, n), make([]float64, n*n)
	if err := s.QR(m, n, a, lda, tau); err != nil {
		return err
	}
	for i := range n {
		copy(r[i*n+i:][:n-i], a[i*lda+i:])
	}
	inner := v
	if v.Cols > 0 {
		inner.Cols = n
		unitColumns(m, 0, v.Cols, v.U, v.LdU)
	}
	if err := svd(s, false, n, n, r, n, sv, inner); err != nil || v.Cols == 0 {
		return err
	}
	return s.ApplyQ(false, m, v.Cols, n, a, lda, tau, v.U, v.LdU)
}

// svd is SVD for m >= n > 0. With wide A is the transpose of a matrix whose SVD is wanted, for
// which the lower bidiagonal of that is made an upper one, and signs go to its Vᵀ.
func svd(s Solver[float64], wide bool, m, n int, a []float64, lda int, sv []float64, v SingularVectors) error {
	memory, x := host.Take[float64](n * (n + 3))
	defer memory.Give()
	b := bidiagonal{
		Solver: s, m: m, n: n, lda: lda, a: a, d: sv, e: x[:n], tauQ: x[n : 2*n], tauP: x[2*n : 3*n],
		vectorsQ: v.Cols > 0,
	}
	if v.Rows > 0 {
		b.p = x[3*n:]
	}
	if err := b.reduce(); err != nil {
		return err
	}
	var left, right *tiles
	if v.Cols > 0 { // Uᵀ
		host.CopyMatrix(m, n, a, lda, v.U, v.LdU)
		if err := s.FormQ(m, v.Cols, n, v.U, v.LdU, b.tauQ); err != nil {
			return err
		}
		t := newTiles(n, m)
		left = &t
		defer left.Give()
		left.load(v.U, v.LdU)
	}
	if v.Rows > 0 { // Vᵀ
		unitColumns(n, 0, n, v.VT, v.LdVT)
		if n > 2 { // the last reflector, of one row, changes nothing
			if err := s.ApplyQ(false, n-1, n, n-2, b.p[n:], n, b.tauP, v.VT[v.LdVT:], v.LdVT); err != nil {
				return err
			}
		}
		t := newTiles(n, n)
		right = &t
		defer right.Give()
		right.load(v.VT, v.LdVT)
	}
	if wide {
		left, right = right, left
	}
	if err := b.iterate(wide, left, right); err != nil {
		return err
	}
	if wide {
		left, right = right, left
	}
	sortSingular(wide, b.d, left, right, v)
	return nil
}

// sortSingular brings values, and the rows of Uᵀ and Vᵀ, into descending order, and makes values
// positive, with the sign in Vᵀ, or with wide in U.
func sortSingular(wide bool, d []float64, left, right *tiles, v SingularVectors) {
	var few [host.FewRows]singularValue // no allocation for few rows
	order := few[:]
	if len(d) > len(few) {
		order = make([]singularValue, len(d))
	}
	order = order[:len(d)]
	for i, x := range d {
		order[i] = singularValue{math.Abs(x), i, math.Signbit(x)}
	}
	slices.SortStableFunc(order, func(x, y singularValue) int { return cmp.Compare(y.size, x.size) })
	for i, o := range order {
		d[i] = o.size
	}
	if left.small() && right.small() { // without closures, which are allocations
		for i := range left.count() {
			left.toColumns(wide, i, order, v.U, v.LdU)
		}
		for i := range right.count() {
			right.toRows(!wide, i, order, v.VT, v.LdVT)
		}
		return
	}
	shared := slices.Clone(order)
	left.each(func(t *tiles, i int) { t.toColumns(wide, i, shared, v.U, v.LdU) })
	right.each(func(t *tiles, i int) { t.toRows(!wide, i, shared, v.VT, v.LdVT) })
}

// A singularValue is the row that it comes from, and whether it was negative.
type singularValue struct {
	size     float64
	row      int
	negative bool
}

// toColumns brings the rows of a tile, in order, and with signed with their signs, to the columns
// of U.
func (t *tiles) toColumns(signed bool, tile int, order []singularValue, u []float64, ld int) {
	data := t.tile(tile)
	for r := range t.width(tile) {
		row := u[(tile*tileColumns+r)*ld:][:len(order)]
		for i, o := range order {
			if row[i] = data[o.row*tileColumns+r]; signed && o.negative {
				row[i] = -row[i]
			}
		}
	}
}

// toRows brings the rows of a tile, in the same way, to those of Vᵀ.
func (t *tiles) toRows(signed bool, tile int, order []singularValue, vt []float64, ld int) {
	data := t.tile(tile)
	for i, o := range order {
		row := vt[i*ld+tile*tileColumns:][:t.width(tile)]
		copy(row, data[o.row*tileColumns:])
		for c := range row {
			if signed && o.negative {
				row[c] = -row[c]
			}
		}
	}
}

var tileColumns = host.RotationColumns

// tiles are the columns of a matrix by tileColumns, each tile with its rows after each other, in
// memory to be given back.
type tiles struct {
	*host.Scratch
	rows, cols int
	data       []float64
}

func newTiles(rows, cols int) tiles {
	memory, data := host.Take[float64]((cols + tileColumns - 1) / tileColumns * tileColumns * rows)
	clear(data[cols/tileColumns*tileColumns*rows:]) // columns that are none
	return tiles{memory, rows, cols, data}
}

// load makes t the transpose of x.
func (t *tiles) load(x []float64, ld int) {
	if t.small() { // without a closure, which is an allocation
		for i := range t.count() {
			t.loadTile(i, x, ld)
		}
		return
	}
	t.each(func(t *tiles, i int) { t.loadTile(i, x, ld) })
}

func (t *tiles) loadTile(i int, x []float64, ld int) {
	host.Transpose(t.width(i), t.rows, x[i*tileColumns*ld:], ld, t.tile(i), tileColumns)
}

// each calls f for each tile, on all cores.
func (t *tiles) each(f func(t *tiles, i int)) {
	if t != nil {
		all := *t // so that t needs no heap
		parallel.Do(t.count(), func(i int) { f(&all, i) })
	}
}

// count is how many there are; none of nil.
func (t *tiles) count() int {
	if t == nil {
		return 0
	}
	return (t.cols + tileColumns - 1) / tileColumns
}

// small tells whether one core does the work; that of nil is none.
func (t *tiles) small() bool { return t == nil || t.rows*t.cols <= 64*64 }

func (t *tiles) width(i int) int { return min(tileColumns, t.cols-i*tileColumns) }

func (t *tiles) tile(i int) []float64 { return t.data[i*tileColumns*t.rows:][:tileColumns*t.rows] }

// A sweep is rotations of rows from start on, as [host.Rotate] takes them.
type sweep struct {
	start int
	up    bool
	st    []float64
}

// rotate applies sweeps; to nil it does nothing.
func (t *tiles) rotate(sweeps ...sweep) {
	switch {
	case len(sweeps) == 0:
	case t.small(): // without a closure, which is an allocation
		for i := range t.count() {
			rotateTile(t.tile(i), sweeps)
		}
	default:
		shared := slices.Clone(sweeps)
		t.each(func(t *tiles, i int) { rotateTile(t.tile(i), shared) })
	}
}

func rotateTile(data []float64, sweeps []sweep) {
	for _, s := range sweeps {
		host.Rotate(s.up, s.st, data[s.start*tileColumns:])
	}
}

// manyRotations is how many rotations are kept before they are applied, but to small matrices.
const manyRotations = 1 << 16

// iterate is the implicit QR method with zero shifts (J. Demmel and W. Kahan, "Accurate singular
// values of bidiagonal matrices", SIAM J. Sci. Stat. Comput. 11, 1990), as LAPACK's dbdsqr has it:
// d becomes the singular values, in no order and of any sign, and the rows of left and right are
// rotated. With lower e is below the diagonal at first.
func (b *bidiagonal) iterate(lower bool, left, right *tiles) error {
	n := b.n
	q := chase{d: b.d, e: b.e, record: left != nil || right != nil, chunk: 64 * n}
	some, most := 4*n, manyRotations // sweeps that there are as a rule, and rotations that wait
	if q.record {
		if left.small() && right.small() {
			some, most, q.chunk = 4, 0, 4*n
		}
		sweeps := make([]sweep, 2*some)
		q.left, q.right = sweeps[:0:some], sweeps[some:][:0]
		memory, x := host.Take[float64](q.chunk)
		defer memory.Give()
		q.memory = x
	}
	if lower {
		q.raise()
	}
	pending := 0
	flush := func() error {
		left.rotate(q.left...)
		right.rotate(q.right...)
		q.left, q.right, q.used, pending = q.left[:0], q.right[:0], 0, 0
		_, err := b.atOnce(0, 0, 0) // whether the work is to end
		return err
	}
	if q.nothing = q.negligible(); !isFinite(b.d) || !isFinite(b.e) {
		return ErrNotConverged
	}
	last := block{k: n}
	for m, steps := n-1, 0; m > 0; {
		next := q.block(m, last)
		switch next.k {
		case m:
			m--
			continue
		case m - 1:
			q.two(m - 1)
			continue
		}
		least, split := q.split(next)
		if split {
			continue
		}
		if steps++; steps > 60*n {
			return ErrNotConverged
		}
		last = next
		q.sweep(last, least)
		if pending += m - last.k; pending > most {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// negligible is what elements of e are nothing up to, next to the smallest singular value.
func (q *chase) negligible() float64 {
	mu := math.Abs(q.d[0])
	least := mu
	for i, v := range q.d[1:] {
		if least > 0 {
			mu = math.Abs(v) * (mu / (mu + math.Abs(q.e[i])))
			least = min(least, mu)
		}
	}
	return max(relative*least/math.Sqrt(float64(len(q.d))), 1e-300)
}

// relative is how far an element beside the diagonal may be below what is there, and count as
// nothing: it changes no singular value more than by this factor.
const relative = 100 * ulp

// A chase is an upper bidiagonal matrix and the rotations that it has had.
type chase struct {
	d, e        []float64
	nothing     float64 // up to which an element of e is 0
	record      bool
	left, right []sweep
	memory      []float64 // of their rotations
	used        int       // of it
	chunk       int       // of memory that is made at a time
}

// A block is rows k to m, which hang together, and its largest magnitude. A bulge is chased towards
// the end that was smaller when the block was met first, which is the first row with up.
type block struct {
	k, m int
	up   bool
	most float64
}

// path is the row that a chase begins with, and the step to the next; between row i and the next is
// e[i-lag].
func (b *block) path() (start, step, lag int) {
	if b.up {
		return b.m, -1, 1
	}
	return b.k, 1, 0
}

// block is the last block of rows up to m. It goes the way of the last one where it is part of
// that.
func (q *chase) block(m int, last block) block {
	b := block{m: m, up: last.up, most: math.Abs(q.d[m])}
	for b.k = m; b.k > 0; b.k-- {
		v := math.Abs(q.e[b.k-1])
		if v <= q.nothing {
			q.e[b.k-1] = 0
			break
		}
		b.most = max(b.most, v, math.Abs(q.d[b.k-1]))
	}
	if b.k > last.m || m < last.k {
		b.up = math.Abs(q.d[b.k]) < math.Abs(q.d[m])
	}
	return b
}

// split looks for an element of e that is next to nothing and makes it 0, or finds a bound for the
// smallest singular value.
func (q *chase) split(b block) (least float64, split bool) {
	i, step, lag := b.path()
	if end := b.k + b.m - i; math.Abs(q.e[end-step-lag]) <= relative*math.Abs(q.d[end]) {
		q.e[end-step-lag] = 0
		return 0, true
	}
	mu := math.Abs(q.d[i])
	least = mu
	for range b.m - b.k {
		v := math.Abs(q.e[i-lag])
		if v <= relative*mu {
			q.e[i-lag] = 0
			return 0, true
		}
		i += step
		mu = math.Abs(q.d[i]) * (mu / (mu + v))
		least = min(least, mu)
	}
	return least, false
}

// sweep is one step for a block, whose smallest singular value is not far below least.
func (q *chase) sweep(b block, least float64) {
	start, step, lag := b.path()
	end := b.k + b.m - start
	shift := 0.0
	if float64(len(q.d))*relative*(least/b.most) > ulp { // else a shift would lose what is small
		shift = smallerValue(q.d[end-step], q.e[end-step-lag], q.d[end])
		if v := shift / math.Abs(q.d[start]); v*v < ulp {
			shift = 0
		}
	}
	var first, second []float64 // rotations of rows of Vᵀ and Uᵀ, or with up of the others
	if q.record {
		first, second = q.take(2*(b.m-b.k)), q.take(2*(b.m-b.k))
	}
	if shift == 0 {
		first, second = q.zeroShift(b, first, second)
	} else {
		first, second = q.shifted(b, shift, first, second)
	}
	if !q.record {
		return
	}
	if b.up {
		first, second = second, first
	}
	q.right, q.left = append(q.right, sweep{b.k, b.up, first}), append(q.left, sweep{b.k, b.up, second})
}

// take is memory for n numbers, none of them used yet. What was there before stays with its sweeps.
func (q *chase) take(n int) []float64 {
	if q.used+n > len(q.memory) {
		q.memory, q.used = make([]float64, max(n, q.chunk)), 0
	}
	q.used += n
	return q.memory[q.used-n : q.used-n : q.used]
}

func (q *chase) note(st []float64, c, s float64) []float64 {
	if !q.record {
		return nil
	}
	return append(st, s, s/(1+c))
}

// zeroShift is the sweep that keeps small values to the last bits.
func (q *chase) zeroShift(b block, first, second []float64) (_, _ []float64) {
	d, e := q.d, q.e
	i, step, lag := b.path()
	cs, oldc, olds := 1.0, 1.0, 0.0
	for k := range b.m - b.k {
		var sn, r float64
		cs, sn, r = rotation(float64(d[i]*cs), e[i-lag])
		if k > 0 {
			e[i-step-lag] = float64(olds * r)
		}
		first = q.note(first, cs, sn)
		oldc, olds, d[i] = rotation(float64(oldc*r), float64(d[i+step]*sn))
		second = q.note(second, oldc, olds)
		i += step
	}
	h := float64(d[i] * cs)
	d[i], e[i-step-lag] = float64(h*oldc), float64(h*olds)
	return first, second
}

func (q *chase) shifted(b block, shift float64, first, second []float64) (_, _ []float64) {
	d, e := q.d, q.e
	i, step, lag := b.path()
	f, g := float64((math.Abs(d[i])-shift)*(math.Copysign(1, d[i])+shift/d[i])), e[i-lag]
	for k := range b.m - b.k {
		c, s, r := rotation(f, g)
		if k > 0 {
			e[i-step-lag] = r
		}
		at, next := &e[i-lag], &d[i+step]
		f = math.FMA(c, d[i], float64(s**at))
		*at = math.FMA(c, *at, -float64(s*d[i]))
		g = float64(s * *next)
		*next = float64(c * *next)
		first = q.note(first, c, s)
		c, s, d[i] = rotation(f, g)
		f = math.FMA(c, *at, float64(s**next))
		*next = math.FMA(c, *next, -float64(s**at))
		if i += step; k < b.m-b.k-1 {
			g = float64(s * e[i-lag])
			e[i-lag] = float64(c * e[i-lag])
		}
		second = q.note(second, c, s)
	}
	e[i-step-lag] = f
	return first, second
}

// raise makes a lower bidiagonal an upper one.
func (q *chase) raise() {
	var st []float64
	if q.record {
		st = q.take(2 * len(q.d))
	}
	for i := range len(q.d) - 1 {
		c, s, r := rotation(q.d[i], q.e[i])
		q.d[i], q.e[i], q.d[i+1] = r, float64(s*q.d[i+1]), float64(c*q.d[i+1])
		st = q.note(st, c, s)
	}
	q.left = append(q.left, sweep{0, false, st})
}

// two makes rows k and k+1 diagonal.
func (q *chase) two(k int) {
	v := twoValues(q.d[k], q.e[k], q.d[k+1])
	q.d[k], q.d[k+1], q.e[k] = v.large, v.small, 0
	if q.record {
		q.right, q.left = q.turn(q.right, k, v.cr, v.sr), q.turn(q.left, k, v.cl, v.sl)
	}
}

// turn appends a rotation of rows k and k+1.
func (q *chase) turn(to []sweep, k int, c, s float64) []sweep {
	for st := turn(q.take(4), c, s); len(st) > 0; st = st[2:] {
		to = append(to, sweep{k, false, st[:2]})
	}
	return to
}

// A diagonalized is the singular values of two rows, with their signs, and the rotations from the
// left and from the right that make them.
type diagonalized struct{ large, small, cl, sl, cr, sr float64 }

// twoValues is [f g; 0 h] made diagonal, to the last bits, as LAPACK's dlasv2 does it.
func twoValues(f, g, h float64) (v diagonalized) {
	swap := math.Abs(h) > math.Abs(f)
	if swap {
		f, h = h, f
	}
	if fa := math.Abs(f); fa < ulp*math.Abs(g) {
		v = diagonalized{large: g, small: fa / g * h, cl: 1, sl: h / g, cr: f / g, sr: 1}
		v.small = math.Copysign(v.small, math.Copysign(1, g)*f*h)
	} else {
		m, l := g/f, (fa-math.Abs(h))/fa
		t, mm := 2-l, float64(m*m)
		s, r := math.Sqrt(math.FMA(t, t, mm)), math.Sqrt(math.FMA(l, l, mm))
		a := (s + r) / 2
		if r+l > 0 {
			t = (m/(s+t) + m/(r+l)) * (1 + a)
		} else { // both are of one size, and the square of m is next to nothing
			t = math.Copysign(2, m)
		}
		l = math.Sqrt(math.FMA(t, t, 4))
		v = diagonalized{large: float64(f * a), small: h / a, cr: 2 / l, sr: t / l}
		v.cl, v.sl = math.FMA(v.sr, m, v.cr)/a, h/f*v.sr/a
	}
	if swap {
		v.cl, v.sl, v.cr, v.sr = v.sr, v.cr, v.sl, v.cl
	}
	return v
}

// smallerValue is the smaller singular value of [f g; 0 h].
func smallerValue(f, g, h float64) float64 {
	f, g, h = math.Abs(f), math.Abs(g), math.Abs(h)
	u, v := math.Float64bits(f), math.Float64bits(h) // whose order costs less
	lo, hi := math.Float64frombits(min(u, v)), math.Float64frombits(max(u, v))
	if lo == 0 {
		return 0
	}
	if g < hi {
		as, at, au := 1+lo/hi, (hi-lo)/hi, float64((g/hi)*(g/hi))
		return lo * (2 / (math.Sqrt(math.FMA(as, as, au)) + math.Sqrt(math.FMA(at, at, au))))
	}
	au := hi / g
	if au == 0 {
		return lo * hi / g
	}
	as, at := float64((1+lo/hi)*au), float64(((hi-lo)/hi)*au)
	c := 1 / (math.Sqrt(math.FMA(as, as, 1)) + math.Sqrt(math.FMA(at, at, 1)))
	return 2 * (lo * c * au)
}

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
// values, in descending order, of which none is negative. With NaN or infinities, or where the
// iteration does not end, ok is false, and all is NaN. docs/contract.md has the definition.
func SVD(s Solver[float64], m, n int, a []float64, lda int, sv []float64, v SingularVectors) (ok bool, err error) {
	if m < n {
		return svdWide(s, m, n, a, lda, sv, v)
	}
	if n == 0 {
		if v.Cols > 0 {
			unitColumns(m, 0, v.Cols, v.U, v.LdU)
		}
		return true, nil
	}
	if m == 1 && a[0]-a[0] == 0 {
		if sv[0] = math.Abs(a[0]); v.Cols > 0 {
			v.U[0] = 1
		}
		if v.Rows > 0 {
			v.VT[0] = math.Copysign(1, a[0])
		}
		return true, nil
	}
	exp, finite := rescale(m, n, a, lda)
	if finite {
		if 2*m >= 3*n && n > 1 {
			ok, err = svdTall(s, m, n, a, lda, sv, v)
		} else {
			ok, err = svd(s, m, n, a, lda, sv, v)
		}
	}
	if err != nil {
		return false, err
	}
	scaleBack(exp, sv)
	if !ok {
		fill(sv, math.NaN())
		fillMatrix(m, v.Cols, v.U, v.LdU)
		fillMatrix(v.Rows, n, v.VT, v.LdVT)
	}
	return ok, nil
}

// fillMatrix makes all elements NaN.
func fillMatrix(rows, cols int, x []float64, ld int) {
	for i := range rows {
		if cols > 0 {
			fill(x[i*ld:][:cols], math.NaN())
		}
	}
}

// svdWide is the transpose of SVD of Aᵀ.
func svdWide(s Solver[float64], m, n int, a []float64, lda int, sv []float64, v SingularVectors) (ok bool, err error) {
	t := SingularVectors{
		U: make([]float64, n*v.Rows), Cols: v.Rows, LdU: v.Rows,
		VT: make([]float64, v.Cols*m), Rows: v.Cols, LdVT: m,
	}
	memory, at := host.Take[float64](m * n)
	defer memory.Give()
	if m > 0 {
		host.Transpose(m, n, a, lda, at, m)
	}
	if ok, err = SVD(s, n, m, at, m, sv, t); err != nil {
		return false, err
	}
	if v.Rows > 0 {
		host.Transpose(n, v.Rows, t.U, v.Rows, v.VT, v.LdVT)
	}
	if v.Cols > 0 && m > 0 {
		host.Transpose(v.Cols, m, t.VT, m, v.U, v.LdU)
	}
	return ok, nil
}

// svdTall is svd of R, with Q times its U, for A = Q*R.
func svdTall(s Solver[float64], m, n int, a []float64, lda int, sv []float64, v SingularVectors) (ok bool, err error) {
	tau, r := make([]float64, n), make([]float64, n*n)
	if err := s.QR(m, n, a, lda, tau); err != nil {
		return false, err
	}
	for i := range n {
		copy(r[i*n+i:][:n-i], a[i*lda+i:])
	}
	inner := v
	if v.Cols > 0 {
		inner.Cols = n
		unitColumns(m, 0, v.Cols, v.U, v.LdU)
	}
	if ok, err = svd(s, n, n, r, n, sv, inner); !ok || v.Cols == 0 {
		return ok, err
	}
	return true, s.ApplyQ(false, m, v.Cols, n, a, lda, tau, v.U, v.LdU)
}

// svd is SVD for m >= n > 0.
func svd(s Solver[float64], m, n int, a []float64, lda int, sv []float64, v SingularVectors) (ok bool, err error) {
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
		return false, err
	}
	var left, right *tiles
	if v.Cols > 0 { // Uᵀ
		host.CopyMatrix(m, n, a, lda, v.U, v.LdU)
		if err := s.FormQ(m, v.Cols, n, v.U, v.LdU, b.tauQ); err != nil {
			return false, err
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
				return false, err
			}
		}
		t := newTiles(n, n)
		right = &t
		defer right.Give()
		right.load(v.VT, v.LdVT)
	}
	exp, _ := rescaleVectors(b.d, b.e)
	if ok, err = b.iterate(left, right); err != nil {
		return false, err
	}
	scaleBack(exp, b.d)
	sortSingular(b.d, left, right, v)
	return ok, nil
}

// sortSingular brings values, and the rows of Uᵀ and Vᵀ, into descending order, and makes values
// positive, with the sign in Vᵀ.
func sortSingular(d []float64, left, right *tiles, v SingularVectors) {
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
			left.toColumns(i, order, v.U, v.LdU)
		}
		for i := range right.count() {
			right.toRows(i, order, v.VT, v.LdVT)
		}
		return
	}
	shared := slices.Clone(order)
	left.each(func(t *tiles, i int) { t.toColumns(i, shared, v.U, v.LdU) })
	right.each(func(t *tiles, i int) { t.toRows(i, shared, v.VT, v.LdVT) })
}

// A singularValue is the row that it comes from, and whether it was negative.
type singularValue struct {
	size     float64
	row      int
	negative bool
}

// toColumns brings the rows of a tile, in order, to the columns of U.
func (t *tiles) toColumns(tile int, order []singularValue, u []float64, ld int) {
	data := t.tile(tile)
	for r := range t.width(tile) {
		row := u[(tile*tileColumns+r)*ld:][:len(order)]
		for i, o := range order {
			row[i] = data[o.row*tileColumns+r]
		}
	}
}

// toRows brings the rows of a tile, in order, to those of Vᵀ.
func (t *tiles) toRows(tile int, order []singularValue, vt []float64, ld int) {
	data := t.tile(tile)
	for i, o := range order {
		row := vt[i*ld+tile*tileColumns:][:t.width(tile)]
		copy(row, data[o.row*tileColumns:])
		for c := range row {
			if o.negative {
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

// A sweep is rotations of rows start, start+1 and on, as [host.Rotate] takes them.
type sweep struct {
	start int
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
		host.Rotate(s.st, data[s.start*tileColumns:])
	}
}

// manyRotations is how many rotations are kept before they are applied, but to small matrices.
const manyRotations = 1 << 16

// iterate is the implicit QR method with zero shifts (J. Demmel and W. Kahan, "Accurate singular
// values of bidiagonal matrices", SIAM J. Sci. Stat. Comput. 11, 1990): d becomes the singular
// values, in no order and of any sign, and the rows of left and right are rotated.
func (b *bidiagonal) iterate(left, right *tiles) (ok bool, err error) {
	n, d, e := b.n, b.d, b.e
	q := chase{d: d, e: e, record: left != nil || right != nil, chunk: 64 * n}
	some, most := 4*n, manyRotations // sweeps that there are as a rule, and rotations that wait
	if q.record {
		if left.small() && right.small() {
			some, most, q.chunk = 1, 0, 4*n
		}
		sweeps := make([]sweep, 2*some)
		q.left, q.right = sweeps[:0:some], sweeps[some:][:0]
		memory, x := host.Take[float64](q.chunk)
		defer memory.Give()
		q.memory = x
	}
	pending := 0
	flush := func() error {
		left.rotate(q.left...)
		right.rotate(q.right...)
		q.left, q.right, q.used, pending = q.left[:0], q.right[:0], 0, 0
		_, err := b.atOnce(0, 0, 0) // whether the work is to end
		return err
	}
	m := n - 1
	for steps, shifted := 0, true; m > 0; {
		k := m - 1 // the last block that hangs together
		for ; k >= 0; k-- {
			if v := math.Abs(e[k]); v <= ulp*(math.Abs(d[k])+math.Abs(d[k+1])) || v < 1e-300 {
				e[k] = 0
				break
			}
		}
		if k++; k == m {
			m--
			continue
		}
		if steps++; steps > 60*n {
			return false, nil
		}
		last, off := d[m], e[m-1]
		q.sweep(k, m, shifted)
		shifted = d[m] != last || e[m-1] != off // else the shift has vanished on the way
		if pending += m - k; pending > most {
			if err := flush(); err != nil {
				return false, err
			}
		}
	}
	return true, flush()
}

// A chase is an upper bidiagonal matrix and the rotations that it has had.
type chase struct {
	d, e        []float64
	record      bool
	left, right []sweep
	memory      []float64 // of their rotations
	used        int       // of it
	chunk       int       // of memory that is made at a time
}

// sweep is one step for rows k to m.
func (q *chase) sweep(k, m int, shifted bool) {
	shift := smallerValue(q.d[m-1], q.e[m-1], q.d[m])
	if v := math.Abs(q.d[k]); !shifted || v == 0 || (shift/v)*(shift/v) < 2*ulp {
		shift = 0
	}
	var a, b []float64
	if q.record {
		a, b = q.take(2*(m-k)), q.take(2*(m-k))
	}
	if shift == 0 {
		a, b = q.zeroShift(k, m, a, b)
	} else {
		a, b = q.shifted(k, m, shift, a, b)
	}
	if q.record {
		q.left, q.right = append(q.left, sweep{k, a}), append(q.right, sweep{k, b})
	}
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
func (q *chase) zeroShift(k, m int, a, b []float64) (left, right []float64) {
	d, e := q.d, q.e
	cs, oldc, olds := 1.0, 1.0, 0.0
	for i := k; i < m; i++ {
		var sn, r float64
		cs, sn, r = rotation(float64(d[i]*cs), e[i])
		if i > k {
			e[i-1] = float64(olds * r)
		}
		b = q.note(b, cs, sn)
		oldc, olds, d[i] = rotation(float64(oldc*r), float64(d[i+1]*sn))
		a = q.note(a, oldc, olds)
	}
	h := float64(d[m] * cs)
	d[m], e[m-1] = float64(h*oldc), float64(h*olds)
	return a, b
}

func (q *chase) shifted(k, m int, shift float64, a, b []float64) (left, right []float64) {
	d, e := q.d, q.e
	f, g := float64((math.Abs(d[k])-shift)*(math.Copysign(1, d[k])+shift/d[k])), e[k]
	for i := k; i < m; i++ {
		c, s, r := rotation(f, g)
		if i > k {
			e[i-1] = r
		}
		f = math.FMA(c, d[i], float64(s*e[i]))
		e[i] = math.FMA(c, e[i], -float64(s*d[i]))
		g = float64(s * d[i+1])
		d[i+1] = float64(c * d[i+1])
		b = q.note(b, c, s)
		c, s, d[i] = rotation(f, g)
		f = math.FMA(c, e[i], float64(s*d[i+1]))
		d[i+1] = math.FMA(c, d[i+1], -float64(s*e[i]))
		if i < m-1 {
			g = float64(s * e[i+1])
			e[i+1] = float64(c * e[i+1])
		}
		a = q.note(a, c, s)
	}
	e[m-1] = f
	return a, b
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

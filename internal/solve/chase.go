package solve

import (
	"cmp"
	"math"
	"slices"

	"github.com/tandem-gpu/tandem/internal/host"
)

// singularValues makes d the singular values of the bidiagonal (d, e), those of each part in
// descending order, by the iteration of [chase]. An error of ask ends it.
func singularValues(ask func() error, lower bool, d, e []float64, parts []part) error {
	return solveParts(parts, d, e, func(_ int, d, e []float64) error {
		q := chase{d: d, e: e, ask: ask}
		if err := q.iterate(lower); err != nil {
			return err
		}
		for i, v := range d {
			d[i] = math.Abs(v)
		}
		sortDescending(d)
		return nil
	})
}

func sortDescending(x []float64) {
	slices.SortFunc(x, func(x, y float64) int { return cmp.Compare(y, x) })
}

// singularLeaf is the singular values with vectors, of at most leafRows rows: n in ut, and in vt
// cols, which is n, or n+1 where the last of e stands beside the last row. The sign of a value
// below 0 goes to its row of vt.
func singularLeaf(lower bool, d, e []float64, cols int) (ut, vt rows, err error) {
	n := len(d)
	memory, x := host.Take[float64](tileMemory(n) + tileMemory(cols) + 4*n)
	defer memory.Give()
	q := chase{d: d, e: e, left: unitTiles(n, x[4*n:]), right: unitTiles(cols, x[4*n+tileMemory(n):])}
	q.first, q.second = x[:0:2*n], x[2*n:][:0:2*n]
	if cols > n {
		q.square()
	}
	if err := q.iterate(lower); err != nil {
		return rows{}, rows{}, err
	}
	type value struct {
		size     float64
		row      int
		negative bool
	}
	var order [leafRows]value
	for i, v := range d {
		order[i] = value{math.Abs(v), i, math.Signbit(v)}
	}
	slices.SortStableFunc(order[:n], func(x, y value) int { return cmp.Compare(y.size, x.size) })
	ut, vt = takeRows(n*n), takeRows(cols*cols)
	for i, v := range order[:n] {
		d[i] = v.size
		q.left.row(v.row, ut.data[i*n:])
		right := vt.data[i*cols:][:cols]
		q.right.row(v.row, right)
		for k := 0; k < cols && v.negative; k++ {
			right[k] = -right[k]
		}
	}
	if cols > n {
		q.right.row(n, vt.data[n*cols:])
	}
	return ut, vt, nil
}

// A chase is an upper bidiagonal matrix and, where anybody wants them, the rows of Uᵀ and Vᵀ that
// its rotations make of I.
type chase struct {
	d, e          []float64
	nothing       float64 // up to which an element of e is 0
	left, right   tiles
	first, second []float64    // empty, for the rotations of a sweep
	ask           func() error // whether to go on, where there are many rotations
}

// square makes the last element of e, beside the last row, 0 by rotations of columns.
func (q *chase) square() {
	n := len(q.d)
	for i, f := n-1, q.e[n-1]; i >= 0 && f != 0; i-- {
		var c, s float64
		c, s, q.d[i] = rotation(q.d[i], f)
		for t := range q.right.count() {
			tile := q.right.tile(t)
			rotate(c, s, tile[i*tileColumns:][:tileColumns], tile[n*tileColumns:][:tileColumns])
		}
		if i > 0 {
			f, q.e[i-1] = -float64(s*q.e[i-1]), float64(c*q.e[i-1])
		}
	}
	q.e[n-1] = 0
}

// manyRotations is how many rotations there are before ask is asked.
const manyRotations = 1 << 16

// iterate is the implicit QR method with zero shifts (J. Demmel and W. Kahan, "Accurate singular
// values of bidiagonal matrices", SIAM J. Sci. Stat. Comput. 11, 1990), as LAPACK's dbdsqr has it:
// d becomes the singular values, in no order and of any sign. With lower e is below the diagonal at
// first.
func (q *chase) iterate(lower bool) error {
	n := len(q.d)
	if lower {
		q.raise()
	}
	if q.nothing = q.negligible(); !isFinite(q.d) || !isFinite(q.e) {
		return ErrNotConverged
	}
	last := block{k: n}
	rotations := 0
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
		if rotations += m - last.k; rotations > manyRotations && q.ask != nil {
			rotations = 0
			if err := q.ask(); err != nil {
				return err
			}
		}
	}
	return nil
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
	if shift == 0 {
		first, second = q.zeroShift(b)
	} else {
		first, second = q.shifted(b, shift)
	}
	if b.up {
		first, second = second, first
	}
	q.right.rotate(b.up, b.k, first)
	q.left.rotate(b.up, b.k, second)
}

// note appends a rotation where there is memory for it.
func note(st []float64, c, s float64) []float64 {
	if cap(st) == 0 {
		return st
	}
	return append(st, s, s/(1+c))
}

// zeroShift is the sweep that keeps small values to the last bits.
func (q *chase) zeroShift(b block) (first, second []float64) {
	first, second = q.first, q.second
	d, e := q.d, q.e
	i, step, lag := b.path()
	cs, oldc, olds := 1.0, 1.0, 0.0
	for k := range b.m - b.k {
		var sn, r float64
		cs, sn, r = rotation(float64(d[i]*cs), e[i-lag])
		if k > 0 {
			e[i-step-lag] = float64(olds * r)
		}
		first = note(first, cs, sn)
		oldc, olds, d[i] = rotation(float64(oldc*r), float64(d[i+step]*sn))
		second = note(second, oldc, olds)
		i += step
	}
	h := float64(d[i] * cs)
	d[i], e[i-step-lag] = float64(h*oldc), float64(h*olds)
	return first, second
}

func (q *chase) shifted(b block, shift float64) (first, second []float64) {
	first, second = q.first, q.second
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
		first = note(first, c, s)
		c, s, d[i] = rotation(f, g)
		f = math.FMA(c, *at, float64(s**next))
		*next = math.FMA(c, *next, -float64(s**at))
		if i += step; k < b.m-b.k-1 {
			g = float64(s * e[i-lag])
			e[i-lag] = float64(c * e[i-lag])
		}
		second = note(second, c, s)
	}
	e[i-step-lag] = f
	return first, second
}

// raise makes a lower bidiagonal an upper one.
func (q *chase) raise() {
	st := q.first
	for i := range len(q.d) - 1 {
		c, s, r := rotation(q.d[i], q.e[i])
		q.d[i], q.e[i], q.d[i+1] = r, float64(s*q.d[i+1]), float64(c*q.d[i+1])
		st = note(st, c, s)
	}
	q.left.rotate(false, 0, st)
}

// two makes rows k and k+1 diagonal.
func (q *chase) two(k int) {
	v := twoValues(q.d[k], q.e[k], q.d[k+1])
	q.d[k], q.d[k+1], q.e[k] = v.large, v.small, 0
	q.right.turn(k, v.cr, v.sr)
	q.left.turn(k, v.cl, v.sl)
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

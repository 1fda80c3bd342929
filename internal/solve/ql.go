package solve

import (
	"cmp"
	"math"
	"slices"

	"github.com/tandem-gpu/tandem/internal/host"
)

// qlSteps bounds the steps, in each row. Three are needed, but one of the first eigenvalues may
// take as many as there are rows.
const qlSteps = 30

// ql is the implicit QL method for the symmetric tridiagonal (d, e), as LAPACK's dsteqr has it: d
// becomes the eigenvalues in ascending order, and zt, if it is not nil, has the eigenvectors of at
// most leafRows rows in its rows. e is overwritten, and has as many elements as d, of which the
// last is not read. x is working memory for eigenvectors.
func ql(d, e, zt, x []float64) error {
	n := len(d)
	q := implicit{d: d, e: e}
	if zt != nil {
		q.z, q.st = unitTiles(n, x[2*n:]), x[:2*n]
	}
	for first, last := 0, 0; first < n; first = last + 1 {
		for last = first; last < n-1 && !isSplit(math.Abs(e[last]), math.Abs(d[last]), math.Abs(d[last+1])); {
			last++
		}
		l, end := first, last
		if math.Abs(d[last]) < math.Abs(d[first]) { // from the smaller end on
			l, end = last, first
		}
		if !q.block(l, end) {
			return ErrNotConverged
		}
	}
	if !isFinite(d) {
		return ErrNotConverged
	}
	if zt == nil {
		slices.SortStableFunc(d, cmp.Compare[float64])
		return nil
	}
	var order [leafRows]int
	for i := range n { // by insertion: equal ones stay as they are
		order[i] = i
		for k := i; k > 0 && cmp.Less(d[k], d[k-1]); k-- {
			d[k], d[k-1], order[k], order[k-1] = d[k-1], d[k], order[k-1], order[k]
		}
	}
	for i, o := range order[:n] {
		q.z.row(o, zt[i*n:][:n])
	}
	return nil
}

// leafMemory is the elements of memory for the eigenvectors of n rows, and for qlMemory.
func leafMemory(n int) int { return n*n + qlMemory(n) }

// qlMemory is the elements of working memory for n rows.
func qlMemory(n int) int { return 2*n + tileMemory(n) }

// isSplit tells whether v, between x and y on the diagonal, is next to nothing.
func isSplit(v, x, y float64) bool {
	return v <= ulp*math.Sqrt(x)*math.Sqrt(y) || v < 1e-300
}

// An implicit is a symmetric tridiagonal matrix, the eigenvectors so far, and memory for rotations,
// which is empty where nobody wants vectors.
type implicit struct {
	d, e  []float64
	z     tiles
	st    []float64
	steps int
	rough bool // what does not settle by itself is nothing where it is beside the largest number
}

// block solves rows l to end, which hang together, from l on, upwards where that is below. It tells
// whether that ended.
func (q *implicit) block(l, end int) bool {
	d, e, step, lag := q.d, q.e, 1, 0 // e[i-lag] is between row i and the next
	if end < l {
		step, lag = -1, 1
	}
	nothing, least := 0.0, 1e-300
	for {
		m := l
		for x := math.Abs(d[l]); m != end; m += step {
			v, y := math.Abs(e[m-lag]), math.Abs(d[m+step])
			large := v > 2*ulp*x && v > 2*ulp*y && v > least // more than the roots, which are at most the larger
			if !large && (!(v > nothing) || isSplit(v, x, y)) {
				e[m-lag] = 0
				break
			}
			x = y
		}
		switch m {
		default:
			if q.steps++; q.steps > qlSteps*len(d) {
				if q.rough {
					return false
				}
				q.steps, q.rough = 0, true
			}
			first, off, far := d[l], e[l-lag], e[m-step-lag]
			q.sweep(l, m, step, lag)
			// or the step has vanished among very small numbers, and not on its way from large ones
			if q.rough || d[l] == first && e[l-lag] == off && e[m-step-lag] == far {
				lo, hi := min(l, m), max(l, m)
				nothing = ulp * max(math.Abs(d[lo+host.Iamax(d[lo:hi+1])]), math.Abs(e[lo+host.Iamax(e[lo:hi])]))
				least = max(least, nothing)
			}
			continue
		case l + step:
			q.two(min(l, m))
		case l:
		}
		if m == end {
			return true
		}
		l, nothing, least = m+step, 0, 1e-300
	}
}

// two makes rows k and k+1 diagonal, as LAPACK's dlaev2 does it.
func (q *implicit) two(k int) {
	a, b, c := q.d[k], q.e[k], q.d[k+1]
	sum, diff, off := a+c, a-c, math.Abs(2*b)
	large, small := a, c
	if math.Abs(a) <= math.Abs(c) {
		large, small = c, a
	}
	root := math.Sqrt(math.FMA(diff, diff, float64(off*off)))
	if !isPlainRotation(diff, off, float64(root*root)) {
		_, _, root = rareRotation(math.Abs(diff), off)
	}
	r1, r2 := root/2, -root/2
	if sum != 0 {
		r1 = (sum + math.Copysign(root, sum)) / 2
		r2 = float64(large/r1*small) - float64(b/r1*b)
	}
	q.d[k], q.d[k+1], q.e[k] = r1, r2, 0
	if len(q.st) == 0 {
		return
	}
	// the vector of r1, or of r2 where signs differ
	var cs, sn float64
	far := diff + root
	if diff < 0 {
		far = diff - root
	}
	if math.Abs(far) > off {
		t := -2 * b / far
		sn = 1 / math.Sqrt(math.FMA(t, t, 1))
		cs = float64(t * sn)
	} else {
		t := -far / (2 * b)
		cs = 1 / math.Sqrt(math.FMA(t, t, 1))
		sn = float64(t * cs)
	}
	if (sum < 0) == (diff < 0) {
		cs, sn = -sn, cs
	}
	q.z.turn(k, cs, sn)
}

// sweep is one step for rows l to m, which hang together.
func (q *implicit) sweep(l, m, step, lag int) {
	d, e, st := q.d, q.e, q.st[:0]
	g := (d[l+step] - d[l]) / (2 * e[l-lag])
	sq := squares(g, 1)
	r := math.Sqrt(sq) // of rotation, without its divisions
	if !isPlainRotation(g, 1, sq) {
		_, _, r = rareRotation(math.Abs(g), 1)
	}
	g = d[m] - d[l] + float64(e[l-lag]*math.Copysign(1, g))/(math.Abs(g)+r) // signs in the time of the root
	s, c, p := 1.0, 1.0, 0.0
	for i := m - step; ; i -= step {
		f, b := float64(s*e[i-lag]), float64(c*e[i-lag])
		if sq := squares(g, f); isPlainRotation(g, f, sq) { // without a call, as all waits for it
			c, s, r = plainRotation(g, f, sq)
		} else {
			c, s, r = rareRotation(g, f)
		}
		if i != m-step {
			e[i+step-lag] = r
		}
		g = d[i+step] - p
		r = float64((d[i]-g)*s) + float64(c*(2*b))
		p = float64(s * r)
		d[i+step] = g + p
		g = float64(c*r) - b
		if cap(st) > 0 {
			st = append(st, s, s/(1+c))
		}
		if i == l {
			break
		}
	}
	d[l] -= p
	e[l-lag] = g
	q.z.rotate(step > 0, min(l, m), st)
}

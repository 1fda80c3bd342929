package array

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// vector is d elements: few different ones, so that distances are equal, or special ones.
func vector[T Single | int8](rng *rand.Rand, d int) []T {
	x := make([]T, d)
	scale := []float32{1, 1, 1, 0x1p-70, 0x1p12, 0, 0x1p63}[rng.IntN(7)]
	for i := range x {
		v := scale * float32(rng.IntN(5)-2)
		if rng.IntN(60) == 0 {
			v = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0x1p-149}[rng.IntN(4)]
		}
		switch p := any(&x[i]).(type) {
		case *float32:
			*p = v
		case *Float16:
			*p = element.ToFloat16(v)
		case *BFloat16:
			*p = element.ToBFloat16(v)
		case *int8:
			*p = int8(rng.Uint32()) >> rng.IntN(8)
		}
	}
	return x
}

// chain is the product of two vectors as the contract has it.
func chain[D float32 | int32, T Single | int8](x, y []T) D {
	var sum float32
	var whole int32
	for k := range x {
		switch u := any(x[k]).(type) {
		case int8:
			whole += int32(u) * int32(y[k])
		case float32:
			sum = gpu.FMA(u, any(y[k]).(float32), sum)
		case Float16:
			sum = gpu.FMA(u.Float32(), any(y[k]).(Float16).Float32(), sum)
		case BFloat16:
			sum = gpu.FMA(u.Float32(), any(y[k]).(BFloat16).Float32(), sum)
		}
	}
	if any(*new(T)) == any(int8(0)) {
		return D(whole)
	}
	return D(sum)
}

func isInf(x float32) bool { return math.IsInf(float64(x), 1) }

// distanceOf is the distance of two vectors as the contract has it.
func distanceOf[D float32 | int32, T Single | int8](m Metric, x, y []T) D {
	xy, xx, yy := chain[D](x, y), chain[D](x, x), chain[D](y, y)
	switch {
	case m == InnerProduct:
		return 0 - xy
	case m == SquaredEuclidean && isInf(float32(xx+yy)):
		return xx + yy
	case m == SquaredEuclidean:
		return max(gpu.FMA(-2, xy, xx+yy), 0)
	case math.IsNaN(float64(xx+yy)) || isInf(float32(xx)) || isInf(float32(yy)):
		return xx + yy
	}
	r, s := D(0), D(0)
	if xx > 0 {
		r = 1 / D(math.Sqrt(float64(xx)))
	}
	if yy > 0 {
		s = 1 / D(math.Sqrt(float64(yy)))
	}
	return 1 - min(max(D(xy*r)*s, -1), 1)
}

// nearestOf is the numbers and distances of the k points that are nearest to q.
func nearestOf[D float32 | int32, T Single | int8](m Metric, q []T, points [][]T, k int) (index []int32, dist []D) {
	all := make([]D, len(points))
	for j, p := range points {
		all[j] = distanceOf[D](m, q, p)
		index = append(index, int32(j))
	}
	slices.SortStableFunc(index, func(i, j int32) int {
		x, y := all[i], all[j]
		if x != x || y != y {
			return cmp.Compare(bool2int(x != x), bool2int(y != y))
		}
		return cmp.Compare(x, y)
	})
	for _, j := range index[:k] {
		dist = append(dist, all[j])
	}
	return index[:k], dist
}

func TestNearest(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		for _, m := range []Metric{SquaredEuclidean, InnerProduct, Cosine} {
			testNearest[float32, float32](t, s, m)
			testNearest[float32, Float16](t, s, m)
			testNearest[float32, BFloat16](t, s, m)
			testNearest[float32, int8](t, s, m)
			if m != Cosine {
				testNearest[int32, int8](t, s, m)
			}
		}
	})
}

func testNearest[D float32 | int32, T Single | int8](t *testing.T, s *linalg.Session, m Metric) {
	rng := rand.New(rand.NewPCG(10, uint64(m)))
	// queries, points, columns, k
	shapes := [][4]int{{3, 300, 9, 5}, {2, 40, 3, 40}, {1, 33, 0, 2}, {2, 5, 4, 0}, {0, 5, 4, 2}, {2, 0, 3, 0}}
	if s.Info().Host {
		shapes = append(shapes, [4]int{2, 5000, 8, 300}, [4]int{1030, 20, 5, 3}) // more than a block
	}
	for n, shape := range shapes {
		rows, count, d, k := shape[0], shape[1], shape[2], shape[3]
		var x, q []T
		var points, queries [][]T
		for i := range rows + count {
			v := vector[T](rng, d)
			if i < rows {
				q, queries = append(q, v...), append(queries, v)
				continue
			}
			if rows > 0 && i%9 == 0 {
				v = queries[rng.IntN(rows)]
			}
			x, points = append(x, v...), append(points, v)
		}
		var index []int32
		var dist []D
		for _, v := range queries {
			i, d := nearestOf[D](m, v, points, k)
			index, dist = append(index, i...), append(dist, d...)
		}
		strided := n%2 == 0
		p, err := NewPoints[D](upload(t, s, count, d, strided, x), m)
		try(t, err)
		c, ic := newTarget(t, s, rows, k, strided, D(7)), newTarget[int32](t, s, rows, k, !strided, 77)
		try(t, p.Nearest(ic.Array, c.Array, upload(t, s, rows, d, strided, q)))
		what := fmt.Sprintf("%v of %T, %v", m, x, shape)
		ic.check(t, what, index)
		c.check(t, what+", distances", dist)
		try(t, p.Free())
	}
}

// Points in two parts, and queries one by one, have the nearest of the whole.
func TestNearestOfParts(t *testing.T) {
	s := openCPU(t)
	const count, cut, rows, d, k = 70, 31, 4, 6, 20
	rng := rand.New(rand.NewPCG(3, 1))
	var x, q []float32
	for range count {
		x = append(x, vector[float32](rng, d)...)
	}
	for range rows {
		q = append(q, vector[float32](rng, d)...)
	}
	a, queries := upload(t, s, count, d, false, x), upload(t, s, rows, d, false, q)
	find := func(from, to, row, end int) (linalg.Matrix[int32], linalg.Matrix[float32]) {
		p, err := NewPoints[float32](a.Slice(from, to, 0, d), SquaredEuclidean)
		try(t, err)
		index, dist := newTarget[int32](t, s, end-row, k, false, 7), newTarget[float32](t, s, end-row, k, false, 7)
		try(t, p.Nearest(index.Array, dist.Array, queries.Slice(row, end, 0, d)))
		i, err := index.Download()
		try(t, err)
		v, err := dist.Download()
		try(t, err)
		return i, v
	}
	whole, distances := find(0, count, 0, rows)
	for i := range rows {
		low, near := find(0, cut, i, i+1)
		high, far := find(cut, count, i, i+1)
		for j := range k {
			at, v := low.Data[0], near.Data[0]
			if w := far.Data[0]; w < v || v != v && w == w {
				at, v = high.Data[0]+cut, w
				high.Data, far.Data = high.Data[1:], far.Data[1:]
			} else {
				low.Data, near.Data = low.Data[1:], near.Data[1:]
			}
			if at != whole.At(i, j) || bitsOf(v) != bitsOf(distances.At(i, j)) {
				t.Fatalf("query %d: %d at %v, and of the whole %d at %v", i, at, v, whole.At(i, j), distances.At(i, j))
			}
		}
	}
}

// Bytes at the ends of their range, of the longest rows, have exact distances.
func TestNearestOfLongRows(t *testing.T) {
	s := openCPU(t)
	const d = 1 << 15
	x := make([]int8, 2*d)
	for i := range d {
		x[i], x[d+i] = -128, 127
	}
	a := upload(t, s, 2, d, false, x)
	p, err := NewPoints[int32](a, SquaredEuclidean)
	try(t, err)
	index, dist := newTarget[int32](t, s, 2, 2, false, 7), newTarget[int32](t, s, 2, 2, false, 7)
	try(t, p.Nearest(index.Array, dist.Array, a))
	index.check(t, "long rows", []int32{0, 1, 1, 0})
	dist.check(t, "long rows", []int32{0, 255 * 255 * d, 0, 255 * 255 * d})
}

// What does not fit is named, and nothing is written.
func TestNearestRefuses(t *testing.T) {
	s, other := openCPU(t), openCPU(t)
	a, bytes := upload(t, s, 4, 3, false, make([]float32, 12)), upload(t, s, 1, 1<<15+1, false, make([]int8, 1<<15+1))
	newPoints := func(a *Array[float32], m Metric) error { _, err := NewPoints[float32](a, m); return err }
	exact := func(m Metric) error { _, err := NewPoints[int32](bytes, m); return err }
	_, whole := NewPoints[int32](a, InnerProduct)
	p, err := NewPoints[float32](a, SquaredEuclidean)
	try(t, err)
	q := upload(t, s, 2, 3, false, make([]float32, 6))
	far, wide := upload(t, other, 2, 3, false, make([]float32, 6)), upload(t, s, 2, 4, false, make([]float32, 8))
	index, dist := newTarget[int32](t, s, 2, 2, false, 7), newTarget[float32](t, s, 2, 2, false, 7)
	many := newTarget[int32](t, s, 2, 5, false, 7)
	for _, test := range []struct {
		err, want error
		text      string
	}{
		{newPoints(nil, Cosine), backend.ErrArgument, "NewPoints: a is nil"},
		{newPoints(a, 3), backend.ErrArgument, "no Metric(3)"},
		{whole, backend.ErrArgument, "of float32 are float32, not int32"},
		{exact(Cosine), backend.ErrArgument, "of Cosine are float32"},
		{exact(InnerProduct), linalg.ErrShape, "up to 32768 columns"},
		{p.Nearest(nil, dist.Array, q), backend.ErrArgument, "index is nil"},
		{new(Points[float32, float32]).Nearest(index.Array, dist.Array, q), backend.ErrArgument, "the points are nil"},
		{p.Nearest(index.Array, nil, q), backend.ErrArgument, "dist is nil"},
		{p.Nearest(index.Array, dist.Array, nil), backend.ErrArgument, "queries is nil"},
		{p.Nearest(index.Array, dist.Array, far), backend.ErrArgument, "queries belongs to another session"},
		{p.Nearest(index.Array, dist.Array, wide), linalg.ErrShape, "points have 3 columns"},
		{p.Nearest(many.Array, dist.Array, q), linalg.ErrShape, "there are 4 points"},
		{p.Nearest(index.Array, dist.Slice(0, 1, 0, 2), q), linalg.ErrShape, "dist is 1x2"},
		{p.Nearest(index.Slice(0, 1, 0, 2), dist.Array, q), linalg.ErrShape, "index is 1x2"},
		{p.Nearest(index.Array, q.Slice(0, 2, 0, 2), q), linalg.ErrOverlap, "dist and queries"},
		{p.Nearest(index.Array, a.Slice(0, 2, 0, 2), q), linalg.ErrOverlap, "dist and points"},
	} {
		if !errors.Is(test.err, test.want) || !contains(test.err, test.text) {
			t.Errorf("%v, want %v with %q", test.err, test.want, test.text)
		}
	}
	index.check(t, "after what is refused", index.was[:0])
	dist.check(t, "after what is refused", dist.was[:0])
}

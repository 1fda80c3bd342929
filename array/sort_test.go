package array

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/linalg"
)

// order is the order of Sort.
func order[T linalg.Element](a, b T) int {
	switch {
	case a != a && b != b:
		return 0
	case a != a:
		return 1
	case b != b:
		return -1
	case a == b && float64(a) == 0:
		return cmp.Compare(bool2int(math.Signbit(float64(b))), bool2int(math.Signbit(float64(a))))
	}
	return cmp.Compare(a, b)
}

func bool2int(b bool) int {
	if b {
		return 1
	}
	return 0
}

// some is n elements, many of which are equal: zeros, infinities, NaN and the ends of their types.
func some[T linalg.Element](rng *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		switch p := any(&x[i]).(type) {
		case *float32:
			*p = float32(special(rng, math.MaxFloat32, math.SmallestNonzeroFloat32))
		case *float64:
			*p = special(rng, math.MaxFloat64, math.SmallestNonzeroFloat64)
		case *int32:
			*p = []int32{0, -1, 1, math.MinInt32, math.MaxInt32, int32(rng.Uint32()), rng.Int32N(9)}[rng.IntN(7)]
		}
	}
	return x
}

func special(rng *rand.Rand, large, small float64) float64 {
	list := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), large, -large, small, -small}
	if i := rng.IntN(3 * len(list)); i < len(list) {
		return list[i]
	}
	return math.Copysign(math.Ldexp(float64(rng.IntN(50)), rng.IntN(8)-4), rng.Float64()-0.5)
}

// sizes are around the ends of ranks, tiles and chunks.
var sizes = [][2]int{{1, 1}, {3, 7}, {2, 64}, {3, 65}, {1, 2048}, {2, 2051}, {1, 5000}, {40, 70}, {0, 5}, {5, 0}}

// sizesFor is the sizes that do not take a device seconds.
func sizesFor(s *linalg.Session) [][2]int {
	if s.Info().Driver == "cudasim" || racetest.Enabled {
		return [][2]int{{3, 7}, {2, 65}, {2, 300}, {1, 2051}, {0, 5}}
	}
	return sizes
}

func TestSort(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testSort[float32](t, s, 77)
		testSort[float64](t, s, 77)
		testSort[int32](t, s, 77)
	})
}

func testSort[T linalg.Element](t *testing.T, s *linalg.Session, guard T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i, size := range sizesFor(s) {
		rows, cols, strided := size[0], size[1], i%2 == 0
		x := some[T](rng, rows*cols)
		up, index, down, columns := slices.Clone(x), make([]int32, len(x)), make([]T, 0), make([]int32, 0)
		k := min(cols, 10)
		for i := range rows {
			row, at := x[i*cols:i*cols+cols], index[i*cols:i*cols+cols]
			slices.SortStableFunc(up[i*cols:i*cols+cols], order[T])
			for j := range at {
				at[j] = int32(j)
			}
			for _, j := range downward(row)[:k] {
				down, columns = append(down, row[j]), append(columns, j)
			}
			slices.SortStableFunc(at, func(a, b int32) int { return order(row[a], row[b]) })
		}
		a := upload(t, s, rows, cols, strided, x)
		c := newTarget(t, s, rows, cols, strided, guard)
		try(t, Sort(c.Array, a))
		c.check(t, "Sort", up)
		ic := newTarget[int32](t, s, rows, cols, strided, 77)
		try(t, ArgSort(ic.Array, a))
		ic.check(t, "ArgSort", index)
		c, ic = newTarget(t, s, rows, k, strided, guard), newTarget[int32](t, s, rows, k, strided, 77)
		try(t, TopK(c.Array, ic.Array, a))
		c.check(t, "TopK", down)
		ic.check(t, "TopK, its index,", columns)
		try(t, Sort(a, a))
		equal(t, "Sort in place", a, up)
	}
}

// downward is the columns of a row in the order of TopK.
func downward[T linalg.Element](row []T) []int32 {
	columns := make([]int32, len(row))
	for j := range columns {
		columns[j] = int32(j)
	}
	slices.SortStableFunc(columns, func(a, b int32) int {
		if u, v := row[a], row[b]; u == u && v == v {
			return order(v, u)
		}
		return order(row[a], row[b])
	})
	return columns
}

// Few elements of long rows are looked for in parts of these.
func TestTopKOfLongRows(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		if s.Info().GPU || racetest.Enabled {
			t.Skip("rows are sorted, or it takes long")
		}
		testTopK[float32](t, s, 77)
		testTopK[float64](t, s, 77)
		testTopK[int32](t, s, 77)
	})
}

func testTopK[T linalg.Element](t *testing.T, s *linalg.Session, guard T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for n, size := range [][3]int{{1, 257, 1}, {4, 257, 32}, {1, 3001, 1}, {4, 3001, 40}, {1, 5000, 312}} {
		rows, cols, k, strided := size[0], size[1], size[2], n%2 == 0
		x := some[T](rng, rows*cols)
		if rows > 1 { // ascending, all the same, NaN or the largest but for one
			last := sorted(x[:cols])[cols-1]
			for j := range cols {
				x[cols+j], x[2*cols+j], x[3*cols+j] = T(j), x[0], last
			}
			x[3*cols+9] = 3
		}
		var values []T
		var columns []int32
		for i := range rows {
			row := x[i*cols : i*cols+cols]
			for _, j := range downward(row)[:k] {
				values, columns = append(values, row[j]), append(columns, j)
			}
		}
		a := upload(t, s, rows, cols, strided, x)
		c, index := newTarget(t, s, rows, k, strided, guard), newTarget[int32](t, s, rows, k, strided, 77)
		try(t, TopK(c.Array, index.Array, a))
		c.check(t, "TopK", values)
		index.check(t, "TopK, its index,", columns)
		try(t, TopK(a.Slice(0, rows, 2, 2+k), index.Array, a))
		equal(t, "TopK in place", a.Slice(0, rows, 2, 2+k), values)
	}
}

// Where halves of keys are sorted one after the other, what one half has put in order stays so, in
// rows of every length that a network sorts, and beyond.
func TestArgSortHalves(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		const rows = 3
		rng := rand.New(rand.NewPCG(5, 6))
		step := 1
		if s.Info().Driver == "cudasim" || racetest.Enabled {
			step = 50
		}
		for cols := 1; cols < 260; cols += step {
			x, want := make([]float64, rows*cols), make([]int32, rows*cols)
			for i := range x {
				x[i] = math.Float64frombits(rng.Uint64N(4)<<62 | 1<<60 | rng.Uint64N(3)<<32 | rng.Uint64N(3)<<30)
				want[i] = int32(i % cols)
			}
			for i := range rows {
				row := x[i*cols : i*cols+cols]
				slices.SortStableFunc(want[i*cols:i*cols+cols], func(a, b int32) int { return order(row[a], row[b]) })
			}
			c := newTarget[int32](t, s, rows, cols, cols%2 == 0, 77)
			try(t, ArgSort(c.Array, upload(t, s, rows, cols, cols%3 == 0, x)))
			c.check(t, "ArgSort", want)
		}
	})
}

func try(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestUnique(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testUnique[float32](t, s, 77)
		testUnique[float64](t, s, 77)
		testUnique[int32](t, s, 77)
	})
}

func testUnique[T linalg.Element](t *testing.T, s *linalg.Session, guard T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i, size := range sizesFor(s) {
		rows, cols, strided := size[0], size[1], i%2 == 0
		x := some[T](rng, rows*cols)
		var want []T
		var counts []int32
		for i, v := range sorted(x) {
			if v == 0 {
				v = 0 * v * v // +0
			}
			if n := len(want); i > 0 && (v == want[n-1] || v != v && want[n-1] != want[n-1]) {
				counts[n-1]++
				continue
			}
			want, counts = append(want, v), append(counts, 1)
		}
		a, n := upload(t, s, rows, cols, strided, x), len(want)
		for _, column := range []bool{false, true} {
			r, c := 1, n
			if column {
				r, c = n, 1
			}
			got, count := newTarget(t, s, r, c, strided, guard), newTarget[int32](t, s, r, c, strided, 77)
			m, err := Unique(got.Array, count.Array, a)
			if err != nil || m != n {
				t.Fatalf("%d elements, %v; want %d", m, err, n)
			}
			got.check(t, "Unique", want)
			count.check(t, "Unique, its counts,", counts)
		}
		if n > 0 {
			short := newTarget(t, s, 1, n-1, strided, guard)
			if _, err := Unique(short.Array, nil, a); !contains(err, "Unique: c is ") {
				t.Errorf("with too few elements: %v", err)
			}
			c, counts := newTarget(t, s, n, 1, strided, guard), newTarget[int32](t, s, n-1, 1, strided, 77)
			if _, err := Unique(c.Array, counts.Array, a); !contains(err, "Unique: counts is ") {
				t.Errorf("with too few counts: %v", err)
			}
			short.check(t, "a refused Unique", short.was[:0])
			c.check(t, "a refused Unique", c.was[:0])
		}
	}
}

func sorted[T linalg.Element](x []T) []T {
	x = slices.Clone(x)
	slices.SortStableFunc(x, order[T])
	return x
}

func TestSearch(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testSearch[float32](t, s, 77)
		testSearch[float64](t, s, 77)
		testSearch[int32](t, s, 77)
	})
}

func testSearch[T linalg.Element](t *testing.T, s *linalg.Session, guard T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for i, size := range sizesFor(s) {
		rows, cols, strided := size[0], size[1], i%2 == 0
		x := some[T](rng, rows*cols)
		a := upload(t, s, rows, cols, strided, x)
		for _, n := range []int{3, 1100} {
			edges := some[T](rng, n)
			edges = slices.DeleteFunc(sorted(edges), func(v T) bool { return v != v })
			n := len(edges)
			index, right, counts := make([]int32, len(x)), make([]int32, len(x)), make([]int32, n-1)
			for i, v := range x {
				for k, e := range edges {
					if e < v || v != v {
						index[i]++
					}
					if e <= v || v != v {
						right[i]++
					}
					if k+1 < n && e <= v && (v < edges[k+1] || k+2 == n && v == edges[k+1]) {
						counts[k]++
					}
				}
			}
			e := upload(t, s, 1, n, strided, edges)
			ic := newTarget[int32](t, s, rows, cols, strided, 77)
			try(t, SearchSorted(ic.Array, e, a))
			ic.check(t, "SearchSorted", index)
			try(t, SearchSortedRight(ic.Array, e, a))
			ic.check(t, "SearchSortedRight", right)
			e = upload(t, s, n, 1, strided, edges)
			h := newTarget[int32](t, s, n-1, 1, strided, 77)
			try(t, Histogram(h.Array, e, a))
			h.check(t, "Histogram", counts)
		}
	}
}

func TestQuantile(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testQuantile[float32](t, s, 77)
		testQuantile[float64](t, s, 77)
	})
}

func testQuantile[T Float](t *testing.T, s *linalg.Session, guard T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for i, size := range [][2]int{{1, 1}, {7, 3}, {3, 100}, {0, 4}} {
		rows, cols := size[0], size[1]
		x := some[T](rng, rows*cols)
		a := upload(t, s, rows, cols, i%2 == 0, x)
		ps := []float64{0, 0.25, 0.5, 0.9, 1}
		all := newTarget(t, s, rows, len(ps), true, guard)
		try(t, Quantile(all.Array, a, ps...))
		var together []T
		for i := range rows {
			for _, p := range ps {
				together = append(together, quantile(sorted(x[i*cols:i*cols+cols]), p))
			}
		}
		all.check(t, "Quantile of several p", together)
		for j, p := range ps {
			c := newTarget(t, s, rows, 1, true, guard)
			try(t, Quantile(c.Array, a, p))
			c.check(t, "Quantile", elements(rows, 1, func(i, _ int) T { return together[i*len(ps)+j] }))
		}
	}
}

// quantile is the contract's, of sorted elements.
func quantile[T Float](s []T, p float64) T {
	if last := s[len(s)-1]; last != last {
		return last
	}
	h := p * float64(len(s)-1)
	k := int(h)
	f := h - float64(k)
	if f == 0 || s[k] == s[k+1] {
		return s[k]
	}
	a, b := float64(s[k]), float64(s[k+1])
	if a <= 0 && b >= 0 || !math.IsNaN(b) && (math.IsInf(a, 0) || math.IsInf(b, 0)) {
		below, above := (1-f)*a, f*b
		return T(below + above)
	}
	d := b - a
	up, down := f*d, (1-f)*d
	if f < 0.5 {
		return T(a + up)
	}
	return T(max(a+d/2, b-down))
}

// Quantiles are between the elements beside them, and do not fall as p rises: of neighbours of all
// magnitudes, or that hardly differ.
func TestQuantileOrder(t *testing.T) {
	s, err := linalg.Open("cpu")
	try(t, err)
	defer s.Close()
	testQuantileOrder(t, s, float32(0), math.MaxFloat32)
	testQuantileOrder(t, s, float64(0), math.MaxFloat64)
}

func testQuantileOrder[T Float](t *testing.T, s *linalg.Session, _, most T) {
	const rows, cols, quantiles = 1000, 5, 200
	rng := rand.New(rand.NewPCG(11, 12))
	x := make([]T, rows*cols)
	for i := range x {
		x[i] = T(math.Ldexp(2*rng.Float64()-1, rng.IntN(200)-100))
		if i > 0 && i%3 == 0 {
			x[i] = x[i-1] * T(1+math.Ldexp(rng.Float64(), -rng.IntN(60)))
		}
	}
	x[0], x[1] = most, -most
	least := slices.Clone(x)
	ps := []float64{0, 1}
	for range quantiles {
		ps = append(ps, rng.Float64(), math.Nextafter(float64(rng.IntN(2*cols-1))/(2*cols-2), rng.Float64()))
	}
	slices.Sort(ps)
	a := linalg.NewMatrix(rows, cols, x)
	up, err := linalg.Upload(s, a)
	try(t, err)
	c := newTarget[T](t, s, rows, 1, false, 77)
	for i := range rows {
		row := sorted(x[i*cols : i*cols+cols])
		least[i] = row[0]
		copy(x[i*cols:], row)
	}
	for _, p := range ps {
		try(t, Quantile(c.Array, up, p))
		got, err := c.Download()
		try(t, err)
		for i, q := range got.Data {
			row := x[i*cols : i*cols+cols]
			k := int(p * (cols - 1))
			if !(q >= row[k] && q <= row[min(k+1, cols-1)] && q >= least[i]) {
				t.Fatalf("Quantile(%v) of %v is %v, and one of less %v", p, row, q, least[i])
			}
			least[i] = q
		}
	}
}

// The quantiles that left their row, by a rounded distance or an overflow.
func TestQuantileValues(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		row := make([]float32, 101)
		for i := range row {
			row[i] = -0.4219192
			if i < 29 {
				row[i] = -10272.166
			}
		}
		testQuantileValue(t, s, row, 0.29, -0.4219192)
		testQuantileValue(t, s, []float32{-3e38, 3e38}, 0.5, 0)
		testQuantileValue(t, s, []float64{-1.5e308, 1.5e308}, 0.5, 0)
		testQuantileValue(t, s, []float64{-1.5e308, 1.5e308}, 0.75, 0.75e308)
		testQuantileValue(t, s, []float64{1, math.Inf(1)}, 0.75, math.Inf(1))
		testQuantileValue(t, s, []float64{math.Inf(-1), -1}, 0.75, math.Inf(-1))
		testQuantileValue(t, s, []float64{1, math.NaN()}, 0.75, math.NaN())
	})
}

func testQuantileValue[T Float](t *testing.T, s *linalg.Session, row []T, p float64, want T) {
	t.Helper()
	c := newTarget[T](t, s, 1, 1, false, 77)
	try(t, Quantile(c.Array, upload(t, s, 1, len(row), false, row), p))
	c.check(t, "Quantile", []T{want})
}

func TestPermutation(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		r := &Stream{Seed: 9, Next: 3}
		const rows, cols = 2, 300
		want := make([]int32, 0, rows*cols)
		for i := range rows {
			row := make([]int32, cols)
			for j := range row {
				row[j] = int32(j)
			}
			slices.SortStableFunc(row, func(a, b int32) int {
				return cmp.Compare(uniform64(9, 3, i*cols+int(a)), uniform64(9, 3, i*cols+int(b)))
			})
			want = append(want, row...)
		}
		c := newTarget[int32](t, s, rows, cols, true, 77)
		try(t, Permutation(r, c.Array))
		c.check(t, "Permutation", want)
		if r.Next != 4 {
			t.Errorf("the next stream is %d", r.Next)
		}
	})
}

func TestSortRefuses(t *testing.T) {
	s, err := linalg.Open("cpu")
	try(t, err)
	defer s.Close()
	other, err := linalg.Open("cpu")
	try(t, err)
	defer other.Close()
	a := newTarget[int32](t, s, 4, 6, true, 77)
	x := newTarget[float32](t, s, 4, 6, true, 77)
	far := newTarget[int32](t, other, 4, 6, true, 77)
	part := func(c target[int32], i, k, j, l int) *linalg.Array[int32] { return c.Slice(i, k, j, l) }
	_, uniqueErr := Unique(a.Array, nil, a.Array)
	nan := float32(math.NaN())
	edges := func(e ...float32) error {
		return Histogram(part(a, 0, 1, 0, len(e)-1), upload(t, s, len(e), 1, true, e), x.Array)
	}
	for _, test := range []struct {
		err, want error
		text      string
	}{
		{Sort(part(a, 0, 4, 0, 5), a.Array), linalg.ErrShape, "Sort: c is 4x5 int32"},
		{Sort(far.Array, a.Array), backend.ErrArgument, "Sort: c belongs to another session"},
		{Sort(nil, a.Array), backend.ErrArgument, "Sort: c is nil"},
		{Sort(a.Array, new(Array[int32])), backend.ErrArgument, "Sort: a is nil, or an Array that nothing has made"},
		{Sort(new(Array[int32]), a.Array, 0), backend.ErrArgument, "Sort: the destination is nil, or an Array"},
		{ArgSort[int32](a.Array, nil), backend.ErrArgument, "ArgSort: a is nil"},
		{ArgSort(part(a, 0, 3, 0, 6), x.Array), linalg.ErrShape, "ArgSort: index is 3x6"},
		{TopK(a.Array, a.Array, part(a, 0, 4, 0, 3)), linalg.ErrShape, "TopK: the 6 largest of 3 elements"},
		{TopK(part(a, 0, 4, 0, 2), part(a, 0, 4, 1, 3), a.Array), linalg.ErrOverlap, "TopK: index and a"},
		{TopK(x.Slice(0, 4, 0, 2), part(a, 0, 4, 1, 4), x.Array), linalg.ErrShape, "TopK: index is 4x3"},
		{uniqueErr, linalg.ErrShape, "Unique: c is 4x6 int32"},
		{Quantile(x.Slice(0, 4, 0, 1), x.Array, 1.5), backend.ErrArgument, "Quantile: p is 1.5"},
		{Quantile(x.Slice(0, 4, 0, 1), x.Slice(0, 4, 2, 2), 0.5), linalg.ErrShape, "Quantile of no elements"},
		{SearchSorted(a.Array, part(a, 0, 1, 0, 6), part(a, 0, 4, 0, 6)), linalg.ErrOverlap, "index and a"},
		{SearchSorted(a.Array, x.Array, x.Array), linalg.ErrShape, "SearchSorted: sorted is 4x6"},
		{Histogram(part(a, 0, 1, 0, 6), x.Slice(0, 1, 0, 6), x.Array), linalg.ErrShape, "6 edges have 5 bins"},
		{Histogram(part(a, 0, 1, 0, 1), x.Slice(0, 1, 0, 1), x.Array), linalg.ErrShape, "edges is 1x1"},
		{Histogram(part(a, 0, 1, 0, 5), part(a, 1, 2, 0, 6), a.Array), linalg.ErrOverlap, "counts and a"},
		{edges(0, 1, 1, 0.5), backend.ErrArgument, "Histogram: edges[3] is 0.5, below edges[2], which is 1"},
		{edges(0, 1, nan, 3), backend.ErrArgument, "Histogram: edges[2] is NaN"},
		{edges(nan, 1, 2, 3), backend.ErrArgument, "Histogram: edges[0] is NaN"},
		{Permutation(nil, a.Array), backend.ErrArgument, "Permutation: the stream is nil"},
	} {
		if !errors.Is(test.err, test.want) || !contains(test.err, test.text) {
			t.Errorf("%v, want %v with %q", test.err, test.want, test.text)
		}
	}
	a.check(t, "refused", a.was[:0])
	x.check(t, "refused", x.was[:0])
}

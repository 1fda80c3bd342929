package array

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// Elements of all sizes move, of types that there is no arithmetic in, too.
func TestMovesOfStored(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		m := &mapTester{t, s, rand.New(rand.NewPCG(8, 2))}
		testMovesOfStored[bool](m)
		testMovesOfStored[uint8](m)
		testMovesOfStored[Float16](m)
		testMovesOfStored[BFloat16](m)
		testMovesOfStored[uint32](m)
		testMovesOfStored[int64](m)
	})
}

func testMovesOfStored[T Stored](m *mapTester) {
	for n, size := range [][2]int{{1, 1}, {5, 7}, {3, 1500}, {301, 3}} {
		rows, cols := size[0], size[1]
		x := numbers[T](m, rows*cols)
		a := upload(m.T, m.s, rows, cols, n%2 == 0, x)
		at := func(i, j int) T { return x[i*cols+j] }
		is := func(what string, r, k int, run func(c *Array[T]) error, want func(i, j int) T) {
			m.Helper()
			for _, strided := range []bool{false, true} {
				c := newTarget(m.T, m.s, r, k, strided, garbage[T](m))
				try(m.T, run(c.Array))
				c.check(m.T, fmt.Sprintf("%s of %T", what, x), elements(r, k, want))
			}
		}
		is("Flip", rows, cols, func(c *Array[T]) error { return Flip(c, a, true, false) },
			func(i, j int) T { return at(rows-1-i, j) })
		is("Roll", rows, cols, func(c *Array[T]) error { return Roll(c, a, 1, 2) },
			func(i, j int) T { return at((i+rows-1)%rows, (j+2*cols-2)%cols) })
		is("Concat", 2*rows, cols, func(c *Array[T]) error { return Concat(c, a, a) },
			func(i, j int) T { return at(i%rows, j) })
		turned := make([]int32, rows)
		for i := range turned {
			turned[i] = int32(rows - 1 - i)
		}
		index := upload(m.T, m.s, rows, 1, n%2 == 1, turned)
		is("TakeRows", rows, cols, func(c *Array[T]) error { return TakeRows(c, a, index) },
			func(i, j int) T { return at(rows-1-i, j) })
		is("PutRows", rows, cols, func(c *Array[T]) error { return PutRows(c, a, index) },
			func(i, j int) T { return at(rows-1-i, j) })
		last := upload(m.T, m.s, 1, 1, false, []int32{int32(cols - 1)})
		is("TakeCols", rows, 1, func(c *Array[T]) error { return TakeCols(c, a, last) },
			func(i, _ int) T { return at(i, cols-1) })
		testAlong(m, a, x, is)
		testCompress(m, a, x)
	}
}

// testAlong moves elements of rows to places that come several times, and back.
func testAlong[T Stored](m *mapTester, a *Array[T], x []T,
	is func(what string, r, k int, run func(c *Array[T]) error, want func(i, j int) T),
) {
	rows, cols := a.Dims()
	for _, strided := range []bool{false, true} {
		wide := cols + 2
		from := make([]int32, rows*wide)
		for i := range from {
			from[i] = int32(m.random.IntN(cols))
		}
		index := upload(m.T, m.s, rows, wide, strided, from)
		is("TakeAlong", rows, wide, func(c *Array[T]) error { return TakeAlong(c, a, index) },
			func(i, j int) T { return x[i*cols+int(from[i*wide+j])] })
		to := from[:rows*cols]
		index = upload(m.T, m.s, rows, cols, strided, to)
		v := garbage[T](m)
		want := slices.Repeat([]T{v}, rows*cols)
		for k := range x {
			want[k/cols*cols+int(to[k])] = x[k]
		}
		is("PutAlong", rows, cols, func(c *Array[T]) error {
			try(m.T, Fill(c, v))
			return PutAlong(c, a, index)
		}, func(i, j int) T { return want[i*cols+j] })
	}
}

func testCompress[T Stored](m *mapTester, a *Array[T], x []T) {
	rows, cols := a.Dims()
	for _, strided := range []bool{false, true} {
		bits := numbers[bool](m, len(x))
		bits[0] = true
		var kept []T
		for i, is := range bits {
			if is {
				kept = append(kept, x[i])
			}
		}
		mask, n := upload(m.T, m.s, rows, cols, strided, bits), len(kept)
		for _, shape := range [][2]int{{1, n}, {n, 1}} {
			c := newTarget(m.T, m.s, shape[0], shape[1], strided, garbage[T](m))
			if k, err := Compress(c.Array, a, mask); err != nil || k != n {
				m.Fatalf("Compress of %T: %d, %v, want %d", x, k, err, n)
			}
			c.check(m.T, fmt.Sprintf("Compress of %T", x), kept)
		}
		short := newTarget(m.T, m.s, 1, n-1, strided, garbage[T](m))
		if _, err := Compress(short.Array, a, mask); !errors.Is(err, linalg.ErrShape) {
			m.Errorf("Compress of %T with too few elements: %v", x, err)
		}
		short.check(m.T, "a refused Compress", short.was[:0])
	}
}

func TestUniqueInverse(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testUniqueInverse[float32](t, s)
		testUniqueInverse[float64](t, s)
		testUniqueInverse[int32](t, s)
	})
}

func testUniqueInverse[T Element](t *testing.T, s *linalg.Session) {
	rng := rand.New(rand.NewPCG(3, 14))
	for i, size := range [][2]int{{1, 1}, {3, 7}, {40, 70}, {0, 5}, {300, 2}} {
		rows, cols := size[0], size[1]
		x := some[T](rng, rows*cols)
		a := upload(t, s, rows, cols, i%2 == 0, x)
		c := upload(t, s, 1, len(x), false, make([]T, len(x)))
		want := newTarget[T](t, s, len(x), 1, true, 77)
		n, err := Unique(want.Array, nil, a)
		try(t, err)
		inverse := newTarget[int32](t, s, rows, cols, i%2 == 1, 77)
		k, err := UniqueInverse(c, inverse.Array, a)
		if err != nil || k != n {
			t.Fatalf("UniqueInverse: %d, %v, want %d", k, err, n)
		}
		m, err := want.Slice(0, n, 0, 1).Download()
		try(t, err)
		equal(t, "UniqueInverse", c.Slice(0, 1, 0, n), m.Data)
		inverse.check(t, "UniqueInverse, its inverse,", elements(rows, cols, func(i, j int) int32 {
			x := x[i*cols+j]
			return int32(slices.IndexFunc(m.Data, func(v T) bool { return v == x || v != v && x != x }))
		}))
	}
}

func TestIndexRefuses(t *testing.T) {
	s := openCPU(t)
	a := newTarget(t, s, 4, 6, true, 77.0)
	b := upload(t, s, 4, 6, false, make([]float64, 24))
	index := upload(t, s, 4, 6, true, make([]int32, 24))
	number := newTarget[int32](t, s, 4, 6, true, 77)
	_, unique := UniqueInverse(a.Slice(0, 1, 0, 6), index, a.Array)
	row := number.Slice(0, 1, 0, 6)
	_, same := UniqueInverse(row, row, upload(t, s, 1, 6, false, make([]int32, 6)))
	_, wide := UniqueInverse(b.Slice(0, 1, 0, 6), index.Slice(0, 4, 0, 5), a.Array)
	for _, c := range []struct {
		err, want error
		text      string
	}{
		{TakeAlong(a.Array, b.Slice(0, 3, 0, 6), index), linalg.ErrShape, "have the rows of a, 3x6"},
		{TakeAlong(a.Array, b, index.Slice(0, 4, 0, 5)), linalg.ErrShape, "TakeAlong: index is 4x5"},
		{TakeAlong(a.Array, a.Array, index), linalg.ErrOverlap, "TakeAlong: c and a"},
		{TakeAlong(number.Array, index, number.Array), linalg.ErrOverlap, "TakeAlong: index and c"},
		{TakeAlong(a.Array, b, nil), backend.ErrArgument, "TakeAlong: index is nil"},
		{PutAlong(a.Array, b.Slice(0, 3, 0, 6), index), linalg.ErrShape, "PutAlong: a is 3x6"},
		{PutAlong(a.Array, b, index.Slice(0, 3, 0, 6)), linalg.ErrShape, "PutAlong: index is 3x6"},
		{unique, linalg.ErrOverlap, "UniqueInverse: c and a"},
		{same, linalg.ErrOverlap, "UniqueInverse: inverse and c"},
		{wide, linalg.ErrShape, "UniqueInverse: inverse is 4x5"},
		{Shuffle(&Stream{}, a.Array, a.Array), linalg.ErrOverlap, "Shuffle: c and a"},
		{CumProd(a.Slice(0, 4, 0, 5), a.Slice(0, 4, 1, 6)), linalg.ErrOverlap, "CumProd: c and a"},
		{NanMax(a.Slice(0, 1, 0, 6), b.Slice(0, 0, 0, 6)), linalg.ErrShape, "NanMax of 0x6"},
		{NanSum(a.Slice(0, 1, 0, 5), b), linalg.ErrShape, "NanSum of 4x6"},
		{Choice(&Stream{}, number.Array, b), linalg.ErrShape, "Choice: weights is 4x6"},
		{Choice(&Stream{}, number.Array, b.Slice(0, 1, 0, 6)), backend.ErrArgument, "their sum 0"},
	} {
		if !errors.Is(c.err, c.want) || !contains(c.err, c.text) {
			t.Errorf("%v, want %v with %q", c.err, c.want, c.text)
		}
	}
	a.check(t, "refused", a.was[:0])
	number.check(t, "refused", number.was[:0])
}

// A column that is none is named on every device, and nothing is written.
func TestBadColumn(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		a := upload(t, s, 2, 3, true, make([]float32, 6))
		for _, strided := range []bool{false, true} {
			index := upload(t, s, 2, 3, strided, []int32{0, 1, 2, 2, -1, 3})
			c := newTarget[float32](t, s, 2, 3, true, 77)
			take, put := TakeAlong(c.Array, a, index), PutAlong(c.Array, a, index)
			if !errors.Is(take, backend.ErrArgument) || !contains(take, "4 of index is -1, and a has 3 columns") {
				t.Error(take)
			}
			if !errors.Is(put, backend.ErrArgument) || !contains(put, "4 of index is -1, and c has 3 columns") {
				t.Error(put)
			}
			c.check(t, "a refused call", c.was[:0])
		}
	})
}

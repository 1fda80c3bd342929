package array

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

func TestMoves(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testMoves[float32](t, s, 77)
		testMoves[float64](t, s, 77)
		testMoves[int32](t, s, 77)
	})
}

// elements is what f makes of the places of a matrix.
func elements[T any](rows, cols int, f func(i, j int) T) []T {
	x := make([]T, 0, rows*cols)
	for i := range rows {
		for j := range cols {
			x = append(x, f(i, j))
		}
	}
	return x
}

func testMoves[T Element](t *testing.T, s *linalg.Session, guard T) {
	rng := rand.New(rand.NewPCG(9, 1))
	for n, size := range [][2]int{{1, 1}, {5, 7}, {3, 1500}, {40, 1}, {0, 3}, {301, 3}, {70, 8}} {
		rows, cols, strided := size[0], size[1], n%2 == 0
		x := some[T](rng, rows*cols)
		a := upload(t, s, rows, cols, strided, x)
		is := func(what string, r, k int, run func(c *Array[T]) error, want func(i, j int) T) {
			t.Helper()
			for _, strided := range []bool{false, true} {
				c := newTarget(t, s, r, k, strided, guard)
				try(t, run(c.Array))
				c.check(t, what, elements(r, k, want))
			}
		}
		at := func(i, j int) T { return x[i*cols+j] }
		is("Flip rows", rows, cols, func(c *Array[T]) error { return Flip(c, a, true, false) },
			func(i, j int) T { return at(rows-1-i, j) })
		is("Flip columns", rows, cols, func(c *Array[T]) error { return Flip(c, a, false, true) },
			func(i, j int) T { return at(i, cols-1-j) })
		is("Flip both", rows, cols, func(c *Array[T]) error { return Flip(c, a, true, true) },
			func(i, j int) T { return at(rows-1-i, cols-1-j) })
		is("Roll", rows, cols, func(c *Array[T]) error { return Roll(c, a, -2, cols+3) },
			func(i, j int) T { return at((i+2)%rows, (j+10*cols-3)%cols) })
		is("Pad", rows+3, cols+2, func(c *Array[T]) error { return Pad(c, a, 1, 2, 5) }, func(i, j int) T {
			if i < 1 || i > rows || j < 2 {
				return 5
			}
			return at(i-1, j-2)
		})
		is("Concat beside", rows, 2*cols, func(c *Array[T]) error { return Concat(c, a, a.Slice(0, rows, 0, 0), a) },
			func(i, j int) T { return at(i, j%cols) })
		is("Concat above", 2*rows, cols, func(c *Array[T]) error { return Concat(c, a, a) },
			func(i, j int) T { return at(i%rows, j) })
		is("Diff", rows, cols-1, func(c *Array[T]) error { return Diff(c, a) },
			func(i, j int) T { return at(i, j+1) - at(i, j) })
		if rows > 1 && cols > 1 {
			m := min(rows, cols)
			is("Diag", 1, m, func(c *Array[T]) error { return Diag(c, a) }, func(_, j int) T { return at(j, j) })
			is("Diag", m, 1, func(c *Array[T]) error { return Diag(c, a) }, func(i, _ int) T { return at(i, i) })
			row, column := a.Slice(1, 2, 0, cols), a.Slice(0, rows, 1, 2)
			is("Diag of a row", cols, cols, func(c *Array[T]) error { return Diag(c, row) }, func(i, j int) T {
				if i != j {
					return 0
				}
				return at(1, j)
			})
			is("Diag of a column", rows, rows+1, func(c *Array[T]) error { return Diag(c, column) }, func(i, j int) T {
				if i != j {
					return 0
				}
				return at(i, 1)
			})
			is("Outer", rows, cols, func(c *Array[T]) error { return Outer(c, column, row) },
				func(i, j int) T { return at(i, 1) * at(1, j) })
		}
		is("Eye", rows, cols, Eye[T], func(i, j int) T {
			if i == j {
				return 1
			}
			return 0
		})
		testRows(t, s, a, x, guard)
		testMask(t, s, a, x, guard)
	}
}

func testRows[T Element](t *testing.T, s *linalg.Session, a *Array[T], x []T, guard T) {
	rows, cols := a.Dims()
	rng := rand.New(rand.NewPCG(uint64(rows), uint64(cols)))
	for _, strided := range []bool{false, true} {
		if rows > 0 {
			index := make([]int32, 2*rows+1)
			for i := range index {
				index[i] = rng.Int32N(int32(rows))
			}
			c := newTarget(t, s, len(index), cols, strided, guard)
			try(t, TakeRows(c.Array, a, upload(t, s, len(index), 1, strided, index)))
			c.check(t, "TakeRows", elements(len(index), cols, func(i, j int) T { return x[int(index[i])*cols+j] }))
		}
		index := make([]int32, rows)
		want := elements(rows+3, cols, func(int, int) T { return guard })
		for i, to := range rng.Perm(rows + 3)[:rows] {
			index[i] = int32(to)
			copy(want[to*cols:to*cols+cols], x[i*cols:])
		}
		c := newTarget(t, s, rows+3, cols, strided, guard)
		try(t, PutRows(c.Array, a, upload(t, s, 1, rows, strided, index)))
		c.check(t, "PutRows", want)
	}
}

func testMask[T Element](t *testing.T, s *linalg.Session, a *Array[T], x []T, guard T) {
	rows, cols := a.Dims()
	rng := rand.New(rand.NewPCG(uint64(rows), uint64(cols)))
	for _, strided := range []bool{false, true} {
		mask := make([]bool, len(x))
		var numbers []int32
		var kept []T
		for i := range mask {
			if mask[i] = rng.IntN(3) > 0; mask[i] {
				numbers, kept = append(numbers, int32(i)), append(kept, x[i])
			}
		}
		m, n := upload(t, s, rows, cols, strided, mask), len(kept)
		index, c := newTarget[int32](t, s, 1, n, strided, 77), newTarget(t, s, n, 1, strided, guard)
		k, err := Nonzero(index.Array, m)
		if err != nil || k != n {
			t.Fatalf("Nonzero: %d, %v, want %d", k, err, n)
		}
		index.check(t, "Nonzero", numbers)
		if k, err = Compress(c.Array, a, m); err != nil || k != n {
			t.Fatalf("Compress: %d, %v, want %d", k, err, n)
		}
		c.check(t, "Compress", kept)
		own := upload(t, s, 1, len(x), false, x)
		row := upload(t, s, 1, len(x), strided, mask)
		if k, err = Compress(own.Slice(0, 1, 0, n), own, row); err != nil || k != n {
			t.Fatalf("Compress in place: %d, %v, want %d", k, err, n)
		}
		equal(t, "Compress in place", own.Slice(0, 1, 0, n), kept)
		if n > 0 {
			_, err1 := Nonzero(index.Slice(0, 1, 0, n-1), m)
			_, err2 := Compress(c.Slice(0, n-1, 0, 1), a, m)
			if !errors.Is(err1, linalg.ErrShape) || !errors.Is(err2, linalg.ErrShape) {
				t.Errorf("with too few elements: %v, %v", err1, err2)
			}
		}
	}
}

// An index that is none, or is there twice, is named on every device, and nothing is written.
func TestBadIndex(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		a := upload(t, s, 4, 3, true, make([]float32, 12))
		take, put, add := TakeRows[float32], PutRows[float32], AddRows[float32]
		for _, c := range []struct {
			index []int32
			move  func(c, a *Array[float32], index *Array[int32]) error
			want  string
		}{
			{[]int32{0, 4, -1, 9}, take, "TakeRows: element 1 of index is 4, and a has 4 rows"},
			{[]int32{3, 2, 2, -1}, take, "TakeRows: element 3 of index is -1, and a has 4 rows"},
			{[]int32{3, 2, 1, 4}, put, "PutRows: element 3 of index is 4, and c has 4 rows"},
			{[]int32{3, 1, 1, 3}, put, "PutRows: element 2 of index is 1, which an element before it is"},
			{[]int32{2, 2, 2, 2}, put, "PutRows: element 1 of index is 2, which an element before it is"},
			{[]int32{2, 2, 4, -1}, add, "AddRows: element 2 of index is 4, and c has 4 rows"},
		} {
			got := newTarget[float32](t, s, 4, 3, true, 77)
			index := upload(t, s, 4, 1, true, c.index)
			if err := c.move(got.Array, a, index); !errors.Is(err, backend.ErrArgument) || !contains(err, c.want) {
				t.Errorf("%v: %v, want %q", c.index, err, c.want)
			}
			got.check(t, "a refused call", got.was[:0])
		}
	})
}

func TestMoveRefuses(t *testing.T) {
	s, err := linalg.Open("cpu")
	try(t, err)
	defer s.Close()
	a := newTarget[int32](t, s, 4, 6, true, 77)
	part := a.Slice(1, 3, 0, 6)
	b := upload(t, s, 4, 6, false, make([]int32, 24))
	_, reshape := Reshape(part.Slice(0, 2, 0, 5), 5, 2)
	_, none := Reshape[int32](nil, 1, 1)
	for _, c := range []struct {
		err, want error
		text      string
	}{
		{reshape, linalg.ErrShape, "must be packed"},
		{none, backend.ErrArgument, "Reshape: a is nil"},
		{Concat(a.Array, b, b), linalg.ErrShape, "2 parts of 8 rows and 12 columns in all do not fill"},
		{Concat(a.Array, a.Array), linalg.ErrOverlap, "Concat: c and part 0"},
		{Concat(a.Array, nil), backend.ErrArgument, "Concat: part 0 is nil"},
		{Pad(a.Array, b, 1, 0, 5), linalg.ErrShape, "from row 1 and column 0 on"},
		{Pad(a.Array, part, 0, 0, 5), linalg.ErrOverlap, "Pad: c and a"},
		{Roll(a.Array, b.Slice(0, 4, 0, 5), 1, 1), linalg.ErrShape, "Roll: a is 4x5 int32"},
		{Flip(a.Array, a.Array, true, true), linalg.ErrOverlap, "Flip: c and a"},
		{Diff(a.Array, b), linalg.ErrShape, "less a column or a row"},
		{Outer(a.Array, b.Slice(0, 1, 0, 5), b.Slice(0, 1, 0, 6)), linalg.ErrShape, "Outer: a is 1x5 int32"},
		{Diag(a.Array, b), linalg.ErrShape, "Diag: neither"},
		{Diag(a.Slice(0, 1, 0, 1), b.Slice(0, 1, 0, 3)), linalg.ErrShape, "Diag: neither"},
		{Diag(a.Slice(0, 1, 0, 1), b.Slice(0, 3, 0, 1)), linalg.ErrShape, "Diag: neither"},
		{TakeRows(a.Array, b, b.Slice(0, 1, 0, 3)), linalg.ErrShape, "TakeRows: index is 1x3 int32"},
		{TakeRows(a.Array, b, a.Slice(0, 4, 0, 1)), linalg.ErrOverlap, "TakeRows: index and c"},
		{AddRows(a.Array, a.Array, b.Slice(0, 4, 0, 1)), linalg.ErrOverlap, "AddRows: c and a"},
		{AddRows(a.Array, b, b.Slice(0, 3, 0, 1)), linalg.ErrShape, "AddRows: index is 3x1 int32"},
		{AddRows(a.Array, b, a.Slice(0, 4, 0, 1)), linalg.ErrOverlap, "AddRows: index and c"},
		{PutRows(a.Array, b.Slice(0, 4, 0, 5), b.Slice(0, 4, 0, 1)), linalg.ErrShape, "must have the columns of c"},
		{Eye[int32](nil), backend.ErrArgument, "Eye: c is nil"},
	} {
		if !errors.Is(c.err, c.want) || !contains(c.err, c.text) {
			t.Errorf("%v, want %v with %q", c.err, c.want, c.text)
		}
	}
	a.check(t, "refused", a.was[:0])
}

package array

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tandem-gpu/tandem/linalg"
)

// narrowShapes are of few columns, where the cpu device works on packed copies or down columns, of
// one tile of rows or several, and beside them.
var narrowShapes = [][2]int{{100, 1}, {64, 2}, {70, 3}, {1025, 1}, {300, 8}, {90, 9}, {15, 1}, {5000, 1}, {5000, 3}}

// onCPU runs f on the cpu device, which alone works on packed copies.
func onCPU(t *testing.T, f func(t *testing.T, s *linalg.Session)) {
	t.Run("cpu", func(t *testing.T) {
		s, err := linalg.Open("cpu")
		try(t, err)
		defer s.Close()
		f(t, s)
	})
}

// Maps of parts of wider arrays give what Go says, and write nothing else.
func TestNarrowMaps(t *testing.T) {
	onCPU(t, func(t *testing.T, s *linalg.Session) {
		testNarrowMaps[float32](t, s)
		testNarrowMaps[float64](t, s)
		testNarrowMaps[int32](t, s)
		testNarrowHalf(t, s)
	})
}

func testNarrowMaps[T Element](t *testing.T, s *linalg.Session) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n, size := range narrowShapes {
		rows, cols := size[0], size[1]
		x, y, r, k := some[T](rng, rows*cols), some[T](rng, rows*cols), some[T](rng, cols), some[T](rng, rows)
		bits := make([]bool, rows*cols)
		for i := range bits {
			bits[i] = rng.IntN(2) == 0
		}
		a, b := upload(t, s, rows, cols, true, x), upload(t, s, rows, cols, n%2 == 0, y)
		row, column := upload(t, s, 1, cols, true, r), upload(t, s, rows, 1, true, k)
		mask := upload(t, s, rows, cols, true, bits)
		at := func(x []T) func(i, j int) T { return func(i, j int) T { return x[i*cols+j] } }
		is := func(what string, strided bool, run func(c *Array[T]) error, want func(i, j int) T) {
			t.Helper()
			c := newTarget(t, s, rows, cols, strided, T(77))
			try(t, run(c.Array))
			c.check(t, what, elements(rows, cols, want))
		}
		is("Copy", true, func(c *Array[T]) error { return Copy(c, a) }, at(x))
		is("Copy to packed", false, func(c *Array[T]) error { return Copy(c, a) }, at(x))
		is("Fill", true, func(c *Array[T]) error { return Fill(c, 3) }, func(int, int) T { return 3 })
		is("of a row", true, func(c *Array[T]) error { return Add(c, a, row) },
			func(i, j int) T { return x[i*cols+j] + r[j] })
		is("of a column", false, func(c *Array[T]) error { return Add(c, a, column) },
			func(i, j int) T { return x[i*cols+j] + k[i] })
		is("of one element", true, func(c *Array[T]) error { return Add(c, row.Slice(0, 1, 0, 1), b) },
			func(i, j int) T { return r[0] + y[i*cols+j] })
		is("in place", true, func(c *Array[T]) error {
			try(t, Copy(c, a))
			return Sub(c, c, b)
		}, func(i, j int) T { return x[i*cols+j] - y[i*cols+j] })
		is("Where", true, func(c *Array[T]) error { return Where(c, mask, a, column) }, func(i, j int) T {
			if bits[i*cols+j] {
				return x[i*cols+j]
			}
			return k[i]
		})
		less := newTarget(t, s, rows, cols, true, true)
		try(t, Less(less.Array, a, b))
		less.check(t, "Less", elements(rows, cols, func(i, j int) bool { return x[i*cols+j] < y[i*cols+j] }))
	}
}

func testNarrowHalf(t *testing.T, s *linalg.Session) {
	x := make([]Float16, 200*3)
	for i := range x {
		x[i] = Float16(i)
	}
	c := newTarget(t, s, 200, 3, true, Float16(7))
	try(t, Copy(c.Array, upload(t, s, 200, 3, true, x)))
	c.check(t, "Copy of float16", x)
}

// What goes along rows gives the bits for a part of a wider array that it gives for a packed one.
func TestNarrow(t *testing.T) {
	onCPU(t, func(t *testing.T, s *linalg.Session) {
		testNarrowFloats[float32](t, s)
		testNarrowFloats[float64](t, s)
		testNarrow[int32](t, s)
	})
}

// sameNarrow compares what run makes of a part of a wider array and of a packed one, with results
// of rows by cols in a part of a wider array, too.
func sameNarrow[C, T any](t *testing.T, what string, rows, cols int, part, packed *Array[T], garbage C,
	run func(c *Array[C], a *Array[T]) error,
) {
	t.Helper()
	c, err := linalg.NewArray[C](packed.Session(), rows, cols)
	try(t, err)
	try(t, run(c, packed))
	want, err := c.Download()
	try(t, err)
	to := newTarget(t, part.Session(), rows, cols, true, garbage)
	try(t, run(to.Array, part))
	to.check(t, fmt.Sprintf("%s of %s", what, part), want.Data)
}

func testNarrow[T Element](t *testing.T, s *linalg.Session) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, size := range narrowShapes {
		m, n := size[0], size[1]
		x := some[T](rng, m*n)
		part, packed := upload(t, s, m, n, true, x), upload(t, s, m, n, false, x)
		edges := upload(t, s, 1, 4, false, []T{0, 1, 2, 50})
		sameNarrow(t, "Sum", 1, n, part, packed, 7, Sum[T])
		sameNarrow(t, "Sum by rows", m, 1, part, packed, 7, Sum[T])
		sameNarrow(t, "Sum of all", 1, 1, part, packed, 7, Sum[T])
		sameNarrow(t, "Max", 1, 1, part, packed, 7, Max[T])
		sameNarrow(t, "ArgMin", 1, n, part, packed, 7, ArgMin[T])
		sameNarrow(t, "CumSum", m, n, part, packed, 7, func(c, a *Array[T]) error { return CumSum(c, a) })
		sameNarrow(t, "Flip", m, n, part, packed, 7, func(c, a *Array[T]) error { return Flip(c, a, true, true) })
		sameNarrow(t, "SearchSorted", m, n, part, packed, 7,
			func(c *Array[int32], a *Array[T]) error { return SearchSorted(c, edges, a) })
		sameNarrow(t, "Histogram", 1, 3, part, packed, 7,
			func(c *Array[int32], a *Array[T]) error { return Histogram(c, edges, a) })
		inPlace := newTarget(t, s, m, n, true, T(7))
		try(t, Copy(inPlace.Array, packed))
		try(t, CumSum(inPlace.Array, inPlace.Array))
		try(t, CumSum(packed, packed))
		want, err := packed.Download()
		try(t, err)
		inPlace.check(t, "CumSum in place", want.Data)

		truths := make([]bool, m*n)
		for i := range truths {
			truths[i] = i%n == 0 && i != 0
		}
		mask, packedMask := upload(t, s, m, n, true, truths), upload(t, s, m, n, false, truths)
		sameNarrow(t, "Count", 1, n, mask, packedMask, 7, Count)
		sameNarrow(t, "Any", m, 1, mask, packedMask, true, Any)
		sameNarrow(t, "All", 1, n, mask, packedMask, true, All)
	}
}

func testNarrowFloats[T Float](t *testing.T, s *linalg.Session) {
	testNarrow[T](t, s)
	rng := rand.New(rand.NewPCG(7, 8))
	for _, size := range narrowShapes {
		m, n := size[0], size[1]
		x := some[T](rng, m*n)
		part, packed := upload(t, s, m, n, true, x), upload(t, s, m, n, false, x)
		sameNarrow(t, "Mean", 1, n, part, packed, 7, Mean[T])
		sameNarrow(t, "Uniform", m, n, part, packed, 7,
			func(c, _ *Array[T]) error { return Uniform(&Stream{Seed: 4}, c) })
		sameNarrow(t, "Var", m, 1, part, packed, 7, func(c, a *Array[T]) error { return Var(c, a, 0) })
		sameNarrow(t, "Var of all", 1, 1, part, packed, 7, func(c, a *Array[T]) error { return Var(c, a, 0) })
		sameNarrow(t, "Norm", 1, 1, part, packed, 7, func(c, a *Array[T]) error { return Norm(c, a, 2) })
		sameNarrow(t, "Normal", m, n, part, packed, 7,
			func(c, _ *Array[T]) error { return Normal(&Stream{Seed: 4}, c) })
	}
}

package host

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/internal/racetest"
)

// Vectors have the bits of the definitions on every instruction set, and nothing else is written.
func TestLevel2(t *testing.T) {
	forceVectors(t, testLevel2[float32], testLevel2[float64])
}

// forceVectors runs tests with the functions in assembly, where there are any, and without.
func forceVectors(t *testing.T, test32, test64 func(t *testing.T)) {
	t.Run("float32/chosen", test32)
	t.Run("float64/chosen", test64)
	defer func(old bool) { hasVectors = old }(hasVectors)
	hasVectors = false
	t.Run("float32/go", test32)
	t.Run("float64/go", test64)
}

// vectorSizes has what is left of every tile, and some matrices that all cores work on.
var vectorSizes = []struct{ m, n int }{
	{1, 1},
	{1, 40},
	{2, 3},
	{5, 9},
	{8, 16},
	{13, 21},
	{16, 8},
	{33, 70},
	{70, 33},
	{129, 200},
	{300, 270},
	{700, 40},
	{7, 9000},
	{3000, 50},
}

func testLevel2[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	list := inputs[T]()
	sizes := slices.Clone(vectorSizes)
	for m := 1; m <= 36 && !isShort(); m++ { // all that may be left of rows, lines and registers
		sizes = append(sizes, struct{ m, n int }{m, 7*m%37 + 1})
	}
	for n := 1; n <= 9; n++ { // and each few rows of a square
		sizes = append(sizes, struct{ m, n int }{n, n})
	}
	for i, size := range sizes {
		if size.m*size.n > 20000 && isShort() {
			continue
		}
		in := list[i%len(list)]
		alpha, beta := []T{1, -1.5, 0}[rng.IntN(3)], []T{0, 1, 2.5}[rng.IntN(3)]
		testGemv(t, rng, in, size.m, size.n, i%3, alpha, beta)
		testGer(t, rng, in, size.m, size.n, i%3, alpha)
		n := min(max(size.m, size.n), 1100) // so that strips are fetched ahead
		for _, lower := range []bool{true, false} {
			testSymv(t, rng, in, lower, n, i%3, alpha, beta)
			for kind := range 4 {
				testVectorTriangle(t, rng, in, lower, kind&1 != 0, kind&2 != 0, n, i%3)
			}
		}
	}
}

func testGemv[T Float](t *testing.T, rng *rand.Rand, in input[T], m, n, gap int, alpha, beta T) {
	t.Helper()
	a := in.matrix(rng, m, n, gap)
	for _, trans := range []bool{false, true} {
		rows, cols := m, n
		op := a
		if trans {
			rows, cols = n, m
			op = newMatrix(n, m, 0, func(i, j int) T { return a.data[j*a.ld+i] })
		}
		x, y := in.matrix(rng, cols, 1, 0), in.matrix(rng, 1, rows, 0)
		if beta == 0 {
			y = newMatrix(1, rows, 0, func(int, int) T { return poison[T]() })
		}
		want := y.clone()
		GemmReference(rows, 1, cols, alpha, op.data, op.ld, x.data, 1, beta, want.data, 1)
		Gemv(trans, m, n, alpha, a.data, a.ld, x.data, beta, y.data)
		if err := y.diff(want); err != nil {
			t.Fatalf("gemv of %s, %dx%d, transposed %t, alpha %v, beta %v: %v", in.name, m, n, trans, alpha, beta, err)
		}
	}
}

func testSymv[T Float](t *testing.T, rng *rand.Rand, in input[T], lower bool, n, gap int, alpha, beta T) {
	t.Helper()
	whole := in.matrix(rng, n, n, 0)
	a := newMatrix(n, n, gap, func(i, j int) T {
		if i != j && (j < i) != lower {
			return poison[T]()
		}
		return whole.data[i*n+j]
	})
	full := newMatrix(n, n, 0, func(i, j int) T {
		if i != j && (j < i) != lower {
			i, j = j, i
		}
		return whole.data[i*n+j]
	})
	x, y := in.matrix(rng, n, 1, 0), in.matrix(rng, 1, n, 0)
	want := y.clone()
	GemmReference(n, 1, n, alpha, full.data, n, x.data, 1, beta, want.data, 1)
	Symv(lower, n, alpha, a.data, a.ld, x.data, beta, y.data)
	if err := y.diff(want); err != nil {
		t.Fatalf("symv of %s, %d rows, lower %t, alpha %v, beta %v: %v", in.name, n, lower, alpha, beta, err)
	}
}

func testGer[T Float](t *testing.T, rng *rand.Rand, in input[T], m, n, gap int, alpha T) {
	t.Helper()
	x, y, a := in.matrix(rng, 1, m, 0), in.matrix(rng, 1, n, 0), in.matrix(rng, m, n, gap)
	want := newMatrix(m, n, gap, func(i, j int) T { return FMA(Mul(alpha, x.data[i]), y.data[j], a.data[i*a.ld+j]) })
	Ger(m, n, alpha, x.data, y.data, a.data, a.ld)
	if err := a.diff(want); err != nil {
		t.Fatalf("ger of %s, %dx%d, alpha %v: %v", in.name, m, n, alpha, err)
	}
	if m > n {
		return
	}
	for _, lower := range []bool{true, false} {
		for _, two := range []bool{false, true} {
			a := in.matrix(rng, m, m, gap)
			want := newMatrix(m, m, gap, func(i, j int) T {
				v := a.data[i*a.ld+j]
				switch {
				case i != j && (j < i) != lower:
					return v
				case two:
					v = FMA(Mul(alpha, x.data[i]), y.data[j], v)
					return FMA(Mul(alpha, y.data[i]), x.data[j], v)
				}
				return FMA(Mul(alpha, x.data[i]), x.data[j], v)
			})
			if two {
				Syr2(lower, m, alpha, x.data, y.data, a.data, a.ld)
			} else {
				Syr(lower, m, alpha, x.data, a.data, a.ld)
			}
			if err := a.diff(want); err != nil {
				t.Fatalf("syr of %s, %d rows, lower %t, two vectors %t: %v", in.name, m, lower, two, err)
			}
		}
	}
}

func testVectorTriangle[T Float](
	t *testing.T, rng *rand.Rand, in input[T], lower, trans, unit bool, n, gap int,
) {
	t.Helper()
	a := newMatrix(n, n, gap, func(i, j int) T {
		if i == j && unit || i != j && (j < i) != lower {
			return poison[T]()
		}
		return in.next(rng)
	})
	x := in.matrix(rng, 1, n, 0)
	op := func(i, k int) T {
		switch {
		case i == k && unit:
			return 1
		case trans:
			return a.data[k*a.ld+i]
		}
		return a.data[i*a.ld+k]
	}
	product, solution := x.clone(), x.clone()
	for p := range n {
		i, step := p, 1
		if lower == trans {
			i, step = n-1-p, -1
		}
		first := i - p*step // the unknown that becomes known first
		acc := x.data[i]
		for k := first; k != i; k += step {
			acc = FMA(-op(i, k), solution.data[k], acc)
		}
		if !unit {
			acc /= op(i, i)
		}
		solution.data[i] = acc
		acc = 0
		for k := min(i, first); k <= max(i, first); k++ {
			acc = FMA(op(i, k), x.data[k], acc)
		}
		product.data[i] = acc
	}
	what := fmt.Sprintf("%s, %d rows, lower %t, transposed %t, unit %t", in.name, n, lower, trans, unit)
	got := x.clone()
	Trmv(lower, trans, unit, n, a.data, a.ld, got.data)
	if err := got.diff(product); err != nil {
		t.Fatalf("trmv of %s: %v", what, err)
	}
	got = x.clone()
	Trsv(lower, trans, unit, n, a.data, a.ld, got.data)
	if err := got.diff(solution); err != nil {
		t.Fatalf("trsv of %s: %v", what, err)
	}
}

// A small product with a vector allocates nothing.
func TestLevel2AllocatesNothing(t *testing.T) {
	if racetest.Enabled {
		t.Skip("the race detector empties pools")
	}
	const n = 64
	a, x, y := make([]float32, n*n), make([]float32, n), make([]float32, n)
	for name, f := range map[string]func(){
		"gemv":  func() { Gemv(false, n, n, 2, a, n, x, 1, y) },
		"gemvT": func() { Gemv(true, n, n, 2, a, n, x, 1, y) },
		"symv":  func() { Symv(true, n, 2, a, n, x, 1, y) },
		"ger":   func() { Ger(n, n, 0, x, y, a, n) },
		"trmv":  func() { Trmv(true, false, false, n, a, n, x) },
		"trsv":  func() { Trsv(true, false, true, n, a, n, x) },
		"dot":   func() { Dot(x, y) },
		"asum":  func() { Asum(x) },
		"axpy":  func() { Axpy(2, x, y) },
		"scal":  func() { Scal(2, x) },
	} {
		if n := testing.AllocsPerRun(100, f); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

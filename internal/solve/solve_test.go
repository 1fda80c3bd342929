package solve

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/internal/host"
)

// kinds are what matrices hold.
var kinds = []string{"random", "ties", "special", "graded"}

// matrix is rows of cols elements of a kind, ld apart, with NaN in the gaps.
func matrix[T host.Float](rng *rand.Rand, kind string, rows, cols, ld int) []T {
	m := make([]T, rows*ld)
	for i := range m {
		m[i] = T(math.NaN())
	}
	for i := range rows {
		for j := range cols {
			x := 2*rng.Float64() - 1
			switch kind {
			case "ties":
				x = math.Trunc(4 * x)
			case "special":
				if rng.IntN(200) == 0 {
					x = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300}[rng.IntN(4)]
				} else if rng.IntN(10) == 0 {
					x = math.Copysign(0, x)
				}
			case "graded":
				x = math.Ldexp(x, -(i+2*j)%60)
			}
			m[i*ld+j] = T(x)
		}
	}
	return m
}

// same compares bits; a NaN is any NaN.
func same[T host.Float](t *testing.T, what string, got, want []T) {
	t.Helper()
	for i, g := range got {
		w := want[i]
		if (g == g || w == w) && (g != w || math.Signbit(float64(g)) != math.Signbit(float64(w))) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, g, w)
		}
	}
}

func both(t *testing.T, f32, f64 func(t *testing.T)) {
	t.Run("float32", f32)
	t.Run("float64", f64)
}

func TestLU(t *testing.T) { both(t, testLU[float32], testLU[float64]) }

func testLU[T host.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i, s := range [][2]int{
		{1, 1},
		{2, 2},
		{3, 5},
		{5, 3},
		{12, 12},
		{13, 13},
		{13, 1},
		{1, 13},
		{64, 64},
		{65, 65},
		{100, 30},
		{30, 100},
		{129, 129},
		{200, 70},
		{70, 200},
		{161, 257},
	} {
		for _, kind := range kinds {
			m, n := s[0], s[1]
			ld := n + i%3
			a := matrix[T](rng, kind, m, n, ld)
			if kind == "ties" && n > 3 { // columns repeat: singular
				for r := range m {
					a[r*ld+n/2] = a[r*ld+n/3]
				}
			}
			want := slices.Clone(a)
			p, q := make([]int, min(m, n)), make([]int, min(m, n))
			wantSingular := LUReference(m, n, want, ld, q)
			singular, err := Solver[T]{}.LU(m, n, a, ld, p)
			what := fmt.Sprintf("%s %dx%d", kind, m, n)
			if err != nil || singular != wantSingular || !slices.Equal(p, q) {
				t.Fatalf("%s: %v, singular at %d, want %d; pivots\n%v, want\n%v", what, err, singular, wantSingular,
					p, q)
			}
			same(t, what, a, want)
		}
	}
}

// positive is symmetric and positive definite, with NaN outside one triangle.
func positive[T host.Float](rng *rand.Rand, lower bool, n, ld int) []T {
	a := matrix[T](rng, "random", n, n, ld)
	for i := range n {
		for j := range n {
			if i != j && (i > j) != lower {
				a[i*ld+j] = T(math.NaN())
			}
		}
		a[i*ld+i] += T(n)
	}
	return a
}

func TestCholesky(t *testing.T) { both(t, testCholesky[float32], testCholesky[float64]) }

func testCholesky[T host.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i, n := range []int{1, 2, 5, 31, 32, 33, 64, 65, 100, 129, 200, 261} {
		for _, lower := range []bool{false, true} {
			ld := n + i%3
			a := positive[T](rng, lower, n, ld)
			fails := -1
			if i%4 == 3 { // not positive definite from some row on
				fails = n * 2 / 3
				a[fails*ld+fails] = []T{0, -1, T(math.NaN())}[i/4%3]
			}
			want := slices.Clone(a)
			wantRow := CholeskyReference(n, func(i, j int) *T {
				if lower {
					return &want[i*ld+j]
				}
				return &want[j*ld+i]
			})
			row, err := Solver[T]{}.Cholesky(lower, n, a, ld)
			what := fmt.Sprintf("%d, lower %t", n, lower)
			if err != nil || row != wantRow || row > fails {
				t.Fatalf("%s: %v, fails at %d, want %d", what, err, row, wantRow)
			}
			if row < 0 {
				same(t, what, a, want)
			}
		}
	}
}

func TestTriangles(t *testing.T) { both(t, testTriangles[float32], testTriangles[float64]) }

func testTriangles[T host.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for i, n := range []int{1, 5, 32, 33, 64, 65, 100, 129, 200} {
		for k := range 32 {
			if n > 100 && k%3 != i%3 {
				continue
			}
			solve, left, upper, trans, unit := k&1 == 0, k&2 == 0, k&4 == 0, k&8 == 0, k&16 == 0
			lda, cols, alpha := n+i%3, []int{1, 3, 40, 230}[(i+k/3)%4], []T{1, -1.5}[(k/5+i)%2]
			a := matrix[T](rng, kinds[k%4], n, n, lda)
			at := func(i, k int) T { return a[i*lda+k] }
			if trans {
				at = func(i, k int) T { return a[k*lda+i] }
			}
			for r := range n {
				a[r*lda+r] += 3
				for c := range n {
					if c == r && unit || c != r && (c > r) != upper {
						a[r*lda+c] = T(math.NaN())
					}
				}
			}
			rows, width := n, cols
			if !left {
				rows, width = cols, n
			}
			ldb := width + 1 + i%2
			b := matrix[T](rng, kinds[(k+i)%4], rows, width, ldb)
			want := slices.Clone(b)
			for c := range cols {
				x, opUpper := make([]T, n), upper != trans
				of := func(r int) *T { return &want[r*ldb+c] }
				e := at
				if !left {
					of = func(r int) *T { return &want[c*ldb+r] }
					e, opUpper = func(i, k int) T { return at(k, i) }, !opUpper
				}
				for r := range x {
					x[r] = *of(r)
				}
				TriangleReference(solve, n, e, opUpper, unit, alpha, x)
				for r, v := range x {
					*of(r) = v
				}
			}
			tri := Triangle[T]{N: n, Data: a, Stride: lda, Upper: upper, Trans: trans, Unit: unit}
			f := Solver[T]{}.Multiply
			if solve {
				f = Solver[T]{}.Solve
			}
			if err := f(tri, left, alpha, rows, width, b, ldb); err != nil {
				t.Fatal(err)
			}
			same(t, fmt.Sprintf("%d, %d columns, solve %t left %t upper %t trans %t unit %t alpha %v",
				n, cols, solve, left, upper, trans, unit, alpha), b, want)
		}
	}
}

// Inverses are the solutions by the same factors.
func TestInverses(t *testing.T) {
	t.Run("float32", testInverses[float32])
	t.Run("float64", testInverses[float64])
}

func testInverses[T host.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	var s Solver[T]
	for _, n := range []int{1, 2, 3, 4, base + 1} {
		ld := n + n%2
		a := matrix[T](rng, "random", n, n, ld)
		piv := make([]int, n)
		for i := range piv {
			piv[i] = i + rng.IntN(n-i)
		}
		want := func(solve func(x []T) error) []T {
			memory, x := identity[T](n)
			defer memory.Give()
			if err := solve(x); err != nil {
				t.Fatal(err)
			}
			return slices.Clone(x)
		}
		check := func(what string, keep func(i, j int) bool, want []T, invert func(a []T) error) {
			got := slices.Clone(a)
			if err := invert(got); err != nil {
				t.Fatal(err)
			}
			whole := slices.Clone(a)
			for i := range n {
				for j := range n {
					if !keep(i, j) {
						whole[i*ld+j] = want[i*n+j]
					}
				}
			}
			same(t, fmt.Sprint(what, " ", n), got, whole)
		}
		check("LU", func(i, j int) bool { return false },
			want(func(x []T) error { return s.SolveLU(false, n, n, a, ld, piv, x, n) }),
			func(a []T) error { return s.InvertLU(n, a, ld, piv) })
		for _, lower := range []bool{false, true} {
			outside := func(i, j int) bool { return i != j && (j < i) != lower }
			check("Cholesky", outside,
				want(func(x []T) error { return s.SolveCholesky(lower, n, n, a, ld, x, n) }),
				func(a []T) error { return s.InvertCholesky(lower, n, a, ld) })
			for _, unit := range []bool{false, true} {
				e := Triangle[T]{N: n, Data: a, Stride: ld, Upper: !lower, Unit: unit}
				check("triangle", func(i, j int) bool { return outside(i, j) || unit && i == j },
					want(func(x []T) error { return s.Solve(e, true, 1, n, n, x, n) }),
					func(a []T) error { return s.InvertTriangle(!lower, unit, n, a, ld) })
			}
		}
	}
}

// The work of a large solution is more than an int of 32 bits counts, and still for all cores.
func TestLargeAtOnce(t *testing.T) {
	const n = 1300
	stop, first := errors.New("stop"), 0
	s := Solver[float32]{AtOnce: func(_, _, k int) (bool, error) {
		first = k
		return false, stop
	}}
	a, b := make([]float32, n*n), make([]float32, n*n)
	e := Triangle[float32]{N: n, Data: a, Stride: n, Unit: true}
	if err := s.Solve(e, true, 1, n, n, b, n); !errors.Is(err, stop) {
		t.Error(err)
	}
	if first != n {
		t.Errorf("the first work at once has %d steps, not %d", first, n)
	}
}

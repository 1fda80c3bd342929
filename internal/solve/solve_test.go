package solve

import (
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

// luReference is LU by the definition: a plain loop for each element's chain, column by column.
func luReference[T host.Float](m, n int, a []T, lda int, piv []int) int {
	singular := -1
	for j := range n {
		for i := range m {
			for k := range min(i, j) {
				a[i*lda+j] = host.FMA(-a[i*lda+k], a[k*lda+j], a[i*lda+j])
			}
		}
		if j >= m {
			continue
		}
		p := j
		for i := j; i < m; i++ {
			best, v := math.Abs(float64(a[p*lda+j])), math.Abs(float64(a[i*lda+j]))
			if best == best && (v > best || v != v) {
				p = i
			}
		}
		piv[j] = p
		for c := range n {
			a[j*lda+c], a[p*lda+c] = a[p*lda+c], a[j*lda+c]
		}
		u := a[j*lda+j]
		if u == 0 && singular < 0 {
			singular = j
		}
		for i := j + 1; i < m && u != 0; i++ {
			a[i*lda+j] /= u
		}
	}
	return singular
}

func TestLU(t *testing.T) { both(t, testLU[float32], testLU[float64]) }

func testLU[T host.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i, s := range [][2]int{
		{1, 1}, {2, 2}, {3, 5}, {5, 3}, {12, 12}, {13, 13}, {13, 1}, {1, 13}, {64, 64}, {65, 65}, {100, 30}, {30, 100},
		{129, 129}, {200, 70}, {70, 200}, {161, 257},
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
			wantSingular := luReference(m, n, want, ld, q)
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

// choleskyReference is Cholesky by the definition, with element (i, j) of the lower triangle at at.
func choleskyReference[T host.Float](n int, at func(i, j int) *T) int {
	for j := range n {
		for i := j; i < n; i++ {
			acc := *at(i, j)
			for k := range j {
				acc = host.FMA(-*at(i, k), *at(j, k), acc)
			}
			switch {
			case i > j:
				acc /= *at(j, j)
			case !(acc > 0):
				return j
			default:
				acc = T(math.Sqrt(float64(acc)))
			}
			*at(i, j) = acc
		}
	}
	return -1
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
			wantRow := choleskyReference(n, func(i, j int) *T {
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

// triangleReference is Solve or Multiply by the definition, for op(A)'s elements at the left of one
// column.
func triangleReference[T host.Float](solve bool, n int, at func(i, k int) T, upper, unit bool, alpha T, b []T) {
	x := slices.Clone(b)
	for r := range n {
		i, step := r, 1
		if upper {
			i, step = n-1-r, -1
		}
		if solve {
			acc, k := host.Mul(alpha, b[i]), 0
			if upper {
				k = n - 1
			}
			for ; k != i; k += step {
				acc = host.FMA(-at(i, k), x[k], acc)
			}
			if !unit {
				acc /= at(i, i)
			}
			x[i] = acc
			continue
		}
		var acc T
		for k := range n {
			switch {
			case k == i && unit:
				acc = host.FMA(1, b[k], acc)
			case k == i || (k > i) == upper:
				acc = host.FMA(at(i, k), b[k], acc)
			}
		}
		x[i] = host.Mul(alpha, acc)
	}
	copy(b, x)
}

func TestTriangles(t *testing.T) { both(t, testTriangles[float32], testTriangles[float64]) }

func testTriangles[T host.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for i, n := range []int{1, 5, 32, 33, 64, 65, 100, 129, 200} {
		for k := range 32 {
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
				triangleReference(solve, n, e, opUpper, unit, alpha, x)
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

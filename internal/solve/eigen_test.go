package solve

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/internal/host"
)

// tridiagonalReference is tridiagonal by the definition.
func tridiagonalReference(n int, a []float64, lda int, d, e, tau []float64) {
	var vs, ws [][]float64 // of the panel, by rows of A
	at := func(i, j, pairs int) float64 {
		v := a[max(i, j)*lda+min(i, j)]
		for r := range pairs {
			v = math.FMA(-ws[r][j], vs[r][i], v)
			v = math.FMA(-vs[r][j], ws[r][i], v)
		}
		return v
	}
	for c := range n - 1 {
		k := c / Panel * Panel
		if c == k { // the panel before is done
			for j := range n {
				for i := n - 1; i >= j && k > 0 && j >= k; i-- {
					a[i*lda+j] = at(i, j, len(vs))
				}
			}
			vs, ws = nil, nil
		}
		x := make([]float64, n-c-1)
		for i := range x {
			x[i] = at(c+1+i, c, len(vs))
		}
		d[c] = at(c, c, len(vs))
		e[c], tau[c] = householder(x)
		v, w := make([]float64, n), make([]float64, n)
		copy(v[c+1:], x)
		chain := func(y []float64) (sum float64) {
			for i := c + 1; i < n; i++ {
				sum = math.FMA(y[i], v[i], sum)
			}
			return sum
		}
		for i := c + 1; i < n && tau[c] != 0; i++ {
			for j := c + 1; j < n; j++ {
				w[i] = math.FMA(a[max(i, j)*lda+min(i, j)], v[j], w[i])
			}
			for r := range vs {
				w[i] = math.FMA(-chain(ws[r]), vs[r][i], w[i])
				w[i] = math.FMA(-chain(vs[r]), ws[r][i], w[i])
			}
			w[i] *= tau[c]
		}
		f := -0.5 * tau[c] * host.Dot(w[c+1:], v[c+1:])
		for i := c + 1; i < n && tau[c] != 0; i++ {
			w[i] = math.FMA(f, v[i], w[i])
		}
		vs, ws = append(vs, v), append(ws, w)
	}
	d[n-1] = at(n-1, n-1, len(vs))
}

func TestTridiagonal(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, n := range []int{2, 3, 20, 33, 34, 71} {
		for _, kind := range []string{"random", "ties", "graded"} {
			a := matrix[float64](rng, kind, n, n, n)
			b := slices.Clone(a)
			var d, e, tau [2][]float64
			for k := range 2 {
				d[k], e[k], tau[k] = make([]float64, n), make([]float64, n), make([]float64, n)
			}
			tridiagonalReference(n, a, n, d[0], e[0], tau[0])
			r := tridiagonal{n: n, a: b, vectors: true, d: d[1], e: e[1], tau: tau[1]}
			r.memory = make([]float64, tridiagonalMemory(n))
			if err := r.reduce(); err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("%s %d", kind, n)
			same(t, what+" diagonal", d[1], d[0])
			same(t, what+" beside it", e[1], e[0])
			same(t, what+" tau", tau[1], tau[0])
		}
	}
}

// Eigenvalues without vectors are those with, but for rounding; what is not finite ends.
func TestEigSym(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for _, n := range []int{1, 2, 31, 33, 66, 130, 300} {
		a := matrix[float64](rng, "random", n, n, n+1)
		if n == 300 { // of rank one, whose first eigenvalue takes as many steps
			x := slices.Clone(a[:n])
			for i := range n {
				for j, v := range x {
					a[i*(n+1)+j] = x[i] * v
				}
			}
		}
		w, only := make([]float64, n), make([]float64, n)
		b := slices.Clone(a)
		if ok, err := EigSym(Solver[float64]{}, false, true, n, slices.Clone(a), n+1, only); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if ok, err := EigSym(Solver[float64]{}, true, true, n, b, n+1, w); !ok || err != nil {
			t.Fatal(ok, err)
		}
		for i, v := range w {
			if !(math.Abs(v-only[i]) < 1e-13*float64(n)) || i > 0 && v < w[i-1] {
				t.Fatalf("%d: eigenvalue %d is %v with vectors, %v without", n, i, v, only[i])
			}
		}
		for _, bad := range []float64{math.NaN(), math.Inf(1)} {
			b := slices.Clone(a)
			b[(n-1)*(n+1)+n/2] = bad
			ok, err := EigSym(Solver[float64]{}, true, true, n, b, n+1, w)
			if ok || err != nil || w[0] == w[0] || b[(n-1)*(n+1)] == b[(n-1)*(n+1)] {
				t.Fatalf("%d with %v: %v, %v, %v", n, bad, ok, err, w)
			}
		}
	}
}

// The squares of what the shift is made of leave the range, whatever the signs.
func TestEigSymFarShift(t *testing.T) {
	for _, d := range [][]float64{{1, 0}, {0, 1}, {-1, 0}, {0, -1}} {
		for _, e := range []float64{1e-130, -1e-130} {
			w := make([]float64, 2)
			ok, err := EigSym(Solver[float64]{}, false, true, 2, []float64{d[0], math.NaN(), e, d[1]}, 2, w)
			if !ok || err != nil || w[0]+w[1] != d[0]+d[1] || math.Abs(w[1]-w[0]) != 1 {
				t.Errorf("%g beside %g: %g, %v, %v", d, e, w, ok, err)
			}
		}
	}
}

// Positive definite matrices whose rows become smaller and smaller keep most digits of their small
// eigenvalues, which are their singular values.
func TestEigSymOfGraded(t *testing.T) {
	rng := rand.New(rand.NewPCG(47, 48))
	for i := range 200 {
		n, ratio, lower := 3+i%60, 0.5+4*rng.Float64(), i%2 == 0
		a := make([]float64, n*n)
		for i := range n {
			for j := range i + 1 {
				x := 0.01 * rng.NormFloat64()
				if i == j {
					x = 1
				}
				a[i*n+j] = x * math.Exp2(-ratio/2*float64(i+j))
				a[j*n+i] = a[i*n+j]
			}
		}
		want := make([]float64, n)
		SVD(Solver[float64]{}, n, n, slices.Clone(a), n, want, SingularVectors{})
		slices.Reverse(want)
		if !lower { // which is reduced from the last row on
			slices.Reverse(a)
		}
		for _, vectors := range []bool{false, true} {
			w := make([]float64, n)
			if ok, err := EigSym(Solver[float64]{}, vectors, lower, n, slices.Clone(a), n, w); !ok || err != nil {
				t.Fatal(ok, err)
			}
			for k, v := range w {
				if !(math.Abs(v-want[k]) <= 1e-9*want[k]) {
					t.Fatalf("%d rows of ratio %v, lower %t: value %d is %v, want %v", n, ratio, lower, k, v, want[k])
				}
			}
		}
	}
}

// EigSym ends for matrices of numbers that are far from each other, and is right.
func TestEigSymOfHardMatrices(t *testing.T) {
	count := 20000
	if testing.Short() {
		count = 2000
	}
	hardMatrices(count, func(x hardMatrix) { checkEigSym(t, symmetric(min(x.m, x.n), x)) })
	for code := range 729 { // all of few numbers
		a, c := make([]float64, 9), code
		for i := range 3 {
			for j := range i + 1 {
				a[i*3+j], a[j*3+i], c = []float64{0, 1, 1e9}[c%3], []float64{0, 1, 1e9}[c%3], c/3
			}
		}
		checkEigSym(t, hardMatrix{fmt.Sprint("number ", code), 3, 3, a})
	}
	rng := rand.New(rand.NewPCG(43, 44))
	for _, kind := range []string{"random", "ties", "graded"} { // that are divided
		for _, n := range []int{40, 70} {
			a := matrix[float64](rng, kind, n, n, n)
			for i := range n { // beside a large one, and next to nothing
				a[i*n], a[i] = a[i*n]*1e9, a[i]*1e9
				a[i*n+n-1], a[i+(n-1)*n] = a[i*n+n-1]*1e-150, a[i+(n-1)*n]*1e-150
			}
			checkEigSym(t, symmetric(n, hardMatrix{kind, n, n, a}))
		}
	}
}

// symmetric is the symmetric matrix of the first n rows and columns, of which the lower triangle
// counts.
func symmetric(n int, x hardMatrix) hardMatrix {
	y := hardMatrix{x.what, n, n, make([]float64, n*n)}
	for i := range n {
		for j := range i + 1 {
			y.a[i*n+j], y.a[j*n+i] = x.a[i*x.n+j], x.a[i*x.n+j]
		}
	}
	return y
}

// checkEigSym compares A*V with V*W, of either triangle.
func checkEigSym(t *testing.T, x hardMatrix) {
	t.Helper()
	for _, lower := range []bool{true, false} {
		v, w := slices.Clone(x.a), make([]float64, x.n)
		for i := range x.n {
			for j := range i {
				v[map[bool]int{true: j*x.n + i, false: i*x.n + j}[lower]] = math.NaN()
			}
		}
		if ok, err := EigSym(Solver[float64]{}, true, lower, x.n, v, x.n, w); !ok || err != nil {
			t.Fatalf("%s %v, lower %t: %v, %v", x.what, x.a, lower, ok, err)
		}
		checkVectors(t, x, v, w)
	}
}

func checkVectors(t *testing.T, x hardMatrix, v, w []float64) {
	t.Helper()
	n, a := x.n, slices.Clone(x.a)
	exp, _ := rescaleVectors(a, nil)
	scaleBack(-exp, w)
	within := 20 * 0x1p-52 * float64(n) // of a matrix whose largest magnitude is 1/2 to 1
	for i := range n {
		for j := range n {
			res, sum := 0.0, 0.0
			for k := range n {
				res += a[i*n+k] * v[k*n+j]
				sum += v[k*n+i] * v[k*n+j]
			}
			if i == j {
				sum--
			}
			if res -= w[j] * v[i*n+j]; !(math.Abs(res) <= within*float64(n)) || !(math.Abs(sum) <= within) {
				t.Fatalf("%s %v: values %v, vectors %d and %d: %v, element (%d, %d) is off by %v", x.what, x.a, w, i, j,
					sum, i, j, res)
			}
		}
		if i > 0 && w[i] < w[i-1] {
			t.Fatalf("%s: %v", x.what, w)
		}
	}
}

// A diagonal has its own values, as far as they may be from each other.
func TestEigSymOfDiagonal(t *testing.T) {
	for _, d := range [][]float64{{1e-200, 1e200}, {1e-290, 1e-200, 3e-100}, {-1e308, 1e-300, 1, 1e308}} {
		n := len(d)
		for _, vectors := range []bool{false, true} {
			a, w := make([]float64, n*n), make([]float64, n)
			for i, v := range d {
				a[i*(n+1)] = v
			}
			if ok, err := EigSym(Solver[float64]{}, vectors, true, n, a, n, w); !ok || err != nil {
				t.Fatal(ok, err)
			}
			for i, v := range w {
				if !(math.Abs(v-d[i]) <= 0x1p-50*math.Abs(d[i])) && math.Abs(d[i]) > 1e-300 {
					t.Errorf("values %v of %v", w, d)
				}
			}
		}
	}
}

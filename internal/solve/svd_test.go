package solve

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/internal/host"
)

// bidiagonalReference is [bidiagonal.reduce] by the definition.
func bidiagonalReference(m, n int, a []float64, lda int, d, e, tauQ, tauP []float64) {
	var v, x, y, u [][]float64 // of the panel
	at := func(i, j, pairs int, half bool) float64 {
		acc := a[i*lda+j]
		for r := range pairs {
			acc = math.FMA(-v[r][i], y[r][j], acc)
			if r < pairs-1 || !half {
				acc = math.FMA(-x[r][i], u[r][j], acc)
			}
		}
		return acc
	}
	chain := func(lo int, p, q []float64) (sum float64) {
		for i := lo; i < len(p); i++ {
			sum = math.FMA(p[i], q[i], sum)
		}
		return sum
	}
	for c := range n {
		if c%Panel == 0 {
			for i := c; i < m && c > 0; i++ {
				for j := c; j < n; j++ {
					a[i*lda+j] = at(i, j, len(v), false)
				}
			}
			v, x, y, u = nil, nil, nil, nil
		}
		vc, xc, yc, uc := make([]float64, m), make([]float64, m), make([]float64, n), make([]float64, n)
		for i := c; i < m; i++ {
			vc[i] = at(i, c, len(v), false)
		}
		d[c], tauQ[c] = householder(vc[c:])
		for j := c + 1; j < n && tauQ[c] != 0; j++ {
			for i := c; i < m; i++ {
				yc[j] = math.FMA(a[i*lda+j], vc[i], yc[j])
			}
			for r := range v {
				yc[j] = math.FMA(-chain(c, v[r], vc), y[r][j], yc[j])
				yc[j] = math.FMA(-chain(c, x[r], vc), u[r][j], yc[j])
			}
			yc[j] *= tauQ[c]
		}
		v, x, y, u = append(v, vc), append(x, xc), append(y, yc), append(u, uc)
		if c == n-1 {
			break
		}
		for j := c + 1; j < n; j++ {
			uc[j] = at(c, j, len(v), true)
		}
		e[c], tauP[c] = householder(uc[c+1:])
		for i := c + 1; i < m && tauP[c] != 0; i++ {
			for j := c + 1; j < n; j++ {
				xc[i] = math.FMA(a[i*lda+j], uc[j], xc[i])
			}
			for r := range v {
				xc[i] = math.FMA(-chain(c+1, y[r], uc), v[r][i], xc[i])
				if r < len(v)-1 {
					xc[i] = math.FMA(-chain(c+1, u[r], uc), x[r][i], xc[i])
				}
			}
			xc[i] *= tauP[c]
		}
	}
}

func TestBidiagonal(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for i, s := range [][2]int{{1, 1}, {5, 1}, {3, 3}, {33, 33}, {40, 33}, {70, 66}} {
		for _, kind := range []string{"random", "ties", "graded"} {
			m, n := s[0], s[1]
			ld := n + i%3
			a := matrix[float64](rng, kind, m, n, ld)
			b := bidiagonal{
				m: m, n: n, lda: ld, a: slices.Clone(a), p: make([]float64, n*n), d: make([]float64, n),
				e: make([]float64, n), tauQ: make([]float64, n), tauP: make([]float64, n),
			}
			d, e, tauQ, tauP := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
			bidiagonalReference(m, n, a, ld, d, e, tauQ, tauP)
			if err := b.reduce(); err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("%s %dx%d", kind, m, n)
			same(t, what+" diagonal", b.d, d)
			same(t, what+" above it", b.e, e)
			same(t, what+" Q", b.tauQ, tauQ)
			same(t, what+" P", b.tauP, tauP)
		}
	}
}

// Values do not depend on the vectors that are asked for, nor vectors on how many; products give A.
func TestSVD(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	for _, s := range [][2]int{
		{1, 1}, {1, 4}, {4, 1}, {20, 17}, {17, 20}, {40, 20}, {20, 40}, {70, 70}, {60, 50}, {50, 60}, {90, 40},
	} {
		m, n := s[0], s[1]
		k := min(m, n)
		a := matrix[float64](rng, "random", m, n, n+1)
		thin := SingularVectors{U: make([]float64, m*k), Cols: k, LdU: k, VT: make([]float64, k*n), Rows: k, LdVT: n}
		whole := SingularVectors{U: make([]float64, m*m), Cols: m, LdU: m, VT: make([]float64, n*n), Rows: n, LdVT: n}
		var sv [3][]float64
		for i, v := range []SingularVectors{{}, thin, whole} {
			sv[i] = make([]float64, k)
			if ok, err := SVD(Solver[float64]{}, m, n, slices.Clone(a), n+1, sv[i], v); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		same(t, "values of thin", sv[1], sv[0])
		same(t, "values of all", sv[2], sv[0])
		us := make([]float64, m*k)
		for i := range m {
			same(t, "U", thin.U[i*k:][:k], whole.U[i*m:][:k])
			for j := range k {
				us[i*k+j] = thin.U[i*k+j] * sv[0][j]
			}
		}
		same(t, "VT", thin.VT, whole.VT[:k*n])
		one := SingularVectors{U: make([]float64, m*k), Cols: k, LdU: k}
		other := SingularVectors{VT: make([]float64, k*n), Rows: k, LdVT: n}
		for i, v := range []SingularVectors{one, other} {
			if ok, err := SVD(Solver[float64]{}, m, n, slices.Clone(a), n+1, sv[i+1], v); !ok || err != nil {
				t.Fatal(ok, err)
			}
			same(t, "values of one", sv[i+1], sv[0])
		}
		same(t, "U alone", one.U, thin.U)
		same(t, "VT alone", other.VT, thin.VT)
		host.SubMul(m, n, k, us, k, thin.VT, n, a, n+1)
		for i := range m {
			for j, v := range a[i*(n+1):][:n] {
				if !(math.Abs(v) < 1e-13*sv[0][0]) {
					t.Fatalf("%v: element (%d, %d) is off by %v", s, i, j, v)
				}
			}
		}
		for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
			a[(m-1)*(n+1)+n-1] = bad
			ok, err := SVD(Solver[float64]{}, m, n, slices.Clone(a), n+1, sv[0], thin)
			if ok || err != nil || sv[0][0] == sv[0][0] || thin.U[0] == thin.U[0] || thin.VT[0] == thin.VT[0] {
				t.Fatalf("%v with %v: %v, %v", s, bad, ok, err)
			}
		}
	}
}

// The iteration asks whether it is to end, and where vectors are wanted an error of a product ends
// both.
func TestSVDEnds(t *testing.T) {
	const n = 600
	stop, products := errors.New("stop"), 0
	s := Solver[float64]{
		AtOnce: func(m, n, k int) (bool, error) {
			if m == 0 {
				return false, stop
			}
			return true, nil
		},
		Update: func(negate bool, m, n, k int, a []float64, lda int, b []float64, ldb int, c []float64, ldc int) error {
			if products++; products > n/Panel+2 {
				return stop
			}
			host.Update(negate, m, n, k, a, lda, b, ldb, c, ldc)
			return nil
		},
	}
	a := matrix[float64](rand.New(rand.NewPCG(35, 36)), "random", n, n, n)
	u, v := make([]float64, n*n), make([]float64, n*n)
	for _, v := range []SingularVectors{{}, {U: u, Cols: n, LdU: n, VT: v, Rows: n, LdVT: n}} {
		products = 0
		if _, err := SVD(s, n, n, slices.Clone(a), n, make([]float64, n), v); !errors.Is(err, stop) {
			t.Error(err)
		}
	}
}

// A hardMatrix is a matrix whose iteration ended with NaN, or might have.
type hardMatrix struct {
	what string
	m, n int
	a    []float64
}

// hardMatrices gives each of a number of small matrices of values that are far from each other.
func hardMatrices(count int, each func(hardMatrix)) {
	for _, x := range [][]float64{
		{1, -1, 0, 0, 1e9, 1, 0, 0, 1},
		{1, 0, 1e-8, 0, 1e-8, 0, 0, 1e-16, 1e-8},
		{0, 1e9, 1, 1, 0, 1e9, 1, 0, 0},
	} {
		each(hardMatrix{"of the report", 3, 3, x})
	}
	each(hardMatrix{"of the report", 3, 4, []float64{1e9, 1, 0, 0, 1e9, 0, 1, 0, 1e9, 0, 0, 1}})
	rng := rand.New(rand.NewPCG(37, 38))
	for i := range count {
		m, n := 1+rng.IntN(6), 1+rng.IntN(6)
		kinds := []func(i, j int) float64{
			func(i, j int) float64 { return rng.NormFloat64() * math.Pow(10, 600*rng.Float64()-300) },
			func(i, j int) float64 { return rng.NormFloat64() * math.Pow(10, float64(16*rng.IntN(3)-16)) },
			func(i, j int) float64 { return []float64{0, 1, -1, 1e9, 1e-9, 1e-17}[rng.IntN(6)] },
			func(i, j int) float64 { // a triangle that begins with next to nothing
				switch {
				case i == 0 && j == 0:
					return 1e-310 * rng.Float64()
				case i > j:
					return 0
				}
				return rng.NormFloat64()
			},
			func(i, j int) float64 { // a diagonal with rounding errors
				if i == j {
					return math.Pow(10, -float64(i*rng.IntN(4)))
				}
				return 1e-16 * rng.NormFloat64()
			},
			func(i, j int) float64 { // a cluster of small values beside a large one
				x := 1e-10 * (1 + 1e-15*rng.Float64())
				if i != j {
					x = 1e-26 * rng.NormFloat64()
				}
				return x + map[bool]float64{true: 1}[i == j && i == m/2]
			},
			func(i, j int) float64 { // a time beside ones
				if j == 0 {
					return 1.7e9 + float64(rng.IntN(1e6))
				}
				return float64(rng.IntN(2))
			},
		}
		x := hardMatrix{fmt.Sprintf("kind %d", i%len(kinds)), m, n, make([]float64, m*n)}
		for k := range x.a {
			x.a[k] = kinds[i%len(kinds)](k/n, k%n)
		}
		each(x)
	}
}

// SVD ends for all matrices of few numbers that are far from each other, and is right.
func TestSVDOfFarNumbers(t *testing.T) {
	for _, large := range []float64{1e8, 1e9} {
		step := 1
		if testing.Short() {
			step = 7
		}
		for code := 0; code < 19683; code += step {
			a, c := make([]float64, 9), code
			for i := range a {
				a[i], c = []float64{0, 1, large}[c%3], c/3
			}
			checkSVD(t, hardMatrix{fmt.Sprintf("number %d of %g", code, large), 3, 3, a})
		}
	}
}

func TestSVDOfHardMatrices(t *testing.T) {
	count := 100000
	if testing.Short() {
		count = 5000
	}
	hardMatrices(count, func(x hardMatrix) { checkSVD(t, x) })
}

// A design matrix: a time, and one of several ones in each row.
func TestSVDOfTimes(t *testing.T) {
	rng := rand.New(rand.NewPCG(39, 40))
	for _, s := range [][2]int{{3, 4}, {4, 3}, {20, 7}, {40, 33}, {65, 65}, {100, 40}, {300, 65}} {
		m, n := s[0], s[1]
		a := make([]float64, m*n)
		for i := range m {
			a[i*n], a[i*n+1+rng.IntN(n-1)] = 1.7e9+float64(rng.IntN(1e7)), 1
		}
		checkSVD(t, hardMatrix{"times", m, n, a})
	}
}

// checkSVD compares the values with those of another way, and what the factors give with the
// matrix.
func checkSVD(t *testing.T, x hardMatrix) {
	t.Helper()
	m, n, k := x.m, x.n, min(x.m, x.n)
	s, u, vt := make([]float64, k), make([]float64, m*k), make([]float64, k*n)
	ok, err := SVD(Solver[float64]{}, m, n, slices.Clone(x.a), n, s,
		SingularVectors{U: u, Cols: k, LdU: k, VT: vt, Rows: k, LdVT: n})
	if !ok || err != nil {
		t.Fatalf("%s, %dx%d %v: %v, %v", x.what, m, n, x.a, ok, err)
	}
	a := slices.Clone(x.a)
	exp, _ := rescaleVectors(a, nil)
	scaleBack(-exp, s)
	within := 20 * 0x1p-52 * float64(max(m, n)) // of a matrix whose largest magnitude is 1/2 to 1
	size := math.Sqrt(float64(m * n))
	for i, w := range jacobi(m, n, a) {
		if !(math.Abs(s[i]-w) <= within*size) || i > 0 && s[i] > s[i-1] {
			t.Fatalf("%s, %dx%d %v: values %v, value %d should be %v", x.what, m, n, x.a, s, i, w)
		}
	}
	for i := range m {
		for j := range n {
			sum := -a[i*n+j]
			for r := range k {
				sum += u[i*k+r] * s[r] * vt[r*n+j]
			}
			if !(math.Abs(sum) <= within*size) {
				t.Fatalf("%s, %dx%d %v: element (%d, %d) is off by %v", x.what, m, n, x.a, i, j, sum)
			}
		}
	}
	left, right := fromUnit(k, m, transpose(m, k, u, k)), fromUnit(k, n, vt)
	if !(max(left, right) <= within) {
		t.Fatalf("%s, %dx%d %v: vectors are off by %v, %v", x.what, m, n, x.a, left, right)
	}
}

// jacobi is the singular values by one-sided rotations.
func jacobi(m, n int, a []float64) []float64 {
	if m < n {
		a, m, n = transpose(m, n, a, n), n, m
	}
	c := transpose(m, n, a, n) // columns of A
	for more := true; more; {
		more = false
		for i := range n {
			for j := i + 1; j < n; j++ {
				x, y := c[i*m:][:m], c[j*m:][:m]
				var xx, yy, xy float64
				for k := range x {
					xx, yy, xy = xx+x[k]*x[k], yy+y[k]*y[k], xy+x[k]*y[k]
				}
				if !(math.Abs(xy) > 1e-15*math.Sqrt(xx)*math.Sqrt(yy)) || xx < 1e-40 || yy < 1e-40 {
					continue
				}
				more = true
				zeta := (yy - xx) / (2 * xy)
				t := math.Copysign(1/(math.Abs(zeta)+math.Hypot(1, zeta)), zeta)
				cs := 1 / math.Hypot(1, t)
				for k := range x {
					x[k], y[k] = cs*(x[k]-t*y[k]), cs*(y[k]+t*x[k])
				}
			}
		}
	}
	values := make([]float64, n)
	for i := range values {
		values[i] = host.Nrm2(c[i*m:][:m])
	}
	slices.SortFunc(values, func(x, y float64) int { return cmp.Compare(y, x) })
	return values
}

// Where products are nonsense no iteration ends, and that is an error.
func TestNotConverged(t *testing.T) {
	const n = 70
	s := Solver[float64]{Update: func(
		_ bool, m, n, _ int, _ []float64, _ int, _ []float64, _ int, c []float64, ldc int,
	) error {
		fillMatrix(m, n, c, ldc)
		return nil
	}}
	a := matrix[float64](rand.New(rand.NewPCG(41, 42)), "random", n, n, n)
	w := make([]float64, n)
	if ok, err := SVD(s, n, n, slices.Clone(a), n, w, SingularVectors{}); ok || !errors.Is(err, ErrNotConverged) {
		t.Errorf("SVD: %v, %v", ok, err)
	}
	for _, vectors := range []bool{false, true} {
		if ok, err := EigSym(s, vectors, true, n, slices.Clone(a), n, w); ok || !errors.Is(err, ErrNotConverged) {
			t.Errorf("EigSym, vectors %t: %v, %v", vectors, ok, err)
		}
	}
	// of the iterations themselves
	d, e := []float64{1, 2, math.NaN(), 4}, []float64{1, 1, 1, 0}
	if err := ql(slices.Clone(d), slices.Clone(e), nil, nil); !errors.Is(err, ErrNotConverged) {
		t.Errorf("QL: %v", err)
	}
	equation := poles{d: d, z: []float64{1, 1, 1, 1}, rho: 1}
	if x := equation.root(0, make([]float64, 4)); x == x {
		t.Errorf("the root of no equation is %v", x)
	}
}

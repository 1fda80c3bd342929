package linalg_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/linalg"
)

// dominant is a matrix with a large diagonal, symmetric if that is asked for, and a gap after each
// row.
func dominant[T linalg.Float](n int, symmetric bool) linalg.Matrix[T] {
	rng := rand.New(rand.NewPCG(71, uint64(n)))
	a := random[T](rng, n, n, 2)
	for i := range n {
		for j := range n {
			a.Set(i, j, T(2*rng.Float64()-1))
			if symmetric && j < i {
				a.Set(j, i, a.At(i, j))
			}
		}
		a.Set(i, i, a.At(i, i)+T(n))
	}
	return a
}

// Factors, solutions and inverses have the bits of the host's alone wherever products run, and
// leave A and B as they are.
func TestFactorizations(t *testing.T) {
	defer linalg.FactorOnDevice()()
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		t.Run("float32", func(t *testing.T) { testFactorizations[float32](t, s) })
		t.Run("float64", func(t *testing.T) { testFactorizations[float64](t, s) })
	})
}

func testFactorizations[T linalg.Float](t *testing.T, s *linalg.Session) {
	ctx := t.Context()
	for _, n := range []int{1, 5, 70, 150} {
		if s.Info().Driver == "cudasim" && n > 70 {
			continue
		}
		a, b := dominant[T](n, true), random[T](rand.New(rand.NewPCG(72, 73)), n, 3, 1)
		oldA, oldB := a.Packed(), b.Packed()
		lu, err := linalg.FactorLU(a, linalg.On(s), linalg.WithContext(ctx))
		noError(t, err)
		want, pivots := a.Packed(), make([]int, n)
		singular, err := solve.Solver[T]{}.LU(n, n, want.Data, n, pivots)
		noError(t, err)
		same(t, "LU", lu.Packed(), want)
		if !slices.Equal(lu.Pivots(), pivots) || singular >= 0 {
			t.Errorf("pivots %v, want %v", lu.Pivots(), pivots)
		}
		for _, trans := range []bool{false, true} {
			solution := lu.Solve
			if trans {
				solution = lu.SolveTrans
			}
			x, err := solution(b, linalg.WithContext(ctx))
			noError(t, err)
			y := b.Packed()
			noError(t, solve.Solver[T]{}.SolveLU(trans, n, 3, want.Data, n, pivots, y.Data, 3))
			same(t, "solution", x, y)
		}
		inverse, err := lu.Inverse()
		noError(t, err)
		noError(t, solve.Solver[T]{}.InvertLU(n, want.Data, n, pivots))
		same(t, "inverse", inverse, want)

		c, err := linalg.FactorCholesky(a, linalg.On(s), linalg.WithContext(ctx))
		noError(t, err)
		want = a.Packed()
		for i := range n {
			clear(want.Row(i)[i+1:])
		}
		if _, err := (solve.Solver[T]{}).Cholesky(true, n, want.Data, n); err != nil {
			t.Error(err)
		}
		same(t, "Cholesky", c.L(), want)
		x, err := c.Solve(b)
		noError(t, err)
		y := b.Packed()
		noError(t, solve.Solver[T]{}.SolveCholesky(true, n, 3, want.Data, n, y.Data, 3))
		same(t, "solution by Cholesky", x, y)
		inverse, err = c.Inverse()
		noError(t, err)
		z := linalg.NewMatrix[T](n, n, nil)
		for i := range n {
			z.Set(i, i, 1)
		}
		noError(t, solve.Solver[T]{}.SolveCholesky(true, n, n, want.Data, n, z.Data, n))
		same(t, "inverse by Cholesky", inverse, z)
		same(t, "A", a, oldA)
		same(t, "B", b, oldB)
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What a matrix is said to be: determinants beyond a number's range, condition numbers, NaN.
func TestDetAndCond(t *testing.T) {
	diagonal := func(v ...float64) linalg.Matrix[float64] {
		m := linalg.NewMatrix[float64](len(v), len(v), nil)
		for i := range v {
			m.Set(i, i, v[i])
		}
		return m
	}
	nan := math.NaN()
	for _, test := range []struct {
		a        linalg.Matrix[float64]
		mantissa float64
		exp      int
		cond     float64
	}{
		{linalg.NewMatrix[float64](0, 0, nil), 0.5, 1, 1},
		{diagonal(-3), -0.75, 2, 1},
		{diagonal(2, 3, 0.5), 0.75, 2, 6},
		{diagonal(0x1p-1000, 0x1p-1000, 0x1p-1000), 0.5, -2999, 1},
		{diagonal(0x1p1000, 0x1.8p1000), 0.75, 2001, 1.5},
		{diagonal(1, 0, 2), 0, 0, math.Inf(1)},
		{linalg.NewMatrix(2, 2, []float64{0, 1, 1, 0}), -0.5, 1, 1},
		{linalg.NewMatrix(3, 3, []float64{0, 0, 1, 1, 0, 0, 0, 1, 0}), 0.5, 1, 1},
		{diagonal(1, nan), nan, 1, nan},
	} {
		lu, err := linalg.FactorLU(test.a)
		noError(t, err)
		mantissa, exp := lu.Det()
		cond, err := lu.Cond()
		alike := func(x, y float64) bool { return x == y || x != x && y != y }
		if !alike(mantissa, test.mantissa) || exp != test.exp || !alike(cond, test.cond) || err != nil {
			t.Errorf("%v: determinant %v * 2^%d, condition number %v, %v", test.a.Data, mantissa, exp, cond, err)
		}
	}
	a := dominant[float32](40, true)
	lu, err := linalg.FactorLU(a)
	noError(t, err)
	c, err := linalg.FactorCholesky(a)
	noError(t, err)
	m, e := lu.Det()
	n, f := c.Det()
	if e != f || math.Abs(float64(m-n)) > 1e-4 {
		t.Errorf("the determinant is %v * 2^%d by LU, %v * 2^%d by Cholesky", m, e, n, f)
	}
	x, _ := lu.Cond()
	if y, err := c.Cond(); err != nil || math.Abs(float64(x/y-1)) > 1e-3 {
		t.Errorf("the condition number is %v by LU, %v by Cholesky: %v", x, y, err)
	}
}

// Errors say what is wrong, and with what.
func TestFactorizationErrors(t *testing.T) {
	square, wide := dominant[float64](4, true), linalg.NewMatrix[float64](2, 3, nil)
	short, crossed := linalg.Matrix[float64]{Rows: 2, Cols: 2}, linalg.Matrix[float64]{Rows: 4, Cols: 2, Stride: 1}
	last := func(_ any, err error) error { return err }
	singular := linalg.NewMatrix(3, 3, []float64{1, 2, 3, 2, 4, 6, 1, 0, 1})
	indefinite := linalg.NewMatrix(3, 3, []float64{1, 0, 0, 0, 1, 0, 0, 2, 3})
	lu, err := linalg.FactorLU(square)
	noError(t, err)
	of := func(a linalg.Matrix[float64]) *linalg.LU[float64] {
		f, err := linalg.FactorLU(a)
		noError(t, err)
		return f
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	closed, err := linalg.Open("cpu")
	noError(t, err)
	kept, err := linalg.FactorLU(square, linalg.On(closed), linalg.WithContext(t.Context()))
	noError(t, err)
	noError(t, closed.Close())
	ended := linalg.WithContext(cancelled)
	for want, f := range map[string]func() error{
		"which is not square":           func() error { return last(of(wide).Solve(wide)) },
		"pivot 2 of 3x3 float64 is 0":   func() error { return last(of(singular).Solve(singular)) },
		"the right side is 2x3 float64": func() error { return last(lu.Solve(wide)) },
		"row 2 of 3x3 float64":          func() error { return last(linalg.FactorCholesky(indefinite)) },
		"2x3 float64, which is not squ": func() error { return last(linalg.FactorCholesky(wide)) },
		"the matrix is 2x2 float64":     func() error { return last(linalg.FactorLU(short)) },
		"context canceled":              func() error { return last(linalg.FactorLU(square, ended)) },
		"closed":                        func() error { return last(kept.Solve(square)) },
		"LU factorization is of 2x3":    func() error { return last(of(wide).Cond()) },
		"the right side is 4x2 float64": func() error { return last(lu.Solve(crossed)) },
	} {
		err := f()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
			continue
		}
		sentinels := []error{
			linalg.ErrShape, linalg.ErrSingular, linalg.ErrNotPositiveDefinite, backend.ErrClosed, context.Canceled,
		}
		if !slices.ContainsFunc(sentinels, func(s error) bool { return errors.Is(err, s) }) {
			t.Errorf("%v matches no sentinel", err)
		}
	}
	nan := dominant[float32](40, true)
	nan.Set(30, 20, float32(math.NaN()))
	if _, err := linalg.FactorCholesky(nan); !errors.Is(err, linalg.ErrNotPositiveDefinite) {
		t.Errorf("of NaN: %v", err)
	}
	for _, s := range [][2]int{{0, 0}, {0, 5}, {5, 0}} {
		f := of(linalg.NewMatrix[float64](s[0], s[1], nil))
		if x, err := f.Solve(linalg.NewMatrix[float64](s[0], 4, nil)); s[0] == s[1] && (err != nil || x.Cols != 4) {
			t.Errorf("%v: %v, %v", s, x, err)
		}
	}
	c, err := linalg.FactorCholesky(linalg.NewMatrix[float64](0, 0, nil))
	noError(t, err)
	if cond, err := c.Cond(); cond != 1 || err != nil {
		t.Errorf("the condition number of no elements is %v, %v", cond, err)
	}
}

// A factorization ends in the middle, tells how far it is, and an error of the device is its own.
func TestFactorizationProgress(t *testing.T) {
	a := dominant[float64](300, true)
	var seen []float64
	ctx, cancel := context.WithCancel(t.Context())
	ctx = linalg.WithProgress(ctx, func(f float64) { seen = append(seen, f) })
	lu, err := linalg.FactorLU(a, linalg.WithContext(ctx))
	noError(t, err)
	for name, f := range map[string]func() error{
		"LU":       func() error { _, err := linalg.FactorLU(a, linalg.WithContext(ctx)); return err },
		"Cholesky": func() error { _, err := linalg.FactorCholesky(a, linalg.WithContext(ctx)); return err },
		"EigSym":   func() error { _, err := linalg.FactorEigSym(a, linalg.WithContext(ctx)); return err },
		"SVD":      func() error { _, err := linalg.FactorSVD(a, linalg.WithContext(ctx)); return err },
	} {
		seen = nil
		noError(t, f())
		if len(seen) < 3 || !slices.IsSorted(seen) || seen[0] < 0 || seen[0] > 0.5 || seen[len(seen)-1] != 1 {
			t.Errorf("%s: progress %v", name, seen)
		}
	}
	stop := linalg.WithProgress(ctx, func(float64) { cancel() })
	if _, err := linalg.FactorCholesky(a, linalg.WithContext(stop)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled in the middle: %v", err)
	}
	if _, err := lu.Solve(a, linalg.WithContext(ctx)); !errors.Is(err, context.Canceled) {
		t.Errorf("a solution after that: %v", err)
	}
}

// The progress of what factors and then solves, or multiplies and then solves, goes on and does not
// begin anew, and that of every solution ends with 1.
func TestProgressOfStages(t *testing.T) {
	a := dominant[float64](300, true)
	tall, wide := a.Slice(0, 300, 0, 200), a.Slice(0, 200, 0, 300)
	qr, err := linalg.FactorQR(a)
	noError(t, err)
	lq, err := linalg.FactorLQ(wide)
	noError(t, err)
	lu, err := linalg.FactorLU(a)
	noError(t, err)
	c, err := linalg.FactorCholesky(a)
	noError(t, err)
	for name, f := range map[string]func(ctx context.Context) (linalg.Matrix[float64], error){
		"least squares, tall": func(ctx context.Context) (linalg.Matrix[float64], error) {
			return linalg.LeastSquares(tall, a, linalg.WithContext(ctx))
		},
		"least squares, wide": func(ctx context.Context) (linalg.Matrix[float64], error) {
			return linalg.LeastSquares(wide, tall.Slice(0, 200, 0, 200), linalg.WithContext(ctx))
		},
		"QR": func(ctx context.Context) (linalg.Matrix[float64], error) { return qr.Solve(a, linalg.WithContext(ctx)) },
		"LQ": func(ctx context.Context) (linalg.Matrix[float64], error) {
			return lq.Solve(wide, linalg.WithContext(ctx))
		},
		"LU": func(ctx context.Context) (linalg.Matrix[float64], error) { return lu.Solve(a, linalg.WithContext(ctx)) },
		"inverse": func(ctx context.Context) (linalg.Matrix[float64], error) {
			return lu.Inverse(linalg.WithContext(ctx))
		},
		"Cholesky": func(ctx context.Context) (linalg.Matrix[float64], error) {
			return c.Solve(a, linalg.WithContext(ctx))
		},
		"Q": func(ctx context.Context) (linalg.Matrix[float64], error) { return qr.Q(linalg.WithContext(ctx)) },
	} {
		var seen []float64
		_, err := f(linalg.WithProgress(t.Context(), func(f float64) { seen = append(seen, f) }))
		noError(t, err)
		if len(seen) < 3 || !slices.IsSorted(seen) || seen[0] < 0 || seen[0] > 0.5 || seen[len(seen)-1] != 1 {
			t.Errorf("%s: progress %v", name, seen)
		}
	}
}

// Residuals as LAPACK's own tests take them, within its threshold of 30: factors |A - L*U| and |A -
// L*Lᵀ| over n*eps*|A|, solutions |B - A*X| over eps*|A|*|X|, all in the 1-norm.
func TestResiduals(t *testing.T) {
	t.Run("float32", testResiduals[float32])
	t.Run("float64", testResiduals[float64])
}

func testResiduals[T linalg.Float](t *testing.T) {
	const n = 110
	eps := math.Ldexp(1, -53)
	if _, single := any(T(0)).(float32); single {
		eps = math.Ldexp(1, -24)
	}
	for _, kind := range []string{
		"random", "graded", "ill-conditioned", "wilkinson", "nearly singular", "large", "small",
	} {
		a := linalg.NewMatrix[T](n, n, nil)
		rng := rand.New(rand.NewPCG(81, 82))
		for i := range n {
			for j := range n {
				v := 2*rng.Float64() - 1
				switch kind {
				case "graded":
					v *= math.Pow(2, -float64(i+j)/8)
				case "ill-conditioned": // columns are nearly those before
					if j > 0 {
						v = float64(a.At(i, j-1)) + 4*eps*v
					}
				case "wilkinson": // elements grow with each step of LU
					v = map[bool]float64{i > j: -1, i == j || j == n-1: 1}[true]
				case "nearly singular":
					if j == n/2 {
						v *= eps * eps
					}
				case "large":
					v *= map[bool]float64{true: 0x1p110, false: 0x1p1000}[eps > 1e-10]
				case "small":
					v *= map[bool]float64{true: 0x1p-110, false: 0x1p-1000}[eps > 1e-10]
				}
				a.Set(i, j, T(v))
			}
		}
		lu, err := linalg.FactorLU(a)
		noError(t, err)
		l, u := linalg.NewMatrix[T](n, n, nil), linalg.NewMatrix[T](n, n, nil)
		for i := range n {
			copy(l.Row(i)[:i], lu.Packed().Row(i))
			l.Set(i, i, 1)
			copy(u.Row(i)[i:], lu.Packed().Row(i)[i:])
		}
		permuted := a.Packed()
		solve.SwapRows(false, lu.Pivots(), 0, n, permuted.Data, n, n)
		tolerance := 30.0
		if kind == "wilkinson" { // its growth is 2^(n-1), which the residual has as well
			tolerance = math.Inf(1)
		}
		if r := residual(permuted, l, u) / (n * eps * norm(a)); !(r < tolerance) {
			t.Errorf("%s: the residual of LU is %v", kind, r)
		}
		b := random[T](rng, n, 3, 0)
		x, err := lu.Solve(b)
		noError(t, err)
		if r := residual(b, a, x) / (eps * norm(a) * norm(x)); !(r < tolerance) {
			t.Errorf("%s: the residual of a solution is %v", kind, r)
		}

		if kind == "wilkinson" || kind == "large" || kind == "small" || kind == "ill-conditioned" {
			continue // their squares are not positive definite numbers any more
		}
		square := linalg.NewMatrix[T](n, n, nil)
		host.GemmTrans(false, true, n, n, n, 1, a.Data, n, a.Data, n, 0, square.Data, n)
		for i := range n {
			square.Set(i, i, square.At(i, i)*T(1+64*eps*n)+T(0x1p-40))
		}
		c, err := linalg.FactorCholesky(square)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		transposed, err := linalg.Transpose(c.L())
		noError(t, err)
		if r := residual(square, c.L(), transposed) / (n * eps * norm(square)); !(r < 30) {
			t.Errorf("%s: the residual of Cholesky is %v", kind, r)
		}
		if x, err = c.Solve(b); err != nil {
			t.Error(err)
		}
		if r := residual(b, square, x) / (eps * norm(square) * norm(x)); !(r < 30) {
			t.Errorf("%s: the residual of a solution by Cholesky is %v", kind, r)
		}
	}
}

// residual is the 1-norm of A - X*Y, where each sum is rounded a few times at most.
func residual[T linalg.Float](a, x, y linalg.Matrix[T]) float64 {
	r := linalg.NewMatrix[float64](a.Rows, a.Cols, nil)
	for i := range a.Rows {
		for j := range a.Cols {
			sum, lost := float64(a.At(i, j)), 0.0
			for k := range x.Cols {
				p, q := -float64(x.At(i, k)), float64(y.At(k, j))
				product := p * q
				next := sum + product
				z := next - sum
				lost += (sum - (next - z)) + (product - z) + math.FMA(p, q, -product)
				sum = next
			}
			r.Set(i, j, sum+lost)
		}
	}
	return norm(r)
}

// norm is the 1-norm.
func norm[T linalg.Float](a linalg.Matrix[T]) (most float64) {
	for j := range a.Cols {
		sum := 0.0
		for i := range a.Rows {
			sum += math.Abs(float64(a.At(i, j)))
		}
		most = max(most, sum)
	}
	return most
}

package linalg_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/linalg"
)

func epsilon[T linalg.Float]() float64 {
	if _, single := any(T(0)).(float32); single {
		return 0x1p-24
	}
	return 0x1p-53
}

// hard are matrices as LAPACK's own tests take them, of which the first are not symmetric.
func hard[T linalg.Float](n int) map[string]linalg.Matrix[T] {
	rng := rand.New(rand.NewPCG(91, uint64(n)))
	build := func(f func(i, j int) float64) linalg.Matrix[T] {
		a := linalg.NewMatrix[T](n, n, nil)
		for i := range n {
			for j := range n {
				a.Set(i, j, T(f(i, j)))
			}
		}
		return a
	}
	far := 1000.0
	if epsilon[T]() > 1e-10 {
		far = 110
	}
	uniform := func(i, j int) float64 { return 2*rng.Float64() - 1 }
	m := map[string]linalg.Matrix[T]{
		"random": build(uniform),
		"graded": build(func(i, j int) float64 { return uniform(i, j) * math.Exp2(-float64(i+j)/4) }),
		"nearly singular": build(func(i, j int) float64 {
			return uniform(i, j) * map[bool]float64{false: 1, true: epsilon[T]() * epsilon[T]()}[j == n/2]
		}),
		"large": build(func(i, j int) float64 { return math.Exp2(far) / float64(i+j+1) }),
		"small": build(func(i, j int) float64 { return math.Exp2(-far) / float64(i+j+1) }),
		"steep": build(func(i, j int) float64 { return uniform(i, j) * math.Exp2(-far*float64(i+j)/float64(2*n)) }),
		"rising": build(func(i, j int) float64 {
			beside := map[bool]float64{true: 1}[i == j || j == i+1]
			return uniform(i, j) * math.Exp2(far*float64(i-n)/float64(n)) * beside
		}),
		"zero":     build(func(i, j int) float64 { return 0 }),
		"identity": build(func(i, j int) float64 { return map[bool]float64{true: 1}[i == j] }),
		"laplace":  build(func(i, j int) float64 { return map[int]float64{0: 2, 1: -1, -1: -1}[i-j] }),
		"wilkinson": build(func(i, j int) float64 {
			return map[int]float64{0: math.Abs(float64(i) - float64(n-1)/2), 1: 1, -1: 1}[i-j]
		}),
	}
	qr, err := linalg.FactorQR(linalg.NewMatrix(n, n, m["random"].Packed().Data))
	if err != nil {
		panic(err)
	}
	q, err := qr.Q()
	if err != nil {
		panic(err)
	}
	with := func(f func(i int) float64) linalg.Matrix[T] {
		x := q.Packed()
		for i := range n {
			for j := range n {
				x.Set(i, j, T(float64(x.At(i, j))*f(j)))
			}
		}
		a := linalg.NewMatrix[T](n, n, nil)
		host.GemmTrans(false, true, n, n, n, 1, x.Data, n, q.Data, n, 0, a.Data, n)
		for i := range n {
			for j := range i {
				a.Set(j, i, a.At(i, j))
			}
		}
		return a
	}
	m["ill-conditioned"] = with(func(i int) float64 { return math.Pow(10, -15*float64(i)/float64(n)) })
	m["clustered"] = with(func(i int) float64 { return 1 + 1e-13*float64(i%7) + float64(i*4/n) })
	m["one small"] = with(func(i int) float64 { return map[bool]float64{true: 1e-16, false: 1}[i == 0] })
	m["rank 3"] = with(func(i int) float64 { return map[int]float64{0: 3, 1: -2, 2: 1}[i] })
	return m
}

// orthogonality is the norm of QᵀQ - I over m*eps.
func orthogonality[T linalg.Float](q linalg.Matrix[T]) float64 {
	id := linalg.NewMatrix[T](q.Cols, q.Cols, nil)
	for i := range q.Cols {
		id.Set(i, i, 1)
	}
	qt, err := linalg.Transpose(q)
	if err != nil {
		panic(err)
	}
	return residual(id, qt, q) / (float64(q.Rows) * epsilon[T]())
}

// within says which of the ratios is not below LAPACK's threshold.
func within(t *testing.T, what string, ratios ...float64) {
	t.Helper()
	for i, r := range ratios {
		if !(r < 30) {
			t.Errorf("%s: ratio %d is %v", what, i, r)
		}
	}
}

// relative is a residual over n*eps*|A|; a zero matrix has none.
func relative[T linalg.Float](r float64, a linalg.Matrix[T]) float64 {
	if r == 0 {
		return 0
	}
	return r / (float64(a.Rows) * epsilon[T]() * norm(a))
}

func TestQRResiduals(t *testing.T) {
	t.Run("float32", testQRResiduals[float32])
	t.Run("float64", testQRResiduals[float64])
}

func testQRResiduals[T linalg.Float](t *testing.T) {
	for name, a := range hard[T](70) {
		qr, err := linalg.FactorQR(a)
		noError(t, err)
		q, err := qr.Q()
		noError(t, err)
		within(t, "QR of "+name, relative(residual(a, q, qr.R()), a), orthogonality(q))
		wide := a.Slice(0, 40, 0, 70)
		lq, err := linalg.FactorLQ(wide)
		noError(t, err)
		q, err = lq.Q()
		noError(t, err)
		qt, err := linalg.Transpose(q)
		noError(t, err)
		within(t, "LQ of "+name, relative(residual(wide, lq.L(), q), wide)/2, orthogonality(qt))
	}
}

// Factors and products have the bits of the host's alone wherever products run.
func TestQROnDevices(t *testing.T) {
	defer linalg.FactorOnDevice()()
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		t.Run("float32", func(t *testing.T) { testQROnDevices[float32](t, s) })
		t.Run("float64", func(t *testing.T) { testQROnDevices[float64](t, s) })
	})
}

func testQROnDevices[T linalg.Float](t *testing.T, s *linalg.Session) {
	rng := rand.New(rand.NewPCG(74, 75))
	const m, n = 60, 45
	a, b := random[T](rng, m, n, 2), random[T](rng, m, 3, 1)
	old := a.Packed()
	qr, err := linalg.FactorQR(a, linalg.On(s), linalg.WithContext(t.Context()))
	noError(t, err)
	want, tau := a.Packed(), make([]T, n)
	solve.QRReference(m, n, want.Data, n, tau)
	same(t, "QR", qr.Packed(), want)
	same(t, "A", a, old)
	x, err := qr.MulQ(blas.Trans, b)
	noError(t, err)
	y := b.Packed()
	solve.ApplyQReference(true, m, 3, n, want.Data, n, tau, y.Data, 3)
	same(t, "Qᵀ*B", x, y)
	x, err = qr.Solve(b)
	noError(t, err)
	tri := solve.Triangle[T]{N: n, Data: want.Data, Stride: n, Upper: true}
	noError(t, solve.Solver[T]{}.Solve(tri, true, 1, n, 3, y.Data, 3))
	same(t, "least squares", x, y.Slice(0, n, 0, 3))
	q, err := qr.Q()
	noError(t, err)
	wantQ := linalg.NewMatrix[T](m, n, nil)
	for i := range n {
		wantQ.Set(i, i, 1)
	}
	solve.ApplyQReference(false, m, n, n, want.Data, n, tau, wantQ.Data, n)
	same(t, "Q", q, wantQ)
}

// Least squares has a residual that is orthogonal to A's columns, and of wide matrices the solution
// of the smallest norm, which is in the space of A's rows.
func TestLeastSquares(t *testing.T) {
	rng := rand.New(rand.NewPCG(76, 77))
	for _, s := range [][2]int{{50, 20}, {20, 20}, {20, 50}, {7, 1}, {1, 7}, {3, 0}, {0, 3}} {
		m, n := s[0], s[1]
		a, b := random[float64](rng, m, n, 1), random[float64](rng, m, 2, 0)
		x, err := linalg.LeastSquares(a, b)
		noError(t, err)
		if x.Rows != n || x.Cols != 2 {
			t.Fatalf("%v: the solution is %s", s, x)
		}
		if m == 0 || n == 0 {
			continue
		}
		at, err := linalg.Transpose(a)
		noError(t, err)
		if m >= n {
			r := b.Packed()
			host.SubMul(m, 2, n, a.Data, a.Stride, x.Data, x.Stride, r.Data, 2)
			zero := linalg.NewMatrix[float64](n, 2, nil)
			within(t, "orthogonal", residual(zero, at, r)/(0x1p-53*float64(m)*norm(a)*norm(b)))
			continue
		}
		within(t, "wide", residual(b, a, x)/(0x1p-53*float64(n)*norm(a)*norm(x)))
		y, err := linalg.LeastSquares(at, x)
		noError(t, err)
		within(t, "smallest", residual(x, at, y)/(0x1p-53*float64(n)*norm(at)*norm(y)))
	}
}

func TestQRErrors(t *testing.T) {
	last := func(_ any, err error) error { return err }
	wide, tall := linalg.NewMatrix[float64](2, 3, nil), linalg.NewMatrix[float64](3, 2, nil)
	wideQR, err := linalg.FactorQR(wide)
	noError(t, err)
	tallLQ, err := linalg.FactorLQ(tall)
	noError(t, err)
	for want, err := range map[string]error{
		"QR factorization is of 2x3 float64":    last(wideQR.Solve(tall)),
		"LQ factorization is of 3x2":            last(tallLQ.Solve(tall)),
		"the right side is 3x2 float64":         last(wideQR.MulQ(blas.Trans, tall)),
		"which has other rows":                  last(linalg.LeastSquares(wide, tall)),
		"op(Q)":                                 last(wideQR.MulQ('X', wide)),
		"element 0 of the triangle's diagonal ": last(linalg.LeastSquares(tall, tall)),
		"element 0 of the triangle's":           last(linalg.LeastSquares(wide, wide)),
		"2x3 float64, which has more columns":   last(wideQR.Cond()),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if !errors.Is(err, linalg.ErrShape) && !errors.Is(err, linalg.ErrSingular) {
			t.Errorf("%v matches no sentinel", err)
		}
	}
	a := dominant[float64](30, false)
	qr, err := linalg.FactorQR(a)
	noError(t, err)
	lu, err := linalg.FactorLU(a)
	noError(t, err)
	x, e := qr.Det()
	if y, f := lu.Det(); e != f || math.Abs(x-y) > 1e-12 {
		t.Errorf("the determinant is %v * 2^%d by QR, %v * 2^%d by LU", x, e, y, f)
	}
	condQR, err := qr.Cond()
	noError(t, err)
	if condLU, err := lu.Cond(); err != nil || condQR > 10*condLU || condLU > 10*condQR {
		t.Errorf("the condition number is %v by QR, %v by LU: %v", condQR, condLU, err)
	}
	a.Set(3, 4, math.NaN())
	qr, err = linalg.FactorQR(a)
	noError(t, err)
	if c, err := qr.Cond(); c == c || err != nil {
		t.Errorf("the condition number of NaN is %v: %v", c, err)
	}
}

func TestLeastSquaresInRange(t *testing.T) {
	t.Run("float32", testLeastSquaresInRange[float32])
	t.Run("float64", testLeastSquaresInRange[float64])
}

// Where columns of A, or of a wide A rows, and columns of B are multiplied by powers of two, the
// solution is the one before, multiplied by powers of two: also near the ends of the range.
func testLeastSquaresInRange[T linalg.Float](t *testing.T) {
	const cols = 3
	rng := rand.New(rand.NewPCG(93, 94))
	half := 500 // of the exponents of A and B, so that those of solutions are in the range
	if epsilon[T]() > 1e-10 {
		half = 60
	}
	times := func(a linalg.Matrix[T], exp func(i, j int) int) linalg.Matrix[T] {
		c := a.Packed()
		solve.Scale(c.Rows, c.Cols, c.Data, c.Stride, exp)
		return c
	}
	for _, s := range [][2]int{{1, 1}, {3, 3}, {7, 4}, {4, 7}, {60, 40}, {40, 60}} {
		m, n := s[0], s[1]
		a, b := random[T](rng, m, n, 1), random[T](rng, m, cols, 1)
		want, err := linalg.LeastSquares(a, b)
		noError(t, err)
		left, right := make([]int, max(m, n)), make([]int, cols)
		for i := range left {
			left[i] = rng.IntN(2*half) - half
		}
		for j := range right {
			right[j] = rng.IntN(2*half) - half
		}
		a2 := times(a, func(i, j int) int { return left[map[bool]int{true: i, false: j}[m < n]] })
		b2 := times(b, func(i, j int) int {
			if m < n {
				return left[i] + right[j]/2
			}
			return right[j]
		})
		got, err := linalg.LeastSquares(a2, b2)
		noError(t, err)
		same(t, fmt.Sprintf("solutions by %dx%d", m, n), got, times(want, func(i, j int) int {
			if m < n {
				return right[j] / 2
			}
			return right[j] - left[i]
		}))
	}
}

// What LAPACK solves.
func TestLeastSquaresAtTheEnds(t *testing.T) {
	for _, c := range []struct {
		a, b, want linalg.Matrix[float64]
	}{
		{
			linalg.NewMatrix(1, 2, []float64{1.5e308, 1.5e308}), linalg.NewMatrix(1, 1, []float64{1.5e308}),
			linalg.NewMatrix(2, 1, []float64{0.5, 0.5}),
		},
		{
			linalg.NewMatrix(2, 1, []float64{1.5e308, 1.5e308}), linalg.NewMatrix(2, 1, []float64{1.5e308, 1.5e308}),
			linalg.NewMatrix(1, 1, []float64{1}),
		},
		{
			linalg.NewMatrix(2, 2, []float64{1e200, 0, 0, 1e-200}), linalg.NewMatrix(2, 1, []float64{1, 1}),
			linalg.NewMatrix(2, 1, []float64{1e-200, 1e200}),
		},
		{
			linalg.NewMatrix(1, 1, []float64{1e-320}), linalg.NewMatrix(1, 1, []float64{1e-320}),
			linalg.NewMatrix(1, 1, []float64{1}),
		},
		{ // rows of scales far apart, on both sides
			linalg.NewMatrix(2, 3, []float64{0x1p390, 0, 0, 0, 0x1p-700, 0x1p-700}),
			linalg.NewMatrix(2, 1, []float64{0x1p420, 0x1p-669}),
			linalg.NewMatrix(3, 1, []float64{0x1p30, 0x1p30, 0x1p30}),
		},
		{
			linalg.NewMatrix(2, 2, []float64{0x1p390, 0x1p391, 0, 0x1p-700}),
			linalg.NewMatrix(2, 1, []float64{5 * 0x1p420, 3 * 0x1p-670}),
			linalg.NewMatrix(2, 1, []float64{-0x1p30, 3 * 0x1p30}),
		},
	} {
		x, err := linalg.LeastSquares(c.a, c.b)
		noError(t, err)
		for i, v := range x.Data {
			if w := c.want.Data[i]; !(math.Abs(v-w) <= 4*epsilon[float64]()*math.Abs(w)) {
				t.Errorf("%v and %v: %v, want %v", c.a.Data, c.b.Data, x.Data, c.want.Data)
			}
		}
	}
	x, err := linalg.LeastSquares(linalg.NewMatrix(2, 2, []float32{1e25, 0, 0, 1e-25}),
		linalg.NewMatrix(2, 1, []float32{1, 1}))
	if noError(t, err); x.Data[0] != 1e-25 || x.Data[1] != 1e25 {
		t.Errorf("float32: %v", x.Data)
	}
	qr, err := linalg.FactorQR(linalg.NewMatrix(2, 2, []float64{0x1p1023, 0x1p-1023, 0x1p1023, -0x1p-1023}))
	noError(t, err)
	if frac, exp := qr.Det(); !(math.Abs(math.Ldexp(frac, exp)+2) < 1e-15) { // though R's first element overflows
		t.Errorf("determinant %v * 2^%d", frac, exp)
	}
	f, err := linalg.FactorSVD(linalg.NewMatrix(2, 2, []float64{1e200, 0, 0, 1e-200}))
	if noError(t, err); f.Values()[0] != 1e200 || f.Values()[1] != 1e-200 {
		t.Errorf("singular values %v", f.Values())
	}
}

func TestCondOfLargeNumbers(t *testing.T) {
	t.Run("float32", testCondOfLargeNumbers[float32])
	t.Run("float64", testCondOfLargeNumbers[float64])
}

// A condition number does not depend on a power of two, as large as the matrix may be.
func testCondOfLargeNumbers[T linalg.Float](t *testing.T) {
	const n = 40
	end := 1023
	if epsilon[T]() > 1e-10 {
		end = 127
	}
	rng := rand.New(rand.NewPCG(95, 96))
	spd := linalg.NewMatrix[T](n, n, nil) // whose rows have a sum that overflows
	for i := range n {
		for j := range n {
			spd.Set(i, j, 1/T(4+i+j))
		}
		spd.Set(i, i, 1.5)
	}
	conds := func(a linalg.Matrix[T], symmetric bool) (c []T) {
		lu, err := linalg.FactorLU(a)
		noError(t, err)
		x, err := lu.Cond()
		noError(t, err)
		qr, err := linalg.FactorQR(a)
		noError(t, err)
		y, err := qr.Cond()
		noError(t, err)
		if c = []T{x, y}; symmetric {
			f, err := linalg.FactorCholesky(a)
			noError(t, err)
			z, err := f.Cond()
			noError(t, err)
			c = append(c, z)
		}
		return c
	}
	for what, a := range map[string]struct {
		linalg.Matrix[T]
		exp       int
		symmetric bool
	}{
		"identity":             {hard[T](n)["identity"], end, true},
		"random":               {random[T](rng, n, n, 1), end - 8, false},
		"sums that overflow":   {spd, end, true},
		"an odd power of two":  {spd, end - 10, true},
		"small":                {spd, 16 - end, true},
		"one large column":     {linalg.NewMatrix(2, 2, []T{1, 0, 0, 1}), end / 2, true},
		"nothing of the range": {linalg.NewMatrix(1, 1, []T{1}), 1 - end, true},
	} {
		large := a.Packed()
		solve.Scale(large.Rows, large.Cols, large.Data, large.Stride, func(_, _ int) int { return a.exp })
		got, want := conds(large, a.symmetric), conds(a.Matrix, a.symmetric)
		for i := range got {
			if !(math.Abs(float64(got[i]-want[i])) <= 1e-5*float64(want[i])) {
				t.Errorf("%s, times 2^%d: %v, want %v", what, a.exp, got, want)
			}
		}
	}
}

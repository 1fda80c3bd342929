package linalg_test

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

func TestSVDResiduals(t *testing.T) {
	t.Run("float32", testSVDResiduals[float32])
	t.Run("float64", testSVDResiduals[float64])
}

func testSVDResiduals[T linalg.Float](t *testing.T) {
	const n = 66
	for name, a := range hard[T](n) {
		for _, shape := range [][2]int{{n, n}, {n, n / 3}, {n / 2, n}} {
			x := a.Slice(0, shape[0], 0, shape[1])
			f, err := linalg.FactorSVD(x)
			noError(t, err)
			u, s := f.U().Packed(), f.Values()
			for i := range u.Rows {
				for j := range u.Cols {
					u.Set(i, j, u.At(i, j)*s[j])
				}
			}
			for i, v := range s {
				if v < 0 || i > 0 && v > s[i-1] {
					t.Fatalf("%s: singular values %v", name, s)
				}
			}
			v, err := linalg.Transpose(f.VT())
			noError(t, err)
			within(t, "singular vectors of "+name, relative(residual(x, u, f.VT()), x), orthogonality(f.U()),
				orthogonality(v))
			if name == "rank 3" && shape[0] == n && f.Rank(0) > 4 {
				t.Errorf("the rank is %d, singular values %v", f.Rank(0), s[:5])
			}
		}
	}
}

// The bits are the same wherever products run: of all ways, by QR and LQ, too.
func TestSVDOnDevices(t *testing.T) {
	t.Run("float32", testSVDOnDevices[float32])
	t.Run("float64", testSVDOnDevices[float64])
}

func testSVDOnDevices[T linalg.Float](t *testing.T) {
	square := hard[T](70)["random"]
	matrices := []linalg.Matrix[T]{
		square.Slice(0, 70, 0, 60), square.Slice(0, 70, 0, 40), square.Slice(0, 40, 0, 70),
	}
	var want []*linalg.SVD[T]
	for _, a := range matrices {
		f, err := linalg.FactorSVD(a)
		noError(t, err)
		want = append(want, f)
	}
	defer linalg.FactorOnDevice()()
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		for i, a := range matrices {
			got, err := linalg.FactorSVD(a, linalg.On(s), linalg.WithContext(t.Context()))
			noError(t, err)
			if !slices.Equal(got.Values(), want[i].Values()) {
				t.Errorf("singular values of %s: %v, want %v", a, got.Values(), want[i].Values())
			}
			same(t, "U", got.U(), want[i].U())
			same(t, "Vᵀ", got.VT(), want[i].VT())
		}
	})
}

// Singular values alone have the bits of those with vectors: of all shapes, and what is not finite.
func TestSingularValues(t *testing.T) {
	t.Run("float32", testSingularValues[float32])
	t.Run("float64", testSingularValues[float64])
}

// testSingularValues has vectors on the host, whose values are those on devices by
// TestSVDOnDevices. The simulated GPU, which is slow, takes one kind of numbers in all shapes, and
// the others in one.
func testSingularValues[T linalg.Float](t *testing.T) {
	list := []linalg.Matrix[T]{
		linalg.NewMatrix[T](0, 3, nil), linalg.NewMatrix(1, 1, []T{-2}),
		linalg.NewMatrix(2, 2, []T{1, T(math.NaN()), 2, 3}),
	}
	var more []linalg.Matrix[T]
	for name, a := range hard[T](40) {
		list = append(list, a)
		shapes := []linalg.Matrix[T]{a.Slice(0, 40, 0, 20), a.Slice(0, 20, 0, 40), a.Slice(0, 36, 0, 40)}
		if name == "random" {
			list = append(list, shapes...)
		} else {
			more = append(more, shapes...)
		}
	}
	simulated := len(list)
	list = append(list, more...)
	want := make([]linalg.Matrix[T], len(list))
	for i, a := range list {
		f, err := linalg.FactorSVD(a)
		noError(t, err)
		want[i] = linalg.NewMatrix(1, len(f.Values()), f.Values())
	}
	defer linalg.FactorOnDevice()()
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		for i, a := range list {
			if i == simulated && s.Info().Driver == "cudasim" {
				break
			}
			got, err := linalg.SingularValues(a, linalg.On(s), linalg.WithContext(t.Context()))
			noError(t, err)
			same(t, "singular values", linalg.NewMatrix(1, len(got), got), want[i])
		}
	})
}

// A column of large numbers beside small ones has singular values, on each backend.
func TestSVDOfFarNumbers(t *testing.T) {
	t.Run("float32", testSVDOfFarNumbers[float32])
	t.Run("float64", testSVDOfFarNumbers[float64])
}

func testSVDOfFarNumbers[T linalg.Float](t *testing.T) {
	defer linalg.FactorOnDevice()()
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		for _, a := range []linalg.Matrix[T]{
			linalg.NewMatrix(3, 3, []T{1, -1, 0, 0, 1e9, 1, 0, 0, 1}),
			linalg.NewMatrix(3, 3, []T{1, 0, 1e-8, 0, 1e-8, 0, 0, 1e-16, 1e-8}),
			linalg.NewMatrix(3, 4, []T{1e9, 1, 0, 0, 1e9, 0, 1, 0, 1e9, 0, 0, 1}),
		} {
			f, err := linalg.FactorSVD(a, linalg.On(s), linalg.WithContext(t.Context()))
			noError(t, err)
			if v := f.Values(); !(v[0] > 0.9 && v[2] >= 0) {
				t.Errorf("singular values of %v: %v", a.Data, v)
			}
		}
	})
}

// Over many rows one chain of float32 would lose four digits of the mean of b, which x is.
func TestSVDSolveTall(t *testing.T) {
	const m = 100_000
	a, b := linalg.NewMatrix[float32](m, 2, nil), linalg.NewMatrix[float32](m, 1, nil)
	for i := range m {
		a.Data[2*i], a.Data[2*i+1], b.Data[i] = 1, float32(i%2), 0.1
	}
	f, err := linalg.FactorSVD(a)
	noError(t, err)
	x, err := f.Solve(b, 0)
	noError(t, err)
	if d := math.Abs(float64(x.Data[0]) - 0.1); !(d < 1e-5 && math.Abs(float64(x.Data[1])) < 1e-5) {
		t.Errorf("%v, want 0.1 and 0", x.Data)
	}
}

func TestSVDSolve(t *testing.T) {
	rng := rand.New(rand.NewPCG(78, 79))
	for _, s := range [][2]int{{30, 12}, {12, 30}, {0, 3}, {3, 0}} {
		a, b := random[float64](rng, s[0], s[1], 1), random[float64](rng, s[0], 2, 1)
		f, err := linalg.FactorSVD(a)
		noError(t, err)
		x, err := f.Solve(b, 0)
		noError(t, err)
		y, err := linalg.LeastSquares(a, b)
		if len(f.Values()) == 0 {
			if x.Rows != s[1] || f.Cond() != 1 || f.Rank(0) != 0 {
				t.Errorf("%v: %v, %v", s, x, f.Cond())
			}
			continue
		}
		noError(t, err)
		for i := range x.Rows {
			for j, v := range x.Row(i) {
				if !(math.Abs(v-y.At(i, j)) < 1e-12) {
					t.Errorf("%v: element (%d, %d) is %v, by QR %v", s, i, j, v, y.At(i, j))
				}
			}
		}
	}
	f, err := linalg.FactorSVD(linalg.NewMatrix(2, 2, []float64{3, 0, 0, -4}))
	noError(t, err)
	if c := f.Cond(); !(math.Abs(c-4./3) < 1e-15) {
		t.Errorf("the condition number is %v", c)
	}
	if _, err := f.Solve(linalg.NewMatrix[float64](3, 1, nil), 0); !errors.Is(err, linalg.ErrShape) {
		t.Error(err)
	}
	for _, rows := range []int{-1, 1 << 30} {
		_, err := linalg.FactorSVD(linalg.Matrix[float64]{Rows: rows, Cols: 1, Stride: 1})
		if !errors.Is(err, linalg.ErrShape) {
			t.Error(err)
		}
	}
	f, err = linalg.FactorSVD(linalg.NewMatrix(2, 2, []float64{1, math.NaN(), 0, 1}))
	if err != nil || f.Values()[0] == f.Values()[0] {
		t.Error(f.Values(), err)
	}
	if x, err := f.Solve(linalg.NewMatrix(2, 1, []float64{1, 0}), 0); err != nil || x.Data[0] == x.Data[0] {
		t.Errorf("the solution by NaN is %v, %v", x.Data, err)
	}
}

// Two singular values of one size, and next to nothing beside them, have vectors.
func TestSVDNextToNothing(t *testing.T) {
	for _, data := range [][]float64{
		{1, 1e-170, 0, 0, 1, 0, 0, 0, 0},
		{1, -1e-170, 0, 0, -1, 0, 0, 0, 0},
		{1e-150, 0, 1, 0, 1e-150, 1e150, 1, 1e150, 0},
	} {
		f, err := linalg.FactorSVD(linalg.NewMatrix(3, 3, data))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []linalg.Matrix[float64]{f.U(), f.VT()} {
			for i := range 3 {
				if n := floats.Norm(m.Row(i), 2); !(math.Abs(n-1) < 1e-14) {
					t.Errorf("%v: a row has the norm %v: %v", data, n, m)
				}
			}
		}
	}
}

// A solution beyond the type is an error, and so is a bad measure of what counts.
func TestOverflow(t *testing.T) {
	tiny := linalg.NewMatrix(2, 2, []float64{5e-324, 0, 0, 5e-324})
	b := linalg.NewMatrix(2, 1, []float64{1, 1})
	lu, err1 := linalg.FactorLU(tiny)
	qr, err2 := linalg.FactorQR(tiny)
	lq, err3 := linalg.FactorLQ(tiny)
	svd, err4 := linalg.FactorSVD(tiny)
	large, err5 := linalg.FactorSVD(linalg.NewMatrix(2, 2, []float32{3e38, 3e38, 1e36, -1e36}))
	chol, err6 := linalg.FactorCholesky(linalg.NewMatrix(2, 2, []float64{1e-320, 0, 0, 1e-320}))
	if err := cmp.Or(err1, err2, err3, err4, err5, err6); err != nil {
		t.Fatal(err)
	}
	_, err1 = lu.Inverse()
	_, err2 = qr.Solve(b)
	_, err3 = lq.Solve(b)
	_, err4 = svd.Solve(b, 0)
	_, err5 = large.Solve(linalg.NewMatrix(2, 1, []float32{1, 1}), 0)
	_, err6 = chol.Solve(b)
	for i, err := range []error{err1, err2, err3, err4, err5, err6} {
		if !errors.Is(err, linalg.ErrOverflow) {
			t.Errorf("%d: %v, want ErrOverflow", i, err)
		}
	}
	// R is beyond the type, which solutions do without, and so is this solution.
	wide := linalg.NewMatrix(2, 2, []float64{1e308, 1e-308, 1.7e308, 1.7e-308 * (1 + 1e-10)})
	f, err := linalg.FactorQR(wide)
	if err != nil || !math.IsInf(f.R().At(0, 0), 0) {
		t.Fatal(err, f.R())
	}
	if x, err := f.Solve(linalg.NewMatrix(2, 1, []float64{1e308, 1e308})); !errors.Is(err, linalg.ErrOverflow) {
		t.Errorf("%v, %v, want ErrOverflow", x, err)
	}
	// Elements of U beyond the type, on the diagonal and beside it.
	for _, a := range [][]float64{
		{1, 1e308, 1, -1e308}, {1, 1e308, -1, 1e308}, {1e308, 1e308, 1, 1e308, -1e308, 1, 1e308, 1e308, 1},
	} {
		n := int(math.Sqrt(float64(len(a))))
		if _, err := linalg.FactorLU(linalg.NewMatrix(n, n, a)); !errors.Is(err, linalg.ErrOverflow) {
			t.Errorf("%v: %v, want ErrOverflow", a, err)
		}
	}
	inf := linalg.NewMatrix(2, 1, []float64{math.Inf(1), 1}) // what comes through is none
	if _, err := lu.Solve(inf); err != nil {
		t.Error(err)
	}
	for _, relative := range []float64{-1, math.NaN()} {
		if _, err := svd.Solve(b, relative); !errors.Is(err, backend.ErrArgument) {
			t.Errorf("relative %v: %v", relative, err)
		}
	}
}

// Values beyond the type have a rank and a condition all the same.
func TestSVDBeyond(t *testing.T) {
	for _, c := range []struct {
		a    []float64 // 4 by 2
		rank int
		cond float64
	}{
		{[]float64{math.MaxFloat64, 0, math.MaxFloat64, 0, 0, math.MaxFloat64, 0, -math.MaxFloat64}, 2, 1},
		{[]float64{math.MaxFloat64, 0, math.MaxFloat64, 0, 0, 1, 0, 1}, 1, math.Inf(1)},
	} {
		f, err := linalg.FactorSVD(linalg.NewMatrix(4, 2, c.a))
		if err != nil {
			t.Fatal(err)
		}
		if f.Rank(0) != c.rank || f.Cond() != c.cond {
			t.Errorf("values %v: rank %d, condition %v", f.Values(), f.Rank(0), f.Cond())
		}
	}
}

// What is beyond the type on the way to a product with Q is an error, unless B had it.
func TestMulQBeyond(t *testing.T) {
	most := math.MaxFloat64
	for _, of := range []float64{1, most} { // of which R is beyond the type
		f, err := linalg.FactorQR(linalg.NewMatrix(3, 1, []float64{of, of, 0}))
		if err != nil {
			t.Fatal(err)
		}
		x, err := f.MulQ(blas.Trans, linalg.NewMatrix(3, 1, []float64{most, most, 1}))
		if !errors.Is(err, linalg.ErrOverflow) {
			t.Errorf("%v, %v", x, err)
		}
		if _, err := f.MulQ(blas.Trans, linalg.NewMatrix(3, 1, []float64{math.Inf(1), most, 1})); err != nil {
			t.Error(err)
		}
	}
}

package linalg_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/linalg"
)

func TestEigSymResiduals(t *testing.T) {
	t.Run("float32", testEigSymResiduals[float32])
	t.Run("float64", testEigSymResiduals[float64])
}

func testEigSymResiduals[T linalg.Float](t *testing.T) {
	n := 90
	for name, a := range hard[T](n) {
		for i := range n {
			for j := range i {
				a.Set(j, i, a.At(i, j))
			}
		}
		old := a.Packed()
		f, err := linalg.FactorEigSym(a)
		noError(t, err)
		same(t, "A", a, old)
		w, v := f.Values(), f.Vectors()
		if !slices.IsSorted(w) {
			t.Errorf("%s: eigenvalues %v", name, w)
		}
		scaled := v.Packed()
		for i := range n {
			for j := range n {
				scaled.Set(i, j, scaled.At(i, j)*w[j])
			}
		}
		within(t, "eigenvectors of "+name, relative(residual(scaled, a, v), a), orthogonality(v))
	}
}

// The bits are the same wherever products run.
func TestEigSymOnDevices(t *testing.T) {
	a := hard[float32](70)["random"]
	want, err := linalg.FactorEigSym(a)
	noError(t, err)
	defer linalg.FactorOnDevice()()
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		got, err := linalg.FactorEigSym(a, linalg.On(s), linalg.WithContext(t.Context()))
		noError(t, err)
		if !slices.Equal(got.Values(), want.Values()) {
			t.Errorf("eigenvalues %v, want %v", got.Values(), want.Values())
		}
		same(t, "vectors", got.Vectors(), want.Vectors())
	})
}

// Eigenvalues alone are the same wherever products run, and those with vectors.
func TestEigenvaluesSym(t *testing.T) {
	t.Run("float32", testEigenvaluesSym[float32])
	t.Run("float64", testEigenvaluesSym[float64])
}

func testEigenvaluesSym[T linalg.Float](t *testing.T) {
	a := hard[T](70)["random"]
	f, err := linalg.FactorEigSym(a)
	noError(t, err)
	want, err := linalg.EigenvaluesSym(a)
	noError(t, err)
	if !slices.Equal(want, f.Values()) || !slices.IsSorted(want) {
		t.Errorf("eigenvalues %v, with vectors %v", want, f.Values())
	}
	defer linalg.FactorOnDevice()()
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		got, err := linalg.EigenvaluesSym(a, linalg.On(s), linalg.WithContext(t.Context()))
		noError(t, err)
		if !slices.Equal(got, want) {
			t.Errorf("eigenvalues %v, want %v", got, want)
		}
	})
}

// QR, eigenvalues and singular values end in the middle.
func TestDecompositionsCancelled(t *testing.T) {
	a := hard[float64](150)["random"]
	for name, f := range map[string]func(context.Context) error{
		"QR": func(ctx context.Context) error { _, err := linalg.FactorQR(a, linalg.WithContext(ctx)); return err },
		"EigSym": func(ctx context.Context) error {
			_, err := linalg.FactorEigSym(a, linalg.WithContext(ctx))
			return err
		},
		"SVD": func(ctx context.Context) error { _, err := linalg.FactorSVD(a, linalg.WithContext(ctx)); return err },
		"eigenvalues": func(ctx context.Context) error {
			_, err := linalg.EigenvaluesSym(a, linalg.WithContext(ctx))
			return err
		},
		"singular values": func(ctx context.Context) error {
			_, err := linalg.SingularValues(a, linalg.WithContext(ctx))
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		err := f(linalg.WithProgress(ctx, func(at float64) {
			if calls++; calls == 3 {
				cancel()
			}
			if !(at >= 0 && at <= 1) {
				t.Errorf("%s is at %v", name, at)
			}
		}))
		if !errors.Is(err, context.Canceled) || calls != 3 {
			t.Errorf("%s: %v after %d reports", name, err, calls)
		}
		cancel()
	}
}

func TestEigSymErrors(t *testing.T) {
	err := linalg.FactorError(fmt.Errorf("by test: %w", solve.ErrNotConverged), linalg.NewMatrix[float64](2, 3, nil))
	if !errors.Is(err, linalg.ErrNotConverged) || !strings.Contains(err.Error(), "2x3") {
		t.Error(err)
	}
	if _, err := linalg.FactorEigSym(linalg.NewMatrix[float64](2, 3, nil)); !errors.Is(err, linalg.ErrShape) {
		t.Error(err)
	}
	if _, err := linalg.EigenvaluesSym(linalg.NewMatrix[float64](2, 3, nil)); !errors.Is(err, linalg.ErrShape) {
		t.Error(err)
	}
	f, err := linalg.FactorEigSym(linalg.NewMatrix[float64](0, 0, nil))
	if err != nil || len(f.Values()) != 0 {
		t.Error(f, err)
	}
	a := linalg.NewMatrix(2, 2, []float64{1, math.NaN(), 2, 1}) // NaN above the diagonal is not read
	f, err = linalg.FactorEigSym(a)
	noError(t, err)
	if w := f.Values(); !(math.Abs(w[0]+1) < 1e-15 && math.Abs(w[1]-3) < 2e-15) {
		t.Error(w)
	}
	a.Set(1, 0, math.NaN())
	if f, err = linalg.FactorEigSym(a); err != nil || f.Values()[0] == f.Values()[0] {
		t.Error(f.Values(), err)
	}
	if w, err := linalg.EigenvaluesSym(a); err != nil || w[0] == w[0] || w[1] == w[1] {
		t.Error(w, err)
	}
	f, err = linalg.FactorEigSym(linalg.NewMatrix(2, 2, []float64{1e308, 0, -1e308, 1e308})) // 0 and 2e308
	if err != nil || math.Abs(f.Values()[0]) > 1e293 || !math.IsInf(f.Values()[1], 1) {
		t.Error(f.Values(), err)
	}
}

// Numbers from both ends of the range beside each other have eigenvalues, with vectors and alone.
func TestEigSymWild(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for range 20_000 {
		n := 2 + rng.IntN(5)
		a := linalg.NewMatrix[float64](n, n, nil)
		for i := range a.Data {
			a.Data[i] = []float64{0, 1, 1e300, 1e-300, 5e-324, 1e150, 1e-150}[rng.IntN(7)]
		}
		f, err := linalg.FactorEigSym(a)
		noError(t, err)
		values, err := linalg.EigenvaluesSym(a)
		noError(t, err)
		size := 0.0
		for _, v := range f.Values() {
			size = max(size, math.Abs(v))
		}
		for j, w := range f.Values() {
			if d := math.Abs(w - values[j]); !(d <= 1e-14*size) {
				t.Fatalf("%v: value %d is %v, and alone %v", a, j, w, values[j])
			}
			for i := range n {
				var r float64
				for k := range n {
					r += a.At(max(i, k), min(i, k)) / max(size, 1e-300) * f.Vectors().At(k, j)
				}
				if r -= w / max(size, 1e-300) * f.Vectors().At(i, j); !(math.Abs(r) <= 1e-13) {
					t.Fatalf("%v: vector %d leaves %v in row %d", a, j, r, i)
				}
			}
		}
	}
}

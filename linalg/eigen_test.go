package linalg_test

import (
	"errors"
	"math"
	"slices"
	"testing"

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
		got, err := linalg.FactorEigSymContext(t.Context(), s, a)
		noError(t, err)
		if !slices.Equal(got.Values(), want.Values()) {
			t.Errorf("eigenvalues %v, want %v", got.Values(), want.Values())
		}
		same(t, "vectors", got.Vectors(), want.Vectors())
	})
}

func TestEigSymErrors(t *testing.T) {
	if _, err := linalg.FactorEigSym(linalg.NewMatrix[float64](2, 3, nil)); !errors.Is(err, linalg.ErrShape) {
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
}

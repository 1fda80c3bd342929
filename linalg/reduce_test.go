package linalg_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/linalg"
)

// Eigenvalues and singular values of a matrix that is reduced in a device's memory have the bits of
// the host's, whatever its shape and its elements are.
func TestReductionOnDevice(t *testing.T) {
	defer linalg.FactorOnDevice()()
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testEigSymOnDevice[float32](t, s, "wild", 40)
		testSVDOnDevice[float32](t, s, "wild", 36, 38)
		if s.Info().Driver == "cudasim" { // slow
			testEigSymOnDevice[float64](t, s, "tiny", 66)
			testSVDOnDevice[float64](t, s, "random", 40, 34)
			return
		}
		testEigSymOnDevice[float64](t, s, "random", 210)
		testSVDOnDevice[float64](t, s, "random", 190, 161)
		for _, kind := range awkward {
			for _, n := range []int{1, 2, 3, 33, 66} {
				testEigSymOnDevice[float64](t, s, kind, n)
			}
			for _, shape := range [][2]int{{2, 1}, {1, 3}, {33, 33}, {40, 34}, {35, 50}, {90, 35}, {35, 70}} {
				testSVDOnDevice[float64](t, s, kind, shape[0], shape[1])
			}
		}
	})
}

// No vector is read before it is there.
func TestReductionOnLateDevice(t *testing.T) {
	defer linalg.FactorOnDevice()()
	for _, writes := range []bool{false, true} {
		s := openLate(t, writes)
		testEigSymOnDevice[float64](t, s, "random", 70)
		testSVDOnDevice[float64](t, s, "random", 70, 60)
	}
}

func testEigSymOnDevice[T linalg.Float](t *testing.T, s *linalg.Session, kind string, n int) {
	t.Helper()
	a, w := awkwardMatrix[T](kind, n, n), make([]float64, n)
	want := a.Packed()
	wide := linalg.NewMatrix[float64](n, n, nil)
	for i, v := range want.Data {
		wide.Data[i] = float64(v)
	}
	values := make([]float64, n)
	_, err := solve.EigSym(solve.Solver[float64]{}, false, true, n, wide.Packed().Data, n, values)
	noError(t, err)
	_, err = solve.EigSym(solve.Solver[float64]{}, true, true, n, wide.Data, n, w)
	noError(t, err)
	name := fmt.Sprintf("eigenvalues of %s %s", kind, a)
	f, err := linalg.FactorEigSym(a, linalg.On(s), linalg.WithContext(t.Context()))
	noError(t, err)
	same(t, name, row(f.Values()), row(narrow[T](w)))
	same(t, name+": vectors", f.Vectors(), linalg.NewMatrix(n, n, narrow[T](wide.Data)))
	only, err := linalg.EigenvaluesSym(a, linalg.On(s))
	noError(t, err)
	same(t, name+" alone", row(only), row(narrow[T](values)))
}

func testSVDOnDevice[T linalg.Float](t *testing.T, s *linalg.Session, kind string, m, n int) {
	t.Helper()
	a, k := awkwardMatrix[T](kind, m, n), min(m, n)
	data := make([]float64, m*n)
	for i, v := range a.Packed().Data {
		data[i] = float64(v)
	}
	values, u, vt := make([]float64, k), make([]float64, m*k), make([]float64, k*n)
	_, err := solve.SVD(solve.Solver[float64]{}, m, n, data, n, values,
		solve.SingularVectors{U: u, Cols: k, LdU: k, VT: vt, Rows: k, LdVT: n})
	noError(t, err)
	name := fmt.Sprintf("singular values of %s %s", kind, a)
	f, err := linalg.FactorSVD(a, linalg.On(s), linalg.WithContext(t.Context()))
	noError(t, err)
	same(t, name, row(f.Values()), row(narrow[T](values)))
	same(t, name+": U", f.U(), linalg.NewMatrix(m, k, narrow[T](u)))
	same(t, name+": Vᵀ", f.VT(), linalg.NewMatrix(k, n, narrow[T](vt)))
	only, err := linalg.SingularValues(a, linalg.On(s))
	noError(t, err)
	same(t, name+" alone", row(only), row(f.Values()))
}

func row[T linalg.Float](x []T) linalg.Matrix[T] { return linalg.NewMatrix(1, len(x), x) }

func narrow[T linalg.Float](x []float64) []T {
	r := make([]T, len(x))
	for i, v := range x {
		r[i] = T(v)
	}
	return r
}

// A reduction asks a device with memory of its own, for each column, for a product with a vector,
// or two, and moves no more than these vectors; for each panel it brings the columns and rows down,
// and as many of both sides up.
func TestReductionCosts(t *testing.T) {
	defer linalg.FactorOnDevice()()
	const n = 97
	a := awkwardMatrix[float64]("random", n, n)
	eigenvalues := func(s *linalg.Session) error {
		_, err := linalg.EigenvaluesSym(a, linalg.On(s))
		return err
	}
	singularValues := func(s *linalg.Session) error {
		_, err := linalg.SingularValues(a, linalg.On(s))
		return err
	}
	for _, test := range []struct {
		name string
		want map[string]int
		f    func(s *linalg.Session) error
	}{
		// Of 3 panels each fetches columns, subtracts and mirrors; then there is the last element.
		// The last reflector is none.
		{"eigenvalues", map[string]int{
			"Queue.Launch": n - 2 + 3*3, "Queue.WriteAsync": n - 2, "Queue.ReadAsync": n - 2,
			"Queue.Write": 1 + 3*2, "Queue.Read": 3 + 1, "Device.Alloc": 3,
		}, eigenvalues},
		// Of 4 panels, of which the last has one column, 3 subtract.
		{"singular values", map[string]int{
			"Queue.Launch": 2*(n-1) - 1 + 3 + 3, "Queue.WriteAsync": 2*(n-1) - 1, "Queue.ReadAsync": 2*(n-1) - 1,
			"Queue.Write": 1 + 3*2, "Queue.Read": 4 * 2, "Device.Alloc": 3,
		}, singularValues},
	} {
		d, err := backend.Open("cpu")
		noError(t, err)
		seen := map[string]int{}
		s, err := linalg.NewSession(backendtest.Hook(d, &backendtest.Hooks{
			Info: func(info *backend.Info) { info.Host, info.UnifiedMemory = false, false },
			Call: func(name string, call func() error) error {
				seen[name]++
				return call()
			},
		}))
		noError(t, err)
		noError(t, test.f(s))
		for call, n := range test.want {
			if seen[call] != n {
				t.Errorf("%s: %d times %s, want %d", test.name, seen[call], call, n)
			}
		}
		noError(t, s.Close())
	}
}

func TestReductionProgress(t *testing.T) {
	defer linalg.FactorOnDevice()()
	s, a := openLate(t, false), dominant[float64](290, true)
	testProgress(t, "eigenvalues", func(ctx context.Context) error {
		_, err := linalg.EigenvaluesSym(a, linalg.On(s), linalg.WithContext(ctx))
		return err
	})
	testProgress(t, "singular values", func(ctx context.Context) error {
		_, err := linalg.SingularValues(a, linalg.On(s), linalg.WithContext(ctx))
		return err
	})
}

// What goes wrong in a reduction is the error of the call, which leaves nothing behind; what has no
// room on the device is the host's.
func TestReductionErrors(t *testing.T) {
	defer linalg.FactorOnDevice()()
	a, broken := awkwardMatrix[float64]("random", 40, 40), errors.New("broken")
	eigenvalues := func(s *linalg.Session) (linalg.Matrix[float64], error) {
		w, err := linalg.EigenvaluesSym(a, linalg.On(s))
		return row(w), err
	}
	singularValues := func(s *linalg.Session) (linalg.Matrix[float64], error) {
		w, err := linalg.SingularValues(a, linalg.On(s))
		return row(w), err
	}
	w, sv := make([]float64, 40), make([]float64, 40)
	_, err := solve.EigSym(solve.Solver[float64]{}, false, true, 40, a.Packed().Data, 40, w)
	noError(t, err)
	_, err = solve.SVD(solve.Solver[float64]{}, 40, 40, a.Packed().Data, 40, sv, solve.SingularVectors{})
	noError(t, err)
	for _, test := range []deviceFault{
		{"Device.Alloc", 0, backend.ErrOutOfMemory, nil}, // of the matrix
		{"Device.Alloc", 1, backend.ErrOutOfMemory, nil}, // of what is beside
		{"Device.Alloc", 1, broken, broken},
		{"Device.AllocHost", 0, broken, broken}, // for vectors
		{"Device.NewQueue", 0, broken, broken},
		{"Queue.Write", 0, broken, broken}, // of the matrix
		{"Queue.Write", 1, broken, broken}, // of what is subtracted
		{"Queue.Write", 2, broken, broken},
		{"Queue.Launch", 0, broken, broken}, // of columns
		{"Queue.Launch", 1, broken, broken}, // of a product
		{"Queue.Launch", 33, broken, broken},
		{"Queue.Launch", 34, broken, broken},
		{"Queue.Read", 0, broken, broken},
		{"Queue.Wait", 0, broken, broken}, // for a product
		{"Queue.Wait", 30, broken, broken},
	} {
		test.on(t, "eigenvalues", eigenvalues, row(w))
		test.on(t, "singular values", singularValues, row(sv))
	}
}

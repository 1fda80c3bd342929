package gonumblas

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/linalg"
)

// What linalg factors for Dgetrf and Dpotrf comes back to where it was, and nothing beside it
// changes; what a device fails at the host does.
func TestFactorsByLinalg(t *testing.T) {
	d, err := backend.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	s, err := new(watched).session(d, func(i *backend.Info) { i.Host, i.UnifiedMemory = false, false })
	if err != nil {
		t.Fatal(err)
	}
	defer Restore()
	for _, closed := range []bool{false, true} {
		Use(s, Crossover(0))
		f := factorizer{e: installed.engine}
		for _, shape := range [][2]int{{40, 40}, {50, 30}, {30, 50}} {
			m, n := shape[0], shape[1]
			testGetrf(t, f, normal(m, n, 3))
			singular := normal(m, n, 3)
			for i := range m {
				singular.Set(i, 5, 0)
			}
			testGetrf(t, f, singular)
		}
		beyond := linalg.NewMatrix[float64](40, 40, nil) // the last element of U is -Inf
		for i := range 40 {
			beyond.Set(i, i, 1)
		}
		beyond.Set(38, 39, 1e308)
		beyond.Set(39, 38, 1)
		beyond.Set(39, 39, -1e308)
		testGetrf(t, f, beyond)
		for _, ul := range []blas.Uplo{blas.Lower, blas.Upper} {
			a := normal(40, 40, 3)
			for i := range 40 {
				a.Set(i, i, 80)
			}
			testPotrf(t, f, ul, a)
			a.Set(20, 20, -1)
			testPotrf(t, f, ul, a)
		}
		if (Err() != nil) != closed {
			t.Errorf("closed %v: %v", closed, Err())
		}
		s.Close()
	}
}

// QR and Q of large matrices run in the device's memory; what a device fails at in the middle the
// host does, with A as it was.
func TestReflectorsByLinalg(t *testing.T) {
	d, err := backend.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	w := new(watched)
	s, err := w.session(d, func(i *backend.Info) {
		i.Host, i.UnifiedMemory, i.GPU = false, false, true // which nobody has measured
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer Restore()
	const m, n = 1100, 1050
	a := normal(m, n, 3)
	want, tau, work := slices.Clone(a.Data), make([]float64, n), make([]float64, n)
	must(solve.Solver[float64]{}.QR(m, n, want, a.Stride, tau))
	q := slices.Clone(want)
	must(solve.Solver[float64]{}.FormQ(m, n, n, q, a.Stride, tau))
	for _, failAt := range []int64{0, 60} {
		Use(s, Crossover(512))
		f := factorizer{e: installed.engine}
		got, gotTau := slices.Clone(a.Data), make([]float64, n)
		for _, step := range []struct {
			name string
			f    func()
			want []float64
		}{
			{"Dgeqrf", func() { f.Dgeqrf(m, n, got, a.Stride, gotTau, work, n) }, want},
			{"Dorgqr", func() { f.Dorgqr(m, n, n, got, a.Stride, gotTau, work, n) }, q},
		} {
			before := w.launches.Load()
			w.calls.Store(0)
			w.failAt.Store(failAt)
			step.f()
			w.failAt.Store(0)
			if !slices.Equal(got, step.want) || !slices.Equal(gotTau, tau) {
				t.Errorf("%s is not that of the host, where call %d fails", step.name, failAt)
			}
			if w.launches.Load() < before+30 || (Err() != nil) != (failAt > 0) {
				t.Errorf("%s: %d launches where call %d fails: %v", step.name, w.launches.Load()-before, failAt, Err())
			}
		}
	}
}

func normal(m, n, gap int) linalg.Matrix[float64] {
	a := linalg.Matrix[float64]{Rows: m, Cols: n, Stride: n + gap, Data: make([]float64, m*(n+gap))}
	for i := range a.Data {
		a.Data[i] = math.Sin(float64(i * i))
	}
	return a
}

func testGetrf(t *testing.T, f factorizer, a linalg.Matrix[float64]) {
	t.Helper()
	m, n, want := a.Rows, a.Cols, slices.Clone(a.Data)
	pivots, ipiv := make([]int, min(m, n)), make([]int, min(m, n))
	singular, err := solve.Solver[float64]{}.LU(m, n, want, a.Stride, pivots)
	must(err)
	ok := f.Dgetrf(m, n, a.Data, a.Stride, ipiv)
	if ok != (singular < 0) || !slices.Equal(ipiv, pivots) || !slices.Equal(a.Data, want) {
		t.Errorf("Dgetrf of %v is not that of the host: %v", a, ok)
	}
}

func testPotrf(t *testing.T, f factorizer, ul blas.Uplo, a linalg.Matrix[float64]) {
	t.Helper()
	got, want := slices.Clone(a.Data), slices.Clone(a.Data)
	row, err := solve.Solver[float64]{}.Cholesky(ul == blas.Lower, a.Rows, want, a.Stride)
	must(err)
	ok := f.Dpotrf(ul, a.Rows, got, a.Stride)
	if ok != (row < 0) || ok && !slices.Equal(got, want) {
		t.Errorf("Dpotrf of %v, %c, is not that of the host: %v", a, ul, ok)
	}
}

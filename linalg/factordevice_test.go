package linalg_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/linalg"
)

// Factors that a device makes have the bits of the host's, for panels and matrices of any shape,
// and whatever the elements are.
func TestFactorsOnDevice(t *testing.T) {
	defer linalg.FactorOnDevice()()
	shapes := [][2]int{{1, 1}, {8, 8}, {9, 9}, {17, 16}, {7, 30}, {30, 7}, {3, 1}, {1, 3}, {33, 21}}
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		for _, width := range []int{1, 5, 8} {
			func() {
				defer linalg.FactorPanels(width)()
				for _, shape := range shapes {
					testLUOnDevice[float64](t, s, shape[0], shape[1])
				}
				testLUOnDevice[float32](t, s, 19, 19)
				for _, n := range []int{1, 8, 9, 16, 23} {
					testCholeskyOnDevice[float64](t, s, n)
				}
				testCholeskyOnDevice[float32](t, s, 19)
			}()
		}
		testLUOnDevice[float64](t, s, 70, 66) // with the panels that are shipped
		testLUOnDevice[float32](t, s, 33, 65)
		testLUOnDevice[float32](t, s, 2600, 3) // several rows for each work-item
		testCholeskyOnDevice[float64](t, s, 67)
		if s.Info().Driver != "cudasim" {
			testLUOnDevice[float64](t, s, 300, 310)
			testCholeskyOnDevice[float64](t, s, 400) // several products for a panel
		}
	})
}

// awkward are kinds of elements that pivots are to be chosen among.
var awkward = []string{"random", "ties", "zeros", "singular", "NaN", "Inf", "wild", "tiny"}

func awkwardMatrix[T linalg.Float](kind string, m, n int) linalg.Matrix[T] {
	rng := rand.New(rand.NewPCG(5, uint64(m*100+n)))
	a := random[T](rng, m, n, 3)
	for i := range m {
		for j := range n {
			v := 2*rng.Float64() - 1
			switch kind {
			case "ties":
				v = float64(rng.IntN(3) - 1)
			case "zeros":
				v = math.Copysign(0, v)
			case "singular":
				if j%5 == 3 {
					v = float64(a.At(i, j-1))
				}
			case "NaN", "Inf":
				if rng.IntN(m+n) == 0 {
					v = map[string]float64{"NaN": math.NaN(), "Inf": math.Inf(i%2*2 - 1)}[kind]
				}
			case "wild":
				v = math.Ldexp(v, rng.IntN(60)-30)
			case "tiny":
				v *= map[bool]float64{true: 0x1p-1060, false: 0x1p-140}[T(0x1p-1060) != 0]
			}
			a.Set(i, j, T(v))
		}
	}
	return a
}

func testLUOnDevice[T linalg.Float](t *testing.T, s *linalg.Session, m, n int) {
	t.Helper()
	for _, kind := range awkward {
		a := awkwardMatrix[T](kind, m, n)
		f, err := linalg.FactorLU(a, linalg.On(s), linalg.WithContext(t.Context()))
		noError(t, err)
		want, pivots := a.Packed(), make([]int, min(m, n))
		singular, err := solve.Solver[T]{}.LU(m, n, want.Data, n, pivots)
		noError(t, err)
		name := fmt.Sprintf("LU of %s %s", kind, a)
		same(t, name, f.Packed(), want)
		equal(t, name+": pivots", f.Pivots(), pivots)
		if m == n {
			_, err := f.Solve(linalg.NewMatrix[T](n, 1, nil))
			if (singular >= 0) != errors.Is(err, linalg.ErrSingular) {
				t.Errorf("%s: %v, and the first pivot that is 0 is %d", name, err, singular)
			}
			if singular >= 0 {
				refused(t, name, err, linalg.ErrSingular, fmt.Sprintf("pivot %d of", singular))
			}
		}
	}
}

func testCholeskyOnDevice[T linalg.Float](t *testing.T, s *linalg.Session, n int) {
	t.Helper()
	for _, kind := range []string{"definite", "late", "NaN", "Inf"} {
		a := dominant[T](n, true)
		for i := range n { // above the diagonal nothing counts
			for j := i + 1; j < n; j++ {
				a.Set(i, j, T(math.NaN()))
			}
		}
		switch i := n * 2 / 3; kind {
		case "late":
			a.Set(i, i, -1)
		case "NaN":
			a.Set(i, i/2, T(math.NaN()))
		case "Inf":
			a.Set(n-1, 0, T(math.Inf(1)))
		}
		want := linalg.NewMatrix[T](n, n, nil)
		row, err := solve.Solver[T]{}.LowerCholesky(n, a.Data, a.Stride, want.Data, n)
		noError(t, err)
		name := fmt.Sprintf("Cholesky of %s %s", kind, a)
		f, err := linalg.FactorCholesky(a, linalg.On(s), linalg.WithContext(t.Context()))
		if row >= 0 {
			refused(t, name, err, linalg.ErrNotPositiveDefinite, fmt.Sprintf("row %d of", row))
			continue
		}
		noError(t, err)
		same(t, name, f.L(), want)
	}
}

// Several devices, and a device without room for the matrix, leave panels to the host.
func TestFactorsBesideDevices(t *testing.T) {
	defer linalg.FactorOnDevice()()
	for _, x := range []struct{ spec, memory string }{{"cpu+opencl", ""}, {"opencl", "20KiB"}} {
		t.Setenv(linalg.EnvMemory, x.memory)
		s, err := linalg.Open(x.spec)
		backendtest.Require(t, x.spec, err)
		t.Cleanup(func() { s.Close() })
		testLUOnDevice[float64](t, s, 70, 66)
		testCholeskyOnDevice[float64](t, s, 70)
		testQROnDevice[float64](t, s, "random", 70, 66)
	}
}

// A factorization on a device ends in the middle, tells how far it is, and waits for each panel
// then.
func TestFactorsOnDeviceProgress(t *testing.T) {
	defer linalg.FactorOnDevice()()
	defer linalg.FactorPanels(8)()
	a, wide := dominant[float64](60, true), dominant[float64](160, false) // panels of QR have 32 columns
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		qr := func(ctx context.Context) error {
			_, err := linalg.FactorQR(wide, linalg.On(s), linalg.WithContext(ctx))
			return err
		}
		lu := func(ctx context.Context) error {
			_, err := linalg.FactorLU(a, linalg.On(s), linalg.WithContext(ctx))
			return err
		}
		cholesky := func(ctx context.Context) error {
			_, err := linalg.FactorCholesky(a, linalg.On(s), linalg.WithContext(ctx))
			return err
		}
		for name, f := range map[string]func(ctx context.Context) error{"LU": lu, "Cholesky": cholesky, "QR": qr} {
			testProgress(t, name, f)
		}
	})
}

// testProgress has f tell how far it is, and end in the middle.
func testProgress(t *testing.T, name string, f func(ctx context.Context) error) {
	t.Helper()
	var seen []float64
	noError(t, f(linalg.WithProgress(t.Context(), func(f float64) { seen = append(seen, f) })))
	if len(seen) < 8 || !slices.IsSorted(seen) || seen[0] <= 0 || seen[0] > 0.5 || seen[len(seen)-1] != 1 {
		t.Errorf("%s: progress %v", name, seen)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := linalg.WithProgress(ctx, func(f float64) {
		if cancel(); f > 0.5 {
			t.Errorf("%s goes on to %v", name, f)
		}
	})
	if err := f(stop); !errors.Is(err, context.Canceled) {
		t.Errorf("%s: cancelled in the middle: %v", name, err)
	}
}

// What has no room on the device is factored as on a device of less memory; what else goes wrong
// there is the error of the call, which leaves nothing behind.
func TestFactorsOnDeviceErrors(t *testing.T) {
	defer linalg.FactorOnDevice()()
	a, broken := dominant[float64](40, true), errors.New("broken")
	lu := func(s *linalg.Session) (linalg.Matrix[float64], error) {
		f, err := linalg.FactorLU(a, linalg.On(s))
		if err != nil {
			return linalg.Matrix[float64]{}, err
		}
		return f.Packed(), nil
	}
	qr := func(s *linalg.Session) (linalg.Matrix[float64], error) {
		f, err := linalg.FactorQR(a, linalg.On(s))
		if err != nil {
			return linalg.Matrix[float64]{}, err
		}
		return f.Packed(), nil
	}
	q := func(s *linalg.Session) (linalg.Matrix[float64], error) {
		f, err := linalg.FactorQR(a, linalg.On(s))
		if err != nil {
			return linalg.Matrix[float64]{}, err
		}
		return f.Q()
	}
	wantLU, wantQR := a.Packed(), a.Packed()
	_, err := solve.Solver[float64]{}.LU(40, 40, wantLU.Data, 40, make([]int, 40))
	noError(t, err)
	tau := make([]float64, 40)
	noError(t, solve.Solver[float64]{}.QR(40, 40, wantQR.Data, 40, tau))
	wantQ := wantQR.Packed()
	noError(t, solve.Solver[float64]{}.FormQ(40, 40, 40, wantQ.Data, 40, tau))
	for _, test := range []deviceFault{
		{"Device.Alloc", 0, backend.ErrOutOfMemory, nil}, // of the matrix
		{"Device.Alloc", 2, backend.ErrOutOfMemory, nil}, // of a panel
		{"Device.Alloc", 1, broken, broken},
		{"Device.NewQueue", 0, broken, broken},
		{"Queue.Write", 0, broken, broken},
		{"Queue.Launch", 0, broken, broken},
		{"Queue.Launch", 5, broken, broken},
		{"Queue.Read", 0, broken, broken},
		{"Queue.Read", 1, broken, broken},
	} {
		test.on(t, "LU", lu, wantLU)
	}
	for _, test := range []deviceFault{
		{"Device.Alloc", 0, backend.ErrOutOfMemory, nil}, // of the matrix
		{"Device.Alloc", 1, backend.ErrOutOfMemory, nil}, // of what else there is
		{"Device.Alloc", 1, broken, broken},
		{"Device.NewQueue", 0, broken, broken},
		{"Device.NewQueue", 1, broken, broken},
		{"Queue.Write", 0, broken, broken}, // of the matrix
		{"Queue.Write", 1, broken, broken}, // of a block
		{"Queue.Record", 0, broken, broken},
		{"Queue.Record", 1, broken, broken},
		{"Queue.Record", 2, broken, broken},
		{"Queue.WaitEvent", 1, broken, broken},
		{"Queue.Launch", 0, broken, broken},
		{"Queue.Launch", 1, broken, broken},
		{"Queue.Launch", 4, broken, broken},
		{"Queue.Launch", 4, backend.ErrOutOfMemory, backend.ErrOutOfMemory}, // when panels are in place
		{"Queue.Read", 0, broken, broken},
		{"Queue.Read", 1, broken, broken},
		{"Queue.Wait", 1, broken, broken}, // after that of the copies
	} {
		test.on(t, "QR", qr, wantQR)
	}
	for _, test := range []deviceFault{ // after the calls of QR
		{"Device.Alloc", 2, backend.ErrOutOfMemory, nil},
		{"Device.Alloc", 3, backend.ErrOutOfMemory, nil},
		{"Queue.Write", 2, broken, broken},
		{"Queue.Launch", 7, broken, broken},
		{"Queue.Read", 2, broken, broken},
	} {
		test.on(t, "Q", q, wantQ)
	}
}

// A deviceFault is a call of a device that fails, and what becomes of a factorization then.
type deviceFault struct {
	call string
	at   int // which one of them
	err  error
	want error
}

func (test deviceFault) on(t *testing.T, what string, factor func(*linalg.Session) (linalg.Matrix[float64], error),
	want linalg.Matrix[float64],
) {
	t.Helper()
	name := fmt.Sprintf("%s where %s %d fails with %v", what, test.call, test.at, test.err)
	d, err := backend.Open("cpu")
	noError(t, err)
	left, seen, armed := map[string]int64{}, 0, false
	s, err := linalg.NewSession(backendtest.Hook(d, &backendtest.Hooks{
		Call: func(name string, call func() error) error {
			if armed && name == test.call {
				if seen++; seen == test.at+1 {
					return test.err
				}
			}
			return call()
		},
		Made:  func(what string, _ int64) { left[what]++ },
		Freed: func(what string, _ int64) { left[what]-- },
	}))
	noError(t, err)
	armed = true
	got, err := factor(s)
	if armed = false; !errors.Is(err, test.want) || seen <= test.at {
		t.Errorf("%s: %v", name, err)
	}
	if left["buffer"] != 0 || left["event"] != 0 {
		t.Errorf("%s: %v are left on the device", name, left)
	}
	if test.want == nil && err == nil {
		same(t, name, got, want)
	}
	noError(t, s.Close())
	if _, err := factor(s); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

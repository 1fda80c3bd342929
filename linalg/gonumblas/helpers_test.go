package gonumblas

import (
	"errors"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/linalg"
)

// A watched device counts its launches and fails where a test wants it to.
type watched struct {
	launches atomic.Int64
	calls    atomic.Int64  // of the queue
	failAt   atomic.Int64  // the call that fails; 0 for none
	delay    time.Duration // of every launch
}

var errFake = errors.New("made to fail")

// session is a session on d, watched.
func (w *watched) session(d *backend.Device, info func(*backend.Info)) (*linalg.Session, error) {
	return linalg.NewSession(backendtest.Hook(d, &backendtest.Hooks{
		Info: info, Call: w.call, Spoil: true,
	}))
}

func (w *watched) call(name string, call func() error) error {
	switch name {
	case "Queue.Launch":
		w.launches.Add(1)
		time.Sleep(w.delay)
	case "Queue.Wait": // even where it fails: what went wrong before is told then
		err := call()
		call = func() error { return err }
	case "Queue.Write", "Queue.WriteAsync", "Queue.Read", "Queue.ReadAsync":
	default:
		return call()
	}
	if w.calls.Add(1) == w.failAt.Load() {
		return &backend.Error{Op: "test", Err: errFake}
	}
	return call()
}

func open(t *testing.T, spec string) (*linalg.Session, *watched) {
	t.Helper()
	inner, err := backend.Open(spec)
	backendtest.Require(t, spec, err)
	d := new(watched)
	s, err := d.session(inner, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, d
}

// eachBackend runs f with a session on every backend that the machine has, but for the simulator
// under the race detector.
func eachBackend(t *testing.T, f func(t *testing.T, s *linalg.Session, d *watched)) {
	for _, driver := range backend.Drivers() {
		t.Run(driver.Name(), func(t *testing.T) {
			if racetest.Enabled && driver.Name() == "cudasim" {
				t.Skip("slow")
			}
			s, d := open(t, driver.Name())
			f(t, s, d)
		})
	}
}

// use is Use for the rest of a test. The device must not have failed at its end.
func use(t *testing.T, s *linalg.Session, options ...Option) {
	t.Helper()
	Use(s, options...)
	t.Cleanup(func() {
		if err := Err(); err != nil {
			t.Error(err)
		}
		Restore()
	})
}

// level3 is level 3 of BLAS in one type.
type level3[T float] struct {
	gemm func(tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T,
		ldc int)
	symm func(s blas.Side, ul blas.Uplo, m, n int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T,
		ldc int)
	syrk  func(ul blas.Uplo, t blas.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int)
	syr2k func(ul blas.Uplo, t blas.Transpose, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T,
		ldc int)
	trmm, trsm func(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha T, a []T, lda int,
		b []T, ldb int)
	nameOfPrefix string
}

type bothTypes interface {
	blas.Float64
	blas.Float32
}

var _ bothTypes = gonum.Implementation{}

func level3Of[T float](i bothTypes) level3[T] {
	if is32[T]() {
		return any(level3[float32]{i.Sgemm, i.Ssymm, i.Ssyrk, i.Ssyr2k, i.Strmm, i.Strsm, "S"}).(level3[T])
	}
	return any(level3[float64]{i.Dgemm, i.Dsymm, i.Dsyrk, i.Dsyr2k, i.Dtrmm, i.Dtrsm, "D"}).(level3[T])
}

const guard = -77 // fills what must not change

// random makes a matrix with a gap after each row. Its values include zeros of both signs,
// subnormals, and values whose products underflow.
func random[T float](rng *rand.Rand, rows, cols, gap int) linalg.Matrix[T] {
	m := uniform[T](rng, rows, cols, gap)
	small := T(0x1p-1030)
	if is32[T]() {
		small = T(0x1p-130)
	}
	for i := range rows {
		for j, v := range m.Row(i) {
			switch rng.IntN(16) {
			case 0:
				m.Set(i, j, T(math.Copysign(0, float64(v))))
			case 1:
				m.Set(i, j, v*small)
			}
		}
	}
	return m
}

// uniform makes a matrix of values between -1 and 1, and a gap after each row but the last.
func uniform[T float](rng *rand.Rand, rows, cols, gap int) linalg.Matrix[T] {
	m := linalg.Matrix[T]{Rows: rows, Cols: cols, Stride: max(1, cols+gap)}
	m.Data = make([]T, max(0, (rows-1)*m.Stride+cols))
	for i := range m.Data {
		m.Data[i] = guard
	}
	for i := range rows {
		for j := range cols {
			m.Set(i, j, T(2*rng.Float64()-1))
		}
	}
	return m
}

func clone[T float](m linalg.Matrix[T]) linalg.Matrix[T] {
	m.Data = append([]T(nil), m.Data...)
	return m
}

// same compares two matrices bit by bit, with their gaps; a NaN is any NaN.
func same[T float](t *testing.T, what string, got, want linalg.Matrix[T]) {
	t.Helper()
	for i, g := range got.Data {
		w := want.Data[i]
		if g != w && (g == g || w == w) || math.Signbit(float64(g)) != math.Signbit(float64(w)) && g == g {
			t.Fatalf("%s: element (%d, %d) of %s with stride %d is %v, want %v", what, i/got.Stride, i%got.Stride, got,
				got.Stride, g, w)
		}
	}
}

func transposed[T float](m linalg.Matrix[T]) linalg.Matrix[T] {
	r := linalg.NewMatrix[T](m.Cols, m.Rows, nil)
	for i := range m.Rows {
		for j := range m.Cols {
			r.Set(j, i, m.At(i, j))
		}
	}
	return r
}

func opOf[T float](t blas.Transpose, m linalg.Matrix[T]) linalg.Matrix[T] {
	if t == blas.NoTrans {
		return m
	}
	return transposed(m)
}

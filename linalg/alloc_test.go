//go:build !race

package linalg_test

import (
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/linalg"
)

// idle is a device that accepts launches and does nothing: what is left is linalg's own part of a call.
type idle struct{ backend.Device }

type idleQueue struct{ backend.Queue }

func (d idle) NewQueue() (backend.Queue, error) {
	q, err := d.Device.NewQueue()
	return idleQueue{q}, err
}

func (idleQueue) Launch(backend.Kernel, backend.Grid, ...backend.Arg) error { return nil }

// openIdle opens the device of spec without its launches.
func openIdle(tb testing.TB, spec string) *linalg.Session {
	tb.Helper()
	d, err := backend.Open(spec)
	backendtest.Require(tb, spec, err)
	s, err := linalg.NewSession(idle{d})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// Operations on arrays allocate nothing once their kernel is compiled, but for what a kernel of the cpu device allocates itself. The simulated device does
// so all the time: with the kernels of CUDA, linalg's part is tested here, and the driver's in its package.
func TestArraysAllocateNothing(t *testing.T) {
	for _, spec := range []string{"cpu", "opencl", "cuda"} {
		t.Run(spec, func(t *testing.T) {
			s, err := linalg.Open(spec)
			backendtest.Require(t, spec, err)
			t.Cleanup(func() { s.Close() })
			wantNoAllocs[float32](t, s)
			if s.Info().Float64 {
				wantNoAllocs[float64](t, s)
			}
			wantNoAllocs[int32](t, s)
		})
	}
	t.Run("idle", func(t *testing.T) { wantNoAllocs[float32](t, openIdle(t, "cudasim")) })
}

func wantNoAllocs[T linalg.Element](t *testing.T, s *linalg.Session) {
	t.Helper()
	most := 0.0
	if s.Info().Driver == "cpu" {
		most = 4
	}
	x, y, z := zeros[T](t, s, 64), zeros[T](t, s, 64), zeros[T](t, s, 64)
	for name, f := range map[string]func() error{
		"Mul":       func() error { return z.Mul(x, y) },
		"Gemm":      func() error { return z.Gemm(2, blas.NoTrans, x, blas.NoTrans, y, 3) },
		"Transpose": func() error { return z.Transpose(x) },
		"Add":       func() error { return z.Add(x, y) },
		"Scale":     func() error { return z.Scale(2, x) },
		"Wait":      s.Wait,
	} {
		n := testing.AllocsPerRun(100, func() {
			if err := f(); err != nil {
				t.Fatal(err)
			}
		})
		if n > most {
			t.Errorf("%s of %s: %v allocations", name, x, n)
		}
	}
}

// BenchmarkMulIdle is linalg's own part of a product of arrays.
func BenchmarkMulIdle(b *testing.B) {
	s := openIdle(b, "cudasim")
	x, y, z := zeros[float32](b, s, 64), zeros[float32](b, s, 64), zeros[float32](b, s, 64)
	b.ReportAllocs()
	for b.Loop() {
		if err := z.Mul(x, y); err != nil {
			b.Fatal(err)
		}
	}
}

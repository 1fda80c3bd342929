//go:build !race

package linalg_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/linalg"
)

// idle is a device that accepts launches and does nothing: what is left is linalg's own part of a
// call, and that of package backend.
type idle struct {
	backend.DriverDevice
	inner *backend.Device
}

type idleQueue struct{ backend.DriverQueue }

func (d idle) Release() { d.inner.Close() }

func (d idle) NewQueue() (backend.DriverQueue, error) {
	q, err := d.DriverDevice.NewQueue()
	return idleQueue{q}, err
}

func (idleQueue) Launch(backend.DriverKernel, backend.Grid, []backend.Arg, []*backend.Memory) error {
	return nil
}

// openIdle opens the device of spec without its launches.
func openIdle(tb testing.TB, spec string) *linalg.Session {
	tb.Helper()
	d, err := backend.Open(spec)
	backendtest.Require(tb, spec, err)
	s, err := linalg.NewSession(backend.NewDevice(idle{d.Driver(), d}))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// Operations on arrays allocate nothing once their kernel is compiled, but for what a kernel of the
// cpu device allocates itself. The simulated device does so all the time: with the kernels of CUDA,
// linalg's part is tested here, and the driver's in its package.
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
		most = 5 // of a map without machine code, which the tag purego leaves out
	}
	x, y, z := zeros[T](t, s, 64), zeros[T](t, s, 64), zeros[T](t, s, 64)
	for name, f := range map[string]func() error{
		"Mul":       func() error { return z.Mul(x, y) },
		"Gemm":      func() error { return z.Gemm(2, blas.NoTrans, x, blas.NoTrans, y, 3) },
		"Transpose": func() error { return z.Transpose(x) },
		"Add":       func() error { return z.Add(x, y) },
		"Scale":     func() error { return z.Scale(2, x) },
		"Wait":      func() error { return s.Wait() },
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

// A call from host memory to host memory allocates its result; on the cpu device also the handles
// of its matrices' memory.
func TestHostCallsAllocateLittle(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for name, s := range map[string]*linalg.Session{"cpu": s, "cudasim": openIdle(t, "cudasim")} {
		most := 1.0
		if name == "cpu" {
			most = 4
		}
		for _, n := range []int{16, 64, 256} {
			x, ctx := square(n), context.Background()
			for call, f := range map[string]func() error{
				"MatMul": func() error {
					_, err := linalg.MatMul(x, x, linalg.On(s), linalg.WithContext(ctx))
					return err
				},
				"Transpose": func() error {
					_, err := linalg.Transpose(x, linalg.On(s), linalg.WithContext(ctx))
					return err
				},
				"Add": func() error { _, err := linalg.Add(x, x, linalg.On(s), linalg.WithContext(ctx)); return err },
			} {
				allocs := testing.AllocsPerRun(20, func() {
					if err := f(); err != nil {
						t.Fatal(err)
					}
				})
				if allocs > most {
					t.Errorf("%s of %d on %s: %v allocations, want %v at most", call, n, name, allocs, most)
				}
			}
		}
	}
}

// Gemm on this processor goes straight to package host: it allocates nothing, also where its
// context may end, and is told what has become of the session.
func TestDirect(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for kind, end := range map[error]func(s *linalg.Session){
		backend.ErrClosed:     func(s *linalg.Session) { s.Device().Close() },
		backend.ErrDeviceLost: func(s *linalg.Session) { s.Device().Abandon() },
	} {
		s, err := linalg.Open("cpu")
		if err != nil {
			t.Fatal(err)
		}
		x, c := square(16), square(16)
		gemm := func() error {
			return linalg.Gemm(1, blas.NoTrans, x, blas.Trans, x, 0, c, linalg.On(s), linalg.WithContext(ctx))
		}
		allocs := testing.AllocsPerRun(100, func() { err = gemm() })
		if err != nil || allocs != 0 {
			t.Errorf("%v allocations, %v", allocs, err)
		}
		end(s)
		if err := gemm(); !errors.Is(err, kind) {
			t.Errorf("%v, want %v", err, kind)
		}
		s.Close()
		if err := gemm(); !errors.Is(err, backend.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// The way from MatMul to the driver is short enough to be followed.
func TestShortWayToTheDriver(t *testing.T) {
	const most = 10
	var path []string
	d, err := backend.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	trace := func(*backendtest.HookedQueue, string, backend.Grid, []backend.Arg) error {
		var pc [64]uintptr
		frames := runtime.CallersFrames(pc[:runtime.Callers(0, pc[:])])
		for more := true; more; {
			var f runtime.Frame
			if f, more = frames.Next(); strings.Contains(f.Function, "/linalg.") {
				path = append(path, f.Function)
			}
		}
		return nil
	}
	s, err := linalg.NewSession(backendtest.Hook(d, &backendtest.Hooks{Launch: trace}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := linalg.MatMul(square(4), square(4), linalg.On(s)); err != nil {
		t.Fatal(err)
	}
	if len(path) == 0 || len(path)+1 > most { // with MatMul itself
		t.Errorf("%d functions from MatMul to the driver, want %d at most:\n%s", len(path)+1, most,
			strings.Join(path, "\n"))
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

// What a session keeps is no reason for an allocation to fail: it goes where the memory is needed.
func TestKeptMemoryMakesRoom(t *testing.T) {
	const most = 2 << 20
	var live atomic.Int64
	d, err := backend.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	s, err := linalg.NewSession(backendtest.Hook(d, &backendtest.Hooks{
		Call: func(name string, call func() error) error {
			if name == "Device.Alloc" && live.Load() >= most {
				return &backend.Error{Driver: "full", Op: name, Err: backend.ErrOutOfMemory}
			}
			return call()
		},
		Made:  func(_ string, bytes int64) { live.Add(bytes) },
		Freed: func(_ string, bytes int64) { live.Add(-bytes) },
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	scratch := func() error {
		return inside.WithScratch(s, 2, most/8, func(*linalg.Array[float32]) error { return nil })
	}
	if err := scratch(); err != nil || live.Load() < most {
		t.Fatalf("%v, and %d bytes are kept", err, live.Load())
	}
	a, err := linalg.NewArray[float32](s, 3, most/8)
	if err != nil {
		t.Fatalf("beside memory that is kept: %v", err)
	}
	if err := scratch(); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("on a full device: %v", err)
	}
	if err := a.Free(); err != nil {
		t.Fatal(err)
	}
	if err := scratch(); err != nil {
		t.Errorf("once there is room: %v", err)
	}
}

package linalg_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/linalg"
)

// spinSource is a kernel that runs until flags[0] is not 0, and sets flags[1] at its end.
var spinSource = &backend.Source{
	Name: "spin", Text: `
__kernel void spin(volatile __global int *flags) {
	for (ulong i = 0; i < 1000000000000ul && flags[0] == 0; i++);
	flags[1] = 1;
}
`,
	Go: func(_ backend.Grid, _, _ int, args []backend.Arg) error {
		flags := backend.Mem[int32](args[0])
		for atomic.LoadInt32(&flags[0]) == 0 {
			time.Sleep(time.Millisecond)
		}
		atomic.StoreInt32(&flags[1], 1)
		return nil
	},
}

// A kernel that does not end costs its session and nothing else: the wait for it ends with the
// context, the session's calls are refused at once, and another session works beside it.
func TestEndless(t *testing.T) {
	waits := map[string]func(ctx context.Context, s *linalg.Session, k *backend.Kernel, flags *backend.Buffer) error{
		"Launch": func(ctx context.Context, s *linalg.Session, k *backend.Kernel, flags *backend.Buffer) error {
			return s.Launch(k, backend.Grid1(1, 1), flags, linalg.WithContext(ctx))
		},
		"Wait": func(ctx context.Context, s *linalg.Session, k *backend.Kernel, flags *backend.Buffer) error {
			go s.Launch(k, backend.Grid1(1, 1), flags) // blocks where kernels run in the goroutine that launches them
			time.Sleep(10 * time.Millisecond)
			return s.Wait(linalg.WithContext(ctx))
		},
	}
	eachCompiler(t, func(t *testing.T, other *linalg.Session) {
		if !other.Info().UnifiedMemory || other.Info().Driver == "cuda" {
			t.Skip("the flag that ends the kernel needs memory that both see, and a device to itself")
		}
		if other.Info().ComputeUnits < 2 {
			t.Skip("the kernel takes the only core of the device")
		}
		for name, wait := range waits {
			t.Run(name, func(t *testing.T) { endless(t, other, wait) })
		}
	})
}

func endless(t *testing.T, other *linalg.Session,
	wait func(ctx context.Context, s *linalg.Session, k *backend.Kernel, flags *backend.Buffer) error,
) {
	s, err := linalg.Open(other.Info().Driver)
	if err != nil {
		t.Fatal(err)
	}
	k := compile(t, s, spinSource)
	x := upload(t, s, constant[float32](3, 3, 2))
	flags := make([]int32, 1024)
	buf, err := s.Device().Register(backend.Bytes(flags))
	if err != nil {
		t.Fatal(err)
	}
	running := func(when string) {
		t.Helper()
		if atomic.LoadInt32(&flags[1]) != 0 {
			t.Errorf("the kernel has ended %s", when)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := wait(ctx, s, k, buf); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the wait: %v, want the context's error", err)
	}
	running("when the wait is over")
	_, alloc := linalg.NewArray[float32](s, 2, 2)
	_, product := linalg.MatMul(linalg.NewMatrix(1, 1, []float32{2}), linalg.NewMatrix(1, 1, []float32{3}),
		linalg.On(s))
	_, download := x.Download()
	for i, err := range []error{
		alloc, product, download, x.Scale(2, x), s.Wait(), s.Wait(linalg.WithContext(context.Background())),
		s.Launch(k, backend.Grid1(1, 1), buf), s.Launch(k, backend.Grid1(1, 1), buf,
			linalg.WithContext(context.Background())),
	} {
		if !errors.Is(err, backend.ErrDeviceLost) {
			t.Errorf("call %d afterwards: %v, want a lost device", i, err)
		}
	}
	if err := errors.Join(x.Free(), k.Release(), s.Close()); err != nil {
		t.Error(err)
	}
	runtime.GC() // which releases nothing of the session either
	works := func() {
		m, err := linalg.MatMul(linalg.NewMatrix(1, 1, []float32{2}), linalg.NewMatrix(1, 1, []float32{3}),
			linalg.On(other))
		if err != nil || m.Data[0] != 6 {
			t.Errorf("another session: %v, %v", m, err)
		}
	}
	if other.Info().Driver != "cudasim" { // which runs one kernel at a time
		works()
	}
	running("when everything is closed")
	for atomic.StoreInt32(&flags[0], 1); atomic.LoadInt32(&flags[1]) == 0; {
		time.Sleep(time.Millisecond)
	}
	works()
}

// A compiler that does not end costs its session and nothing else.
func TestEndlessCompiler(t *testing.T) {
	d, err := backend.Lookup("cpu").Open(0)
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan bool)
	defer close(end)
	hang := func(name string, call func() error) error {
		if name == "Device.Compile" {
			<-end
		}
		return call()
	}
	s, err := linalg.NewSession(backendtest.Hook(d, &backendtest.Hooks{Call: hang}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if k, err := s.CompileSource(spinSource,
		linalg.WithContext(ctx)); k != nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, %v, want the context's error", k, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A context that has ended does no harm to a session that has nothing to do.
func TestWaitIdle(t *testing.T) {
	eachCompiler(t, func(t *testing.T, s *linalg.Session) {
		ctx, cancel := context.WithCancel(context.Background())
		if err := s.Wait(linalg.WithContext(ctx)); err != nil {
			t.Error(err)
		}
		cancel()
		if err := s.Wait(linalg.WithContext(ctx)); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want the context's error", err)
		}
		k := compile(t, s, addToSource())
		if err := s.Launch(k, backend.Grid1(1, 1), linalg.WithContext(ctx)); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want the context's error", err)
		}
		upload(t, s, constant[float32](1, 1, 1))
		if err := s.Wait(linalg.WithContext(context.Background())); err != nil {
			t.Error(err)
		}
	})
}

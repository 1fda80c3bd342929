package linalg_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// A modelled device takes the time that a device with these rates would, and computes nothing. Its
// copies in, its copies out and its launches go on beside each other, as its queues say.
type modelled struct {
	backend.Device
	in, out float64 // bytes a second
	rate    float64 // multiply-adds a second
	host    bool    // works on the host's memory
	memory  int64   // bytes

	mu   sync.Mutex
	free [3]time.Time // when the link in, the link out and the processor are free
}

func (d *modelled) Info() backend.Info {
	return backend.Info{
		Driver: "modelled", Name: "model", GPU: !d.host, Host: d.host, UnifiedMemory: d.host, Float32: true,
		Memory: d.memory, ComputeUnits: 100, LocalMemory: 48 << 10, MaxGroup: 1024,
		MaxGroupDims: [3]int{1024, 1024, 64}, OffsetAlign: 4,
		VectorFloat32: 1, VectorFloat64: 1, VectorInt32: 1, Arch: "sm_80",
	}
}

func (d *modelled) Alloc(n int64) (backend.Buffer, error) { return &modelBuffer{n: n}, nil }

func (d *modelled) AllocHost(n int64) (backend.HostBuffer, error) {
	return &modelBuffer{n, make([]byte, n)}, nil
}

func (d *modelled) Register(mem []byte) (backend.HostBuffer, error) {
	return &modelBuffer{int64(len(mem)), mem}, nil
}
func (d *modelled) Compile(*backend.Source) (backend.Kernel, error) { return modelKernel{}, nil }
func (d *modelled) NewQueue() (backend.Queue, error)                { return &modelQueue{d: d}, nil }
func (d *modelled) Close() error                                    { return nil }

type modelBuffer struct {
	n   int64
	mem []byte
}

func (b *modelBuffer) Len() int64    { return b.n }
func (b *modelBuffer) Bytes() []byte { return b.mem }
func (b *modelBuffer) Free() error   { return nil }

type modelKernel struct{ backend.Kernel }

func (modelKernel) Release() error { return nil }

type modelQueue struct {
	backend.Queue
	d    *modelled
	last time.Time // the end of what is queued
}

// take uses one of the device's parts for some seconds, once what was queued before is done.
func (q *modelQueue) take(part int, seconds float64) {
	d := q.d
	d.mu.Lock()
	defer d.mu.Unlock()
	start := time.Now()
	for _, t := range []time.Time{q.last, d.free[part]} {
		if t.After(start) {
			start = t
		}
	}
	q.last = start.Add(time.Duration(seconds * 1e9))
	d.free[part] = q.last
}

func (q *modelQueue) WriteAsync(_ backend.Buffer, _ int64, _ backend.HostBuffer, _, n int64) error {
	q.take(0, float64(n)/q.d.in)
	return nil
}

func (q *modelQueue) ReadAsync(_ backend.HostBuffer, _ int64, _ backend.Buffer, _, n int64) error {
	q.take(1, float64(n)/q.d.out)
	return nil
}

// Launch takes the time of a product, whose m, n and k are the first arguments.
func (q *modelQueue) Launch(_ backend.Kernel, _ backend.Grid, args ...backend.Arg) error {
	m, n, k := args[0].Int32(), args[1].Int32(), args[2].Int32()
	q.take(2, float64(m)*float64(n)*float64(k)/q.d.rate)
	if q.d.host {
		return q.Wait()
	}
	return nil
}

func (q *modelQueue) Record() (backend.Event, error) { return &modelEvent{at: q.last}, nil }

func (q *modelQueue) WaitEvent(e backend.Event) error {
	if t := e.(*modelEvent).at; t.After(q.last) {
		q.last = t
	}
	return nil
}

func (q *modelQueue) Wait() error {
	time.Sleep(time.Until(q.last))
	return nil
}

func (q *modelQueue) Close() error { return q.Wait() }

type modelEvent struct{ at time.Time }

func (e *modelEvent) Wait() error {
	time.Sleep(time.Until(e.at))
	return nil
}
func (e *modelEvent) Since(backend.Event) (int64, error) { return 0, nil }
func (e *modelEvent) Release() error                     { return nil }

// modelTime is how long devices take for a product of m by n by k in float32, the second time, when
// the rates are known, or the first.
func modelTime(t *testing.T, m, n, k int, limit string, known bool, devices ...*modelled) (took time.Duration) {
	t.Helper()
	t.Setenv(linalg.EnvMemory, limit)
	// Parallel then runs in its caller alone, and leaves no goroutine that waits for more work
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	a, b, c := linalg.NewMatrix[float32](m, k, nil), linalg.NewMatrix[float32](k, n, nil),
		linalg.NewMatrix[float32](m, n, nil)
	synctest.Test(t, func(t *testing.T) {
		var list []backend.Device
		for _, d := range devices {
			d.free = [3]time.Time{}
			list = append(list, d)
		}
		s, err := linalg.NewSession(list[0], list[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for range 2 {
			start := time.Now()
			if err := linalg.GemmContext(context.Background(), s, 1, 'N', a, 'N', b, 0, c); err != nil {
				t.Fatal(err)
			}
			if took = time.Since(start); !known {
				break
			}
		}
		for _, d := range s.Devices() {
			if d.Err != nil {
				t.Error(d.Err)
			}
		}
	})
	return took
}

// gpu is a model with these rates.
func gpu(link, rate float64) *modelled {
	return &modelled{in: link, out: link, rate: rate, memory: 1 << 40}
}

// One device comes near the bound of its link or of its arithmetic, whichever is the tighter.
func TestModelOverlap(t *testing.T) {
	for _, x := range []struct {
		m, n, k int
		link    float64
	}{
		{2048, 2048, 2048, 1e10}, // the arithmetic takes longer
		{2048, 2048, 2048, 1e9},
		{2048, 2048, 2048, 1e7}, // the copies in
		{3000, 3000, 100, 1e7},  // the copies out
		{300, 3000, 3000, 1e7},
	} {
		const rate = 1e10
		d := gpu(x.link, rate)
		took := modelTime(t, x.m, x.n, x.k, "", true, d).Seconds()
		work := float64(x.m) * float64(x.n) * float64(x.k) / rate
		in, out := 4*float64(x.m*x.k+x.k*x.n)/x.link, 4*float64(x.m*x.n)/x.link
		got := max(work, in, out) / took
		t.Logf("%+v: %.3f s of work, %.3f s in, %.3f s out: %.3f s, %.3f of the bound", x, work, in, out, took, got)
		if got < 0.92 {
			t.Errorf("%+v: %.3f of the bound, want 0.92", x, got)
		}
	}
}

// With memory for a tenth of the operands a device still computes most of the time.
func TestModelLimit(t *testing.T) {
	for _, n := range []int{2048, 3000} {
		const rate = 1e10
		d := gpu(1e9, rate)
		limit := fmt.Sprint(3 * n * n * 4 / 10)
		took := modelTime(t, n, n, n, limit, true, d).Seconds()
		got := math.Pow(float64(n), 3) / rate / took
		t.Logf("%d: %.3f s, %.3f of the bound", n, took, got)
		if got < 0.85 {
			t.Errorf("%d: %.3f of the bound, want 0.85", n, got)
		}
	}
}

// Devices of unequal rates come near the sum of their rates.
func TestModelBalance(t *testing.T) {
	for _, known := range []bool{true, false} {
		for n := 2; n <= 8; n++ {
			var devices []*modelled
			sum := 0.0
			for i := range n {
				d := gpu(4e9, 1e9*float64(int(1)<<(i%4)))
				d.host = i == 0 // as a cpu device is
				devices = append(devices, d)
				sum += d.rate
			}
			const size = 2048
			took := modelTime(t, size, size, size, "", known, devices...).Seconds()
			got := size * size * size / sum / took
			t.Logf("%d devices, rates known %v: %.3f s, %.3f of the sum of rates", n, known, took, got)
			if got < 0.92 {
				t.Errorf("%d devices, rates known %v: %.3f of the sum of rates, want 0.92", n, known, got)
			}
		}
	}
}

package conformance_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/conformance"
)

// A watched device counts what is alive on it, and what it compiles. compiling, if there is one, is
// called before and may fail.
type watched struct {
	backend.Device
	compiling func(s *backend.Source) error

	live     atomic.Int64
	mu       sync.Mutex
	compiled []string
}

func watch(t *testing.T, dev backend.Device, compiling func(s *backend.Source) error) *watched {
	w := &watched{Device: dev, compiling: compiling}
	t.Cleanup(func() {
		if n := w.live.Load(); n != 0 {
			t.Errorf("%d buffers, kernels and queues are left", n)
		}
	})
	return w
}

func (w *watched) Compile(s *backend.Source) (backend.Kernel, error) {
	w.mu.Lock()
	w.compiled = append(w.compiled, fmt.Sprint(s.Name, s.Defines()))
	w.mu.Unlock()
	if w.compiling != nil {
		if err := w.compiling(s); err != nil {
			return nil, err
		}
	}
	k, err := w.Device.Compile(s)
	w.live.Add(1)
	return &watchedKernel{k, w}, err
}

func (w *watched) Alloc(n int64) (backend.Buffer, error) {
	b, err := w.Device.Alloc(n)
	w.live.Add(1)
	return &watchedBuffer{b, w}, err
}

func (w *watched) NewQueue() (backend.Queue, error) {
	q, err := w.Device.NewQueue()
	w.live.Add(1)
	return &watchedQueue{q, w}, err
}

type watchedKernel struct {
	backend.Kernel
	w *watched
}

func (k *watchedKernel) Release() error {
	k.w.live.Add(-1)
	return k.Kernel.Release()
}

type watchedBuffer struct {
	backend.Buffer
	w *watched
}

func (b *watchedBuffer) Free() error {
	b.w.live.Add(-1)
	return b.Buffer.Free()
}

type watchedQueue struct {
	backend.Queue
	w *watched
}

func (q *watchedQueue) Close() error {
	q.w.live.Add(-1)
	return q.Queue.Close()
}

func (q *watchedQueue) Write(dst backend.Buffer, off int64, src []byte) error {
	return q.Queue.Write(dst.(*watchedBuffer).Buffer, off, src)
}

func (q *watchedQueue) Read(dst []byte, src backend.Buffer, off int64) error {
	return q.Queue.Read(dst, src.(*watchedBuffer).Buffer, off)
}

func (q *watchedQueue) Launch(k backend.Kernel, g backend.Grid, args ...backend.Arg) error {
	for i := range args {
		if b, ok := args[i].Buffer.(*watchedBuffer); ok {
			args[i].Buffer = b.Buffer
		}
	}
	return q.Queue.Launch(k.(*watchedKernel).Kernel, g, args...)
}

// Each kernel is compiled once, one that does not compile is named with each of its cases while the
// rest goes on, and nothing is left on the device.
func TestRun(t *testing.T) {
	broken := errors.New("does not compile")
	dev := watch(t, open(t, "cpu"), func(s *backend.Source) error {
		if s.Name == "add_int32" {
			return broken
		}
		return nil
	})
	last := -1
	r := run(t, dev, conformance.Options{Quick: true, Limit: time.Minute, Progress: func(done, total int) {
		if done != last+1 || total < 500 {
			t.Errorf("progress %d of %d after %d", done, total, last)
		}
		last = done
	}})
	slices.Sort(dev.compiled)
	if n := len(dev.compiled); n != len(slices.Compact(dev.compiled)) || n < 20 {
		t.Errorf("%d kernels compiled: %q", n, dev.compiled)
	}
	if last != r.Variants || r.NotRun != 0 || r.Passed() || len(r.Failures) == 0 {
		t.Errorf("%d runs of %d, %d not run, %d failures", last, r.Variants, r.NotRun, len(r.Failures))
	}
	for _, f := range r.Failures {
		if !strings.HasPrefix(f.Case, "add/int32/") || f.Error != broken.Error() {
			t.Errorf("%+v", f)
		}
	}
}

// launching is a device whose launches of a kernel do something else first, and may fail.
type launching struct {
	backend.Device
	launch func() error
}

func (d launching) NewQueue() (backend.Queue, error) {
	q, err := d.Device.NewQueue()
	return launchingQueue{q, d.launch}, err
}

type launchingQueue struct {
	backend.Queue
	launch func() error
}

func (q launchingQueue) Launch(k backend.Kernel, g backend.Grid, args ...backend.Arg) error {
	if strings.HasPrefix(k.Name(), "matmulTiled_") {
		if err := q.launch(); err != nil {
			return err
		}
	}
	return q.Queue.Launch(k, g, args...)
}

// A launch that fails is named, and the rest goes on; one that loses the device is named beside
// what was found before.
func TestFailedLaunch(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Minute} {
		refused := &backend.Error{Op: "launch", Err: backend.ErrLaunch}
		r := run(t, launching{open(t, "cpu"), func() error { return refused }},
			conformance.Options{Quick: true, Limit: limit})
		if r.NotRun != 0 || r.Passed() || len(r.Failures) == 0 {
			t.Errorf("%d not run, %d failures", r.NotRun, len(r.Failures))
		}
		for _, f := range r.Failures {
			if !strings.HasPrefix(f.Case, "matmul_tiled/") || f.Error != refused.Error() {
				t.Errorf("%+v", f)
			}
		}

		lost := &backend.Error{Op: "launch", Err: backend.ErrDeviceLost, Detail: "an illegal address"}
		r, err := conformance.Run(t.Context(), launching{open(t, "cpu"), func() error { return lost }},
			conformance.Options{Quick: true, Limit: limit})
		if !errors.Is(err, backend.ErrDeviceLost) || r == nil {
			t.Fatal(r, err)
		}
		if r.Passed() || r.NotRun == 0 || r.NotRun >= r.Variants-1 || len(r.Failures) != 1 ||
			!strings.HasPrefix(r.Failures[0].Case, "matmul_tiled/") || r.Failures[0].Error != lost.Error() {
			t.Errorf("%d of %d not run, failures %+v", r.NotRun, r.Variants, r.Failures)
		}
	}
}

// A kernel that does not end is named, beside what was found before.
func TestEndlessKernel(t *testing.T) {
	dev, release := open(t, "cpu"), make(chan bool)
	r, err := conformance.Run(t.Context(), launching{dev, func() error {
		<-release
		return backend.ErrClosed
	}}, conformance.Options{Quick: true, Limit: time.Second})
	close(release)
	if !errors.Is(err, conformance.ErrTimeout) || r == nil {
		t.Fatal(r, err)
	}
	if r.Passed() || r.NotRun == 0 || r.NotRun >= r.Variants-1 || len(r.Failures) != 1 ||
		!strings.HasPrefix(r.Failures[0].Case, "matmul_tiled/") || !strings.Contains(r.Failures[0].Error, "for 1s") {
		t.Errorf("%d of %d not run, failures %+v", r.NotRun, r.Variants, r.Failures)
	}
}

// Digests that were computed elsewhere are judged as those of a run are.
func TestJudge(t *testing.T) {
	digests := map[string]string{}
	for _, c := range conformance.Cases() {
		if c.Kernel == "matmul" && c.Quick {
			digests[c.Name()] = conformance.Golden()[c.Name()]
		}
	}
	if r := conformance.Judge(backend.Info{}, digests); !r.Passed() || r.Cases != len(digests) || r.NotRun != 0 {
		t.Errorf("golden digests: %+v", r)
	}
	for name := range digests {
		digests[name] = "other"
		r := conformance.Judge(backend.Info{}, digests)
		if r.Passed() || len(r.Failures) != 1 || r.Failures[0].Case != name || r.Digest == r.Golden {
			t.Errorf("with another digest for %s: %+v", name, r)
		}
		break
	}
}

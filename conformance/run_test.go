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
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/conformance"
)

// A watched device counts what is alive on it, and what it compiles. compiling, if there is one, is
// called before and may fail.
type watched struct {
	*backend.Device
	mu       sync.Mutex
	compiled []string
}

func watch(t *testing.T, dev *backend.Device, compiling func(s *backend.Source) error) *watched {
	w := new(watched)
	var live atomic.Int64
	var source *backend.Source // that is compiled; one at a time
	w.Device = backendtest.Hook(dev, &backendtest.Hooks{
		Compile: func(s *backend.Source) *backend.Source {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.compiled = append(w.compiled, fmt.Sprint(s.Name, s.Defines()))
			source = s
			return s
		},
		Call: func(name string, call func() error) error {
			if name == "Device.Compile" && compiling != nil {
				if err := compiling(source); err != nil {
					return err
				}
			}
			return call()
		},
		Made:  func(string, int64) { live.Add(1) },
		Freed: func(string, int64) { live.Add(-1) },
	})
	t.Cleanup(func() {
		if n := live.Load(); n != 0 {
			t.Errorf("%d buffers, kernels and queues are left", n)
		}
	})
	return w
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
	r := run(t, dev.Device, conformance.Options{Quick: true, Limit: time.Minute, Progress: func(done, total int) {
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
func launching(d *backend.Device, launch func() error) *backend.Device {
	return backendtest.Hook(d, &backendtest.Hooks{
		Launch: func(_ *backendtest.HookedQueue, kernel string, _ backend.Grid, _ []backend.Arg) error {
			if strings.HasPrefix(kernel, "matmulTiled_") {
				return launch()
			}
			return nil
		},
	})
}

// A launch that fails is named, and the rest goes on; one that loses the device is named beside
// what was found before.
func TestFailedLaunch(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Minute} {
		refused := &backend.Error{Driver: "cpu", Op: "launch", Err: backend.ErrLaunch}
		r := run(t, launching(open(t, "cpu"), func() error { return refused }),
			conformance.Options{Quick: true, Limit: limit})
		if r.NotRun != 0 || r.Passed() || len(r.Failures) == 0 {
			t.Errorf("%d not run, %d failures", r.NotRun, len(r.Failures))
		}
		for _, f := range r.Failures {
			if !strings.HasPrefix(f.Case, "matmul_tiled/") || f.Error != refused.Error() {
				t.Errorf("%+v", f)
			}
		}

		lost := &backend.Error{Driver: "cpu", Op: "launch", Err: backend.ErrDeviceLost, Detail: "an illegal address"}
		r, err := conformance.Run(t.Context(), launching(open(t, "cpu"), func() error { return lost }),
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
	r, err := conformance.Run(t.Context(), launching(dev, func() error {
		<-release
		return backend.ErrClosed
	}), conformance.Options{Quick: true, Limit: time.Second})
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

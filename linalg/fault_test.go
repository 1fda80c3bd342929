package linalg_test

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/internal/faulttest"
	"github.com/tandem-gpu/tandem/linalg"
)

// A faulty driver is another one, whose calls can be watched and made to fail. The drivers' own
// tests do so with the calls to C.
type faulty struct {
	backend.Driver
	info func(*backend.Info) // changes what the device says of itself

	mu   sync.Mutex
	hook faulttest.Hook
	live map[string]int // what was made and not released, by kind

	bytes, most int64 // that Alloc gave and Free did not take back, now and at most
}

func (f *faulty) Name() string { return "faulty" }

func (f *faulty) Open(i int) (d *backend.Device, err error) {
	err = f.do("Driver.Open", func() error {
		d, err = f.Driver.Open(i)
		return err
	})
	if err != nil {
		return nil, err
	}
	f.made("device", 0)
	return backendtest.Hook(d, &backendtest.Hooks{
		Info: f.info, Call: f.do, Made: f.made, Freed: func(what string, bytes int64) { f.note(what, -1, -bytes) },
	}), nil
}

// made notes what was made.
func (f *faulty) made(what string, bytes int64) { f.note(what, 1, bytes) }

func (f *faulty) note(what string, n int, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live[what] += n
	if what == "buffer" {
		f.bytes += bytes
		f.most = max(f.most, f.bytes)
	}
}

// A faultyCall is one call of a method.
type faultyCall struct {
	f    *faulty
	name string
	run  func() error
	err  error
}

func (c *faultyCall) Run() []reflect.Value {
	c.err = c.run()
	return nil
}

func (c *faultyCall) Fail(code int32) []reflect.Value {
	c.err = &backend.Error{
		Driver: c.f.Name(), Op: c.name, Code: int(code),
		Err: map[int32]error{1: backend.ErrOutOfMemory, 2: backend.ErrDeviceLost}[code],
	}
	return nil
}

// do makes a call, through the hook if it can fail.
func (f *faulty) do(name string, run func() error) error {
	if name == "Device.Close" {
		f.note("device", -1, 0)
	}
	if !slices.Contains(allMethods, name) {
		return run()
	}
	f.mu.Lock()
	hook := f.hook
	f.mu.Unlock()
	if hook == nil {
		return run()
	}
	c := &faultyCall{f: f, name: name, run: run}
	hook(name, c)
	return c.err
}

func (f *faulty) wrap(h faulttest.Hook) (restore func()) {
	set := func(h faulttest.Hook) faulttest.Hook {
		f.mu.Lock()
		defer f.mu.Unlock()
		old := f.hook
		f.hook = h
		return old
	}
	old := set(h)
	return func() { set(old) }
}

// count is the number of objects of the kinds that were not given back.
func (f *faulty) count(kinds ...string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, kind := range kinds {
		n += f.live[kind]
	}
	return n
}

// session opens a session until the end of the test.
func (f *faulty) session(t *testing.T) *linalg.Session {
	t.Helper()
	s := openFaulty(t, f)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// library is the driver for package faulttest. What ends with its device is no leak here.
func (f *faulty) library() *faulttest.Library {
	return &faulttest.Library{
		Driver:  func() backend.Driver { return f },
		Forgets: true,
		Wrap:    f.wrap,
		Live:    func() int { return f.count("device") },
		Memory:  1,
		Lost:    2,
		Allocs:  allMethods,
		Quiet: map[string]string{
			"outofcore.(*pipelinedWorker).reserve": "a device that lacks memory computes smaller tiles",
		},
	}
}

// allMethods fail at every use.
var allMethods = []string{
	"Driver.Open", "Device.Alloc", "Device.AllocHost", "Device.Register", "Device.Compile", "Device.NewQueue",
	"Event.Wait", "Event.Since", "Queue.Write", "Queue.Read", "Queue.WriteAsync", "Queue.ReadAsync", "Queue.Copy",
	"Queue.Launch", "Queue.Record", "Queue.WaitEvent", "Queue.Wait",
}

func newFaulty(driver string, info func(*backend.Info)) *faulty {
	return &faulty{Driver: backend.Lookup(driver), info: info, live: map[string]int{}}
}

// openFaulty is a session on the drivers' first devices.
func openFaulty(t *testing.T, drivers ...*faulty) *linalg.Session {
	t.Helper()
	var devices []*backend.Device
	for _, f := range drivers {
		d, err := f.Open(0)
		if err != nil {
			t.Fatal(err)
		}
		devices = append(devices, d)
	}
	s, err := linalg.NewSession(devices[0], devices[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// eachFaulty runs f with the ways in which linalg uses a device: memory that it shares with the
// host, with and without being told of it, and memory of its own; operands that are small there,
// and large ones.
func eachFaulty(t *testing.T, f func(t *testing.T, driver *faulty)) {
	for name, info := range map[string]func(*backend.Info){
		"shared":     func(*backend.Info) {},
		"registered": func(i *backend.Info) { i.Driver = "faulty" },
		"discrete":   func(i *backend.Info) { i.Driver, i.UnifiedMemory = "faulty", false },
	} {
		t.Run(name, func(t *testing.T) { f(t, newFaulty("cpu", info)) })
		t.Run(name+", large operands", func(t *testing.T) {
			defer linalg.NothingSmall()()
			f(t, newFaulty("cpu", info))
		})
	}
}

// Every call of a device fails while linalg works, at every use.
func TestEveryCallFails(t *testing.T) {
	eachFaulty(t, func(t *testing.T, f *faulty) {
		l := f.library()
		used := faulttest.Functions(t, l)
		for _, name := range allMethods {
			if !slices.Contains(used, name) && name != "Event.Wait" {
				t.Errorf("no operation calls %s", name)
			}
		}
		faulttest.Run(t, l)
	})
}

// triedTwice tells whether the call is made again where there was no memory.
func triedTwice(name string) bool {
	return name == "Device.Register" || strings.HasPrefix(name, "Device.Alloc")
}

// parts are the kinds of what a device makes.
var parts = []string{"buffer", "host memory", "queue", "event", "kernel"}

// A failed operation gives back what it had made at once, and not when the session is closed.
func TestFailuresKeepNothing(t *testing.T) {
	want, err := faulttest.Results(faulttest.Operations)
	if err != nil {
		t.Fatal(err)
	}
	eachFaulty(t, func(t *testing.T, f *faulty) {
		s := f.session(t)
		for range 2 { // makes what the session keeps: kernels, queues and memory for calls from host to host
			for _, o := range faulttest.Operations {
				if _, err := o.Run(s); err != nil {
					t.Fatal(err)
				}
			}
		}
		// the same of the memory that large matrices go through, all of it
		a, b := sequence(1500, 9, 0), sequence(9, 200, 0)
		if _, err := linalg.MatMul(a, b, linalg.On(s)); err != nil {
			t.Fatal(err)
		}
		kept, faults := f.count(parts...), 0
		for i, o := range faulttest.Operations {
			for nth := int64(1); ; nth++ {
				var uses atomic.Int64
				failed := ""
				restore := f.wrap(func(name string, c faulttest.Call) []reflect.Value {
					again := name == failed && triedTwice(name)
					if use := uses.Add(1); use == nth || use == nth+1 && again {
						failed = name
						return c.Fail(1)
					}
					return c.Run()
				})
				_, err := o.Run(s)
				restore()
				if failed == "" {
					break
				}
				faults++
				if n := f.count(parts...); n > kept {
					t.Errorf("%s, call %d, %s: %v; %d objects are left", o.Name, nth, failed, err, n-kept)
				}
				got, err := o.Run(s)
				if err != nil || !slices.Equal(got, want[i]) {
					t.Errorf("%s after call %d, %s, failed: %v", o.Name, nth, failed, err)
				}
				if n := f.count(parts...); n > kept {
					t.Fatalf("%s after call %d, %s, failed: %d objects are left", o.Name, nth, failed, n-kept)
				}
			}
		}
		t.Logf("%d faults", faults)
	})
}

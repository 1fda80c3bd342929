package linalg_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
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
	live map[any]string // what was made and not given back, by kind

	bytes, most int64 // that Alloc gave and Free did not take back, now and at most
}

func (f *faulty) Name() string { return "faulty" }

func (f *faulty) Open(i int) (backend.Device, error) {
	d := &faultyDevice{f: f}
	return create[backend.Device](f, "Driver.Open", "device", d, func() (err error) {
		d.Device, err = f.Driver.Open(i)
		return err
	})
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

// do makes a call, through the hook.
func (f *faulty) do(name string, run func() error) error {
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

// create makes a call that creates object, of a kind. get creates what object stands for.
func create[I any](f *faulty, name, kind string, object I, get func() error) (made I, err error) {
	err = f.do(name, func() error {
		err := get()
		if err == nil {
			f.mu.Lock()
			f.live[object] = kind
			f.mu.Unlock()
		}
		return err
	})
	if err != nil {
		return made, err
	}
	return object, nil
}

// meter notes that n more bytes are allocated.
func (f *faulty) meter(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes += n
	f.most = max(f.most, f.bytes)
}

// gone notes that an object was given back.
func (f *faulty) gone(object any) {
	f.mu.Lock()
	delete(f.live, object)
	f.mu.Unlock()
}

// count is the number of objects of the kinds that were not given back.
func (f *faulty) count(kinds ...string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, kind := range f.live {
		if slices.Contains(kinds, kind) {
			n++
		}
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
	const given = "what cannot be given back after an error ends with the device"
	return &faulttest.Library{
		Driver:  func() backend.Driver { return f },
		Forgets: true,
		Wrap:    f.wrap,
		Live:    func() int { return f.count("device") },
		Memory:  1,
		Lost:    2,
		Allocs:  allMethods,
		Quiet: map[string]string{
			"Buffer.Free": given, "Queue.Close": given, "Kernel.Release": given,
			"linalg.(*pipelinedWorker[...]).reserve": "a device that lacks memory computes smaller tiles",
		},
	}
}

// allMethods fail at every use.
var allMethods = []string{
	"Driver.Open", "Device.Alloc", "Device.AllocHost", "Device.Register", "Device.Compile", "Device.NewQueue",
	"Device.Close", "Buffer.Free",
	"Kernel.Release", "Event.Wait", "Event.Since", "Event.Release", "Queue.Write", "Queue.Read", "Queue.WriteAsync",
	"Queue.ReadAsync", "Queue.Copy",
	"Queue.Launch", "Queue.Record", "Queue.WaitEvent", "Queue.Wait", "Queue.Close",
}

type faultyDevice struct {
	backend.Device
	f *faulty
}

func (d *faultyDevice) Info() backend.Info {
	info := d.Device.Info()
	d.f.info(&info)
	return info
}

func (d *faultyDevice) Alloc(n int64) (backend.Buffer, error) {
	b := &faultyBuffer{f: d.f}
	return create[backend.Buffer](d.f, "Device.Alloc", "buffer", b, func() (err error) {
		if b.Buffer, err = d.Device.Alloc(n); err == nil {
			d.f.meter(n)
		}
		return err
	})
}

func (d *faultyDevice) AllocHost(n int64) (backend.HostBuffer, error) {
	return d.host("Device.AllocHost", func() (backend.HostBuffer, error) { return d.Device.AllocHost(n) })
}

func (d *faultyDevice) Register(mem []byte) (backend.HostBuffer, error) {
	return d.host("Device.Register", func() (backend.HostBuffer, error) { return d.Device.Register(mem) })
}

func (d *faultyDevice) host(name string, allocate func() (backend.HostBuffer, error)) (backend.HostBuffer, error) {
	h := &faultyHost{f: d.f}
	return create[backend.HostBuffer](d.f, name, "buffer", h, func() (err error) {
		h.HostBuffer, err = allocate()
		return err
	})
}

func (d *faultyDevice) Compile(s *backend.Source) (backend.Kernel, error) {
	k := &faultyKernel{f: d.f}
	return create[backend.Kernel](d.f, "Device.Compile", "kernel", k, func() (err error) {
		k.Kernel, err = d.Device.Compile(s)
		return err
	})
}

func (d *faultyDevice) NewQueue() (backend.Queue, error) {
	q := &faultyQueue{f: d.f}
	return create[backend.Queue](d.f, "Device.NewQueue", "queue", q, func() (err error) {
		q.Queue, err = d.Device.NewQueue()
		return err
	})
}

func (d *faultyDevice) Close() error {
	d.f.gone(d)
	return d.f.do("Device.Close", d.Device.Close)
}

type faultyBuffer struct {
	backend.Buffer
	f *faulty
}

func (b *faultyBuffer) Free() error {
	b.f.gone(b)
	b.f.meter(-b.Len())
	return errors.Join(b.Buffer.Free(), b.f.do("Buffer.Free", func() error { return nil }))
}

type faultyHost struct {
	backend.HostBuffer
	f *faulty
}

func (h *faultyHost) Free() error {
	h.f.gone(h)
	return errors.Join(h.HostBuffer.Free(), h.f.do("Buffer.Free", func() error { return nil }))
}

// unwrap is the device's own buffer.
func unwrap(b backend.Buffer) backend.Buffer {
	switch b := b.(type) {
	case *faultyBuffer:
		return b.Buffer
	case *faultyHost:
		return b.HostBuffer
	}
	return b
}

type faultyKernel struct {
	backend.Kernel
	f *faulty
}

func (k *faultyKernel) Release() error {
	k.f.gone(k)
	return errors.Join(k.Kernel.Release(), k.f.do("Kernel.Release", func() error { return nil }))
}

type faultyEvent struct {
	backend.Event
	f *faulty
}

func (e *faultyEvent) Wait() error { return e.f.do("Event.Wait", e.Event.Wait) }

func (e *faultyEvent) Since(earlier backend.Event) (ns int64, err error) {
	return ns, e.f.do("Event.Since", func() error {
		ns, err = e.Event.Since(earlier.(*faultyEvent).Event)
		return err
	})
}

func (e *faultyEvent) Release() error {
	e.f.gone(e)
	return errors.Join(e.Event.Release(), e.f.do("Event.Release", func() error { return nil }))
}

type faultyQueue struct {
	backend.Queue
	f *faulty
}

func (q *faultyQueue) Write(dst backend.Buffer, off int64, src []byte) error {
	return q.f.do("Queue.Write", func() error { return q.Queue.Write(unwrap(dst), off, src) })
}

func (q *faultyQueue) Read(dst []byte, src backend.Buffer, off int64) error {
	return q.f.do("Queue.Read", func() error { return q.Queue.Read(dst, unwrap(src), off) })
}

func (q *faultyQueue) WriteAsync(dst backend.Buffer, off int64, src backend.HostBuffer, srcOff, n int64) error {
	return q.f.do("Queue.WriteAsync",
		func() error { return q.Queue.WriteAsync(unwrap(dst), off, src.(*faultyHost).HostBuffer, srcOff, n) })
}

func (q *faultyQueue) ReadAsync(dst backend.HostBuffer, dstOff int64, src backend.Buffer, off, n int64) error {
	return q.f.do("Queue.ReadAsync",
		func() error { return q.Queue.ReadAsync(dst.(*faultyHost).HostBuffer, dstOff, unwrap(src), off, n) })
}

func (q *faultyQueue) Copy(dst backend.Buffer, dstOff int64, src backend.Buffer, srcOff, n int64) error {
	return q.f.do("Queue.Copy", func() error { return q.Queue.Copy(unwrap(dst), dstOff, unwrap(src), srcOff, n) })
}

func (q *faultyQueue) Launch(k backend.Kernel, g backend.Grid, args ...backend.Arg) error {
	inner := slices.Clone(args)
	for i := range inner {
		if inner[i].Buffer != nil {
			inner[i].Buffer = unwrap(inner[i].Buffer)
		}
	}
	return q.f.do("Queue.Launch", func() error { return q.Queue.Launch(k.(*faultyKernel).Kernel, g, inner...) })
}

func (q *faultyQueue) Record() (backend.Event, error) {
	e := &faultyEvent{f: q.f}
	return create[backend.Event](q.f, "Queue.Record", "event", e, func() (err error) {
		e.Event, err = q.Queue.Record()
		return err
	})
}

func (q *faultyQueue) WaitEvent(e backend.Event) error {
	return q.f.do("Queue.WaitEvent", func() error { return q.Queue.WaitEvent(e.(*faultyEvent).Event) })
}

func (q *faultyQueue) Wait() error { return q.f.do("Queue.Wait", q.Queue.Wait) }

func (q *faultyQueue) Close() error {
	q.f.gone(q)
	return errors.Join(q.Queue.Close(), q.f.do("Queue.Close", func() error { return nil }))
}

func newFaulty(driver string, info func(*backend.Info)) *faulty {
	return &faulty{Driver: backend.Lookup(driver), info: info, live: map[any]string{}}
}

// openFaulty is a session on the drivers' first devices.
func openFaulty(t *testing.T, drivers ...*faulty) *linalg.Session {
	t.Helper()
	var devices []backend.Device
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

// parts are the kinds of what a device makes.
var parts = []string{"buffer", "queue", "event", "kernel"}

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
		if _, err := linalg.MatMulContext(context.Background(), s, a, b); err != nil {
			t.Fatal(err)
		}
		kept, faults := f.count(parts...), 0
		for i, o := range faulttest.Operations {
			for nth := int64(1); ; nth++ {
				var uses atomic.Int64
				failed := ""
				restore := f.wrap(func(name string, c faulttest.Call) []reflect.Value {
					if uses.Add(1) == nth {
						failed = name
						if name == "Device.Close" || strings.HasSuffix(name, "Free") ||
							strings.HasSuffix(name, "Release") {
							c.Run()
						}
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

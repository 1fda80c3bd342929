// Package model has a device that takes time and computes nothing, for tests of what goes on
// beside what.
package model

import (
	"sync"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
)

// A Device takes the time that a device with these rates would, and computes nothing. Its copies
// in, its copies out and its launches go on beside each other, as its queues say.
type Device struct {
	In, Out float64 // bytes a second
	Rate    float64 // multiply-adds a second
	Host    bool    // works on the host's memory
	Memory  int64   // bytes

	mu   sync.Mutex
	free [3]time.Time // when the link in, the link out and the processor are free
}

// Open is the device for sessions.
func (d *Device) Open() *backend.Device { return backend.NewDevice(d) }

func (d *Device) Info() *backend.Info {
	return &backend.Info{
		Driver: "modelled", Name: "model", GPU: !d.Host, Host: d.Host, UnifiedMemory: d.Host, Float32: true,
		Memory: d.Memory, MaxAlloc: d.Memory, ComputeUnits: 100, LocalMemory: 48 << 10, MaxGroup: 1024,
		MaxGroupDims: [3]int{1024, 1024, 64}, OffsetAlign: 4,
		VectorFloat32: 1, VectorFloat64: 1, VectorInt32: 1, Arch: "sm_80",
	}
}

// Reset makes it idle, as at the start of another test's time.
func (d *Device) Reset() { d.free = [3]time.Time{} }

func (d *Device) Start(func() error) {}
func (d *Device) Settle() error      { return nil }
func (d *Device) Release()           {}

func (d *Device) Alloc(n int64) (backend.Memory, error) { return backend.Memory{Size: n}, nil }

func (d *Device) AllocHost(n int64) (backend.Memory, error) { return d.Register(make([]byte, n)) }

func (d *Device) Register(mem []byte) (backend.Memory, error) {
	return backend.Memory{Size: int64(len(mem)), Bytes: mem}, nil
}

func (d *Device) Compile(s *backend.Source) (backend.DriverKernel, error) {
	params, _, err := driverkit.ParseParams(s)
	return &kernel{backend.Signature{Name: s.Name, Params: params}}, err
}

func (d *Device) NewQueue() (backend.DriverQueue, error) { return &queue{d: d}, nil }

type kernel struct{ sig backend.Signature }

func (k *kernel) Signature() *backend.Signature { return &k.sig }

type queue struct {
	d    *Device
	last time.Time // the end of what is queued
}

// take uses one of the device's parts for some seconds, once what was queued before is done.
func (q *queue) take(part int, seconds float64) {
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

func (q *queue) Write(_ *backend.Memory, _ int64, src []byte) error {
	q.take(0, float64(len(src))/q.d.In)
	return q.Finish()
}

func (q *queue) Read(dst []byte, _ *backend.Memory, _ int64) error {
	q.take(1, float64(len(dst))/q.d.Out)
	return q.Finish()
}

func (q *queue) WriteAsync(_ *backend.Memory, _ int64, _ *backend.Memory, _, n int64) error {
	q.take(0, float64(n)/q.d.In)
	return nil
}

func (q *queue) ReadAsync(_ *backend.Memory, _ int64, _ *backend.Memory, _, n int64) error {
	q.take(1, float64(n)/q.d.Out)
	return nil
}

// Copy takes no time.
func (q *queue) Copy(*backend.Memory, int64, *backend.Memory, int64, int64) error { return nil }

// Launch takes the time of a product, whose m, n and k are the first arguments.
func (q *queue) Launch(_ backend.DriverKernel, _ backend.Grid, args []backend.Arg, _ []*backend.Memory) error {
	m, n, k := args[0].Int32(), args[1].Int32(), args[2].Int32()
	q.take(2, float64(m)*float64(n)*float64(k)/q.d.Rate)
	if q.d.Host {
		return q.Finish()
	}
	return nil
}

func (q *queue) Record() (backend.DriverEvent, error) { return event(q.last), nil }

func (q *queue) WaitEvent(e backend.DriverEvent) error {
	if t := time.Time(e.(event)); t.After(q.last) {
		q.last = t
	}
	return nil
}

func (q *queue) Finish() error { return event(q.last).Wait() }

func (q *queue) Release() {}

// event is the end of what was queued.
type event time.Time

func (e event) Wait() error {
	time.Sleep(time.Until(time.Time(e)))
	return nil
}

func (e event) Since(backend.DriverEvent) (int64, error) { return 0, nil }

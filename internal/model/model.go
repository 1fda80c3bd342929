// Package model has a device that takes time and computes nothing, for tests of what goes on
// beside what, and for "tandem bench --model".
package model

import (
	"sync"
	"time"

	"github.com/tandem-gpu/tandem/backend"
)

// A Device takes the time that a device with these rates would, and computes nothing. Its copies
// in, its copies out and its launches go on beside each other, as its queues say.
type Device struct {
	backend.Device
	In, Out float64 // bytes a second
	Rate    float64 // multiply-adds a second
	Host    bool    // works on the host's memory
	Memory  int64   // bytes

	mu   sync.Mutex
	free [3]time.Time // when the link in, the link out and the processor are free
}

func (d *Device) Info() backend.Info {
	return backend.Info{
		Driver: "modelled", Name: "model", GPU: !d.Host, Host: d.Host, UnifiedMemory: d.Host, Float32: true,
		Memory: d.Memory, MaxAlloc: d.Memory, ComputeUnits: 100, LocalMemory: 48 << 10, MaxGroup: 1024,
		MaxGroupDims: [3]int{1024, 1024, 64}, OffsetAlign: 4,
		VectorFloat32: 1, VectorFloat64: 1, VectorInt32: 1, Arch: "sm_80",
	}
}

// Reset makes it idle, as at the start of another test's time.
func (d *Device) Reset() { d.free = [3]time.Time{} }

func (d *Device) Alloc(n int64) (backend.Buffer, error) { return &buffer{n: n}, nil }

func (d *Device) AllocHost(n int64) (backend.HostBuffer, error) {
	return &buffer{n, make([]byte, n)}, nil
}

func (d *Device) Register(mem []byte) (backend.HostBuffer, error) {
	return &buffer{int64(len(mem)), mem}, nil
}
func (d *Device) Compile(*backend.Source) (backend.Kernel, error) { return kernel{}, nil }
func (d *Device) NewQueue() (backend.Queue, error)                { return &queue{d: d}, nil }
func (d *Device) Close() error                                    { return nil }

type buffer struct {
	n   int64
	mem []byte
}

func (b *buffer) Len() int64    { return b.n }
func (b *buffer) Bytes() []byte { return b.mem }
func (b *buffer) Free() error   { return nil }

type kernel struct{ backend.Kernel }

func (kernel) Release() error { return nil }

type queue struct {
	backend.Queue
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

func (q *queue) Write(_ backend.Buffer, _ int64, src []byte) error {
	q.take(0, float64(len(src))/q.d.In)
	return q.Wait()
}

func (q *queue) Read(dst []byte, _ backend.Buffer, _ int64) error {
	q.take(1, float64(len(dst))/q.d.Out)
	return q.Wait()
}

func (q *queue) WriteAsync(_ backend.Buffer, _ int64, _ backend.HostBuffer, _, n int64) error {
	q.take(0, float64(n)/q.d.In)
	return nil
}

func (q *queue) ReadAsync(_ backend.HostBuffer, _ int64, _ backend.Buffer, _, n int64) error {
	q.take(1, float64(n)/q.d.Out)
	return nil
}

// Launch takes the time of a product, whose m, n and k are the first arguments.
func (q *queue) Launch(_ backend.Kernel, _ backend.Grid, args ...backend.Arg) error {
	m, n, k := args[0].Int32(), args[1].Int32(), args[2].Int32()
	q.take(2, float64(m)*float64(n)*float64(k)/q.d.Rate)
	if q.d.Host {
		return q.Wait()
	}
	return nil
}

func (q *queue) Record() (backend.Event, error) { return &event{at: q.last}, nil }

func (q *queue) WaitEvent(e backend.Event) error {
	if t := e.(*event).at; t.After(q.last) {
		q.last = t
	}
	return nil
}

func (q *queue) Wait() error {
	time.Sleep(time.Until(q.last))
	return nil
}

func (q *queue) Close() error { return q.Wait() }

type event struct{ at time.Time }

func (e *event) Wait() error {
	time.Sleep(time.Until(e.at))
	return nil
}
func (e *event) Since(backend.Event) (int64, error) { return 0, nil }
func (e *event) Release() error                     { return nil }

package backendtest

import (
	"sync/atomic"

	"github.com/tandem-gpu/tandem/backend"
)

// Hooks change what a device does, for tests of what stands above it. Nil changes nothing.
type Hooks struct {
	// Info changes what the device says of itself.
	Info func(info *backend.Info)

	// Call stands around every call of the driver, whose name is that of the method of package
	// backend that makes it: "Device.Alloc", "Queue.Launch", "Queue.Wait", also of Close and Free,
	// "Buffer.Free". Its error is the call's, but for those that release something.
	Call func(name string, call func() error) error

	// Compile changes what is compiled.
	Compile func(s *backend.Source) *backend.Source

	// Launch comes before a launch, which its error takes the place of.
	Launch func(q *HookedQueue, kernel string, g backend.Grid, args []backend.Arg) error

	// Spoil has a Read that fails spoil half of what it was to fill.
	Spoil bool

	// Made and Freed are called with what was made, and is released: "buffer", "host memory",
	// "kernel", "queue", "event", and the bytes of the first two.
	Made, Freed func(what string, bytes int64)
}

// Hook is a device over d, which is closed with it.
func Hook(d *backend.Device, h *Hooks) *backend.Device {
	info := d.Info()
	if h.Info != nil {
		h.Info(&info)
	}
	return backend.NewDevice(&hooked{d.Driver(), d, h, info})
}

// hooked is the driver of Hook.
type hooked struct {
	backend.DriverDevice
	inner *backend.Device
	h     *Hooks
	info  backend.Info
}

func (h *Hooks) call(name string, call func() error) error {
	if h.Call == nil {
		return call()
	}
	return h.Call(name, call)
}

// released makes a call that releases something.
func (h *Hooks) released(name, what string, bytes int64, inner any) {
	h.call(name, func() error {
		if r, ok := inner.(interface{ Release() }); ok {
			r.Release()
		}
		return nil
	})
	if h.Freed != nil {
		h.Freed(what, bytes)
	}
}

func (h *Hooks) made(what string, bytes int64, err error) {
	if err == nil && h.Made != nil {
		h.Made(what, bytes)
	}
}

func (d *hooked) Info() *backend.Info { return &d.info }

func (d *hooked) Release() { d.h.call("Device.Close", d.inner.Close) }

// hookedMemory is the inner driver's memory.
type hookedMemory struct {
	backend.Memory
	h    *Hooks
	what string
}

func (m *hookedMemory) Release() { m.h.released("Buffer.Free", m.what, m.Size, m.Handle) }

// inner is the inner driver's memory of m, nil for nil.
func inner(m *backend.Memory) *backend.Memory {
	if m == nil {
		return nil
	}
	return &m.Handle.(*hookedMemory).Memory
}

func (d *hooked) memory(name string, get func() (backend.Memory, error)) (m backend.Memory, err error) {
	err = d.h.call(name, func() error {
		m, err = get()
		return err
	})
	what := "host memory"
	if name == "Device.Alloc" {
		what = "buffer"
	}
	d.h.made(what, m.Size, err)
	m.Handle = &hookedMemory{m, d.h, what}
	return m, err
}

func (d *hooked) Alloc(n int64) (backend.Memory, error) {
	return d.memory("Device.Alloc", func() (backend.Memory, error) { return d.DriverDevice.Alloc(n) })
}

func (d *hooked) AllocHost(n int64) (backend.Memory, error) {
	return d.memory("Device.AllocHost", func() (backend.Memory, error) { return d.DriverDevice.AllocHost(n) })
}

func (d *hooked) Register(mem []byte) (backend.Memory, error) {
	return d.memory("Device.Register", func() (backend.Memory, error) { return d.DriverDevice.Register(mem) })
}

type hookedKernel struct {
	backend.DriverKernel
	h *Hooks
}

func (k *hookedKernel) Release() { k.h.released("Kernel.Release", "kernel", 0, k.DriverKernel) }

func (d *hooked) Compile(s *backend.Source) (k backend.DriverKernel, err error) {
	if d.h.Compile != nil {
		s = d.h.Compile(s)
	}
	err = d.h.call("Device.Compile", func() error {
		k, err = d.DriverDevice.Compile(s)
		return err
	})
	d.h.made("kernel", 0, err)
	return &hookedKernel{k, d.h}, err
}

func (d *hooked) NewQueue() (q backend.DriverQueue, err error) {
	err = d.h.call("Device.NewQueue", func() error {
		q, err = d.DriverDevice.NewQueue()
		return err
	})
	d.h.made("queue", 0, err)
	return &HookedQueue{inner: q, h: d.h}, err
}

// A HookedQueue is a queue of a hooked device.
type HookedQueue struct {
	inner  backend.DriverQueue
	h      *Hooks
	failed atomic.Pointer[error]
}

// Fail makes err what the next Wait for the queue returns: that of a command that was queued.
func (q *HookedQueue) Fail(err error) { q.failed.Store(&err) }

func (q *HookedQueue) Write(dst *backend.Memory, off int64, src []byte) error {
	return q.h.call("Queue.Write", func() error { return q.inner.Write(inner(dst), off, src) })
}

func (q *HookedQueue) Read(dst []byte, src *backend.Memory, off int64) error {
	err := q.h.call("Queue.Read", func() error { return q.inner.Read(dst, inner(src), off) })
	if err != nil && q.h.Spoil {
		copy(dst[:len(dst)/2], garbage(len(dst)/2))
	}
	return err
}

func (q *HookedQueue) WriteAsync(dst *backend.Memory, off int64, src *backend.Memory, srcOff, n int64) error {
	return q.h.call("Queue.WriteAsync",
		func() error { return q.inner.WriteAsync(inner(dst), off, inner(src), srcOff, n) })
}

func (q *HookedQueue) ReadAsync(dst *backend.Memory, dstOff int64, src *backend.Memory, off, n int64) error {
	return q.h.call("Queue.ReadAsync",
		func() error { return q.inner.ReadAsync(inner(dst), dstOff, inner(src), off, n) })
}

func (q *HookedQueue) Copy(dst *backend.Memory, dstOff int64, src *backend.Memory, srcOff, n int64) error {
	return q.h.call("Queue.Copy", func() error { return q.inner.Copy(inner(dst), dstOff, inner(src), srcOff, n) })
}

func (q *HookedQueue) Launch(k backend.DriverKernel, g backend.Grid, args []backend.Arg, mems []*backend.Memory) error {
	return q.h.call("Queue.Launch", func() error {
		if q.h.Launch != nil {
			if err := q.h.Launch(q, k.Signature().Name, g, args); err != nil {
				return err
			}
		}
		own := make([]*backend.Memory, len(mems))
		for i, m := range mems {
			own[i] = inner(m)
		}
		return q.inner.Launch(k.(*hookedKernel).DriverKernel, g, args, own)
	})
}

type hookedEvent struct {
	backend.DriverEvent
	h *Hooks
}

func (q *HookedQueue) Record() (e backend.DriverEvent, err error) {
	err = q.h.call("Queue.Record", func() error {
		e, err = q.inner.Record()
		return err
	})
	q.h.made("event", 0, err)
	return &hookedEvent{e, q.h}, err
}

func (e *hookedEvent) Wait() error { return e.h.call("Event.Wait", e.DriverEvent.Wait) }

func (e *hookedEvent) Since(earlier backend.DriverEvent) (ns int64, err error) {
	err = e.h.call("Event.Since", func() error {
		ns, err = e.DriverEvent.Since(earlier.(*hookedEvent).DriverEvent)
		return err
	})
	return ns, err
}

func (e *hookedEvent) Release() { e.h.released("Event.Release", "event", 0, e.DriverEvent) }

func (q *HookedQueue) WaitEvent(e backend.DriverEvent) error {
	return q.h.call("Queue.WaitEvent", func() error { return q.inner.WaitEvent(e.(*hookedEvent).DriverEvent) })
}

func (q *HookedQueue) Finish() error {
	err := q.h.call("Queue.Wait", q.inner.Finish)
	if failed := q.failed.Swap(nil); failed != nil {
		return *failed
	}
	return err
}

func (q *HookedQueue) Release() { q.h.released("Queue.Close", "queue", 0, q.inner) }

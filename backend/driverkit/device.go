package driverkit

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tandem-gpu/tandem/backend"
)

// A Device keeps account of what a device made, so that it can be closed at any time. It is an
// Object itself, which its parts hold: it is released after them. Init comes before everything
// else.
type Device struct {
	Object
	Info  backend.Info
	Usage Usage // of the device's memory

	// AfterWait is what is left to do when the commands of a queue are done, before Wait and Close
	// of the queue return. It may be nil.
	AfterWait func() error

	lost      atomic.Pointer[string] // why, once it is
	abandoned atomic.Bool

	mu     sync.Mutex
	shut   bool
	parts  map[*Object]struct{} // what the device made and is not yet released
	queues map[*Queue]struct{}  // the queues among the parts
}

// Init makes d a device that info describes, and that free releases.
func (d *Device) Init(info backend.Info, free func()) {
	d.Info, d.dev, d.what, d.free = info, d, "device", free
	d.parts, d.queues = map[*Object]struct{}{}, map[*Queue]struct{}{}
}

// Close waits for the queues and closes everything that the device made, and the device. It is
// idempotent. The error is that of the last commands.
func (d *Device) Close() error {
	if d.abandoned.Load() {
		return nil
	}
	d.mu.Lock()
	first := !d.shut
	d.shut = true
	queues, parts := slices.Collect(maps.Keys(d.queues)), slices.Collect(maps.Keys(d.parts))
	d.mu.Unlock()
	if !first {
		return nil
	}
	var errs []error
	for _, q := range queues {
		errs = append(errs, q.Close())
	}
	for _, o := range parts {
		o.Close()
	}
	d.Object.Close()
	return errors.Join(errs...)
}

// abandoned keeps the devices that were abandoned, with all that they made: commands may use it.
var abandoned struct {
	sync.Mutex
	devices []*Device
}

// Abandon is that of backend.Device.
func (d *Device) Abandon() {
	d.Lose("it was abandoned while commands ran")
	if d.abandoned.Swap(true) {
		return
	}
	abandoned.Lock()
	defer abandoned.Unlock()
	abandoned.devices = append(abandoned.devices, d)
}

// Adopt makes o, which the method op made and free releases, a part of the device: closed with it,
// released before it. what is its name in errors. When the device was closed meanwhile, o is
// released at once. The caller is between Enter and Drop of the device.
func (d *Device) Adopt(op, what string, o *Object, free func()) error {
	return d.adopt(op, what, o, nil, free)
}

func (d *Device) adopt(op, what string, o *Object, q *Queue, free func()) error {
	if !d.Acquire() {
		free()
		return d.live(op, d.what, false)
	}
	o.dev, o.what = d, what
	o.free = func() {
		if d.abandoned.Load() {
			return
		}
		free()
		d.mu.Lock()
		delete(d.parts, o)
		delete(d.queues, q)
		d.mu.Unlock()
		d.Drop()
	}
	d.mu.Lock()
	shut := d.shut
	if !shut {
		d.parts[o] = struct{}{}
		if q != nil {
			d.queues[q] = struct{}{}
		}
	}
	d.mu.Unlock()
	if shut {
		o.Close()
		return d.live(op, d.what, false)
	}
	return nil
}

// AdoptMemory is Adopt for a buffer of n bytes of the device's own memory.
func (d *Device) AdoptMemory(op string, o *Object, n int64, free func()) error {
	d.Usage.Add(n)
	return d.Adopt(op, "buffer", o, func() {
		free()
		d.Usage.Add(-n)
	})
}

// Finish waits for all queues of the device.
func (d *Device) Finish() error {
	d.mu.Lock()
	queues := slices.Collect(maps.Keys(d.queues))
	d.mu.Unlock()
	var first error
	for _, q := range queues {
		if err := q.Finish(); first == nil {
			first = err
		}
	}
	return first
}

// Lose notes that the device is lost. why names the call that failed, and how; the first counts.
func (d *Device) Lose(why string) { d.lost.CompareAndSwap(nil, &why) }

// Lost is ErrDeviceLost for the method op when the device is lost.
func (d *Device) Lost(op string) error { return d.live(op, d.what, true) }

// live is the error of an object that is closed, or whose device is lost; nil where it can be used.
func (d *Device) live(op, what string, open bool) error {
	if !open {
		return d.Failure(op, backend.ErrClosed, "the %s was closed, or its device", what)
	}
	if why := d.lost.Load(); why != nil {
		return d.Failure(op, backend.ErrDeviceLost, "after %s", *why)
	}
	return nil
}

// Failure is the function Failure for the device's driver.
func (d *Device) Failure(op string, kind error, format string, v ...any) *backend.Error {
	return Failure(d.Info.Driver, op, kind, format, v...)
}

// CheckSize refuses sizes that no buffer of the device can have.
func (d *Device) CheckSize(op string, n int64) error {
	if n < 0 {
		return d.Failure(op, backend.ErrArgument, "a buffer of %d bytes", n)
	}
	if n > d.Info.MaxAlloc {
		return d.Failure(op, backend.ErrOutOfMemory,
			"a buffer of %d bytes: %s takes at most %d bytes in one buffer, and has %d bytes in all",
			n, d.Info.Name, d.Info.MaxAlloc, d.Info.Memory)
	}
	return nil
}

// Sized adds the size of a buffer that was asked for to an error of the library.
func (d *Device) Sized(err error, n int64) error {
	if e, ok := err.(*backend.Error); ok {
		e.Detail = fmt.Sprintf("a buffer of %d bytes on %s with %d bytes: %s", n, d.Info.Name, d.Info.Memory, e.Detail)
	}
	return err
}

// Memory finds the memory behind b, a buffer argument of the method op, and acquires it. M is the
// driver's own type, which its buffers return by a method Memory.
func Memory[M interface{ object() *Object }](d *Device, op string, b backend.Buffer) (m M, err error) {
	if IsNil(b) {
		return m, d.Failure(op, backend.ErrArgument, "the buffer is nil")
	}
	own, ok := b.(interface{ Memory() M })
	if !ok {
		return m, d.Failure(op, backend.ErrArgument, "a buffer of another driver (%T)", b)
	}
	m = own.Memory()
	o := m.object()
	if o.dev != d {
		return m, d.Failure(op, backend.ErrArgument,
			"a buffer of another device (%s), or of this one opened another time", o.dev.Info.Name)
	}
	err = o.Enter(op)
	runtime.KeepAlive(b)
	return m, err
}

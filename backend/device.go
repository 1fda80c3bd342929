package backend

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// A Device makes buffers, kernels and queues. It is safe for concurrent use.
//
// What the caller holds is apart from its state, so that the garbage collector can tell when the
// caller has forgotten it: buffers, kernels, queues and events hold the Device, while the state
// holds theirs.
type Device struct {
	*device
}

// device keeps account of what was made, so that it can be closed at any time. Its parts hold it as
// an object: it is released after them.
type device struct {
	object
	driver DriverDevice
	info   *Info
	used   usage

	lost      atomic.Pointer[string] // why, once it is
	abandoned atomic.Bool

	closing   sync.Once
	forgotten background // ends what the program has forgotten

	mu     sync.Mutex
	shut   bool
	parts  map[*object]struct{} // what was made and is not yet released
	queues map[*queue]struct{}  // the queues among the parts
	kept   []func()             // free memory that is kept for later
}

// NewDevice is a device over what a driver opened.
func NewDevice(driver DriverDevice) *Device {
	s := &device{
		driver: driver, info: driver.Info(),
		parts: map[*object]struct{}{}, queues: map[*queue]struct{}{},
	}
	s.dev, s.what, s.free = s, "device", driver.Release
	driver.Start(s.finish)
	d := &Device{s}
	whenForgotten(d, &s.object, func() { s.Close() })
	return d
}

// Driver is what NewDevice was given, for other drivers and for tests.
func (d *Device) Driver() DriverDevice { return d.driver }

// Info describes the device. Unlike an entry of Driver.Devices, it says what was probed, not what
// was claimed.
func (d *Device) Info() Info { return *d.info }

// WhenFull has free called when the device has no room for what a call is to make, before the call
// tries once more: free gives back memory that is kept for later. It may be called by several
// goroutines at once, and must neither allocate nor hold on to the Device, which would never be
// forgotten then.
func (d *Device) WhenFull(free func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept = append(d.kept, free)
}

// Used is how many bytes of the device's memory its buffers have.
func (d *Device) Used() int64 { return d.used.bytes.Load() }

// Err says why the device takes no more calls: it was closed, or is lost. It is nil while it does.
func (d *Device) Err() error { return d.live("Device.Err", d.what, !d.closed()) }

// Close waits for the queues, then releases the device and all that it made. It is idempotent. The
// error is that of the last commands.
func (d *device) Close() (err error) {
	if !d.abandoned.Load() {
		d.closing.Do(func() { err = d.closeAll() }) // who comes second waits for the first
	}
	return err
}

func (d *device) closeAll() error {
	d.mu.Lock()
	d.shut = true
	queues, parts := slices.Collect(maps.Keys(d.queues)), slices.Collect(maps.Keys(d.parts))
	d.mu.Unlock()
	var errs []error
	for _, q := range queues {
		errs = append(errs, q.Close())
	}
	for _, o := range parts {
		o.close()
	}
	d.close()
	return errors.Join(errs...)
}

// abandoned keeps the devices that were abandoned, with all that they made: commands may use it.
var abandoned struct {
	sync.Mutex
	devices []*device
}

// Abandon gives the device up, as its commands may never end. Calls on it and on what it made are
// ErrDeviceLost from then on. All return at once, also Close, Free and Release, which release
// nothing: what the commands use stays as it is until the process ends. Calls that wait already go
// on waiting. The same device opened another time is another Device.
func (d *device) Abandon() {
	d.lose("it was abandoned while commands ran")
	if d.abandoned.Swap(true) {
		return
	}
	abandoned.Lock()
	defer abandoned.Unlock()
	abandoned.devices = append(abandoned.devices, d)
}

// adopt makes o, which the method op made of what the driver made, a part of the device: closed
// with it, released before it. what is its name in errors. When the device was closed meanwhile, o
// is released at once. The caller is between enter and drop of the device.
func (d *device) adopt(op, what string, o *object, made any) error {
	if r, ok := made.(releasable); ok {
		return d.track(op, o, what, nil, r.Release)
	}
	o.dev, o.what = d, what
	return nil
}

// track is adopt for what release releases, perhaps a queue.
func (d *device) track(op string, o *object, what string, q *queue, release func()) error {
	o.dev, o.what = d, what
	if !d.acquire() {
		release()
		return d.live(op, d.what, false)
	}
	o.free = func() {
		if d.abandoned.Load() {
			return
		}
		release()
		d.mu.Lock()
		delete(d.parts, o)
		delete(d.queues, q)
		d.mu.Unlock()
		d.drop()
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
		o.close()
		return d.live(op, d.what, false)
	}
	return nil
}

// finish waits for all queues of the device.
func (d *device) finish() error {
	d.mu.Lock()
	queues := slices.Collect(maps.Keys(d.queues))
	d.mu.Unlock()
	var first error
	for _, q := range queues {
		first = cmp.Or(first, q.finish())
	}
	return first
}

// failed is err, an error of the driver or nil, with the driver's name. That of a lost device is
// remembered. It writes to a copy: callers that waited for one compilation share its error.
func (d *device) failed(err error) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	named := *e
	named.Driver = cmp.Or(e.Driver, d.info.Driver)
	if e.Err == ErrDeviceLost {
		why := named
		why.Driver, why.Err = "", nil
		d.lose(why.Error())
	}
	return &named
}

// lose notes that the device is lost. why names the call that failed, and how; the first counts.
func (d *device) lose(why string) { d.lost.CompareAndSwap(nil, &why) }

// live is the error of an object that is closed, or whose device is lost; nil where it can be used.
func (d *device) live(op, what string, open bool) error {
	if !open {
		return d.failure(op, ErrClosed, "the %s was closed, or its device", what)
	}
	if why := d.lost.Load(); why != nil {
		return d.failure(op, ErrDeviceLost, "after %s", *why)
	}
	return nil
}

// failure is the error of a check.
func (d *device) failure(op string, kind error, format string, v ...any) *Error {
	return Failure(d.info.Driver, op, kind, format, v...)
}

// checkSize refuses sizes that no buffer of the device can have.
func (d *device) checkSize(op string, n int64) error {
	if n < 0 {
		return d.failure(op, ErrArgument, "a buffer of %d bytes", n)
	}
	if n > d.info.MaxAlloc {
		return d.failure(op, ErrOutOfMemory,
			"a buffer of %d bytes: %s takes at most %d bytes in one buffer, and has %d bytes in all",
			n, d.info.Name, d.info.MaxAlloc, d.info.Memory)
	}
	return nil
}

// sized adds the size of a buffer for which there is no room to an error of the driver.
func (d *device) sized(err error, n int64) error {
	if e, ok := err.(*Error); ok && e.Err == ErrOutOfMemory {
		e.Detail = fmt.Sprintf("a buffer of %d bytes on %s with %d bytes: %s", n, d.info.Name, d.info.Memory, e.Detail)
	}
	return d.failed(err)
}

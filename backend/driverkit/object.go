package driverkit

import "sync"

// An Object is a part of a device: a buffer, a kernel, a queue, an event. It owns objects of the
// library, which are released once: when the Object is closed and the last call that uses them has
// returned. [Device.Adopt] makes one, out of the zero Object.
type Object struct {
	dev  *Device
	what string // for errors

	mu     sync.Mutex
	uses   int
	closed bool
	free   func()
}

// Enter begins a call of the method op. Without an error, Drop ends it. It is ErrClosed when the
// object is closed, and ErrDeviceLost when its device is lost.
func (o *Object) Enter(op string) error {
	open := o.Acquire()
	err := o.dev.live(op, o.what, open)
	if err != nil && open {
		o.Drop()
	}
	return err
}

// Acquire keeps the library's objects until Drop. It is false when the Object is closed.
func (o *Object) Acquire() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.uses++
	}
	return !o.closed
}

// Drop ends what Enter or Acquire began.
func (o *Object) Drop() {
	o.mu.Lock()
	o.uses--
	free := o.closed && o.uses == 0
	o.mu.Unlock()
	if free {
		o.free()
	}
}

// Close gives the object up. It is idempotent.
func (o *Object) Close() {
	o.mu.Lock()
	free := !o.closed && o.uses == 0
	o.closed = true
	o.mu.Unlock()
	if free {
		o.free()
	}
}

func (o *Object) object() *Object { return o }

package backend

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// An object is a part of a device: a buffer, a kernel, a queue, an event, or the device. What the
// driver has for it is released once: when the object is closed and the last call that uses it has
// returned.
type object struct {
	dev   *device
	what  string       // for errors
	free  func()       // nil where there is nothing to release
	state atomic.Int64 // the calls that use it, and closedBit
}

const closedBit = 1 << 32

// enter begins a call of the method op. Without an error, drop ends it. It is ErrClosed when the
// object is closed, and ErrDeviceLost when its device is lost. handle is what the caller holds: it
// is not forgotten before.
func (o *object) enter(op string, handle any) error {
	open := o.acquire()
	runtime.KeepAlive(handle)
	err := o.dev.live(op, o.what, open && (o.free != nil || !o.dev.closed()))
	if err != nil && open {
		o.drop()
	}
	return err
}

// acquire keeps what the driver has until drop. It is false when the object is closed.
func (o *object) acquire() bool {
	for {
		n := o.state.Load()
		if n&closedBit != 0 {
			return false
		}
		if o.free == nil || o.state.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// drop ends what enter or acquire began.
func (o *object) drop() {
	if o.free != nil && o.state.Add(-1) == closedBit {
		o.free()
	}
}

// close gives the object up. It is idempotent.
func (o *object) close() {
	if o.acquire() {
		o.state.Or(closedBit)
		o.drop()
	}
}

func (o *object) closed() bool { return o.state.Load()&closedBit != 0 }

// whenForgotten has end called, in the background as it may have to wait, once the program has
// forgotten handle, unless o is closed by then.
func whenForgotten[H any](handle *H, o *object, end func()) {
	runtime.AddCleanup(handle, func(o *object) {
		if !o.closed() {
			o.dev.forgotten.add(end)
		}
	}, o)
}

// A background calls functions in one goroutine, which ends when there are none: of thousands that
// wait at once, each would keep a thread in the driver.
type background struct {
	mu      sync.Mutex
	calls   []func()
	working bool
}

func (b *background) add(call func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, call)
	if !b.working {
		b.working = true
		go b.work()
	}
}

// take is the calls that there are, and stops the work where there are none.
func (b *background) take() (calls []func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	calls, b.calls = b.calls, nil
	b.working = len(calls) > 0
	return calls
}

func (b *background) work() {
	for calls := b.take(); len(calls) > 0; calls = b.take() {
		for _, call := range calls {
			call()
		}
	}
}

// A releasable is what a driver made that is to be released.
type releasable interface{ Release() }

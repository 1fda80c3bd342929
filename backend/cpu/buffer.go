package cpu

import (
	"sync"
	"sync/atomic"

	"github.com/tandem-gpu/tandem/backend"
)

// buffer is the caller's handle of a memory. When it is freed, or forgotten, the memory is
// released.
type buffer struct {
	mem  *memory
	size int64
}

func (b *buffer) Len() int64 { return b.size }

// Bytes is the memory; nil after Free.
func (b *buffer) Bytes() []byte {
	mem, _ := b.mem.get()
	return mem
}

// Free does not wait: a command that is running keeps its memory until it is done.
func (b *buffer) Free() error {
	b.mem.release()
	return nil
}

// memory is what a buffer stands for.
type memory struct {
	dev      *device
	reserved int64 // bytes counted as in use; 0 for registered memory

	mu    sync.Mutex
	bytes []byte
	freed bool
}

// get is the memory, as long as neither it nor the device is released.
func (m *memory) get() (mem []byte, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.freed || m.dev.closed.Load() {
		return nil, false
	}
	return m.bytes, true
}

func (m *memory) release() {
	m.mu.Lock()
	if m.freed {
		m.mu.Unlock()
		return
	}
	m.freed, m.bytes = true, nil
	m.mu.Unlock()
	inUse.Add(-m.reserved)
	m.dev.mu.Lock()
	defer m.dev.mu.Unlock()
	delete(m.dev.memory, m)
}

// view is a buffer as a running kernel sees it: memory that stays, whatever happens to the handle.
type view []byte

func (v *view) Len() int64    { return int64(len(*v)) }
func (v *view) Bytes() []byte { return *v }
func (v *view) Free() error   { return nil }

// inUse counts the bytes of all buffers of the process. Go ends a process that runs out of memory,
// or the system does; the count turns that into an error.
var inUse atomic.Int64

// reserve counts n more bytes, unless that would be more than limit in all. A limit of 0 is none.
// It returns the bytes counted before.
func reserve(n, limit int64) (before int64, ok bool) {
	for {
		before = inUse.Load()
		if limit > 0 && n > limit-before {
			return before, false
		}
		if inUse.CompareAndSwap(before, before+n) {
			return before, true
		}
	}
}

// alignment in bytes of a buffer's start: a cache line, and the widest vector register.
const alignment = 64

// open finds the memory of a buffer argument of a copy.
func (d *device) open(op, what string, b backend.Buffer) ([]byte, *memory, error) {
	own, ok := b.(*buffer)
	if !ok || own == nil || own.mem.dev != d {
		return nil, nil, fail(op, backend.ErrArgument, "%s is not a buffer of this device", what)
	}
	mem, ok := own.mem.get()
	if !ok {
		return nil, nil, fail(op, backend.ErrClosed, "%s, a buffer of %d bytes, was freed", what, own.size)
	}
	return mem, own.mem, nil
}

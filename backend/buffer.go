package backend

import (
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// A Buffer is memory of one device. One that AllocHost or Register made is memory of the host, too,
// which the device can copy from and to asynchronously. It can stand wherever a buffer can if
// Register made it, and on devices with Info.UnifiedMemory.
type Buffer struct {
	*buffer
	held *Device // as long as the buffer
}

type buffer struct {
	object
	mem        Memory
	host       bool // of AllocHost or Register
	registered bool // it is left to the host when it is freed
	staging    bool // for WriteAsync and ReadAsync alone
}

// Len is the size in bytes.
func (b *Buffer) Len() int64 { return b.mem.Size }

// Free releases the memory, once the commands that use it are done. It is idempotent. For memory of
// Register it waits for them, and leaves the memory to the host.
func (b *Buffer) Free() error {
	err := b.giveBack()
	runtime.KeepAlive(b)
	return err
}

// Bytes is the memory itself, where it is in this process: nil for memory of a device, and after
// Free. It must not be used after Free. Memory of AllocHost may be the driver's: hold the buffer
// while using it, or let Use do that.
func (b *Buffer) Bytes() []byte {
	if !b.acquire() {
		return nil
	}
	defer runtime.KeepAlive(b)
	defer b.drop()
	if b.free == nil && b.dev.closed() {
		return nil
	}
	return b.mem.Bytes
}

// Use calls f with what Bytes is, and keeps the memory until f returns, whoever frees the buffer or
// closes its device meanwhile. It is ErrClosed after that.
func (b *Buffer) Use(f func(mem []byte)) error {
	if err := b.enter("Buffer.Use", b); err != nil {
		return err
	}
	defer b.drop()
	f(b.mem.Bytes)
	return nil
}

// giveBack closes the buffer, once no command uses it if it was registered.
func (b *buffer) giveBack() error {
	if b.dev.abandoned.Load() || !b.acquire() {
		return nil
	}
	defer b.drop()
	defer b.close()
	if !b.registered || b.dev.info.Host { // which runs commands in the goroutine that issues them
		return nil
	}
	if err := b.dev.finish(); err != nil {
		return err
	}
	return b.dev.failed(b.dev.driver.Settle())
}

// HostMemory is mem as a buffer of no device, for calls of a GoKernel.
func HostMemory(mem []byte) *Buffer {
	s := &buffer{mem: Memory{Size: int64(len(mem)), Bytes: mem}}
	s.dev = nowhere
	return &Buffer{buffer: s}
}

// nowhere is the device of HostMemory.
var nowhere = &device{info: &Info{Name: "none"}}

// Alloc makes a buffer of n bytes, all zero, that begins at a multiple of 16 bytes. n == 0 is a
// buffer of no bytes. Too large a size is ErrOutOfMemory. So is a lack of room, once those buffers
// that the program has forgotten are freed.
func (d *Device) Alloc(n int64) (*Buffer, error) {
	return d.alloc("Device.Alloc", n, d.driver.Alloc, &buffer{})
}

// AllocHost makes page-locked host memory of n zero bytes, for asynchronous copies.
func (d *Device) AllocHost(n int64) (*Buffer, error) {
	return d.alloc("Device.AllocHost", n, d.driver.AllocHost, &buffer{host: true, staging: !d.info.UnifiedMemory})
}

// alloc gives a buffer n bytes that get makes, and puts it into the caller's hands.
func (d *Device) alloc(op string, n int64, get func(n int64) (Memory, error), s *buffer) (*Buffer, error) {
	if err := d.enter(op, d); err != nil {
		return nil, err
	}
	defer d.drop()
	if err := d.checkSize(op, n); err != nil {
		return nil, err
	}
	var err error
	if s.mem, err = d.allocate(func() (Memory, error) { return get(n) }); err != nil {
		return nil, d.sized(err, n)
	}
	return d.newBuffer(op, s)
}

// Register makes a buffer of host memory without copying it, where the device can, and is
// ErrUnsupported where it cannot. mem stays pinned until Free. While the buffer lives, the host may
// touch mem only when no queued command uses it: Queue.Wait returns when the device is done and
// makes its writes visible. The element type's alignment suffices. Two registered buffers must not
// overlap, nor share a page on CUDA, which locks pages.
func (d *Device) Register(mem []byte) (*Buffer, error) {
	const op = "Device.Register"
	if err := d.enter(op, d); err != nil {
		return nil, err
	}
	defer d.drop()
	m, err := d.allocate(func() (Memory, error) { return d.driver.Register(mem) })
	if err != nil {
		return nil, d.sized(err, int64(len(mem)))
	}
	if _, ok := m.Handle.(releasable); !ok { // in one allocation: the cpu device registers every matrix of a small call
		b := new(struct {
			Buffer
			state buffer
		})
		b.state.mem, b.state.host = m, true
		b.state.dev, b.state.what = d.device, "buffer"
		b.Buffer = Buffer{&b.state, d}
		return &b.Buffer, nil
	}
	return d.newBuffer(op, &buffer{mem: m, host: true, registered: true})
}

// newBuffer puts a buffer into the caller's hands. Memory of the device counts until its release.
func (d *Device) newBuffer(op string, s *buffer) (*Buffer, error) {
	count := func(n int64) {
		if !s.host {
			d.used.add(n, !d.info.Host)
		}
	}
	count(s.mem.Size)
	err := d.track(op, &s.object, "buffer", nil, func() {
		if r, ok := s.mem.Handle.(releasable); ok {
			r.Release()
		}
		s.mem.Handle, s.mem.Bytes = nil, nil
		count(-s.mem.Size)
	})
	if err != nil {
		return nil, err
	}
	b := &Buffer{s, d}
	whenForgotten(b, &s.object, func() { s.giveBack() })
	return b, nil
}

// usage is how many bytes the buffers of a device have.
type usage struct {
	bytes atomic.Int64
	low   atomic.Int64 // the fewest bytes since the last collection that add asked for
}

// collectFrom is the memory from which add asks for collections.
const collectFrom = 256 << 20

// add counts n more bytes, or fewer where n is negative. When memory that Go's garbage collector
// does not see, which is hidden, has doubled since the last time, it collects garbage: to the
// collector such a buffer is a few words, and it would not hurry to find those that the program has
// forgotten.
func (u *usage) add(n int64, hidden bool) {
	now := u.bytes.Add(n)
	if now < u.low.Load() {
		u.low.Store(now)
	}
	if hidden && n > 0 && now > max(collectFrom, 2*u.low.Load()) {
		u.low.Store(now)
		runtime.GC()
	}
}

// allocate calls alloc, and where there is no room for what it makes, once more after a collection
// of garbage: the memory of buffers that the program has forgotten is free then, and what is kept
// for later.
func (d *device) allocate(alloc func() (Memory, error)) (Memory, error) {
	m, err := alloc()
	if !errors.Is(err, ErrOutOfMemory) {
		return m, err
	}
	d.freeKept()
	runtime.GC()
	for before := int64(-1); before != d.used.bytes.Load(); { // buffers are freed in the background
		before = d.used.bytes.Load()
		time.Sleep(5 * time.Millisecond)
	}
	d.freeKept() // what the driver keeps of these, too
	return alloc()
}

// freeKept frees memory that is kept for later.
func (d *device) freeKept() {
	d.mu.Lock()
	kept := slices.Clone(d.kept)
	d.mu.Unlock()
	for _, free := range kept {
		free()
	}
}

package cuda

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/cuda/internal/capi"
)

// Host memory comes in two ways.
//
//   - Registered memory is Go's own, page-locked and with an address for kernels. A GPU with memory of its own reads and writes it
//     across the bus.
//   - AllocHost's is page-locked memory of the CUDA driver. On a GPU that shares the host's memory it can stand wherever a buffer can; on
//     others it is there for asynchronous copies alone.

// A buffer is device memory in the hands of the caller.
type buffer struct {
	*memory
	dev *device
}

// A hostBuffer is host memory in the hands of the caller.
type hostBuffer struct {
	buffer
}

// memory is memory that the device reaches.
type memory struct {
	ref
	dev  *deviceState
	addr capi.Pointer // for kernels and copies; 0 for staging memory
	size int64

	bytes   []byte // host memory; nil for a buffer of the device
	staging bool   // host memory that is for copies alone
}

// Len is the size in bytes.
func (b *buffer) Len() int64 { return b.size }

// Free waits for the commands that are queued on the device, which may use the memory, and releases it. It is idempotent.
func (b *buffer) Free() error {
	b.memory.close()
	runtime.KeepAlive(b)
	return nil
}

// Bytes is the memory itself, nil after Free. Memory of AllocHost is the CUDA driver's: hold the HostBuffer while using it.
func (b *hostBuffer) Bytes() []byte {
	if !b.acquire() {
		return nil
	}
	defer b.drop()
	return b.bytes
}

// Free waits for the device, which may still use the memory, and leaves it to the host alone. It is idempotent.
func (b *hostBuffer) Free() error {
	err := b.memory.giveBack()
	runtime.KeepAlive(b)
	return err
}

// object is the memory behind any buffer of this driver.
func (b *buffer) object() *memory { return b.memory }

// Alloc makes a buffer of n zero bytes.
func (d *device) Alloc(n int64) (backend.Buffer, error) {
	const op = "Device.Alloc"
	if err := d.enter(op); err != nil {
		return nil, err
	}
	defer d.drop()
	if err := d.checkSize(op, n); err != nil {
		return nil, err
	}
	s := d.deviceState
	m := &memory{dev: s, size: n}
	err := d.call("cuMemAlloc", func(c *capi.Table) int32 { return c.MemAlloc(&m.addr, m.bytesOfC()) })
	if err != nil {
		return nil, d.sized(err, n)
	}
	release := func() { s.dispose(func(c *capi.Table) int32 { return c.MemFree(m.addr) }) }
	if err := m.zero(); err != nil {
		release()
		return nil, err
	}
	if err := d.adopt(op, &m.ref, d.afterCommands(release)); err != nil {
		return nil, err
	}
	b := &buffer{m, d}
	runtime.AddCleanup(b, func(m *memory) { go m.close() }, m)
	return b, nil
}

// AllocHost makes n zero bytes of page-locked memory for asynchronous copies.
func (d *device) AllocHost(n int64) (backend.HostBuffer, error) {
	const op = "Device.AllocHost"
	if err := d.enter(op); err != nil {
		return nil, err
	}
	defer d.drop()
	if err := d.checkSize(op, n); err != nil {
		return nil, err
	}
	s := d.deviceState
	m := &memory{dev: s, size: n, staging: !d.info.UnifiedMemory}
	var p unsafe.Pointer
	err := d.call("cuMemHostAlloc", func(c *capi.Table) int32 {
		return c.MemHostAlloc(&p, m.bytesOfC(), capi.HostPortable|capi.HostDeviceMap)
	})
	if err != nil {
		return nil, d.sized(err, n)
	}
	m.bytes = unsafe.Slice((*byte)(p), n)
	clear(m.bytes)
	release := func() { s.dispose(func(c *capi.Table) int32 { return c.MemFreeHost(p) }) }
	if !m.staging {
		if err := m.mapForDevice(p); err != nil {
			release()
			return nil, err
		}
	}
	return d.keepHost(op, m, release)
}

// Register makes a buffer of mem itself, which the device reads and writes in place: on any GPU that can map host memory, even where
// Info.UnifiedMemory is false because it has memory of its own. There each access crosses the bus: it pays for what is read or written once.
func (d *device) Register(mem []byte) (backend.HostBuffer, error) {
	const op = "Device.Register"
	if err := d.enter(op); err != nil {
		return nil, err
	}
	defer d.drop()
	if !d.canMap {
		return nil, d.failure(op, backend.ErrUnsupported,
			"%s cannot map host memory; use AllocHost with WriteAsync and ReadAsync, or Queue.Write and Queue.Read", d.info.Name)
	}
	s := d.deviceState
	m := &memory{dev: s, size: int64(len(mem)), bytes: mem}
	if len(mem) == 0 { // CUDA registers no empty memory
		return d.keepHost(op, m, func() {})
	}
	p := unsafe.Pointer(unsafe.SliceData(mem))
	pin := new(runtime.Pinner)
	pin.Pin(p)
	err := d.call("cuMemHostRegister", func(c *capi.Table) int32 {
		return c.MemHostRegister(p, uintptr(len(mem)), capi.HostPortable|capi.HostDeviceMap)
	})
	if err != nil {
		pin.Unpin()
		return nil, err
	}
	release := func() {
		s.dispose(func(c *capi.Table) int32 { return c.MemHostUnregister(p) })
		pin.Unpin()
	}
	if err := m.mapForDevice(p); err != nil {
		release()
		return nil, err
	}
	return d.keepHost(op, m, release)
}

// keepHost makes m a part of the device and puts it into the caller's hands. release gives the memory back.
func (d *device) keepHost(op string, m *memory, release func()) (backend.HostBuffer, error) {
	if err := d.adopt(op, &m.ref, d.afterCommands(release)); err != nil {
		return nil, err
	}
	b := &hostBuffer{buffer{m, d}}
	runtime.AddCleanup(b, func(m *memory) { go m.giveBack() }, m)
	return b, nil
}

// checkSize refuses sizes that no buffer of the device can have.
func (s *deviceState) checkSize(op string, n int64) error {
	if n < 0 {
		return s.failure(op, backend.ErrArgument, "a buffer of %d bytes", n)
	}
	if n > s.info.MaxAlloc {
		return s.failure(op, backend.ErrOutOfMemory, "a buffer of %d bytes: %s takes at most %d bytes in one buffer, and has %d bytes in all",
			n, s.info.Name, s.info.MaxAlloc, s.info.Memory)
	}
	return nil
}

// bytesOfC is the size for CUDA, which has no memory of no bytes: it is given one.
func (m *memory) bytesOfC() uintptr { return uintptr(max(1, m.size)) }

// sized adds the size that was asked for to an error.
func (s *deviceState) sized(err error, n int64) error {
	if e, ok := err.(*backend.Error); ok {
		e.Detail = fmt.Sprintf("a buffer of %d bytes on %s with %d bytes: %s", n, s.info.Name, s.info.Memory, e.Detail)
	}
	return err
}

// zero fills a new buffer and waits for it, so that no queue sees what was there before.
func (m *memory) zero() error {
	c, err := m.dev.current()
	if err != nil {
		return err
	}
	defer leave()
	if err := m.dev.check("cuMemsetD8Async", c.MemsetD8Async(m.addr, 0, m.bytesOfC(), m.dev.inner)); err != nil {
		return err
	}
	return m.dev.check("cuStreamSynchronize", c.StreamSynchronize(m.dev.inner))
}

// mapForDevice finds the address at which kernels see the page-locked memory at p.
func (m *memory) mapForDevice(p unsafe.Pointer) error {
	return m.dev.call("cuMemHostGetDevicePointer", func(c *capi.Table) int32 { return c.MemHostGetDevicePointer(&m.addr, p, 0) })
}

// afterCommands is release, after a wait for what is queued on the device: CUDA does not keep memory for commands that use it.
func (s *deviceState) afterCommands(release func()) func() {
	return func() {
		s.finish()
		release()
	}
}

// finish waits for all queues of the device.
func (s *deviceState) finish() error {
	s.mu.Lock()
	queues := slices.Collect(maps.Keys(s.queues))
	s.mu.Unlock()
	var first error
	for _, q := range queues {
		if err := q.finish(); first == nil {
			first = err
		}
	}
	return first
}

// giveBack waits until no command uses host memory, and closes it.
func (m *memory) giveBack() error {
	if !m.acquire() {
		return nil
	}
	err := m.dev.finish()
	m.close()
	m.drop()
	return err
}

// object finds the memory of this device behind b and acquires it: a buffer argument of op.
func (s *deviceState) object(op string, b backend.Buffer) (*memory, error) {
	if backend.IsNil(b) {
		return nil, s.failure(op, backend.ErrArgument, "the buffer is nil")
	}
	o, ok := b.(interface{ object() *memory })
	if !ok {
		return nil, s.failure(op, backend.ErrArgument, "a buffer of another driver (%T)", b)
	}
	m := o.object()
	if m.dev != s {
		return nil, s.failure(op, backend.ErrArgument, "a buffer of another device (%s), or of this one opened another time", m.dev.info.Name)
	}
	open := m.acquire()
	runtime.KeepAlive(b)
	if !open {
		return nil, s.live(op, "buffer", false)
	}
	return m, nil
}

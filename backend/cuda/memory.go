package cuda

import (
	"runtime"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// Host memory comes in two ways.
//
//   - Registered memory is Go's own, page-locked and with an address for kernels. A GPU with memory
//     of its own reads and writes it across the bus.
//   - AllocHost's is page-locked memory of the CUDA driver. On a GPU that shares the host's memory
//     it can stand wherever a buffer can; on others it is there for asynchronous copies alone.

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
	driverkit.Object
	dev  *deviceState
	addr capi.Pointer // for kernels and copies; 0 for staging memory
	size int64

	bytes   []byte // host memory; nil for a buffer of the device
	staging bool   // host memory that is for copies alone
}

// Len is the size in bytes.
func (b *buffer) Len() int64 { return b.size }

// Free waits for the commands that are queued on the device, which may use the memory, and releases
// it. It is idempotent.
func (b *buffer) Free() error {
	b.memory.Close()
	runtime.KeepAlive(b)
	return nil
}

// Bytes is the memory itself, nil after Free. Memory of AllocHost is the CUDA driver's: hold the
// HostBuffer while using it.
func (b *hostBuffer) Bytes() []byte {
	if !b.Acquire() {
		return nil
	}
	defer b.Drop()
	return b.bytes
}

// Free waits for the device, which may still use the memory, and leaves it to the host alone. It is
// idempotent.
func (b *hostBuffer) Free() error {
	err := b.memory.giveBack()
	runtime.KeepAlive(b)
	return err
}

// Memory is the memory behind any buffer of this driver.
func (b *buffer) Memory() *memory { return b.memory }

// Alloc makes a buffer of n zero bytes.
func (d *device) Alloc(n int64) (backend.Buffer, error) {
	const op = "Device.Alloc"
	if err := d.enter(op); err != nil {
		return nil, err
	}
	defer d.Drop()
	if err := d.CheckSize(op, n); err != nil {
		return nil, err
	}
	s := d.deviceState
	m, err := driverkit.Allocate(s.Usage.Bytes, func() (*memory, error) { return s.newMemory(n) })
	if err != nil {
		return nil, err
	}
	if err := d.AdoptMemory(op, &m.Object, n, d.afterCommands(m.free)); err != nil {
		return nil, err
	}
	b := &buffer{m, d}
	runtime.AddCleanup(b, func(m *memory) { go m.Close() }, m)
	return b, nil
}

// newMemory makes n zero bytes of the device's memory.
func (s *deviceState) newMemory(n int64) (*memory, error) {
	m := &memory{dev: s, size: n}
	err := s.call("cuMemAlloc", func(c *capi.Table) int32 { return c.MemAlloc(&m.addr, m.bytesOfC()) })
	if err != nil {
		return nil, s.Sized(err, n)
	}
	if err := m.zero(); err != nil {
		m.free()
		return nil, err
	}
	return m, nil
}

// free releases what newMemory made.
func (m *memory) free() { m.dev.dispose(func(c *capi.Table) int32 { return c.MemFree(m.addr) }) }

// AllocHost makes n zero bytes of page-locked memory for asynchronous copies.
func (d *device) AllocHost(n int64) (backend.HostBuffer, error) {
	const op = "Device.AllocHost"
	if err := d.enter(op); err != nil {
		return nil, err
	}
	defer d.Drop()
	if err := d.CheckSize(op, n); err != nil {
		return nil, err
	}
	s := d.deviceState
	m, err := driverkit.Allocate(s.Usage.Bytes, func() (*memory, error) { return s.newHostMemory(n) })
	if err != nil {
		return nil, err
	}
	return d.keepHost(op, m, m.freeHost)
}

// newHostMemory makes n zero bytes of page-locked memory.
func (s *deviceState) newHostMemory(n int64) (*memory, error) {
	m := &memory{dev: s, size: n, staging: !s.Info.UnifiedMemory}
	var p unsafe.Pointer
	err := s.call("cuMemHostAlloc", func(c *capi.Table) int32 {
		return c.MemHostAlloc(&p, m.bytesOfC(), capi.HostPortable|capi.HostDeviceMap)
	})
	if err != nil {
		return nil, s.Sized(err, n)
	}
	m.bytes = unsafe.Slice((*byte)(p), n)
	clear(m.bytes)
	if !m.staging {
		if err := m.mapForDevice(p); err != nil {
			m.freeHost()
			return nil, err
		}
	}
	return m, nil
}

// freeHost releases what newHostMemory made.
func (m *memory) freeHost() {
	p := unsafe.Pointer(unsafe.SliceData(m.bytes))
	m.dev.dispose(func(c *capi.Table) int32 { return c.MemFreeHost(p) })
}

// Register makes a buffer of mem itself, which the device reads and writes in place: on any GPU
// that can map host memory, even where Info.UnifiedMemory is false because it has memory of its
// own. There each access crosses the bus: it pays for what is read or written once.
func (d *device) Register(mem []byte) (backend.HostBuffer, error) {
	const op = "Device.Register"
	if err := d.enter(op); err != nil {
		return nil, err
	}
	defer d.Drop()
	if !d.canMap {
		return nil, d.Failure(op, backend.ErrUnsupported,
			"%s cannot map host memory; use AllocHost with WriteAsync and ReadAsync, or Queue.Write and Queue.Read",
			d.deviceState.Info.Name)
	}
	s := d.deviceState
	m := &memory{dev: s, size: int64(len(mem)), bytes: mem}
	if len(mem) == 0 { // CUDA registers no empty memory
		return d.keepHost(op, m, func() {})
	}
	release, err := driverkit.Allocate(s.Usage.Bytes, m.register)
	if err != nil {
		return nil, err
	}
	return d.keepHost(op, m, release)
}

// register locks the memory of m in place, until release.
func (m *memory) register() (release func(), err error) {
	p := unsafe.Pointer(unsafe.SliceData(m.bytes))
	pin := new(runtime.Pinner)
	pin.Pin(p)
	err = m.dev.call("cuMemHostRegister", func(c *capi.Table) int32 {
		return c.MemHostRegister(p, uintptr(len(m.bytes)), capi.HostPortable|capi.HostDeviceMap)
	})
	if err != nil {
		pin.Unpin()
		return nil, err
	}
	release = func() {
		m.dev.dispose(func(c *capi.Table) int32 { return c.MemHostUnregister(p) })
		pin.Unpin()
	}
	if err := m.mapForDevice(p); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// keepHost makes m a part of the device and puts it into the caller's hands. release gives the
// memory back.
func (d *device) keepHost(op string, m *memory, release func()) (backend.HostBuffer, error) {
	if err := d.Adopt(op, "buffer", &m.Object, d.afterCommands(release)); err != nil {
		return nil, err
	}
	b := &hostBuffer{buffer{m, d}}
	runtime.AddCleanup(b, func(m *memory) { go m.giveBack() }, m)
	return b, nil
}

// bytesOfC is the size for CUDA, which has no memory of no bytes: it is given one.
func (m *memory) bytesOfC() uintptr { return uintptr(max(1, m.size)) }

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
	return m.dev.call("cuMemHostGetDevicePointer",
		func(c *capi.Table) int32 { return c.MemHostGetDevicePointer(&m.addr, p, 0) })
}

// afterCommands is release, after a wait for what is queued on the device: CUDA does not keep
// memory for commands that use it.
func (s *deviceState) afterCommands(release func()) func() {
	return func() {
		s.Finish()
		release()
	}
}

// giveBack waits until no command uses host memory, and closes it.
func (m *memory) giveBack() error {
	if !m.Acquire() {
		return nil
	}
	err := m.dev.Finish()
	m.Close()
	m.Drop()
	return err
}

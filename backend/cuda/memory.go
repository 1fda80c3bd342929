package cuda

import (
	"runtime"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// Host memory comes in two ways.
//
//   - Registered memory is Go's own, page-locked and with an address for kernels. A GPU with memory
//     of its own reads and writes it across the bus.
//   - AllocHost's is page-locked memory of the CUDA driver. On a GPU that shares the host's memory
//     it can stand wherever a buffer can; on others it is there for asynchronous copies alone.

// memory is memory that the device reaches.
type memory struct {
	dev  *device
	addr capi.Pointer // for kernels and copies; 0 where the memory is for copies alone
	free func(c *capi.Table) int32
	pin  runtime.Pinner // of registered memory

	pooled bool // it is of the device's pool
}

// address is where the device finds byte off of m.
func address(m *backend.Memory, off int64) capi.Pointer {
	return m.Handle.(*memory).addr + capi.Pointer(off)
}

// Release waits for what is queued on the device, but for memory of the pool: CUDA does not keep
// other memory for commands that use it.
func (m *memory) Release() {
	if !m.pooled {
		m.dev.finish()
	}
	m.dispose()
}

// dispose releases what no command has used.
func (m *memory) dispose() {
	m.dev.dispose(m.free)
	m.pin.Unpin()
}

func (d *device) Alloc(n int64) (backend.Memory, error) {
	m, size := &memory{dev: d}, bytesOfC(n)
	op, alloc := "cuMemAlloc", func(c *capi.Table) int32 { return c.MemAlloc(&m.addr, size) }
	m.free = func(c *capi.Table) int32 { return c.MemFree(m.addr) }
	if d.pool.handle != 0 {
		op, alloc = "cuMemAllocAsync", func(c *capi.Table) int32 { return c.MemAllocAsync(&m.addr, size, d.inner) }
		m.free, m.pooled = func(c *capi.Table) int32 { return d.pool.free(c, m.addr) }, true
	}
	if err := d.call(op, alloc); err != nil {
		return backend.Memory{}, err
	}
	if err := m.zero(size); err != nil {
		m.dispose()
		return backend.Memory{}, err
	}
	return backend.Memory{Size: n, Handle: m}, nil
}

// bytesOfC is the size for CUDA, which has no memory of no bytes: it is given one.
func bytesOfC(n int64) uintptr { return uintptr(max(1, n)) }

// zero fills a new buffer and waits for it, so that no queue sees what was there before.
func (m *memory) zero(size uintptr) error {
	c, err := m.dev.current()
	if err != nil {
		return err
	}
	defer leave()
	if err := m.dev.check("cuMemsetD8Async", c.MemsetD8Async(m.addr, 0, size, m.dev.inner)); err != nil {
		return err
	}
	return m.dev.check("cuStreamSynchronize", c.StreamSynchronize(m.dev.inner))
}

func (d *device) AllocHost(n int64) (backend.Memory, error) {
	m := &memory{dev: d}
	var p unsafe.Pointer
	err := d.call("cuMemHostAlloc", func(c *capi.Table) int32 {
		return c.MemHostAlloc(&p, bytesOfC(n), capi.HostPortable|capi.HostDeviceMap)
	})
	if err != nil {
		return backend.Memory{}, err
	}
	m.free = func(c *capi.Table) int32 { return c.MemFreeHost(p) }
	bytes := unsafe.Slice((*byte)(p), n)
	clear(bytes)
	if d.info.UnifiedMemory {
		if err := m.mapForDevice(p); err != nil {
			return backend.Memory{}, err
		}
	}
	return backend.Memory{Size: n, Bytes: bytes, Handle: m}, nil
}

// mapForDevice finds the address at which kernels see the page-locked memory at p. Where there is
// none, the memory is given back.
func (m *memory) mapForDevice(p unsafe.Pointer) error {
	err := m.dev.call("cuMemHostGetDevicePointer",
		func(c *capi.Table) int32 { return c.MemHostGetDevicePointer(&m.addr, p, 0) })
	if err != nil {
		m.dispose()
	}
	return err
}

// Register makes mem memory of any GPU that can map host memory, even where Info.UnifiedMemory is
// false because it has memory of its own. There each access crosses the bus: it pays for what is
// read or written once.
func (d *device) Register(mem []byte) (backend.Memory, error) {
	if !d.canMap {
		return backend.Memory{}, d.drv.failure("Device.Register", backend.ErrUnsupported,
			"%s cannot map host memory; use AllocHost with WriteAsync and ReadAsync, or Queue.Write and Queue.Read",
			d.info.Name)
	}
	m := &memory{dev: d, free: func(*capi.Table) int32 { return capi.Success }}
	if len(mem) > 0 { // CUDA registers no empty memory
		if err := m.register(mem); err != nil {
			return backend.Memory{}, err
		}
	}
	return backend.Memory{Size: int64(len(mem)), Bytes: mem, Handle: m}, nil
}

// register locks mem in place.
func (m *memory) register(mem []byte) error {
	p := unsafe.Pointer(unsafe.SliceData(mem))
	m.pin.Pin(p)
	err := m.dev.call("cuMemHostRegister", func(c *capi.Table) int32 {
		return c.MemHostRegister(p, uintptr(len(mem)), capi.HostPortable|capi.HostDeviceMap)
	})
	if err != nil {
		m.pin.Unpin()
		return err
	}
	m.free = func(c *capi.Table) int32 { return c.MemHostUnregister(p) }
	return m.mapForDevice(p)
}

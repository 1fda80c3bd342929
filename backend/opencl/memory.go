package opencl

import (
	"os"
	"runtime"
	"slices"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
	"github.com/tandem-gpu/tandem/internal/hugepage"
)

// Host memory comes in three ways.
//
//   - On a CPU device, registered memory is the device's own: commands and the host see each
//     other's writes as soon as the queue is done. Package cl keeps it pinned until then.
//   - On another device that shares the host's memory, OpenCL asks that the host maps it before
//     touching it. It is mapped from the start, lent to the device when a command uses it (lend),
//     and mapped again by Queue.Wait (reclaim).
//   - On a device with memory of its own, AllocHost maps page-locked memory of the OpenCL driver
//     for good. It is there for asynchronous copies alone.

// A buffer is device memory in the hands of the caller.
type buffer struct {
	*memory
	dev *device
}

// A hostBuffer is host memory in the hands of the caller.
type hostBuffer struct {
	buffer
}

// memory is a memory object of a device.
type memory struct {
	driverkit.Object
	dev  *deviceState
	mem  *cl.MemObject
	size int64

	bytes   []byte              // host memory; nil for a buffer of the device
	staging bool                // host memory that is for copies alone: always mapped
	mapping *cl.MappedMemObject // host memory that the host has mapped now. Guarded by dev.hostMu, unless staging
}

// Len is the size in bytes.
func (b *buffer) Len() int64 { return b.size }

// Free releases the memory. Commands that are queued still run on it. It is idempotent.
func (b *buffer) Free() error {
	b.memory.Close()
	runtime.KeepAlive(b)
	return nil
}

// Bytes is the memory itself, nil after Free. Memory of AllocHost may be the OpenCL driver's: hold
// the HostBuffer while using it.
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
	err := b.memory.giveBack("Buffer.Free")
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
	m, err := driverkit.Allocate(s.Usage.Bytes, func() (*memory, error) { return s.newZeroed(n) })
	if err != nil {
		return nil, err
	}
	if err := d.AdoptMemory(op, &m.Object, n, m.mem.Release); err != nil {
		return nil, err
	}
	b := &buffer{m, d}
	runtime.AddCleanup(b, func(m *memory) { m.Close() }, m)
	return b, nil
}

// newZeroed makes a memory object of n zero bytes.
func (s *deviceState) newZeroed(n int64) (*memory, error) {
	m, err := s.newMemory(cl.MemReadWrite, n, nil)
	if err != nil {
		return nil, err
	}
	if s.onHost() {
		err = m.adviseHuge()
	}
	if err == nil {
		err = m.zero()
	}
	if err != nil {
		m.mem.Release()
		return nil, err
	}
	return m, nil
}

// AllocHost makes n zero bytes of host memory for asynchronous copies: registered Go memory where
// the device shares the host's memory, page-locked memory of the OpenCL driver elsewhere.
func (d *device) AllocHost(n int64) (backend.HostBuffer, error) {
	const op = "Device.AllocHost"
	if err := d.enter(op); err != nil {
		return nil, err
	}
	defer d.Drop()
	if err := d.CheckSize(op, n); err != nil {
		return nil, err
	}
	if d.deviceState.Info.UnifiedMemory {
		// a driver that can share whole pages alone can share these
		return d.register(op, hugepage.Make(int(n), os.Getpagesize()))
	}
	s := d.deviceState
	m, err := driverkit.Allocate(s.Usage.Bytes, func() (*memory, error) { return s.newStaging(n) })
	if err != nil {
		return nil, err
	}
	return d.keepHost(op, m)
}

// newStaging makes n zero bytes of page-locked memory.
func (s *deviceState) newStaging(n int64) (*memory, error) {
	m, err := s.newMemory(cl.MemReadWrite|cl.MemAllocHostPtr, n, nil)
	if err != nil {
		return nil, err
	}
	m.staging = true
	if err := m.mapForHost(); err != nil {
		m.mem.Release()
		return nil, err
	}
	m.bytes = m.mapping.ByteSlice()[:n]
	clear(m.bytes)
	return m, nil
}

// Register makes a buffer of mem itself.
func (d *device) Register(mem []byte) (backend.HostBuffer, error) {
	const op = "Device.Register"
	if err := d.enter(op); err != nil {
		return nil, err
	}
	defer d.Drop()
	if !d.deviceState.Info.UnifiedMemory {
		return nil, failure(op, backend.ErrUnsupported,
			"%s has memory of its own; use AllocHost with WriteAsync and ReadAsync, or Queue.Write and Queue.Read",
			d.deviceState.Info.Name)
	}
	return d.register(op, mem)
}

func (d *device) register(op string, mem []byte) (backend.HostBuffer, error) {
	if err := d.CheckSize(op, int64(len(mem))); err != nil {
		return nil, err
	}
	s := d.deviceState
	m, err := driverkit.Allocate(s.Usage.Bytes, func() (*memory, error) { return s.newRegistered(mem) })
	if err != nil {
		return nil, err
	}
	return d.keepHost(op, m)
}

// newRegistered makes a memory object of mem itself.
func (s *deviceState) newRegistered(mem []byte) (*memory, error) {
	flags := cl.MemReadWrite
	if len(mem) > 0 {
		flags |= cl.MemUseHostPtr
	}
	m, err := s.newMemory(flags, int64(len(mem)), mem)
	if err != nil {
		return nil, err
	}
	if s.mapped {
		if err := m.mapForHost(); err != nil {
			m.mem.Release()
			return nil, err
		}
	}
	return m, nil
}

// keepHost makes m a part of the device and puts it into the caller's hands.
func (d *device) keepHost(op string, m *memory) (backend.HostBuffer, error) {
	if err := d.Adopt(op, "buffer", &m.Object, m.freeHost); err != nil {
		return nil, err
	}
	b := &hostBuffer{buffer{m, d}}
	runtime.AddCleanup(b, func(m *memory) { go m.giveBack("Buffer.Free") }, m)
	return b, nil
}

// newMemory makes a memory object of n bytes, of the host memory in host if flags say so. OpenCL
// has no objects of no bytes: it makes one.
func (s *deviceState) newMemory(flags cl.MemFlag, n int64, host []byte) (*memory, error) {
	var p unsafe.Pointer
	if flags&cl.MemUseHostPtr != 0 {
		p = unsafe.Pointer(unsafe.SliceData(host))
	}
	mem, err := s.ctx.CreateBufferUnsafe(flags, int(max(1, n)), p)
	if err != nil {
		return nil, s.Sized(s.check("clCreateBuffer", err), n)
	}
	return &memory{dev: s, mem: mem, size: n, bytes: host}, nil
}

// onHost tells whether the device computes in the host's memory without further ado, as CPUs do.
func (s *deviceState) onHost() bool { return s.Info.UnifiedMemory && !s.mapped }

// adviseHuge asks for large pages for a new buffer of a CPU.
func (m *memory) adviseHuge() error {
	if m.size < hugepage.MinBytes {
		return nil
	}
	if err := m.mapForHost(); err != nil {
		return err
	}
	hugepage.Advise(m.mapping.ByteSlice()[:m.size])
	return m.unmap()
}

// zero fills a new buffer and waits for it: OpenCL allocates on first use, and this is where a lack
// of memory shows.
func (m *memory) zero() error {
	size := max(1, int(m.size))
	if m.dev.Info.Platform == oclgrind {
		ev, err := m.dev.inner.EnqueueWriteBuffer(m.mem, true, 0, size,
			unsafe.Pointer(unsafe.SliceData(make([]byte, size))), nil)
		return m.dev.await("clEnqueueWriteBuffer", ev, err)
	}
	var zeros [16]byte
	pattern := size & -size // the largest power of 2 that divides size
	ev, err := m.dev.inner.EnqueueFillBuffer(m.mem, unsafe.Pointer(&zeros), min(pattern, len(zeros)), 0, size, nil)
	return m.dev.Sized(m.dev.await("clEnqueueFillBuffer", ev, err), m.size)
}

// await waits for the event of the C function op, and returns what went wrong with either.
func (s *deviceState) await(op string, ev *cl.Event, err error) error {
	if err != nil {
		return s.check(op, err)
	}
	defer ev.Release()
	return s.wait(op, ev)
}

// wait waits for the event of the C function op. Where the command failed, op did; otherwise it is
// the wait that failed.
func (s *deviceState) wait(op string, ev *cl.Event) error {
	err := cl.WaitForEvents([]*cl.Event{ev})
	if err == cl.ErrExecStatusErrorForEventsInWaitList {
		if status, cause := ev.Status(); status < 0 {
			return s.check(op, cause)
		}
	}
	return s.check("clWaitForEvents", err)
}

// mapForHost lets the host read and write m.
func (m *memory) mapForHost() error {
	mapping, ev, err := m.dev.inner.EnqueueMapBuffer(m.mem, true, cl.MapFlagRead|cl.MapFlagWrite, 0,
		max(1, int(m.size)), nil)
	if err != nil {
		return m.dev.check("clEnqueueMapBuffer", err)
	}
	ev.Release()
	m.mapping = mapping
	return nil
}

// unmap ends the mapping, if there is one, and makes what the host wrote visible to commands.
func (m *memory) unmap() error {
	if m.mapping == nil {
		return nil
	}
	ev, err := m.dev.inner.EnqueueUnmapMemObject(m.mem, m.mapping, nil)
	if err == nil {
		m.mapping = nil
	}
	return m.dev.await("clEnqueueUnmapMemObject", ev, err)
}

// using calls queue, which queues commands on mems. What of them the host has mapped is lent to the
// device before.
func (s *deviceState) using(mems []*memory, queue func() error) error {
	isMapped := func(m *memory) bool { return m.bytes != nil && !m.staging }
	if !s.mapped || !slices.ContainsFunc(mems, isMapped) {
		return queue()
	}
	s.hostMu.Lock()
	defer s.hostMu.Unlock()
	for _, m := range mems {
		if isMapped(m) {
			if err := m.unmap(); err != nil {
				return err
			}
			s.lent[m] = struct{}{}
		}
	}
	return queue()
}

// reclaim waits for all queues and maps all lent memory for the host again.
func (s *deviceState) reclaim() error {
	s.hostMu.Lock()
	defer s.hostMu.Unlock()
	if len(s.lent) == 0 {
		return nil
	}
	if err := s.Finish(); err != nil {
		return err
	}
	for m := range s.lent {
		if err := m.mapForHost(); err != nil {
			return err
		}
		delete(s.lent, m)
	}
	return nil
}

// giveBack waits until no command uses host memory, shows the host what the device wrote, and
// closes it.
func (m *memory) giveBack(op string) error {
	if !m.Acquire() {
		return nil
	}
	err := m.dev.Finish()
	if m.dev.mapped && err == nil {
		err = m.dev.reclaim()
	}
	m.Close()
	m.Drop()
	return err
}

// freeHost releases host memory. A mapping ends with its object where it cannot be ended before.
func (m *memory) freeHost() {
	m.dev.hostMu.Lock()
	defer m.dev.hostMu.Unlock()
	delete(m.dev.lent, m)
	m.unmap()
	m.mem.Release()
}

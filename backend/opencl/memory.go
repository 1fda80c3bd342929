package opencl

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
	"github.com/tandem-gpu/tandem/internal/hugepage"
)

// Host memory comes in three ways.
//
//   - On a CPU device, registered memory is the device's own: commands and the host see each other's writes as soon as the
//     queue is done. Package cl keeps it pinned until then.
//   - On another device that shares the host's memory, OpenCL asks that the host maps it before touching it. It is mapped from
//     the start, lent to the device when a command uses it (lend), and mapped again by Queue.Wait (reclaim).
//   - On a device with memory of its own, AllocHost maps page-locked memory of the OpenCL driver for good. It is there for
//     asynchronous copies alone.

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
	ref
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
	b.memory.close()
	runtime.KeepAlive(b)
	return nil
}

// Bytes is the memory itself, nil after Free. Memory of AllocHost may be the OpenCL driver's: hold the HostBuffer while using it.
func (b *hostBuffer) Bytes() []byte {
	if !b.acquire() {
		return nil
	}
	defer b.drop()
	return b.bytes
}

// Free waits for the device, which may still use the memory, and leaves it to the host alone. It is idempotent.
func (b *hostBuffer) Free() error {
	err := b.memory.giveBack("Buffer.Free")
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
	m, err := d.newMemory(op, cl.MemReadWrite, n, nil)
	if err != nil {
		return nil, err
	}
	if d.onHost() {
		err = m.adviseHuge()
	}
	if err == nil {
		err = m.zero()
	}
	if err != nil {
		m.mem.Release()
		return nil, err
	}
	if err := d.adopt(op, &m.ref, m.mem.Release); err != nil {
		return nil, err
	}
	b := &buffer{m, d}
	runtime.AddCleanup(b, func(m *memory) { m.close() }, m)
	return b, nil
}

// AllocHost makes n zero bytes of host memory for asynchronous copies: registered Go memory where the device shares the host's memory,
// page-locked memory of the OpenCL driver elsewhere.
func (d *device) AllocHost(n int64) (backend.HostBuffer, error) {
	const op = "Device.AllocHost"
	if err := d.enter(op); err != nil {
		return nil, err
	}
	defer d.drop()
	if err := d.checkSize(op, n); err != nil {
		return nil, err
	}
	if d.info.UnifiedMemory {
		return d.register(op, hugepage.Make(int(n), os.Getpagesize())) // a driver that can share whole pages alone can share these
	}
	m, err := d.newMemory(op, cl.MemReadWrite|cl.MemAllocHostPtr, n, nil)
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
	return d.keepHost(op, m)
}

// Register makes a buffer of mem itself.
func (d *device) Register(mem []byte) (backend.HostBuffer, error) {
	const op = "Device.Register"
	if err := d.enter(op); err != nil {
		return nil, err
	}
	defer d.drop()
	if !d.info.UnifiedMemory {
		return nil, failure(op, backend.ErrUnsupported,
			"%s has memory of its own; use AllocHost with WriteAsync and ReadAsync, or Queue.Write and Queue.Read", d.info.Name)
	}
	return d.register(op, mem)
}

func (d *device) register(op string, mem []byte) (backend.HostBuffer, error) {
	flags := cl.MemReadWrite
	if len(mem) > 0 {
		flags |= cl.MemUseHostPtr
	}
	m, err := d.newMemory(op, flags, int64(len(mem)), mem)
	if err != nil {
		return nil, err
	}
	if d.mapped {
		if err := m.mapForHost(); err != nil {
			m.mem.Release()
			return nil, err
		}
	}
	return d.keepHost(op, m)
}

// keepHost makes m a part of the device and puts it into the caller's hands.
func (d *device) keepHost(op string, m *memory) (backend.HostBuffer, error) {
	if err := d.adopt(op, &m.ref, m.freeHost); err != nil {
		return nil, err
	}
	b := &hostBuffer{buffer{m, d}}
	runtime.AddCleanup(b, func(m *memory) { go m.giveBack("Buffer.Free") }, m)
	return b, nil
}

// checkSize refuses sizes that no buffer of the device can have.
func (s *deviceState) checkSize(op string, n int64) error {
	if n < 0 {
		return failure(op, backend.ErrArgument, "a buffer of %d bytes", n)
	}
	if n > s.info.MaxAlloc {
		return failure(op, backend.ErrOutOfMemory, "a buffer of %d bytes: %s takes at most %d bytes in one buffer, and has %d bytes in all",
			n, s.info.Name, s.info.MaxAlloc, s.info.Memory)
	}
	return nil
}

// newMemory makes a memory object of n bytes, of the host memory in host if flags say so. OpenCL has no objects of no bytes: it makes one.
func (s *deviceState) newMemory(op string, flags cl.MemFlag, n int64, host []byte) (*memory, error) {
	if err := s.checkSize(op, n); err != nil {
		return nil, err
	}
	var p unsafe.Pointer
	if flags&cl.MemUseHostPtr != 0 {
		p = unsafe.Pointer(unsafe.SliceData(host))
	}
	mem, err := s.ctx.CreateBufferUnsafe(flags, int(max(1, n)), p)
	if err != nil {
		return nil, s.sized(s.check("clCreateBuffer", err), n)
	}
	return &memory{dev: s, mem: mem, size: n, bytes: host}, nil
}

// sized adds the size that was asked for to an error.
func (s *deviceState) sized(err error, n int64) error {
	if e, ok := err.(*backend.Error); ok {
		e.Detail = fmt.Sprintf("a buffer of %d bytes on %s with %d bytes: %s", n, s.info.Name, s.info.Memory, e.Detail)
	}
	return err
}

// onHost tells whether the device computes in the host's memory without further ado, as CPUs do.
func (s *deviceState) onHost() bool { return s.info.UnifiedMemory && !s.mapped }

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

// zero fills a new buffer and waits for it: OpenCL allocates on first use, and this is where a lack of memory shows.
func (m *memory) zero() error {
	size := max(1, int(m.size))
	if m.dev.info.Platform == oclgrind {
		ev, err := m.dev.inner.EnqueueWriteBuffer(m.mem, true, 0, size, unsafe.Pointer(unsafe.SliceData(make([]byte, size))), nil)
		return m.dev.await("clEnqueueWriteBuffer", ev, err)
	}
	var zeros [16]byte
	pattern := size & -size // the largest power of 2 that divides size
	ev, err := m.dev.inner.EnqueueFillBuffer(m.mem, unsafe.Pointer(&zeros), min(pattern, len(zeros)), 0, size, nil)
	return m.dev.sized(m.dev.await("clEnqueueFillBuffer", ev, err), m.size)
}

// await waits for the event of the C function op, and returns what went wrong with either.
func (s *deviceState) await(op string, ev *cl.Event, err error) error {
	if err != nil {
		return s.check(op, err)
	}
	defer ev.Release()
	return s.wait(op, ev)
}

// wait waits for the event of the C function op. Where the command failed, op did; otherwise it is the wait that failed.
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
	mapping, ev, err := m.dev.inner.EnqueueMapBuffer(m.mem, true, cl.MapFlagRead|cl.MapFlagWrite, 0, max(1, int(m.size)), nil)
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

// using calls queue, which queues commands on mems. What of them the host has mapped is lent to the device before.
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
	if err := s.finish(); err != nil {
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

// finish waits for all queues of the device.
func (s *deviceState) finish() error {
	s.mu.Lock()
	queues := slices.Collect(maps.Keys(s.queues))
	s.mu.Unlock()
	var first error
	for _, q := range queues {
		if q.acquire() {
			if err := q.finish(); first == nil {
				first = err
			}
			q.drop()
		}
	}
	return first
}

// giveBack waits until no command uses host memory, shows the host what the device wrote, and closes it.
func (m *memory) giveBack(op string) error {
	if !m.acquire() {
		return nil
	}
	err := m.dev.finish()
	if m.dev.mapped && err == nil {
		err = m.dev.reclaim()
	}
	m.close()
	m.drop()
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

// object finds the memory of this device behind b and acquires it: a buffer argument of op.
func (s *deviceState) object(op string, b backend.Buffer) (*memory, error) {
	if backend.IsNil(b) {
		return nil, failure(op, backend.ErrArgument, "the buffer is nil")
	}
	o, ok := b.(interface{ object() *memory })
	if !ok {
		return nil, failure(op, backend.ErrArgument, "a buffer of another driver (%T)", b)
	}
	m := o.object()
	if m.dev != s {
		return nil, failure(op, backend.ErrArgument, "a buffer of another device (%s), or of this one opened another time", m.dev.info.Name)
	}
	open := m.acquire()
	runtime.KeepAlive(b)
	if !open {
		return nil, s.live(op, "buffer", false)
	}
	return m, nil
}

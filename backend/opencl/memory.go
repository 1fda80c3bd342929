package opencl

import (
	"os"
	"slices"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
	"github.com/tandem-gpu/tandem/internal/hugepage"
)

// Host memory comes in three ways.
//
//   - On a CPU device, registered memory is the device's own: commands and the host see each
//     other's writes as soon as the queue is done. Package cl keeps it pinned until then.
//   - On another device that shares the host's memory, OpenCL asks that the host maps it before
//     touching it. It is mapped from the start, lent to the device when a command uses it (using),
//     and mapped again by Queue.Wait (Settle).
//   - On a device with memory of its own, AllocHost maps page-locked memory of the OpenCL driver
//     for good. It is there for asynchronous copies alone.

// memory is a memory object of a device.
type memory struct {
	dev     *device
	mem     *cl.MemObject
	size    int64
	host    bool                // registered: not for the device while the host has it mapped
	staging bool                // for copies alone: always mapped
	mapping *cl.MappedMemObject // that the host has now. Guarded by dev.hostMu, unless staging
}

// object is OpenCL's memory object of m, staging whether it is for copies alone.
func object(m *backend.Memory) *cl.MemObject { return m.Handle.(*memory).mem }
func staging(m *backend.Memory) bool         { return m.Handle.(*memory).staging }

// Release leaves commands that are queued their memory. Copies take staging memory by its address,
// and OpenCL does not keep it for them: they end first. A mapping ends with its object where it
// cannot be ended before.
func (m *memory) Release() {
	if m.staging {
		m.dev.finish()
	}
	if m.host || m.staging {
		m.dev.hostMu.Lock()
		defer m.dev.hostMu.Unlock()
		delete(m.dev.lent, m)
		m.unmap()
	}
	m.mem.Release()
}

func (d *device) Alloc(n int64) (backend.Memory, error) {
	return d.newMemory(cl.MemReadWrite, n, nil, func(m *memory) error {
		if d.onHost() {
			if err := m.adviseHuge(); err != nil {
				return err
			}
		}
		return m.zero()
	})
}

// AllocHost makes registered Go memory where the device shares the host's memory, page-locked
// memory of the OpenCL driver elsewhere.
func (d *device) AllocHost(n int64) (backend.Memory, error) {
	if d.info.UnifiedMemory {
		// a driver that can share whole pages alone can share these
		return d.Register(hugepage.Make(int(n), os.Getpagesize()))
	}
	mem, err := d.newMemory(cl.MemReadWrite|cl.MemAllocHostPtr, n, nil, func(m *memory) error {
		m.staging = true
		return m.mapForHost()
	})
	if err == nil {
		mem.Bytes = mem.Handle.(*memory).mapping.ByteSlice()[:n]
		clear(mem.Bytes)
	}
	return mem, err
}

func (d *device) Register(mem []byte) (backend.Memory, error) {
	const op = "Device.Register"
	if !d.info.UnifiedMemory {
		return backend.Memory{}, failure(op, backend.ErrUnsupported,
			"%s has memory of its own; use AllocHost with WriteAsync and ReadAsync, or Queue.Write and Queue.Read",
			d.info.Name)
	}
	if int64(len(mem)) > d.info.MaxAlloc {
		return backend.Memory{}, failure(op, backend.ErrOutOfMemory, "it takes at most %d bytes in one buffer",
			d.info.MaxAlloc)
	}
	flags := cl.MemReadWrite
	if len(mem) > 0 {
		flags |= cl.MemUseHostPtr
	}
	return d.newMemory(flags, int64(len(mem)), mem, func(m *memory) error {
		m.host = true
		if d.mapped {
			return m.mapForHost()
		}
		return nil
	})
}

// newMemory makes a memory object of n bytes, of the host memory in host if flags say so, and has
// prepare make it ready. OpenCL has no objects of no bytes: it makes one.
func (d *device) newMemory(flags cl.MemFlag, n int64, host []byte, prepare func(m *memory) error,
) (backend.Memory, error) {
	var p unsafe.Pointer
	if flags&cl.MemUseHostPtr != 0 {
		p = unsafe.Pointer(unsafe.SliceData(host))
	}
	mem, err := d.ctx.CreateBufferUnsafe(flags, int(max(1, n)), p)
	if err != nil {
		return backend.Memory{}, d.check("clCreateBuffer", err)
	}
	m := &memory{dev: d, mem: mem, size: n}
	if err := prepare(m); err != nil {
		mem.Release()
		return backend.Memory{}, err
	}
	return backend.Memory{Size: n, Bytes: host, Handle: m}, nil
}

// onHost tells whether the device computes in the host's memory without further ado, as CPUs do.
func (d *device) onHost() bool { return d.info.UnifiedMemory && !d.mapped }

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
	if m.dev.info.Platform == oclgrind {
		ev, err := m.dev.inner.EnqueueWriteBuffer(m.mem, true, 0, size,
			unsafe.Pointer(unsafe.SliceData(make([]byte, size))), nil)
		return m.dev.await("clEnqueueWriteBuffer", ev, err)
	}
	var zeros [16]byte
	pattern := size & -size // the largest power of 2 that divides size
	ev, err := m.dev.inner.EnqueueFillBuffer(m.mem, unsafe.Pointer(&zeros), min(pattern, len(zeros)), 0, size, nil)
	return m.dev.await("clEnqueueFillBuffer", ev, err)
}

// await waits for the event of the C function op, and returns what went wrong with either.
func (d *device) await(op string, ev *cl.Event, err error) error {
	if err != nil {
		return d.check(op, err)
	}
	defer ev.Release()
	return d.wait(op, ev)
}

// wait waits for the event of the C function op. Where the command failed, op did; otherwise it is
// the wait that failed.
func (d *device) wait(op string, ev *cl.Event) error {
	err := cl.WaitForEvents([]*cl.Event{ev})
	if err == cl.ErrExecStatusErrorForEventsInWaitList {
		if status, cause := ev.Status(); status < 0 {
			return d.check(op, cause)
		}
	}
	return d.check("clWaitForEvents", err)
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

// using calls queue, which queues commands on mems, of which some may be nil. What of them the host
// has mapped is lent to the device before.
func (d *device) using(mems []*backend.Memory, queue func() error) error {
	isMapped := func(m *backend.Memory) bool { return m != nil && m.Handle.(*memory).host }
	if !d.mapped || !slices.ContainsFunc(mems, isMapped) {
		return queue()
	}
	d.hostMu.Lock()
	defer d.hostMu.Unlock()
	for _, mem := range mems {
		if isMapped(mem) {
			m := mem.Handle.(*memory)
			if err := m.unmap(); err != nil {
				return err
			}
			d.lent[m] = struct{}{}
		}
	}
	return queue()
}

// Settle maps all lent memory for the host again, once all queues are done.
func (d *device) Settle() error {
	d.hostMu.Lock()
	defer d.hostMu.Unlock()
	if len(d.lent) == 0 {
		return nil
	}
	if err := d.finish(); err != nil {
		return err
	}
	for m := range d.lent {
		if err := m.mapForHost(); err != nil {
			return err
		}
		delete(d.lent, m)
	}
	return nil
}

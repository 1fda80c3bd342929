package cpu

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/hugepage"
)

type device struct {
	info  backend.Info
	close sync.Once

	closed atomic.Bool // set with mu locked

	mu     sync.Mutex
	queues map[*queue]struct{}
	memory map[*memory]struct{} // of Alloc, not freed; handles are not in here, so that a forgotten one is collected
}

func (d *device) Info() backend.Info { return d.info }

func (d *device) Alloc(n int64) (backend.Buffer, error) { return d.newBuffer("Device.Alloc", n) }

// AllocHost is Alloc: all memory of this device is the host's.
func (d *device) AllocHost(n int64) (backend.HostBuffer, error) {
	return d.newBuffer("Device.AllocHost", n)
}

func (d *device) newBuffer(op string, n int64) (backend.HostBuffer, error) {
	if n < 0 {
		return nil, fail(op, backend.ErrArgument, "a buffer of %d bytes", n)
	}
	if n > d.info.MaxAlloc {
		return nil, fail(op, backend.ErrOutOfMemory, "a buffer of %d bytes; the largest on this machine is %d", n, d.info.MaxAlloc)
	}
	if inUse, ok := reserve(n, d.info.Memory); !ok {
		return nil, fail(op, backend.ErrOutOfMemory, "a buffer of %d bytes, with %d of the machine's %d bytes in other buffers; free some or use smaller ones",
			n, inUse, d.info.Memory)
	}
	m := &memory{dev: d, bytes: hugepage.Make(int(n), alignment), reserved: n}
	if err := d.adopt(op, m); err != nil {
		m.release()
		return nil, err
	}
	b := &buffer{mem: m, size: n}
	runtime.AddCleanup(b, (*memory).release, m)
	return b, nil
}

// Register needs no runtime.Pinner: only Go code reaches the memory, by the slice itself, which keeps it alive and in place.
// Memory that is not Go's, a mapped file say, must stay mapped until Free and the end of the commands that use it. There is nothing to give back when
// the buffer is forgotten, and so registering costs little.
func (d *device) Register(mem []byte) (backend.HostBuffer, error) {
	if d.closed.Load() {
		return nil, fail("Device.Register", backend.ErrClosed, "the device is closed")
	}
	b := &struct { // in one allocation
		buffer
		memory
	}{memory: memory{dev: d, bytes: mem[:len(mem):len(mem)]}}
	b.buffer = buffer{mem: &b.memory, size: int64(len(mem))}
	return &b.buffer, nil
}

// adopt makes m end with the device.
func (d *device) adopt(op string, m *memory) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed.Load() {
		return fail(op, backend.ErrClosed, "the device is closed")
	}
	d.memory[m] = struct{}{}
	return nil
}

func (d *device) Compile(s *backend.Source) (backend.Kernel, error) {
	const op = "Device.Compile"
	if s == nil {
		return nil, fail(op, backend.ErrArgument, "the Source is nil")
	}
	if d.closed.Load() {
		return nil, fail(op, backend.ErrClosed, "the device is closed")
	}
	if s.Go == nil {
		return nil, fail(op, backend.ErrUnsupported, "kernel %s: the cpu device runs Go, not OpenCL C; give an implementation in Source.Go, "+
			"or choose a device that compiles the text (%s=opencl or cuda)", s.Name, backend.EnvBackend)
	}
	params, group, err := backend.ParseParams(s)
	if e := (*backend.Error)(nil); errors.As(err, &e) {
		return nil, fail(op, e.Err, "%s", e.Detail)
	} else if err != nil {
		return nil, fail(op, backend.ErrBuild, "%v", err)
	}
	return &kernel{dev: d, name: s.Name, params: params, group: group, run: s.Go}, nil
}

func (d *device) NewQueue() (backend.Queue, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed.Load() {
		return nil, fail("Device.NewQueue", backend.ErrClosed, "the device is closed")
	}
	q := &queue{dev: d}
	d.queues[q] = struct{}{}
	return q, nil
}

func (d *device) Close() error {
	d.close.Do(func() {
		d.mu.Lock()
		d.closed.Store(true)
		queues, mem := d.queues, d.memory
		d.queues, d.memory = nil, nil
		d.mu.Unlock()
		for q := range queues {
			q.Close()
		}
		for m := range mem {
			m.release()
		}
	})
	return nil
}

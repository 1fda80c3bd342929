package cpu

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/internal/hugepage"
)

type device struct {
	info  backend.Info
	close sync.Once

	closed    atomic.Bool // set with mu locked
	abandoned atomic.Bool

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
		return nil, fail(op, backend.ErrOutOfMemory, "a buffer of %d bytes; the largest on this machine is %d", n,
			d.info.MaxAlloc)
	}
	m, err := driverkit.Allocate(inUse.Load, func() (*memory, error) {
		if before, ok := reserve(n, d.info.Memory); !ok {
			return nil, fail(op, backend.ErrOutOfMemory, "a buffer of %d bytes, with %d of the machine's %d bytes in "+
				"other buffers; free some or use smaller ones",
				n, before, d.info.Memory)
		}
		return &memory{dev: d, bytes: hugepage.Make(int(n), alignment), reserved: n}, nil
	})
	if err != nil {
		return nil, err
	}
	if err := d.adopt(op, m); err != nil {
		m.release()
		return nil, err
	}
	b := &buffer{mem: m, size: n}
	runtime.AddCleanup(b, (*memory).release, m)
	return b, nil
}

// Register needs no runtime.Pinner: only Go code reaches the memory, by the slice itself, which
// keeps it alive and in place. Memory that is not Go's, a mapped file say, must stay mapped until
// Free and the end of the commands that use it. There is nothing to give back when the buffer is
// forgotten, and so registering costs little.
func (d *device) Register(mem []byte) (backend.HostBuffer, error) {
	if err := d.live("Device.Register"); err != nil {
		return nil, err
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
	if err := d.live(op); err != nil {
		return err
	}
	d.memory[m] = struct{}{}
	return nil
}

func (d *device) Compile(s *backend.Source) (backend.Kernel, error) {
	const op = "Device.Compile"
	if s == nil {
		return nil, fail(op, backend.ErrArgument, "the Source is nil")
	}
	if err := d.live(op); err != nil {
		return nil, err
	}
	if s.Go == nil {
		return nil, fail(op, backend.ErrUnsupported, "kernel %s: the cpu device runs Go, not OpenCL C; give an "+
			"implementation in Source.Go, "+
			"or choose a device that compiles the text (%s=opencl or cuda)", s.Name, backend.EnvBackend)
	}
	params, group, err := driverkit.ParseParams(s)
	if e := (*backend.Error)(nil); errors.As(err, &e) {
		return nil, fail(op, e.Err, "%s", e.Detail)
	} else if err != nil {
		return nil, fail(op, backend.ErrBuild, "%v", err)
	}
	sig := driverkit.Signature{Name: s.Name, Params: params, Group: group}
	return &kernel{dev: d, sig: sig, run: s.Go}, nil
}

func (d *device) NewQueue() (backend.Queue, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.live("Device.NewQueue"); err != nil {
		return nil, err
	}
	q := &queue{dev: d}
	d.queues[q] = struct{}{}
	return q, nil
}

// live is the error of a call on a device that is abandoned or closed.
func (d *device) live(op string) error {
	switch {
	case d.abandoned.Load():
		return fail(op, backend.ErrDeviceLost, "it was abandoned while commands ran")
	case d.closed.Load():
		return fail(op, backend.ErrClosed, "the device is closed")
	}
	return nil
}

// Abandon leaves the goroutines that run commands to themselves: Go has no way to end them. Their
// memory stays as long as they use it.
func (d *device) Abandon() { d.abandoned.Store(true) }

func (d *device) Close() error {
	if d.abandoned.Load() {
		return nil
	}
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

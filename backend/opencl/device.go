package opencl

import (
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
	"github.com/tandem-gpu/tandem/internal/diskcache"
)

// A device is what the caller holds. Its state is apart, so that the garbage collector can tell when the caller has forgotten the
// device: its buffers, kernels, queues and events hold the device, while the state holds theirs.
type device struct {
	*deviceState
}

type deviceState struct {
	ref
	*entry
	info  backend.Info // the entry's, with what the probe found
	ctx   *cl.Context
	inner *cl.CommandQueue // fills new buffers, maps host memory
	disk  *diskcache.Cache
	lost  atomic.Pointer[backend.Error] // the first error that meant a lost device

	mu       sync.Mutex
	shut     bool
	parts    map[*ref]struct{} // what the device made and is not yet released
	queues   map[*queueState]struct{}
	programs map[programKey]*program

	// Host memory that must be mapped before the host touches it: see memory.go.
	mapped bool
	hostMu sync.Mutex
	lent   map[*memory]struct{}
}

// A ref owns C objects. They are released once: when the ref is closed and the last call that uses them has returned.
type ref struct {
	mu     sync.Mutex
	uses   int
	closed bool
	free   func()
}

// acquire keeps the objects until drop. It is false when the ref is closed.
func (r *ref) acquire() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.uses++
	}
	return !r.closed
}

func (r *ref) drop() {
	r.mu.Lock()
	r.uses--
	free := r.closed && r.uses == 0
	r.mu.Unlock()
	if free {
		r.free()
	}
}

// close is idempotent.
func (r *ref) close() {
	r.mu.Lock()
	free := !r.closed && r.uses == 0
	r.closed = true
	r.mu.Unlock()
	if free {
		r.free()
	}
}

func newDevice(e *entry) (*device, error) {
	s := &deviceState{
		entry: e, info: e.info, disk: programCache(e.info.Platform),
		parts: map[*ref]struct{}{}, queues: map[*queueState]struct{}{}, programs: map[programKey]*program{}, lent: map[*memory]struct{}{},
	}
	var err error
	if s.ctx, err = cl.CreateContext([]*cl.Device{e.dev}); err != nil {
		return nil, callError("clCreateContext", err)
	}
	if s.inner, err = s.ctx.CreateCommandQueue(e.dev, 0); err != nil {
		s.ctx.Release()
		return nil, callError("clCreateCommandQueue", err)
	}
	s.ref.free = func() {
		s.inner.Release()
		s.ctx.Release()
	}
	d := &device{s}
	runtime.AddCleanup(d, func(s *deviceState) { go s.close() }, s)
	return d, nil
}

// selfCaching are the platforms that keep compiled programs on disk by themselves. To hand out a program, PoCL compiles each of its kernels for groups of any size
// beside the one that is launched, which doubles the time to the first result.
var selfCaching = []string{"Portable Computing Language"}

// programCache is where programs of a platform are kept.
func programCache(platform string) *diskcache.Cache {
	if slices.Contains(selfCaching, platform) {
		return new(diskcache.Cache)
	}
	return diskcache.Open(driverName)
}

// Info describes the device, with what the probe found.
func (d *device) Info() backend.Info { return d.info }

// Close waits for the queues and releases everything that the device made. It is idempotent. The error is that of the last commands.
func (d *device) Close() error { return d.deviceState.close() }

func (s *deviceState) close() error {
	s.mu.Lock()
	first := !s.shut
	s.shut = true
	queues, parts := slices.Collect(maps.Keys(s.queues)), slices.Collect(maps.Keys(s.parts))
	s.mu.Unlock()
	if !first {
		return nil
	}
	var errs []error
	for _, q := range queues {
		errs = append(errs, q.close())
	}
	for _, r := range parts {
		r.close()
	}
	s.ref.close()
	return errors.Join(errs...)
}

// enter begins a call on the device. Without an error, drop ends it.
func (d *device) enter(op string) error {
	err := d.begin(op, "device", &d.ref)
	runtime.KeepAlive(d)
	return err
}

// begin acquires r, a part of the device or the device itself, for a call.
func (s *deviceState) begin(op, what string, r *ref) error {
	open := r.acquire()
	err := s.live(op, what, open)
	if err != nil && open {
		r.drop()
	}
	return err
}

// adopt makes r, which releases a C object by free, a part of the device: closed with it, released before it. When the device was
// closed meanwhile the object is released at once. The caller is between enter and drop.
func (s *deviceState) adopt(op string, r *ref, free func()) error {
	if !s.acquire() {
		free()
		return s.live(op, "device", false)
	}
	r.free = func() {
		free()
		s.mu.Lock()
		delete(s.parts, r)
		s.mu.Unlock()
		s.drop()
	}
	s.mu.Lock()
	shut := s.shut
	if !shut {
		s.parts[r] = struct{}{}
	}
	s.mu.Unlock()
	if shut {
		r.close()
		return s.live(op, "device", false)
	}
	return nil
}

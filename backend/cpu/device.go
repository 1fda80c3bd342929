package cpu

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/internal/clock"
	"github.com/tandem-gpu/tandem/internal/hugepage"
)

// Is tells whether d is this driver's device itself, and not another's around it: what runs there
// may as well run in the caller's goroutine, without a launch.
func Is(d *backend.Device) bool {
	_, ok := d.Driver().(*device)
	return ok
}

type device struct {
	info   backend.Info
	levels []string // of machine code, the best first
}

func (d *device) Info() *backend.Info { return &d.info }

func (d *device) Start(func() error) {}
func (d *device) Settle() error      { return nil }
func (d *device) Release()           {}

// reserved is how many bytes a buffer has.
type reserved int64

// Release leaves the memory to Go: commands that are running keep it.
func (n reserved) Release() { inUse.Add(-int64(n)) }

// inUse counts the bytes of all buffers of the process. Go ends a process that runs out of memory,
// or the system does; the count turns that into an error.
var inUse atomic.Int64

// reserve counts n more bytes, unless that would be more than limit in all. A limit of 0 is none.
// It returns the bytes counted before.
func reserve(n, limit int64) (before int64, ok bool) {
	for {
		before = inUse.Load()
		if limit > 0 && n > limit-before {
			return before, false
		}
		if inUse.CompareAndSwap(before, before+n) {
			return before, true
		}
	}
}

// alignment in bytes of a buffer's start: a cache line, and the widest vector register.
const alignment = 64

func (d *device) Alloc(n int64) (backend.Memory, error) {
	if before, ok := reserve(n, d.info.Memory); !ok {
		return backend.Memory{}, fail("Device.Alloc", backend.ErrOutOfMemory,
			"%d bytes are in other buffers; free some or use smaller ones", before)
	}
	return backend.Memory{Size: n, Bytes: hugepage.Make(int(n), alignment), Handle: reserved(n)}, nil
}

// AllocHost is Alloc: all memory of this device is the host's.
func (d *device) AllocHost(n int64) (backend.Memory, error) { return d.Alloc(n) }

// Register needs no runtime.Pinner: only Go code reaches the memory, by the slice itself, which
// keeps it alive and in place. Memory that is not Go's, a mapped file say, must stay mapped until
// Free and the end of the commands that use it. There is nothing to release, and so registering
// costs little.
func (d *device) Register(mem []byte) (backend.Memory, error) {
	return backend.Memory{Size: int64(len(mem)), Bytes: mem[:len(mem):len(mem)]}, nil
}

func (d *device) Compile(s *backend.Source) (backend.DriverKernel, error) {
	const op = "Device.Compile"
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
	sig := backend.Signature{Name: s.Name, Params: params, Group: group}
	code, err := newNative(s, d.levels)
	if err != nil {
		return nil, fail(op, backend.ErrBuild, "kernel %s: %v", s.Name, err)
	}
	return &kernel{sig: sig, run: s.Go, native: code}, nil
}

func (d *device) NewQueue() (backend.DriverQueue, error) { return &queue{}, nil }

// event is a time by package clock: commands are done when they have been issued.
type event time.Duration

func (event) Wait() error { return nil }

func (e event) Since(earlier backend.DriverEvent) (int64, error) {
	return int64(e - earlier.(event)), nil
}

// queue runs each command at once, in the goroutine that issues it.
type queue struct {
	sync.Mutex // held while a command runs
}

// Write copies well where src is the buffer's own memory: copy is defined for ranges that overlap.
func (q *queue) Write(dst *backend.Memory, off int64, src []byte) error {
	q.Lock()
	defer q.Unlock()
	copy(dst.Bytes[off:], src)
	return nil
}

func (q *queue) Read(dst []byte, src *backend.Memory, off int64) error {
	q.Lock()
	defer q.Unlock()
	copy(dst, src.Bytes[off:])
	return nil
}

func (q *queue) WriteAsync(dst *backend.Memory, off int64, src *backend.Memory, srcOff, n int64) error {
	return q.Write(dst, off, src.Bytes[srcOff:srcOff+n])
}

func (q *queue) ReadAsync(dst *backend.Memory, dstOff int64, src *backend.Memory, off, n int64) error {
	return q.Write(dst, dstOff, src.Bytes[off:off+n])
}

func (q *queue) Copy(dst *backend.Memory, dstOff int64, src *backend.Memory, srcOff, n int64) error {
	return q.Write(dst, dstOff, src.Bytes[srcOff:srcOff+n])
}

func (q *queue) Launch(k backend.DriverKernel, g backend.Grid, args []backend.Arg, mems []*backend.Memory) error {
	q.Lock()
	defer q.Unlock()
	c := calls.Get().(*call)
	defer c.done()
	c.args, c.mems = args, mems
	return k.(*kernel).launch(g, c)
}

// A call is the arguments of a running launch: what is in use stays.
type call struct {
	args   []backend.Arg
	mems   []*backend.Memory
	native bool     // the kernel's machine code runs
	narrow bool     // on packed copies of some rows
	words  []uint64 // what it is given of args
	frame  frame    // of the caller's goroutine
	errs   []error  // of the ranges of a launch
}

var calls = sync.Pool{New: func() any { return new(call) }}

// done keeps the list for another launch, and nothing that was in it.
func (c *call) done() {
	c.args, c.mems, c.words, c.native, c.narrow = nil, nil, c.words[:0], false, false
	calls.Put(c)
}

// Record marks now: the commands before are done.
func (q *queue) Record() (backend.DriverEvent, error) {
	q.Lock()
	defer q.Unlock()
	return event(clock.Now()), nil
}

// WaitEvent has nothing to do: what an event marks is done when Record returns.
func (q *queue) WaitEvent(backend.DriverEvent) error { return nil }

// Finish waits for commands that other goroutines have issued.
func (q *queue) Finish() error {
	q.Lock()
	defer q.Unlock()
	return nil
}

func (q *queue) Release() {}

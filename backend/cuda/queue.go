package cuda

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// A queue is a stream.
type queue struct {
	dev    *device
	stream capi.Stream
}

// NewQueue makes a stream that waits for no other of the program, not even CUDA's default stream.
func (d *device) NewQueue() (backend.DriverQueue, error) {
	q := &queue{dev: d}
	err := d.call("cuStreamCreate",
		func(c *capi.Table) int32 { return c.StreamCreate(&q.stream, capi.StreamNonBlocking) })
	if err == nil {
		d.pool.add(q.stream)
	}
	return q, err
}

func (q *queue) Write(dst *backend.Memory, off int64, src []byte) error {
	defer runtime.KeepAlive(src)
	return q.waitFor("cuMemcpyHtoDAsync", func(c *capi.Table) int32 {
		return c.MemcpyHtoDAsync(address(dst, off), unsafe.Pointer(unsafe.SliceData(src)), uintptr(len(src)), q.stream)
	})
}

func (q *queue) Read(dst []byte, src *backend.Memory, off int64) error {
	defer runtime.KeepAlive(dst)
	return q.waitFor("cuMemcpyDtoHAsync", func(c *capi.Table) int32 {
		return c.MemcpyDtoHAsync(unsafe.Pointer(unsafe.SliceData(dst)), address(src, off), uintptr(len(dst)), q.stream)
	})
}

// waitFor makes the C call f, whose function is op, and waits for what it queued.
func (q *queue) waitFor(op string, f func(c *capi.Table) int32) error {
	c, err := q.dev.current()
	if err != nil {
		return err
	}
	defer leave()
	if err := q.dev.check(op, f(c)); err != nil {
		return err
	}
	return q.dev.check("cuStreamSynchronize", c.StreamSynchronize(q.stream))
}

func (q *queue) WriteAsync(dst *backend.Memory, off int64, src *backend.Memory, srcOff, n int64) error {
	return q.dev.call("cuMemcpyHtoDAsync", func(c *capi.Table) int32 {
		return c.MemcpyHtoDAsync(address(dst, off), unsafe.Pointer(&src.Bytes[srcOff]), uintptr(n), q.stream)
	})
}

func (q *queue) ReadAsync(dst *backend.Memory, dstOff int64, src *backend.Memory, off, n int64) error {
	return q.dev.call("cuMemcpyDtoHAsync", func(c *capi.Table) int32 {
		return c.MemcpyDtoHAsync(unsafe.Pointer(&dst.Bytes[dstOff]), address(src, off), uintptr(n), q.stream)
	})
}

func (q *queue) Copy(dst *backend.Memory, dstOff int64, src *backend.Memory, srcOff, n int64) error {
	return q.dev.call("cuMemcpyDtoDAsync", func(c *capi.Table) int32 {
		return c.MemcpyDtoDAsync(address(dst, dstOff), address(src, srcOff), uintptr(n), q.stream)
	})
}

// A paramBlock is the arguments of a launch as CUDA takes them: an address for each. It is on the
// heap, where C can read it.
type paramBlock struct {
	values [maxParams]uint64
	addrs  [maxParams]unsafe.Pointer
}

// maxParams is how many parameters of 8 bytes CUDA takes, before CUDA 12.1.
const maxParams = 4096 / 8

var paramBlocks = sync.Pool{New: func() any {
	b := new(paramBlock)
	for i := range b.addrs {
		b.addrs[i] = unsafe.Pointer(&b.values[i])
	}
	return b
}}

// Launch queues k with its arguments, which CUDA copies.
func (q *queue) Launch(k backend.DriverKernel, g backend.Grid, args []backend.Arg, mems []*backend.Memory) error {
	b := paramBlocks.Get().(*paramBlock)
	defer paramBlocks.Put(b)
	for i := range args {
		b.values[i] = args[i].Bits
		if mems[i] != nil {
			b.values[i] = uint64(address(mems[i], args[i].Offset))
		}
	}
	c, err := q.dev.current()
	if err != nil {
		return err
	}
	defer leave()
	n, l := g.Groups, g.Local
	return q.dev.check("cuLaunchKernel", c.LaunchKernel(k.(*kernel).Program.function, uint32(n[0]), uint32(n[1]),
		uint32(n[2]), uint32(l[0]), uint32(l[1]), uint32(l[2]), 0, q.stream, &b.addrs[0], nil))
}

func (q *queue) Record() (backend.DriverEvent, error) {
	e := &event{dev: q.dev}
	if err := q.dev.call("cuEventCreate",
		func(c *capi.Table) int32 { return c.EventCreate(&e.ev, capi.EventDefault) }); err != nil {
		return nil, err
	}
	if err := q.dev.call("cuEventRecord",
		func(c *capi.Table) int32 { return c.EventRecord(e.ev, q.stream) }); err != nil {
		e.Release()
		return nil, err
	}
	return e, nil
}

func (q *queue) WaitEvent(e backend.DriverEvent) error {
	return q.dev.call("cuStreamWaitEvent",
		func(c *capi.Table) int32 { return c.StreamWaitEvent(q.stream, e.(*event).ev, 0) })
}

func (q *queue) Finish() error {
	return q.dev.call("cuStreamSynchronize", func(c *capi.Table) int32 { return c.StreamSynchronize(q.stream) })
}

func (q *queue) Release() {
	q.dev.pool.remove(q.stream)
	q.dev.dispose(func(c *capi.Table) int32 { return c.StreamDestroy(q.stream) })
}

package opencl

import (
	"math"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
)

type queue struct {
	dev *device
	cq  *cl.CommandQueue
}

// NewQueue makes an in-order queue whose events know the device's time.
func (d *device) NewQueue() (backend.DriverQueue, error) {
	cq, err := d.ctx.CreateCommandQueue(d.dev, cl.CommandQueueProfilingEnable)
	return &queue{d, cq}, d.check("clCreateCommandQueue", err)
}

func (q *queue) Write(dst *backend.Memory, off int64, src []byte) error {
	return q.dev.using([]*backend.Memory{dst}, func() error {
		ev, err := q.cq.EnqueueWriteBuffer(object(dst), true, int(off), len(src), unsafe.Pointer(unsafe.SliceData(src)),
			nil)
		return q.done("clEnqueueWriteBuffer", ev, err)
	})
}

func (q *queue) Read(dst []byte, src *backend.Memory, off int64) error {
	return q.dev.using([]*backend.Memory{src}, func() error {
		ev, err := q.cq.EnqueueReadBuffer(object(src), true, int(off), len(dst), unsafe.Pointer(unsafe.SliceData(dst)),
			nil)
		return q.done("clEnqueueReadBuffer", ev, err)
	})
}

// done releases the event of the C function op.
func (q *queue) done(op string, ev *cl.Event, err error) error {
	if err != nil {
		return q.dev.check(op, err)
	}
	ev.Release()
	return nil
}

// WriteAsync is a copy between two buffers where the device reaches host memory.
func (q *queue) WriteAsync(dst *backend.Memory, off int64, src *backend.Memory, srcOff, n int64) error {
	if !staging(src) {
		return q.flushed(q.Copy(dst, off, src, srcOff, n))
	}
	return q.dev.using([]*backend.Memory{dst}, func() error {
		ev, err := q.cq.EnqueueWriteBufferPinned(object(dst), int(off), int(n), unsafe.Pointer(&src.Bytes[srcOff]), nil)
		return q.flushed(q.done("clEnqueueWriteBuffer", ev, err))
	})
}

// ReadAsync is a copy between two buffers where the device reaches host memory.
func (q *queue) ReadAsync(dst *backend.Memory, dstOff int64, src *backend.Memory, off, n int64) error {
	if !staging(dst) {
		return q.flushed(q.Copy(dst, dstOff, src, off, n))
	}
	return q.dev.using([]*backend.Memory{src}, func() error {
		ev, err := q.cq.EnqueueReadBufferPinned(object(src), int(off), int(n), unsafe.Pointer(&dst.Bytes[dstOff]), nil)
		return q.flushed(q.done("clEnqueueReadBuffer", ev, err))
	})
}

func (q *queue) Copy(dst *backend.Memory, dstOff int64, src *backend.Memory, srcOff, n int64) error {
	return q.dev.using([]*backend.Memory{dst, src}, func() error {
		ev, err := q.cq.EnqueueCopyBuffer(object(src), object(dst), int(srcOff), int(dstOff), int(n), nil)
		return q.done("clEnqueueCopyBuffer", ev, err)
	})
}

func (q *queue) Launch(k backend.DriverKernel, g backend.Grid, args []backend.Arg, mems []*backend.Memory) error {
	p := k.(*kernel).Program
	if n := int64(g.Count()); n > math.MaxUint32 && q.dev.info.Platform == pocl { // it would end the process
		return failure("Queue.Launch", backend.ErrLaunch, "kernel %s: grid of %s: %d groups, PoCL takes at most 2^32-1",
			p.name, g, n)
	}
	return q.dev.using(mems, func() error { return q.launch(p, g, args, mems) })
}

// launch sets p's arguments and queues it. A kernel object holds its arguments: p is locked in
// between.
func (q *queue) launch(p *program, g backend.Grid, args []backend.Arg, mems []*backend.Memory) error {
	var parts []*cl.MemObject // buffers from an offset on; commands keep what they use
	defer func() {
		for _, part := range parts {
			part.Release()
		}
	}()
	p.launching.Lock()
	defer p.launching.Unlock()
	for i := range args {
		a, m := &args[i], mems[i]
		if m == nil {
			if err := p.set(i, argument{bits: a.Bits, size: a.Size}); err != nil {
				return err
			}
			continue
		}
		mem := object(m)
		if 0 < a.Offset && a.Offset < m.Size {
			part, err := mem.CreateSubBuffer(cl.MemReadWrite, int(a.Offset), int(m.Size-a.Offset))
			if err != nil {
				return q.dev.check("clCreateSubBuffer", err)
			}
			parts = append(parts, part)
			mem = part
		}
		if err := p.set(i, argument{mem: mem}); err != nil {
			return err
		}
	}
	var global [3]int
	global[0], global[1], global[2] = g.Size()
	dims := 3
	for dims > 1 && global[dims-1] == 1 {
		dims--
	}
	if err := q.cq.LaunchNDRange(p.kernel, dims, global, g.Local); err != nil {
		return q.dev.check("clEnqueueNDRangeKernel", err)
	}
	return q.flush()
}

// An argument is what the kernel object has for a parameter: a memory object or a scalar.
type argument struct {
	mem  *cl.MemObject
	bits uint64
	size int
}

// set makes a the kernel object's argument i, which takes a C call only where the last launch had
// another. p is locked.
func (p *program) set(i int, a argument) error {
	for len(p.args) <= i {
		p.args = append(p.args, argument{})
	}
	if p.args[i] == a {
		return nil
	}
	p.args[i] = argument{}
	var err error
	if a.mem != nil {
		err = p.kernel.SetArgMem(i, a.mem)
	} else {
		err = p.kernel.SetArgScalar(i, a.bits, a.size)
	}
	if err != nil {
		return p.dev.check("clSetKernelArg", err)
	}
	p.args[i] = a
	return nil
}

func (q *queue) Record() (backend.DriverEvent, error) {
	ev, err := q.cq.EnqueueMarkerWithWaitList(nil)
	if err != nil {
		return nil, q.dev.check("clEnqueueMarkerWithWaitList", err)
	}
	if err := q.flush(); err != nil { // another queue may wait for it
		ev.Release()
		return nil, err
	}
	return &event{q.dev, ev}, nil
}

func (q *queue) WaitEvent(e backend.DriverEvent) error {
	ev, err := q.cq.EnqueueBarrierWithWaitList([]*cl.Event{e.(*event).ev})
	return q.done("clEnqueueBarrierWithWaitList", ev, err)
}

func (q *queue) Finish() error { return q.dev.check("clFinish", q.cq.Finish()) }

func (q *queue) Release() { q.cq.Release() }

func (q *queue) flush() error { return q.dev.check("clFlush", q.cq.Flush()) }

// flushed has the device begin with what was queued without an error.
func (q *queue) flushed(err error) error {
	if err != nil {
		return err
	}
	return q.flush()
}

package opencl

import (
	"math"
	"runtime"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
)

// A queue is an in-order queue in the hands of the caller.
type queue struct {
	*queueState
	dev *device
}

type queueState struct {
	driverkit.Queue
	dev *deviceState
	cq  *cl.CommandQueue
}

// NewQueue makes an in-order queue whose events know the device's time.
func (d *device) NewQueue() (backend.Queue, error) {
	const op = "Device.NewQueue"
	if err := d.enter(op); err != nil {
		return nil, err
	}
	defer d.Drop()
	cq, err := d.ctx.CreateCommandQueue(d.deviceState.dev, cl.CommandQueueProfilingEnable)
	if err != nil {
		return nil, d.check("clCreateCommandQueue", err)
	}
	s := &queueState{dev: d.deviceState, cq: cq}
	if err := d.AdoptQueue(op, &s.Queue, s.finish, cq.Release); err != nil {
		return nil, err
	}
	q := &queue{s, d}
	runtime.AddCleanup(q, func(s *queueState) { go s.Close() }, s)
	return q, nil
}

// Close waits for the queue's commands and releases it. It is idempotent. The error is that of the
// commands.
func (q *queue) Close() error {
	err := q.queueState.Close()
	runtime.KeepAlive(q)
	return err
}

// enter begins a call on the queue. Without an error, Drop ends it.
func (q *queue) enter(op string) error {
	err := q.Enter(op)
	runtime.KeepAlive(q)
	return err
}

// Write copies src to dst and blocks until it is done.
func (q *queue) Write(dst backend.Buffer, off int64, src []byte) error {
	return q.transfer("Queue.Write", dst, off, int64(len(src)), func(m *memory) error {
		ev, err := q.cq.EnqueueWriteBuffer(m.mem, true, int(off), len(src), unsafe.Pointer(unsafe.SliceData(src)), nil)
		return q.done("clEnqueueWriteBuffer", ev, err)
	})
}

// Read copies src to dst and blocks until it is done.
func (q *queue) Read(dst []byte, src backend.Buffer, off int64) error {
	return q.transfer("Queue.Read", src, off, int64(len(dst)), func(m *memory) error {
		ev, err := q.cq.EnqueueReadBuffer(m.mem, true, int(off), len(dst), unsafe.Pointer(unsafe.SliceData(dst)), nil)
		return q.done("clEnqueueReadBuffer", ev, err)
	})
}

// transfer calls move, which copies n bytes at off of b from or to the host, unless there is
// nothing to copy.
func (q *queue) transfer(op string, b backend.Buffer, off, n int64, move func(*memory) error) error {
	if err := q.enter(op); err != nil {
		return err
	}
	defer q.Drop()
	m, err := q.target(op, b, off, n)
	if err != nil {
		return err
	}
	defer m.Drop()
	if n == 0 {
		return nil
	}
	return q.queueState.dev.using([]*memory{m}, func() error { return move(m) })
}

// target finds and acquires the memory that a copy of n bytes at off of b reads or writes.
func (q *queueState) target(op string, b backend.Buffer, off, n int64) (*memory, error) {
	m, err := driverkit.Memory[*memory](&q.dev.Device, op, b)
	if err != nil {
		return nil, err
	}
	if m.staging {
		err = stagingError(op, q.dev)
	} else {
		err = driverkit.CheckRange(driverName, op, off, n, m.size)
	}
	if err != nil {
		m.Drop()
		return nil, err
	}
	return m, nil
}

func stagingError(op string, s *deviceState) error {
	return failure(op, backend.ErrUnsupported,
		"%s cannot use host memory as a buffer; copy it by WriteAsync or ReadAsync", s.Info.Name)
}

// done releases the event of the C function op.
func (q *queueState) done(op string, ev *cl.Event, err error) error {
	if err != nil {
		return q.dev.check(op, err)
	}
	ev.Release()
	return nil
}

// WriteAsync copies n bytes of host memory to dst.
func (q *queue) WriteAsync(dst backend.Buffer, off int64, src backend.HostBuffer, srcOff, n int64) error {
	return q.async("Queue.WriteAsync", dst, off, src, srcOff, n, func(m, host *memory) error {
		if !host.staging {
			return q.copy(m, off, host, srcOff, n)
		}
		ev, err := q.cq.EnqueueWriteBufferPinned(m.mem, int(off), int(n), unsafe.Pointer(&host.bytes[srcOff]), nil)
		return q.done("clEnqueueWriteBuffer", ev, err)
	})
}

// ReadAsync copies n bytes of src to host memory.
func (q *queue) ReadAsync(dst backend.HostBuffer, dstOff int64, src backend.Buffer, off, n int64) error {
	return q.async("Queue.ReadAsync", src, off, dst, dstOff, n, func(m, host *memory) error {
		if !host.staging {
			return q.copy(host, dstOff, m, off, n)
		}
		ev, err := q.cq.EnqueueReadBufferPinned(m.mem, int(off), int(n), unsafe.Pointer(&host.bytes[dstOff]), nil)
		return q.done("clEnqueueReadBuffer", ev, err)
	})
}

// async calls move, which copies n bytes between b at off and h at hostOff, unless there is nothing
// to copy. Where the device reaches host memory, that is a copy between two buffers.
func (q *queue) async(op string, b backend.Buffer, off int64, h backend.HostBuffer, hostOff, n int64,
	move func(m, host *memory) error,
) error {
	if err := q.enter(op); err != nil {
		return err
	}
	defer q.Drop()
	m, err := q.target(op, b, off, n)
	if err != nil {
		return err
	}
	defer m.Drop()
	host, err := driverkit.Memory[*memory](&q.queueState.dev.Device, op, h)
	if err != nil {
		return err
	}
	defer host.Drop()
	if err := driverkit.CheckRange(driverName, op, hostOff, n, host.size); err != nil || n == 0 {
		return err
	}
	return q.queueState.dev.using([]*memory{m, host}, func() error {
		if err := move(m, host); err != nil {
			return err
		}
		return q.flush()
	})
}

// Copy copies n bytes between buffers of the device.
func (q *queue) Copy(dst backend.Buffer, dstOff int64, src backend.Buffer, srcOff, n int64) error {
	const op = "Queue.Copy"
	if err := q.enter(op); err != nil {
		return err
	}
	defer q.Drop()
	to, err := q.target(op, dst, dstOff, n)
	if err != nil {
		return err
	}
	defer to.Drop()
	from, err := q.target(op, src, srcOff, n)
	if err != nil {
		return err
	}
	defer from.Drop()
	if to == from {
		if err := driverkit.CheckOverlap(driverName, op, dstOff, srcOff, n); err != nil {
			return err
		}
	}
	if n == 0 {
		return nil
	}
	return q.queueState.dev.using([]*memory{to, from}, func() error { return q.copy(to, dstOff, from, srcOff, n) })
}

func (q *queueState) copy(to *memory, toOff int64, from *memory, fromOff, n int64) error {
	ev, err := q.cq.EnqueueCopyBuffer(from.mem, to.mem, int(fromOff), int(toOff), int(n), nil)
	return q.done("clEnqueueCopyBuffer", ev, err)
}

// Launch runs k over g.
func (q *queue) Launch(k backend.Kernel, g backend.Grid, args ...backend.Arg) error {
	const op = "Queue.Launch"
	if err := q.enter(op); err != nil {
		return err
	}
	defer q.Drop()
	s := q.queueState.dev
	kn, ok := k.(*kernel)
	if !ok || kn == nil || kn.prog.dev != s {
		return failure(op, backend.ErrLaunch, "the kernel (%T) is not of this device", k)
	}
	if err := kn.enter(op); err != nil {
		return err
	}
	defer kn.Drop()
	if err := kn.sig.Check(&s.Info, g, args); err != nil {
		return err
	}
	if n := int64(g.Count()); n > math.MaxUint32 && s.Info.Platform == pocl { // it would end the process
		return failure(op, backend.ErrLaunch, "kernel %s: grid of %s: %d groups, PoCL takes at most 2^32-1",
			kn.sig.Name, g, n)
	}
	var array [16]*memory // most launches need no more, and allocate nothing here
	mems := array[:0]
	defer func() {
		for _, m := range mems {
			m.Drop()
		}
	}()
	for i := range args {
		if args[i].Buffer == nil {
			continue
		}
		m, err := driverkit.Memory[*memory](&s.Device, op, args[i].Buffer)
		if err != nil {
			return kn.sig.ArgumentError(i, err)
		}
		mems = append(mems, m)
		if m.staging {
			return stagingError(op, s)
		}
	}
	if g.Empty() {
		return nil
	}
	return s.using(mems, func() error { return q.launch(kn.prog, g, args, mems) })
}

// launch sets p's arguments and queues it. A kernel object holds its arguments: p is locked in
// between. mems are the buffers among args.
func (q *queueState) launch(p *program, g backend.Grid, args []backend.Arg, mems []*memory) error {
	var parts []*cl.MemObject // buffers from an offset on; commands keep what they use
	defer func() {
		for _, part := range parts {
			part.Release()
		}
	}()
	p.launching.Lock()
	defer p.launching.Unlock()
	for i := range args {
		a := &args[i]
		if a.Buffer == nil {
			if err := p.set(i, argument{bits: a.Bits, size: a.Size}); err != nil {
				return err
			}
			continue
		}
		m := mems[0]
		mems = mems[1:]
		mem := m.mem
		if 0 < a.Offset && a.Offset < m.size {
			part, err := m.mem.CreateSubBuffer(cl.MemReadWrite, int(a.Offset), int(m.size-a.Offset))
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

// Record marks the present end of the queue.
func (q *queue) Record() (backend.Event, error) {
	const op = "Queue.Record"
	if err := q.enter(op); err != nil {
		return nil, err
	}
	defer q.Drop()
	ev, err := q.cq.EnqueueMarkerWithWaitList(nil)
	if err != nil {
		return nil, q.queueState.dev.check("clEnqueueMarkerWithWaitList", err)
	}
	if err := q.flush(); err != nil { // another queue may wait for it
		ev.Release()
		return nil, err
	}
	s := &eventState{dev: q.queueState.dev, ev: ev}
	if err := s.dev.Adopt(op, "event", &s.Object, ev.Release); err != nil {
		return nil, err
	}
	e := &event{s, q.dev}
	runtime.AddCleanup(e, func(s *eventState) { s.Close() }, s)
	return e, nil
}

// WaitEvent makes later commands of the queue wait for e.
func (q *queue) WaitEvent(e backend.Event) error {
	const op = "Queue.WaitEvent"
	if err := q.enter(op); err != nil {
		return err
	}
	defer q.Drop()
	on, ok := e.(*event)
	if !ok || on == nil || on.eventState.dev != q.queueState.dev {
		return failure(op, backend.ErrArgument, "the event (%T) is of another device", e)
	}
	if err := on.enter(op); err != nil {
		return err
	}
	defer on.Drop()
	ev, err := q.cq.EnqueueBarrierWithWaitList([]*cl.Event{on.ev})
	return q.done("clEnqueueBarrierWithWaitList", ev, err)
}

// Wait blocks until everything queued is done.
func (q *queue) Wait() error {
	err := q.queueState.Wait()
	runtime.KeepAlive(q)
	return err
}

func (s *queueState) finish() error { return s.dev.check("clFinish", s.cq.Finish()) }

func (s *queueState) flush() error { return s.dev.check("clFlush", s.cq.Flush()) }

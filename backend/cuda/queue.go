package cuda

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// A queue is a stream in the hands of the caller.
type queue struct {
	*queueState
	dev *device
}

type queueState struct {
	driverkit.Queue
	dev    *deviceState
	stream capi.Stream
}

// NewQueue makes an in-order queue. It waits for no other stream of the program, not even CUDA's
// default stream.
func (d *device) NewQueue() (backend.Queue, error) {
	const op = "Device.NewQueue"
	if err := d.enter(op); err != nil {
		return nil, err
	}
	defer d.Drop()
	s := &queueState{dev: d.deviceState}
	err := d.call("cuStreamCreate",
		func(c *capi.Table) int32 { return c.StreamCreate(&s.stream, capi.StreamNonBlocking) })
	if err != nil {
		return nil, err
	}
	if err := d.AdoptQueue(op, &s.Queue, s.finish, s.destroy); err != nil {
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
	err := q.transfer("Queue.Write", dst, off, int64(len(src)), "cuMemcpyHtoDAsync",
		func(c *capi.Table, at capi.Pointer) int32 {
			return c.MemcpyHtoDAsync(at, unsafe.Pointer(unsafe.SliceData(src)), uintptr(len(src)), q.stream)
		})
	runtime.KeepAlive(src)
	return err
}

// Read copies from src to dst and blocks until it is done.
func (q *queue) Read(dst []byte, src backend.Buffer, off int64) error {
	err := q.transfer("Queue.Read", src, off, int64(len(dst)), "cuMemcpyDtoHAsync",
		func(c *capi.Table, at capi.Pointer) int32 {
			return c.MemcpyDtoHAsync(unsafe.Pointer(unsafe.SliceData(dst)), at, uintptr(len(dst)), q.stream)
		})
	runtime.KeepAlive(dst)
	return err
}

// transfer queues a copy of n bytes at off of b from or to the host by the C function name, and
// waits for it, unless there is nothing to copy.
func (q *queue) transfer(op string, b backend.Buffer, off, n int64, name string,
	move func(c *capi.Table, at capi.Pointer) int32,
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
	if n == 0 {
		return nil
	}
	s := q.queueState.dev
	c, err := s.current()
	if err != nil {
		return err
	}
	defer leave()
	if err := s.check(name, move(c, m.addr+capi.Pointer(off))); err != nil {
		return err
	}
	return s.check("cuStreamSynchronize", c.StreamSynchronize(q.stream))
}

// target finds and acquires the memory that a copy of n bytes at off of b reads or writes.
func (q *queueState) target(op string, b backend.Buffer, off, n int64) (*memory, error) {
	m, err := driverkit.Memory[*memory](&q.dev.Device, op, b)
	if err != nil {
		return nil, err
	}
	if m.staging {
		err = q.dev.stagingError(op)
	} else {
		err = driverkit.CheckRange(q.dev.drv.name, op, off, n, m.size)
	}
	if err != nil {
		m.Drop()
		return nil, err
	}
	return m, nil
}

func (s *deviceState) stagingError(op string) error {
	return s.Failure(op, backend.ErrUnsupported,
		"%s has memory of its own, and host memory is no buffer; copy it by WriteAsync or ReadAsync", s.Info.Name)
}

// WriteAsync copies n bytes of host memory to dst.
func (q *queue) WriteAsync(dst backend.Buffer, off int64, src backend.HostBuffer, srcOff, n int64) error {
	return q.async("Queue.WriteAsync", dst, off, src, srcOff, n, "cuMemcpyHtoDAsync",
		func(c *capi.Table, at capi.Pointer, host []byte) int32 {
			return c.MemcpyHtoDAsync(at, unsafe.Pointer(unsafe.SliceData(host)), uintptr(n), q.stream)
		})
}

// ReadAsync copies n bytes of src to host memory.
func (q *queue) ReadAsync(dst backend.HostBuffer, dstOff int64, src backend.Buffer, off, n int64) error {
	return q.async("Queue.ReadAsync", src, off, dst, dstOff, n, "cuMemcpyDtoHAsync",
		func(c *capi.Table, at capi.Pointer, host []byte) int32 {
			return c.MemcpyDtoHAsync(unsafe.Pointer(unsafe.SliceData(host)), at, uintptr(n), q.stream)
		})
}

// async queues a copy of n bytes between b at off and h at hostOff by the C function name, unless
// there is nothing to copy.
func (q *queue) async(op string, b backend.Buffer, off int64, h backend.HostBuffer, hostOff, n int64, name string,
	move func(c *capi.Table, at capi.Pointer, host []byte) int32,
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
	s := q.queueState.dev
	host, err := driverkit.Memory[*memory](&s.Device, op, h)
	if err != nil {
		return err
	}
	defer host.Drop()
	if err := driverkit.CheckRange(s.drv.name, op, hostOff, n, host.size); err != nil || n == 0 {
		return err
	}
	return s.call(name, func(c *capi.Table) int32 { return move(c, m.addr+capi.Pointer(off), host.bytes[hostOff:]) })
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
		if err := driverkit.CheckOverlap(to.dev.drv.name, op, dstOff, srcOff, n); err != nil {
			return err
		}
	}
	if n == 0 {
		return nil
	}
	return to.dev.call("cuMemcpyDtoDAsync", func(c *capi.Table) int32 {
		return c.MemcpyDtoDAsync(to.addr+capi.Pointer(dstOff), from.addr+capi.Pointer(srcOff), uintptr(n), q.stream)
	})
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
		return s.Failure(op, backend.ErrLaunch, "the kernel (%T) is not of this device", k)
	}
	if err := kn.enter(op); err != nil {
		return err
	}
	defer kn.Drop()
	if err := kn.sig.Check(&s.Info, g, args); err != nil {
		return err
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
			return s.stagingError(op)
		}
	}
	if g.Empty() {
		return nil
	}
	return q.launch(kn.prog, g, args, mems)
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

// launch queues p with its arguments, which CUDA copies. mems are the buffers among args.
func (q *queueState) launch(p *program, g backend.Grid, args []backend.Arg, mems []*memory) error {
	b := paramBlocks.Get().(*paramBlock)
	defer paramBlocks.Put(b)
	for i := range args {
		b.values[i] = args[i].Bits
		if args[i].Buffer != nil {
			b.values[i] = uint64(mems[0].addr) + uint64(args[i].Offset)
			mems = mems[1:]
		}
	}
	c, err := q.dev.current()
	if err != nil {
		return err
	}
	defer leave()
	n, l := g.Groups, g.Local
	return q.dev.check("cuLaunchKernel", c.LaunchKernel(p.function, uint32(n[0]), uint32(n[1]), uint32(n[2]),
		uint32(l[0]), uint32(l[1]), uint32(l[2]), 0, q.stream, &b.addrs[0], nil))
}

// Record marks the present end of the queue.
func (q *queue) Record() (backend.Event, error) {
	const op = "Queue.Record"
	if err := q.enter(op); err != nil {
		return nil, err
	}
	defer q.Drop()
	s := &eventState{dev: q.queueState.dev}
	if err := s.dev.call("cuEventCreate",
		func(c *capi.Table) int32 { return c.EventCreate(&s.ev, capi.EventDefault) }); err != nil {
		return nil, err
	}
	if err := s.dev.call("cuEventRecord",
		func(c *capi.Table) int32 { return c.EventRecord(s.ev, q.stream) }); err != nil {
		s.destroy()
		return nil, err
	}
	if err := s.dev.Adopt(op, "event", &s.Object, s.destroy); err != nil {
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
	s := q.queueState.dev
	on, ok := e.(*event)
	if !ok || on == nil || on.eventState.dev != s {
		return s.Failure(op, backend.ErrArgument, "the event (%T) is of another device", e)
	}
	if err := on.enter(op); err != nil {
		return err
	}
	defer on.Drop()
	return s.call("cuStreamWaitEvent", func(c *capi.Table) int32 { return c.StreamWaitEvent(q.stream, on.ev, 0) })
}

// Wait blocks until everything queued is done.
func (q *queue) Wait() error {
	err := q.queueState.Wait()
	runtime.KeepAlive(q)
	return err
}

func (s *queueState) finish() error {
	return s.dev.call("cuStreamSynchronize", func(c *capi.Table) int32 { return c.StreamSynchronize(s.stream) })
}

func (s *queueState) destroy() {
	s.dev.dispose(func(c *capi.Table) int32 { return c.StreamDestroy(s.stream) })
}

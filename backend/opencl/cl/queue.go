package cl

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// A CommandQueue takes commands for one device. Its methods may be called from many goroutines.
//
// A command waits for the events of its eventWaitList, which may be nil, and is done when its own
// event is. The event must be released by the caller, or else by the garbage collector.
type CommandQueue struct {
	h         *handle
	transfers *transferList
}

// Release gives the queue back; commands in it still run. It is idempotent.
func (q *CommandQueue) Release() { q.handle().release() }

func (q *CommandQueue) handle() *handle {
	if q == nil {
		return nil
	}
	return q.h
}

func (q *CommandQueue) use(call func(id capi.Queue) error) error {
	return use(q.handle(), ErrInvalidCommandQueue, call)
}

// Finish blocks until all commands of the queue are done.
func (q *CommandQueue) Finish() error {
	return q.use(func(id capi.Queue) error { return toError(api().Finish(id)) })
}

// Flush makes sure that all commands of the queue are on their way to the device. It does not wait
// for them.
func (q *CommandQueue) Flush() error {
	return q.use(func(id capi.Queue) error { return toError(api().Flush(id)) })
}

// A command is what all of C's enqueue functions take.
type command struct {
	*capi.Table
	q    capi.Queue
	n    uint32
	wait *capi.Event
	ev   *capi.Event
}

// enqueue runs call with the queue, the wait list and the memory objects held, and gives the
// command's event.
func (q *CommandQueue) enqueue(wait []*Event, mems []*MemObject, call func(c *command) int32) (*Event, error) {
	var held hold
	defer func() { held.drop() }()
	if !held.add(q.handle()) {
		return nil, ErrInvalidCommandQueue
	}
	for _, m := range mems {
		if !held.add(m.handle()) {
			return nil, ErrInvalidMemObject
		}
	}
	events, err := held.events(wait)
	if err != nil {
		return nil, err
	}
	var ev capi.Event
	c := command{Table: api(), q: capi.Queue(q.h.id), n: uint32(len(events)), wait: unsafe.SliceData(events), ev: &ev}
	if err := toError(call(&c)); err != nil {
		return nil, err
	}
	if ev == 0 {
		return nil, ErrUnknown
	}
	return newEvent(ev), nil
}

// transfer is enqueue for a command that reads or writes host memory. Where it does not block, the
// memory stays pinned until the command is done.
func (q *CommandQueue) transfer(m *MemObject, blocking bool, host unsafe.Pointer, wait []*Event,
	call func(c *command) int32,
) (*Event, error) {
	if blocking || host == nil {
		return q.enqueue(wait, []*MemObject{m}, call)
	}
	p := newPin(host)
	ev, err := q.enqueue(wait, []*MemObject{m}, call)
	if err != nil {
		p.drop()
		return nil, err
	}
	ev.h.acquire() // dropped at the end of the transfer
	q.transfers.add(transfer{event: ev.h, pin: p})
	return ev, nil
}

// copyBuffer calls one of C's copies between the host and size bytes at offset of a buffer.
func (c *command) copyBuffer(
	f capi.HostCopy, m *MemObject, blocking bool, offset, size int, host unsafe.Pointer,
) int32 {
	if offset < 0 || size < 0 {
		return capi.InvalidValue
	}
	return f(c.q, m.id(), clBool(blocking), uintptr(offset), uintptr(size), host, c.n, c.wait, c.ev)
}

// validRange refuses offsets and sizes that are no C size.
func validRange(v ...int) error {
	for _, n := range v {
		if n < 0 {
			return ErrInvalidValue
		}
	}
	return nil
}

// EnqueueReadBuffer copies dataSize bytes at offset of the buffer to dataPtr. Where it does not
// block, the program must leave the memory alone until the event is done; Go memory is kept pinned
// so long, other memory must stay valid.
func (q *CommandQueue) EnqueueReadBuffer(buffer *MemObject, blocking bool, offset, dataSize int, dataPtr unsafe.Pointer,
	eventWaitList []*Event,
) (*Event, error) {
	return q.transfer(buffer, blocking, dataPtr, eventWaitList, func(c *command) int32 {
		return c.copyBuffer(c.EnqueueReadBuffer, buffer, blocking, offset, dataSize, dataPtr)
	})
}

// EnqueueReadBufferFloat32 is EnqueueReadBuffer into all of data. offset is in bytes.
func (q *CommandQueue) EnqueueReadBufferFloat32(buffer *MemObject, blocking bool, offset int, data []float32,
	eventWaitList []*Event,
) (*Event, error) {
	return q.EnqueueReadBuffer(buffer, blocking, offset, 4*len(data), unsafe.Pointer(unsafe.SliceData(data)),
		eventWaitList)
}

// EnqueueWriteBuffer copies dataSize bytes from dataPtr to offset of the buffer. Where it does not
// block, the program must not change the memory until the event is done; Go memory is kept pinned
// so long, other memory must stay valid.
func (q *CommandQueue) EnqueueWriteBuffer(buffer *MemObject, blocking bool, offset, dataSize int,
	dataPtr unsafe.Pointer,
	eventWaitList []*Event,
) (*Event, error) {
	return q.transfer(buffer, blocking, dataPtr, eventWaitList, func(c *command) int32 {
		return c.copyBuffer(c.EnqueueWriteBuffer, buffer, blocking, offset, dataSize, dataPtr)
	})
}

// EnqueueWriteBufferFloat32 is EnqueueWriteBuffer from all of data. offset is in bytes.
func (q *CommandQueue) EnqueueWriteBufferFloat32(buffer *MemObject, blocking bool, offset int, data []float32,
	eventWaitList []*Event,
) (*Event, error) {
	return q.EnqueueWriteBuffer(buffer, blocking, offset, 4*len(data), unsafe.Pointer(unsafe.SliceData(data)),
		eventWaitList)
}

// EnqueueReadBufferPinned is a non-blocking EnqueueReadBuffer into memory that the caller keeps in
// place until the event is done: pinned Go memory, or memory that is not Go's. It spares the
// pinning and the watching for the end.
func (q *CommandQueue) EnqueueReadBufferPinned(buffer *MemObject, offset, dataSize int, dataPtr unsafe.Pointer,
	eventWaitList []*Event,
) (*Event, error) {
	return q.enqueue(eventWaitList, []*MemObject{buffer}, func(c *command) int32 {
		return c.copyBuffer(c.EnqueueReadBuffer, buffer, false, offset, dataSize, dataPtr)
	})
}

// EnqueueWriteBufferPinned is a non-blocking EnqueueWriteBuffer from memory that the caller keeps
// in place until the event is done.
func (q *CommandQueue) EnqueueWriteBufferPinned(buffer *MemObject, offset, dataSize int, dataPtr unsafe.Pointer,
	eventWaitList []*Event,
) (*Event, error) {
	return q.enqueue(eventWaitList, []*MemObject{buffer}, func(c *command) int32 {
		return c.copyBuffer(c.EnqueueWriteBuffer, buffer, false, offset, dataSize, dataPtr)
	})
}

// EnqueueCopyBuffer copies byteCount bytes between two buffers, or two ranges of one that do not
// overlap.
func (q *CommandQueue) EnqueueCopyBuffer(srcBuffer, dstBuffer *MemObject, srcOffset, dstOffset, byteCount int,
	eventWaitList []*Event,
) (*Event, error) {
	if err := validRange(srcOffset, dstOffset, byteCount); err != nil {
		return nil, err
	}
	return q.enqueue(eventWaitList, []*MemObject{srcBuffer, dstBuffer}, func(c *command) int32 {
		return c.EnqueueCopyBuffer(c.q, srcBuffer.id(), dstBuffer.id(), uintptr(srcOffset), uintptr(dstOffset),
			uintptr(byteCount),
			c.n, c.wait, c.ev)
	})
}

// EnqueueFillBuffer fills size bytes at offset with a pattern of 1, 2, 4, ... 128 bytes, of which
// both are multiples. The pattern is copied before the call returns.
func (q *CommandQueue) EnqueueFillBuffer(buffer *MemObject, pattern unsafe.Pointer, patternSize, offset, size int,
	eventWaitList []*Event,
) (*Event, error) {
	if api() != nil && api().EnqueueFillBuffer == nil {
		return nil, ErrUnsupported
	}
	if err := validRange(patternSize, offset, size); err != nil {
		return nil, err
	}
	return q.enqueue(eventWaitList, []*MemObject{buffer}, func(c *command) int32 {
		return c.EnqueueFillBuffer(c.q, buffer.id(), pattern, uintptr(patternSize), uintptr(offset), uintptr(size), c.n,
			c.wait, c.ev)
	})
}

// EnqueueMapBuffer makes a range of the buffer reachable for the host. Where it does not block, the
// memory must not be touched before the event is done. It ends with EnqueueUnmapMemObject.
func (q *CommandQueue) EnqueueMapBuffer(buffer *MemObject, blocking bool, flags MapFlag, offset, size int,
	eventWaitList []*Event,
) (*MappedMemObject, *Event, error) {
	if err := validRange(offset, size); err != nil {
		return nil, nil, err
	}
	mapped := &MappedMemObject{size: size}
	ev, err := q.enqueue(eventWaitList, []*MemObject{buffer}, func(c *command) (status int32) {
		mapped.ptr = c.EnqueueMapBuffer(c.q, buffer.id(), clBool(blocking), uint64(flags), uintptr(offset),
			uintptr(size),
			c.n, c.wait, c.ev, &status)
		return status
	})
	return mapped.result(ev, err)
}

// result is what the map functions return.
func (mb *MappedMemObject) result(ev *Event, err error) (*MappedMemObject, *Event, error) {
	switch {
	case err != nil:
		return nil, nil, err
	case mb.ptr == nil:
		return nil, ev, ErrUnknown
	}
	return mb, ev, nil
}

// EnqueueUnmapMemObject ends a mapping: what the host wrote reaches the device, and the memory must
// not be touched any more.
func (q *CommandQueue) EnqueueUnmapMemObject(
	buffer *MemObject, mappedObj *MappedMemObject, eventWaitList []*Event,
) (*Event, error) {
	if mappedObj == nil {
		return nil, ErrInvalidValue
	}
	return q.enqueue(eventWaitList, []*MemObject{buffer}, func(c *command) int32 {
		return c.EnqueueUnmapMemObject(c.q, buffer.id(), mappedObj.ptr, c.n, c.wait, c.ev)
	})
}

// EnqueueNDRangeKernel launches a kernel over globalWorkSize work-items, of 1 to 3 dimensions.
// globalWorkOffset is nil for 0; localWorkSize, the size of a work-group, is nil to let OpenCL
// choose. Their lengths are that of globalWorkSize.
func (q *CommandQueue) EnqueueNDRangeKernel(kernel *Kernel, globalWorkOffset, globalWorkSize, localWorkSize []int,
	eventWaitList []*Event,
) (*Event, error) {
	dims := len(globalWorkSize)
	offset, err1 := workSizes(globalWorkOffset, dims, ErrInvalidGlobalOffset)
	global, err2 := workSizes(globalWorkSize, dims, ErrInvalidGlobalWorkSize)
	local, err3 := workSizes(localWorkSize, dims, ErrInvalidWorkGroupSize)
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return nil, err
		}
	}
	return q.launch(kernel, eventWaitList, func(c *command, id capi.Kernel) int32 {
		return c.EnqueueNDRangeKernel(c.q, id, uint32(dims), offset, global, local, c.n, c.wait, c.ev)
	})
}

// workSizes is C's array of a list of dims sizes, nil for an empty one.
func workSizes(list []int, dims int, invalid error) (*[3]uintptr, error) {
	if dims < 1 || dims > 3 {
		return nil, ErrInvalidWorkDimension
	}
	if len(list) == 0 {
		return nil, nil
	}
	if len(list) != dims {
		return nil, invalid
	}
	var c [3]uintptr
	for i, n := range list {
		if n < 0 {
			return nil, invalid
		}
		c[i] = uintptr(n)
	}
	return &c, nil
}

// launch is enqueue for a command that runs a kernel.
func (q *CommandQueue) launch(
	kernel *Kernel, wait []*Event, call func(c *command, id capi.Kernel) int32,
) (*Event, error) {
	if err := kernel.acquireArgs(); err != nil {
		return nil, err
	}
	defer kernel.dropArgs(len(kernel.mems))
	return q.enqueue(wait, nil, func(c *command) int32 { return call(c, capi.Kernel(kernel.h.id)) })
}

// EnqueueTask runs a kernel with a single work-item.
func (q *CommandQueue) EnqueueTask(kernel *Kernel, eventWaitList []*Event) (*Event, error) {
	return q.launch(kernel, eventWaitList, func(c *command, id capi.Kernel) int32 {
		return c.EnqueueTask(c.q, id, c.n, c.wait, c.ev)
	})
}

// LaunchNDRange launches k over global work-items in 1 to 3 dimensions, in work-groups of local, or
// of OpenCL's choice where local is all 0. Sizes beyond dims are ignored. It makes no event and
// allocates nothing.
func (q *CommandQueue) LaunchNDRange(k *Kernel, dims int, global, local [3]int) error {
	if dims < 1 || dims > 3 {
		return ErrInvalidWorkDimension
	}
	if !q.handle().acquire() {
		return ErrInvalidCommandQueue
	}
	defer q.h.drop()
	if err := k.acquireArgs(); err != nil {
		return err
	}
	defer k.dropArgs(len(k.mems))
	s := &k.scratch
	for d := range dims {
		if global[d] < 0 {
			return ErrInvalidGlobalWorkSize
		}
		if local[d] < 0 {
			return ErrInvalidWorkGroupSize
		}
		s.global[d], s.local[d] = uintptr(global[d]), uintptr(local[d])
	}
	group := &s.local
	if local == [3]int{} {
		group = nil
	}
	return toError(api().EnqueueNDRangeKernel(capi.Queue(q.h.id), capi.Kernel(k.h.id), uint32(dims), nil, &s.global,
		group, 0, nil, nil))
}

// EnqueueMarkerWithWaitList gives an event that is done when the events of the list are, or,
// without a list, when all earlier commands of the queue are.
func (q *CommandQueue) EnqueueMarkerWithWaitList(eventWaitList []*Event) (*Event, error) {
	if api() != nil && api().EnqueueMarkerWithWaitList == nil {
		return nil, ErrUnsupported
	}
	return q.enqueue(eventWaitList, nil, func(c *command) int32 {
		return c.EnqueueMarkerWithWaitList(c.q, c.n, c.wait, c.ev)
	})
}

// EnqueueBarrierWithWaitList is a marker for which all later commands of the queue wait.
func (q *CommandQueue) EnqueueBarrierWithWaitList(eventWaitList []*Event) (*Event, error) {
	if api() != nil && api().EnqueueBarrierWithWaitList == nil {
		return nil, ErrUnsupported
	}
	return q.enqueue(eventWaitList, nil, func(c *command) int32 {
		return c.EnqueueBarrierWithWaitList(c.q, c.n, c.wait, c.ev)
	})
}

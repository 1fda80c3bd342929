package cl

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// A MemObject is a buffer or an image on the devices of a context.
type MemObject struct {
	h      *handle
	size   int
	kind   MemObjectType // 0 for a buffer
	pin    *pin          // the host memory that the object lies in, nil where it lies in its own
	queues *queueSet
}

// newMemObject takes over a reference to id and a use of p, which may be nil.
func newMemObject(id capi.Mem, size int, p *pin, queues *queueSet) *MemObject {
	m := &MemObject{size: size, pin: p, queues: queues}
	if p != nil {
		queues.pin(1)
	}
	m.h = own(m, uintptr(id), func() {
		api().ReleaseMemObject(id)
		if p != nil {
			queues.unpin(p)
		}
	})
	return m
}

// Release gives the object back; its memory is freed once the commands that use it are done. It is
// idempotent.
func (b *MemObject) Release() { b.handle().release() }

func (b *MemObject) handle() *handle {
	if b == nil {
		return nil
	}
	return b.h
}

// id is for calls that hold the object.
func (b *MemObject) id() capi.Mem { return capi.Mem(b.h.id) }

// Size is the size in bytes that the buffer was made with; of an image, the length of the data that
// it was made from.
func (b *MemObject) Size() int {
	if b == nil {
		return 0
	}
	return b.size
}

// CreateBufferUnsafe makes a buffer of size bytes. dataPtr is nil, or host memory of that size for
// MemCopyHostPtr or MemUseHostPtr.
//
// With MemUseHostPtr the device works in the host memory itself. Go memory is pinned until the
// buffer and its sub-buffers are released and the commands of the context's queues are done. In
// that time the program may touch the memory only through mapping, or when no command uses the
// buffer. Memory that is not Go's must stay valid as long: that is up to the caller.
func (ctx *Context) CreateBufferUnsafe(flags MemFlag, size int, dataPtr unsafe.Pointer) (*MemObject, error) {
	if size <= 0 {
		return nil, ErrInvalidBufferSize
	}
	return ctx.createMem(flags, size, dataPtr, nil, func(c capi.Context, status *int32) capi.Mem {
		return api().CreateBuffer(c, uint64(flags), uintptr(size), dataPtr, status)
	})
}

// createMem makes a memory object. With MemUseHostPtr C goes on using host; an object made from
// parent lies in parent's memory.
func (ctx *Context) createMem(flags MemFlag, size int, host unsafe.Pointer, parent *MemObject,
	create func(capi.Context, *int32) capi.Mem,
) (*MemObject, error) {
	var m *MemObject
	err := ctx.use(func(c capi.Context) error {
		var p *pin
		switch {
		case parent != nil:
			p = parent.pin.share()
		case flags&MemUseHostPtr != 0 && host != nil:
			p = newPin(host)
		}
		var status int32
		id := create(c, &status)
		if err := created(uintptr(id), status); err != nil {
			if p != nil {
				p.drop()
			}
			return err
		}
		m = newMemObject(id, size, p, ctx.queues)
		return nil
	})
	return m, err
}

// CreateEmptyBuffer makes a buffer of size bytes. Its contents are undefined.
func (ctx *Context) CreateEmptyBuffer(flags MemFlag, size int) (*MemObject, error) {
	return ctx.CreateBufferUnsafe(flags, size, nil)
}

// CreateBuffer makes a buffer of data, as CreateBufferUnsafe does.
func (ctx *Context) CreateBuffer(flags MemFlag, data []byte) (*MemObject, error) {
	return ctx.CreateBufferUnsafe(flags, len(data), unsafe.Pointer(unsafe.SliceData(data)))
}

// CreateBufferFloat32 makes a buffer of data, as CreateBufferUnsafe does.
func (ctx *Context) CreateBufferFloat32(flags MemFlag, data []float32) (*MemObject, error) {
	return ctx.CreateBufferUnsafe(flags, len(data)*4, unsafe.Pointer(unsafe.SliceData(data)))
}

// CreateSubBuffer makes a buffer that is bytes origin to origin+size of this one. origin is a
// multiple of each device's MemBaseAddrAlign()/8 bytes, else the error is
// ErrMisalignedSubBufferOffset. The memory lives until both are released.
func (b *MemObject) CreateSubBuffer(flags MemFlag, origin, size int) (*MemObject, error) {
	if api() != nil && api().CreateSubBuffer == nil {
		return nil, ErrUnsupported
	}
	h := b.handle()
	if !h.acquire() {
		return nil, ErrInvalidMemObject
	}
	defer h.drop()
	if origin < 0 || size < 0 {
		return nil, ErrInvalidValue
	}
	var status int32
	const region = 0x1220 // CL_BUFFER_CREATE_TYPE_REGION
	id := api().CreateSubBuffer(b.id(), uint64(flags), region,
		&capi.BufferRegion{Origin: uintptr(origin), Size: uintptr(size)}, &status)
	if err := created(uintptr(id), status); err != nil {
		return nil, err
	}
	return newMemObject(id, size, b.pin.share(), b.queues), nil
}

// A MappedMemObject is memory of a memory object that the host can reach until it is unmapped.
type MappedMemObject struct {
	ptr        unsafe.Pointer
	size       int
	rowPitch   int
	slicePitch int
}

// ByteSlice is the mapped memory itself, not a copy. It must not be used after unmapping.
func (mb *MappedMemObject) ByteSlice() []byte { return unsafe.Slice((*byte)(mb.ptr), mb.size) }

// Ptr is the address of the mapped memory.
func (mb *MappedMemObject) Ptr() unsafe.Pointer { return mb.ptr }

// Size is the size of the mapped memory in bytes, of an image including the gaps between its rows
// and slices.
func (mb *MappedMemObject) Size() int { return mb.size }

// RowPitch is the distance of an image's rows in bytes, 0 for a buffer.
func (mb *MappedMemObject) RowPitch() int { return mb.rowPitch }

// SlicePitch is the distance of an image's slices in bytes, 0 for a buffer and a 2D image.
func (mb *MappedMemObject) SlicePitch() int { return mb.slicePitch }

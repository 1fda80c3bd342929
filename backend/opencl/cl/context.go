package cl

import (
	"runtime"
	"slices"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// A Context joins devices of one platform with the objects that they share.
type Context struct {
	h       *handle
	devices []*Device
	queues  *queueSet
}

// CreateContext makes a context for devices of one platform.
func CreateContext(devices []*Device) (*Context, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	ids, err := deviceIDs(devices)
	if err != nil {
		return nil, err
	}
	defer dl.KeepSignals()() // Intel's takes them here
	var status int32
	id := api().CreateContext(nil, uint32(len(ids)), unsafe.SliceData(ids), 0, 0, &status)
	if err := created(uintptr(id), status); err != nil {
		return nil, err
	}
	c := &Context{devices: slices.Clone(devices), queues: &queueSet{queues: map[*handle]chan struct{}{}}}
	c.h = own(c, uintptr(id), func() { api().ReleaseContext(id) })
	return c, nil
}

// created is the error of a function that makes an object.
func created(id uintptr, status int32) error {
	if err := toError(status); err != nil {
		return err
	}
	if id == 0 {
		return ErrUnknown
	}
	return nil
}

// Release gives the context back. What was made in it lives on until it is released itself. It is
// idempotent.
func (ctx *Context) Release() { ctx.handle().release() }

func (ctx *Context) handle() *handle {
	if ctx == nil {
		return nil
	}
	return ctx.h
}

// use runs call with the context's handle.
func (ctx *Context) use(call func(id capi.Context) error) error {
	return use(ctx.handle(), ErrInvalidContext, call)
}

// CreateCommandQueue makes a queue for one of the context's devices.
func (ctx *Context) CreateCommandQueue(device *Device, properties CommandQueueProperty) (*CommandQueue, error) {
	q := &CommandQueue{transfers: new(transferList)}
	err := ctx.use(func(c capi.Context) error {
		var status int32
		id := api().CreateCommandQueue(c, device.nullableID(), uint64(properties), &status)
		if err := created(uintptr(id), status); err != nil {
			return err
		}
		queues, h := ctx.queues, new(handle)
		*h = handle{id: uintptr(id), free: func() { queues.releaseQueue(h) }}
		queues.add(h)
		q.h = h
		runtime.AddCleanup(q, (*handle).release, h)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return q, nil
}

// CreateUserEvent makes an event that the program completes itself, with Event.SetUserEventStatus.
func (ctx *Context) CreateUserEvent() (*Event, error) {
	if api() != nil && api().CreateUserEvent == nil {
		return nil, ErrUnsupported
	}
	var ev *Event
	err := ctx.use(func(c capi.Context) error {
		var status int32
		id := api().CreateUserEvent(c, &status)
		if err := created(uintptr(id), status); err != nil {
			return err
		}
		ev = newEvent(id)
		return nil
	})
	return ev, err
}

// CreateProgramWithSource makes a program of OpenCL C. The sources are taken as one text, in their
// order, up to a zero byte.
func (ctx *Context) CreateProgramWithSource(sources []string) (*Program, error) {
	texts := make([]*byte, len(sources))
	for i, s := range sources {
		texts[i] = cString(s)
	}
	return ctx.createProgram(ctx.allDevices(), func(c capi.Context, status *int32) capi.Program {
		var p runtime.Pinner
		defer p.Unpin()
		return api().CreateProgramWithSource(c, uint32(len(texts)), pinned(&p, texts), nil, status)
	})
}

// CreateProgramWithBinary makes a program of what Program.Binaries gave for these devices:
// binaries[i] is for devices[i]. It must still be built. A binary that a device does not take is
// ErrInvalidBinary.
func (ctx *Context) CreateProgramWithBinary(devices []*Device, binaries [][]byte) (*Program, error) {
	ids, err := deviceIDs(devices)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 || len(ids) != len(binaries) {
		return nil, ErrInvalidValue
	}
	lengths, code, statuses := make([]uintptr, len(ids)), make([]*byte, len(ids)), make([]int32, len(ids))
	for i, b := range binaries {
		if len(b) == 0 {
			return nil, ErrInvalidBinary
		}
		lengths[i], code[i] = uintptr(len(b)), &b[0]
	}
	return ctx.createProgram(slices.Clone(devices), func(c capi.Context, status *int32) capi.Program {
		var p runtime.Pinner
		defer p.Unpin()
		return api().CreateProgramWithBinary(c, uint32(len(ids)), &ids[0], &lengths[0], pinned(&p, code), &statuses[0],
			status)
	})
}

func (ctx *Context) allDevices() []*Device {
	if ctx == nil {
		return nil
	}
	return ctx.devices
}

func (ctx *Context) createProgram(devices []*Device, create func(capi.Context, *int32) capi.Program) (*Program, error) {
	p := &Program{devices: devices}
	err := ctx.use(func(c capi.Context) error {
		var status int32
		id := create(c, &status)
		if err := created(uintptr(id), status); err != nil {
			return err
		}
		p.h = own(p, uintptr(id), func() { api().ReleaseProgram(id) })
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

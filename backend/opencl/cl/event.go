package cl

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// An Event stands for a command in a queue, or for something that the program signals itself.
type Event struct {
	h *handle
}

func newEvent(id capi.Event) *Event {
	e := new(Event)
	e.h = own(e, uintptr(id), func() { api().ReleaseEvent(id) })
	return e
}

// Release gives the event back. The command goes on. It is idempotent.
func (e *Event) Release() { e.handle().release() }

func (e *Event) handle() *handle {
	if e == nil {
		return nil
	}
	return e.h
}

func (e *Event) use(call func(id capi.Event) error) error {
	return use(e.handle(), ErrInvalidEvent, call)
}

// GetEventProfilingInfo is the device's time of a moment of the command in nanoseconds. It needs a
// queue with CommandQueueProfilingEnable and a command that is done; otherwise the error is
// ErrProfilingInfoNotAvailable.
func (e *Event) GetEventProfilingInfo(paramName ProfilingInfo) (int64, error) {
	var ns uint64
	err := e.use(func(id capi.Event) (err error) {
		ns, err = infoValue[uint64](func(size uintptr, value unsafe.Pointer, sizeRet *uintptr) int32 {
			return api().GetEventProfilingInfo(id, uint32(paramName), size, value, sizeRet)
		})
		return err
	})
	return int64(ns), err
}

// Status is how far the command has come. Where the command failed, the status is negative and the
// error is its cause.
func (e *Event) Status() (CommandExecStatus, error) {
	var status int32
	err := e.use(func(id capi.Event) (err error) {
		status, err = infoValue[int32](func(size uintptr, value unsafe.Pointer, sizeRet *uintptr) int32 {
			return api().GetEventInfo(id, 0x11D3, size, value, sizeRet) // CL_EVENT_COMMAND_EXECUTION_STATUS
		})
		return err
	})
	if err == nil && status < 0 {
		err = toError(status)
	}
	return CommandExecStatus(status), err
}

// SetUserEventStatus completes a user event: status is CommmandExecStatusComplete, or a negative
// code that makes the commands that wait for the event fail. It can be set once.
func (e *Event) SetUserEventStatus(status int) error {
	if api() != nil && api().SetUserEventStatus == nil {
		return ErrUnsupported
	}
	if status != int(int32(status)) {
		return ErrInvalidValue
	}
	return e.use(func(id capi.Event) error {
		return toError(api().SetUserEventStatus(id, int32(status)))
	})
}

// WaitForEvents blocks until the commands of all events are done. If one of them failed, the error
// is ErrExecStatusErrorForEventsInWaitList.
func WaitForEvents(events []*Event) error {
	if len(events) == 0 {
		return ErrInvalidValue
	}
	var held hold
	defer func() { held.drop() }()
	list, err := held.events(events)
	if err != nil {
		return err
	}
	return toError(api().WaitForEvents(uint32(len(list)), &list[0]))
}

// events holds the events and makes C's list of them.
func (l *hold) events(events []*Event) ([]capi.Event, error) {
	if len(events) == 0 {
		return nil, nil
	}
	list := make([]capi.Event, len(events))
	for i, e := range events {
		if !l.add(e.handle()) {
			return nil, ErrInvalidEventWaitList
		}
		list[i] = capi.Event(e.h.id)
	}
	return list, nil
}

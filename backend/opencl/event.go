package opencl

import (
	"runtime"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
)

// An event is a marker in a queue, in the hands of the caller.
type event struct {
	*eventState
	dev *device
}

type eventState struct {
	driverkit.Object
	dev *deviceState
	ev  *cl.Event
}

// Wait blocks until the queue has reached the event.
func (e *event) Wait() error {
	const op = "Event.Wait"
	if err := e.enter(op); err != nil {
		return err
	}
	defer e.Drop()
	return e.wait()
}

// Since is the device's time in nanoseconds from the end of the commands before earlier to the end
// of those before e.
func (e *event) Since(earlier backend.Event) (int64, error) {
	const op = "Event.Since"
	from, ok := earlier.(*event)
	if !ok || from == nil || from.eventState.dev != e.eventState.dev {
		return 0, failure(op, backend.ErrArgument, "the earlier event (%T) is of another device", earlier)
	}
	var ends [2]int64
	for i, ev := range [2]*event{from, e} {
		if err := ev.enter(op); err != nil {
			return 0, err
		}
		end, err := ev.end()
		ev.Drop()
		if err != nil {
			return 0, err
		}
		ends[i] = end
	}
	return ends[1] - ends[0], nil
}

// Release gives the event back. It is idempotent.
func (e *event) Release() error {
	e.Close()
	runtime.KeepAlive(e)
	return nil
}

// enter begins a call on the event. Without an error, Drop ends it.
func (e *event) enter(op string) error {
	err := e.Enter(op)
	runtime.KeepAlive(e)
	return err
}

func (e *eventState) wait() error {
	return e.dev.wait("clWaitForEvents", e.ev)
}

// end is the device's time of the event.
func (e *eventState) end() (int64, error) {
	if err := e.wait(); err != nil {
		return 0, err
	}
	t, err := e.ev.GetEventProfilingInfo(cl.ProfilingInfoCommandEnd)
	return t, e.dev.check("clGetEventProfilingInfo", err)
}

package opencl

import (
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
)

type event struct {
	dev *device
	ev  *cl.Event
}

func (e *event) Wait() error { return e.dev.wait("clWaitForEvents", e.ev) }

func (e *event) Since(earlier backend.DriverEvent) (int64, error) {
	from, err := earlier.(*event).end()
	if err != nil {
		return 0, err
	}
	to, err := e.end()
	return to - from, err
}

// end is the device's time of the event.
func (e *event) end() (int64, error) {
	if err := e.Wait(); err != nil {
		return 0, err
	}
	t, err := e.ev.GetEventProfilingInfo(cl.ProfilingInfoCommandEnd)
	return t, e.dev.check("clGetEventProfilingInfo", err)
}

func (e *event) Release() { e.ev.Release() }

package cuda

import (
	"math"
	"runtime"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// An event is a marker in a queue, in the hands of the caller.
type event struct {
	*eventState
	dev *device
}

type eventState struct {
	driverkit.Object
	dev *deviceState
	ev  capi.Event
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
// of those before e. CUDA counts in steps of about half a microsecond, and gives 24 bits of
// precision.
func (e *event) Since(earlier backend.Event) (int64, error) {
	const op = "Event.Since"
	s := e.eventState.dev
	from, ok := earlier.(*event)
	if !ok || from == nil || from.eventState.dev != s {
		return 0, s.Failure(op, backend.ErrArgument, "the earlier event (%T) is of another device", earlier)
	}
	for _, ev := range [2]*event{from, e} {
		if err := ev.enter(op); err != nil {
			return 0, err
		}
		defer ev.Drop()
		if err := ev.wait(); err != nil {
			return 0, err
		}
	}
	var ms float32
	err := s.call("cuEventElapsedTime", func(c *capi.Table) int32 { return c.EventElapsedTime(&ms, from.ev, e.ev) })
	return int64(math.Round(float64(ms) * 1e6)), err
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

// destroy releases it. CUDA keeps the event until it is reached.
func (e *eventState) destroy() {
	e.dev.dispose(func(c *capi.Table) int32 { return c.EventDestroy(e.ev) })
}

func (e *eventState) wait() error {
	return e.dev.call("cuEventSynchronize", func(c *capi.Table) int32 { return c.EventSynchronize(e.ev) })
}

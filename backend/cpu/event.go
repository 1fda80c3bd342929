package cpu

import (
	"sync/atomic"
	"time"

	"github.com/tandem-gpu/tandem/backend"
)

// event is a time: commands are done when they have been issued.
type event struct {
	dev      *device
	at       time.Time // with the monotonic clock's reading
	released atomic.Bool
}

// event checks e, an event of a caller.
func (d *device) event(op string, e backend.Event) (*event, error) {
	own, ok := e.(*event)
	switch {
	case !ok || own == nil || own.dev != d:
		return nil, fail(op, backend.ErrArgument, "not an event of this device")
	case own.released.Load():
		return nil, fail(op, backend.ErrClosed, "the event was released")
	}
	return own, d.live(op)
}

func (e *event) Wait() error {
	_, err := e.dev.event("Event.Wait", e)
	return err
}

func (e *event) Since(earlier backend.Event) (int64, error) {
	const op = "Event.Since"
	if _, err := e.dev.event(op, e); err != nil {
		return 0, err
	}
	from, err := e.dev.event(op, earlier)
	if err != nil {
		return 0, err
	}
	return e.at.Sub(from.at).Nanoseconds(), nil
}

func (e *event) Release() error {
	e.released.Store(true)
	return nil
}

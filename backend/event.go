package backend

import (
	"runtime"
)

// An Event marks a point in a queue.
type Event struct {
	*event
	held *Device
}

type event struct {
	object
	driver DriverEvent
}

// Record marks the present end of the queue.
func (q *Queue) Record() (*Event, error) {
	const op = "Queue.Record"
	if err := q.enter(op, q); err != nil {
		return nil, err
	}
	defer q.drop()
	made, err := q.driver.Record()
	if err != nil {
		return nil, q.dev.failed(err)
	}
	s := &event{driver: made}
	if err := q.dev.adopt(op, "event", &s.object, made); err != nil {
		return nil, err
	}
	e := &Event{s, q.held}
	if s.free != nil {
		whenForgotten(e, &s.object, s.close)
	}
	return e, nil
}

// Wait blocks until the queue has reached the event. What earlier ReadAsync commands of that queue
// copied is there then.
func (e *Event) Wait() error {
	if err := e.enter("Event.Wait", e); err != nil {
		return err
	}
	defer e.drop()
	return e.dev.failed(e.driver.Wait())
}

// Since is the device's own time in nanoseconds from earlier to this event, both of the same
// device. It waits for both.
func (e *Event) Since(earlier *Event) (int64, error) {
	const op = "Event.Since"
	if err := e.enter(op, e); err != nil {
		return 0, err
	}
	defer e.drop()
	if err := e.dev.ownEvent(op, earlier); err != nil {
		return 0, err
	}
	defer earlier.drop()
	ns, err := e.driver.Since(earlier.driver)
	return ns, e.dev.failed(err)
}

// ownEvent checks that e is an event of the device, and enters it.
func (d *device) ownEvent(op string, e *Event) error {
	if e == nil || e.dev != d {
		return d.failure(op, ErrArgument, "the event is nil, or of another device")
	}
	return e.enter(op, e)
}

// Release gives the event back. It is idempotent.
func (e *Event) Release() error {
	e.close()
	runtime.KeepAlive(e)
	return nil
}

package driverkit

import (
	"errors"
	"sync"
)

// A Queue is an Object that has commands in flight: it waits for them before it is released.
// [Device.AdoptQueue] makes one, out of the zero Queue.
type Queue struct {
	Object
	finish   func() error
	released chan struct{} // closed when err is set and the queue is released
	err      error         // of the last commands

	using sync.RWMutex // locked while the library's queue is released, so that Finish can wait for it at any time
	gone  bool
}

// AdoptQueue is Adopt for a queue. finish waits for all that is queued, free releases the library's
// queue.
func (d *Device) AdoptQueue(op string, q *Queue, finish func() error, free func()) error {
	q.dev, q.finish, q.released = d, finish, make(chan struct{})
	return d.adopt(op, "queue", &q.Object, q, func() { // no call is in progress that could queue more
		q.err = q.Finish()
		q.using.Lock()
		free()
		q.gone = true
		q.using.Unlock()
		close(q.released)
	})
}

// Wait is that of backend.Queue.
func (q *Queue) Wait() error {
	if err := q.Enter("Queue.Wait"); err != nil {
		return err
	}
	defer q.Drop()
	if err := q.Finish(); err != nil {
		return err
	}
	return q.afterWait()
}

// Close is that of backend.Queue.
func (q *Queue) Close() error {
	if q.dev.abandoned.Load() || !q.Acquire() {
		return nil
	}
	q.Object.Close()
	q.Drop()
	<-q.released // calls of other goroutines end first
	return errors.Join(q.err, q.afterWait())
}

// Finish waits for all that is queued. Unlike other calls it may be made of a queue that is closed.
func (q *Queue) Finish() error {
	if q.dev.abandoned.Load() {
		return q.dev.Lost("Queue.Wait")
	}
	q.using.RLock()
	defer q.using.RUnlock()
	if q.gone {
		return nil
	}
	return q.finish()
}

func (q *Queue) afterWait() error {
	if q.dev.AfterWait == nil {
		return nil
	}
	return q.dev.AfterWait()
}

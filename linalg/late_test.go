package linalg_test

import (
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// A lateDevice is the cpu device, but that its queues do nothing before somebody waits for it, or
// with writes nothing but that: so a command that comes too soon, as nothing makes it wait for
// another queue, always shows.
type lateDevice struct {
	backend.DriverDevice
	inner  *backend.Device
	writes bool
}

func openLate(t *testing.T, writes bool) *linalg.Session {
	t.Helper()
	d, err := backend.Open("cpu")
	noError(t, err)
	s, err := linalg.NewSession(backend.NewDevice(&lateDevice{d.Driver(), d, writes}))
	noError(t, err)
	t.Cleanup(func() { noError(t, s.Close()) })
	return s
}

func (d *lateDevice) Release() { d.inner.Close() }

func (d *lateDevice) NewQueue() (backend.DriverQueue, error) {
	q, err := d.DriverDevice.NewQueue()
	return &lateQueue{DriverQueue: q, writes: d.writes}, err
}

type lateQueue struct {
	backend.DriverQueue
	writes   bool
	commands []func() error
	done     int
}

// until does the first n commands.
func (q *lateQueue) until(n int) error {
	for q.done < n {
		q.done++
		if err := q.commands[q.done-1](); err != nil {
			return err
		}
	}
	return nil
}

func (q *lateQueue) later(command func() error) error {
	q.commands = append(q.commands, command)
	return nil
}

func (q *lateQueue) Write(dst *backend.Memory, off int64, src []byte) error {
	src = slices.Clone(src)
	q.later(func() error { return q.DriverQueue.Write(dst, off, src) })
	if q.writes {
		return q.Finish()
	}
	return nil
}

func (q *lateQueue) Copy(dst *backend.Memory, dstOff int64, src *backend.Memory, srcOff, n int64) error {
	return q.later(func() error { return q.DriverQueue.Copy(dst, dstOff, src, srcOff, n) })
}

func (q *lateQueue) Launch(k backend.DriverKernel, g backend.Grid, args []backend.Arg, mems []*backend.Memory) error {
	args, mems = slices.Clone(args), slices.Clone(mems)
	return q.later(func() error { return q.DriverQueue.Launch(k, g, args, mems) })
}

func (q *lateQueue) Read(dst []byte, src *backend.Memory, off int64) error {
	if err := q.Finish(); err != nil {
		return err
	}
	return q.DriverQueue.Read(dst, src, off)
}

func (q *lateQueue) Finish() error { return q.until(len(q.commands)) }

func (q *lateQueue) Record() (backend.DriverEvent, error) { return lateEvent{q, len(q.commands)}, nil }

func (q *lateQueue) WaitEvent(e backend.DriverEvent) error { return q.later(e.Wait) }

// A lateEvent is the end of the first n commands of a queue.
type lateEvent struct {
	q *lateQueue
	n int
}

func (e lateEvent) Wait() error { return e.q.until(e.n) }

func (e lateEvent) Since(backend.DriverEvent) (int64, error) { return 0, nil }

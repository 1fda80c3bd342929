package cpu

import (
	"slices"
	"sync"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
)

// queue runs each command at once, in the goroutine that issues it.
type queue struct {
	dev *device

	mu     sync.Mutex // held while a command runs
	closed bool
}

// begin locks the queue for a command. If it returns nil, the caller unlocks.
func (q *queue) begin(op string) error {
	if q.dev.abandoned.Load() { // a command may hold the lock for ever
		return q.dev.live(op)
	}
	q.mu.Lock()
	err := q.dev.live(op)
	if err == nil && q.closed {
		err = fail(op, backend.ErrClosed, "the queue is closed")
	}
	if err != nil {
		q.mu.Unlock()
	}
	return err
}

// window is the n bytes at off of a buffer, and the memory that they are in.
func (q *queue) window(op, what string, b backend.Buffer, off, n int64) ([]byte, *memory, error) {
	bytes, m, err := q.dev.open(op, what, b)
	if err != nil {
		return nil, nil, err
	}
	if err := driverkit.CheckRange(driverName, op, off, n, int64(len(bytes))); err != nil {
		return nil, nil, err
	}
	return bytes[off : off+n], m, nil
}

// Write copies well where src is the buffer's own memory: copy is defined for ranges that overlap.
func (q *queue) Write(dst backend.Buffer, off int64, src []byte) error {
	const op = "Queue.Write"
	if err := q.begin(op); err != nil {
		return err
	}
	defer q.mu.Unlock()
	d, _, err := q.window(op, "dst", dst, off, int64(len(src)))
	if err != nil {
		return err
	}
	copy(d, src)
	return nil
}

func (q *queue) Read(dst []byte, src backend.Buffer, off int64) error {
	const op = "Queue.Read"
	if err := q.begin(op); err != nil {
		return err
	}
	defer q.mu.Unlock()
	s, _, err := q.window(op, "src", src, off, int64(len(dst)))
	if err != nil {
		return err
	}
	copy(dst, s)
	return nil
}

func (q *queue) WriteAsync(dst backend.Buffer, off int64, src backend.HostBuffer, srcOff, n int64) error {
	return q.move("Queue.WriteAsync", dst, off, src, srcOff, n, false)
}

func (q *queue) ReadAsync(dst backend.HostBuffer, dstOff int64, src backend.Buffer, off, n int64) error {
	return q.move("Queue.ReadAsync", dst, dstOff, src, off, n, false)
}

func (q *queue) Copy(dst backend.Buffer, dstOff int64, src backend.Buffer, srcOff, n int64) error {
	return q.move("Queue.Copy", dst, dstOff, src, srcOff, n, true)
}

// move copies n bytes from buffer to buffer.
func (q *queue) move(op string, dst backend.Buffer, dstOff int64, src backend.Buffer, srcOff, n int64,
	disjoint bool,
) error {
	if err := q.begin(op); err != nil {
		return err
	}
	defer q.mu.Unlock()
	d, dm, err := q.window(op, "dst", dst, dstOff, n)
	if err != nil {
		return err
	}
	s, sm, err := q.window(op, "src", src, srcOff, n)
	if err != nil {
		return err
	}
	if disjoint && dm == sm {
		if err := driverkit.CheckOverlap(driverName, op, dstOff, srcOff, n); err != nil {
			return err
		}
	}
	copy(d, s)
	return nil
}

func (q *queue) Launch(k backend.Kernel, g backend.Grid, args ...backend.Arg) error {
	const op = "Queue.Launch"
	if err := q.begin(op); err != nil {
		return err
	}
	defer q.mu.Unlock()
	own, ok := k.(*kernel)
	if !ok || own == nil || own.dev != q.dev {
		return fail(op, backend.ErrLaunch, "the kernel is not one of this device; compile it here")
	}
	if own.released.Load() {
		return fail(op, backend.ErrClosed, "kernel %s was released", own.sig.Name)
	}
	if err := own.sig.Check(&q.dev.info, g, args); err != nil {
		return err
	}
	c := calls.Get().(*call)
	defer c.done()
	if err := c.resolve(q.dev, own, args); err != nil {
		return err
	}
	if g.Empty() {
		return nil
	}
	return own.launch(g, c.args)
}

// A call is the arguments of a running launch, with views instead of the caller's handles.
type call struct {
	args  []backend.Arg
	views []view
}

var calls = sync.Pool{New: func() any { return new(call) }}

// resolve finds the memory behind the arguments of k.
func (c *call) resolve(d *device, k *kernel, args []backend.Arg) error {
	const op = "Queue.Launch"
	c.args = append(c.args, args...)
	c.views = slices.Grow(c.views, len(args))[:len(args)] // does not move any more: args points into it
	for i := range c.args {
		if c.args[i].Buffer == nil {
			continue
		}
		b, ok := c.args[i].Buffer.(*buffer)
		if !ok || b.mem.dev != d {
			return fail(op, backend.ErrLaunch, "kernel %s: argument %d (%s) is not a buffer of this device",
				k.sig.Name, i, k.sig.Params[i])
		}
		bytes, ok := b.mem.get()
		if !ok {
			return fail(op, backend.ErrClosed, "kernel %s: argument %d (%s), a buffer of %d bytes, was freed",
				k.sig.Name, i, k.sig.Params[i], b.size)
		}
		c.views[i] = bytes
		c.args[i].Buffer = &c.views[i]
	}
	return nil
}

// done keeps the lists for another launch, and nothing that was in them.
func (c *call) done() {
	clear(c.args)
	clear(c.views)
	c.args, c.views = c.args[:0], c.views[:0]
	calls.Put(c)
}

// Record marks now: the commands before are done.
func (q *queue) Record() (backend.Event, error) {
	if err := q.begin("Queue.Record"); err != nil {
		return nil, err
	}
	defer q.mu.Unlock()
	return &event{dev: q.dev, at: time.Now()}, nil
}

// WaitEvent has only to check its argument: what an event marks is done when Record returns.
func (q *queue) WaitEvent(e backend.Event) error {
	const op = "Queue.WaitEvent"
	if err := q.begin(op); err != nil {
		return err
	}
	defer q.mu.Unlock()
	_, err := q.dev.event(op, e)
	return err
}

// Wait waits for commands that other goroutines have issued.
func (q *queue) Wait() error {
	if err := q.begin("Queue.Wait"); err != nil {
		return err
	}
	q.mu.Unlock()
	return nil
}

func (q *queue) Close() error {
	if q.dev.abandoned.Load() {
		return nil
	}
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.dev.mu.Lock()
	defer q.dev.mu.Unlock()
	delete(q.dev.queues, q)
	return nil
}

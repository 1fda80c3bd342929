package backend

import (
	"errors"
	"runtime"
	"sync"
)

// A Queue runs its commands in order, one after the other. A range outside a buffer, and a nil
// buffer or one of another device, is ErrArgument; in Launch it is ErrLaunch.
type Queue struct {
	*queue
	held *Device
}

// queue is an object that has commands in flight: it waits for them before it is released.
type queue struct {
	object
	driver   DriverQueue
	released chan struct{} // closed when err is set and the driver's queue is released
	err      error         // of the last commands

	using sync.RWMutex // locked while the driver's queue is released, so that finish can wait for it at any time
	gone  bool
}

// NewQueue makes an in-order queue.
func (d *Device) NewQueue() (*Queue, error) {
	const op = "Device.NewQueue"
	if err := d.enter(op, d); err != nil {
		return nil, err
	}
	defer d.drop()
	made, err := d.driver.NewQueue()
	if err != nil {
		return nil, d.failed(err)
	}
	s := &queue{driver: made, released: make(chan struct{})}
	if err := d.track(op, &s.object, "queue", s, s.release); err != nil {
		return nil, err
	}
	q := &Queue{s, d}
	whenForgotten(q, &s.object, func() { s.Close() })
	return q, nil
}

// release ends a queue to which no call is in progress that could queue more.
func (q *queue) release() {
	q.err = q.finish()
	q.using.Lock()
	q.driver.Release()
	q.gone = true
	q.using.Unlock()
	close(q.released)
}

// Wait blocks until everything queued is done, and returns what went wrong since the last Wait.
func (q *Queue) Wait() error {
	if err := q.enter("Queue.Wait", q); err != nil {
		return err
	}
	defer q.drop()
	if err := q.finish(); err != nil {
		return err
	}
	return q.dev.failed(q.dev.driver.Settle())
}

// Close waits, then releases the queue. It is idempotent.
func (q *Queue) Close() error {
	err := q.queue.Close()
	runtime.KeepAlive(q)
	return err
}

func (q *queue) Close() error {
	if q.dev.abandoned.Load() {
		return nil
	}
	if !q.acquire() {
		<-q.released
		return nil
	}
	q.close()
	q.drop()
	<-q.released // calls of other goroutines end first
	return errors.Join(q.err, q.dev.failed(q.dev.driver.Settle()))
}

// finish waits for all that is queued. Unlike other calls it may be made of a queue that is closed.
func (q *queue) finish() error {
	if q.dev.abandoned.Load() {
		return q.dev.live("Queue.Wait", q.what, true)
	}
	q.using.RLock()
	defer q.using.RUnlock()
	if q.gone {
		return nil
	}
	return q.dev.failed(q.driver.Finish())
}

// Write copies src to dst at byte off, after the queue's earlier commands, and blocks until src may
// be reused.
func (q *Queue) Write(dst *Buffer, off int64, src []byte) error {
	if ok, err := q.begin("Queue.Write", dst, off, int64(len(src))); !ok {
		return err
	}
	defer q.end(dst)
	return q.dev.failed(q.driver.Write(&dst.mem, off, src))
}

// Read copies from src at byte off into dst, after the queue's earlier commands, and blocks until
// dst is filled.
func (q *Queue) Read(dst []byte, src *Buffer, off int64) error {
	if ok, err := q.begin("Queue.Read", src, off, int64(len(dst))); !ok {
		return err
	}
	defer q.end(src)
	return q.dev.failed(q.driver.Read(dst, &src.mem, off))
}

// begin begins a copy of n bytes at off of b from or to the host. Where it is true, end ends it;
// else there is an error, or nothing to copy.
func (q *Queue) begin(op string, b *Buffer, off, n int64) (bool, error) {
	if err := q.enter(op, q); err != nil {
		return false, err
	}
	if err := q.target(op, b, off, n); err != nil {
		q.drop()
		return false, err
	}
	if n == 0 {
		q.end(b)
	}
	return n != 0, nil
}

func (q *Queue) end(b *Buffer) {
	b.drop()
	q.drop()
}

// target enters a buffer of which a copy reads or writes n bytes at off.
func (q *queue) target(op string, b *Buffer, off, n int64) error {
	err := q.dev.ownBuffer(op, b)
	if err != nil {
		return err
	}
	if b.staging {
		err = q.dev.stagingError(op)
	} else {
		err = q.dev.checkRange(op, off, n, b.mem.Size)
	}
	if err != nil {
		b.drop()
	}
	return err
}

// ownBuffer checks that b is a buffer of the device, and enters it.
func (d *device) ownBuffer(op string, b *Buffer) error {
	if b == nil || b.buffer == nil {
		return d.failure(op, ErrArgument, "the buffer is nil")
	}
	if b.dev != d {
		return d.failure(op, ErrArgument,
			"a buffer of another device (%s), or of this one opened another time", b.dev.info.Name)
	}
	return b.enter(op, b)
}

func (d *device) stagingError(op string) error {
	return d.failure(op, ErrUnsupported,
		"%s has memory of its own, and host memory is no buffer; copy it by WriteAsync or ReadAsync", d.info.Name)
}

// WriteAsync copies n bytes of src, a buffer of AllocHost or Register, to dst and may return before
// it is done.
func (q *Queue) WriteAsync(dst *Buffer, off int64, src *Buffer, srcOff, n int64) error {
	return q.async("Queue.WriteAsync", dst, off, src, srcOff, n, func() error {
		return q.driver.WriteAsync(&dst.mem, off, &src.mem, srcOff, n)
	})
}

// ReadAsync copies n bytes of src to dst, a buffer of AllocHost or Register, and may return before
// it is done.
func (q *Queue) ReadAsync(dst *Buffer, dstOff int64, src *Buffer, off, n int64) error {
	return q.async("Queue.ReadAsync", src, off, dst, dstOff, n, func() error {
		return q.driver.ReadAsync(&dst.mem, dstOff, &src.mem, off, n)
	})
}

// async calls move, which copies n bytes between b at off and h at hostOff, unless there is nothing
// to copy.
func (q *Queue) async(op string, b *Buffer, off int64, h *Buffer, hostOff, n int64, move func() error) error {
	ok, err := q.begin(op, b, off, n)
	if err != nil {
		return err
	}
	if ok {
		defer q.end(b)
	}
	if err := q.dev.ownBuffer(op, h); err != nil {
		return err
	}
	defer h.drop()
	if !h.host {
		return q.dev.failure(op, ErrArgument, "the buffer is not host memory; AllocHost and Register make such")
	}
	if err := q.dev.checkRange(op, hostOff, n, h.mem.Size); err != nil || !ok {
		return err
	}
	return q.dev.failed(move())
}

// Copy copies n bytes between two buffers of the device. Overlapping ranges of one buffer are
// ErrArgument.
func (q *Queue) Copy(dst *Buffer, dstOff int64, src *Buffer, srcOff, n int64) error {
	const op = "Queue.Copy"
	ok, err := q.begin(op, dst, dstOff, n)
	if err != nil {
		return err
	}
	if ok {
		defer q.end(dst)
	}
	if err := q.target(op, src, srcOff, n); err != nil {
		return err
	}
	defer src.drop()
	if !ok {
		return nil
	}
	if dst.buffer == src.buffer && dstOff < srcOff+n && srcOff < dstOff+n {
		return q.dev.failure(op, ErrArgument, "%d bytes at offsets %d and %d of one buffer overlap", n, srcOff, dstOff)
	}
	return q.dev.failed(q.driver.Copy(&dst.mem, dstOff, &src.mem, srcOff, n))
}

// WaitEvent makes later commands of this queue wait for e, an event of the same device. It does not
// block the caller.
func (q *Queue) WaitEvent(e *Event) error {
	const op = "Queue.WaitEvent"
	if err := q.enter(op, q); err != nil {
		return err
	}
	defer q.drop()
	if err := q.dev.ownEvent(op, e); err != nil {
		return err
	}
	defer e.drop()
	return q.dev.failed(q.driver.WaitEvent(e.driver))
}

// Launch runs k over g and may return before it has run. A grid with a zero component is a no-op,
// once the arguments are checked. Arguments that do not fit k.Params, a group beyond the device's
// limits and buffers of another device are ErrLaunch. args is the caller's again when Launch
// returns: no driver keeps it.
func (q *Queue) Launch(k *Kernel, g Grid, args ...Arg) error {
	const op = "Queue.Launch"
	if err := q.enter(op, q); err != nil {
		return err
	}
	defer q.drop()
	if k == nil || k.dev != q.dev {
		return q.dev.failure(op, ErrLaunch, "the kernel is nil, or not one of this device; compile it here")
	}
	if err := k.enter(op, k); err != nil {
		return err
	}
	defer k.drop()
	if err := k.sig.Check(q.dev.info, g, args); err != nil {
		return err
	}
	c := calls.Get().(*call)
	defer c.done()
	if err := c.enter(q.dev, k.sig, args); err != nil || g.Empty() {
		return err
	}
	return q.dev.failed(q.driver.Launch(k.driver, g, args, c.mems))
}

// A call is the buffers among the arguments of a launch.
type call struct {
	bufs []*Buffer // that were entered
	mems []*Memory // by argument
}

var calls = sync.Pool{New: func() any { return new(call) }}

// enter enters the buffers among args.
func (c *call) enter(d *device, sig *Signature, args []Arg) error {
	for i := range args {
		b := args[i].Buffer
		if b == nil {
			c.mems = append(c.mems, nil)
			continue
		}
		if err := d.ownBuffer("Queue.Launch", b); err != nil {
			return sig.argumentError(i, err)
		}
		c.bufs, c.mems = append(c.bufs, b), append(c.mems, &b.mem)
		if b.staging {
			return d.stagingError("Queue.Launch")
		}
	}
	return nil
}

// done ends what enter began, and keeps the lists for another launch.
func (c *call) done() {
	for _, b := range c.bufs {
		b.drop()
	}
	clear(c.bufs)
	clear(c.mems)
	c.bufs, c.mems = c.bufs[:0], c.mems[:0]
	calls.Put(c)
}

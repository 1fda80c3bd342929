package main

import (
	"errors"
	"maps"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
)

// counting is a whole driver: its devices are those of the cpu driver, and it counts the launches
// of every kernel.
//
// A driver for real hardware has the same outline: Devices and Open list and open what the
// hardware's library finds, Compile hands the kernel's text to its compiler, and the methods of
// Queue call its commands.
type counting struct {
	mu       sync.Mutex
	launches map[string]int // by the kernel's name
}

// inner is the driver that does the work. It is looked up when it is needed, as a library would be
// loaded.
func inner() backend.Driver { return backend.Lookup("cpu") }

// own makes an error of the inner driver one of ours.
func own(err error) error {
	if e := (*backend.Error)(nil); errors.As(err, &e) {
		renamed := *e
		renamed.Driver = "counting"
		return &renamed
	}
	return err
}

func ownInfo(i backend.Info) backend.Info {
	i.Driver, i.Note = "counting", "counts launches"
	return i
}

func (c *counting) Name() string { return "counting" }

func (c *counting) Devices() ([]backend.Info, error) {
	infos, err := inner().Devices()
	for i := range infos {
		infos[i] = ownInfo(infos[i])
	}
	return infos, own(err)
}

func (c *counting) Open(i int) (backend.Device, error) {
	d, err := inner().Open(i)
	if err != nil {
		return nil, own(err)
	}
	return &device{d, c}, nil
}

// Launches is how often every kernel was launched.
func (c *counting) Launches() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.launches)
}

func (c *counting) count(kernel string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.launches[kernel]++
}

// device is the inner device under the driver's own name. Buffers and kernels are the inner ones.
type device struct {
	backend.Device
	driver *counting
}

func (d *device) Info() backend.Info { return ownInfo(d.Device.Info()) }

func (d *device) Alloc(n int64) (backend.Buffer, error) {
	b, err := d.Device.Alloc(n)
	return b, own(err)
}

func (d *device) AllocHost(n int64) (backend.HostBuffer, error) {
	b, err := d.Device.AllocHost(n)
	return b, own(err)
}

func (d *device) Register(mem []byte) (backend.HostBuffer, error) {
	b, err := d.Device.Register(mem)
	return b, own(err)
}

func (d *device) Compile(s *backend.Source) (backend.Kernel, error) {
	k, err := d.Device.Compile(s)
	return k, own(err)
}

func (d *device) NewQueue() (backend.Queue, error) {
	q, err := d.Device.NewQueue()
	if err != nil {
		return nil, own(err)
	}
	return &queue{q, d.driver}, nil
}

func (d *device) Close() error { return own(d.Device.Close()) }

// queue is the inner queue, and counts.
type queue struct {
	backend.Queue
	driver *counting
}

func (q *queue) Launch(k backend.Kernel, g backend.Grid, args ...backend.Arg) error {
	if err := q.Queue.Launch(k, g, args...); err != nil {
		return own(err)
	}
	if !g.Empty() {
		q.driver.count(k.Name())
	}
	return nil
}

func (q *queue) Write(dst backend.Buffer, off int64, src []byte) error {
	return own(q.Queue.Write(dst, off, src))
}

func (q *queue) Read(dst []byte, src backend.Buffer, off int64) error {
	return own(q.Queue.Read(dst, src, off))
}

func (q *queue) WriteAsync(dst backend.Buffer, off int64, src backend.HostBuffer, srcOff, n int64) error {
	return own(q.Queue.WriteAsync(dst, off, src, srcOff, n))
}

func (q *queue) ReadAsync(dst backend.HostBuffer, dstOff int64, src backend.Buffer, off, n int64) error {
	return own(q.Queue.ReadAsync(dst, dstOff, src, off, n))
}

func (q *queue) Copy(dst backend.Buffer, dstOff int64, src backend.Buffer, srcOff, n int64) error {
	return own(q.Queue.Copy(dst, dstOff, src, srcOff, n))
}

func (q *queue) Record() (backend.Event, error) {
	e, err := q.Queue.Record()
	if err != nil {
		return nil, own(err)
	}
	return &event{e}, nil
}

func (q *queue) WaitEvent(e backend.Event) error { return own(q.Queue.WaitEvent(innerEvent(e))) }
func (q *queue) Wait() error                     { return own(q.Queue.Wait()) }
func (q *queue) Close() error                    { return own(q.Queue.Close()) }

// event is an inner event.
type event struct{ backend.Event }

// innerEvent is what e holds; nil, which the inner driver refuses, where e is not of this driver.
func innerEvent(e backend.Event) backend.Event {
	if e, ok := e.(*event); ok && e != nil {
		return e.Event
	}
	return nil
}

func (e *event) Wait() error { return own(e.Event.Wait()) }

func (e *event) Since(earlier backend.Event) (int64, error) {
	t, err := e.Event.Since(innerEvent(earlier))
	return t, own(err)
}

package main

import (
	"maps"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
)

// counting is a whole driver: its devices are those of the cpu driver, and it counts the launches
// of every kernel.
//
// A driver for real hardware has the same outline: Devices and Open list and open what the
// hardware's library finds, Compile hands the kernel's text to its compiler, and the methods of
// its queue call the library's commands.
type counting struct {
	mu       sync.Mutex
	launches map[string]int // by the kernel's name
}

// inner is the driver that does the work. It is looked up when it is needed, as a library would be
// loaded.
func inner() backend.Driver { return backend.Lookup("cpu") }

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
	return infos, err
}

func (c *counting) Open(i int) (*backend.Device, error) {
	d, err := inner().Open(i)
	if err != nil {
		return nil, backend.Failure(c.Name(), "Driver.Open", backend.ErrNoDevice, "%v", err)
	}
	return backend.NewDevice(&device{d.Driver(), d, ownInfo(d.Info()), c}), nil
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

// device is the inner device's own, under another name. Memory, kernels and events are the inner
// ones.
type device struct {
	backend.DriverDevice
	inner  *backend.Device
	info   backend.Info
	driver *counting
}

func (d *device) Info() *backend.Info { return &d.info }

func (d *device) NewQueue() (backend.DriverQueue, error) {
	q, err := d.DriverDevice.NewQueue()
	return &queue{q, d.driver}, err
}

func (d *device) Release() { d.inner.Close() }

// queue is the inner queue, and counts.
type queue struct {
	backend.DriverQueue
	driver *counting
}

func (q *queue) Launch(k backend.DriverKernel, g backend.Grid, args []backend.Arg, mems []*backend.Memory) error {
	if err := q.DriverQueue.Launch(k, g, args, mems); err != nil {
		return err
	}
	q.driver.count(k.Signature().Name)
	return nil
}

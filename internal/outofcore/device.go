package outofcore

import (
	"context"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
)

// A Device takes part in jobs. It keeps what is of use to the next one; closing the device itself
// releases that.
type Device struct {
	*backend.Device
	info     backend.Info
	budget   int64
	pipeline chan *pipeline // that no job uses; nil: none is made

	mu       sync.Mutex
	rates    map[any]float64 // of tiles, in steps of elements a second
	elements int64           // of results that the device computed
	failed   error           // why it failed last
}

// NewDevice makes a device for jobs, which use as much of its memory as [EnvMemory] allows.
func NewDevice(d *backend.Device) (*Device, error) {
	info := d.Info()
	budget, err := Limit(EnvMemory, info.Memory)
	if err != nil {
		return nil, err
	}
	x := &Device{
		Device: d, info: info, budget: budget, pipeline: make(chan *pipeline, 1), rates: map[any]float64{},
	}
	x.pipeline <- nil
	return x, nil
}

// Budget is how many bytes of the device's memory are used at a time.
func (d *Device) Budget() int64 { return d.budget }

// SharesMemory tells whether the device is a processor that works on the host's memory as the host
// does. Integrated GPUs share it as well, but operands of concurrent calls may overlap, which
// registered memory must not do there.
func (d *Device) SharesMemory() bool { return d.info.UnifiedMemory && !d.info.GPU }

// TakesCopies tells whether matrices, the largest of so many bytes, come to the device in copies:
// to one with memory of its own, and where a matrix is larger than a buffer.
func (d *Device) TakesCopies(largest int64) bool {
	return !d.SharesMemory() || largest > d.info.MaxAlloc
}

// Account notes what the device has done of a job.
func (d *Device) Account(elements int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.elements += int64(elements)
	d.failed = err
}

// Use is how many elements of results the device has computed, and why it failed in its last job,
// nil where it did not.
func (d *Device) Use() (elements int64, failed error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.elements, d.failed
}

// rate is what the device did of jobs with this key. Where that is known to be 0, it has computed
// its first tile alone, with all that is done once.
func (d *Device) rate(key any) (rate float64, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rate, known = d.rates[key]
	return rate, known
}

func (d *Device) keepRate(key any, rate float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rates[key] = rate
}

// takePipeline is the device's pipeline, which is to be sent back, or nil after an error.
func (d *Device) takePipeline(ctx context.Context) (p *pipeline, err error) {
	select {
	case p = <-d.pipeline:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if p != nil {
		return p, nil
	}
	if p, err = newPipeline(d.Device); err != nil {
		d.pipeline <- nil
	}
	return p, err
}

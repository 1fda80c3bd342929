package cuda

import (
	"math"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

type event struct {
	dev *device
	ev  capi.Event
}

func (e *event) Wait() error {
	return e.dev.call("cuEventSynchronize", func(c *capi.Table) int32 { return c.EventSynchronize(e.ev) })
}

// Since counts in CUDA's steps of about half a microsecond, with 24 bits of precision.
func (e *event) Since(earlier backend.DriverEvent) (int64, error) {
	from := earlier.(*event)
	for _, ev := range [2]*event{from, e} {
		if err := ev.Wait(); err != nil {
			return 0, err
		}
	}
	var ms float32
	err := e.dev.call("cuEventElapsedTime", func(c *capi.Table) int32 { return c.EventElapsedTime(&ms, from.ev, e.ev) })
	return int64(math.Round(float64(ms) * 1e6)), err
}

// Release does not wait: CUDA keeps the event until it is reached.
func (e *event) Release() {
	e.dev.dispose(func(c *capi.Table) int32 { return c.EventDestroy(e.ev) })
}

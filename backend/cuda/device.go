package cuda

import (
	"runtime"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// A device is what the caller holds. Its state is apart, so that the garbage collector can tell
// when the caller has forgotten the device: its buffers, kernels, queues and events hold the
// device, while the state holds theirs.
type device struct {
	*deviceState
}

type deviceState struct {
	driverkit.Device
	*entry
	ctx      capi.Context // the device's primary one, which all who open it share
	inner    capi.Stream  // fills new buffers
	disk     *diskcache.Cache
	programs driverkit.Programs[*program]
}

// diskFolder is the folder of the disk cache. The drivers share it: PTX is the same for both.
const diskFolder = "cuda"

func newDevice(e *entry) (*device, error) {
	s := &deviceState{entry: e, disk: diskcache.Open(diskFolder)}
	s.programs.Build, s.programs.Release = s.build, (*program).unload
	s.Init(e.claimed, func() {
		s.dispose(func(c *capi.Table) int32 { return c.StreamDestroy(s.inner) })
		s.api.Load().PrimaryCtxRelease(s.dev)
	})
	c := e.api.Load()
	if err := s.check("cuDevicePrimaryCtxRetain", c.PrimaryCtxRetain(&s.ctx, e.dev)); err != nil {
		return nil, err
	}
	err := s.call("cuStreamCreate",
		func(c *capi.Table) int32 { return c.StreamCreate(&s.inner, capi.StreamNonBlocking) })
	if err != nil {
		c.PrimaryCtxRelease(e.dev)
		return nil, err
	}
	d := &device{s}
	runtime.AddCleanup(d, func(s *deviceState) { go s.Close() }, s)
	return d, nil
}

// Info describes the device, with what the probe found.
func (d *device) Info() backend.Info { return d.deviceState.Info }

// enter begins a call on the device. Without an error, Drop ends it.
func (d *device) enter(op string) error {
	err := d.Enter(op)
	runtime.KeepAlive(d)
	return err
}

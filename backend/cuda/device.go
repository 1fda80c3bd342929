package cuda

import (
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

type device struct {
	*entry
	info     backend.Info
	ctx      capi.Context // the device's primary one, which all who open it share
	inner    capi.Stream  // fills new buffers
	disk     *diskcache.Cache
	pool     pool
	programs driverkit.Programs[*program]
	finish   func() error // waits for all queues
}

// diskFolder is the folder of the disk cache. The drivers share it: PTX is the same for both.
const diskFolder = "cuda"

func newDevice(e *entry) (*device, error) {
	d := &device{entry: e, info: e.claimed, disk: diskcache.Open(diskFolder)}
	d.programs.Build, d.programs.Release, d.programs.Fit = d.build, (*program).unload, (*program).fit
	c := e.api.Load()
	if err := d.check("cuDevicePrimaryCtxRetain", c.PrimaryCtxRetain(&d.ctx, e.dev)); err != nil {
		return nil, err
	}
	err := d.call("cuStreamCreate",
		func(c *capi.Table) int32 { return c.StreamCreate(&d.inner, capi.StreamNonBlocking) })
	if err != nil {
		c.PrimaryCtxRelease(e.dev)
		return nil, err
	}
	if err := d.openPool(); err != nil {
		d.Release()
		return nil, err
	}
	return d, nil
}

func (d *device) Info() *backend.Info { return &d.info }

func (d *device) Start(finish func() error) { d.finish = finish }

func (d *device) Settle() error { return nil }

func (d *device) Release() {
	d.dispose(func(c *capi.Table) int32 {
		d.pool.close(c)
		return c.StreamDestroy(d.inner)
	})
	d.api.Load().PrimaryCtxRelease(d.dev)
}

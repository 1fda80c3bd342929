package opencl

import (
	"slices"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
)

type device struct {
	*entry
	info     backend.Info
	ctx      *cl.Context
	inner    *cl.CommandQueue // fills new buffers, maps host memory
	disk     *diskcache.Cache
	programs driverkit.Programs[*program]
	scalar   bool         // kernels are compiled without vectorizing
	finish   func() error // waits for all queues

	// Host memory that must be mapped before the host touches it: see memory.go.
	mapped bool
	hostMu sync.Mutex
	lent   map[*memory]struct{}
}

func newDevice(e *entry) (*device, error) {
	d := &device{entry: e, info: e.claimed, disk: programCache(e.claimed.Platform), lent: map[*memory]struct{}{}}
	d.programs.Build, d.programs.Release, d.programs.Fit = d.build, (*program).release, (*program).fit
	var err error
	if d.ctx, err = cl.CreateContext([]*cl.Device{e.dev}); err != nil {
		return nil, callError("clCreateContext", err)
	}
	if d.inner, err = d.ctx.CreateCommandQueue(e.dev, 0); err != nil {
		d.ctx.Release()
		return nil, callError("clCreateCommandQueue", err)
	}
	return d, nil
}

func (d *device) Info() *backend.Info { return &d.info }

func (d *device) Start(finish func() error) { d.finish = finish }

func (d *device) Release() {
	d.inner.Release()
	d.ctx.Release()
}

// selfCaching are the platforms that keep compiled programs on disk by themselves. To hand out a
// program, PoCL compiles each of its kernels for groups of any size beside the one that is
// launched, which doubles the time to the first result.
var selfCaching = []string{pocl}

// programCache is where programs of a platform are kept.
func programCache(platform string) *diskcache.Cache {
	if slices.Contains(selfCaching, platform) {
		return new(diskcache.Cache)
	}
	return diskcache.Open(driverName)
}

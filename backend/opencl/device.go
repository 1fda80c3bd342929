package opencl

import (
	"runtime"
	"slices"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
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
	ctx      *cl.Context
	inner    *cl.CommandQueue // fills new buffers, maps host memory
	disk     *diskcache.Cache
	programs driverkit.Programs[*program]
	scalar   bool // kernels are compiled without vectorizing

	// Host memory that must be mapped before the host touches it: see memory.go.
	mapped bool
	hostMu sync.Mutex
	lent   map[*memory]struct{}
}

func newDevice(e *entry) (*device, error) {
	s := &deviceState{entry: e, disk: programCache(e.claimed.Platform), lent: map[*memory]struct{}{}}
	s.programs.Build, s.programs.Release = s.build, (*program).release
	var err error
	if s.ctx, err = cl.CreateContext([]*cl.Device{e.dev}); err != nil {
		return nil, callError("clCreateContext", err)
	}
	if s.inner, err = s.ctx.CreateCommandQueue(e.dev, 0); err != nil {
		s.ctx.Release()
		return nil, callError("clCreateCommandQueue", err)
	}
	s.Init(e.claimed, func() {
		s.inner.Release()
		s.ctx.Release()
	})
	s.AfterWait = s.reclaim
	d := &device{s}
	runtime.AddCleanup(d, func(s *deviceState) { go s.Close() }, s)
	return d, nil
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

// Info describes the device, with what the probe found.
func (d *device) Info() backend.Info { return d.deviceState.Info }

// enter begins a call on the device. Without an error, Drop ends it.
func (d *device) enter(op string) error {
	err := d.Enter(op)
	runtime.KeepAlive(d)
	return err
}

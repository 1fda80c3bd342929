package cuda

import (
	"cmp"
	"sync"

	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// A pool is the driver's own store of memory, which CUDA has from 11.2 on. Memory comes from it and
// goes back as the commands of streams do, while cuMemAlloc and cuMemFree may stop the whole
// device.
type pool struct {
	handle  capi.Pool   // 0 where the device has none
	freeing capi.Stream // gives memory back
	mu      sync.Mutex
	mark    capi.Event // recorded again and again
	streams map[capi.Stream]bool
}

// openPool finds the device's pool, and has it keep as much free memory as a session keeps for
// itself.
func (d *device) openPool() error {
	p := &d.pool
	p.streams = map[capi.Stream]bool{}
	var has int32
	if c := d.api.Load(); c.MemAllocAsync == nil || // or the driver does not know the question
		c.DeviceAttribute(&has, capi.AttributeMemoryPools, d.dev) != capi.Success || has == 0 {
		return nil
	}
	keep := uint64(d.info.Memory / 8)
	if d.call("cuDeviceGetDefaultMemPool", func(c *capi.Table) int32 {
		if code := c.DeviceGetDefaultMemPool(&p.handle, d.dev); code != capi.Success {
			return code
		}
		return c.MemPoolSetAttribute(p.handle, capi.PoolReleaseThreshold, &keep)
	}) != nil {
		p.handle = 0
		return nil
	}
	if err := d.call("cuStreamCreate",
		func(c *capi.Table) int32 { return c.StreamCreate(&p.freeing, capi.StreamNonBlocking) }); err != nil {
		return err
	}
	return d.call("cuEventCreate",
		func(c *capi.Table) int32 { return c.EventCreate(&p.mark, capi.EventDisableTiming) })
}

// close gives back what openPool made, and what the pool keeps.
func (p *pool) close(c *capi.Table) {
	p.flush(c)
	if p.mark != 0 {
		c.EventDestroy(p.mark)
	}
	if p.freeing != 0 {
		c.StreamDestroy(p.freeing)
	}
}

// flush waits for memory on its way back, and gives the device's other users what the pool keeps.
func (p *pool) flush(c *capi.Table) int32 {
	if p.freeing == 0 {
		return capi.Success
	}
	return cmp.Or(c.StreamSynchronize(p.freeing), c.MemPoolTrimTo(p.handle, 0))
}

// free gives memory back, once what is queued now on any stream is done. It does not wait.
func (p *pool) free(c *capi.Table, addr capi.Pointer) int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	for stream := range p.streams {
		if c.EventRecord(p.mark, stream) != capi.Success || c.StreamWaitEvent(p.freeing, p.mark, 0) != capi.Success {
			c.StreamSynchronize(stream)
		}
	}
	return c.MemFreeAsync(addr, p.freeing)
}

// add and remove say which streams free has to mind.
func (p *pool) add(s capi.Stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.streams[s] = true
}

func (p *pool) remove(s capi.Stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.streams, s)
}

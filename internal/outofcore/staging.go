package outofcore

import (
	"cmp"
	"errors"
	"math/bits"

	"github.com/tandem-gpu/tandem/backend"
)

// stagingBuffers is how many buffers of stagingBytes are on their way at once, each way. Tests make
// them small.
const stagingBuffers = 4

var stagingBytes = 8 << 20

// A stagingRing is page-locked memory that copies of one queue go through, buffer by buffer.
type stagingRing struct {
	buffers [stagingBuffers]stagingBuffer
	next    int
}

type stagingBuffer struct {
	host *backend.Buffer
	done *backend.Event // the end of the copy that uses it; nil: none does
}

// wait waits until no copy uses the buffer.
func (p *stagingBuffer) wait() error {
	if p.done == nil {
		return nil
	}
	e := p.done
	p.done = nil
	return errors.Join(e.Wait(), e.Release())
}

// take is the next buffer, free, with room for n bytes.
func (g *stagingRing) take(d *backend.Device, n int64) (p *stagingBuffer, err error) {
	p = &g.buffers[g.next]
	g.next = (g.next + 1) % len(g.buffers)
	if err := p.wait(); err != nil {
		return nil, err
	}
	if p.host != nil && p.host.Len() < n {
		err = p.host.Free()
		p.host = nil
	}
	if p.host == nil && err == nil {
		p.host, err = d.AllocHost(int64(1) << bits.Len64(uint64(n-1)))
	}
	return p, err
}

// idle waits until no copy uses the memory. The next call begins with its first buffer again.
func (g *stagingRing) idle() (err error) {
	g.next = 0
	for i := range g.buffers {
		err = cmp.Or(err, g.buffers[i].wait())
	}
	return err
}

func (g *stagingRing) free() {
	for i := range g.buffers {
		p := &g.buffers[i]
		if p.done != nil {
			p.done.Release()
		}
		if p.host != nil {
			p.host.Free()
		}
		*p = stagingBuffer{}
	}
}

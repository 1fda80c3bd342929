package cluster

import (
	"cmp"
	"context"
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// A product is a SUMMA in progress: m is to be a*b.
type product[T linalg.Element] struct {
	s       *linalg.Session
	m, a, b *Matrix[T]
	width   int // of a panel
	panels  [3]panel[T]
	c       mirrored[T]
}

// A panel is a block of columns of A, and the same of rows of B, as far as this rank needs them.
type panel[T linalg.Element] struct {
	memory   []byte // MPI's, for both
	a, b     mirrored[T]
	requests []*request
	used     *backend.Event // after the multiplication; nil before
}

// A mirrored matrix is one in host memory with an array on the device.
type mirrored[T linalg.Element] struct {
	host  linalg.Matrix[T]
	array *linalg.Array[T]
	same  bool // the array is the host's memory
}

// mirror makes an array for m: of its own memory, where the device is a processor that shares it.
func mirror[T linalg.Element](s *linalg.Session, m linalg.Matrix[T]) (h mirrored[T], err error) {
	info := s.Info()
	h = mirrored[T]{host: m, same: info.UnifiedMemory && !info.GPU}
	if h.same {
		h.array, err = linalg.Register(s, m)
	} else {
		h.array, err = linalg.NewArray[T](s, m.Rows, m.Cols)
	}
	return h, err
}

// toDevice brings what is in host memory to the device.
func (h *mirrored[T]) toDevice() error {
	if h.same {
		return nil
	}
	return h.array.CopyFrom(h.host)
}

// toHost waits for the device, and brings back what it has computed.
func (h *mirrored[T]) toHost(s *linalg.Session) error {
	if h.same {
		return s.Wait()
	}
	return h.array.CopyTo(h.host)
}

func (h *mirrored[T]) free() {
	if h.array != nil {
		h.array.Free()
	}
}

// lineBytes are those of a cache line, at which B's part of a panel begins.
const lineBytes = 64

// prepare makes room for the panels, in host memory and on the device.
func (p *product[T]) prepare() (err error) {
	if t, info := element.TypeOf[T](), p.s.Info(); !kernels.Supports(&info, t) {
		return fmt.Errorf("%s does not keep the numerics contract in %s (%s): %w", info.Name, t, info.Note,
			backend.ErrUnsupported)
	}
	if p.c, err = mirror(p.s, p.m.local); err != nil {
		return err
	}
	rows, cols, size := p.m.local.Rows, p.m.local.Cols, element.TypeOf[T]().Size()
	sizeA := (rows*p.width*size + lineBytes - 1) / lineBytes * lineBytes
	for i := range p.panels {
		x := &p.panels[i]
		if x.memory, err = p.m.g.c.memory(sizeA + p.width*cols*size); err != nil {
			return err
		}
		a, b := backend.Elems[T](x.memory), backend.Elems[T](x.memory[sizeA:])
		if x.a, err = mirror(p.s, linalg.NewMatrix(rows, p.width, a[:rows*p.width])); err != nil {
			return err
		}
		if x.b, err = mirror(p.s, linalg.NewMatrix(p.width, cols, b[:p.width*cols])); err != nil {
			return err
		}
	}
	return nil
}

// release gives back what the device has.
func (p *product[T]) release() {
	p.s.Wait()
	for i := range p.panels {
		x := &p.panels[i]
		x.a.free()
		x.b.free()
		if x.used != nil {
			x.used.Release()
		}
	}
	p.c.free()
}

// run multiplies panel after panel. While one is multiplied, the next one is on its way: it is sent
// first, as a cpu device multiplies before AddMul returns. A device with a queue works on the one
// before meanwhile, so that there are three.
func (p *product[T]) run(ctx context.Context) error {
	report := inside.Progress(ctx)
	steps := (p.a.cols + p.width - 1) / p.width
	p.send(0)
	for step := range steps {
		if err := p.m.g.c.wait(ctx, p.panel(step).requests...); err != nil {
			return err
		}
		if step+1 < steps {
			if err := p.panel(step + 1).wait(); err != nil {
				return err
			}
			p.send(step + 1)
		}
		if err := p.multiply(step); err != nil {
			return err
		}
		if report != nil {
			report(float64(step) / float64(steps))
		}
	}
	if err := p.c.toHost(p.s); err != nil {
		return err
	}
	if report != nil {
		report(1)
	}
	return context.Cause(ctx)
}

// panel is the one of a step.
func (p *product[T]) panel(step int) *panel[T] { return &p.panels[step%len(p.panels)] }

// send starts to send a panel: A's part along the rows of the grid from the ranks that have these
// columns, B's along the columns from those that have these rows.
func (p *product[T]) send(step int) {
	x, g := p.panel(step), p.m.g
	x.requests = x.requests[:0]
	k := p.steps(step)
	fromCol, fromRow := step%g.cols, step%g.rows
	if g.col == fromCol {
		at := step / g.cols * p.width
		copyMatrix(x.a.host.Slice(0, x.a.host.Rows, 0, k), p.a.local.Slice(0, p.a.local.Rows, at, at+k))
	}
	if g.row == fromRow {
		at := step / g.rows * p.width
		copyMatrix(x.b.host.Slice(0, k, 0, x.b.host.Cols), p.b.local.Slice(at, at+k, 0, p.b.local.Cols))
	}
	if g.cols > 1 {
		x.requests = append(x.requests, g.c.broadcast(g.along, fromCol, backend.Bytes(x.a.host.Data))...)
	}
	if g.rows > 1 {
		b := x.b.host.Slice(0, k, 0, x.b.host.Cols)
		x.requests = append(x.requests, g.c.broadcast(g.down, fromRow, backend.Bytes(b.Data))...)
	}
}

// steps is the number of steps of k of a panel.
func (p *product[T]) steps(step int) int { return min(p.width, p.a.cols-step*p.width) }

// multiply enqueues the next steps of every chain.
func (p *product[T]) multiply(step int) (err error) {
	x, k := p.panel(step), p.steps(step)
	if err := x.a.toDevice(); err != nil {
		return err
	}
	if err := x.b.toDevice(); err != nil {
		return err
	}
	rows, _ := x.a.array.Dims()
	_, cols := x.b.array.Dims()
	if err := p.c.array.AddMul(x.a.array.Slice(0, rows, 0, k), x.b.array.Slice(0, k, 0, cols)); err != nil {
		return err
	}
	x.used, err = p.s.Queue().Record()
	return err
}

// wait waits until the panel has been multiplied, so that its memory can be used again.
func (x *panel[T]) wait() error {
	if x.used == nil {
		return nil
	}
	used := x.used
	x.used = nil
	return cmp.Or(used.Wait(), used.Release())
}

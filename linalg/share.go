package linalg

import (
	"context"
	"reflect"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/outofcore"
	"github.com/tandem-gpu/tandem/internal/tiles"
)

// An operation is what a job computes: C of A, and of B where there is one. These methods are all
// that tiles on several devices need of it, and a pipeline through a device smaller than the
// matrices. C is computed by regions, from step k to step l-1 of the chains at a time; what has no
// chains has one step.
type operation[T Element] interface {
	// region is what region c of the result needs of operand i, A or B, which are 1 and 2.
	region(i int, c tiles.Tile, k, l int) tiles.Tile
	// transposed tells whether operand i lies in memory as the transpose of what region speaks of.
	transposed(x *call[T], i int) bool
	// step enqueues the steps from k on, of which a and b are the regions.
	step(x *call[T], k int, c, a, b *array) error
	// finish makes dst, some rows of C, of what steps have computed.
	finish(x *call[T], dst, from Matrix[T])
	// readsC tells whether the result depends on what C was.
	readsC(x *call[T]) bool
	// divide shares j's call out in a way of its own, where it has one: it computes all, which is
	// done then, or prepares j.
	divide(ctx context.Context, j *job[T], s *Session) (done bool, err error)
}

// operationOf is the operation that has kernel k.
func operationOf[T Element](k operationKernel) operation[T] {
	switch k := k.(type) {
	case transposeKernel:
		return transposition[T]{}
	case elementwiseKernel:
		return elementwise[T]{elementwiseKernel: k}
	case productKernel:
		return product[T]{}
	}
	panic("unreachable")
}

// plainOperation is what operations without chains have in common.
type plainOperation[T Element] struct{}

func (plainOperation[T]) transposed(*call[T], int) bool          { return false }
func (plainOperation[T]) finish(_ *call[T], dst, from Matrix[T]) { copyElements(dst, from) }
func (plainOperation[T]) readsC(*call[T]) bool                   { return false }
func (plainOperation[T]) divide(context.Context, *job[T], *Session) (done bool, err error) {
	return false, nil
}

// share computes x by tiles of C. It has a copy of x, so that calls that are not shared stay off
// the heap.
func (x call[T]) share(ctx context.Context, s *Session) error {
	j := newJob(x)
	if done, err := j.op.divide(ctx, j, s); done {
		return err
	}
	if c := x.matrices[0]; c.Rows == 0 || c.Cols == 0 {
		return nil
	}
	return j.run(ctx, s)
}

// A job is a call that is done by tiles of C, and what package outofcore calls for that.
type job[T Element] struct {
	call[T]
	op      operation[T]
	steps   int        // of a product
	devices []*Session // that take part
	// of a batch: products z to z+n-1; they are the rows that are shared out, most at a time
	part func(z, n int) call[T]
	most int
}

func newJob[T Element](x call[T]) *job[T] { return &job[T]{call: x, op: operationOf[T](x.kernel)} }

// run shares the tiles out to the devices and waits for them.
func (j *job[T]) run(ctx context.Context, s *Session) error {
	var sharers []*outofcore.Device
	for _, d := range s.devices() {
		if d.supports(element.TypeOf[T]()) == nil {
			j.devices, sharers = append(j.devices, d), append(sharers, d.sharer)
		}
	}
	if len(sharers) == 0 {
		return s.supports(element.TypeOf[T]())
	}
	if len(sharers) == 1 && !sharers[0].TakesCopies(j.largest()) { // there is nothing to share, nor to copy
		return j.alone(ctx, j.devices[0])
	}
	c, t := j.matrices[0], element.TypeOf[T]()
	shape := outofcore.Shape{Rows: c.Rows, Cols: c.Cols, Steps: max(1, j.steps), Inputs: j.n - 1, Region: j.op.region}
	shared := outofcore.Job{
		Shape: shape, Work: j, ElementSize: t.Size(), Largest: j.largest(), Continues: j.chain,
		Key: rateKey{j.kernel, t},
	}
	if j.part != nil {
		shared.Batch, shared.BatchRows = c.Rows/j.count*c.Cols, j.most
		shared.Rows, shared.Cols = j.count, 1
	}
	return shared.Run(WithProgress(ctx, nil), progress(ctx), sharers)
}

// A rateKey is what the rate of a device depends on.
type rateKey struct {
	op  operationKernel
	typ element.Type
}

// alone computes all on one device, which works on the host's memory.
func (j *job[T]) alone(ctx context.Context, d *Session) error {
	err := runPrepared(ctx, d, &j.request, true)
	n := 0
	if c := j.matrices[0]; err == nil {
		n = c.Rows * c.Cols
	}
	d.sharer.Account(n, err)
	return err
}

// Tile computes a tile by a call of its own, which leaves C as it was if it fails. A device that
// has to be told of C's memory is not told of what others write to.
func (j *job[T]) Tile(ctx context.Context, device int, t tiles.Tile) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	d, x := j.devices[device], j.call
	if j.part != nil {
		x = j.part(t.Row, t.Rows)
	} else {
		x.matrices[0] = j.block(0, t)
		for i := 1; i < x.n; i++ {
			x.matrices[i] = j.block(i, j.op.region(i, t, 0, j.steps))
		}
	}
	dst := x.matrices[0]
	apart := j.op.readsC(&j.call) || j.part == nil && !d.registersFreely()
	for _, m := range x.matrices[1:x.n] {
		apart = apart || shareElements(dst, m)
	}
	if apart {
		x.matrices[0] = dst.Packed()
	}
	if err := runPrepared(ctx, d, &x.request, true); err != nil {
		return err
	}
	if apart {
		copyElements(dst, x.matrices[0])
	}
	return nil
}

// block is a region of matrix i, as it lies in memory.
func (j *job[T]) block(i int, r tiles.Tile) Matrix[T] {
	if i > 0 && j.op.transposed(&j.call, i) {
		r = tiles.Tile{Row: r.Col, Col: r.Row, Rows: r.Cols, Cols: r.Rows}
	}
	return j.matrices[i].Slice(r.Row, r.Row+r.Rows, r.Col, r.Col+r.Cols)
}

// Load packs region r of matrix i, or of its transpose.
func (j *job[T]) Load(mem []byte, i int, r tiles.Tile) {
	from, to := j.block(i, r), NewMatrix(r.Rows, r.Cols, backend.Elems[T](mem))
	if i > 0 && j.op.transposed(&j.call, i) {
		host.Transpose(from.Rows, from.Cols, from.Data, from.Stride, to.Data, to.Stride)
		return
	}
	copyElements(to, from)
}

// Step is the operation's step on panels in a device's memory.
func (j *job[T]) Step(device int, q *backend.Queue, k int, panels [3]outofcore.Panel) error {
	s := &Session{core: j.devices[device].core, queue: q} // without spare memory: Load has transposed
	var arrays [3]*array
	for i, p := range panels[:j.n] {
		arrays[i] = &array{
			s: s, buf: p.Buffer, off: p.Offset, rows: p.Rows, cols: p.Cols, stride: p.Stride, view: true,
			elem: reflect.TypeFor[T](),
		}
	}
	return j.op.step(&j.call, k, arrays[0], arrays[1], arrays[2])
}

// Store makes a tile of C of what the steps have computed.
func (j *job[T]) Store(t tiles.Tile, mem []byte) {
	j.op.finish(&j.call, j.block(0, t), NewMatrix(t.Rows, t.Cols, backend.Elems[T](mem)))
}

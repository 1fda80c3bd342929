package linalg

import (
	"context"
	"reflect"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/outofcore"
	"github.com/tandem-gpu/tandem/internal/tiles"
	"github.com/tandem-gpu/tandem/kernels"
)

// shares tells whether x is cut into tiles of C: by several devices, which share them, and on a
// device that the matrices are copied to, where copies and work go on at the same time, and which
// may be smaller than the matrices. What is small is not, nor are many products that fit.
func (x *call[T]) shares(s *Session) bool {
	if x.isTile || len(s.others) == 0 && (!s.sharer.TakesCopies(x.largest()) || x.count > 1 && x.fits(s)) {
		return false
	}
	return !x.hasAtMost(smallBytes) || s.sharer.Budget() < int64(smallBytes)
}

// largest is the bytes of the largest matrix, with the gaps between its rows.
func (x *call[T]) largest() (n int64) {
	for _, m := range x.matrices[:x.n] {
		n = max(n, int64(len(m.bytes())))
	}
	return n
}

// fits tells whether copies of all matrices have room on the device at once.
func (x *call[T]) fits(s *Session) bool {
	all := int64(0)
	for _, m := range x.matrices[:x.n] {
		all += int64(m.Rows*m.Cols) * int64(element.TypeOf[T]().Size())
	}
	return x.largest() <= s.info.MaxAlloc && all <= s.sharer.Budget()
}

// share computes x by tiles of C. It has a copy of x, so that calls that are not shared stay off
// the heap.
func (x call[T]) share(ctx context.Context, s *Session) error {
	if err := s.open(); err != nil {
		return err
	}
	j := job[T]{call: x}
	if d, ok := x.op.(dividedOperation[T]); ok {
		if done, err := d.divide(ctx, &j, s); done {
			return err
		}
	}
	if c := x.matrices[0]; c.Rows == 0 || c.Cols == 0 {
		return nil
	}
	return j.run(ctx, s)
}

// shareBeta makes C beta*C.
func (x call[T]) shareBeta(ctx context.Context, s *Session) error {
	c := x.matrices[0]
	switch x.beta {
	case 0:
		for i := range c.Rows {
			clear(c.Row(i))
		}
		return nil
	case 1:
		return nil
	}
	r := request[T]{
		kernel: elementwiseKernel{kernels.Scale}, update: update{alpha: x.beta}, n: 2, matrices: [3]Matrix[T]{c, c},
	}
	j := job[T]{call: call[T]{request: r, op: operationOf[T](r.kernel)}}
	return j.run(ctx, s)
}

// shareBatch shares out many products: some at a time to each device, or, where they are few or
// too large, one after the other, each to all devices.
func (x call[T]) shareBatch(ctx context.Context, s *Session, shape batch) error {
	part := func(z, n int) call[T] {
		p, rows := x, [3]int{shape.m, oriented(x.tA, shape.m, shape.k)[0], oriented(x.tB, shape.k, shape.n)[0]}
		p.count = n
		for i, shared := range []bool{false, shape.sharedA, shape.sharedB} {
			if !shared {
				m := x.matrices[i]
				p.matrices[i] = m.Slice(z*rows[i], (z+n)*rows[i], 0, m.Cols)
			}
		}
		return p
	}
	devices, most := s.devices(), x.count
	for _, d := range devices {
		if d.sharer.TakesCopies(x.largest()) { // half of its products are in the device's memory at a time
			one := int64(shape.m*shape.k+shape.k*shape.n+shape.m*shape.n) * int64(element.TypeOf[T]().Size())
			most = min(most, int(min(d.sharer.Budget(), d.info.MaxAlloc)/max(one, 1)/4))
		}
	}
	g := outofcore.Granularity
	if most == 0 || x.count < 4*len(devices) && shape.m*shape.n > 16*g*g {
		report := progress(ctx)
		for z := range x.count {
			p := part(z, 1)
			if err := p.share(WithProgress(ctx, nil), s); err != nil {
				return err
			}
			if report != nil {
				report(float64(z+1) / float64(x.count))
			}
		}
		return nil
	}
	j := job[T]{call: x, part: part, most: most}
	return j.run(ctx, s)
}

// A job is a call that is done by tiles of C, and what package outofcore calls for that.
type job[T Element] struct {
	call[T]
	steps   int        // of a product
	devices []*Session // that take part
	// of a batch: products z to z+n-1; they are the rows that are shared out, most at a time
	part func(z, n int) call[T]
	most int
}

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
		Shape: shape, Work: j, ElementSize: t.Size(), Largest: j.largest(), Continues: j.chain, Key: rateKey{j.op, t},
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
	err := runChecked(ctx, d, &j.request, true)
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
	if err := runChecked(ctx, d, &x.request, true); err != nil {
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

package outofcore

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync/atomic"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/tiles"
)

// A pipeline is the queues and the page-locked memory by which a device computes tiles of matrices
// that lie elsewhere: regions of the inputs come in, work is done, and tiles of the result go out,
// all at the same time. A device keeps one, which jobs take in turn.
type pipeline struct {
	in, work, out *backend.Queue
	ins, outs     stagingRing
}

func newPipeline(d *backend.Device) (p *pipeline, err error) {
	p = new(pipeline)
	for _, q := range []**backend.Queue{&p.in, &p.work, &p.out} {
		if *q, err = d.NewQueue(); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

func (p *pipeline) queues() [3]*backend.Queue { return [...]*backend.Queue{p.in, p.work, p.out} }

// close releases the pipeline. Its errors belong to a job that has failed.
func (p *pipeline) close() {
	for _, q := range p.queues() {
		if q != nil {
			q.Close()
		}
	}
	p.ins.free()
	p.outs.free()
}

// A slot is memory on the device for a region of an input: a panel of some steps.
type slot struct {
	buf  *backend.Buffer
	has  tiles.Tile     // the region
	used *backend.Event // the last launch that reads it; nil: there was none
	turn int            // when that was
}

// release gives back the event of the last use.
func (s *slot) release() (err error) {
	if s.used != nil {
		err = s.used.Release()
		s.used = nil
	}
	return err
}

// A Panel is a part of a matrix in a device's memory. Offset and Stride are elements.
type Panel struct {
	Buffer                     *backend.Buffer
	Offset, Rows, Cols, Stride int
}

// A pipelinedWorker is a device's part of a job, in copies.
type pipelinedWorker struct {
	*worker
	*pipeline
	geometry
	slots   [2][]slot // of the inputs
	tiles   [keptTiles]*backend.Buffer
	turn    int
	stopped atomic.Bool // one half has failed
}

// A finishedTile is what is to go out to the result.
type finishedTile struct {
	tiles.Tile
	buf  *backend.Buffer
	done *backend.Event // the end of the work
}

// pipelined computes tiles until there are no more.
func (w *worker) pipelined(ctx context.Context) (err error) {
	u := &pipelinedWorker{worker: w, pipeline: w.own, geometry: *w.geometry}
	defer func() { err = u.leave(err) }()
	if err := u.reserve(); err != nil {
		return err
	}
	full, empty := make(chan finishedTile, keptTiles), make(chan *backend.Buffer, keptTiles)
	for _, b := range u.tiles {
		empty <- b
	}
	drained := make(chan error, 1)
	go func() { drained <- u.drain(full, empty) }()
	err = u.feed(ctx, full, empty)
	if err != nil {
		u.stopped.Store(true)
	}
	close(full)
	return errors.Join(err, <-drained)
}

// leave releases what the worker has used. It returns err, or else what goes wrong here.
func (u *pipelinedWorker) leave(err error) error {
	if err != nil {
		for _, q := range u.queues() {
			q.Wait() // its error came with another, or comes from it
		}
	} else {
		err = errors.Join(u.ins.idle(), u.outs.idle())
	}
	err = cmp.Or(err, u.free())
	if err != nil {
		u.close()
		u.pipeline = nil
	}
	u.d.pipeline <- u.pipeline
	return err
}

// reserve allocates the panels and the tiles. Where the device has less room than it said, it does
// with less.
func (u *pipelinedWorker) reserve() (err error) {
	for try := 0; ; try++ {
		if u.rows == 0 {
			return backend.Failure(u.d.info.Driver, "linalg", backend.ErrOutOfMemory,
				"no tile of the result fits in what %s and %s allow", u.d.info.Name, EnvMemory)
		}
		if err = u.allocate(); err == nil || try == 2 || !errors.Is(err, backend.ErrOutOfMemory) {
			return err
		}
		if e := u.free(); e != nil {
			return errors.Join(err, e)
		}
		less := u.fitBytes(u.bytes(u.total())/2, u.d.info.MaxAlloc)
		if less.rows == 0 {
			return err
		}
		u.geometry = less
		u.pool.Limit(u.n, less.rows, less.cols)
	}
}

// fitBytes is fit in so many bytes, with no buffer larger than largest, if that is not 0.
func (j *Job) fitBytes(budget, largest int64) geometry {
	most := min(budget/int64(j.ElementSize), math.MaxInt/4)
	single := most
	if largest > 0 {
		single = min(most, largest/int64(j.ElementSize))
	}
	return j.fit(int(most), int(single))
}

func (j *Job) bytes(elements int) int64 { return int64(elements) * int64(j.ElementSize) }

func (u *pipelinedWorker) allocate() (err error) {
	u.slots = [2][]slot{make([]slot, u.keepA), make([]slot, u.keepB)}
	get := func(to **backend.Buffer, elements int) {
		if err == nil {
			*to, err = u.d.Alloc(u.bytes(elements))
		}
	}
	for i := range u.tiles {
		get(&u.tiles[i], u.rows*u.cols)
	}
	for i, elements := range []int{u.a, u.b} {
		for k := range u.slots[i] {
			get(&u.slots[i][k].buf, elements)
		}
	}
	return err
}

// free releases the panels and the tiles.
func (u *pipelinedWorker) free() (err error) {
	free := func(b *backend.Buffer) {
		if b == nil {
			return
		}
		err = cmp.Or(err, b.Free())
	}
	for _, slots := range u.slots {
		for i := range slots {
			err = cmp.Or(err, slots[i].release())
			free(slots[i].buf)
		}
	}
	for _, b := range u.tiles {
		free(b)
	}
	u.slots, u.tiles = [2][]slot{}, [keptTiles]*backend.Buffer{}
	return err
}

// feed brings panels in and enqueues the work.
func (u *pipelinedWorker) feed(ctx context.Context, full chan<- finishedTile, empty <-chan *backend.Buffer) error {
	for {
		buf := <-empty
		t, ok := u.pool.Next(u.n)
		if !ok {
			return nil
		}
		if err := u.compute(ctx, buf, t); err != nil {
			return err
		}
		if u.stopped.Load() {
			return nil
		}
		done, err := u.work.Record()
		if err != nil {
			return err
		}
		full <- finishedTile{t, buf, done}
	}
}

// compute enqueues the work of a tile.
func (u *pipelinedWorker) compute(ctx context.Context, buf *backend.Buffer, t tiles.Tile) error {
	if u.Continues {
		if err := u.send(buf, 0, t); err != nil {
			return err
		}
	}
	for k := 0; k < u.Steps && !u.stopped.Load(); k += u.depth {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := u.step(buf, t, k, min(k+u.depth, u.Steps)); err != nil {
			return err
		}
	}
	return nil
}

// step enqueues steps k to l-1 of a tile.
func (u *pipelinedWorker) step(buf *backend.Buffer, t tiles.Tile, k, l int) error {
	panels := [3]Panel{{buf, 0, t.Rows, t.Cols, t.Cols}}
	var used [2]*slot
	for i := range u.Inputs {
		var err error
		if used[i], panels[i+1], err = u.panel(u.slots[i], i+1, u.Region(i+1, t, k, l)); err != nil {
			return err
		}
	}
	if err := u.Step(u.n, u.work, k, panels); err != nil {
		return err
	}
	for _, s := range used[:u.Inputs] {
		if err := s.release(); err != nil {
			return err
		}
		var err error
		if s.used, err = u.work.Record(); err != nil {
			return err
		}
	}
	return nil
}

// panel is region r of operand i, and the slot that it is in: one that has it, or the one that was
// not used for longest.
func (u *pipelinedWorker) panel(slots []slot, i int, r tiles.Tile) (*slot, Panel, error) {
	u.turn++
	s := &slots[0]
	for k := range slots {
		if x := &slots[k]; x.turn > 0 && x.has.Contains(r) {
			x.turn = u.turn
			at := (r.Row-x.has.Row)*x.has.Cols + r.Col - x.has.Col
			return x, Panel{x.buf, at, r.Rows, r.Cols, x.has.Cols}, nil
		}
		if slots[k].turn < s.turn {
			s = &slots[k]
		}
	}
	if s.used != nil {
		if err := errors.Join(u.in.WaitEvent(s.used), s.release()); err != nil {
			return nil, Panel{}, err
		}
	}
	s.has, s.turn = r, u.turn
	return s, Panel{s.buf, 0, r.Rows, r.Cols, r.Cols}, u.send(s.buf, i, r)
}

// send copies region r of operand i to buf, packed; later work waits for that.
func (u *pipelinedWorker) send(buf *backend.Buffer, i int, r tiles.Tile) error {
	width := u.bytes(r.Cols)
	for row := 0; row < r.Rows; {
		n := min(max(1, stagingBytes/int(width)), r.Rows-row)
		size := int64(n) * width
		p, err := u.ins.take(u.d.Device, size)
		if err != nil {
			return err
		}
		part := tiles.Tile{Row: r.Row + row, Col: r.Col, Rows: n, Cols: r.Cols}
		if err := p.host.Use(func(mem []byte) { u.Load(mem[:size], i, part) }); err != nil {
			return err
		}
		if err := u.in.WriteAsync(buf, int64(row)*width, p.host, 0, size); err != nil {
			return err
		}
		if p.done, err = u.in.Record(); err != nil {
			return err
		}
		row += n
	}
	e, err := u.in.Record()
	if err != nil {
		return err
	}
	return errors.Join(u.work.WaitEvent(e), e.Release())
}

// drain brings finished tiles to the result. After an error it touches the result no more, and the
// pool has the rest of its tiles back.
func (u *pipelinedWorker) drain(full <-chan finishedTile, empty chan<- *backend.Buffer) (err error) {
	for t := range full {
		var e error
		if err == nil && !u.stopped.Load() {
			e = u.receive(t)
		}
		if e = errors.Join(e, t.done.Release()); e != nil && err == nil {
			err = e
			u.stopped.Store(true)
			u.pool.Fail(u.n)
		}
		empty <- t.buf
	}
	return err
}

// receive copies a tile to the result, as many rows at a time as a staging buffer holds.
func (u *pipelinedWorker) receive(t finishedTile) error {
	if err := u.out.WaitEvent(t.done); err != nil {
		return err
	}
	width := u.bytes(t.Cols)
	most := max(1, stagingBytes/int(width)) // rows
	var coming []*stagingBuffer
	for sent, stored := 0, 0; stored < t.Rows; {
		if sent < t.Rows && len(coming) < stagingBuffers {
			n := min(most, t.Rows-sent)
			p, err := u.outs.take(u.d.Device, int64(n)*width)
			if err != nil {
				return err
			}
			if err := u.out.ReadAsync(p.host, 0, t.buf, int64(sent)*width, int64(n)*width); err != nil {
				return err
			}
			if p.done, err = u.out.Record(); err != nil {
				return err
			}
			coming, sent = append(coming, p), sent+n
			continue
		}
		if err := coming[0].wait(); err != nil {
			return err
		}
		part := tiles.Tile{Row: t.Row + stored, Col: t.Col, Rows: min(most, t.Rows-stored), Cols: t.Cols}
		err := coming[0].host.Use(func(mem []byte) { u.Store(part, mem[:int64(part.Rows)*width]) })
		if err != nil {
			return err
		}
		u.done(part.Rows, t.Cols)
		coming, stored = coming[1:], stored+part.Rows
	}
	return nil
}

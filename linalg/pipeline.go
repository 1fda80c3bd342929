package linalg

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/tiles"
)

// A pipeline is the queues and the page-locked memory by which a device computes tiles of matrices
// that lie elsewhere: panels of A and B come in, are multiplied, and tiles of C go out, all at the
// same time. A session keeps one for each of its devices, which calls take in turn.
type pipeline struct {
	in, work, out backend.Queue
	ins, outs     stagingRing
}

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
	host backend.HostBuffer
	done backend.Event // the end of the copy that uses it; nil: none does
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
func (g *stagingRing) take(d backend.Device, n int64) (p *stagingBuffer, err error) {
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
		if e := g.buffers[i].wait(); err == nil {
			err = e
		}
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

// takePipeline is the device's pipeline. leavePipeline, or dropPipeline after an error, gives it
// back.
func (s *core) takePipeline(ctx context.Context) (pipe *pipeline, err error) {
	select {
	case pipe = <-s.pipeline:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if pipe != nil {
		return pipe, nil
	}
	pipe = new(pipeline)
	for _, q := range []*backend.Queue{&pipe.in, &pipe.work, &pipe.out} {
		if *q, err = s.device.NewQueue(); err != nil {
			s.dropPipeline(pipe)
			return nil, err
		}
	}
	return pipe, nil
}

func (s *core) leavePipeline(pipe *pipeline) { s.pipeline <- pipe }

// dropPipeline releases the pipeline. Its errors belong to a call that has failed.
func (s *core) dropPipeline(pipe *pipeline) {
	for _, q := range []backend.Queue{pipe.in, pipe.work, pipe.out} {
		if q != nil {
			q.Close()
		}
	}
	pipe.ins.free()
	pipe.outs.free()
	s.pipeline <- nil
}

// A geometry is the largest tile of C that a device computes, and the panels that it keeps for it:
// in elements.
type geometry struct {
	rows, cols   int
	depth        int // steps of k in a panel
	a, b         int // elements of a panel
	keepA, keepB int // panels
}

// keptTiles is the number of tiles of C on a device: one is computed while another goes out.
const keptTiles = 2

func (g geometry) total() int {
	return keptTiles*g.rows*g.cols + g.keepA*g.a + g.keepB*g.b
}

// panelDepth is the least depth of a panel, where k and the memory allow it. Tests make it small.
var panelDepth = 256

// elementwiseTile is how many elements a tile has at most where nothing is used twice.
const elementwiseTile = 4 << 20

// reuses tells whether several tiles of C need one region of an operand, as those of a product do.
func (x *call[T]) reuses() bool {
	for i := 1; i < x.n; i++ {
		if rows, cols := dependsOn(x.op, i); !rows || !cols {
			return true
		}
	}
	return false
}

// dependsOn tells whether tiles in other rows, or in other columns, need another region of operand
// i.
func dependsOn[T Element](op operation[T], i int) (rows, cols bool) {
	at := func(row, col int) tiles.Tile {
		return op.region(i, tiles.Tile{Row: row, Col: col, Rows: 1, Cols: 1}, 0, 1)
	}
	return at(0, 0) != at(1, 0), at(0, 0) != at(0, 1)
}

// fit chooses the geometry for j in so many bytes, with no buffer larger than largest, so that as
// little as possible has to be copied twice.
func fit[T Element](j *job[T], budget, largest int64) geometry {
	var t T
	size := int64(unsafe.Sizeof(t))
	most := int(min(budget/size, math.MaxInt/4))
	single := most
	if largest > 0 {
		single = int(min(int64(most), largest/size))
	}
	m, n := j.matrices[0].Rows, j.matrices[0].Cols
	if !j.reuses() {
		area := max(1, min(most/(2*keptTiles+2*(j.n-2)), single, elementwiseTile))
		g := geometry{cols: min(n, area), depth: 1, keepA: 2}
		g.rows = min(m, area/g.cols)
		g.a = g.rows * g.cols
		if j.n == 3 {
			g.b, g.keepB = g.a, 2
		}
		return g
	}
	best, least := geometry{}, math.Inf(1)
	consider := func(g geometry) {
		if g.rows < 1 || g.cols < 1 || g.total() > most || max(g.rows*g.cols, g.a, g.b) > single {
			return
		}
		across, down := math.Ceil(float64(n)/float64(g.cols)), math.Ceil(float64(m)/float64(g.rows))
		copied := float64(m) * across // per step of k
		if g.keepB*g.depth < j.k {
			copied += float64(n) * down
		} else {
			copied += float64(n)
		}
		if copied < least*0.99 {
			best, least = g, copied
		}
	}
	for depth := min(j.k, max(panelDepth, min(4*panelDepth, j.k/8))); depth > 0; depth /= 2 {
		for parts := 1; ; parts *= 2 {
			cols := (n + parts - 1) / parts
			// all panels of B for these columns stay, and one comes in for the next
			g := geometry{cols: cols, depth: depth, keepA: 3, b: depth * cols, keepB: (j.k + depth - 1) / depth}
			if parts > 1 {
				g.keepB++
			}
			for _, keep := range []int{g.keepB, 3} { // or they come in for each tile
				g.keepB = keep
				g.rows = min(m, (most-g.keepB*g.b)/(keptTiles*cols+g.keepA*depth), single/max(cols, depth))
				g.a = g.rows * depth
				if keep == 3 || parts == 1 || g.rows >= min(m, panelDepth/2) {
					consider(g)
				}
			}
			if cols == 1 {
				break
			}
		}
		if !math.IsInf(least, 1) {
			break
		}
	}
	if all := best; best.rows > 0 { // those of A for some rows stay too, where there is room
		if all.keepA = (j.k+best.depth-1)/best.depth + 2; all.total() <= most {
			return all
		}
	}
	return best
}

// A slot is memory on the device for a panel.
type slot struct {
	buf  backend.Buffer
	has  tiles.Tile    // the panel: rows and columns of op(A) or op(B)
	used backend.Event // the last launch that reads it; nil: there was none
	turn int           // when that was
}

// A pipelinedWorker is a device's part of a job, in copies.
type pipelinedWorker[T Element] struct {
	*deviceWorker[T]
	*pipeline
	geometry
	s       *Session // with the queue for work
	a, b    []slot
	c       [keptTiles]backend.Buffer
	turn    int
	stopped atomic.Bool // one half has failed
}

// A product of a tile: what is to go out to C.
type finishedTile struct {
	t    tiles.Tile
	c    int           // the buffer
	done backend.Event // the end of the work
}

// pipeline computes tiles until there are no more.
func (c *deviceWorker[T]) pipeline(ctx context.Context) (err error) {
	pipe, err := c.d.takePipeline(ctx)
	if err != nil {
		return err
	}
	s := &Session{core: c.d.core, queue: pipe.work}
	u := &pipelinedWorker[T]{deviceWorker: c, pipeline: pipe, geometry: *c.geometry, s: s}
	defer func() {
		if err != nil {
			for _, q := range []backend.Queue{pipe.in, pipe.work, pipe.out} {
				q.Wait() // its error came with another, or comes from it
			}
		}
		if err == nil {
			err = errors.Join(pipe.ins.idle(), pipe.outs.idle())
		}
		if e := u.free(); err == nil {
			err = e
		}
		if err != nil {
			c.d.dropPipeline(pipe)
		} else {
			c.d.leavePipeline(pipe)
		}
	}()
	if err := u.reserve(); err != nil {
		return err
	}
	full, empty := make(chan finishedTile, keptTiles), make(chan int, keptTiles)
	for i := range u.c {
		empty <- i
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

// reserve allocates the panels and the tiles. Where the device has less room than it said, it does
// with less.
func (u *pipelinedWorker[T]) reserve() (err error) {
	var t T
	for try := 0; ; try++ {
		if u.rows == 0 {
			return &backend.Error{
				Driver: u.d.info.Driver, Op: "linalg", Err: backend.ErrOutOfMemory,
				Detail: fmt.Sprintf("no tile of the result fits in what %s and %s allow", u.d.info.Name, EnvMemory),
			}
		}
		if err = u.allocate(); err == nil || try == 2 || !errors.Is(err, backend.ErrOutOfMemory) {
			return err
		}
		if e := u.free(); e != nil {
			return errors.Join(err, e)
		}
		less := fit(u.job, int64(u.total())*int64(unsafe.Sizeof(t))/2, u.d.info.MaxAlloc)
		if less.rows == 0 {
			return err
		}
		u.geometry = less
		u.pool.Limit(u.w, less.rows, less.cols)
	}
}

func (u *pipelinedWorker[T]) allocate() (err error) {
	u.a, u.b = make([]slot, u.keepA), make([]slot, u.keepB)
	get := func(to *backend.Buffer, elements int) {
		if err == nil {
			*to, err = newBuffer[T](u.s, 1, elements)
		}
	}
	for i := range u.c {
		get(&u.c[i], u.rows*u.cols)
	}
	for i := range u.a {
		get(&u.a[i].buf, u.geometry.a)
	}
	for i := range u.b {
		get(&u.b[i].buf, u.geometry.b)
	}
	return err
}

// free releases the panels and the tiles.
func (u *pipelinedWorker[T]) free() (err error) {
	free := func(b backend.Buffer) {
		if b == nil {
			return
		}
		if e := b.Free(); err == nil {
			err = e
		}
	}
	for _, slots := range [][]slot{u.a, u.b} {
		for _, s := range slots {
			if s.used != nil {
				if e := s.used.Release(); err == nil {
					err = e
				}
			}
			free(s.buf)
		}
	}
	for _, b := range u.c {
		free(b)
	}
	u.a, u.b, u.c = nil, nil, [keptTiles]backend.Buffer{}
	return err
}

// feed brings panels in and enqueues the work.
func (u *pipelinedWorker[T]) feed(ctx context.Context, full chan<- finishedTile, empty <-chan int) error {
	for {
		c := <-empty
		t, ok := u.pool.Next(u.w)
		if !ok {
			return nil
		}
		if err := u.compute(ctx, c, t); err != nil {
			return err
		}
		if u.stopped.Load() {
			return nil
		}
		done, err := u.work.Record()
		if err != nil {
			return err
		}
		full <- finishedTile{t, c, done}
	}
}

// compute enqueues the work of a tile.
func (u *pipelinedWorker[T]) compute(ctx context.Context, c int, t tiles.Tile) error {
	dst := u.array(u.c[c], t.Rows, t.Cols)
	if u.chain {
		if err := u.send(u.c[c], u.block(0, t, 0, 0), false); err != nil {
			return err
		}
		if err := u.inFirst(); err != nil {
			return err
		}
	}
	for k := 0; k < u.k && !u.stopped.Load(); k += u.depth {
		if err := ctx.Err(); err != nil {
			return err
		}
		l := min(k+u.depth, u.k)
		sa, a, err := u.panel(u.a, 1, t, k, l)
		if err != nil {
			return err
		}
		var sb *slot
		var b *Array[T]
		if u.n == 3 {
			if sb, b, err = u.panel(u.b, 2, t, k, l); err != nil {
				return err
			}
		}
		if err := u.op.step(&u.call, k, dst, a, b); err != nil {
			return err
		}
		for _, s := range []*slot{sa, sb} {
			if s == nil {
				continue
			}
			if err := s.release(); err != nil {
				return err
			}
			if s.used, err = u.work.Record(); err != nil {
				return err
			}
		}
	}
	return nil
}

// release gives back the event of the last use.
func (s *slot) release() (err error) {
	if s.used != nil {
		err = s.used.Release()
		s.used = nil
	}
	return err
}

func (u *pipelinedWorker[T]) array(buf backend.Buffer, rows, cols int) *Array[T] {
	return &Array[T]{s: u.s, buf: buf, rows: rows, cols: cols, stride: cols, view: true}
}

// panel is the panel of operand i for steps k to l-1 of tile t, and the slot that it is in: one
// that has it, or the one that was not used for longest.
func (u *pipelinedWorker[T]) panel(slots []slot, i int, t tiles.Tile, k, l int) (*slot, *Array[T], error) {
	p := u.op.region(i, tiles.Tile{Row: t.Row, Col: t.Col, Rows: t.Rows, Cols: t.Cols}, k, l)
	u.turn++
	s := &slots[0]
	for i := range slots {
		if x := &slots[i]; x.turn > 0 && x.has.Contains(p) {
			x.turn = u.turn
			i, j := p.Row-x.has.Row, p.Col-x.has.Col
			return x, u.array(x.buf, x.has.Rows, x.has.Cols).Slice(i, i+p.Rows, j, j+p.Cols), nil
		}
		if slots[i].turn < s.turn {
			s = &slots[i]
		}
	}
	if s.used != nil {
		if err := u.in.WaitEvent(s.used); err != nil {
			return nil, nil, err
		}
		if err := s.release(); err != nil {
			return nil, nil, err
		}
	}
	s.has, s.turn = p, u.turn
	if err := u.send(s.buf, u.block(i, t, k, l), u.op.transposed(&u.call, i)); err != nil {
		return nil, nil, err
	}
	return s, u.array(s.buf, p.Rows, p.Cols), u.inFirst()
}

// inFirst lets later work wait for the copies so far.
func (u *pipelinedWorker[T]) inFirst() error {
	e, err := u.in.Record()
	if err != nil {
		return err
	}
	return errors.Join(u.s.queue.WaitEvent(e), e.Release())
}

// send copies m, or its transpose, to buf, packed.
func (u *pipelinedWorker[T]) send(buf backend.Buffer, m Matrix[T], trans bool) error {
	rows, cols := m.Rows, m.Cols
	if trans {
		rows, cols = cols, rows
	}
	at := u.array(buf, rows, cols)
	step := max(1, stagingBytes/int(at.bytes(cols)))
	for i := 0; i < rows; i += step {
		n := min(step, rows-i)
		size := at.bytes(n * cols)
		p, err := u.ins.take(u.d.device, size)
		if err != nil {
			return err
		}
		mem := NewMatrix(n, cols, backend.Elems[T](p.host.Bytes())[:n*cols])
		if trans {
			from := m.Slice(0, m.Rows, i, i+n)
			host.Transpose(from.Rows, from.Cols, from.Data, from.Stride, mem.Data, mem.Stride)
		} else {
			copyElements(mem, m.Slice(i, i+n, 0, cols))
		}
		if err := u.in.WriteAsync(buf, at.bytes(i*cols), p.host, 0, size); err != nil {
			return err
		}
		if p.done, err = u.in.Record(); err != nil {
			return err
		}
	}
	return nil
}

// drain brings finished tiles to C. After an error it touches C no more, and the pool has the rest
// of its tiles back.
func (u *pipelinedWorker[T]) drain(full <-chan finishedTile, empty chan<- int) (err error) {
	for r := range full {
		if err == nil && !u.stopped.Load() {
			if err = u.receive(r); err != nil {
				u.stopped.Store(true)
				u.pool.Fail(u.w)
			}
		}
		if e := r.done.Release(); err == nil && e != nil {
			err = e
			u.stopped.Store(true)
			u.pool.Fail(u.w)
		}
		empty <- r.c
	}
	return err
}

// receive copies a tile to C, as many rows at a time as a staging buffer holds.
func (u *pipelinedWorker[T]) receive(r finishedTile) error {
	if err := u.out.WaitEvent(r.done); err != nil {
		return err
	}
	tile := u.array(u.c[r.c], r.t.Rows, r.t.Cols)
	step := max(1, stagingBytes/int(tile.bytes(tile.cols)))
	type part struct {
		p    *stagingBuffer
		i, n int
	}
	var parts []part // on their way
	for i := 0; i < tile.rows || len(parts) > 0; {
		if i < tile.rows && len(parts) < stagingBuffers {
			n := min(step, tile.rows-i)
			p, err := u.outs.take(u.d.device, tile.bytes(n*tile.cols))
			if err != nil {
				return err
			}
			err = u.out.ReadAsync(p.host, 0, tile.buf, tile.bytes(i*tile.cols), tile.bytes(n*tile.cols))
			if err != nil {
				return err
			}
			if p.done, err = u.out.Record(); err != nil {
				return err
			}
			parts = append(parts, part{p, i, n})
			i += n
			continue
		}
		next := parts[0]
		parts = parts[1:]
		if err := next.p.wait(); err != nil {
			return err
		}
		c := u.matrices[0].Slice(r.t.Row+next.i, r.t.Row+next.i+next.n, r.t.Col, r.t.Col+r.t.Cols)
		u.op.finish(&u.call, c, NewMatrix(next.n, tile.cols, backend.Elems[T](next.p.host.Bytes())[:next.n*tile.cols]))
		u.done(next.n, tile.cols)
	}
	return nil
}

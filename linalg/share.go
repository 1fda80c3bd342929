package linalg

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/tiles"
	"github.com/tandem-gpu/tandem/kernels"
)

// A DeviceUse is what a device of a session has done of the calls on host matrices that are shared
// out.
type DeviceUse struct {
	Info     backend.Info
	Elements int64 // of results
	// Err is why the device failed in a call that another one finished, nil where its last call
	// went well.
	Err error
}

// Devices are the devices of the session, the one that arrays live on first, and what each has
// done. Where a device fails in the middle of a call on host matrices the others do its part; the
// call succeeds, and Err tells of the failure.
func (s *Session) Devices() []DeviceUse {
	var list []DeviceUse
	for _, d := range s.devices() {
		d.mu.RLock()
		list = append(list, DeviceUse{d.info, d.elements, d.failed})
		d.mu.RUnlock()
	}
	return list
}

// devices are sessions on each device.
func (s *Session) devices() []*Session { return append([]*Session{s}, s.others...) }

// shares tells whether x is cut into tiles of C: by several devices, which share them, and on a
// device that the matrices are copied to, where copies and work go on at the same time, and which
// may be smaller than the matrices. What is small is not, nor are many products that fit.
func (x *call[T]) shares(s *Session) bool {
	if x.isTile || len(s.others) == 0 && (!x.inCopies(s) || x.count > 1 && x.fits(s)) {
		return false
	}
	return !x.isSmall() || s.limit.isSet() && s.limit.of(s.info.Memory) < int64(smallBytes)
}

// inCopies tells whether the matrices come to the device in copies: to one with memory of its own,
// and where one of them is larger than a buffer of the device.
func (x *call[T]) inCopies(s *Session) bool {
	return !s.sharesMemory() || x.largest() > s.info.MaxAlloc
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
	for i, m := range x.matrices[:x.n] {
		all += x.arrays[i].bytes(m.Rows * m.Cols)
	}
	return x.largest() <= s.info.MaxAlloc && all <= s.limit.of(s.info.Memory)
}

// A rateKey is what the rate of a device depends on. Where that is known to be 0, the device has
// computed its first tile alone, with all that is done once.
type rateKey struct {
	op  chooser
	typ element.Type
}

// tileGranularity is what tiles are cut at multiples of. Tests make it small.
var tileGranularity = 64

// share computes x by tiles of C. It has a copy of x, so that calls that are not shared stay off
// the heap.
func (x call[T]) share(ctx context.Context, s *Session) error {
	if err := s.open(); err != nil {
		return err
	}
	j := job[T]{call: x, k: 1}
	if d, ok := x.op.(divider[T]); ok {
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
	scale := elementwise[T]{row: kernels.Scale}
	j := job[T]{call: call[T]{op: scale, update: update[T]{alpha: x.beta}, n: 2, matrices: [3]Matrix[T]{c, c}}, k: 1}
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
		if x.inCopies(d) { // half of its products are in the device's memory at a time
			one := (&Array[T]{}).bytes(shape.m*shape.k + shape.k*shape.n + shape.m*shape.n)
			most = min(most, int(min(d.limit.of(d.info.Memory), d.info.MaxAlloc)/max(one, 1)/4))
		}
	}
	if most == 0 || x.count < 4*len(devices) && shape.m*shape.n > 16*tileGranularity*tileGranularity {
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
	j := job[T]{call: x, k: 1, part: part, most: most}
	return j.run(ctx, s)
}

// A job is a call that is done by tiles of C.
type job[T Element] struct {
	call[T]
	k int // of a product
	// of a batch: products z to z+n-1; they are the rows that are shared out, most at a time
	part func(z, n int) call[T]
	most int
}

// run shares the tiles out to the devices and waits for them. Who fails gives its tiles back.
func (j *job[T]) run(ctx context.Context, s *Session) error {
	var devices []*Session
	for _, d := range s.devices() {
		if d.supports(element.TypeOf[T]()) == nil {
			devices = append(devices, d)
		}
	}
	if len(devices) == 0 {
		return s.supports(element.TypeOf[T]())
	}
	if len(devices) == 1 && !j.inCopies(devices[0]) { // there is nothing to share, nor to copy
		return j.alone(ctx, devices[0])
	}
	workers, pool := j.workers(devices)
	errs := j.work(ctx, workers, pool)
	switch {
	case len(errs) == 1 && errs[0] != nil:
		return errs[0]
	case pool.Left() > 0:
		return cmp.Or(ctx.Err(), errors.Join(errs...))
	}
	j.keepRates(workers, pool)
	return nil
}

// alone computes all on one device, which works on the host's memory.
func (j *job[T]) alone(ctx context.Context, d *Session) error {
	x := j.call
	x.makesC, x.isTile = false, true
	c, err := x.run(ctx, d)
	d.account(c.Rows*c.Cols, err)
	return err
}

// workers are the devices' parts of the job, and the pool of its tiles.
func (j *job[T]) workers(devices []*Session) ([]*deviceWorker[T], *tiles.Pool) {
	rows, cols, granularity := j.matrices[0].Rows, j.matrices[0].Cols, tileGranularity
	if j.part != nil {
		rows, cols, granularity = j.count, 1, 1
	}
	workers, limits := make([]*deviceWorker[T], len(devices)), make([]tiles.Worker, len(devices))
	for w, d := range devices {
		workers[w] = &deviceWorker[T]{job: j, d: d, w: w}
		limits[w] = workers[w].limits()
	}
	return workers, tiles.New(rows, cols, granularity, limits)
}

// limits is what the pool has to know of the device. For one that gets copies it chooses how.
func (c *deviceWorker[T]) limits() (w tiles.Worker) {
	d := c.d
	if c.part != nil {
		return tiles.Worker{MaxRows: c.most}
	}
	d.mu.RLock()
	rate, used := d.rates[c.rateKey()]
	d.mu.RUnlock()
	w.Rate, w.Cold = rate/float64(c.k), !used
	if c.inCopies(d) {
		budget := d.limit.of(d.info.Memory)
		if d.sharesMemory() { // which the matrices are in as well
			budget = min(budget, d.info.MaxAlloc/2)
		}
		g := fit(c.job, budget, d.info.MaxAlloc)
		c.geometry = &g
		w.MaxRows, w.MaxCols = g.rows, g.cols
	}
	return w
}

// work lets the devices compute until there are no more tiles, and reports progress. It returns the
// error of each.
func (j *job[T]) work(ctx context.Context, workers []*deviceWorker[T], pool *tiles.Pool) []error {
	report, all := progress(ctx), pool.Left()
	errs := make([]error, len(workers))
	tick, finished := make(chan struct{}, 1), make(chan struct{})
	inner := WithProgress(ctx, nil)
	var wait sync.WaitGroup
	for w, c := range workers {
		c.pool, c.tick = pool, tick
		wait.Go(func() {
			if errs[w] = c.serve(inner); errs[w] != nil {
				pool.Fail(w)
			}
			c.d.account(c.elements, errs[w])
		})
	}
	go func() {
		wait.Wait()
		close(finished)
	}()
	stop := context.AfterFunc(ctx, pool.Stop)
	defer stop()
	for running := true; running; {
		select {
		case <-tick:
		case <-finished:
			running = false
		}
		if left := pool.Left(); report != nil && ctx.Err() == nil && (running || left == 0) {
			report(1 - float64(left)/float64(all))
		}
	}
	return errs
}

// keepRates notes the devices' rates for later calls.
func (j *job[T]) keepRates(workers []*deviceWorker[T], pool *tiles.Pool) {
	if j.part != nil {
		return
	}
	for w, c := range workers {
		if r := pool.Rate(w); r > 0 || c.elements > 0 {
			c.d.mu.Lock()
			c.d.rates[j.rateKey()] = r * float64(j.k)
			c.d.mu.Unlock()
		}
	}
}

func (j *job[T]) rateKey() rateKey { return rateKey{j.op, element.TypeOf[T]()} }

// account notes what a device has done.
func (s *core) account(elements int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.elements += int64(elements)
	s.failed = err
}

// A deviceWorker is what one device has of a job.
type deviceWorker[T Element] struct {
	*job[T]
	d        *Session
	w        int // its number in the pool
	pool     *tiles.Pool
	tick     chan struct{} // something is done
	elements int           // that the device has computed

	geometry *geometry // of tiles that come in copies; nil where the device works on the host's memory
}

func (c *deviceWorker[T]) serve(ctx context.Context) error {
	if c.geometry != nil {
		return c.pipeline(ctx)
	}
	for {
		t, ok := c.pool.Next(c.w)
		if !ok {
			return nil
		}
		if err := c.tile(ctx, t); err != nil {
			return err
		}
		c.done(t.Rows, c.width(t))
	}
}

// width is the number of elements in a row of a tile.
func (c *deviceWorker[T]) width(t tiles.Tile) int {
	if c.part != nil {
		return c.matrices[0].Rows / c.count * c.matrices[0].Cols
	}
	return t.Cols
}

// done says that the next rows of the first tile are in C.
func (c *deviceWorker[T]) done(rows, width int) {
	c.elements += rows * width
	c.pool.Done(c.w, rows)
	select {
	case c.tick <- struct{}{}:
	default:
	}
}

// tile computes a tile by a call of its own, which leaves C as it was if it fails. A device that
// has to be told of C's memory is not told of what others write to.
func (c *deviceWorker[T]) tile(ctx context.Context, t tiles.Tile) error {
	x := c.call
	if c.part != nil {
		x = c.part(t.Row, t.Rows)
	} else {
		for i := range x.matrices[:x.n] {
			x.matrices[i] = c.block(i, t, 0, c.k)
		}
	}
	dst := x.matrices[0]
	apart := c.op.readsC(&c.call) || c.part == nil && !c.d.registersFreely()
	for _, m := range x.matrices[1:x.n] {
		apart = apart || shareElements(dst, m)
	}
	if apart {
		x.matrices[0] = dst.Packed()
	}
	x.makesC, x.isTile = false, true
	if _, err := x.run(ctx, c.d); err != nil {
		return err
	}
	if apart {
		copyElements(dst, x.matrices[0])
	}
	return nil
}

// block is the part of matrix i, as it lies in memory, that tile t needs of the products' steps k
// to l-1.
func (j *job[T]) block(i int, t tiles.Tile, k, l int) Matrix[T] {
	if i > 0 {
		t = j.op.region(i, t, k, l)
	}
	if i > 0 && j.op.transposed(&j.call, i) {
		t = tiles.Tile{Row: t.Col, Col: t.Row, Rows: t.Cols, Cols: t.Rows}
	}
	return j.matrices[i].Slice(t.Row, t.Row+t.Rows, t.Col, t.Col+t.Cols)
}

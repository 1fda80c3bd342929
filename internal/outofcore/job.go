package outofcore

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/tiles"
)

// A Job is an operation on matrices in the host's memory, which is done by tiles of the result.
type Job struct {
	Shape
	Work
	ElementSize int   // bytes
	Largest     int64 // bytes of the largest matrix, with the gaps between its rows
	Continues   bool  // the chains begin with what the result has
	Key         any   // a rate of a device is that of jobs with one key
	// Batch, if not 0, tells that a row of the result, which has one column, stands for a product
	// of so many elements. BatchRows is how many a tile has at most. None goes through a pipeline.
	Batch, BatchRows int
}

// Work is what a job does on its devices, which are called by their number. Methods are called by
// several goroutines at a time.
type Work interface {
	// Tile computes a tile, from the host's memory to the host's memory. The result is as it was
	// where it fails.
	Tile(ctx context.Context, device int, t tiles.Tile) error

	// Load fills mem with region r of operand i: row after row, without gaps.
	Load(mem []byte, i int, r tiles.Tile)
	// Step enqueues the steps from k on, of which the inputs' panels are the regions: the result
	// becomes, or from the second step on continues, panel 0.
	Step(device int, q *backend.Queue, k int, panels [3]Panel) error
	// Store makes a tile of the result of what all steps have computed, row after row.
	Store(t tiles.Tile, mem []byte)
}

// Granularity is what rows and columns of tiles are multiples of.
var Granularity = 64

// Shrink makes tiles, panels and staging memory small, until restore is called. It is for tests.
func Shrink(granularity, depth, staging int) (restore func()) {
	g, d, s := Granularity, panelDepth, stagingBytes
	Granularity, panelDepth, stagingBytes = granularity, depth, staging
	return func() { Granularity, panelDepth, stagingBytes = g, d, s }
}

// Run shares the tiles out to the devices and waits for them. What one that fails had goes to the
// others. If report is not nil, it is called with the finished fraction as the work goes on, from
// the goroutine that called Run.
func (j *Job) Run(ctx context.Context, report func(fraction float64), devices []*Device) error {
	workers, pool := j.workers(devices)
	errs := j.work(ctx, report, workers, pool)
	switch {
	case len(errs) == 1 && errs[0] != nil:
		return errs[0]
	case pool.Left() > 0:
		return cmp.Or(context.Cause(ctx), errors.Join(errs...))
	case j.Batch == 0:
		j.keepRates(workers, pool)
	}
	return nil
}

// workers are the devices' parts of the job, and the pool of its tiles.
func (j *Job) workers(devices []*Device) ([]*worker, *tiles.Pool) {
	workers, limits := make([]*worker, len(devices)), make([]tiles.Worker, len(devices))
	for n, d := range devices {
		workers[n] = &worker{Job: j, d: d, n: n}
		limits[n] = workers[n].limits()
	}
	granularity := Granularity
	if j.Batch > 0 {
		granularity = 1
	}
	return workers, tiles.New(j.Rows, j.Cols, granularity, limits)
}

// limits is what the pool has to know of the device. For one that gets copies it chooses how.
func (w *worker) limits() (l tiles.Worker) {
	if w.Batch > 0 {
		return tiles.Worker{MaxRows: w.BatchRows}
	}
	rate, known := w.d.rate(w.Key)
	l.Rate, l.Cold = rate/float64(w.Steps), !known
	if w.d.TakesCopies(w.Largest) {
		budget := w.d.Budget()
		if w.d.SharesMemory() { // which the matrices are in as well
			budget = min(budget, w.d.info.MaxAlloc/2)
		}
		g := w.fitBytes(budget, w.d.info.MaxAlloc)
		w.geometry = &g
		l.MaxRows, l.MaxCols = g.rows, g.cols
	}
	return l
}

// work lets the devices compute until there are no more tiles, and reports progress. It returns the
// error of each.
func (j *Job) work(ctx context.Context, report func(float64), workers []*worker, pool *tiles.Pool) []error {
	all, errs := pool.Left(), make([]error, len(workers))
	tick, finished := make(chan struct{}, 1), make(chan struct{})
	var wait sync.WaitGroup
	for n, w := range workers { // one after the other: jobs at once would wait for each other's
		w.pool, w.tick = pool, tick
		if w.geometry != nil {
			w.own, errs[n] = w.d.takePipeline(ctx)
		}
	}
	for n, w := range workers {
		wait.Go(func() {
			if errs[n] == nil {
				errs[n] = w.serve(ctx)
			}
			if errs[n] != nil {
				pool.Fail(n)
			}
			w.d.Account(w.elements, errs[n])
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

// keepRates notes the devices' rates for later jobs.
func (j *Job) keepRates(workers []*worker, pool *tiles.Pool) {
	for n, w := range workers {
		if r := pool.Rate(n); r > 0 || w.elements > 0 {
			w.d.keepRate(j.Key, r*float64(j.Steps))
		}
	}
}

// A worker is what one device has of a job.
type worker struct {
	*Job
	d        *Device
	n        int // its number
	pool     *tiles.Pool
	tick     chan struct{} // something is done
	elements int           // that the device has computed

	// of tiles that come in copies, and what they come through; nil where the device works on the
	// host's memory
	geometry *geometry
	own      *pipeline
}

func (w *worker) serve(ctx context.Context) error {
	if w.geometry != nil {
		return w.pipelined(ctx)
	}
	for {
		t, ok := w.pool.Next(w.n)
		if !ok {
			return nil
		}
		if err := w.Tile(ctx, w.n, t); err != nil {
			return err
		}
		w.done(t.Rows, t.Cols)
	}
}

// done says that the next rows of the first tile are in the result.
func (w *worker) done(rows, cols int) {
	w.elements += rows * cols * max(1, w.Batch)
	w.pool.Done(w.n, rows)
	select {
	case w.tick <- struct{}{}:
	default:
	}
}

// Package tune searches the fastest parameters of the kernels: what `tandem tune` runs.
package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/bench/internal/measure"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// Options say what Run searches.
type Options struct {
	Backend string         // as linalg.Open takes it
	Types   []element.Type // nil: all
	Sizes   []int          // n of products n by n by n, and of transposes; nil: what suits the device
	Trials  int            // the most candidates for one kernel, type and size; 0: as many as the time allows
	Limit   time.Duration  // the search ends about then; 0: 5 minutes

	// Progress, if not nil, learns what begins, and how much of all is done.
	Progress func(what string, fraction float64)

	// Store, if not nil, is called whenever something was found, with all that was found so far.
	// What it stores should be used by the process from then on, so that crossovers are those of
	// tuned kernels.
	Store func(*tuning.Record) error

	crossings int  // for tests: the most sizes that a crossover is looked for among; 0: all
	onCPU     bool // for tests: search on the cpu device, too
}

// Validate returns nil when the options make sense, or says which does not.
func (o *Options) Validate() error {
	switch {
	case o.Trials < 0:
		return fmt.Errorf("the number of trials must not be negative")
	case o.Limit < 0:
		return fmt.Errorf("the time limit must not be negative")
	}
	return measure.ValidateSizes(o.Sizes)
}

// A Report is what Run found.
type Report struct {
	Device  backend.Info  `json:"device"`
	Tuning  tuning.Record `json:"tuning"`
	Before  []Before      `json:"before"` // what the winners are compared with
	Notes   []string      `json:"notes"`  // what was left out, and why
	Seconds float64       `json:"seconds"`
}

// Before is what the parameters took that were chosen before the search.
type Before struct {
	Kernel  string  `json:"kernel"` // "matmul" or "transpose"
	Type    string  `json:"type"`
	N       int     `json:"n"`
	Seconds float64 `json:"seconds"` // of a run, in the median
}

// A run is one of Run.
type run struct {
	ctx    context.Context
	s      *linalg.Session
	o      Options
	report *Report

	prebuilt bool // the device runs nothing but kernels that come compiled
	// time takes a sample: the seconds of a run.
	time func(c *measure.Contender, runs int) (float64, error)
}

// Run searches the parameters with which products and transposes are fastest on the device that
// o.Backend names, and the sizes from which the device is not slower than the host. It takes
// o.Limit, and wants the machine for itself.
//
// A search begins with the parameters that ship with the program and goes on to their neighbours,
// one step in one parameter at a time, as long as that gains something (coordinate descent). Every
// candidate must give the contract's bits, on a product off all tiles and on the one that is timed.
// One that is clearly slower in its first sample is dropped; any other takes turns with the best so
// far.
//
// When ctx is done, the report has what was found until then, beside the error of ctx.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s, err := linalg.Open(o.Backend)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r := newRun(ctx, o, s)
	start := time.Now()
	err = r.tasks(start)
	r.report.Seconds = time.Since(start).Seconds()
	return r.report, err
}

func newRun(ctx context.Context, o Options, s *linalg.Session) *run {
	info := s.Info()
	if o.Types == nil {
		o.Types = element.Types()
	}
	o.Limit = cmp.Or(o.Limit, 5*time.Minute)
	r := &run{ctx: ctx, s: s, o: o, report: &Report{Device: info, Before: []Before{}, Notes: []string{}}}
	r.time = func(c *measure.Contender, runs int) (float64, error) {
		d, err := c.Take(runs)
		return d.Seconds() / float64(runs), err
	}
	r.report.Tuning = tuning.Record{
		Device: tuning.DeviceIDOf(&info), Tandem: measure.Version(),
		MatMul: []tuning.Tuned[kernels.MatMulParams]{}, Transpose: []tuning.Tuned[kernels.TransposeParams]{},
		Crossover: []tuning.Crossing{},
	}
	return r
}

// A task is one search. It ends soon after until.
type task struct {
	title string
	run   func(until time.Time) error
}

// tasks runs all searches, each of which gets its share of the time that is left.
func (r *run) tasks(start time.Time) error {
	all := r.list()
	deadline := start.Add(r.o.Limit)
	for i, task := range all {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		now := time.Now()
		if !now.Before(deadline) {
			r.note("%s: left out, as the time limit of %v is over", task.title, r.o.Limit)
			continue
		}
		r.tell(task.title, i, len(all))
		err := task.run(now.Add(deadline.Sub(now) / time.Duration(len(all)-i)))
		if errors.Is(err, backend.ErrOutOfMemory) {
			r.note("%s: left out: %v", task.title, err)
			err = nil
		}
		if e := r.store(); e != nil {
			return e
		}
		if err != nil {
			return err
		}
	}
	r.tell("done", len(all), len(all))
	return nil
}

// store hands on what was found, if anything was.
func (r *run) store() error {
	t := &r.report.Tuning
	if r.o.Store == nil || len(t.MatMul)+len(t.Transpose)+len(t.Crossover) == 0 {
		return nil
	}
	t.Date = time.Now().UTC().Truncate(time.Second)
	return r.o.Store(t)
}

func (r *run) tell(what string, done, all int) {
	if r.o.Progress != nil {
		r.o.Progress(what, float64(done)/float64(max(all, 1)))
	}
}

func (r *run) note(format string, v ...any) {
	r.report.Notes = append(r.report.Notes, fmt.Sprintf(format, v...))
}

// searches are those of one element type.
type searches struct {
	transpose, matMul func(r *run, n int, until time.Time) error
	crossover         func(r *run, until time.Time) error
}

func searchesOf[T linalg.Element]() searches { return searches{transpose[T], matMul[T], crossover[T]} }

// list is the searches: transposes first, which are short, crossovers last, as they are those of
// tuned kernels.
func (r *run) list() (all []task) {
	info := r.s.Info()
	if info.Host && !r.o.onCPU {
		r.note("there is nothing to search: the cpu device runs the host's own code, which has no parameters")
		return nil
	}
	var products, crossovers []task
	for _, t := range r.o.Types {
		if !kernels.Supports(&info, t) {
			r.note("%s: the device does not keep the numerics contract in it (%s)", t, info.Note)
			continue
		}
		s := element.ByType(t, searchesOf[float32], searchesOf[float64], searchesOf[int32])()
		for _, n := range r.sizes(1024, 4096) {
			all = append(all, task{
				fmt.Sprintf("%s transpose %dx%d", t, n, n),
				func(until time.Time) error { return s.transpose(r, n, until) },
			})
		}
		sizes := []int{64, 256, 1024, 2048}
		if info.GPU {
			sizes = []int{256, 1024, 4096}
		}
		for _, n := range r.sizes(sizes...) {
			products = append(products, task{
				fmt.Sprintf("%s product %dx%dx%d", t, n, n, n),
				func(until time.Time) error { return s.matMul(r, n, until) },
			})
		}
		if !info.Host { // whose products are the host's own
			crossovers = append(crossovers, task{
				fmt.Sprintf("%s crossover with the host", t),
				func(until time.Time) error { return s.crossover(r, until) },
			})
		}
	}
	return append(append(all, products...), crossovers...)
}

func (r *run) sizes(usual ...int) []int {
	if r.o.Sizes != nil {
		return r.o.Sizes
	}
	return usual
}

func matMul[T linalg.Element](r *run, n int, until time.Time) error {
	t, info := element.TypeOf[T](), r.s.Info()
	large, odd := measure.RandomProduct[T](n, n, n), measure.RandomProduct[T](131, 197, 83)
	var on [2]measure.Arrays[T]
	var results [2]*measure.Result
	products := []*measure.Product[T]{odd, large}
	for i, p := range products {
		results[i] = p.Result(measure.NewReference(p, measure.CheckOperations()/10).Verify)
		var err error
		if on[i], err = p.Upload(r.s); err != nil {
			return err
		}
		defer on[i].Free()
	}
	return keep(r, "matmul", n, &r.report.Tuning.MatMul, space[kernels.MatMulParams]{
		seeds: tuning.MatMulSeeds(&info, t, n),
		neighbours: func(p kernels.MatMulParams) []kernels.MatMulParams {
			return tuning.MatMulNeighbours(&info, t, p)
		},
		source: func(p kernels.MatMulParams) *backend.Source { return kernels.MatMul(t, p) },
		contenders: func(k *backend.Kernel, params kernels.MatMulParams) (list []*measure.Contender) {
			for i, p := range products {
				x, g := on[i].Operands(), kernels.MatMulGrid(params, p.M, p.N)
				args := kernels.MatMulArgs(nil, p.M, p.N, p.K, T(1), x[0], x[1], T(0), x[2])
				list = append(list, measure.OnDevice(results[i], "", r.s, on[i][2], p.C,
					func() error { return r.s.Queue().Launch(k, g, args...) }))
			}
			return list
		},
	}, t, until)
}

func transpose[T linalg.Element](r *run, n int, until time.Time) error {
	t, info := element.TypeOf[T](), r.s.Info()
	moves := []*measure.Move[T]{measure.NewMove[T](213), measure.NewMove[T](n)}
	var on [2]measure.Arrays[T]
	for i, m := range moves {
		var err error
		if on[i], err = m.Upload(r.s); err != nil {
			return err
		}
		defer on[i].Free()
	}
	return keep(r, "transpose", n, &r.report.Tuning.Transpose, space[kernels.TransposeParams]{
		seeds: tuning.TransposeSeeds(&info, t, n),
		neighbours: func(p kernels.TransposeParams) []kernels.TransposeParams {
			return tuning.TransposeNeighbours(&info, t, p)
		},
		source: func(p kernels.TransposeParams) *backend.Source { return kernels.Transpose(t, p) },
		contenders: func(k *backend.Kernel, params kernels.TransposeParams) (list []*measure.Contender) {
			for i, m := range moves {
				x, g := on[i].Operands(), kernels.TransposeGrid(params, m.N, m.N)
				args := kernels.TransposeArgs(nil, m.N, m.N, x[0], x[1])
				list = append(list, measure.OnDevice(m.Result(m.Transposed), "", r.s, on[i][1], m.Dst,
					func() error { return r.s.Queue().Launch(k, g, args...) }))
			}
			return list
		},
	}, t, until)
}

// keep searches, and adds what won to list.
func keep[P comparable](r *run, kernel string, n int, list *[]tuning.Tuned[P], sp space[P], t element.Type,
	until time.Time,
) error {
	won, before, err := search(r, sp, until)
	if won != nil {
		won.Type, won.N = t.String(), n
		*list = append(*list, *won)
		r.report.Before = append(r.report.Before, Before{kernel, t.String(), n, before})
	}
	return err
}

// crossingSizes are the n of the products that a crossover is looked for among. A smaller product
// takes the host less than the calls that bring it to a device. A device that is a processor gains
// nothing more beyond the size at which calls and copies no longer count.
func (r *run) crossingSizes() []int {
	all := []int{64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096}
	switch {
	case r.o.crossings > 0:
		return all[:r.o.crossings]
	case !r.s.Info().GPU:
		return all[:9]
	}
	return all
}

// crossover finds the size from which products from host memory to host memory are not slower on
// the device than by the host's own code.
func crossover[T linalg.Element](r *run, until time.Time) error {
	c, done, err := tuning.FindCrossing(element.TypeOf[T](), r.crossingSizes(),
		func(n int) (device, onHost func() error) {
			p := measure.RandomProduct[T](n, n, n)
			a, b, c := linalg.NewMatrix(n, n, p.A), linalg.NewMatrix(n, n, p.B), linalg.NewMatrix(n, n, p.C)
			device = func() error {
				err := linalg.Gemm(1, blas.NoTrans, a, blas.NoTrans, b, 0, c, linalg.On(r.s))
				return cmp.Or(err, r.ctx.Err())
			}
			return device, func() error {
				host.Gemm(n, n, n, 1, p.A, n, p.B, n, 0, p.C, n)
				return r.ctx.Err()
			}
		},
		func() bool { return !time.Now().Before(until) })
	switch {
	case err != nil:
		return cmp.Or(r.ctx.Err(), err)
	case !done:
		r.note("%s crossover with the host: not found in the time that there was", element.TypeOf[T]())
		return nil
	}
	r.report.Tuning.Crossover = append(r.report.Tuning.Crossover, c)
	return nil
}

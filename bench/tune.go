package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// TuneOptions say what Tune searches.
type TuneOptions struct {
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
func (o *TuneOptions) Validate() error {
	if o.Trials < 0 {
		return fmt.Errorf("the number of trials must not be negative")
	}
	same := Options{Sizes: o.Sizes, Limit: o.Limit}
	return same.Validate()
}

// A TuneReport is what Tune found.
type TuneReport struct {
	Device  backend.Info  `json:"device"`
	Tuning  tuning.Record `json:"tuning"`
	Before  []TunedBefore `json:"before"` // what the winners are compared with
	Notes   []string      `json:"notes"`  // what was left out, and why
	Seconds float64       `json:"seconds"`
}

// TunedBefore is what the parameters took that were chosen before the search.
type TunedBefore struct {
	Kernel  string  `json:"kernel"` // "matmul" or "transpose"
	Type    string  `json:"type"`
	N       int     `json:"n"`
	Seconds float64 `json:"seconds"` // of a run, in the median
}

// A tuneRun is one run of Tune.
type tuneRun struct {
	ctx context.Context
	s   *linalg.Session
	o   TuneOptions
	timing
	report *TuneReport

	// the device runs nothing but kernels that come compiled
	prebuilt bool
	time     func(c *contender, runs int) (sec float64, err error) // takes a sample: the seconds of a run
}

// Tune searches the parameters with which products and transposes are fastest on the device that
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
func Tune(ctx context.Context, o TuneOptions) (*TuneReport, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s, err := linalg.Open(o.Backend)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r := newTuneRun(ctx, o, s)
	start := time.Now()
	err = r.tasks(start)
	r.report.Seconds = time.Since(start).Seconds()
	return r.report, err
}

func newTuneRun(ctx context.Context, o TuneOptions, s *linalg.Session) *tuneRun {
	info := s.Info()
	if o.Types == nil {
		o.Types = element.Types()
	}
	if o.Limit == 0 {
		o.Limit = 5 * time.Minute
	}
	r := &tuneRun{
		ctx: ctx, s: s, o: o, timing: timing{sample: 10 * time.Millisecond},
		report: &TuneReport{Device: info, Before: []TunedBefore{}, Notes: []string{}},
	}
	r.time = r.take
	r.report.Tuning = tuning.Record{
		Device: tuning.DeviceIDOf(&info), Tandem: version(),
		MatMul: []tuning.Tuned[kernels.MatMulParams]{}, Transpose: []tuning.Tuned[kernels.TransposeParams]{},
		Crossover: []tuning.Crossing{},
	}
	return r
}

// A tuneTask is one search. It ends soon after until.
type tuneTask struct {
	title string
	run   func(until time.Time) error
}

// tasks runs all searches, each of which gets its share of the time that is left.
func (r *tuneRun) tasks(start time.Time) error {
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
func (r *tuneRun) store() error {
	t := &r.report.Tuning
	if r.o.Store == nil || len(t.MatMul)+len(t.Transpose)+len(t.Crossover) == 0 {
		return nil
	}
	t.Date = time.Now().UTC().Truncate(time.Second)
	return r.o.Store(t)
}

func (r *tuneRun) tell(what string, done, all int) {
	if r.o.Progress != nil {
		r.o.Progress(what, float64(done)/float64(max(all, 1)))
	}
}

func (r *tuneRun) note(format string, v ...any) {
	r.report.Notes = append(r.report.Notes, fmt.Sprintf(format, v...))
}

// list is the searches: transposes first, which are short, crossovers last, as they are those of
// tuned kernels.
func (r *tuneRun) list() (all []tuneTask) {
	info := r.s.Info()
	if info.Host && !r.o.onCPU {
		r.note("there is nothing to search: the cpu device runs the host's own code, which has no parameters")
		return nil
	}
	var types []element.Type
	for _, t := range r.o.Types {
		if kernels.Supports(&info, t) {
			types = append(types, t)
		} else {
			r.note("%s: the device does not keep the numerics contract in it (%s)", t, info.Note)
		}
	}
	for _, t := range types {
		search := in(t).tuneTranspose
		for _, n := range r.tuneSizes([]int{1024, 4096}) {
			all = append(all, tuneTask{
				fmt.Sprintf("%s transpose %dx%d", t, n, n),
				func(until time.Time) error { return search(r, n, until) },
			})
		}
	}
	for _, t := range types {
		search := in(t).tuneMatMul
		for _, n := range r.tuneSizes(r.productSizes()) {
			all = append(all, tuneTask{
				fmt.Sprintf("%s product %dx%dx%d", t, n, n, n),
				func(until time.Time) error { return search(r, n, until) },
			})
		}
	}
	if info.Host {
		return all // its products are the host's own
	}
	for _, t := range types {
		all = append(all, tuneTask{fmt.Sprintf("%s crossover with the host", t), func(until time.Time) error {
			return in(t).tuneCrossover(r, until)
		}})
	}
	return all
}

func (r *tuneRun) tuneSizes(usual []int) []int {
	if r.o.Sizes != nil {
		return r.o.Sizes
	}
	return usual
}

func (r *tuneRun) productSizes() []int {
	if r.s.Info().GPU {
		return []int{256, 1024, 4096}
	}
	return []int{64, 256, 1024, 2048}
}

func tuneMatMul[T linalg.Element](r *tuneRun, n int, until time.Time) error {
	t, info := element.TypeOf[T](), r.s.Info()
	p := randomProblem[T](n, n, n)
	d, err := newOnDevice(r.s, p, newReference(p, checkOperations()/10))
	if err != nil {
		return r.noRoom(err, "%s product %dx%dx%d", t, n, n, n)
	}
	defer d.free()
	odd := randomProblem[T](131, 197, 83)
	e, err := newOnDevice(r.s, odd, newReference(odd, checkOperations()))
	if err != nil {
		return err
	}
	defer e.free()
	launch := func(d *onDevice[T], k *backend.Kernel, p kernels.MatMulParams) *contender {
		return d.contender(nameFast, func() error {
			args := kernels.MatMulArgs(nil, d.p.m, d.p.n, d.p.k, T(1), operand(d.a), operand(d.b), T(0),
				operand(d.c))
			return d.s.Queue().Launch(k, kernels.MatMulGrid(p, d.p.m, d.p.n), args...)
		})
	}
	won, before, err := search(r, space[kernels.MatMulParams]{
		seeds: tuning.MatMulSeeds(&info, t, n),
		neighbours: func(p kernels.MatMulParams) []kernels.MatMulParams {
			return tuning.MatMulNeighbours(&info, t, p)
		},
		source: func(p kernels.MatMulParams) *backend.Source { return kernels.MatMul(t, p) },
		contenders: func(k *backend.Kernel, p kernels.MatMulParams) []*contender {
			return []*contender{launch(e, k, p), launch(d, k, p)}
		},
	}, until)
	if won != nil {
		won.Type, won.N = t.String(), n
		r.report.Tuning.MatMul = append(r.report.Tuning.MatMul, *won)
		r.report.Before = append(r.report.Before, TunedBefore{"matmul", t.String(), n, before})
	}
	return err
}

func tuneTranspose[T linalg.Element](r *tuneRun, n int, until time.Time) error {
	t, info := element.TypeOf[T](), r.s.Info()
	x, err := newTransposition[T](r.s, n)
	if err != nil {
		return r.noRoom(err, "%s transpose %dx%d", t, n, n)
	}
	defer x.free()
	odd, err := newTransposition[T](r.s, 213)
	if err != nil {
		return err
	}
	defer odd.free()
	launch := func(x *transposition[T], k *backend.Kernel, p kernels.TransposeParams) *contender {
		return x.contender(nameFast, x.transposed, func() error {
			return x.enqueue(k, kernels.TransposeGrid(p, x.n, x.n))
		})
	}
	won, before, err := search(r, space[kernels.TransposeParams]{
		seeds: tuning.TransposeSeeds(&info, t, n),
		neighbours: func(p kernels.TransposeParams) []kernels.TransposeParams {
			return tuning.TransposeNeighbours(&info, t, p)
		},
		source: func(p kernels.TransposeParams) *backend.Source { return kernels.Transpose(t, p) },
		contenders: func(k *backend.Kernel, p kernels.TransposeParams) []*contender {
			return []*contender{launch(odd, k, p), launch(x, k, p)}
		},
	}, until)
	if won != nil {
		won.Type, won.N = t.String(), n
		r.report.Tuning.Transpose = append(r.report.Tuning.Transpose, *won)
		r.report.Before = append(r.report.Before, TunedBefore{"transpose", t.String(), n, before})
	}
	return err
}

// noRoom notes a search whose data do not fit the device, and passes on any other error.
func (r *tuneRun) noRoom(err error, format string, v ...any) error {
	if errors.Is(err, backend.ErrOutOfMemory) {
		r.note("%s: left out: %v", fmt.Sprintf(format, v...), err)
		return nil
	}
	return err
}

package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/bench/internal/measure"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/linalg/gonumblas"
)

// Options say what Run measures.
type Options struct {
	Backend string         // as linalg.Open takes it
	Command []string       // for the report
	Types   []element.Type // nil: all
	Sizes   []int          // n of products n by n by n, of matrices n by n, and of arrays; nil: what suits the device
	Only    []string       // of Groups, what is measured; nil: the first three
	By      []string       // the names of the contenders that are measured; nil: all
	Peers   bool           // other libraries, too
	Quick   bool           // small sizes and short samples: whether everything works, not how fast it is
	Rounds  int            // samples of a contender; 0: 7, or 5 with Quick
	Limit   time.Duration  // what is not begun by then is left out; 0: 20 minutes

	// Lines, if not nil, gets every sample in Go's benchmark format, and Table a table in Markdown:
	// each row as soon as it is measured.
	Lines, Table io.Writer
	// Progress, if not nil, learns what begins, and how much of all is done.
	Progress func(what string, fraction float64)

	open func(device backend.Info) []*peer // for tests; nil: openPeers
}

// A group is rows of one kind, in float32, float64 and int32.
type group struct {
	name                    string
	single, double, integer func(*runner) []*task
}

var groups = []group{
	{"products", products[float32], products[float64], products[int32]},
	{"transposes", transposes[float32], transposes[float64], transposes[int32]},
	{"calls", calls[float32], calls[float64], calls[int32]},
	{"scaling", scaling[float32], scaling[float64], scaling[int32]},
	{"blas", blasRows[float32], blasRows[float64], nil},
	{"lapack", nil, lapackRows, nil},
	{"arrays", arrayRows[float32], arrayRows[float64], nil},
}

// Groups is what Options.Only may name: products, with the peaks of multiply-adds; transposes and
// elementwise operations, with copies; what calls cost; products over n and the number of threads;
// the levels of BLAS and the solvers, as gonum's users call them with package gonumblas; package
// array's functions on arrays of the device.
func Groups() (names []string) {
	for _, g := range groups {
		names = append(names, g.name)
	}
	return names
}

// Validate returns nil when the options make sense, or says which does not.
func (o *Options) Validate() error {
	if err := measure.ValidateSizes(o.Sizes); err != nil {
		return err
	}
	for _, name := range o.Only {
		if !slices.Contains(Groups(), name) {
			return fmt.Errorf("%s can be measured, not %q", strings.Join(Groups(), ", "), name)
		}
	}
	switch {
	case o.Rounds < 0:
		return fmt.Errorf("the rounds must not be negative")
	case o.Limit < 0:
		return fmt.Errorf("the time limit must not be negative")
	}
	return nil
}

// A runner is one run of the benchmark.
type runner struct {
	ctx    context.Context
	o      Options
	report *Report

	rounds   int
	sample   time.Duration // that a sample lasts at least
	rest     time.Duration // before each sample
	limit    time.Duration // of a single run
	deadline time.Time

	s     *linalg.Session // on the device
	host  *linalg.Session // on the cpu device; nil where that is the device
	twin  *linalg.Session // on the same GPU through OpenCL, where the device is CUDA's; else nil
	blas  *openBLASTable  // nil without OpenBLAS
	peers []*peer
	rates map[string]float64 // work a second of a contender at its last size, by kind of row and name

	names map[string]bool // of contenders that there are, where some were asked for
}

// quickLimit is how long a run may last of a quick report, and textbookLimit one of the kernels
// that are there for comparison, which do not get faster with n. Tests on slow machines have more.
var quickLimit, textbookLimit = time.Second, time.Second

// Run measures the device that o.Backend names. It takes minutes, and wants the machine for itself.
// The error is that of opening the device, of writing, or that of ctx; the report then has what was
// measured until then. What goes wrong with single contenders is in the report: see
// [Report.Failures].
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	r := newRunner(ctx, o)
	if err := r.openAll(); err != nil {
		return nil, err
	}
	defer r.closeAll()
	err := r.begin()
	if err == nil {
		err = r.all()
	}
	r.note("load at the end %s", load())
	return r.report, cmp.Or(err, r.end())
}

func newRunner(ctx context.Context, o Options) *runner {
	r := &runner{
		ctx: ctx, o: o, report: &Report{Config: map[string]string{}, Notes: []string{}, Rows: []Row{}},
		rounds: 7, sample: 20 * time.Millisecond, rest: 50 * time.Millisecond, limit: 5 * time.Second,
		rates: map[string]float64{}, names: map[string]bool{},
	}
	if o.Quick {
		r.rounds, r.sample, r.rest, r.limit = 5, time.Millisecond, 0, quickLimit
	}
	r.rounds = cmp.Or(o.Rounds, r.rounds)
	r.o.Limit = cmp.Or(o.Limit, 20*time.Minute)
	r.deadline = time.Now().Add(r.o.Limit)
	if o.Only == nil {
		r.o.Only = Groups()[:3]
	}
	if o.Types == nil {
		r.o.Types = element.Types()
	}
	if o.open == nil {
		r.o.open = r.openPeers
	}
	return r
}

func (r *runner) openAll() (err error) {
	if r.s, err = linalg.Open(r.o.Backend); err != nil {
		return err
	}
	if !r.s.Info().Host {
		if r.host, err = linalg.Open("cpu"); err != nil {
			r.s.Close()
			return err
		}
	}
	if info := r.s.Info(); info.Driver == "cuda" {
		r.twin, err = openOpenCL(func(i backend.Info) bool { return i.GPU && i.Name == info.Name })
		if err != nil {
			r.note("the same GPU through OpenCL: left out: %v", err)
		}
	}
	if r.o.Peers {
		r.peers = r.o.open(r.s.Info())
	}
	return nil
}

// openOpenCL opens the first OpenCL device that is the one.
func openOpenCL(is func(backend.Info) bool) (*linalg.Session, error) {
	d := backend.Lookup("opencl")
	if d == nil {
		return nil, errors.New("this program has no OpenCL")
	}
	infos, err := d.Devices()
	if err != nil {
		return nil, fmt.Errorf("there is no OpenCL device: %w", err)
	}
	for _, i := range infos {
		if is(i) {
			return linalg.Open("opencl:" + strconv.Itoa(i.Index))
		}
	}
	return nil, errors.New("no OpenCL device is the same")
}

// A device is a session, and what its contender is called.
type device struct {
	name string
	s    *linalg.Session
}

// devices are the one that is measured, and those that it is compared with.
func (r *runner) devices() []device {
	all := []device{{nameFast, r.s}, {nameTwin, r.twin}, {nameCPU, r.host}}
	return slices.DeleteFunc(all, func(d device) bool { return d.s == nil })
}

func (r *runner) closeAll() {
	for _, p := range r.peers {
		if p.close != nil {
			p.close()
		}
	}
	for _, d := range r.devices() {
		d.s.Close()
	}
}

// all measures all rows.
func (r *runner) all() error {
	gonumblas.Use(r.s)
	defer gonumblas.Restore()
	var list []*task
	for _, g := range groups {
		if !slices.Contains(r.o.Only, g.name) {
			continue
		}
		for _, t := range r.o.Types {
			info := r.s.Info()
			rows := element.ByType(t, g.single, g.double, g.integer)
			switch {
			case rows == nil && len(r.o.Types) < len(element.Types()): // it was asked for
				r.note("%s: not measured in %s", g.name, t)
			case rows == nil:
			case !kernels.Supports(&info, t):
				r.note("%s: the device does not keep the numerics contract in it (%s)", t, info.Note)
			default:
				for _, row := range rows(r) {
					row.Group, row.Type = cmp.Or(row.Group, g.name), t.String()
					list = append(list, row)
				}
			}
		}
	}
	for i, t := range list {
		r.tell(t.Title(), float64(i)/float64(len(list)))
		if err := r.row(t); err != nil {
			return err
		}
	}
	r.tell("done", 1)
	return r.checkBy()
}

// checkBy notes the contenders that were asked for and were not there, and fails if these are all.
func (r *runner) checkBy() error {
	there := strings.Join(slices.Sorted(maps.Keys(r.names)), ", ")
	measured := slices.ContainsFunc(r.report.Rows, func(row Row) bool { return row.Group != groupPeaks })
	if r.o.By != nil && !measured {
		return fmt.Errorf("nothing was measured by %s; there are %s", strings.Join(r.o.By, ", "), there)
	}
	for _, name := range r.o.By {
		if !r.names[name] {
			r.note("nothing was measured by %s; there are %s", name, there)
		}
	}
	return nil
}

func (r *runner) tell(what string, fraction float64) {
	if r.o.Progress != nil {
		r.o.Progress(what, fraction)
	}
}

// note notes something, once.
func (r *runner) note(format string, v ...any) {
	if n := fmt.Sprintf(format, v...); !slices.Contains(r.report.Notes, n) {
		r.report.Notes = append(r.report.Notes, n)
	}
}

// A task is a row to measure, and what computes it.
type task struct {
	Row
	measure.Result
	arrays int     // how many there are on a device, for want of memory
	bytes  float64 // of each
	probe  bool    // it is measured once, to find out rates, and not reported

	ready      func(t *task) error // makes what follows, when its turn comes
	contenders []*measure.Contender
	calls      []call    // of libraries in this process, to the same memory
	numPy      string    // a statement that computes c, of the operands; "": none
	operands   []operand // as NumPy calls them
	out        []byte    // the result, for NumPy's c
	product    bool      // c = a*b, which libraries on devices compute
	free       []func()
}

// A call is a library's function.
type call struct {
	name string
	run  func(runs int) error
}

func (t *task) add(list ...*measure.Contender) { t.contenders = append(t.contenders, list...) }

// row measures a row, unless there is no time or no memory for it, and reports it.
func (r *runner) row(t *task) error {
	if !time.Now().Before(r.deadline) {
		r.note("%s: left out, as the time limit of %v is over", t.Title(), r.o.Limit)
		return nil
	}
	if !r.fits(t.arrays, t.bytes) {
		r.note("%s: left out, as it does not fit the memory", t.Title())
		return nil
	}
	defer func() {
		for _, free := range t.free {
			free()
		}
	}()
	err := t.ready(t)
	switch {
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case errors.Is(err, backend.ErrOutOfMemory) || errors.Is(err, backend.ErrUnsupported):
		r.note("%s: left out: %v", t.Title(), err)
		return nil
	case err != nil:
		t.Entries = []Entry{{Name: nameFast, Status: Failed, Note: err.Error()}}
	default:
		r.askPeers(t)
		if r.o.By != nil && !t.probe && t.Group != groupPeaks {
			t.contenders = slices.DeleteFunc(t.contenders, func(c *measure.Contender) bool {
				r.names[c.Name] = true
				return !slices.Contains(r.o.By, c.Name)
			})
		}
		err = r.measure(t)
	}
	if r.ctx.Err() == nil {
		err = nil // a failure, which the row has
	}
	if t.probe || !slices.ContainsFunc(t.Entries, func(e Entry) bool { return e.Status != Skipped }) {
		return err
	}
	return cmp.Or(r.add(t.Row), err)
}

// askPeers adds what other libraries compute.
func (r *runner) askPeers(t *task) {
	for _, p := range r.peers {
		if p.contender == nil {
			continue
		}
		c, err := p.contender(t)
		if err != nil {
			c = &measure.Contender{Name: p.name, Check: func() (measure.Check, error) { return measure.Check{}, err }}
		}
		if c != nil {
			c.Peer = true
			t.add(c)
		}
	}
}

// measure checks the contenders, takes samples of those that are right, by turns, and notes them in
// the row's entries. The error is that of ctx; entries then have the samples until then.
func (r *runner) measure(t *task) error {
	t.Entries = make([]Entry, len(t.contenders))
	var live []int
	for i, c := range t.contenders {
		t.Entries[i] = Entry{Name: c.Name, Peer: c.Peer, Status: Skipped, Note: "interrupted", Seconds: []float64{}}
		if r.ctx.Err() != nil {
			continue
		}
		if r.prepare(t, c, &t.Entries[i]); t.Entries[i].Status == OK {
			live = append(live, i)
		}
	}
	runtime.GC() // what the checks used should not be collected during the samples
	rounds := r.rounds
	if t.probe {
		rounds = 1
	}
	for round := range rounds {
		if round > 0 && !time.Now().Before(r.deadline) {
			r.note("%s: %d of %d samples, as the time limit of %v is over", t.Title(), round, rounds, r.o.Limit)
			break
		}
		for j := range live {
			i := live[(round+j)%len(live)] // each round begins with another one
			if e := &t.Entries[i]; r.ctx.Err() == nil && e.Status == OK {
				r.take(t.contenders[i], e)
			}
		}
	}
	for _, i := range live {
		if e := &t.Entries[i]; len(e.Seconds) == 0 && e.Status == OK {
			e.Status, e.Note = Skipped, "interrupted"
		} else if e.Status == OK && t.Work >= 1e7 { // smaller ones say little of larger ones
			r.rates[t.kind()+e.Name] = t.Work / e.Median()
		}
	}
	return r.ctx.Err()
}

// kind is what rows have in common whose contenders are as fast as each other's.
func (t *task) kind() string { return t.Type + " " + t.Name + " " }

// prepare checks a contender, and finds how many runs make a sample.
func (r *runner) prepare(t *task, c *measure.Contender, e *Entry) {
	limit := r.limit
	if c.Limit > 0 {
		limit = min(limit, c.Limit)
	}
	fail := func(status, format string, v ...any) { e.Status, e.Note = status, fmt.Sprintf(format, v...) }
	// What runs on a device cannot be ended: what will last too long does not begin.
	if rate := r.rates[t.kind()+c.Name]; rate > 0 && t.Work/rate > limit.Seconds() {
		fail(Skipped, "a run would take about %s, by its rate at another size; the limit is %v",
			formatTime(t.Work/rate), limit)
		return
	}
	check, err := c.Check()
	if err != nil {
		fail(Failed, "%v", err)
		return
	}
	if check.Wrong > 0 || check.Elements == 0 {
		fail(Wrong, "%d of %d elements are wrong", check.Wrong, check.Elements)
		return
	}
	e.Differ = float64(check.Differ) / float64(check.Elements)
	runs, first, err := c.Enough(r.sample, limit)
	switch {
	case err != nil:
		fail(Failed, "%v", err)
	case first > limit:
		fail(Skipped, "a run takes longer than %v", limit)
	default:
		e.Status, e.Note, e.Runs = OK, "", runs
	}
}

// take adds a sample. Before it the process rests, as threads of some libraries spin for a while
// after a call.
func (r *runner) take(c *measure.Contender, e *Entry) {
	time.Sleep(r.rest)
	d, err := c.Take(e.Runs)
	if err != nil {
		e.Status, e.Note, e.Seconds = Failed, err.Error(), []float64{}
		return
	}
	e.Seconds = append(e.Seconds, d.Seconds()/float64(e.Runs))
}

// fits tells whether arrays of so many bytes each fit the device, and as many the host, with room
// to spare.
func (r *runner) fits(arrays int, bytes float64) bool {
	d := r.s.Info()
	total := float64(arrays) * bytes
	if d.MaxAlloc > 0 && bytes > float64(d.MaxAlloc) || d.Memory > 0 && total > 0.8*float64(d.Memory) {
		return false
	}
	if r.host == nil || d.UnifiedMemory {
		total *= 2
	}
	memory := cmp.Or(float64(backend.HostInfo().Memory), math.Inf(1))
	return total <= 0.6*memory
}

// sizes are those of the options, or what is usual.
func (r *runner) sizes(quick []int, usual ...int) []int {
	switch {
	case r.o.Sizes != nil:
		return r.o.Sizes
	case r.o.Quick:
		return quick
	}
	return usual
}

package bench

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// Options say what Run measures.
type Options struct {
	Backend string         // as linalg.Open takes it
	Command []string       // for the report
	Types   []element.Type // nil: all
	Sizes   []int          // n of the products n by n by n and of the matrices to move; nil: what suits the device
	Only    []string       // of Parts, what is measured; nil: all
	Peers   bool           // other libraries, too
	Scaling bool           // the cost over the size and the number of threads, in place of everything else
	// Functions has the groups of functions to measure, of FunctionGroups, in place of everything
	// else; nil: none.
	Functions []string
	Quick     bool          // small sizes and short samples: whether everything works, not how fast it is
	Rounds    int           // samples of a contender, odd; 0: 7, or 5 with Quick
	Steady    bool          // up to four times as many, until the quartiles of each lie within 5 % of its median
	Limit     time.Duration // what is not begun by then is left out; 0: 20 minutes

	// Progress, if not nil, learns what begins, and how much of all is done.
	Progress func(what string, fraction float64)

	open func(device backend.Info, threads int) []*library // for tests; nil: openLibraries
}

const (
	partProducts   = "products"
	partTransposes = "transposes"
	partCalls      = "calls"
)

// Parts is what Options.Only may name: products, with the peaks of multiply-adds; transposes and
// elementwise operations, with copies; what calls cost.
func Parts() []string { return []string{partProducts, partTransposes, partCalls} }

func isFloat(t element.Type) bool { return !t.Integer() }

// MaxSize is the largest n of a product.
const MaxSize = 1 << 16

// Validate returns nil when the options make sense, or says which does not.
func (o *Options) Validate() error {
	for _, n := range o.Sizes {
		if n < 1 || n > MaxSize {
			return fmt.Errorf("a size must be 1 to %d, not %d", MaxSize, n)
		}
	}
	if o.Rounds != 0 && (o.Rounds < 5 || o.Rounds%2 == 0) {
		return fmt.Errorf("the rounds must be an odd number from 5 on, so that a sample is the median, not %d",
			o.Rounds)
	}
	for _, group := range o.Functions {
		if !slices.Contains(FunctionGroups(), group) {
			return fmt.Errorf("functions are %s, not %q", strings.Join(FunctionGroups(), ", "), group)
		}
	}
	for _, part := range o.Only {
		if !slices.Contains(Parts(), part) {
			return fmt.Errorf("only %s can be chosen, not %q", strings.Join(Parts(), ", "), part)
		}
	}
	if o.Functions != nil && o.Types != nil && !slices.ContainsFunc(o.Types, isFloat) {
		return fmt.Errorf("functions are measured in float32 and float64")
	}
	if o.Limit < 0 {
		return fmt.Errorf("the time limit must not be negative")
	}
	return nil
}

// A runner is one run of the benchmark.
type runner struct {
	ctx context.Context
	o   Options
	timing
	report   *Report
	deadline time.Time

	s    *linalg.Session // on the device
	host *linalg.Session // on the cpu device; nil where that is the device
	twin *linalg.Session // on the same GPU through OpenCL, where the device is CUDA's; else nil
	libs []*library

	rates       map[string]float64 // operations a second, of slow contenders at their last size
	done, steps int
}

// Run measures the device that o.Backend names. It takes minutes, and wants the machine for itself.
// The error is that of opening the device, or that of ctx; what goes wrong with single contenders
// is in the report: see [Report.Failures].
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	start := time.Now()
	r := &runner{ctx: ctx, o: o, rates: map[string]float64{}}
	r.setMethod()
	r.deadline = start.Add(r.o.Limit)
	r.report = &Report{
		Format: 1, Command: o.Command, Date: start.UTC().Truncate(time.Second), Version: version(), Machine: machine(),
		Method: Method{r.rounds, r.sample.Seconds(), r.rest.Seconds(), r.limit.Seconds(), o.Quick},
		Peers:  []PeerInfo{}, Peaks: []Peak{}, FirstCalls: []FirstCall{}, SmallCalls: []SmallCall{}, Products: []Row{},
		Transposes: []Row{}, Functions: []Row{}, Scaling: []Curve{}, Notes: []string{},
		LoadAtStart: loadAverage(), MHzAtStart: megahertz(),
	}
	stolen := stolenTime()
	if !r.o.Scaling && r.o.Functions == nil && r.measures(partCalls) { // before anything else is compiled or loaded
		if err := in(r.o.Types[0]).firstCalls(r); err != nil {
			return nil, err
		}
	}
	if err := r.openAll(); err != nil {
		return nil, err
	}
	defer r.closeAll()
	work := r.experiments
	switch {
	case r.o.Scaling:
		work = r.scaling
	case r.o.Functions != nil:
		work = r.functions
	}
	if err := work(); err != nil {
		return nil, err
	}
	r.report.LoadAtEnd, r.report.MHzAtEnd = loadAverage(), megahertz()
	r.report.Stolen = stolenTime().since(stolen)
	r.report.Seconds = time.Since(start).Seconds()
	return r.report, nil
}

// quickLimit is how long a run may last of a quick report; tests on slow machines have more.
var quickLimit = time.Second

func (r *runner) setMethod() {
	r.timing = timing{rounds: 7, sample: 20 * time.Millisecond, rest: 50 * time.Millisecond, limit: 5 * time.Second}
	if r.o.Quick {
		r.timing = timing{rounds: 5, sample: time.Millisecond, limit: quickLimit}
	}
	if r.o.Rounds != 0 {
		r.rounds = r.o.Rounds
	}
	r.steady = r.o.Steady
	if r.o.Types == nil {
		r.o.Types = element.Types()
	}
	if r.o.Limit == 0 {
		r.o.Limit = 20 * time.Minute
	}
	if r.o.open == nil {
		r.o.open = openLibraries
	}
}

func (r *runner) openAll() (err error) {
	if r.s, err = linalg.Open(r.o.Backend); err != nil {
		return err
	}
	r.report.Device = r.s.Info()
	r.report.Tuning = tuningOf(&r.report.Device)
	if !r.report.Device.Host {
		if r.host, err = linalg.Open("cpu"); err != nil {
			r.s.Close()
			return err
		}
		info := r.host.Info()
		r.report.CPU = &info
	}
	if r.twin, err = openTwin(r.s.Info()); err != nil {
		r.note("the same GPU through OpenCL: left out: %v", err)
	}
	if r.o.Peers {
		r.libs = r.o.open(r.s.Info(), runtime.GOMAXPROCS(0))
	}
	for _, l := range r.libs {
		r.report.Peers = append(r.report.Peers, l.info)
	}
	return nil
}

// tuningOf says where the parameters for a device come from.
func tuningOf(info *backend.Info) string {
	t, _, err := tuning.User()
	if err != nil || t.Find(info) == nil {
		return "the program's own"
	}
	d := t.Find(info)
	return fmt.Sprintf("the user's tuning file, of %s by tandem %s", d.Date.Format(time.DateOnly), d.Tandem)
}

// openTwin opens the OpenCL device that is the same GPU as one of CUDA's. It is nil for other
// devices, and where OpenCL has no GPU of that name.
func openTwin(info backend.Info) (*linalg.Session, error) {
	d := backend.Lookup("opencl")
	if info.Driver != "cuda" || d == nil {
		return nil, nil
	}
	infos, err := d.Devices()
	if err != nil {
		return nil, err
	}
	for _, i := range infos {
		if i.GPU && i.Name == info.Name {
			return linalg.Open("opencl:" + strconv.Itoa(i.Index))
		}
	}
	return nil, fmt.Errorf("OpenCL has no %s", info.Name)
}

// An other is a device that the device is compared with.
type other struct {
	name string
	s    *linalg.Session
}

func (r *runner) others() (list []other) {
	if r.twin != nil {
		list = append(list, other{nameTwin, r.twin})
	}
	if r.host != nil {
		list = append(list, other{nameCPU, r.host})
	}
	return list
}

func (r *runner) closeAll() {
	for _, l := range r.libs {
		if l.close != nil {
			l.close()
		}
	}
	for _, o := range r.others() {
		o.s.Close()
	}
	r.s.Close()
}

// experiments runs everything but the first calls.
func (r *runner) experiments() error {
	types, shapes := r.supported(), r.shapes()
	r.done, r.steps = 0, r.count(types, len(shapes))
	if r.measures(partTransposes) {
		if err := r.copyPeak(); err != nil {
			return err
		}
		for _, t := range types {
			if err := r.moves(t); err != nil {
				return err
			}
		}
	}
	for _, t := range types {
		if r.measures(partCalls) {
			if err := in(t).smallCalls(r); err != nil {
				return err
			}
		}
		if r.measures(partProducts) {
			if err := r.products(t, shapes); err != nil {
				return err
			}
		}
	}
	r.step("done")
	return nil
}

// measures tells whether a part is to be measured.
func (r *runner) measures(part string) bool {
	return r.o.Only == nil || slices.Contains(r.o.Only, part)
}

// supported are the types that the device keeps the contract in.
func (r *runner) supported() (list []element.Type) {
	for _, t := range r.o.Types {
		if kernels.Supports(ptr(r.s.Info()), t) {
			list = append(list, t)
		} else {
			r.note("%s: the device does not keep the numerics contract in it (%s)", t, r.s.Info().Note)
		}
	}
	return list
}

// count is how many steps the experiments have.
func (r *runner) count(types []element.Type, shapes int) (n int) {
	if r.measures(partTransposes) {
		n++ // copies
	}
	for _, t := range types {
		if r.measures(partTransposes) {
			n += len(r.transposeSizes(t)) + 2*len(r.elementwiseSizes())
		}
		if r.measures(partCalls) {
			n++
		}
		if r.measures(partProducts) {
			n += 1 + shapes
		}
	}
	return n
}

// moves measures transposes, and elementwise operations.
func (r *runner) moves(t element.Type) error {
	for _, n := range r.transposeSizes(t) {
		if err := in(t).transposes(r, n); err != nil {
			return err
		}
	}
	for _, n := range r.elementwiseSizes() {
		if err := in(t).elementwise(r, n); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) products(t element.Type, shapes []shape) error {
	if r.step("peak of multiply-adds in " + t.String()) {
		if err := r.multiplyAddPeak(t); err != nil {
			return err
		}
	}
	if shapes[0].m > 256 {
		if err := in(t).probe(r); err != nil {
			return err
		}
	}
	for _, d := range shapes {
		measure := in(t).products
		if d.count > 0 {
			measure = in(t).batches
		}
		if err := measure(r, d); err != nil {
			return err
		}
	}
	if !r.isOver() { // the processor may be faster now than it was before the products
		if err := r.multiplyAddPeak(t); err != nil {
			return err
		}
	}
	r.setOfPeak(t)
	return nil
}

func ptr[T any](v T) *T { return &v }

func (r *runner) note(format string, v ...any) {
	r.report.Notes = append(r.report.Notes, fmt.Sprintf(format, v...))
}

// isOver tells whether the time limit is.
func (r *runner) isOver() bool { return !time.Now().Before(r.deadline) }

// step tells the progress, and whether there is time for what begins.
func (r *runner) step(what string) bool {
	if r.o.Progress != nil {
		r.o.Progress(what, float64(r.done)/float64(max(r.steps, 1)))
	}
	r.done++
	if !r.isOver() {
		return true
	}
	if what != "done" {
		r.note("%s: left out, as the time limit of %v is over", what, r.o.Limit)
	}
	return false
}

// A shape is that of a product, or of a batch of count products.
type shape struct{ m, n, k, count int }

// shapes are squares and, unless the user chose sizes, one shape off every tile, thin ones and a
// batch.
func (r *runner) shapes() (list []shape) {
	gpu := r.s.Info().GPU
	squares, odd := []int{8, 16, 32, 64, 128, 256, 1024, 2048}, shape{m: 1023, n: 2049, k: 517}
	long, batch := 2048, shape{64, 64, 64, 256}
	switch {
	case r.o.Quick:
		squares, odd, long, batch = []int{32, 100}, shape{m: 65, n: 131, k: 33}, 70, shape{9, 10, 11, 5}
	case gpu:
		squares, long, batch = []int{64, 256, 1024, 2048, 4096, 8192, 16384}, 8192, shape{64, 64, 64, 4096}
	}
	if r.o.Sizes != nil {
		squares = r.o.Sizes
	}
	for _, n := range squares {
		list = append(list, shape{m: n, n: n, k: n})
	}
	if r.o.Sizes != nil {
		return list
	}
	list = append(list, odd)
	for _, thin := range []int{1, 8} {
		list = append(list, shape{m: thin, n: long, k: long}, shape{m: long, n: thin, k: long})
	}
	return append(list, batch)
}

// transposeSizes are the n of the transposes: of one type, int32 if that is measured, several.
func (r *runner) transposeSizes(t element.Type) []int {
	first := r.o.Types[0]
	if slices.Contains(r.o.Types, element.Int32) {
		first = element.Int32
	}
	if r.o.Sizes == nil && !r.o.Quick && t == first {
		return []int{4096, 8192, 16384}
	}
	return r.elementwiseSizes()
}

func (r *runner) elementwiseSizes() []int {
	switch {
	case r.o.Sizes != nil:
		return r.o.Sizes
	case r.o.Quick:
		return []int{256}
	}
	return []int{4096}
}

// fits tells whether arrays of so many bytes each fit the device, and as many the host, with room
// to spare.
func (r *runner) fits(arrays int, bytes float64) bool {
	d := r.s.Info()
	if d.MaxAlloc > 0 && bytes > float64(d.MaxAlloc) {
		return false
	}
	total := float64(arrays) * bytes
	if d.Memory > 0 && total > 0.8*float64(d.Memory) {
		return false
	}
	if r.host == nil || d.UnifiedMemory {
		total *= 2
	}
	memory := float64(backend.HostInfo().Memory)
	return memory == 0 || total <= 0.6*memory
}

func machine() Machine {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: strings.TrimSpace(string(kernel)), CPU: backend.HostInfo().Name,
		Cores:      runtime.NumCPU(),
		GoMaxProcs: runtime.GOMAXPROCS(0), InstructionSet: host.InstructionSet(), Go: runtime.Version(),
	}
}

// loadAverage is the system's, over 1, 5 and 15 minutes; empty where it has none.
func loadAverage() []float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return []float64{}
	}
	return parseLoad(string(text))
}

func parseLoad(text string) []float64 {
	list := []float64{}
	for _, f := range strings.Fields(text)[:min(3, len(strings.Fields(text)))] {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return []float64{}
		}
		list = append(list, v)
	}
	return list
}

// version is the program's: of its module, with the revision where it was built from a repository.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v += " " + s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			v += " with changes"
		}
	}
	return strings.TrimSpace(v)
}

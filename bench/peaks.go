package bench

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// peak is the rate of a measured peak in 10^9 a second, 0 where there is none.
func (r *Report) peak(what string) float64 {
	for _, p := range r.Peaks {
		if p.What == what {
			return p.Rate
		}
	}
	return 0
}

// addPeak measures one contender by itself, and notes its rate.
func (r *runner) addPeak(p Peak, c *contender) error {
	row := Row{Work: p.Work}
	if err := r.measure(r.ctx, &row, []*contender{c}); err != nil {
		return err
	}
	e := row.Entries[0]
	p.Seconds = e.Seconds
	if e.Status == OK {
		p.Rate = p.Work / e.Time.Min / 1e9
	} else {
		p.How = "not measured: " + e.Note
	}
	r.notePeak(p)
	return nil
}

// notePeak notes a peak. Of one that was measured before, the fastest sample of all counts.
func (r *runner) notePeak(p Peak) {
	i := slices.IndexFunc(r.report.Peaks, func(q Peak) bool { return q.What == p.What })
	if i < 0 {
		r.report.Peaks = append(r.report.Peaks, p)
		return
	}
	q := &r.report.Peaks[i]
	q.Seconds = append(q.Seconds, p.Seconds...)
	if p.Rate > q.Rate {
		q.Rate, q.How = p.Rate, p.How
	}
}

// setOfPeak notes for products of a type what part of the measured peak they reach.
func (r *runner) setOfPeak(t element.Type) {
	peak := r.report.peak(t.String())
	if peak == 0 {
		return
	}
	for _, row := range r.report.Products {
		if row.Type != t.String() {
			continue
		}
		for i := range row.Entries {
			row.Entries[i].OfPeak = row.Entries[i].Rate / peak
		}
	}
}

// copyPeak measures the rate of a large copy: on the device, and where that is the host, by as many
// goroutines as cores. The better one is the peak.
func (r *runner) copyPeak() error {
	if !r.step("copy bandwidth") {
		return nil
	}
	n := 8192
	if r.o.Quick {
		n = 256
	}
	for n > 64 && !r.fits(2, 4*float64(n)*float64(n)) {
		n /= 2
	}
	work := 2 * 4 * float64(n) * float64(n)
	row := Row{Work: work}
	all, err := transposeContenders[int32](r, n)
	defer func() { closeAll(all) }()
	if err != nil {
		return fmt.Errorf("copy bandwidth: %w", err)
	}
	var list []*contender
	for _, c := range all {
		if c.name == nameCopy || c.name == nameMemcpy {
			list = append(list, c)
		}
	}
	if err := r.measure(r.ctx, &row, list); err != nil {
		return err
	}
	p := Peak{What: "copy", Unit: "GB/s", How: "not measured: no copy succeeded", Work: work, Seconds: []float64{}}
	for _, e := range row.Entries {
		if e.Status == OK && work/e.Time.Min/1e9 > p.Rate {
			p.Rate, p.Seconds = work/e.Time.Min/1e9, e.Seconds
			p.How = fmt.Sprintf("%s of %.3g MB; each byte counts twice, as it is read and written", e.Name, work/2e6)
		}
	}
	r.report.Peaks = append(r.report.Peaks, p)
	return nil
}

// fmaText is a kernel that does nothing but multiply-adds: CHAINS independent ones in each
// work-item, which suffices to hide the latency of a step. What it computes converges, so that
// numbers stay normal.
const fmaText = `
#ifdef INTEGER
#define STEP(a) a = a * x + y;
#else
#define STEP(a) a = fma(a, x, y);
#endif
#define ALL STEP(a0) STEP(a1) STEP(a2) STEP(a3) STEP(a4) STEP(a5) STEP(a6) STEP(a7) STEP(a8) STEP(a9)

__kernel void fma_peak(__global V *out, T s, T t, int steps)
{
	V x = s, y = t;
	size_t id = get_global_id(0);
	V a0 = (T)id, a1 = a0 + x, a2 = a1 + x, a3 = a2 + x, a4 = a3 + x;
	V a5 = a4 + x, a6 = a5 + x, a7 = a6 + x, a8 = a7 + x, a9 = a8 + x;
	for (int i = 0; i < steps; i++) {
		ALL ALL ALL ALL
	}
	out[id] = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9;
}
`

// The multiply-adds of a work-item in one pass of fmaText's loop, for each element of a vector.
const fmaPerPass = 10 * 4

// multiplyAddPeak measures the rate of multiply-adds. The cpu device has no kernel for that: the Go
// compiler makes no vector instructions. An OpenCL device that is the same processor stands in for
// it. Called again, it measures again.
func (r *runner) multiplyAddPeak(t element.Type) error {
	s, where := r.s, "on the device"
	if s.Info().Host {
		same, err := sameProcessor(s.Info())
		if err != nil {
			r.missingPeak(t, "the Go compiler makes no vector instructions, and "+err.Error())
			return nil
		}
		defer same.Close()
		s, where = same, fmt.Sprintf("through OpenCL on %s, the same processor", same.Info().Name)
	}
	if !kernels.Supports(ptr(s.Info()), t) {
		r.missingPeak(t, s.Info().Name+" does not support the type")
		return nil
	}
	f, err := newFMA(s, t, r.o.Quick)
	if errors.Is(err, backend.ErrUnsupported) {
		r.missingPeak(t, err.Error())
		return nil
	}
	if err != nil {
		return fmt.Errorf("peak of multiply-adds: %w", err)
	}
	defer f.free()
	how := fmt.Sprintf("a kernel of independent multiply-adds in registers, %s, vectors of %d", where, f.width)
	return r.addPeak(Peak{What: t.String(), Unit: operations(t), How: how, Work: f.work()}, f.contender())
}

func (r *runner) missingPeak(t element.Type, why string) {
	r.notePeak(Peak{What: t.String(), Unit: operations(t), How: "not measured: " + why, Seconds: []float64{}})
}

// sameProcessor opens an OpenCL device that names the processor of the cpu device.
func sameProcessor(cpu backend.Info) (*linalg.Session, error) {
	d := backend.Lookup("opencl")
	if d == nil || cpu.Name == "" {
		return nil, errors.New("this program has no OpenCL")
	}
	infos, err := d.Devices()
	if err != nil {
		return nil, fmt.Errorf("there is no OpenCL device: %w", err)
	}
	for _, i := range infos {
		if !i.GPU && strings.Contains(i.Name, cpu.Name) {
			return linalg.Open("opencl:" + strconv.Itoa(i.Index))
		}
	}
	return nil, errors.New("no OpenCL device is the same processor")
}

// fma is fmaText, ready to run.
type fma struct {
	s      *linalg.Session
	t      element.Type
	kernel *backend.Kernel
	out    *backend.Buffer
	grid   backend.Grid
	steps  int
	width  int // elements of a vector
}

func newFMA(s *linalg.Session, t element.Type, quick bool) (*fma, error) {
	info := s.Info()
	f := &fma{s: s, t: t, width: 1, steps: 2000, grid: backend.Grid1(64*max(info.ComputeUnits, 1),
		min(256, max(info.MaxGroup, 1)))}
	if quick {
		f.steps = 200
	}
	vector := t.CName()
	if !info.GPU {
		f.width = kernels.VectorWidth(&info, t)
		f.grid = backend.Grid1(8*max(info.ComputeUnits, 1), 1)
		f.steps *= 10
	}
	macros := map[string]string{"T": t.CName()}
	if f.width > 1 {
		vector += strconv.Itoa(f.width)
	}
	macros["V"] = vector
	if t.Integer() {
		macros["INTEGER"] = "1"
	}
	scalar := backend.Param{Type: t.CName(), Size: t.Size()}
	src := &backend.Source{
		Name: "fma_peak", Text: fmaText, Macros: macros,
		Params: []backend.Param{
			{Name: "out", Type: vector + "*", Buffer: true},
			scalar, scalar,
			{Name: "steps", Type: "int", Size: 4},
		},
	}
	var err error
	if f.kernel, err = s.CompileSource(src); err != nil {
		return nil, err
	}
	if f.out, err = s.Device().Alloc(int64(f.items() * f.width * t.Size())); err != nil {
		f.free()
		return nil, err
	}
	return f, nil
}

func (f *fma) items() int { return f.grid.Count() * f.grid.Items() }

// work is the operations of a run.
func (f *fma) work() float64 {
	return 2 * fmaPerPass * float64(f.steps) * float64(f.width) * float64(f.items())
}

func (f *fma) free() {
	f.kernel.Release()
	if f.out != nil {
		f.out.Free()
	}
}

func (f *fma) contender() *contender {
	c := in(f.t).chains()
	run := func(runs int) error {
		for range runs {
			if err := f.s.Queue().Launch(f.kernel, f.grid, backend.Buf(f.out), c.x, c.y,
				backend.Int32(int32(f.steps))); err != nil {
				f.s.Wait()
				return err
			}
		}
		return f.s.Wait()
	}
	return &contender{name: "multiply-adds", place: "device", run: run, check: func() (Check, error) {
		if err := run(1); err != nil {
			return Check{}, err
		}
		return f.check()
	}}
}

// check looks at the first and last element of out.
func (f *fma) check() (Check, error) {
	size := f.t.Size()
	raw := make([]byte, int(f.out.Len()))
	if err := f.s.Queue().Read(raw, f.out, 0); err != nil {
		return Check{}, err
	}
	c, right := Check{Elements: 2}, in(f.t).chains().right
	for _, item := range []int{0, f.items() - 1} {
		at := raw[item*f.width*size:]
		if !right(at, item, f.steps) {
			c.Wrong++
		}
	}
	return c, nil
}

// chains are the factor and the addend of fmaText in one type, and whether the first element of a
// work-item's memory is right.
type chains struct {
	x, y  backend.Arg
	right func(at []byte, item, steps int) bool
}

// chainsOf are the chains x = x/2 + 1 of floats, which converge to 2, and x = 3*x + 1 of integers,
// which are computed here.
func chainsOf[T linalg.Element]() chains {
	if element.TypeOf[T]().Integer() {
		return chains{kernels.Scalar(T(3)), kernels.Scalar(T(1)), func(at []byte, item, steps int) bool {
			return backend.Elems[T](at)[0] == integerChains(T(item), steps)
		}}
	}
	half := T(1)
	half /= 2
	return chains{kernels.Scalar(half), kernels.Scalar(T(1)), func(at []byte, _, _ int) bool {
		return backend.Elems[T](at)[0] == 20
	}}
}

// integerChains is what fmaText computes in integers for work-item id with x = 3 and y = 1.
func integerChains[T linalg.Element](id T, steps int) (sum T) {
	for chain := range 10 {
		a := id + 3*T(chain)
		for range 4 * steps {
			a = 3*a + 1
		}
		sum += a
	}
	return sum
}

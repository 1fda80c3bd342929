package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/bench/internal/measure"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// fmaText is a kernel that does nothing but multiply-adds: 10 independent chains in each work-item,
// which suffices to hide the latency of a step. What it computes converges, so that numbers stay
// normal.
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

// The chains of fmaText, and the multiply-adds of each in one pass of its loop.
const fmaChains, fmaPerPass = 10, 4

// multiplyAdds is the peak of multiply-adds. The cpu device has no kernel for that: the Go compiler
// makes no vector instructions. An OpenCL device that is the same processor stands in for it.
func multiplyAdds[T linalg.Element](r *runner) *task {
	info, steps := r.s.Info(), 2000
	if r.o.Quick {
		steps = 200
	}
	row := Row{Group: groupPeaks, Name: nameMultiplyAdd, Unit: operations[T]()}
	return &task{Row: row, ready: func(t *task) error {
		if !info.Host {
			return fmaPeak[T](t, r.s, steps)
		}
		s, err := openOpenCL(func(i backend.Info) bool {
			return !i.GPU && info.Name != "" && strings.Contains(i.Name, info.Name) &&
				kernels.Supports(&i, element.TypeOf[T]())
		})
		if err != nil {
			return fmt.Errorf("the Go compiler makes no vector instructions, and %w: %w", err, backend.ErrUnsupported)
		}
		err = fmaPeak[T](t, s, steps)
		t.free = append(t.free, func() { s.Close() })
		return err
	}}
}

// fmaPeak makes t fmaText's peak: on GPUs with many work-items, on processors with one in a group
// and vectors.
func fmaPeak[T linalg.Element](t *task, s *linalg.Session, steps int) error {
	info, typ, width := s.Info(), element.TypeOf[T](), 1
	grid := backend.Grid1(64*max(info.ComputeUnits, 1), min(256, max(info.MaxGroup, 1)))
	macros := map[string]string{"T": typ.CName(), "V": typ.CName()}
	if !info.GPU {
		width, steps, grid = kernels.VectorWidth(&info, typ), 10*steps, backend.Grid1(8*max(info.ComputeUnits, 1), 1)
	}
	if width > 1 {
		macros["V"] += strconv.Itoa(width)
	}
	factor, right := T(1), func(id T) T { return 2 * fmaChains }
	if typ.Integer() { // a = a + 1 counts
		macros["INTEGER"] = "1"
		right = func(id T) T { return fmaChains*(id+T(fmaPerPass*steps)) + fmaChains*(fmaChains-1)/2 }
	} else { // a = a/2 + 1 converges to 2
		factor /= 2
	}
	scalar := backend.Param{Type: typ.CName(), Size: typ.Size()}
	src := &backend.Source{Name: "fma_peak", Text: fmaText, Macros: macros, Params: []backend.Param{
		{Name: "out", Type: macros["V"] + "*", Buffer: true}, scalar, scalar, {Name: "steps", Type: "int", Size: 4},
	}}
	k, err := s.CompileSource(src)
	if err != nil {
		return err
	}
	t.free = append(t.free, func() { k.Release() })
	items := grid.Count() * grid.Items()
	out := make([]T, items*width)
	on, err := measure.Upload(s, []int{len(out)}, out)
	if err != nil {
		return err
	}
	t.free = slices.Insert(t.free, 0, on.Free)
	t.Work = 2 * fmaChains * fmaPerPass * float64(steps) * float64(len(out))
	t.Reset = func() { measure.Fill(out, measure.Poison[T]()) }
	t.Verify = func(bool) measure.Check {
		return measure.Compare([]T{out[0], out[(items-1)*width]}, []T{right(0), right(T(items - 1))}, 0)
	}
	args := []backend.Arg{
		backend.Buf(on[0].Buffer()), kernels.Scalar(factor), kernels.Scalar(T(1)), backend.Int32(int32(steps)),
	}
	t.Size = fmt.Sprintf("vectors of %d", width)
	t.add(measure.OnDevice(&t.Result, nameFast, s, on[0], out,
		func() error { return s.Queue().Launch(k, grid, args...) }))
	return nil
}

package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/linalg"
)

func newMatMul(a *app) *cobra.Command {
	var out []string
	cmd := &cobra.Command{
		Use:   "matmul A.npy B.npy -o C.npy",
		Short: "Multiply two matrices",
		Long: `Matmul writes C = A*B, where A is M x K and B is K x N. Both files hold one type.
Every element of C is one chain of correctly rounded fused multiply-adds for
k = 0, 1, ... K-1 in the element type, so the bytes of C do not depend on the
device; int32 wraps. K = 0 gives zeros.

Files of one dimension are vectors, as in NumPy's matmul: A is a row, B a
column, and that dimension is missing in the result. The product of two vectors
is a number, a 0-dimensional array.

A product that takes less than a second is computed twice, the second time to
measure it: the first run may have to compile.`,
		Example: `  tandem matmul a.npy b.npy -o c.npy
  tandem matmul a.npy b.npy -o c.npy --backend opencl --json`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: files(2, "npy"),
		RunE: a.runE(func(ctx context.Context, args []string) error {
			return a.compute(ctx, "matmul", args, out, planners{planMatMul[float32], planMatMul[float64], planMatMul[int32]})
		}),
	}
	outputFlag(cmd, &out)
	return cmd
}

func newTranspose(a *app) *cobra.Command {
	var out []string
	cmd := &cobra.Command{
		Use:   "transpose A.npy -o B.npy",
		Short: "Transpose a matrix",
		Long: `Transpose writes B = A', where A is M x N and B is N x M. A file of one dimension
stays as it is, as in NumPy.`,
		Example:           `  tandem transpose a.npy -o b.npy`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: files(1, "npy"),
		RunE: a.runE(func(ctx context.Context, args []string) error {
			return a.compute(ctx, "transpose", args, out, planners{planTranspose[float32], planTranspose[float64], planTranspose[int32]})
		}),
	}
	outputFlag(cmd, &out)
	return cmd
}

func newAdd(a *app) *cobra.Command {
	var out []string
	cmd := &cobra.Command{
		Use:   "add A.npy B.npy -o C.npy",
		Short: "Add two matrices",
		Long: `Add writes C = A + B, element by element. Both files hold one type and have one
shape: nothing is broadcast. int32 wraps.`,
		Example:           `  tandem add a.npy b.npy -o c.npy`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: files(2, "npy"),
		RunE: a.runE(func(ctx context.Context, args []string) error {
			return a.compute(ctx, "add", args, out, planners{planAdd[float32], planAdd[float64], planAdd[int32]})
		}),
	}
	outputFlag(cmd, &out)
	return cmd
}

func newScale(a *app) *cobra.Command {
	var out []string
	var by string
	cmd := &cobra.Command{
		Use:   "scale A.npy --by FACTOR -o B.npy",
		Short: "Multiply a matrix by a number",
		Long: `Scale writes B = FACTOR*A, element by element. FACTOR is rounded to the file's
type once; for an int32 file it must be a whole number of that type, and the
product wraps.`,
		Example: `  tandem scale a.npy --by 2 -o b.npy
  tandem scale a.npy --by -1e-3 -o b.npy`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: files(1, "npy"),
		RunE: a.runE(func(ctx context.Context, args []string) error {
			if by == "" {
				return usagef("no factor: give --by NUMBER")
			}
			return a.compute(ctx, "scale", args, out, planners{planScale[float32](by), planScale[float64](by), planScale[int32](by)})
		}),
	}
	cmd.Flags().StringVar(&by, "by", "", "the factor (required)")
	outputFlag(cmd, &out)
	return cmd
}

func outputFlag(cmd *cobra.Command, out *[]string) {
	cmd.Flags().StringArrayVarP(out, "output", "o", nil, "file for the result (required)")
	cmd.MarkFlagFilename("output", "npy")
}

// An operand is a file that was read.
type operand struct {
	path string
	*npy.Array
}

func (o operand) String() string { return describe(o.path, o.Type(), o.Shape) }

// A plan is a computation on matrices of one type: checked, and not yet done.
type plan[T linalg.Element] struct {
	in         []linalg.Matrix[T]
	rows, cols int                // of the result
	shape      []int              // of the result in its file
	flops      float64            // operations, for what is bound by arithmetic; 0 for what is bound by memory
	host       hostOperation[T]   // host in, host out
	device     deviceOperation[T] // the same on arrays
}

type (
	hostOperation[T linalg.Element]   func(ctx context.Context, s *linalg.Session) (linalg.Matrix[T], error)
	deviceOperation[T linalg.Element] func(c *linalg.Array[T], in []*linalg.Array[T]) error
	planner[T linalg.Element]         func(in []operand) (plan[T], error)
)

// planners is one planner for each type that files hold.
type planners struct {
	float32 planner[float32]
	float64 planner[float64]
	int32   planner[int32]
}

func planMatMul[T linalg.Element](in []operand) (plan[T], error) {
	a, b := in[0].Matrix.(linalg.Matrix[T]), in[1].Matrix.(linalg.Matrix[T])
	shape := []int{a.Rows, b.Cols}
	if len(in[1].Shape) == 1 {
		b = linalg.Matrix[T]{Rows: b.Cols, Cols: 1, Stride: 1, Data: b.Data}
		shape = shape[:1]
	}
	if len(in[0].Shape) == 1 {
		shape = shape[1:]
	}
	if a.Cols != b.Rows {
		return plan[T]{}, fmt.Errorf("%s times %s: the columns of the first (%d) are not the rows of the second (%d)", in[0], in[1], a.Cols, b.Rows)
	}
	return plan[T]{
		in: []linalg.Matrix[T]{a, b}, rows: a.Rows, cols: b.Cols, shape: shape,
		flops: 2 * float64(a.Rows) * float64(a.Cols) * float64(b.Cols),
		host: func(ctx context.Context, s *linalg.Session) (linalg.Matrix[T], error) {
			return linalg.MatMulContext(ctx, s, a, b)
		},
		device: func(c *linalg.Array[T], in []*linalg.Array[T]) error { return c.Mul(in[0], in[1]) },
	}, nil
}

func planTranspose[T linalg.Element](in []operand) (plan[T], error) {
	a := in[0].Matrix.(linalg.Matrix[T])
	if len(in[0].Shape) == 1 { // its transpose is itself: a row that stays one
		a = linalg.Matrix[T]{Rows: a.Cols, Cols: 1, Stride: 1, Data: a.Data}
	}
	shape := slices.Clone(in[0].Shape)
	slices.Reverse(shape)
	return plan[T]{
		in: []linalg.Matrix[T]{a}, rows: a.Cols, cols: a.Rows, shape: shape,
		host: func(ctx context.Context, s *linalg.Session) (linalg.Matrix[T], error) {
			return linalg.TransposeContext(ctx, s, a)
		},
		device: func(c *linalg.Array[T], in []*linalg.Array[T]) error { return c.Transpose(in[0]) },
	}, nil
}

func planAdd[T linalg.Element](in []operand) (plan[T], error) {
	a, b := in[0].Matrix.(linalg.Matrix[T]), in[1].Matrix.(linalg.Matrix[T])
	if !slices.Equal(in[0].Shape, in[1].Shape) {
		return plan[T]{}, fmt.Errorf("%s plus %s: the shapes differ, and nothing is broadcast", in[0], in[1])
	}
	return plan[T]{
		in: []linalg.Matrix[T]{a, b}, rows: a.Rows, cols: a.Cols, shape: in[0].Shape,
		host: func(ctx context.Context, s *linalg.Session) (linalg.Matrix[T], error) {
			return linalg.AddContext(ctx, s, a, b)
		},
		device: func(c *linalg.Array[T], in []*linalg.Array[T]) error { return c.Add(in[0], in[1]) },
	}, nil
}

func planScale[T linalg.Element](by string) planner[T] {
	return func(in []operand) (plan[T], error) {
		a := in[0].Matrix.(linalg.Matrix[T])
		alpha, err := parseNumber[T](by)
		if err != nil {
			return plan[T]{}, usagef("--by %s: %v, as the elements of %s are", by, err, in[0])
		}
		return plan[T]{
			in: []linalg.Matrix[T]{a}, rows: a.Rows, cols: a.Cols, shape: in[0].Shape,
			host: func(ctx context.Context, s *linalg.Session) (linalg.Matrix[T], error) {
				return linalg.ScaleContext(ctx, s, alpha, a)
			},
			device: func(c *linalg.Array[T], in []*linalg.Array[T]) error { return c.Scale(alpha, in[0]) },
		}, nil
	}
}

// parseNumber reads a number of type T.
func parseNumber[T linalg.Element](text string) (T, error) {
	var t T
	switch any(t).(type) {
	case int32:
		v, err := strconv.ParseInt(text, 0, 32)
		if err != nil {
			return t, fmt.Errorf("not a whole number from %d to %d (int32)", math.MinInt32, math.MaxInt32)
		}
		return T(v), nil
	default:
		v, err := strconv.ParseFloat(text, int(8*unsafe.Sizeof(t)))
		if err != nil {
			return t, fmt.Errorf("not a %T", t)
		}
		return T(v), nil
	}
}

// compute is what all commands on matrices do: read, compute, write, report.
func (a *app) compute(ctx context.Context, name string, paths, out []string, p planners) error {
	start := time.Now()
	if err := checkOutputs(out, 1); err != nil {
		return err
	}
	outs, err := createOutputs(out)
	if err != nil {
		return err
	}
	defer outs.abort()
	bar := newProgress(a.stderr)
	defer bar.close()
	in := make([]operand, len(paths))
	for i, path := range paths {
		if in[i].Array, err = load(ctx, path, bar); err != nil {
			return err
		}
		in[i].path = path
		if in[i].Type() != in[0].Type() {
			return fmt.Errorf("%s and %s: both must hold one type; convert one with numpy, as in x.astype('%s')", in[0], in[i], in[0].Type())
		}
	}
	rec := &record{Command: name, Inputs: fileRecords(in)}
	switch in[0].Matrix.(type) {
	case linalg.Matrix[float32]:
		err = execute(ctx, a, p.float32, in, outs[0], bar, rec)
	case linalg.Matrix[float64]:
		err = execute(ctx, a, p.float64, in, outs[0], bar, rec)
	default:
		err = execute(ctx, a, p.int32, in, outs[0], bar, rec)
	}
	if err != nil {
		return err
	}
	if err := outs.commit(); err != nil {
		return err
	}
	bar.close()
	rec.TotalSeconds = time.Since(start).Seconds()
	return a.report(rec)
}

// execute computes the result and writes it to out, which it does not commit.
func execute[T linalg.Element](ctx context.Context, a *app, planner planner[T], in []operand, out *output, bar *progress, rec *record) error {
	p, err := planner(in)
	if err != nil {
		return err
	}
	bar.begin("opening the device")
	m, err := await(ctx, func() (linalg.Matrix[T], error) {
		s, err := linalg.Open(a.backend)
		if err != nil {
			return linalg.Matrix[T]{}, err
		}
		defer s.Close()
		rec.Device = s.Info()
		if err := p.fits(&rec.Device); err != nil {
			return linalg.Matrix[T]{}, err
		}
		bar.begin("computing on " + rec.Device.Name)
		m, t, err := measure(linalg.WithProgress(ctx, bar.at), s, p)
		rec.setTimes(t, p.flops, p.bytes())
		return m, err
	})
	if err != nil {
		return err
	}
	return writeMatrix(ctx, out, p.shape, m, bar, rec)
}

// writeMatrix writes m to out, and notes it in rec.
func writeMatrix[T linalg.Element](ctx context.Context, out *output, shape []int, m linalg.Matrix[T], bar *progress, rec *record) error {
	size := int64(len(m.Data)) * int64(elementSize[T]())
	w := &watchedWriter{ctx: ctx, w: out.f, size: size, p: bar}
	bar.begin("writing " + out.path)
	if err := npy.Write(w, shape, m); err != nil {
		return fmt.Errorf("-o %s: %w", out.path, err)
	}
	rec.Outputs = append(rec.Outputs, fileRecord{Path: out.path, Type: (&npy.Array{Matrix: m}).Type(), Shape: shape, Bytes: w.done})
	return nil
}

func elementSize[T linalg.Element]() int {
	var t T
	return int(unsafe.Sizeof(t))
}

// bytes is how much the operation reads and writes at least.
func (p *plan[T]) bytes() float64 {
	n := float64(p.rows) * float64(p.cols)
	for _, m := range p.in {
		n += float64(m.Rows) * float64(m.Cols)
	}
	return n * float64(elementSize[T]())
}

// fits refuses what cannot be held, since Go ends a program that asks for more memory than there is.
func (p *plan[T]) fits(info *backend.Info) error {
	result := float64(p.rows) * float64(p.cols) * float64(elementSize[T]())
	if info.MaxAlloc > 0 && result > float64(info.MaxAlloc) {
		return &backend.Error{
			Driver: info.Driver, Op: "result", Err: backend.ErrOutOfMemory,
			Detail: fmt.Sprintf("%dx%d elements are %.3g bytes; the largest buffer of %s is %s",
				p.rows, p.cols, result, info.Name, formatBytes(info.MaxAlloc)),
		}
	}
	return fitsHost(int64(min(p.bytes(), math.MaxInt64/2)))
}

// grace is how long an interrupted program waits for the device before it leaves it alone.
const grace = 2 * time.Second

// await runs f, which holds the device, in a goroutine, and does not wait for long after ctx is done: a kernel that never ends must not keep the
// program.
func await[R any](ctx context.Context, f func() (R, error)) (R, error) {
	type outcome struct {
		r   R
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		r, err := f()
		done <- outcome{r, err}
	}()
	select {
	case o := <-done:
		return o.r, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o.r, o.err
	case <-time.After(grace):
		var r R
		return r, ctx.Err()
	}
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
	npyfiles "github.com/tandem-gpu/tandem/linalg/files"
)

func newMatMul(a *app) *cobra.Command {
	var out []string
	var mpi bool
	cmd := &cobra.Command{
		Use:        "matmul A.npy B.npy -o C.npy",
		Short:      "Multiply two matrices",
		SuggestFor: []string{"multiply", "mul", "gemm", "product", "dot"},
		Long: `Matmul writes C = A*B, where A is M x K and B is K x N. Both files hold one type;
float16 is read as float32, of which the result is.
Every element of C is one chain of correctly rounded fused multiply-adds for
k = 0, 1, ... K-1 in the element type, so the bytes of C do not depend on the
device; int32 wraps. K = 0 gives zeros.

Files of one dimension are vectors, as in NumPy's matmul: A is a row, B a
column, and that dimension is missing in the result. The product of two vectors
is a number, a 0-dimensional array.

Several devices, as in --backend gpus+cpu, share a product.

--mpi shares the product out to the processes that mpirun or srun started, each
of which reads and writes its own part of the files, on a device of its own. The
bytes of C are the same.`,
		Example: `  tandem matmul a.npy b.npy -o c.npy
  tandem matmul a.npy b.npy -o c.npy --backend opencl --json
  mpirun -n 4 tandem matmul a.npy b.npy -o c.npy --mpi`,
		Args:              needs(2),
		ValidArgsFunction: files(2, "npy"),
		RunE: a.runE(func(ctx context.Context, args []string) error {
			if mpi {
				return a.matMulMPI(ctx, args, out)
			}
			return a.computeFrom(ctx, npy.ReadSingleHeader, "matmul", args, out,
				func(o operations) executor { return o.matmul })
		}),
	}
	cmd.Flags().BoolVar(&mpi, "mpi", false, "share the work with the other processes of an MPI job")
	a.outputFlag(cmd, &out)
	return cmd
}

func newTranspose(a *app) *cobra.Command {
	return newUnary(a, &cobra.Command{
		Use:   "transpose A.npy -o B.npy",
		Short: "Transpose a matrix",
		Long: `Transpose writes B = A', where A is M x N and B is N x M. A file of one dimension
stays as it is, as in NumPy.`,
		Example: `  tandem transpose a.npy -o b.npy`,
	}, func(o operations) executor { return o.transpose })
}

func newSort(a *app) *cobra.Command {
	return newUnary(a, &cobra.Command{
		Use:   "sort A.npy -o B.npy",
		Short: "Sort each row of a matrix",
		Long: `Sort writes B, whose rows are those of A, each sorted: -0 is before +0, and NaN is
last. It takes memory of the device for A and for 16 bytes an element.`,
		Example: `  tandem sort a.npy -o b.npy`,
	}, func(o operations) executor { return o.sort })
}

// newUnary makes cmd the command of an operation on one file.
func newUnary(a *app, cmd *cobra.Command, choose func(o operations) executor) *cobra.Command {
	var out []string
	cmd.Args, cmd.ValidArgsFunction = needs(1), files(1, "npy")
	cmd.RunE = a.runE(func(ctx context.Context, args []string) error {
		return a.compute(ctx, cmd.Name(), args, out, choose)
	})
	a.outputFlag(cmd, &out)
	return cmd
}

// newElementwise is the command of an operation on each element, which stands behind prefix.
func newElementwise(a *app, prefix string, op *kernels.Elementwise) *cobra.Command {
	var out []string
	var by string
	inputs := strings.Join([]string{"A.npy", "B.npy"}[:op.Inputs], " ")
	example := "tandem " + prefix + op.Name + " " + strings.ToLower(inputs)
	factor := ""
	if op.Alpha {
		inputs, example = inputs+" --by FACTOR", example+" --by 2"
		factor = " FACTOR is rounded to the\n" +
			"file's type once; for an int32 file it must be a whole number of that type."
	}
	cmd := &cobra.Command{
		Use:   op.Name + " " + inputs + " -o C.npy",
		Short: "Compute " + op.Formula + ", element by element",
		Long: "Computes C = " + op.Formula + ", element by element. All files hold one type and have one\n" +
			"shape: nothing is broadcast. int32 wraps." + factor,
		Example:           "  " + example + " -o c.npy",
		Args:              needs(op.Inputs),
		ValidArgsFunction: files(op.Inputs, "npy"),
		RunE: a.runE(func(ctx context.Context, args []string) error {
			if op.Alpha && by == "" {
				return usagef("no factor: give --by NUMBER")
			}
			return a.compute(ctx, prefix+op.Name, args, out, func(o operations) executor {
				return o.elementwise(op, by)
			})
		}),
	}
	if op.Alpha {
		cmd.Flags().StringVar(&by, "by", "", "the factor (required)")
	}
	a.outputFlag(cmd, &out)
	return cmd
}

func (a *app) outputFlag(cmd *cobra.Command, out *[]string) {
	cmd.Flags().StringArrayVarP(out, "output", "o", nil, "file for the result (required)")
	cmd.MarkFlagFilename("output", "npy")
	a.fortranFlag(cmd)
}

func (a *app) fortranFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.fortran, "fortran", false, "write results column by column, in Fortran order")
}

// A plan is a computation on matrices of one type: checked, and not yet done.
type plan[T linalg.Element] struct {
	in         []linalg.Matrix[T]
	rows, cols int              // of the result
	shape      []int            // of the result in its file
	flops      float64          // operations, for what is bound by arithmetic; 0 for what is bound by memory
	host       hostOperation[T] // host in, host out
	files      fileOperation    // the same from files to a file, in parts; nil where there is no such way
}

type (
	hostOperation[T linalg.Element] func(ctx context.Context, s *linalg.Session) (linalg.Matrix[T], error)
	fileOperation                   func(context.Context, *linalg.Session, io.WriterAt, npyfiles.Options) error
	planner[T linalg.Element]       func(in []operand) (plan[T], error)
)

func planMatMul[T linalg.Element](in []operand) (plan[T], error) {
	shape, err := productShape(in[0], in[1])
	if err != nil {
		return plan[T]{}, err
	}
	a, b := matrix[T](in[0]), matrix[T](in[1])
	if len(in[1].Shape) == 1 {
		b = linalg.Matrix[T]{Rows: b.Cols, Cols: 1, Stride: 1, Data: b.Data}
	}
	return plan[T]{
		in: []linalg.Matrix[T]{a, b}, rows: a.Rows, cols: b.Cols, shape: shape,
		flops: 2 * float64(a.Rows) * float64(a.Cols) * float64(b.Cols),
		host: func(ctx context.Context, s *linalg.Session) (linalg.Matrix[T], error) {
			return linalg.MatMul(a, b, linalg.On(s), linalg.WithContext(ctx))
		},
		files: func(ctx context.Context, s *linalg.Session, c io.WriterAt, o npyfiles.Options) error {
			return npyfiles.MatMul[T](ctx, s, c, in[0].file, in[1].file, o)
		},
	}, nil
}

// productShape is the shape of the product of two files, as NumPy's matmul has it.
func productShape(a, b operand) ([]int, error) {
	for _, o := range []operand{a, b} {
		if len(o.Shape) == 0 {
			return nil, fmt.Errorf("%s is no matrix: 'tandem scale' multiplies by a number", o)
		}
	}
	m, k := a.Dims()
	rows, n := b.Dims()
	shape := []int{m, n}
	if len(b.Shape) == 1 {
		rows, shape = n, shape[:1]
	}
	if len(a.Shape) == 1 {
		shape = shape[1:]
	}
	if k != rows {
		return nil, fmt.Errorf("%s times %s: the columns of the first (%d) are not the rows of the second (%d)", a, b,
			k, rows)
	}
	return shape, nil
}

func planTranspose[T linalg.Element](in []operand) (plan[T], error) {
	a := matrix[T](in[0])
	if len(in[0].Shape) == 1 { // its transpose is itself: a row that stays one
		a = linalg.Matrix[T]{Rows: a.Cols, Cols: 1, Stride: 1, Data: a.Data}
	}
	shape := slices.Clone(in[0].Shape)
	slices.Reverse(shape)
	return plan[T]{
		in: []linalg.Matrix[T]{a}, rows: a.Cols, cols: a.Rows, shape: shape,
		host: func(ctx context.Context, s *linalg.Session) (linalg.Matrix[T], error) {
			return linalg.Transpose(a, linalg.On(s), linalg.WithContext(ctx))
		},
		files: func(ctx context.Context, s *linalg.Session, c io.WriterAt, o npyfiles.Options) error {
			return npyfiles.Transpose[T](ctx, s, c, in[0].file, o)
		},
	}, nil
}

// planElementwise plans an operation of package kernels' table; by is the number that it may have.
func planElementwise[T linalg.Element](op *kernels.Elementwise, by string) planner[T] {
	return func(in []operand) (p plan[T], err error) {
		var alpha T
		if op.Alpha {
			if alpha, err = parseNumber[T](by); err != nil {
				return p, usagef("--by %s: %v, as the elements of %s are", by, err, in[0])
			}
		}
		var files []io.ReaderAt
		for _, o := range in {
			if !slices.Equal(in[0].Shape, o.Shape) {
				return p, fmt.Errorf("%s of %s and %s: the shapes differ, and nothing is broadcast", op.Name, in[0], o)
			}
			p.in, files = append(p.in, matrix[T](o)), append(files, o.file)
		}
		p.rows, p.cols, p.shape = p.in[0].Rows, p.in[0].Cols, in[0].Shape
		matrices := p.in
		p.host = func(ctx context.Context, s *linalg.Session) (linalg.Matrix[T], error) {
			return linalg.Elementwise(op, alpha, matrices, linalg.On(s), linalg.WithContext(ctx))
		}
		p.files = func(ctx context.Context, s *linalg.Session, c io.WriterAt, o npyfiles.Options) error {
			return npyfiles.Elementwise(ctx, s, op, alpha, c, o, files...)
		}
		return p, nil
	}
}

// planSort plans a sort of each row.
func planSort[T linalg.Element](in []operand) (plan[T], error) {
	a := matrix[T](in[0])
	return plan[T]{
		in: []linalg.Matrix[T]{a}, rows: a.Rows, cols: a.Cols, shape: in[0].Shape,
		host: func(ctx context.Context, s *linalg.Session) (m linalg.Matrix[T], err error) {
			x, err := linalg.Upload(s, a)
			if err != nil {
				return m, err
			}
			defer func() { err = cmp.Or(err, x.Free()) }()
			if err := array.Sort(x, x); err != nil {
				return m, err
			}
			return x.Download()
		},
	}, nil
}

// compute is what all commands on matrices do: read, compute, write, report.
func (a *app) compute(ctx context.Context, name string, paths, out []string,
	choose func(operations) executor,
) error {
	return a.computeFrom(ctx, npy.ReadHeader, name, paths, out, choose)
}

// print is compute that prints the elements of the result, and nothing else. All is in memory.
func (a *app) print(ctx context.Context, name string, paths []string, choose func(operations) executor) error {
	if err := checkInputs(paths); err != nil {
		return err
	}
	bar := newProgress(a.stderr)
	defer bar.close()
	in, err := a.loadAll(ctx, paths, bar, npy.ReadHeader)
	if err != nil {
		return err
	}
	out := &output{Writer: a.stdout, stdout: true, text: true}
	return choose(operationsIn(in[0].number())).execute(ctx, a, in, out, bar, &record{Command: name})
}

// computeFrom is compute of files of the types that header takes.
func (a *app) computeFrom(ctx context.Context, header headerReader, name string, paths, out []string,
	choose func(operations) executor,
) error {
	if err := checkInputs(paths); err != nil {
		return err
	}
	return a.produce(ctx, name, out, func(out *output, bar *progress, rec *record) error {
		if done, err := a.fileToFile(ctx, header, paths, out, bar, rec, choose); done || err != nil {
			return err
		}
		in, err := a.loadAll(ctx, paths, bar, header)
		if err != nil {
			return err
		}
		rec.Inputs = fileRecords(in)
		return choose(operationsIn(in[0].number())).execute(ctx, a, in, out, bar, rec)
	})
}

// produce makes the output of a command, which f writes and does not commit, and reports.
func (a *app) produce(ctx context.Context, name string, out []string,
	f func(out *output, bar *progress, rec *record) error,
) error {
	start := time.Now()
	if err := checkOutputs(out, 1); err != nil {
		return err
	}
	outs, err := a.createOutputs(ctx, out)
	if err != nil {
		return err
	}
	rec := &record{Command: name}
	return a.deliver(start, outs, rec, func(bar *progress) error { return f(outs[0], bar, rec) })
}

// deliver has f write to outputs, commits them, and reports what took from start on.
func (a *app) deliver(start time.Time, outs outputs, rec *record, f func(bar *progress) error) error {
	defer outs.abort()
	bar := newProgress(a.stderr)
	defer bar.close()
	if err := f(bar); err != nil {
		return err
	}
	if err := outs.commit(); err != nil {
		return err
	}
	bar.close()
	rec.TotalSeconds = time.Since(start).Seconds()
	return a.report(rec, outs)
}

// fileToFile computes from files to a file, and tells whether it has: where that is possible, and
// all of them together are more than a quarter of what may be used of the host's memory.
func (a *app) fileToFile(ctx context.Context, header headerReader, paths []string, out *output, bar *progress,
	rec *record, choose func(operations) executor,
) (done bool, err error) {
	limit, err := npyfiles.HostMemory()
	if err != nil || out.temp == "" {
		return false, err
	}
	in := openOperands(paths, header)
	if in == nil {
		return false, nil
	}
	defer closeOperands(in)
	rec.Inputs = fileRecords(in)
	return choose(operationsIn(in[0].number())).executeFiles(ctx, a, in, limit, out, bar, rec)
}

// executeFiles is execute from files, in parts, where all need more than a quarter of limit; else
// it does nothing.
func (f planner[T]) executeFiles(ctx context.Context, a *app, in []operand, limit int64, out *output, bar *progress,
	rec *record,
) (done bool, err error) {
	p, err := f(in)
	if err != nil || p.files == nil || p.bytes() <= float64(limit)/4 {
		return false, err
	}
	h := npy.Header{Type: in[0].number(), Shape: p.shape}
	return true, a.fromFiles(ctx, h, limit, out, bar, rec, p.flops, p.bytes(), p.files)
}

// fromFiles has compute make the array of h from files and write it to out, in parts that take at
// most limit bytes of memory; flops and bytes are what it computes and moves.
func (a *app) fromFiles(ctx context.Context, h npy.Header, limit int64, out *output, bar *progress, rec *record,
	flops, bytes float64, compute fileOperation,
) error {
	if err := reserve(out.f, h.Size()); err != nil {
		return fmt.Errorf("%s %s: %s: %w", out.flag, out.path, formatBytes(h.Size()), err)
	}
	_, err := onDevice(ctx, a, bar, func(s *linalg.Session) (struct{}, error) {
		bar.begin("computing from files on " + s.Info().Name)
		start := time.Now()
		o := npyfiles.Options{Memory: limit, Fortran: out.fortran}
		err := compute(linalg.WithProgress(ctx, bar.at), s, out, o)
		rec.setTime(start, flops, bytes)
		rec.setDevices(s)
		return struct{}{}, err
	})
	if err != nil {
		return err
	}
	info, err := out.f.Stat()
	if err != nil {
		return err
	}
	rec.InParts = true
	rec.Outputs = []fileRecord{{Path: out.path, Type: h.Type.String(), Shape: h.Shape, Bytes: info.Size()}}
	return nil
}

// sameType refuses files of different types.
func sameType(a, b operand) error {
	if a.number() == b.number() {
		return nil
	}
	return fmt.Errorf("%s and %s: both must hold one type; convert one with numpy, as in x.astype('%s')", a, b, a.Type)
}

// execute computes the result and writes it to out, which it does not commit.
func (f planner[T]) execute(ctx context.Context, a *app, in []operand, out *output, bar *progress,
	rec *record,
) error {
	p, err := f(in)
	if err != nil {
		return err
	}
	m, err := onDevice(ctx, a, bar, func(s *linalg.Session) (linalg.Matrix[T], error) {
		rec.Device = s.Info()
		if err := fitsHost(int64(min(p.bytes(), math.MaxInt64/2))); err != nil {
			return linalg.Matrix[T]{}, err
		}
		bar.begin("computing on " + rec.Device.Name)
		start := time.Now()
		m, err := p.host(linalg.WithProgress(ctx, bar.at), s)
		rec.setTime(start, p.flops, p.bytes())
		rec.setDevices(s)
		return m, err
	})
	if err != nil {
		return err
	}
	return writeMatrix(ctx, out, p.shape, m, bar, rec)
}

// writeMatrix writes m to out, and notes it in rec.
func writeMatrix[T linalg.Element](ctx context.Context, out *output, shape []int, m linalg.Matrix[T], bar *progress,
	rec *record,
) error {
	if out.text {
		bar.close()
		if m.Rows*m.Cols == 1 {
			_, err := fmt.Fprintln(out, m.At(0, 0))
			return err
		}
		_, err := fmt.Fprintln(out, m)
		return err
	}
	h := &npy.Header{Type: element.TypeOf[T](), Shape: shape, Fortran: out.fortran}
	w := &watchedWriter{ctx: ctx, w: out, size: h.Size(), p: bar}
	bar.begin("writing " + out.path)
	_, err := await(ctx, 0, func() (struct{}, error) { return struct{}{}, npy.Write(w, h, m.Packed().Data) })
	if err != nil {
		return fmt.Errorf("%s %s: %w", cmp.Or(out.flag, "-o"), out.path, err)
	}
	rec.Outputs = append(rec.Outputs, fileRecord{Path: out.path, Type: h.Type.String(), Shape: shape, Bytes: w.done})
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

// onDevice opens the device and calls f, until ctx is done.
func onDevice[R any](ctx context.Context, a *app, bar *progress, f func(s *linalg.Session) (R, error)) (R, error) {
	bar.begin("opening the device")
	return await(ctx, grace, func() (r R, err error) {
		s, err := linalg.Open(a.backend)
		if err != nil {
			return r, err
		}
		defer s.Close()
		return f(s)
	})
}

// grace is how long an interrupted program waits for the device before it leaves it alone.
const grace = 2 * time.Second

// await runs f in a goroutine, and waits for it no longer than grace after ctx is done: a kernel
// that never ends, or a pipe that nobody writes to, must not keep the program.
func await[R any](ctx context.Context, grace time.Duration, f func() (R, error)) (R, error) {
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

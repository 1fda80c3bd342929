package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu/compiler"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/linalg"
)

// kernelFlags are the flags of "tandem run".
type kernelFlags struct {
	kernel, grid, block string
	args, defines, out  []string
}

func newRun(a *app) *cobra.Command {
	var f kernelFlags
	cmd := &cobra.Command{
		Use:   "run FILE --kernel NAME --grid G --block B --arg ARG... -o OUT.npy...",
		Short: "Run a kernel of your own on NumPy files",
		Long: `Run compiles FILE and launches one of its kernels once: --grid work-groups of
--block work-items each, in up to three dimensions. FILE.cl is OpenCL C in the
portable dialect of docs/kernels.md. FILE.go is part of a Go package, with kernels
that a line //tandem:kernel marks; it needs the go command, and its module must
require Tandem's. FILE.cl needs a device that compiles text, which the cpu
backend does not.

--arg gives the kernel's arguments, in their order, one flag for each (messages
count them from 0):

  FILE.npy         an array in a NumPy file, copied to the device in C order
  in:FILE          the same, for a name that does not end in .npy
  inout:FILE       the same, and a result
  out:TYPE:SHAPE   an array of zeros and a result; TYPE is f4, f8 or i4
                   (float32, float64, int32), SHAPE is N or RxC
  i32:N  u32:N     a 32-bit integer, for a kernel's int or uint
  i64:N  u64:N     a 64-bit integer, for a long or ulong
  f32:X  f64:X     a float or a double

For a kernel in Go each --arg is a parameter of the function. An array is a slice
of all its elements or a gpu.Matrix; one of i4 may also be of uint32, and i32: and
u32: fit all integers of up to 32 bits and bool (0 or 1), i64: and u64: int and
uint too. The arguments choose among the types that a generic kernel lists.

The results, which are the out: and inout: arguments, go to the files of -o in
the same order. No other file changes: to update x.npy in place, say
--arg inout:x.npy -o x.npy.`,
		Example: `  tandem run saxpy.cl --kernel saxpy --grid 36 --block 64 \
    --arg i32:1000 --arg f32:2.5 --arg x.npy --arg inout:y.npy -o z.npy

  tandem run my.cl --kernel k --grid 6x6 --block 6x6 --backend opencl \
    --arg in.npy --arg out:f4:64x64 --arg i32:64 -o out.npy

  tandem run split.cl --kernel split -D LIMIT=10 --grid 8 --block 32 \
    --arg a.npy --arg out:i4:256 --arg out:i4:256 -o low.npy -o high.npy

  tandem run poly.go --kernel poly --grid 36 --block 64 \
    --arg inout:x.npy --arg f32:0.5 --arg f32:2 -o y.npy`,
		Args:              needs(1),
		ValidArgsFunction: files(1, "cl", "go"),
		RunE: a.runE(func(ctx context.Context, args []string) error {
			job, err := f.parse(args[0])
			if err != nil {
				return err
			}
			return a.runKernel(ctx, job)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.kernel, "kernel", "", "the kernel's name (required)")
	flags.StringVar(&f.grid, "grid", "", "work-groups, as 36, 6x6 or 6x6x6 (required)")
	flags.StringVar(&f.block, "block", "", "work-items of a group, as 64 or 8x8 (required)")
	flags.StringArrayVar(&f.args, "arg", nil, "an argument of the kernel; see above")
	flags.StringArrayVarP(&f.defines, "define", "D", nil, "a macro, NAME=VALUE or NAME")
	flags.StringArrayVarP(&f.out, "output", "o", nil, "file for a result; one for each out: and inout: (required)")
	cmd.MarkFlagFilename("output", "npy")
	a.fortranFlag(cmd)
	cmd.MarkFlagFilename("arg", "npy")
	for _, name := range []string{"kernel", "grid", "block", "define"} {
		cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	return cmd
}

// A kernelJob is a launch as the flags describe it.
type kernelJob struct {
	command string
	file    string
	kernel  string
	isMap   bool // kernel is a function under //tandem:map; spread makes the arguments of the files in args
	grid    backend.Grid
	macros  map[string]string
	args    []kernelArg
	out     []string
}

// parse checks all flags, without looking at files.
func (f *kernelFlags) parse(file string) (*kernelJob, error) {
	if !isIdentifier(f.kernel) {
		if f.kernel == "" {
			return nil, usagef("no kernel: give --kernel NAME, one of the kernels of %s", file)
		}
		return nil, usagef("--kernel %s: not the name of a function", f.kernel)
	}
	job := &kernelJob{command: "run", file: file, kernel: f.kernel, out: f.out}
	var err error
	if job.grid, err = parseGrid(f.grid, f.block); err != nil {
		return nil, err
	}
	if job.macros, err = parseMacros(f.defines); err != nil {
		return nil, err
	}
	if job.isGo() && len(f.defines) > 0 {
		return nil, usagef("-D %s: a kernel in Go has no macros; use a constant or a parameter", f.defines[0])
	}
	results, paths := 0, []string{file}
	for _, text := range f.args {
		arg, err := parseKernelArg(text)
		if err != nil {
			return nil, err
		}
		if arg.result {
			results++
		}
		if arg.path != "" {
			paths = append(paths, arg.path)
		}
		job.args = append(job.args, arg)
	}
	if results == 0 {
		return nil, usagef("no result: one --arg must be out:TYPE:SHAPE or inout:FILE")
	}
	if err := checkInputs(paths); err != nil {
		return nil, err
	}
	return job, checkOutputs(f.out, results)
}

// A kernelBuffer is an array of any type: a kernel's argument on the device.
type kernelBuffer interface {
	// args is what a kernel in text sees of the array, or one in Go, whose parameter is p.
	args(p *compiler.Param) []any
	bytes() ([]byte, error)
	fill(data []byte) error
	// write brings the array back and writes it to out.
	write(ctx context.Context, out *output, bar *progress, rec *record) error
}

type deviceArray[T linalg.Element] struct {
	*linalg.Array[T]
	shape []int
}

func (a deviceArray[T]) args(p *compiler.Param) []any {
	if p == nil {
		return []any{a.Array}
	}
	list := []any{a.Buffer()}
	rows, cols := a.Dims()
	if p.Slice {
		return append(list, int64(a.Offset()), int64(rows*cols)) // new arrays are packed
	}
	return append(list, int64(a.Offset()), int64(rows), int64(cols), int64(a.Stride()))
}

func (a deviceArray[T]) bytes() ([]byte, error) {
	m, err := a.Download()
	return backend.Bytes(m.Data), err
}

func (a deviceArray[T]) fill(data []byte) error {
	rows, cols := a.Dims()
	m := linalg.NewMatrix[T](rows, cols, nil)
	copy(backend.Bytes(m.Data), data)
	return a.CopyFrom(m)
}

func (a deviceArray[T]) write(ctx context.Context, out *output, bar *progress, rec *record) error {
	m, err := a.Download()
	if err != nil {
		return err
	}
	return writeMatrix(ctx, out, a.shape, m, bar, rec)
}

func upload[T linalg.Element](s *linalg.Session, o operand) (kernelBuffer, error) {
	a, err := linalg.Upload(s, matrix[T](o))
	if err != nil {
		return nil, err
	}
	return deviceArray[T]{a, o.Shape}, nil
}

func zeros[T linalg.Element](s *linalg.Session, shape []int) (kernelBuffer, error) {
	rows, cols := (&npy.Header{Shape: shape}).Dims()
	if err := fitsHost(int64(rows) * int64(cols) * int64(elementSize[T]())); err != nil {
		return nil, err
	}
	a, err := linalg.NewArray[T](s, rows, cols)
	if err != nil {
		return nil, err
	}
	return deviceArray[T]{a, shape}, nil
}

// runKernel reads the files, runs the kernel, writes the results and reports.
func (a *app) runKernel(ctx context.Context, job *kernelJob) error {
	start := time.Now()
	var text string
	var err error
	if !job.isGo() {
		if text, err = a.loadText(ctx, job.file); err != nil {
			return err
		}
	}
	outs, err := a.createOutputs(ctx, job.out)
	if err != nil {
		return err
	}
	rec := &record{Command: job.command, Inputs: []fileRecord{}}
	return a.deliver(start, outs, rec, func(bar *progress) error {
		loaded := make([]operand, len(job.args))
		for i, arg := range job.args {
			if arg.path == "" {
				continue
			}
			var err error
			if loaded[i], err = a.load(ctx, arg.path, bar, npy.ReadHeader); err != nil {
				return arg.failed(err)
			}
			rec.Inputs = append(rec.Inputs, fileRecords(loaded[i:i+1])...)
		}
		_, err := onDevice(ctx, a, bar, func(s *linalg.Session) (struct{}, error) {
			return struct{}{}, job.launch(ctx, s, text, loaded, outs, bar, rec)
		})
		return err
	})
}

// launch does what needs the device. text is the file's, if it is not Go.
func (job *kernelJob) launch(ctx context.Context, s *linalg.Session, text string, loaded []operand, outs outputs,
	bar *progress, rec *record,
) (err error) {
	rec.Device = s.Info()
	bar.begin("compiling " + job.file)
	source := &backend.Source{
		Name: job.kernel, File: filepath.ToSlash(job.file), Text: text,
		Macros: job.macros,
	}
	var instance *compiler.Instance
	if job.isGo() {
		if instance, err = job.instance(loaded); err != nil {
			return err
		}
		source = instance.Source
	}
	if job.isMap {
		loaded = job.spread(s.Info(), instance, loaded)
	}
	run, end, err := job.compile(ctx, s, source, instance)
	defer end()
	if err != nil {
		return err
	}
	bar.begin("running " + source.Name + " on " + rec.Device.Name)
	call := time.Now()
	buffers, args, err := place(s, job.args, loaded, instance)
	if err != nil {
		return err
	}
	took, err := run(buffers, args)
	if err != nil {
		return err
	}
	rec.setTime(call, 0, 0)
	rec.DeviceSeconds = took.Seconds()
	if err := ctx.Err(); err != nil {
		return err
	}
	next := 0
	for i, arg := range job.args {
		if arg.result {
			if err := buffers[i].write(ctx, outs[next], bar, rec); err != nil {
				return err
			}
			next++
		}
	}
	return nil
}

// compile gives the function that launches the kernel, and returns its time. end gives back what it
// holds.
func (job *kernelJob) compile(ctx context.Context, s *linalg.Session, source *backend.Source,
	in *compiler.Instance,
) (run func(buffers []kernelBuffer, args []any) (time.Duration, error), end func(), err error) {
	if in != nil && s.Info().Host {
		h, err := job.buildHost(ctx, in)
		return func(buffers []kernelBuffer, _ []any) (time.Duration, error) {
			return h.run(ctx, job, in, buffers)
		}, h.close, err
	}
	k, err := s.CompileSource(source, linalg.WithContext(ctx))
	if err != nil {
		return nil, func() {}, compileError(err, s.Info())
	}
	return func(_ []kernelBuffer, args []any) (time.Duration, error) {
		return s.DeviceTime(func() error { return s.Launch(k, job.grid, args...) })
	}, func() {}, nil
}

// place brings the arguments to the device. in is the kernel if it is written in Go.
func place(s *linalg.Session, list []kernelArg, loaded []operand, in *compiler.Instance) (buffers []kernelBuffer,
	args []any, err error,
) {
	buffers = make([]kernelBuffer, len(list))
	for i, arg := range list {
		var p *compiler.Param
		if in != nil {
			p = &in.Params[i]
		}
		if arg.scalar.Size != 0 {
			args = append(args, arg.scalar)
			continue
		}
		if arg.path != "" {
			buffers[i], err = placeFile(s, loaded[i])
		} else {
			buffers[i], err = placeZeros(s, arg)
		}
		if err != nil {
			return nil, nil, arg.failed(err)
		}
		args = append(args, buffers[i].args(p)...)
	}
	return buffers, args, nil
}

func placeFile(s *linalg.Session, o operand) (kernelBuffer, error) {
	return operationsIn(o.Type).upload(s, o)
}

func placeZeros(s *linalg.Session, arg kernelArg) (kernelBuffer, error) {
	return operationsIn(arg.typ).zeros(s, arg.shape)
}

// compileError adds, where a device does not compile kernels, which others may.
func compileError(err error, info backend.Info) error {
	if !errors.Is(err, backend.ErrUnsupported) {
		return err
	}
	if info.Host { // its own words are for programs
		err = &backend.Error{
			Driver: "cpu", Op: "tandem run", Err: backend.ErrUnsupported,
			Detail: "this backend runs Go and compiles no kernel files",
		}
	}
	var others strings.Builder
	for _, d := range backend.Drivers() {
		if d.Name() == info.Driver || d.Name() == "cpu" {
			continue
		}
		infos, _ := d.Devices()
		for _, i := range infos {
			fmt.Fprintf(&others, "\n  --backend %s  %s", deviceName(i), i.Name)
		}
	}
	if others.Len() > 0 {
		err = fmt.Errorf("%w\nchoose a device of another backend:%s", err, others.String())
	}
	return fmt.Errorf("%w\n'tandem devices' says what is missing for more", err)
}

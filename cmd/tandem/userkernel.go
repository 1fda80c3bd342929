package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/backend"
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
		Use:   "run FILE.cl --kernel NAME --grid G --block B --arg ARG... -o OUT.npy...",
		Short: "Run a kernel of your own on NumPy files",
		Long: `Run compiles FILE.cl, OpenCL C in the portable dialect of docs/kernels.md, and
launches one of its kernels once: --grid work-groups of --block work-items each,
in up to three dimensions. It needs a device that compiles, which the cpu backend
does not.

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

The results, which are the out: and inout: arguments, go to the files of -o in
the same order. No other file changes: to update x.npy in place, say
--arg inout:x.npy -o x.npy.`,
		Example: `  tandem run saxpy.cl --kernel saxpy --grid 36 --block 64 \
    --arg i32:1000 --arg f32:2.5 --arg x.npy --arg inout:y.npy -o z.npy

  tandem run my.cl --kernel k --grid 6x6 --block 6x6 --backend opencl \
    --arg in.npy --arg out:f4:64x64 --arg i32:64 -o out.npy

  tandem run split.cl --kernel split -D LIMIT=10 --grid 8 --block 32 \
    --arg a.npy --arg out:i4:256 --arg out:i4:256 -o low.npy -o high.npy`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: files(1, "cl"),
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
	cmd.MarkFlagFilename("arg", "npy")
	for _, name := range []string{"kernel", "grid", "block", "define"} {
		cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	return cmd
}

// A kernelJob is a launch as the flags describe it.
type kernelJob struct {
	file   string
	kernel string
	grid   backend.Grid
	macros map[string]string
	args   []kernelArg
	out    []string
}

// parse checks all flags, without looking at files.
func (f *kernelFlags) parse(file string) (*kernelJob, error) {
	if !isIdentifier(f.kernel) {
		if f.kernel == "" {
			return nil, usagef("no kernel: give --kernel NAME, one of the __kernel functions of %s", file)
		}
		return nil, usagef("--kernel %s: not the name of a function", f.kernel)
	}
	job := &kernelJob{file: file, kernel: f.kernel, out: f.out}
	var err error
	if job.grid, err = parseGrid(f.grid, f.block); err != nil {
		return nil, err
	}
	if job.macros, err = parseMacros(f.defines); err != nil {
		return nil, err
	}
	results := 0
	for _, text := range f.args {
		arg, err := parseKernelArg(text)
		if err != nil {
			return nil, err
		}
		if arg.result {
			results++
		}
		job.args = append(job.args, arg)
	}
	if results == 0 {
		return nil, usagef("no result: one --arg must be out:TYPE:SHAPE or inout:FILE")
	}
	return job, checkOutputs(f.out, results)
}

// A kernelBuffer is an array of any type: a kernel's argument on the device.
type kernelBuffer interface {
	arg() backend.Arg
	// write brings the array back and writes it to out.
	write(ctx context.Context, out *output, bar *progress, rec *record) error
}

type deviceArray[T linalg.Element] struct {
	*linalg.Array[T]
	shape []int
}

func (a deviceArray[T]) arg() backend.Arg { return backend.Buf(a.Buffer()) }

func (a deviceArray[T]) write(ctx context.Context, out *output, bar *progress, rec *record) error {
	m, err := a.Download()
	if err != nil {
		return err
	}
	return writeMatrix(ctx, out, a.shape, m, bar, rec)
}

func upload[T linalg.Element](s *linalg.Session, m linalg.Matrix[T], shape []int) (kernelBuffer, error) {
	a, err := linalg.Upload(s, m)
	if err != nil {
		return nil, err
	}
	return deviceArray[T]{a, shape}, nil
}

func zeros[T linalg.Element](s *linalg.Session, shape []int) (kernelBuffer, error) {
	rows, cols := 1, shape[len(shape)-1]
	if len(shape) == 2 {
		rows = shape[0]
	}
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
	text, err := os.ReadFile(job.file)
	if err != nil {
		return err
	}
	outs, err := createOutputs(job.out)
	if err != nil {
		return err
	}
	defer outs.abort()
	bar := newProgress(a.stderr)
	defer bar.close()
	loaded := make([]operand, len(job.args))
	rec := &record{Command: "run", Inputs: []fileRecord{}}
	for i, arg := range job.args {
		if arg.path == "" {
			continue
		}
		loaded[i].path = arg.path
		if loaded[i].Array, err = load(ctx, arg.path, bar); err != nil {
			return fmt.Errorf("--arg %s: %w", arg.text, err)
		}
		rec.Inputs = append(rec.Inputs, fileRecords(loaded[i:i+1])...)
	}
	source := &backend.Source{Name: job.kernel, File: filepath.ToSlash(job.file), Text: string(text), Macros: job.macros}
	bar.begin("opening the device")
	_, err = await(ctx, func() (struct{}, error) {
		return struct{}{}, a.launch(ctx, job, source, loaded, outs, bar, rec)
	})
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

// launch does what needs the device.
func (a *app) launch(ctx context.Context, job *kernelJob, source *backend.Source, loaded []operand, outs outputs, bar *progress, rec *record) error {
	s, err := linalg.Open(a.backend)
	if err != nil {
		return err
	}
	defer s.Close()
	rec.Device = s.Info()
	bar.begin("compiling " + source.File)
	k, err := s.CompileSource(source)
	if err != nil {
		return compileError(err, s.Info())
	}
	bar.begin("running " + source.Name + " on " + rec.Device.Name)
	call := time.Now()
	buffers, args, err := place(s, job.args, loaded)
	if err != nil {
		return err
	}
	t := times{}
	t.device, err = deviceTime(s, func() error { return s.Launch(k, job.grid, args...) })
	if err != nil {
		return err
	}
	t.call = time.Since(call)
	rec.setTimes(t, 0, 0)
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

// place brings the arguments to the device.
func place(s *linalg.Session, list []kernelArg, loaded []operand) (buffers []kernelBuffer, args []any, err error) {
	buffers = make([]kernelBuffer, len(list))
	for i, arg := range list {
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
			return nil, nil, fmt.Errorf("--arg %s: %w", arg.text, err)
		}
		args = append(args, buffers[i].arg())
	}
	return buffers, args, nil
}

func placeFile(s *linalg.Session, o operand) (kernelBuffer, error) {
	switch m := o.Matrix.(type) {
	case linalg.Matrix[float32]:
		return upload(s, m, o.Shape)
	case linalg.Matrix[float64]:
		return upload(s, m, o.Shape)
	}
	return upload(s, o.Matrix.(linalg.Matrix[int32]), o.Shape)
}

func placeZeros(s *linalg.Session, arg kernelArg) (kernelBuffer, error) {
	switch arg.typ {
	case "f4":
		return zeros[float32](s, arg.shape)
	case "f8":
		return zeros[float64](s, arg.shape)
	}
	return zeros[int32](s, arg.shape)
}

// compileError adds, where a device does not compile kernels, which others may.
func compileError(err error, info backend.Info) error {
	if !errors.Is(err, backend.ErrUnsupported) {
		return err
	}
	if info.Driver == "cpu" { // its own words are for programs
		err = &backend.Error{Driver: "cpu", Op: "tandem run", Err: backend.ErrUnsupported, Detail: "this backend runs Go and compiles no kernel files"}
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

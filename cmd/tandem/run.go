package main

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/files"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/screen"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/userkernel"
	"github.com/tandem-gpu/tandem/internal/clock"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

func newRun(a *app) *cobra.Command {
	var f userkernel.Flags
	var out []string
	cmd := &cobra.Command{
		Use:   "run FILE --kernel NAME --grid G --block B --arg ARG... -o OUT.npy...",
		Short: "Run a kernel of your own on NumPy files",
		Long: `Run compiles FILE and launches one of its kernels once: --grid work-groups of
--block work-items each, in up to three dimensions. FILE.cl is OpenCL C in the
portable dialect of docs/kernels.md. FILE.go is part of a Go package, with kernels
that a line //tandem:kernel marks; it needs the go command, and its module must
require Tandem's. FILE.cl needs a device that compiles text, which the cpu
backend does not. On cuda and cudasim both are compiled by NVRTC.

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
		ValidArgsFunction: completeFiles(1, "cl", "go"),
		RunE: a.runE(func(ctx context.Context, args []string) error {
			job, err := userkernel.Kernel(args[0], f)
			if err != nil {
				return err
			}
			return a.runKernel(ctx, "run", job, out)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Kernel, "kernel", "", "the kernel's name (required)")
	flags.StringVar(&f.Grid, "grid", "", "work-groups, as 36, 6x6 or 6x6x6 (required)")
	flags.StringVar(&f.Block, "block", "", "work-items of a group, as 64 or 8x8 (required)")
	flags.StringArrayVar(&f.Args, "arg", nil, "an argument of the kernel; see above")
	flags.StringArrayVarP(&f.Defines, "define", "D", nil, "a macro, NAME=VALUE or NAME")
	a.outputFlag(cmd, &out)
	flags.Lookup("output").Usage = "file for a result; one for each out: and inout: (required)"
	cmd.MarkFlagFilename("arg", "npy")
	for _, name := range []string{"kernel", "grid", "block", "define"} {
		cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	return cmd
}

// maxMapFiles is how many parameters a map has at most.
const maxMapFiles = 4

// newMap has the commands of package array's functions, and is itself that of the user's own.
func newMap(a *app) *cobra.Command {
	var function string
	var out []string
	cmd := &cobra.Command{
		Use:   "map FUNCTION|FILE.go A.npy... -o C.npy",
		Short: "Compute a function of each element",
		Long: `Computes a function of each element of .npy files. Elementary functions have the
same bits on every device.

FUNCTION is one of those below. A function of your own is one of FILE.go, which
--func names and a line //tandem:map marks (docs/kernels.md); there is a file for
each of its parameters, of its type, and all have one shape: nothing is broadcast.
The files' types choose among those that a generic function lists. It is compiled
each time. FILE.go is part of a Go package whose module requires Tandem's, and
this needs the go command, and on cuda and cudasim NVRTC.`,
		Example: `  tandem map exp a.npy -o b.npy
  tandem map gelu.go --func gelu a.npy -o b.npy`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && filepath.Ext(args[0]) == ".go" {
				return nil
			}
			return cobra.NoArgs(cmd, args)
		},
		ValidArgsFunction: completeFiles(1+maxMapFiles, "go", "npy"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return a.runE(func(ctx context.Context, args []string) error {
				job, err := userkernel.Map(args[0], function, args[1:])
				if err != nil {
					return err
				}
				return a.runKernel(ctx, "map "+function, job, out)
			})(cmd, args)
		},
	}
	cmd.Flags().StringVar(&function, "func", "", "the function of FILE.go (required)")
	cmd.RegisterFlagCompletionFunc("func", cobra.NoFileCompletions)
	a.outputFlag(cmd, &out)
	for _, op := range array.Operations() {
		if !slices.Contains(kernels.Elementwises(), op) {
			cmd.AddCommand(newElementwise(a, "map ", op))
		}
	}
	return cmd
}

// runKernel reads the files, runs the kernel, writes the results and reports.
func (a *app) runKernel(ctx context.Context, command string, job *userkernel.Job, paths []string) error {
	start := time.Now()
	targets := files.TargetsOf(paths)
	if err := files.CheckTargets(targets, job.Results()); err != nil {
		return err
	}
	r := &files.Reader{Stdin: a.stdin, Header: npy.ReadHeader}
	if err := job.ReadSource(ctx, r); err != nil {
		return err
	}
	outs, err := files.CreateAll(ctx, targets, a.stdout, a.fortran)
	if err != nil {
		return err
	}
	rec := &record{Command: command}
	return a.deliver(start, outs, rec, func(bar *screen.Progress) error {
		r.Bar = bar
		in, err := job.Load(ctx, r)
		if err != nil {
			return err
		}
		rec.Inputs = fileRecords(in)
		var results []files.Result
		err = a.onDevice(ctx, bar, func(s *linalg.Session) error {
			rec.Device = s.Info()
			bar.Begin("compiling the kernel")
			k, err := job.Compile(ctx, s)
			if err != nil {
				return err
			}
			defer k.Close()
			bar.Begin("running " + k.Name + " on " + rec.Device.Name)
			call := clock.Now()
			list, took, err := k.Run(ctx)
			results = list
			rec.setTime(call, 0, 0)
			rec.DeviceSeconds = took.Seconds()
			return err
		})
		if err != nil {
			return err
		}
		return rec.putAll(ctx, outs, bar, results)
	})
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/bench"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/files"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/screen"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/usage"
)

// benchFlags are the flags of tandem bench.
type benchFlags struct {
	output, plot string
	types        []string
	minutes      float64
	bench.Options
}

// completeGroups offers groups for the last of a list.
func completeGroups(_ *cobra.Command, _ []string, list string) (values []string, _ cobra.ShellCompDirective) {
	before := list[:strings.LastIndex(list, ",")+1]
	for _, group := range bench.Groups() {
		values = append(values, before+group)
	}
	return values, cobra.ShellCompDirectiveNoFileComp
}

func newBench(a *app) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure products and transposes, beside other libraries",
		Long: `Bench measures, on the device that --backend or TANDEM_BACKEND chooses:

  products    naive, tiled and fast, with data on the device; linalg.MatMul and Gemm
              from host memory to host memory; the cpu device; large, small, thin,
              and batches; the peak of multiply-adds to compare with
  transposes  and sums of matrices, beside copies of as many bytes
  calls       the first and the second on a new session, and what each call of a
              small product costs

With --only it measures some of these alone, or others:
  scaling     how the cost of products grows with n, in small steps around the sizes
              where tiles end, and with the number of cores
  blas        levels 1 and 2, tall and complex products, and few rows, as a program
              that uses gonum calls them (linalg/gonumblas)
  lapack      LU, Cholesky, QR, eigenvalues and SVD in the same way
  arrays      elementwise functions, reductions, sorts and random numbers of package
              array on arrays of the device

With --peers it measures other libraries beside them where they are installed: gonum,
OpenBLAS, NumPy, on OpenCL devices CLBlast, on NVIDIA's cuBLAS.

Contenders take turns, each result is checked, and a time is the median of the
samples. Each row is printed as soon as it is measured, as a line of a table in
Markdown; -o writes every sample in Go's benchmark format, for benchstat, which
compares two runs, or the contenders of one: benchstat -col /by FILE.

A whole run takes minutes and wants the machine for itself. --only, --type, --sizes,
--by and --rounds choose less of it. What the time does not suffice for is left out,
and an interrupt ends it; what was measured until then stays. A wrong result of
Tandem makes the exit code 1; a wrong one of another library is shown, without
figures.`,
		Example: `  tandem bench --peers
  tandem bench --only products --sizes 512,1024 --type f4 --peers
  tandem bench --only blas,lapack --type f8 --peers -o out.txt --plot plots
  tandem bench --only arrays --sizes 1000 --rounds 20 -o now.txt
  benchstat before.txt now.txt
  tandem bench --quick`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return a.runE(func(ctx context.Context, _ []string) error { return a.bench(ctx, &f) })(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "write every sample, in Go's benchmark format, to `file`; to -, "+
		"in place of the table")
	flags.StringVar(&f.plot, "plot", "", "write plots as SVG into `folder`")
	flags.BoolVar(&f.Peers, "peers", false, "measure other libraries, too")
	flags.IntSliceVar(&f.Sizes, "sizes", nil, "n of matrices n by n, and of arrays (default: what suits the device)")
	flags.StringSliceVar(&f.types, "type", nil, "element types: f4, f8, i4 (default all)")
	groups := strings.Join(bench.Groups(), ", ")
	flags.StringSliceVar(&f.Only, "only", nil, "measure these `groups`: "+groups+" (default the first three)")
	flags.StringSliceVar(&f.By, "by", nil, "measure these `contenders` alone: fast, OpenBLAS, ...")
	flags.BoolVar(&f.Quick, "quick", false, "tiny sizes, in seconds: whether it works, not how fast it is")
	flags.IntVar(&f.Rounds, "rounds", 0, "samples of a contender (default 7, or 5 with --quick)")
	flags.Float64Var(&f.minutes, "minutes", 20, "what is not begun by then is left out")
	cmd.MarkFlagDirname("plot")
	cmd.RegisterFlagCompletionFunc("only", completeGroups)
	return cmd
}

// check reads the flags that cobra does not check.
func (f *benchFlags) check(cmd *cobra.Command) error {
	for _, name := range []string{"output", "plot"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			return usage.Errorf("--%s needs a name", name)
		}
	}
	var err error
	if f.Types, err = typesOf(f.types); err != nil {
		return err
	}
	if f.Limit, err = minutesOf(f.minutes); err != nil {
		return err
	}
	if err := f.Validate(); err != nil {
		return usage.Wrap(err)
	}
	return nil
}

// errWrong: something of Tandem gave a wrong result, or failed.
var errWrong = errors.New("results are wrong")

func (a *app) bench(ctx context.Context, f *benchFlags) error {
	p := screen.NewProgress(a.stderr)
	defer p.Close()
	f.Backend, f.Command, f.Progress = a.backend, commandLine(os.Args), p.Step
	if !a.json {
		f.Table = p.Above(a.stdout)
	}
	report := a.stdout
	var lines files.Outputs
	switch {
	case f.output == "-" || f.output != "" && files.IsSame(f.output, a.stdout):
		f.Lines, f.Table, report = p.Above(a.stdout), nil, a.stderr
	case f.output != "":
		o, err := files.Create(ctx, files.Target{Flag: files.Flag, Path: f.output})
		if err != nil {
			return err
		}
		defer o.Abort()
		f.Lines, lines = o, files.Outputs{o}
	}
	if f.plot != "" {
		_, missing := os.Stat(f.plot)
		if err := os.MkdirAll(f.plot, 0o777); err != nil {
			return fmt.Errorf("--plot %s: %w", f.plot, err)
		}
		if missing != nil {
			defer os.Remove(f.plot) // if it is empty
		}
	}
	r, err := bench.Run(ctx, f.Options)
	p.Close()
	if r == nil || len(r.Rows) == 0 && err != nil {
		return err
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted; what was measured until then was written")
	}
	err = cmp.Or(lines.Commit(), err)
	if a.json {
		err = cmp.Or(printJSON(report, r), err)
	}
	if f.plot != "" {
		err = cmp.Or(writePlots(r, f.plot), err)
	}
	if bad := r.Failures(); err == nil && len(bad) > 0 {
		return fmt.Errorf("%w, or contenders failed:\n  %s", errWrong, strings.Join(bad, "\n  "))
	}
	return err
}

// writePlots writes those that the report has something for.
func writePlots(r *bench.Report, folder string) error {
	plots, err := r.Plots()
	if err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	for _, p := range plots {
		o, err := files.Create(context.Background(), files.Target{Flag: "--plot", Path: filepath.Join(folder, p.File)})
		if err != nil {
			return err
		}
		defer o.Abort()
		if err := cmp.Or(p.Write(o), files.Outputs{o}.Commit()); err != nil {
			return fmt.Errorf("--plot %s: %w", o.Path, err)
		}
	}
	return nil
}

// commandLine is the arguments of the program as a report shows them: names without the folders of
// this machine.
func commandLine(args []string) []string {
	line := []string{}
	for i, arg := range args {
		flag, value, ok := strings.Cut(arg, "=")
		switch {
		case i == 0:
			arg = strings.TrimSuffix(filepath.Base(arg), ".exe")
		case ok && strings.HasPrefix(flag, "-"):
			arg = flag + "=" + filepath.Base(value)
		case arg != "":
			arg = filepath.Base(arg)
		}
		line = append(line, arg)
	}
	return line
}

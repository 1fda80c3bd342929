package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/bench"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/model"
)

// benchFlags are the flags of tandem bench.
type benchFlags struct {
	output, plot string
	against      string
	table        bool
	sizes        []int
	types        []string
	minutes      float64
	model        string
	devices      []*model.Device // that model stands for
	bench.Options
}

func newBench(a *app) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure products and transposes, beside other libraries",
		Long: `Bench measures, on the device that --backend or TANDEM_BACKEND chooses:

  products    naive, tiled and fast, with data on the device; linalg.MatMul from
              host memory to host memory; the cpu device; large, small, thin, and
              batches
  transposes  naive, tiled and fast, beside copies of as many bytes
  calls       the first and the second on a new session, and what each call of a
              small product costs
  peaks       multiply-adds and copies, to compare with

With --only it measures some of these alone, products with their peaks, transposes
with copies.

With --peers it measures other libraries beside them: gonum, OpenBLAS, NumPy for
int32, and on OpenCL devices CLBlast, on NVIDIA's cuBLAS, where they are installed.

With --scaling it measures instead how the cost of products grows with n, in small
steps around the sizes where tiles end, and with the number of cores.

With --functions it measures instead functions of the groups that it names:
  blas        levels 1 and 2, tall and complex products, and few rows, as a program
              that uses gonum calls them (linalg/gonumblas), beside gonum and OpenBLAS
  lapack      LU, Cholesky, QR, eigenvalues and SVD in the same way
  arrays      elementwise functions, reductions, sorts and random numbers of package
              array on arrays of the device, beside NumPy
A run takes some minutes a group with --peers.

With --model it measures instead how products would be shared out to devices that
there are not: copies and work take the time that given links and rates would, and
nothing is computed. What this machine copies within its memory takes its time.

With --steady a row is measured up to four times as long, until the quartiles of
its samples lie within 5 % of their median, or the report says that they do not.
With --against it names the ratios that have fallen by more than a tenth since an
earlier report: a row of Tandem's to another's in the same run.

Contenders take turns, each result is checked, and a figure is the median of the
samples. It takes minutes and wants the machine for itself. A wrong result of
Tandem makes the exit code 1; a wrong one of another library is shown, without
figures.`,
		Example: `  tandem bench --peers
  tandem bench --backend opencl:0 --only products --sizes 512,1024 --type f4 --json
  tandem bench --peers --table -o out.json --plot plots
  tandem bench --peers --steady --table -o now.json --against last.json
  tandem bench --functions blas,lapack --type f8 --peers --table
  tandem bench --scaling --type f4 --plot plots
  tandem bench --model 25:60,25:60,12:20
  tandem bench --quick`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			work := a.bench
			if f.devices != nil {
				work = a.benchModel
			}
			return a.runE(func(ctx context.Context, _ []string) error { return work(ctx, &f) })(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "write the report with every sample, as JSON, to `file`")
	flags.StringVar(&f.plot, "plot", "", "write plots as SVG into `folder`")
	flags.BoolVar(&f.Peers, "peers", false, "measure other libraries, too")
	flags.IntSliceVar(&f.sizes, "sizes", nil, "n of the products and matrices n by n (default: what suits the device)")
	flags.StringSliceVar(&f.types, "type", nil, "element types: f4, f8, i4 (default all)")
	flags.StringSliceVar(&f.Only, "only", nil, "measure these `parts` alone: "+strings.Join(bench.Parts(), ", "))
	flags.BoolVar(&f.Scaling, "scaling", false, "measure the cost over n, and over the cores on the cpu device, and "+
		"nothing else")
	flags.StringSliceVar(&f.Functions, "functions", nil, "measure functions of these `groups` and nothing else: "+
		strings.Join(bench.FunctionGroups(), ", "))
	flags.BoolVar(&f.Steady, "steady", false, "measure a row again until its samples are steady, four times at most")
	flags.StringVar(&f.against, "against", "", "name what is slower than in an earlier report, of -o, in `file`")
	flags.BoolVar(&f.table, "table", false, "print ratios as tables in Markdown, not all figures")
	flags.BoolVar(&f.Quick, "quick", false, "tiny sizes, in seconds: whether it works, not how fast it is")
	flags.IntVar(&f.Rounds, "rounds", 0, "samples of a contender, an odd number from 5 on (default 7, or 5 with "+
		"--quick)")
	flags.Float64Var(&f.minutes, "minutes", 0, "what is not begun by then is left out (default 20)")
	flags.StringVar(&f.model, "model", "", "measure modelled `devices` alone, each as LINK:RATE in GB/s and TFLOP/s")
	for _, other := range strings.Fields(
		"output plot peers type scaling table quick rounds minutes steady against functions only",
	) {
		cmd.MarkFlagsMutuallyExclusive("model", other)
	}
	for _, other := range []string{"scaling", "plot", "sizes", "only"} {
		cmd.MarkFlagsMutuallyExclusive("functions", other)
	}
	cmd.MarkFlagsMutuallyExclusive("scaling", "only")
	cmd.MarkFlagFilename("output", "json")
	cmd.MarkFlagFilename("against", "json")
	cmd.MarkFlagDirname("plot")
	return cmd
}

// check reads the flags that cobra does not check.
func (f *benchFlags) check(cmd *cobra.Command) error {
	for _, name := range []string{"output", "plot", "model", "against"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			return usagef("--%s needs a name", name)
		}
	}
	var err error
	if f.model != "" {
		if f.devices, err = parseModel(f.model); err != nil {
			return err
		}
	}
	if f.Types, err = typesOf(f.types); err != nil {
		return err
	}
	if f.Limit, err = minutesOf(f.minutes); err != nil {
		return err
	}
	f.Sizes = f.sizes
	if err := f.Validate(); err != nil {
		return usageError{err}
	}
	return nil
}

// errWrong: something of Tandem gave a wrong result, or failed.
var errWrong = errors.New("results are wrong")

func (a *app) bench(ctx context.Context, f *benchFlags) error {
	if isSame(f.output, a.stdout) {
		return usagef("-o %s: standard output has the table; --json prints the report there", f.output)
	}
	before, err := f.before()
	if err != nil {
		return err
	}
	p := newProgress(a.stderr)
	defer p.close()
	files, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer files.abort()
	f.Backend, f.Command = a.backend, commandLine(os.Args)
	f.Progress = func(what string, fraction float64) {
		p.begin(what)
		p.at(fraction)
	}
	r, err := bench.Run(ctx, f.Options)
	if err != nil {
		return err
	}
	p.close()
	if before != nil {
		r.CompareWith(before)
	}
	if err := files.write(r); err != nil {
		return err
	}
	write := r.WriteText
	switch {
	case a.json:
		write = func(io.Writer) error { return a.printJSON(r) }
	case f.table:
		write = r.WriteTable
	}
	if err := write(a.stdout); err != nil {
		return err
	}
	if bad := r.Failures(); len(bad) > 0 {
		return fmt.Errorf("%w, or contenders failed:\n  %s", errWrong, strings.Join(bad, "\n  "))
	}
	return nil
}

// before is the earlier report, nil without one.
func (f *benchFlags) before() (*bench.Report, error) {
	if f.against == "" {
		return nil, nil
	}
	file, err := os.Open(f.against)
	if err != nil {
		return nil, fmt.Errorf("--against: %w", err)
	}
	defer file.Close()
	r, err := bench.ReadReport(file)
	if err != nil {
		return nil, fmt.Errorf("--against %s: %w", f.against, err)
	}
	return r, nil
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

// benchFiles are the outputs: the report and the plots. All are begun before the work, so that a
// wrong name fails at once.
type benchFiles struct {
	all   outputs
	json  *output // nil: none
	plots map[string]*output
	dir   string // made for the plots; "": it was there, or there are none
}

func (f *benchFlags) open(ctx context.Context) (files *benchFiles, err error) {
	files = &benchFiles{plots: map[string]*output{}}
	defer func() {
		if err != nil {
			files.abort()
		}
	}()
	create := func(flag, path string) (o *output) {
		if err != nil {
			return nil
		}
		if o, err = createOutput(ctx, flag, path); err == nil {
			files.all = append(files.all, o)
		}
		return o
	}
	if f.output != "" {
		files.json = create("-o", f.output)
	}
	if f.plot == "" || err != nil {
		return files, err
	}
	if _, statErr := os.Stat(f.plot); os.IsNotExist(statErr) {
		files.dir = f.plot
	}
	if err = os.MkdirAll(f.plot, 0o777); err != nil {
		return files, fmt.Errorf("--plot %s: %w", f.plot, err)
	}
	types := f.Types
	if types == nil {
		types = element.Types()
	}
	for _, name := range bench.PlotFiles(types) {
		files.plots[name] = create("--plot", filepath.Join(f.plot, name))
	}
	return files, err
}

// write fills and names the files. Plots that the report has nothing for do not come into being.
func (b *benchFiles) write(r *bench.Report) error {
	var whole outputs
	if b.json != nil {
		e := json.NewEncoder(b.json.f)
		e.SetIndent("", "  ")
		if err := e.Encode(r); err != nil {
			return fmt.Errorf("-o %s: %w", b.json.path, err)
		}
		whole = append(whole, b.json)
	}
	if len(b.plots) > 0 {
		plots, err := r.Plots()
		if err != nil {
			return fmt.Errorf("--plot: %w", err)
		}
		for _, p := range plots {
			o := b.plots[p.File]
			if err := p.Write(o.f); err != nil {
				return fmt.Errorf("--plot %s: %w", o.path, err)
			}
			whole = append(whole, o)
		}
	}
	if err := whole.commit(); err != nil {
		return err
	}
	b.dir = "" // it is to stay
	return nil
}

// abort removes what was not written, and the folder if it was made for it.
func (b *benchFiles) abort() {
	b.all.abort()
	if b.dir != "" {
		os.Remove(b.dir)
	}
}

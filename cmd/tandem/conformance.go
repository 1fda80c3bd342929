package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/screen"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/usage"
	"github.com/tandem-gpu/tandem/conformance"
	"github.com/tandem-gpu/tandem/conformance/arrays"
)

func newConformance(a *app) *cobra.Command {
	var quick, mpi bool
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Show that a device gives the contract's bits",
		Long: `Conformance runs every built-in kernel, every elementary function, and sums,
sorts and random numbers of arrays, on the device that --backend, or
TANDEM_BACKEND, chooses (all: on every device of every driver), over inputs that
anyone can reproduce, and compares the SHA-256 digest of each result with the
one that the plain reference gives: on and off every tile, with gaps between
rows, subnormal numbers, underflow, infinities and NaN, in every type that the
device supports, with every set of tile parameters that it may be given for what
is not thin. A case that takes five minutes ends the run.

--mpi computes the products on all processes of a job, each on its device. The
digest is the same for any number of processes.

The overall digest is what to quote: two machines that print the same one gave
the same bits in every case. Each difference is listed, and makes the exit code 1.`,
		Example: `  tandem conformance
  tandem conformance --backend opencl:0 --quick
  tandem conformance --backend all --json
  mpirun -n 4 tandem conformance --mpi`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = a.runE(func(ctx context.Context, _ []string) error {
		if mpi && a.backend == "all" {
			return usage.Errorf("--mpi: each process has one device; all is for a run without it")
		}
		if mpi {
			return a.conformanceMPI(ctx, quick)
		}
		return a.conformance(ctx, quick)
	})
	cmd.Flags().BoolVar(&quick, "quick", false, "the small cases alone, with the parameters that the device gets by "+
		"itself")
	cmd.Flags().BoolVar(&mpi, "mpi", false, "the products, by all processes of an MPI job together")
	return cmd
}

// errDiffer: a device ran the cases and gave other bits, or failed in some.
var errDiffer = errors.New("results differ from golden")

func (a *app) conformance(ctx context.Context, quick bool) error {
	specs, failures := []string{a.backend}, []error{}
	if a.backend == "all" {
		specs, failures = nil, nil
		for _, d := range backend.Drivers() {
			infos, err := d.Devices()
			if err != nil {
				if !errors.Is(err, backend.ErrNoDevice) {
					failures = append(failures, err)
				}
				continue
			}
			for _, i := range infos {
				specs = append(specs, screen.Device(i))
			}
		}
	}
	reports := []conformanceReport{}
	for _, spec := range specs {
		r, err := a.conformanceOf(ctx, spec, quick)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failures = append(failures, err)
		}
		if r == nil {
			continue
		}
		reports = append(reports, *r)
		if err == nil && !r.Passed() {
			failures = append(failures, fmt.Errorf("%s: %w", screen.Device(r.Device), errDiffer))
		}
		if a.json {
			continue
		}
		if err := a.printConformance(r); err != nil {
			return err
		}
	}
	if a.json {
		if err := a.printJSON(reports); err != nil {
			return err
		}
	}
	return errors.Join(failures...)
}

// conformanceReport is what --json prints of a device.
type conformanceReport struct {
	conformance.Report
	Pass    bool    `json:"pass"`
	Seconds float64 `json:"seconds"`
	MPI     *ranks  `json:"mpi,omitempty"`
}

// conformanceOf runs the cases on one device. The report may come beside an error.
func (a *app) conformanceOf(ctx context.Context, spec string, quick bool) (*conformanceReport, error) {
	p := screen.NewProgress(a.stderr)
	defer p.Close()
	p.Begin("opening " + spec)
	dev, err := backend.Open(spec)
	if err != nil {
		return nil, err
	}
	p.Begin(screen.Device(dev.Info()))
	start := time.Now()
	r, err := conformance.Run(ctx, dev, conformance.Options{
		Quick:      quick,
		Elementary: array.Elementary,
		Arrays:     arrays.On,
		Limit:      runLimit,
		Progress:   func(done, total int) { p.At(float64(done) / float64(total)) },
	})
	if !errors.Is(err, conformance.ErrTimeout) { // closing would wait for what does not end
		dev.Close()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", screen.Device(dev.Info()), err)
	}
	if r == nil {
		return nil, err
	}
	return &conformanceReport{*r, r.Passed(), time.Since(start).Seconds(), nil}, err
}

// runLimit is far above what a case takes on a slow device, simulated ones too.
const runLimit = 5 * time.Minute

// maxFailures is how many failures are printed; --json has all.
const maxFailures = 10

func (a *app) printConformance(r *conformanceReport) error {
	var b strings.Builder
	d := r.Device
	fmt.Fprintf(&b, "device   %s  %s (%s)\n", screen.Device(d), d.Name, d.Platform)
	fmt.Fprintf(&b, "driver   %s\n", d.Version)
	if r.MPI != nil {
		fmt.Fprintf(&b, "ranks    %v\n", r.MPI)
	}
	fmt.Fprintf(&b, "cases    %d, %d with all parameters, in %.1f s\n", r.Cases, r.Variants, r.Seconds)
	if r.Skipped > 0 {
		fmt.Fprintf(&b, "skipped  %d of types that the device refuses: %s\n", r.Skipped, d.Note)
	}
	if r.NotRun > 0 {
		fmt.Fprintf(&b, "not run  %d, as the device failed\n", r.NotRun)
	}
	for i, f := range r.Failures {
		if i == maxFailures {
			fmt.Fprintf(&b, "         and %d more; --json lists all\n", len(r.Failures)-i)
			break
		}
		what := f.Error
		if what == "" {
			what = fmt.Sprintf("%.16s..., golden %.16s...", f.Digest, f.Golden)
		}
		fmt.Fprintf(&b, "%s  %s %s: %s\n", a.style.Red("differs"), f.Case, f.Params, what)
	}
	verdict := a.style.Green("golden")
	if !r.Passed() {
		verdict = a.style.Red("not golden: " + r.Golden)
	}
	fmt.Fprintf(&b, "digest   %s  %s\n\n", r.Digest, verdict)
	_, err := io.WriteString(a.stdout, b.String())
	return err
}

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/bench/tune"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/screen"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/usage"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/tuning"
)

// tuneFlags are the flags of tandem tune.
type tuneFlags struct {
	types   []string
	minutes float64
	show    bool
	tune.Options
}

func newTune(a *app) *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune",
		Short: "Search the fastest parameters for a device, and keep them",
		Long: `Tune searches, on the device that --backend or TANDEM_BACKEND chooses, for the
tiles with which products and transposes are fastest, and for the size from which
a product pays there, copies included, beside the host. Parameters never change a
bit of a result: every candidate is checked before it is timed.

What it finds goes into tune.json in the user's cache (TANDEM_CACHE moves it), or
into the file that TANDEM_TUNE names. From then on every program that uses Tandem
takes it on exactly this device with exactly this version of its driver, at the
measured size that is nearest. TANDEM_TUNE=off leaves it out. Results for other
types, sizes and devices that the file has stay there.

It wants the machine for itself. An interrupt ends it; what was found until then is
kept. --show shows what the file has, and whether it is used.`,
		Example: `  tandem tune
  tandem tune --backend opencl:0 --type f4 --sizes 512,2048 --minutes 10
  tandem tune --show`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			work := func(ctx context.Context, _ []string) error { return a.tune(ctx, &f) }
			if f.show {
				work = func(context.Context, []string) error { return a.showTuning() }
			}
			return a.runE(work)(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.types, "type", nil, "element types: f4, f8, i4 (default all)")
	flags.IntSliceVar(&f.Sizes, "sizes", nil, "n of the matrices n by n (default: what suits the device)")
	flags.Float64Var(&f.minutes, "minutes", 5, "when to end")
	flags.IntVar(&f.Trials, "trials", 0, "the most candidates for each kernel, type and size (default: as time allows)")
	flags.BoolVar(&f.show, "show", false, "show what was found before, and search nothing")
	return cmd
}

// check reads the flags that cobra does not check.
func (f *tuneFlags) check() (err error) {
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

// typesOf reads the flag --type; nil is all types.
func typesOf(names []string) (types []element.Type, err error) {
	for _, name := range names {
		t, err := element.ParseType(name)
		if err != nil {
			return nil, usage.Errorf("--type %v", err)
		}
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	return types, nil
}

// minutesOf reads the flag --minutes.
func minutesOf(minutes float64) (time.Duration, error) {
	if !(minutes > 0 && minutes <= 1e6) {
		return 0, usage.Errorf("--minutes %v: give a positive number, up to a million", minutes)
	}
	return max(time.Duration(minutes*float64(time.Minute)), 1), nil
}

func (a *app) tune(ctx context.Context, f *tuneFlags) error {
	file, err := tuningFile()
	if err != nil {
		return err
	}
	p := screen.NewProgress(a.stderr)
	defer p.Close()
	f.Backend, f.Progress = a.backend, p.Step
	stored, failed := false, false
	f.Store = func(r *tuning.Record) error {
		err := tuning.Keep(r)
		stored, failed = err == nil, err != nil
		return err
	}
	r, err := tune.Run(ctx, f.Options)
	p.Close()
	if r == nil || err != nil && !failed && !errors.Is(err, context.Canceled) {
		return err
	}
	if e := a.printTuning(r, file, stored); e != nil {
		return e
	}
	if failed {
		return fmt.Errorf("what was found is not stored: %w", err)
	}
	if err != nil && stored {
		return fmt.Errorf("interrupted; what was found until then is in %s", file)
	}
	return err
}

// tuningFile is the file that what is found goes into, or why none of it can.
func tuningFile() (string, error) {
	_, file, err := tuning.User()
	if file == "" {
		return "", fmt.Errorf("there is no place to keep what is found: name a file in %s", tuning.Env)
	}
	advice := ""
	if info, e := os.Stat(file); err != nil && e == nil && info.Mode().IsRegular() {
		advice = "remove it, or "
	}
	if err = cmp.Or(err, tuning.CanKeep()); err != nil {
		return "", fmt.Errorf("what is found cannot be kept: %w; %sname another file in %s", err, advice, tuning.Env)
	}
	return file, nil
}

// A tuneRecord is what --json prints.
type tuneRecord struct {
	File string `json:"file"` // "": nothing was stored
	*tune.Report
}

func (a *app) printTuning(r *tune.Report, file string, stored bool) error {
	if !stored {
		file = ""
	}
	if a.json {
		return a.printJSON(tuneRecord{file, r})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "device  %s  %s (%s), %s\n\n", screen.Device(r.Device), r.Device.Name, r.Device.Platform,
		r.Device.Version)
	writeTuning(&b, &r.Tuning, r.Before)
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	if file != "" {
		fmt.Fprintf(&b, "stored in %s\n", file)
	}
	_, err := io.WriteString(a.stdout, b.String())
	return err
}

// writeTuning writes the winners as a table, with what was used before, if that is known.
func writeTuning(b *strings.Builder, d *tuning.Record, before []tune.Before) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, x := range d.MatMul {
		n := float64(x.N)
		writeTuned(w, "matmul", "Gop/s", 2*n*n*n, &x, before)
	}
	for _, x := range d.Transpose {
		n, bytes := float64(x.N), 8.0
		if x.Type == element.Float64.String() {
			bytes = 16
		}
		writeTuned(w, "transpose", "GB/s", bytes*n*n, &x, before)
	}
	w.Flush()
	for _, c := range d.Crossover {
		from := fmt.Sprintf("from %d on", c.N)
		if c.Never {
			from = "at no size"
		}
		fmt.Fprintf(b, "crossover  %s: the device is not slower than the host (%s) %s\n", c.Type, c.Host, from)
	}
}

// writeTuned writes a line: the rate of so much work, in 10^9 a second.
func writeTuned[P any](w io.Writer, kernel, unit string, work float64, x *tuning.Tuned[P], before []tune.Before) {
	old := ""
	for _, b := range before {
		if b.Kernel == kernel && b.Type == x.Type && b.N == x.N {
			old = "\tbefore " + screen.Seconds(b.Seconds)
		}
	}
	fmt.Fprintf(w, "%s\t%s\t%d\t%.1f %s\t%s%s\t%d tried\t%s\n", kernel, x.Type, x.N, work/x.Seconds/1e9, unit,
		screen.Seconds(x.Seconds), old, len(x.Trials), paramsText(x.Params))
}

// paramsText is parameters for a person: "bm 64, bn 64".
func paramsText(p any) string {
	text, err := json.Marshal(p)
	if err != nil {
		return err.Error()
	}
	return strings.NewReplacer("{", "", "}", "", `"`, "", ":", " ", ",", ", ").Replace(string(text))
}

// A tuningReport is what tune --show --json prints.
type tuningReport struct {
	File    string        `json:"file"`            // "" where there is none
	Error   string        `json:"error,omitempty"` // why it is ignored
	Devices []tunedDevice `json:"devices"`
}

type tunedDevice struct {
	UsedBy  []string `json:"used_by"`           // devices of this machine, as --backend takes them
	Ignored []string `json:"ignored,omitempty"` // parameters that do not fit these
	tuning.Record
}

func (a *app) showTuning() error {
	t, file, err := tuning.User()
	r := tuningReport{File: file, Error: words(err), Devices: []tunedDevice{}}
	if err == nil {
		for _, d := range t.Devices {
			r.Devices = append(r.Devices, newTunedDevice(d))
		}
	}
	if a.json {
		return a.printJSON(r)
	}
	_, err = io.WriteString(a.stdout, r.String())
	return err
}

// newTunedDevice looks for the devices of this machine that d is of.
func newTunedDevice(d tuning.Record) tunedDevice {
	t := tunedDevice{UsedBy: []string{}, Record: d}
	for _, driver := range backend.Drivers() {
		infos, err := driver.Devices()
		if err != nil {
			continue
		}
		for _, i := range infos {
			if tuning.DeviceIDOf(&i) == d.Device {
				t.UsedBy, t.Ignored = append(t.UsedBy, screen.Device(i)), d.Ignored(&i)
			}
		}
	}
	return t
}

func (r *tuningReport) String() string {
	var b strings.Builder
	switch {
	case r.File == "":
		fmt.Fprintf(&b, "no tuning file is used (%s or the cache is off); tuning that comes with the program is\n",
			tuning.Env)
	case r.Error != "":
		fmt.Fprintf(&b, "%s is ignored: %s\n", r.File, r.Error)
	case len(r.Devices) == 0:
		fmt.Fprintf(&b, "%s has nothing; 'tandem tune' fills it\n", r.File)
	default:
		fmt.Fprintf(&b, "%s\n", r.File)
	}
	for i := range r.Devices {
		d := &r.Devices[i]
		by := "used by " + strings.Join(d.UsedBy, ", ")
		if len(d.UsedBy) == 0 {
			by = "not used: no such device, or another version of its driver"
		} else if len(d.Ignored) > 0 {
			by += ", but for " + strings.Join(d.Ignored, ", ") + ": these do not fit"
		}
		fmt.Fprintf(&b, "\n%s %s (%s), %s, measured %s by tandem %s; %s\n", d.Device.Driver, d.Device.Name,
			d.Device.Platform, d.Device.Version,
			d.Date.Format(time.DateOnly), d.Tandem, by)
		writeTuning(&b, &d.Record, nil)
	}
	return b.String()
}

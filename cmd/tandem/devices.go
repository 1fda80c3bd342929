package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/screen"
	"github.com/tandem-gpu/tandem/internal/tuning"
)

func newDevices(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "devices",
		Short: "List all devices, which are chosen, and why others are not",
		Long: `Devices lists every device of every driver, with a mark (*) at those that
--backend, or TANDEM_BACKEND, chooses. For the others it says why they were not
chosen, and for a driver without devices what is missing; also where compiled
kernels are kept, and why if they are not.

UNITS are compute units or cores, GROUP is the largest work-group in work-items.
FLOAT32 and FLOAT64 say whether the device claims to keep the numerics contract
in that type; where it does not, the type is refused there. No device is opened:
one that cannot be opened is listed as any other.`,
		Example: `  tandem devices
  tandem devices --backend gpus+cpu
  tandem devices --backend opencl --json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.runE(func(context.Context, []string) error {
			e := backend.Explain(a.backend)
			r := newDeviceReport(&e)
			write := a.printDevices
			if a.json {
				write = func(r *deviceReport) error { return a.printJSON(r) }
			}
			if err := write(r); err != nil {
				return err
			}
			return e.Err
		}),
	}
}

// printDevices prints a table, and below it why devices were chosen or not.
func (a *app) printDevices(r *deviceReport) error {
	var table, notes strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  DEVICE\tNAME\tPLATFORM\tARCH\tKIND\tUNITS\tMEMORY\tGROUP\tFLOAT32\tFLOAT64\t")
	var chosen []bool // of each line after the first
	for _, d := range r.Drivers {
		for _, i := range d.Devices {
			name := either(i.chosen, "* ", "  ") + screen.Device(i.Info)
			chosen = append(chosen, i.chosen)
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%d\t%s\t%s\t\n", name, oneLine(i.Name),
				oneLine(i.Platform), i.Arch, either(i.GPU, "GPU", "CPU"), i.ComputeUnits,
				screen.Bytes(i.Memory), i.MaxGroup, either(i.Float32, "yes", "no"),
				either(i.Float64, "yes", "no"))
			note := ""
			if i.Note != "" {
				note = " (" + i.Note + ")"
			}
			fmt.Fprintf(&notes, "%s: %s%s\n", name, i.Why, note)
		}
		if d.Error != "" {
			// What was tried, and at the end what to do about it, each on a line.
			why := strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(d.Error), d.Name+": "), "; ", "\n    ")
			fmt.Fprintf(&notes, "%s %s: %s\n", a.style.Red("-"), d.Name, why)
		}
	}
	if r.Tuning != "" {
		fmt.Fprintf(&notes, "%s the tuning file is ignored: %s\n", a.style.Red("-"), r.Tuning)
	}
	if r.Cache.Error != "" {
		fmt.Fprintf(&notes, "%s compiled kernels are not kept: %s\n", a.style.Red("-"), r.Cache.Error)
	}
	if r.Cache.Folder != "" {
		fmt.Fprintf(&notes, "  cache: %s\n", r.Cache.Folder)
	}
	w.Flush()
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(table.String(), "\n"), "\n") {
		line = strings.TrimRight(line, " ")
		switch {
		case i == 0:
			line = a.style.Bold(line)
		case chosen[i-1]:
			line = a.style.Green(line)
		}
		b.WriteString(line + "\n")
	}
	_, err := fmt.Fprintf(a.stdout, "%s\n%s", b.String(), notes.String())
	return err
}

func either(cond bool, yes, no string) string {
	if cond {
		return yes
	}
	return no
}

// oneLine is what a driver says without what would break the table.
func oneLine(s string) string { return screen.Printable(strings.Join(strings.Fields(s), " ")) }

// deviceReport is what --json prints.
type deviceReport struct {
	Spec    string         `json:"spec"`
	Chosen  string         `json:"chosen,omitempty"` // as --backend takes it
	Error   string         `json:"error,omitempty"`  // why nothing is chosen
	Tuning  string         `json:"tuning,omitempty"` // why the user's tuning file is ignored
	Cache   cacheReport    `json:"cache"`            // of compiled kernels
	Drivers []driverReport `json:"drivers"`
}

type cacheReport struct {
	Folder string `json:"folder,omitempty"`
	Error  string `json:"error,omitempty"` // why nothing is kept
}

type driverReport struct {
	Name    string       `json:"name"`
	Error   string       `json:"error,omitempty"` // why there are no devices
	Devices []deviceInfo `json:"devices"`
}

type deviceInfo struct {
	backend.Info
	Why    string `json:"why"`
	chosen bool
}

func newDeviceReport(e *backend.Explanation) *deviceReport {
	r := &deviceReport{Spec: e.Spec(), Error: words(e.Err), Drivers: []driverReport{}}
	var chosen []string
	for _, i := range e.Chosen {
		chosen = append(chosen, screen.Device(i))
	}
	r.Chosen = strings.Join(chosen, "+")
	_, _, err := tuning.User()
	r.Tuning = words(err)
	r.Cache.Folder, err = diskcache.Explain()
	r.Cache.Error = words(err)
	for _, d := range e.Drivers {
		dr := driverReport{Name: d.Name, Error: words(d.Err), Devices: []deviceInfo{}}
		for _, i := range d.Devices {
			dr.Devices = append(dr.Devices, deviceInfo{i, e.Why(i), e.Chose(i)})
		}
		r.Drivers = append(r.Drivers, dr)
	}
	return r
}

// words are those of an error, if there is one.
func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
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
			write := a.printDevices
			if a.json {
				write = func(e *backend.Explanation) error { return a.printJSON(newDeviceReport(e)) }
			}
			if err := write(&e); err != nil {
				return err
			}
			return e.Err
		}),
	}
}

func (a *app) printDevices(e *backend.Explanation) error {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  DEVICE\tNAME\tPLATFORM\tARCH\tKIND\tUNITS\tMEMORY\tGROUP\tFLOAT32\tFLOAT64\t")
	var chosen []bool // of each line after the first
	var notes strings.Builder
	for _, d := range e.Drivers {
		for _, i := range d.Devices {
			is := e.Chose(i)
			chosen = append(chosen, is)
			fmt.Fprintf(w, "%s %s\t%s\t%s\t%s\t%s\t%d\t%s\t%d\t%s\t%s\t\n", mark(is), deviceName(i), i.Name, i.Platform,
				i.Arch, kind(i),
				i.ComputeUnits, formatBytes(i.Memory), i.MaxGroup, yesNo(i.Float32), yesNo(i.Float64))
			fmt.Fprintf(&notes, "%s %s: %s", mark(is), deviceName(i), e.Why(i))
			if i.Note != "" {
				fmt.Fprintf(&notes, " (%s)", i.Note)
			}
			notes.WriteByte('\n')
		}
		if d.Err != nil {
			// What was tried, and at the end what to do about it, each on a line.
			why := strings.Split(strings.TrimPrefix(strings.TrimSpace(d.Err.Error()), d.Name+": "), "; ")
			fmt.Fprintf(&notes, "%s %s: %s\n", a.style.red("-"), d.Name, strings.Join(why, "\n    "))
		}
	}
	if _, _, err := tuning.User(); err != nil {
		fmt.Fprintf(&notes, "%s the tuning file is ignored: %v\n", a.style.red("-"), err)
	}
	dir, err := diskcache.Explain()
	if err != nil {
		fmt.Fprintf(&notes, "%s compiled kernels are not kept: %v\n", a.style.red("-"), err)
	}
	if dir != "" {
		fmt.Fprintf(&notes, "  cache: %s\n", dir)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i, line := range strings.SplitAfter(table.String(), "\n") {
		switch text := strings.TrimRight(line, " \n"); {
		case i == 0:
			line = a.style.bold(text) + "\n"
		case text != "" && chosen[i-1]:
			line = a.style.green(text) + "\n"
		case text != "":
			line = text + "\n"
		}
		if _, err := fmt.Fprint(a.stdout, line); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(a.stdout, "\n%s", notes.String())
	return err
}

func mark(chosen bool) string {
	if chosen {
		return "*"
	}
	return " "
}

func kind(i backend.Info) string {
	if i.GPU {
		return "GPU"
	}
	return "CPU"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// deviceName is the name that --backend takes: "opencl:0".
func deviceName(i backend.Info) string { return fmt.Sprintf("%s:%d", i.Driver, i.Index) }

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
	Why string `json:"why"`
}

func newDeviceReport(e *backend.Explanation) deviceReport {
	r := deviceReport{Spec: e.Spec(), Drivers: []driverReport{}}
	for n, i := range e.Chosen {
		if n > 0 {
			r.Chosen += "+"
		}
		r.Chosen += deviceName(i)
	}
	if e.Err != nil {
		r.Error = e.Err.Error()
	}
	if _, _, err := tuning.User(); err != nil {
		r.Tuning = err.Error()
	}
	dir, err := diskcache.Explain()
	r.Cache.Folder = dir
	if err != nil {
		r.Cache.Error = err.Error()
	}
	for _, d := range e.Drivers {
		dr := driverReport{Name: d.Name, Devices: []deviceInfo{}}
		if d.Err != nil {
			dr.Error = d.Err.Error()
		}
		for _, i := range d.Devices {
			dr.Devices = append(dr.Devices, deviceInfo{i, e.Why(i)})
		}
		r.Drivers = append(r.Drivers, dr)
	}
	return r
}

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/files"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/screen"
	"github.com/tandem-gpu/tandem/internal/clock"
	"github.com/tandem-gpu/tandem/linalg"
)

// A record is what a command reports: as JSON, or as some lines of text.
type record struct {
	Command string       `json:"command"`
	Device  backend.Info `json:"device"`            // the first
	Devices []deviceUse  `json:"devices,omitempty"` // where there are several
	Inputs  []fileRecord `json:"inputs"`
	Outputs []fileRecord `json:"outputs"`

	// of a kernel of the user's, by the device's own clock
	DeviceSeconds float64 `json:"device_seconds,omitempty"`
	// of what was computed, from host memory to host memory, with compiling and copies
	CallSeconds  float64 `json:"call_seconds"`
	TotalSeconds float64 `json:"total_seconds"`    // with files and opening the device
	GFlops       float64 `json:"gflops,omitempty"` // 10^9 operations a second of the call
	// 10^9 bytes a second of the call, each operand counted once
	GBytes float64 `json:"gigabytes_per_second,omitempty"`
	MPI    *ranks  `json:"mpi,omitempty"`
	// from files to a file in parts: the time of the call includes reading and writing
	InParts bool `json:"in_parts,omitempty"`
	integer bool // the operations are not floating-point
}

// A deviceUse is the part of a result that a device has computed.
type deviceUse struct {
	Device string  `json:"device"` // as --backend takes it
	Name   string  `json:"name"`
	Part   float64 `json:"part"`            // of the elements, from 0 to 1
	Error  string  `json:"error,omitempty"` // why it has left work to the others
}

// setDevices notes what each of several devices has done.
func (r *record) setDevices(s *linalg.Session) {
	r.Device = s.Info()
	devices := s.Devices()
	if len(devices) == 1 {
		return
	}
	all := int64(0)
	for _, d := range devices {
		all += d.Elements
	}
	for i, d := range devices {
		u := deviceUse{Device: screen.Device(d.Info), Name: d.Info.Name, Error: words(d.Err)}
		if all > 0 {
			u.Part = float64(d.Elements) / float64(all)
		} else if i == 0 { // small matrices are computed there alone
			u.Part = 1
		}
		r.Devices = append(r.Devices, u)
	}
}

func (u deviceUse) String() string {
	s := fmt.Sprintf("%s  %s: %.3g %% of the result", u.Device, u.Name, 100*u.Part)
	if u.Error != "" {
		s += "; it failed: " + u.Error
	}
	return s
}

type fileRecord struct {
	Path  string `json:"path"`
	Type  string `json:"type"`
	Shape []int  `json:"shape"`
	Bytes int64  `json:"bytes,omitempty"` // of the whole file; for outputs
}

func (f fileRecord) String() string {
	return files.Describe(f.Path, f.Type, f.Shape)
}

func fileRecords(in []files.Operand) []fileRecord {
	r := []fileRecord{}
	for _, o := range in {
		r = append(r, fileRecord{Path: o.Path, Type: o.Type.String(), Shape: o.Shape})
	}
	return r
}

// putAll writes the results, each to its output, and notes them.
func (r *record) putAll(ctx context.Context, outs files.Outputs, bar *screen.Progress, results []files.Result) error {
	for i, x := range results {
		size, err := outs[i].Put(ctx, bar, x)
		if err != nil {
			return err
		}
		r.Outputs = append(r.Outputs, fileRecord{outs[i].Path, x.Type.String(), x.Shape, size})
	}
	return nil
}

// setTime notes the time since start, and the rate of flops, or where these are 0 of bytes.
func (r *record) setTime(start time.Duration, flops, bytes float64) {
	took := clock.Now() - start
	r.CallSeconds = took.Seconds()
	if flops > 0 {
		r.GFlops = flops / float64(max(took.Nanoseconds(), 1))
	} else {
		r.GBytes = bytes / float64(max(took.Nanoseconds(), 1))
	}
	r.integer = len(r.Inputs) > 0 && r.Inputs[0].Type == "int32"
}

// report prints r: to standard error where standard output is a result.
func (a *app) report(r *record, onStderr bool) error {
	w := a.stdout
	if onStderr {
		w = a.stderr
	}
	if a.json {
		return printJSON(w, r)
	}
	var b strings.Builder
	line := func(name, format string, v ...any) {
		fmt.Fprintf(&b, "%s%*s  %s\n", a.style.Bold(name), len("device ")-len(name), "", fmt.Sprintf(format, v...))
	}
	if len(r.Devices) == 0 {
		line("device", "%s  %s (%s)", screen.Device(r.Device), r.Device.Name, r.Device.Platform)
	}
	for i, u := range r.Devices {
		line([]string{"device", ""}[min(i, 1)], "%s", u)
	}
	if len(r.Inputs) > 0 {
		line("input", "%s", joined(r.Inputs))
	}
	line("output", "%s", joined(r.Outputs))
	if r.MPI != nil {
		line("ranks", "%s", r.MPI)
	}
	what := r.Command
	if r.InParts {
		what += " from file to file"
	}
	line("time", "%s for %s%s", screen.Seconds(r.CallSeconds), what, r.rate())
	if r.DeviceSeconds > 0 {
		line("", "%s of it on the device", screen.Seconds(r.DeviceSeconds))
	}
	line("", "%s in all", screen.Seconds(r.TotalSeconds))
	_, err := fmt.Fprint(w, b.String())
	return err
}

func joined(files []fileRecord) string {
	s := make([]string, len(files))
	for i, f := range files {
		s[i] = f.String()
	}
	return strings.Join(s, ", ")
}

func (r *record) rate() string {
	switch {
	case r.GFlops > 0 && r.integer:
		return fmt.Sprintf(", %.3g Gop/s", r.GFlops)
	case r.GFlops > 0:
		return fmt.Sprintf(", %.3g GFLOP/s", r.GFlops)
	case r.GBytes > 0:
		return fmt.Sprintf(", %.3g GB/s", r.GBytes)
	}
	return ""
}

package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteText writes the report as a person reads it: the machine, what was measured by itself, and a
// table for each problem.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	r.writeHead(&b)
	r.writeCalls(&b)
	for i := range r.Products {
		r.Products[i].write(&b, "of peak")
	}
	for i := range r.Transposes {
		r.Transposes[i].write(&b, "of copy")
	}
	for i := range r.Functions {
		r.Functions[i].write(&b, "of peak")
	}
	for i := range r.Scaling {
		fmt.Fprintf(&b, "%s\n", r.Scaling[i].describe())
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for _, f := range r.fell() {
		fmt.Fprintf(&b, "%s\n", f)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) writeHead(b *strings.Builder) {
	line := func(name, format string, v ...any) { fmt.Fprintf(b, "%-9s%s\n", name, fmt.Sprintf(format, v...)) }
	line("device", "%s:%d  %s (%s), %s",
		r.Device.Driver, r.Device.Index, r.Device.Name, r.Device.Platform, r.Device.Version)
	m := r.Machine
	line("machine", "%s, %d of %d cores, %s; %s %s/%s", m.CPU, m.GoMaxProcs, m.Cores, m.InstructionSet, m.Go, m.OS,
		m.Arch)
	line("state", "%s", r.state())
	line("tuning", "%s", r.Tuning)
	for _, p := range r.Peers {
		state := "not used: "
		if p.Loaded {
			state = ""
		}
		line("peer", "%s: %s%s", p.Name, state, p.Detail)
	}
	line("method", "medians of %d interleaved samples of at least %s each; every result is checked", r.Method.Rounds,
		formatTime(r.Method.SampleSeconds))
	for _, p := range r.Peaks {
		if p.Rate > 0 {
			line("peak", "%s %s %s: %s", p.What, formatRate(p.Rate), p.Unit, p.How)
		} else {
			line("peak", "%s: %s", p.What, p.How)
		}
	}
	b.WriteString("\n")
}

// state is the machine's while it was measured.
func (r *Report) state() string {
	text := fmt.Sprintf("load %s before, %s after", formatLoad(r.LoadAtStart), formatLoad(r.LoadAtEnd))
	if r.MHzAtStart > 0 {
		text += fmt.Sprintf("; %.0f MHz before, %.0f after", r.MHzAtStart, r.MHzAtEnd)
	}
	if r.Stolen > 0 {
		text += fmt.Sprintf("; %s of the time taken by other machines", formatPercent(r.Stolen))
	}
	return text
}

func formatLoad(load []float64) string {
	if len(load) == 0 {
		return "unknown"
	}
	return strings.Trim(fmt.Sprintf("%.2f", load), "[]")
}

func (r *Report) writeCalls(b *strings.Builder) {
	for _, f := range r.FirstCalls {
		fmt.Fprintf(b, "%s linalg.MatMul %dx%dx%d on new sessions, caches on disk as they were\n",
			f.Type, f.N, f.N, f.N)
		table(b, func(w io.Writer) {
			fmt.Fprintf(w, "\topen\tfirst call\tsecond\tthird\t\n")
			for i, s := range f.Sessions {
				name := fmt.Sprintf("session %d", i+1)
				if i == 0 {
					name = "first of the process"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t\n",
					label(name), formatTime(s.Open), formatTime(s.First), formatTime(s.Second), formatTime(s.Third))
			}
		})
		b.WriteString("\n")
	}
	if len(r.SmallCalls) == 0 {
		return
	}
	fmt.Fprintf(b, "calls of device-resident products %dx%dx%d, each\n",
		r.SmallCalls[0].N, r.SmallCalls[0].N, r.SmallCalls[0].N)
	table(b, func(w io.Writer) {
		fmt.Fprintf(w, "\tenqueue\tpipelined\twaited for\ton the device\toverhead\tallocations\t\n")
		for _, s := range r.SmallCalls {
			median := func(list []float64) string { return formatTime(Summarize(list).Median) }
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%.1f\t\n", label(s.Type), median(s.Enqueue), median(s.Pipelined),
				median(s.Waited), median(s.Device),
				formatTime(s.Overhead), s.AllocsEach)
		}
	})
	b.WriteString("\n")
}

// label is a cell of the first column, which is aligned on the left.
func label(s string) string { return fmt.Sprintf("  %-25s", s) }

// table aligns columns that f separates by tabs, on the right.
func table(b *strings.Builder, f func(w io.Writer)) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	f(w)
	w.Flush()
}

// write writes the row as a table. ofPeak says what the fractions are of.
func (r *Row) write(b *strings.Builder, ofPeak string) {
	fmt.Fprintf(b, "%s\n", r.Title())
	fast := r.find(nameFast)
	table(b, func(w io.Writer) {
		fmt.Fprintf(w, "\t%s\tslowest\tfastest\ttime\t%s\tof fast\tother bits\t\n", r.Unit, ofPeak)
		for i := range r.Entries {
			e := &r.Entries[i]
			if e.Status == OK {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", label(e.title()), formatRate(e.Rate),
					formatRate(r.Work/e.Time.Max/1e9),
					formatRate(r.Work/e.Time.Min/1e9), formatTime(e.Time.Median), formatPercent(e.OfPeak),
					ratio(e, fast), e.Check.differences())
			}
		}
	})
	for i := range r.Entries {
		if e := &r.Entries[i]; e.Status != OK {
			fmt.Fprintf(b, "%s  %s: %s\n", label(e.title()), e.Status, e.Note)
		}
	}
	b.WriteString("\n")
}

// title is the name and, where it is not the device, the place.
func (e *Entry) title() string {
	if e.Place == "device" {
		return e.Name
	}
	return e.Name + ", " + e.Place
}

func ratio(e, fast *Entry) string {
	if fast == nil || fast.Rate == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2g", e.Rate/fast.Rate)
}

// differences is in how many elements the bits are others.
func (c *Check) differences() string {
	if c.Differ == 0 {
		return "none"
	}
	return formatPercent(float64(c.Differ) / float64(c.Elements))
}

func formatPercent(f float64) string {
	switch {
	case f == 0:
		return "-"
	case f < 0.01:
		return fmt.Sprintf("%.2g %%", 100*f)
	}
	return fmt.Sprintf("%.0f %%", 100*f)
}

// formatRate has three digits or more.
func formatRate(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// formatTime is seconds with three digits and a unit that suits them.
func formatTime(s float64) string {
	switch {
	case s < 0:
		return "-" + formatTime(-s)
	case s < 1e-6:
		return fmt.Sprintf("%.3g ns", s*1e9)
	case s < 1e-3:
		return fmt.Sprintf("%.3g µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g s", s)
}

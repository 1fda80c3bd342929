package bench

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/bench/internal/measure"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/tuning"
)

// begin writes what stands above the rows. What differs from run to run is a comment, so that
// benchstat compares two runs.
func (r *runner) begin() error {
	info := r.s.Info()
	maps.Copy(r.report.Config, map[string]string{
		"goos": runtime.GOOS, "goarch": runtime.GOARCH, "pkg": "github.com/tandem-gpu/tandem/bench",
		"cpu": backend.HostInfo().Name, "gomaxprocs": strconv.Itoa(runtime.GOMAXPROCS(0)),
		"instructions": host.InstructionSet(), "backend": info.Driver, "device": info.Name,
	})
	head := []string{
		strings.Join(r.o.Command, " "),
		fmt.Sprintf("%s, tandem %s, %s", time.Now().UTC().Format(time.DateTime), measure.Version(), runtime.Version()),
		fmt.Sprintf("%s:%d, %s, %s, %s; tuning: %s", info.Driver, info.Index, info.Name, info.Platform, info.Version,
			tuningOf(&info)),
		fmt.Sprintf("%s, %d threads, %s; load %s", r.report.Config["cpu"], runtime.GOMAXPROCS(0), host.InstructionSet(),
			load()),
	}
	for _, p := range r.peers {
		state := "not used: "
		if p.contender != nil {
			state = ""
		}
		head = append(head, p.name+": "+state+p.detail)
	}
	if r.o.Lines != nil {
		for _, line := range head {
			fmt.Fprintln(r.o.Lines, "#", strings.ReplaceAll(line, "\n", " "))
		}
		for _, key := range slices.Sorted(maps.Keys(r.report.Config)) {
			fmt.Fprintf(r.o.Lines, "%s: %s\n", key, r.report.Config[key])
		}
	}
	if r.o.Table == nil {
		return nil
	}
	_, err := fmt.Fprintf(r.o.Table, "%s\n\nTimes are medians of %d samples of at least %v, taken by turns; every "+
		"result is checked.\nBehind a name in the last column stands how many times as long as `fast` it takes.\n\n%s",
		strings.Join(head, "\n"), r.rounds, r.sample, tableHead)
	return err
}

// add adds a row to the report, and writes it.
func (r *runner) add(row Row) error {
	r.report.Rows = append(r.report.Rows, row)
	if r.o.Lines != nil {
		if err := row.writeLines(r.o.Lines); err != nil {
			return err
		}
	}
	if r.o.Table != nil {
		_, err := io.WriteString(r.o.Table, r.report.line(&row))
		return err
	}
	return nil
}

// end writes the notes, and in the table what is wrong.
func (r *runner) end() (err error) {
	if r.o.Lines != nil {
		for _, n := range r.report.Notes {
			_, err = fmt.Fprintln(r.o.Lines, "#", n)
		}
	}
	if r.o.Table != nil {
		list := slices.Clone(r.report.Notes)
		for _, row := range r.report.Rows {
			for _, e := range row.Entries {
				if e.Status == Wrong || e.Status == Failed {
					list = append(list, fmt.Sprintf("%s, %s: %s: %s", row.Title(), e.Name, e.Status, e.Note))
				}
			}
		}
		_, err = fmt.Fprintf(r.o.Table, "\n- %s\n", strings.Join(list, "\n- "))
	}
	return err
}

// tuningOf says where the parameters for a device come from.
func tuningOf(info *backend.Info) string {
	t, _, err := tuning.User()
	if err != nil || t.Find(info) == nil {
		return "the program's own"
	}
	d := t.Find(info)
	text := fmt.Sprintf("the user's file, of %s by tandem %s", d.Date.Format(time.DateOnly), d.Tandem)
	if n := len(d.Ignored(info)); n > 0 {
		text += fmt.Sprintf(", but for %d parameters that do not fit", n)
	}
	return text
}

// load is the system's load average, over 1, 5 and 15 minutes.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	f := strings.Fields(string(text))
	if len(f) < 3 {
		return "unknown"
	}
	return strings.Join(f[:3], " ")
}

// writeLines writes the samples in Go's benchmark format
// (https://go.dev/design/14313-benchmark-format), and why others are missing as comments. Spaces in
// names become underscores, as in go test.
func (r *Row) writeLines(w io.Writer) error {
	var b strings.Builder
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Status != OK {
			fmt.Fprintf(&b, "# %s, %s: %s: %s\n", r.Title(), e.Name, e.Status, strings.ReplaceAll(e.Note, "\n", " "))
		}
		name := fmt.Sprintf("Benchmark%s%s/%s/type=%s/size=%s/by=%s", strings.ToUpper(r.Group[:1]), r.Group[1:], r.Name,
			r.Type, r.Size, e.Name)
		for _, s := range e.Seconds {
			fmt.Fprintf(&b, "%s %d %s ns/op %.5g %s\n", strings.ReplaceAll(name, " ", "_"), max(e.Runs, 1),
				strconv.FormatFloat(s*1e9, 'f', 2, 64), r.rate(s), r.Unit)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Read reads rows in Go's benchmark format, as Run writes them. Comments are left out, and so is
// what only they have.
func Read(from io.Reader) (*Report, error) {
	r := &Report{Config: map[string]string{}}
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		line := lines.Text()
		if key, value, ok := strings.Cut(line, ": "); ok && !strings.Contains(key, " ") {
			r.Config[key] = value
		}
		if !strings.HasPrefix(line, "Benchmark") {
			continue
		}
		row, e, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("no sample of tandem bench: %q", line)
		}
		if n := len(r.Rows) - 1; n < 0 || r.Rows[n].Title() != row.Title() || r.Rows[n].Group != row.Group {
			r.Rows = append(r.Rows, row)
		}
		last := &r.Rows[len(r.Rows)-1]
		if old := last.find(e.Name); old != nil {
			old.Seconds = append(old.Seconds, e.Seconds...)
		} else {
			last.Entries = append(last.Entries, e)
		}
	}
	return r, lines.Err()
}

func parseLine(line string) (row Row, e Entry, err error) {
	var name string
	var ns, rate float64
	if _, err := fmt.Sscanf(line, "Benchmark%s %d %f ns/op %f %s", &name, &e.Runs, &ns, &rate, &row.Unit); err != nil {
		return row, e, err
	}
	part := strings.Split(strings.ReplaceAll(name, "_", " "), "/")
	if len(part) != 5 {
		return row, e, io.ErrUnexpectedEOF
	}
	value := func(i int) string { _, v, _ := strings.Cut(part[i], "="); return v }
	row.Group, row.Name, row.Type, row.Size = strings.ToLower(part[0]), part[1], value(2), value(3)
	e.Name, e.Status, e.Seconds = value(4), OK, []float64{ns / 1e9}
	row.Work = rate * ns
	return row, e, nil
}

const tableHead = "| problem | time | rate | of peak | times as long |\n| --- | --- | --- | --- | --- |\n"

// WriteTable writes the rows as a table in Markdown: the time of the fast contender, and how many
// times as long the others take.
func (r *Report) WriteTable(w io.Writer) error {
	text := tableHead
	for i := range r.Rows {
		text += r.line(&r.Rows[i])
	}
	_, err := io.WriteString(w, text)
	return err
}

// line is a row of the table.
func (r *Report) line(row *Row) string {
	main := row.main()
	if main == nil {
		return fmt.Sprintf("| %s | - | - | - | |\n", row.Title())
	}
	var others []string
	for i := range row.Entries {
		switch e := &row.Entries[i]; {
		case e.Status == Wrong || e.Status == Failed:
			others = append(others, e.Name+" "+e.Status)
		case e != main && e.Status == OK:
			others = append(others, fmt.Sprintf("%s %.3g", e.Name, e.Median()/main.Median()))
		}
	}
	title := row.Title()
	if main.Name != nameFast {
		title += ", " + main.Name
	}
	return fmt.Sprintf("| %s | %s | %s %s | %s | %s |\n", title, formatTime(main.Median()),
		formatRate(row.rate(main.Median())), row.Unit, formatPercent(r.ofPeak(row)), strings.Join(others, ", "))
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
	case s < 1e-6:
		return fmt.Sprintf("%.3g ns", s*1e9)
	case s < 1e-3:
		return fmt.Sprintf("%.3g µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g s", s)
}

package bench

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A ratio compares the rates of two contenders of a row.
type ratioOf struct{ name, against string }

func (x ratioOf) title() string { return x.name + " / " + x.against }

// ratios are the columns of the table, where a row has both.
var ratios = []ratioOf{
	{nameFast, "OpenBLAS"},
	{nameFast, "cuBLAS"},
	{nameFast, "CLBlast"},
	{nameFast, nameTwin},
	{nameFast, "gonum"},
	{nameFast, "NumPy"},
	{nameFast, nameNaive},
	{nameFast, nameTiled},
	{nameFast, nameEach},
	{nameFast, nameCPU},
	{nameCPU, "OpenBLAS"},
	{nameCPU, "gonum"},
	{nameCPU, "NumPy"},
	{nameHost, "gonum"},
	{nameHost, "NumPy"},
	{nameInto, "OpenBLAS"},
	{nameFast, nameSlices},
	{nameFast, nameCopy},
	{nameFast, nameMemcpy},
	{nameCPU, nameMemcpy},
}

// WriteTable writes ratios of rates as tables in Markdown: Tandem's contenders against the others,
// for each problem; then what calls cost.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d, %s; %s, %d threads; ratios of medians, above 1 is faster.\n\n", r.Device.Driver,
		r.Device.Index, r.Device.Name, r.Machine.CPU, r.Machine.GoMaxProcs)
	ratioTable(&b, r.Products, "of peak")
	ratioTable(&b, r.Transposes, "of copy")
	ratioTable(&b, r.Functions, "")
	for _, s := range r.SmallCalls {
		fmt.Fprintf(&b, "- %s product %dx%dx%d, resident: %s overhead a call, %.1f allocations\n", s.Type, s.N, s.N,
			s.N, formatTime(s.Overhead), s.AllocsEach)
	}
	for _, f := range r.FirstCalls {
		var first, second []float64
		for _, s := range f.Sessions[min(1, len(f.Sessions)):] { // the first of the process loads the driver
			first, second = append(first, s.First), append(second, s.Second)
		}
		if len(first) > 0 {
			fmt.Fprintf(&b, "- first call on a new session %s, second %s: %s product %dx%dx%d, medians\n",
				formatTime(Summarize(first).Median),
				formatTime(Summarize(second).Median), f.Type, f.N, f.N, f.N)
		}
	}
	for i := range r.Scaling {
		fmt.Fprintf(&b, "- %s\n", r.Scaling[i].describe())
	}
	fmt.Fprintf(&b, "- %s\n", strings.ReplaceAll(r.state(), "; ", "\n- "))
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "- %s\n", n)
	}
	for _, f := range r.fell() {
		fmt.Fprintf(&b, "- %s\n", f)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ratioTable writes the rows that have figures, with the columns that any of them has. ofPeak is ""
// where they have no peak, and the time takes its place.
func ratioTable(b *strings.Builder, rows []Row, ofPeak string) {
	var columns []ratioOf
	for _, x := range ratios {
		if slices.ContainsFunc(rows, func(r Row) bool { return r.find(x.name) != nil && r.find(x.against) != nil }) {
			columns = append(columns, x)
		}
	}
	if len(columns) == 0 {
		return
	}
	cells := []string{"problem", "fast", cmp.Or(ofPeak, "time")}
	for _, x := range columns {
		cells = append(cells, x.title())
	}
	line := func(cells []string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }
	line(cells)
	line(slices.Repeat([]string{"---"}, len(cells)))
	for i := range rows {
		r := &rows[i]
		fast := r.find(nameFast)
		if fast == nil {
			continue
		}
		cells := []string{r.Title(), formatRate(fast.Rate) + " " + r.Unit, formatPercent(fast.OfPeak)}
		if ofPeak == "" {
			cells[2] = formatTime(fast.Time.Median)
		}
		for _, x := range columns {
			cell := ""
			if ratio, ok := x.of(r); ok {
				cell = fmt.Sprintf("%.3g", ratio)
			}
			cells = append(cells, cell)
		}
		line(cells)
	}
	b.WriteString("\n")
}

// smoothFrom is the size from which a curve should have no jumps: tiles are small beside it.
const smoothFrom = 512

// describe is the curve in a line: its rates at a few sizes, and its largest jump.
func (c *Curve) describe() string {
	text := fmt.Sprintf("scaling, %s, %s:", c.Type, c.Name)
	for _, p := range c.Points {
		if n := p.N; n&(n-1) == 0 {
			text += fmt.Sprintf(" %d: %s,", n, formatRate(p.Rate))
		}
	}
	text = strings.TrimRight(text, ",:") + " " + c.Unit
	if j := c.LargestJump(smoothFrom); j.To > 0 {
		text += fmt.Sprintf("; from n = %d on the time per operation rises by %s at most, from %d to %d", smoothFrom,
			formatPercent(j.Rise), j.From, j.To)
	}
	return text
}

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/racetest"
)

// onBackends runs f on each backend that is there.
func onBackends(t *testing.T, f func(t *testing.T, name string)) {
	for _, name := range []string{"cpu", "opencl"} {
		t.Run(name, func(t *testing.T) {
			_, err := backend.Lookup(name).Devices()
			backendtest.Require(t, name, err)
			f(t, name)
		})
	}
}

// small is a run that takes a moment.
func small(backend string) Options {
	return Options{
		Backend: backend, Command: []string{"tandem", "bench"},
		Types: []element.Type{element.Float32, element.Int32}, Sizes: []int{24}, Quick: true,
	}
}

func mustRun(t *testing.T, o Options) *Report {
	t.Helper()
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A whole run: every contender is there, is right, and has all its samples.
func TestRun(t *testing.T) {
	defer func(quick, textbook time.Duration) { quickLimit, textbookLimit = quick, textbook }(quickLimit, textbookLimit)
	quickLimit, textbookLimit = time.Minute, time.Minute
	onBackends(t, func(t *testing.T, name string) {
		if name == "cpu" && racetest.Enabled {
			t.Skip("work-items would be goroutines for a minute; opencl takes the same paths")
		}
		o := small(name)
		o.Types, o.Peers = nil, true
		last := 0.0
		o.Progress = func(what string, fraction float64) {
			if what == "" || fraction < last || fraction > 1 {
				t.Errorf("progress %q, %v after %v", what, fraction, last)
			}
			last = fraction
		}
		r := mustRun(t, o)
		if last != 1 {
			t.Errorf("the last progress is %v", last)
		}
		if bad := r.Failures(); len(bad) > 0 {
			t.Errorf("failures: %q", bad)
		}
		if len(r.Products) != 3 || len(r.Transposes) != 9 || len(r.SmallCalls) != 3 || len(r.FirstCalls) != 1 ||
			len(r.Peaks) != 4 {
			t.Fatalf("%d products, %d transposes, %d small calls, %d first calls, %d peaks; notes %q",
				len(r.Products), len(r.Transposes), len(r.SmallCalls), len(r.FirstCalls), len(r.Peaks), r.Notes)
		}
		want := []string{nameNaive, nameTiled, nameFast, nameHost}
		if name != "cpu" {
			want = append(want, nameCPU)
		}
		for _, p := range r.Peaks {
			// before the products and after them
			if want := 2 * r.Method.Rounds; p.Rate > 0 && p.What != "copy" && len(p.Seconds) != want {
				t.Errorf("the peak of %s has %d samples, want %d", p.What, len(p.Seconds), want)
			}
		}
		for _, row := range r.Products {
			checkRow(t, &row, r.Method.Rounds, want)
			if e := row.find(nameFast); r.peak(row.Type) > 0 && e.OfPeak <= 0 {
				t.Errorf("%s: %v of the peak", row.Title(), e.OfPeak)
			}
			if row.Type != "int32" && row.find("gonum") == nil {
				t.Errorf("%s: no gonum", row.Title())
			}
		}
		want = []string{nameNaive, nameTiled, nameFast, nameCopy}
		if !r.Device.GPU {
			want = append(want, nameMemcpy)
		}
		checkRow(t, &r.Transposes[0], r.Method.Rounds, want)
		checkReport(t, r)
	})
}

func checkRow(t *testing.T, row *Row, rounds int, names []string) {
	t.Helper()
	for _, name := range names {
		if row.find(name) == nil {
			t.Errorf("%s has no figures of %s: %+v", row.Title(), name, row.Entries)
		}
	}
	for _, e := range row.Entries {
		if e.Status != OK {
			continue
		}
		if len(e.Seconds) != rounds || e.Check == nil || e.Check.Elements == 0 || e.Rate <= 0 || e.Runs < 1 ||
			e.Time == nil {
			t.Errorf("%s, %s: %+v", row.Title(), e.Name, e)
		}
		if !e.Peer && e.Check.Differ != 0 {
			t.Errorf("%s, %s: %d other bits", row.Title(), e.Name, e.Check.Differ)
		}
	}
}

// checkReport writes a report in all ways.
func checkReport(t *testing.T, r *Report) {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Report
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if second, err := json.Marshal(&again); err != nil || !bytes.Equal(text, second) {
		t.Errorf("read again it is another report (%v):\n%s\n%s", err, text, second)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"format", "command", "date", "seconds", "version", "machine", "method", "device", "tuning", "peers", "peaks",
		"first_calls", "small_calls",
		"products", "transposes", "scaling", "notes", "load_average_at_start", "load_average_at_end",
	} {
		if v, ok := fields[name]; !ok || v == nil {
			t.Errorf("the JSON has no %s", name)
		}
	}
	m := r.Machine
	if m.CPU == "" || m.Cores < 1 || m.Go == "" || m.InstructionSet == "" || r.Device.Name == "" ||
		r.Device.Version == "" || time.Since(r.Date) > time.Hour {
		t.Errorf("%+v, %+v, %v", m, r.Device, r.Date)
	}
	var table bytes.Buffer
	if err := r.WriteText(&table); err != nil {
		t.Fatal(err)
	}
	for _, row := range slices.Concat(r.Products, r.Transposes) {
		if !strings.Contains(table.String(), row.Title()+"\n") {
			t.Errorf("the text has no %s", row.Title())
		}
	}
	if strings.Contains(table.String(), "NaN") || strings.Contains(table.String(), "Inf") {
		t.Errorf("the text has numbers that are none:\n%s", &table)
	}
	checkPlots(t, r)
}

func checkPlots(t *testing.T, r *Report) {
	t.Helper()
	plots, err := r.Plots()
	if err != nil {
		t.Fatal(err)
	}
	known := PlotFiles(element.Types())
	for _, p := range plots {
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(known, p.File) {
			t.Errorf("%s is not in PlotFiles", p.File)
		}
		if s := b.String(); !strings.Contains(s, "<svg") || !strings.Contains(s, "Tandem "+nameFast) &&
			p.File != "roofline.svg" || strings.Contains(s, "NaN") || strings.Contains(s, ".00<") {
			t.Errorf("%s is\n%s", p.File, s)
		}
		for d := xml.NewDecoder(&b); ; {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", p.File, err)
			}
		}
	}
	if len(r.Products) > 0 && len(r.Transposes) > 0 && len(plots) < 2 {
		t.Errorf("only %d plots", len(plots))
	}
}

// planted makes a library whose result f spoils.
func planted(name string, f func(p problem[float32]) (*job, error)) *library {
	return &library{info: PeerInfo{Name: name, Loaded: true}, place: "host", float32: f}
}

// right multiplies as gonum does, and then spoils the result.
func right(p problem[float32], spoil func()) (*job, error) {
	j, err := gonumBLAS().float32(p)
	run := j.run
	j.run = func(runs int) error {
		err := run(runs)
		spoil()
		return err
	}
	return j, err
}

// The result of a library is checked: what is wrong has no figures anywhere, and is no failure of
// Tandem.
func TestWrongPeers(t *testing.T) {
	racetest.Skip(t, "others have its goroutines")
	closed := 0
	o := small("cpu")
	o.Peers, o.Types, o.Sizes = true, []element.Type{element.Float32}, []int{24, 20}
	o.open = func(backend.Info, int) []*library {
		list := []*library{
			planted("right", func(p problem[float32]) (*job, error) { return right(p, func() {}) }),
			planted("one-off", func(p problem[float32]) (*job, error) {
				return right(p, func() { p.c[len(p.c)-1] += 0.01 })
			}),
			planted("idle", func(p problem[float32]) (*job, error) {
				return &job{run: func(int) error { return nil }}, nil
			}),
			planted("broken", func(p problem[float32]) (*job, error) { return nil, errors.New("no room") }),
			planted("failing", func(p problem[float32]) (*job, error) {
				return &job{run: func(int) error { return errors.New("status -5") }, close: func() { closed++ }}, nil
			}),
			absent("missing", errors.New("libmissing.so is not there")),
		}
		list[0].close = func() { closed += 100 }
		return list
	}
	r := mustRun(t, o)
	if bad := r.Failures(); len(bad) > 0 {
		t.Errorf("failures of Tandem: %q", bad)
	}
	if closed != 102 {
		t.Errorf("closed %d, want the library and both of its rows' jobs", closed)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Products {
		for name, status := range map[string]string{
			"right": OK, "one-off": Wrong, "idle": Wrong, "broken": Failed, "failing": Failed,
		} {
			i := slices.IndexFunc(row.Entries, func(e Entry) bool { return e.Name == name })
			if i < 0 {
				t.Errorf("%s: no %s", row.Title(), name)
				continue
			}
			e := row.Entries[i]
			if e.Status != status || !e.Peer {
				t.Errorf("%s, %s: %s (%s), want %s", row.Title(), name, e.Status, e.Note, status)
			}
			if status != OK && (e.Rate != 0 || e.OfPeak != 0 || e.Time != nil || len(e.Seconds) != 0) {
				t.Errorf("%s, %s has figures: %+v", row.Title(), name, e)
			}
		}
	}
	for line := range strings.Lines(text.String()) {
		for _, name := range []string{"one-off", "idle"} {
			if strings.Contains(line, name+", host") && !strings.Contains(line, "wrong: ") {
				t.Errorf("a line of a wrong library: %q", line)
			}
		}
	}
	for _, want := range []string{"one-off, host", "wrong: 1 of ", "missing: not used: libmissing.so is not there"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text has no %q:\n%s", want, &text)
		}
	}
	checkReport(t, r)
}

// Tandem's own wrong results and failures are told, those of peers and what was left out are not.
func TestFailures(t *testing.T) {
	r := Report{Products: []Row{{Experiment: "product", Type: "float32", M: 1, N: 2, K: 3, Entries: []Entry{
		{Name: "fast", Status: Wrong, Note: "3 of 9"},
		{Name: "naive", Status: OK},
		{Name: "tiled", Status: Skipped},
		{Name: "gonum", Peer: true, Status: Wrong},
	}}}, Transposes: []Row{{
		Experiment: "transpose", Type: "int32", M: 4, N: 5,
		Entries: []Entry{{Name: "fast", Status: Failed, Note: "lost"}},
	}}}
	want := []string{"float32 product 1x3x2, fast: 3 of 9", "int32 transpose 4x5, fast: lost"}
	if got := r.Failures(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// When the time is over, what was left out is said, and the report is whole.
func TestLimit(t *testing.T) {
	o := small("cpu")
	o.Limit = 1
	r := mustRun(t, o)
	if len(r.Products)+len(r.Transposes) != 0 || len(r.Notes) != 1+2*6 {
		t.Errorf("%d products, %d transposes, notes %q", len(r.Products), len(r.Transposes), r.Notes)
	}
	checkReport(t, r)
}

// The types and sizes that are chosen are all that is measured, and parts can be chosen.
func TestChosen(t *testing.T) {
	for _, part := range append(Parts(), "") {
		o := small("cpu")
		o.Types, o.Sizes = []element.Type{element.Float64}, []int{16, 24}
		if part != "" {
			o.Only = []string{part}
		}
		all := func(p string) bool { return part == "" || part == p }
		var last float64
		o.Progress = func(_ string, fraction float64) { last = fraction }
		r := mustRun(t, o)
		if bad := r.Failures(); len(bad) > 0 || last != 1 {
			t.Errorf("%q: failures %q, progress %v", part, bad, last)
		}
		var got []string
		for _, row := range append(r.Transposes, r.Products...) {
			got = append(got, row.Title())
		}
		for _, c := range r.FirstCalls {
			got = append(got, "first "+c.Type)
		}
		for _, c := range r.SmallCalls {
			got = append(got, "small "+c.Type)
		}
		var want []string
		if all(partTransposes) {
			want = append(want, "float64 transpose 16x16", "float64 transpose 24x24", "float64 add 16x16",
				"float64 scale 16x16", "float64 add 24x24", "float64 scale 24x24")
		}
		if all(partProducts) {
			want = append(want, "float64 product 16x16x16", "float64 product 24x24x24")
		}
		if all(partCalls) {
			want = append(want, "first float64", "small float64")
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", part, got, want)
		}
		checkReport(t, r)
	}
	// without sizes one type alone has the large transposes
	r := &runner{o: Options{Types: []element.Type{element.Float32, element.Float64}}}
	if a, b := r.transposeSizes(element.Float32), r.transposeSizes(element.Float64); len(a) != 3 || len(b) != 1 {
		t.Errorf("transposes of %d and %d", a, b)
	}
}

func TestRunErrors(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, small("cpu")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Run(t.Context(), small("abacus")); !errors.Is(err, backend.ErrNoDevice) {
		t.Errorf("no such backend: %v", err)
	}
	for _, o := range []Options{
		{Sizes: []int{0}},
		{Sizes: []int{MaxSize + 1}},
		{Rounds: 3},
		{Rounds: 6},
		{Rounds: -1},
		{Limit: -1},
		{Only: []string{"sums"}},
	} {
		o.Backend = "cpu"
		if _, err := Run(t.Context(), o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

// A contender that is known to be slow is left out before it begins.
func TestPredict(t *testing.T) {
	r := &runner{ctx: t.Context(), timing: timing{limit: time.Second}, rates: map[string]float64{"float32 naive": 1e9}}
	for _, c := range []struct {
		name string
		work float64
		skip bool
	}{{"naive", 0.9e9, false}, {"naive", 1.1e9, true}, {"tiled", 1e12, false}} {
		x := &contender{name: c.name}
		if err := predict[float32](r, x, c.work); err != nil || (x.skip != "") != c.skip {
			t.Errorf("%s with %v operations: %q, %v", c.name, c.work, x.skip, err)
		}
	}
}

// What is not installed says so, and names what was looked for.
func TestAbsent(t *testing.T) {
	for _, l := range []*library{openCLBlast(backend.Info{Index: 1 << 20}), openCUBLAS(backend.Info{Index: 1 << 20})} {
		if l.info.Loaded || l.info.Detail == "" || l.float32 != nil || l.float64 != nil || l.close != nil {
			t.Errorf("%+v", l.info)
		}
		if j, err := prepare(l, problem[float32]{}); j != nil || err != nil {
			t.Errorf("%s: %v, %v", l.info.Name, j, err)
		}
	}
}

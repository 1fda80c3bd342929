package bench

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/bench/internal/measure"
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

// mustRun runs and checks that what was written at once is the report.
func mustRun(t *testing.T, o Options) *Report {
	t.Helper()
	var lines, table bytes.Buffer
	o.Lines, o.Table = &lines, &table
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	checkWritten(t, r, &lines, &table)
	checkPlots(t, r)
	return r
}

func checkWritten(t *testing.T, r *Report, lines, table *bytes.Buffer) {
	t.Helper()
	read, err := Read(lines)
	if err != nil {
		t.Fatal(err)
	}
	figures := 0
	for i := range r.Rows {
		row := &r.Rows[i]
		if !strings.Contains(table.String(), "| "+row.Title()+" |") &&
			!strings.Contains(table.String(), "| "+row.Title()+", ") {
			t.Errorf("the table has no %s", row.Title())
		}
		if row.main() == nil {
			continue
		}
		if figures++; figures > len(read.Rows) {
			t.Fatalf("%d rows were written", len(read.Rows))
		}
		got := read.Rows[figures-1]
		if got.Title() != row.Title() || len(got.main().Seconds) != len(row.main().Seconds) {
			t.Errorf("%+v was written as %+v", row, got)
		}
	}
	if s := table.String(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
		t.Errorf("the table has numbers that are none:\n%s", s)
	}
}

func checkPlots(t *testing.T, r *Report) {
	t.Helper()
	plots, err := r.Plots()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plots {
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
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
}

// patient gives slow machines time, until the test ends.
func patient(t *testing.T) {
	quick, textbook := quickLimit, textbookLimit
	t.Cleanup(func() { quickLimit, textbookLimit = quick, textbook })
	quickLimit, textbookLimit = time.Minute, time.Minute
}

// titles are those of a group's rows.
func (r *Report) titles(group string) (list []string) {
	for i := range r.Rows {
		if r.Rows[i].Group == group {
			list = append(list, r.Rows[i].Title())
		}
	}
	return list
}

// A whole run: every contender is there, is right, and has all its samples.
func TestRun(t *testing.T) {
	patient(t)
	onBackends(t, func(t *testing.T, name string) {
		if name == "cpu" && racetest.Enabled {
			t.Skip("work-items would be goroutines for a minute; opencl takes the same paths")
		}
		o := small(name)
		o.Types, o.Peers, o.Rounds = nil, true, 3
		rows := map[string]int{"products": 3, "transposes": 9, "calls": 6}
		if name == "opencl" { // where sessions, for calls, and the kernels of other groups take a minute
			o.Only = []string{"products", "transposes"}
			delete(rows, "calls")
		}
		last := 0.0
		o.Progress = func(what string, fraction float64) {
			if what == "" || fraction < last || fraction > 1 {
				t.Errorf("progress %q, %v after %v", what, fraction, last)
			}
			last = fraction
		}
		r := mustRun(t, o)
		if bad := r.Failures(); len(bad) > 0 || last != 1 {
			t.Errorf("failures: %q; the last progress is %v", bad, last)
		}
		for group, n := range rows {
			if got := r.titles(group); len(got) != n {
				t.Errorf("%s: %q, notes %q", group, got, r.Notes)
			}
		}
		for i := range r.Rows {
			row := &r.Rows[i]
			checkRow(t, row, 3)
			var want []string
			switch row.Name {
			case "product":
				want = []string{nameNaive, nameTiled, nameFast, nameHost, nameInto}
				if row.Type != "int32" {
					want = append(want, "gonum")
				}
				if e := row.find(nameFast); r.peak(nameMultiplyAdd, row.Type) > 0 && e != nil && r.ofPeak(row) <= 0 {
					t.Errorf("%s: no part of the peak", row.Title())
				}
			case "transpose":
				want = []string{nameNaive, nameTiled, nameFast, nameCopy, nameMemcpy}
			}
			if name != "cpu" && want != nil {
				want = append(want, nameCPU)
			}
			for _, name := range want {
				if row.find(name) == nil {
					t.Errorf("%s has no figures of %s: %+v", row.Title(), name, row.Entries)
				}
			}
		}
	})
}

func checkRow(t *testing.T, row *Row, rounds int) {
	t.Helper()
	for _, e := range row.Entries {
		if e.Status != OK {
			t.Errorf("%s, %s: %s: %s", row.Title(), e.Name, e.Status, e.Note)
		} else if len(e.Seconds) != rounds || e.Runs < 1 || !(e.Median() > 0) {
			t.Errorf("%s, %s: %+v", row.Title(), e.Name, e)
		}
		if !e.Peer && e.Differ != 0 && row.Group != "blas" && row.Group != "lapack" {
			t.Errorf("%s, %s: other bits in %v", row.Title(), e.Name, e.Differ)
		}
	}
}

// Every function of every group is right beside those of all other libraries, and has all its
// samples. On the cpu device scaling has a contender for each number of threads.
func TestGroups(t *testing.T) {
	patient(t)
	const threads = 3
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	r := mustRun(t, Options{Backend: "cpu", Only: Groups()[3:], Peers: true, Quick: true, Rounds: 2})
	if bad := r.Failures(); len(bad) > 0 {
		t.Errorf("failures: %q", bad)
	}
	if got := runtime.GOMAXPROCS(0); got != threads {
		t.Errorf("GOMAXPROCS is %d, was %d", got, threads)
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		checkRow(t, row, 2)
		if row.Group == "scaling" && (row.find("fast, threads: 1") == nil || row.find("fast, threads: 3") == nil) {
			t.Errorf("%s: %+v", row.Title(), row.Entries)
		} else if row.Group != "scaling" && row.find(nameFast) == nil {
			t.Errorf("%s: Tandem has no figures", row.Title())
		}
	}
	for group, title := range map[string]string{
		"blas": "float32 gemv 40x40", "lapack": "float64 SVD 70x70", "arrays": "float64 sum of rows 20x20",
		"scaling": "int32 product 33x33x33",
	} {
		if !slices.Contains(r.titles(group), title) {
			t.Errorf("%s has no %s", group, title)
		}
	}
	if len(r.titles("products")) > 0 {
		t.Error("there is more than was asked for")
	}
}

// Without sizes of the user's a run has thin products and a batch.
func TestShapes(t *testing.T) {
	racetest.Skip(t, "others have its goroutines")
	patient(t)
	onBackends(t, func(t *testing.T, name string) {
		o := small(name)
		o.Sizes, o.Types, o.Peers, o.Only = nil, []element.Type{element.Float32}, true, []string{"products"}
		r := mustRun(t, o)
		want := []string{
			"float32 product 32x32x32", "float32 product 100x100x100", "float32 product 65x33x131",
			"float32 product 1x70x70", "float32 product 70x70x1", "float32 product 8x70x70", "float32 product 70x70x8",
			"float32 batch of 5 products 9x11x10",
		}
		if got := r.titles("products"); !slices.Equal(got, want) || len(r.Failures()) > 0 {
			t.Errorf("%q; failures %q", got, r.Failures())
		}
		batch := r.Rows[slices.IndexFunc(r.Rows, func(row Row) bool { return row.Title() == want[7] })]
		if batch.Work != 2*5*9*10*11 || batch.find(nameEach) == nil || batch.find("gonum") == nil {
			t.Errorf("the batch is %+v", batch)
		}
	})
}

// planted multiplies as gonum does, and then spoils the result.
func planted(name string, spoil func(c []byte) error) *peer {
	return &peer{name: name, contender: func(t *task) (*measure.Contender, error) {
		if !t.product {
			return nil, nil
		}
		i := slices.IndexFunc(t.calls, func(c call) bool { return c.name == "gonum" })
		return t.Contender(name, func(runs int) error {
			return errors.Join(t.calls[i].run(runs), spoil(t.out))
		}, nil, nil), nil
	}}
}

// The result of a library is checked: what is wrong has no figures anywhere, and is no failure of
// Tandem.
func TestWrongPeers(t *testing.T) {
	racetest.Skip(t, "others have its goroutines")
	closed := 0
	o := small("cpu")
	o.Peers, o.Types, o.Sizes, o.Only = true, []element.Type{element.Float32}, []int{24, 20}, []string{"products"}
	o.open = func(backend.Info) []*peer {
		list := []*peer{
			planted("right", func([]byte) error { return nil }),
			planted("one-off", func(c []byte) error { backend.Elems[float32](c)[len(c)/4-1] += 0.01; return nil }),
			planted("idle", func(c []byte) error {
				measure.Fill(backend.Elems[float32](c), measure.Poison[float32]())
				return nil
			}),
			planted("failing", func([]byte) error { return errors.New("status -5") }),
			{name: "broken", contender: func(*task) (*measure.Contender, error) { return nil, errors.New("no room") }},
			absent("missing", errors.New("libmissing.so is not there")),
		}
		list[0].close = func() { closed++ }
		return list
	}
	var table strings.Builder
	o.Table = &table
	r, err := Run(t.Context(), o)
	if err != nil || len(r.Failures()) > 0 || closed != 1 {
		t.Errorf("%v, failures of Tandem: %q, closed %d times", err, r.Failures(), closed)
	}
	for _, row := range r.Rows {
		if row.Group != "products" {
			continue
		}
		for name, status := range map[string]string{
			"right": OK, "one-off": Wrong, "idle": Wrong, "broken": Failed, "failing": Failed,
		} {
			i := slices.IndexFunc(row.Entries, func(e Entry) bool { return e.Name == name })
			if i < 0 {
				t.Errorf("%s: no %s", row.Title(), name)
			} else if e := row.Entries[i]; e.Status != status || !e.Peer || status != OK && len(e.Seconds) != 0 {
				t.Errorf("%s, %+v, want %s", row.Title(), e, status)
			}
		}
	}
	for _, want := range []string{
		"one-off wrong", "one-off: wrong: 1 of ", "failing failed", "missing: not used: libmissing.so is not there",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, &table)
		}
	}
}

// Tandem's own wrong results and failures are told, those of peers and what was left out are not.
func TestFailures(t *testing.T) {
	r := Report{Rows: []Row{
		{Name: "product", Type: "float32", Size: "1x3x2", Entries: []Entry{
			{Name: "fast", Status: Wrong, Note: "3 of 9"},
			{Name: "naive", Status: OK},
			{Name: "tiled", Status: Skipped},
			{Name: "gonum", Peer: true, Status: Wrong},
		}},
		{Name: "transpose", Type: "int32", Size: "4x5", Entries: []Entry{{Name: "fast", Status: Failed, Note: "lost"}}},
	}}
	want := []string{"float32 product 1x3x2, fast: 3 of 9", "int32 transpose 4x5, fast: lost"}
	if got := r.Failures(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// When the time is over, what was left out is said.
func TestLimit(t *testing.T) {
	o := small("cpu")
	o.Limit = 1
	if r := mustRun(t, o); len(r.Rows) != 0 || len(r.Notes) != 1+2*(2+3+2)+1 {
		t.Errorf("%d rows, notes %q", len(r.Rows), r.Notes)
	}
}

// An interrupt leaves what was measured until then, and it was written.
func TestInterrupted(t *testing.T) {
	for _, after := range []string{"transpose", "product"} {
		ctx, cancel := context.WithCancel(t.Context())
		var lines bytes.Buffer
		o := small("cpu")
		o.Lines = &lines
		o.Progress = func(what string, _ float64) {
			if strings.Contains(what, after) {
				cancel()
			}
		}
		r, err := Run(ctx, o)
		if !errors.Is(err, context.Canceled) || r == nil {
			t.Fatalf("%v, %+v", err, r)
		}
		read, err := Read(&lines)
		if err != nil || len(read.titles("products")) != len(r.titles("products")) ||
			(len(read.titles("products")) > 0) != (after == "transpose") {
			t.Errorf("%v, %d rows were written, %q", err, len(read.Rows), r.titles("products"))
		}
	}
}

// What there is not in a type is said where that was asked for.
func TestNotInType(t *testing.T) {
	o := small("cpu")
	o.Only = []string{"lapack"}
	if r := mustRun(t, o); len(r.Rows) != 0 || !slices.Contains(r.Notes, "lapack: not measured in int32") {
		t.Errorf("notes %q", r.Notes)
	}
}

// The types, sizes and contenders that are chosen are all that is measured.
func TestChosen(t *testing.T) {
	o := small("cpu")
	o.Types, o.Sizes, o.Only = []element.Type{element.Float64}, []int{16, 24}, []string{"transposes"}
	o.By = []string{nameFast, "nobody"}
	r := mustRun(t, o)
	if !slices.ContainsFunc(r.Notes, func(n string) bool {
		return strings.HasPrefix(n, "nothing was measured by nobody; there are ") && strings.Contains(n, nameFast)
	}) {
		t.Errorf("no note of a contender that is not there: %q", r.Notes)
	}
	want := []string{
		"float64 transpose 16x16", "float64 transpose 24x24", "float64 add 16x16", "float64 scale 16x16",
		"float64 add 24x24", "float64 scale 24x24",
	}
	if got := r.titles("transposes"); !slices.Equal(got, want) || len(r.Rows) != 1+len(want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, row := range r.Rows[1:] { // the first is the peak
		if len(row.Entries) != 1 || row.Entries[0].Name != nameFast {
			t.Errorf("%s: %+v", row.Title(), row.Entries)
		}
	}
}

func TestRunErrors(t *testing.T) {
	o := small("cpu")
	o.By, o.Only = []string{"nobody"}, []string{"calls"}
	_, err := Run(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "by nobody; there are by the device") {
		t.Errorf("contenders that there are not: %v", err)
	}
	if _, err := Run(t.Context(), small("abacus")); !errors.Is(err, backend.ErrNoDevice) {
		t.Errorf("no such backend: %v", err)
	}
	for _, o := range []Options{
		{Sizes: []int{0}},
		{Sizes: []int{measure.MaxSize + 1}},
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

// fake is a contender that notes its samples. A sample of it is one run, as that lasts a
// millisecond.
func fake(name string, log *[]string) *measure.Contender {
	return &measure.Contender{
		Name:  name,
		Check: func() (measure.Check, error) { return measure.Check{Elements: 1}, nil },
		Run: func(runs int) error {
			*log = append(*log, name)
			time.Sleep(time.Duration(runs) * time.Millisecond)
			return nil
		},
	}
}

func quickRunner(t *testing.T) *runner {
	r := newRunner(t.Context(), Options{Quick: true})
	r.sample, r.limit = time.Nanosecond, 300*time.Millisecond
	return r
}

// Contenders take turns, and each round begins with another one.
func TestInterleaving(t *testing.T) {
	var log []string
	x := &task{contenders: []*measure.Contender{fake("a", &log), fake("b", &log)}}
	if err := quickRunner(t).measure(x); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(log, ""), "ab"+"abbaabbaab"; got != want {
		t.Errorf("order %q, want %q", got, want)
	}
	for i := range x.Entries {
		if e := &x.Entries[i]; e.Status != OK || len(e.Seconds) != 5 || e.Runs != 1 || e.Median() < 0.001 {
			t.Errorf("%+v", e)
		}
	}
}

// When the time is over in the midst of a row, it has the samples until then.
func TestLimitInRow(t *testing.T) {
	var log []string
	r, x := quickRunner(t), &task{contenders: []*measure.Contender{fake("a", &log), fake("b", &log)}}
	r.deadline = time.Now()
	if err := r.measure(x); err != nil || len(x.Entries[1].Seconds) != 1 || len(r.report.Notes) != 1 {
		t.Errorf("%v, %+v, notes %q", err, x.Entries, r.report.Notes)
	}
}

// What is wrong, fails or is left out has no figures, and the others have theirs.
func TestNoFigures(t *testing.T) {
	var log []string
	names := []string{"wrong", "nothing", "failing", "late", "slow", "known", "good"}
	x := &task{Row: Row{Name: "product", Type: "float32", Work: 1.1e9}}
	for _, name := range names {
		x.add(fake(name, &log))
	}
	x.contenders[0].Check = func() (measure.Check, error) {
		return measure.Check{Elements: 10, Wrong: 1, Differ: 1}, nil
	}
	x.contenders[1].Check = func() (measure.Check, error) { return measure.Check{}, nil }
	x.contenders[2].Check = func() (measure.Check, error) { return measure.Check{}, errors.New("out of order") }
	calls := 0
	x.contenders[3].Run = func(int) error {
		if calls++; calls > 3 {
			return errors.New("worn out")
		}
		return nil
	}
	x.contenders[4].Run = func(int) error { time.Sleep(600 * time.Millisecond); return nil }
	r := quickRunner(t)
	r.rates = map[string]float64{"float32 product known": 1e9, "float32 product good": 1e10}
	if err := r.measure(x); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ status, note string }{
		{Wrong, "1 of 10 elements"},
		{Wrong, "0 of 0 elements"},
		{Failed, "out of order"},
		{Failed, "worn out"},
		{Skipped, "longer than 300ms"},
		{Skipped, "would take about 1.1 s"},
		{OK, ""},
	} {
		e := x.Entries[i]
		if e.Status != want.status || !strings.Contains(e.Note, want.note) || (len(e.Seconds) > 0) != (e.Status == OK) {
			t.Errorf("%+v; want %s, %q", e, want.status, want.note)
		}
	}
	if slices.Contains(log, "wrong") || slices.Contains(log, "known") {
		t.Errorf("a contender was measured that must not be: %q", log)
	}
}

// What is not installed says so, and names what was looked for.
func TestAbsent(t *testing.T) {
	none := backend.Info{Index: 1 << 20}
	for _, p := range []*peer{
		openForeign("CLBlast", none, newCLBlast), openForeign("cuBLAS", none, newCUBLAS),
	} {
		if p.contender != nil || p.detail == "" || p.close != nil {
			t.Errorf("%+v", p)
		}
	}
}

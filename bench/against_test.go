package bench

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// A ratio that has fallen by more than a tenth is named, one that has not, or that one report
// lacks, is not.
func TestCompareWith(t *testing.T) {
	row := func(n int, fast, openBLAS float64) Row {
		check, time := &Check{Elements: 1}, &Summary{1, 1, 1}
		return Row{Experiment: "product", Type: "float32", M: n, N: n, K: n, Entries: []Entry{
			{Name: nameFast, Status: OK, Rate: fast, Check: check, Time: time},
			{Name: "OpenBLAS", Status: OK, Rate: openBLAS, Check: check, Time: time},
			{Name: "gonum", Status: Skipped},
		}}
	}
	before := &Report{Format: 1, Products: []Row{row(8, 90, 100), row(16, 100, 100), row(32, 1, 1)}}
	now := &Report{Format: 1, Products: []Row{row(8, 163, 200), row(16, 178, 200), row(64, 1, 1)}}
	text, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	if before, err = ReadReport(bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	now.CompareWith(before)
	want := []string{"float32 product 16x16x16: fast / OpenBLAS is 0.89, was 1"}
	if !slices.Equal(now.Fallen, want) {
		t.Errorf("fallen %q, want %q", now.Fallen, want)
	}
	checkSays(t, now, "fell by more than a tenth: "+want[0])
	before.CompareWith(before)
	checkSays(t, before, "nothing fell")
	for _, bad := range []string{"", "[]", `{"format": 2}`} {
		if _, err := ReadReport(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is a report", bad)
		}
	}
}

func checkSays(t *testing.T, r *Report, what string) {
	t.Helper()
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text":  func(b *bytes.Buffer) error { return r.WriteText(b) },
		"table": func(b *bytes.Buffer) error { return r.WriteTable(b) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil || !strings.Contains(b.String(), what) {
			t.Errorf("the %s (%v) does not say %q:\n%s", name, err, what, &b)
		}
	}
}

// Samples that are not steady are taken four times as often, where that is asked for, and it is
// said that they still are not.
func TestSteady(t *testing.T) {
	for _, steady := range []bool{false, true} {
		r := &runner{report: &Report{}, timing: timing{rounds: 5, limit: time.Second, steady: steady}}
		turn := 0
		c := &contender{name: "some", run: func(int) error {
			turn++
			time.Sleep(time.Duration(1+turn%2*9) * time.Millisecond)
			return nil
		}, check: func() (Check, error) { return Check{Elements: 1}, nil }}
		var row Row
		if err := r.measure(t.Context(), &row, []*contender{c}); err != nil {
			t.Fatal(err)
		}
		r.noteSpread(&row)
		want, notes := 5, 0
		if steady {
			want, notes = 20, 1
		}
		if n := len(row.Entries[0].Seconds); n != want || len(r.report.Notes) != notes {
			t.Errorf("steady %v: %d samples, want %d; notes %q", steady, n, want, r.report.Notes)
		}
	}
}

// The machine's state, as Linux tells it.
func TestState(t *testing.T) {
	if v := meanMegahertz("processor\t: 0\ncpu MHz\t\t: 2000.5\n\nprocessor\t: 1\ncpu MHz\t\t: 3000.5\n"); v != 2500.5 {
		t.Errorf("%v MHz", v)
	}
	if v := meanMegahertz("BogoMIPS: 50\n"); v != 0 {
		t.Errorf("%v MHz of none", v)
	}
	before := parseStat("cpu  10 0 10 80 0 0 0 0 5 0\ncpu0 1 2 3\n")
	if v := parseStat("cpu  60 0 10 80 0 0 0 50 55 0\n").since(before); v != 0.5 {
		t.Errorf("%v stolen", v)
	}
	if v := parseStat("cpu a\n").since(before); v != 0 {
		t.Errorf("%v stolen where nothing is known", v)
	}
}

package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// fake is a contender that notes its samples. A sample of it is one run, as that lasts a
// millisecond.
func fake(name string, log *[]string) *contender {
	return &contender{
		name:  name,
		check: func() (Check, error) { return Check{Elements: 1}, nil },
		run: func(runs int) error {
			*log = append(*log, name)
			time.Sleep(time.Duration(runs) * time.Millisecond)
			return nil
		},
	}
}

var quick = timing{rounds: 5, sample: time.Microsecond, limit: time.Minute}

// Contenders take turns, and each round begins with another one.
func TestInterleaving(t *testing.T) {
	var log []string
	row := Row{Work: 1e9}
	if err := quick.measure(t.Context(), &row, []*contender{fake("a", &log), fake("b", &log)}); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(log, ""), "ab"+"abbaabbaab"; got != want {
		t.Errorf("order %q, want %q", got, want)
	}
	for _, e := range row.Entries {
		if e.Status != OK || len(e.Seconds) != 5 || e.Runs != 1 || e.Time == nil || e.Time.Median < 0.001 ||
			e.Rate <= 0 || e.Rate > 1000 {
			t.Errorf("%+v", e)
		}
		if s := Summarize(e.Seconds); *e.Time != s || e.Rate != row.Work/s.Median/1e9 {
			t.Errorf("%s: %v and %v of %v", e.Name, *e.Time, e.Rate, e.Seconds)
		}
	}
}

// What is wrong, fails or is left out has no figures, and the others have theirs.
func TestNoFigures(t *testing.T) {
	var log []string
	wrong, failing, late := fake("wrong", &log), fake("failing", &log), fake("late", &log)
	slow, skipped, good := fake("slow", &log), fake("skipped", &log), fake("good", &log)
	wrong.check = func() (Check, error) { return Check{Elements: 10, Wrong: 1, Differ: 1}, nil }
	failing.check = func() (Check, error) { return Check{}, errors.New("out of order") }
	calls := 0
	late.run = func(int) error {
		if calls++; calls > 3 {
			return errors.New("worn out")
		}
		return nil
	}
	late.check = func() (Check, error) { return Check{Elements: 1}, nil }
	slow.run = func(int) error { time.Sleep(600 * time.Millisecond); return nil }
	skipped.skip = "not today"
	tm := timing{rounds: 5, sample: time.Nanosecond, limit: 300 * time.Millisecond}
	row := Row{Work: 1}
	if err := tm.measure(t.Context(), &row, []*contender{wrong, failing, late, slow, skipped, good}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ status, note string }{
		{Wrong, "1 of 10 elements"},
		{Failed, "out of order"},
		{Failed, "worn out"},
		{Skipped, "longer than 300ms"},
		{Skipped, "not today"},
		{OK, ""},
	} {
		e := row.Entries[i]
		if e.Status != want.status || !strings.Contains(e.Note, want.note) {
			t.Errorf("%s: %s, %q; want %s, %q", e.Name, e.Status, e.Note, want.status, want.note)
		}
		figures := e.Time != nil || e.Rate != 0 || len(e.Seconds) != 0 || e.Runs != 0
		if figures != (want.status == OK) {
			t.Errorf("%s is %s and has the figures %+v", e.Name, e.Status, e)
		}
	}
	if slices.Contains(log, "wrong") {
		t.Error("a wrong contender was measured")
	}
}

func TestNothingCompared(t *testing.T) {
	var log []string
	c := fake("nothing", &log)
	c.check = func() (Check, error) { return Check{}, nil }
	row := Row{Work: 1}
	if err := quick.measure(t.Context(), &row, []*contender{c}); err != nil {
		t.Fatal(err)
	}
	if e := row.Entries[0]; e.Status != Wrong {
		t.Errorf("a check that compared nothing is %s", e.Status)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var log []string
	c := fake("a", &log)
	c.check = func() (Check, error) { cancel(); return Check{Elements: 1}, nil }
	row := Row{Work: 1}
	if err := quick.measure(ctx, &row, []*contender{c}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

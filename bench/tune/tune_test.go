package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/bench/internal/measure"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// A search of two candidates on each device gives right ones, with their samples.
func TestTune(t *testing.T) {
	t.Setenv(tuning.Env, "off")
	tuning.Reload()
	for _, name := range []string{"cpu", "opencl"} {
		t.Run(name, func(t *testing.T) { testTune(t, name) })
	}
}

func testTune(t *testing.T, name string) {
	_, err := backend.Lookup(name).Devices()
	backendtest.Require(t, name, err)
	o := Options{Backend: name, Sizes: []int{96}, Trials: 2, crossings: 2, onCPU: true}
	if testing.Short() {
		o.Types = []element.Type{element.Float32}
	}
	last, stored := 0.0, 0
	o.Progress = func(what string, fraction float64) {
		if what == "" || fraction < last || fraction > 1 {
			t.Errorf("progress %q, %v after %v", what, fraction, last)
		}
		last = fraction
	}
	o.Store = func(d *tuning.Record) error { stored++; return nil }
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	types := 3
	if testing.Short() {
		types = 1
	}
	if d := &r.Tuning; len(d.MatMul) != types || len(d.Transpose) != types || len(r.Before) != 2*types ||
		last != 1 || stored < 2*types || time.Since(d.Date) > time.Hour {
		t.Fatalf("stored %d times: %+v", stored, r)
	}
	if d := r.Tuning.Device; d.Driver != name || d.Version != r.Device.Version || d.Name == "" {
		t.Errorf("device %+v", d)
	}
	for _, w := range r.Tuning.MatMul {
		checkTuned(t, w.Type, w.N, w.Seconds, w.Params, w.Trials)
	}
	for _, w := range r.Tuning.Transpose {
		checkTuned(t, w.Type, w.N, w.Seconds, w.Params, w.Trials)
	}
	if crossings := len(r.Tuning.Crossover); name == "cpu" && crossings > 0 || name != "cpu" && crossings != types {
		t.Errorf("crossovers %+v, notes %q", r.Tuning.Crossover, r.Notes)
	}
}

func checkTuned[P comparable](t *testing.T, typ string, n int, seconds float64, won P, trials []tuning.Trial[P]) {
	t.Helper()
	i := slices.IndexFunc(trials, func(x tuning.Trial[P]) bool { return x.Params == won })
	if i < 0 || n != 96 || trials[i].Note != "" || seconds < fastest(&trials[i]) ||
		seconds > slices.Max(trials[i].Seconds) {
		t.Errorf("%s n %d: %+v in %v s of %+v", typ, n, won, seconds, trials)
	}
	if len(trials) != 2 {
		t.Errorf("%s: %d trials", typ, len(trials))
	}
}

// paced is a search space of numbers: the time of a run of p is |p - 20| + 1 seconds, by a clock of
// its own.
type paced struct {
	wrong, broken int // these give wrong results, or do not compile
	ran           []int
}

func (x *paced) space() space[int] {
	return space[int]{
		seeds:      []int{10, 50, 80},
		neighbours: func(p int) []int { return []int{p - 3, p + 3} },
		source: func(p int) *backend.Source {
			if p == x.broken {
				return &backend.Source{Name: "broken"} // the cpu device has no compiler
			}
			return kernels.Scale.Source(element.Float32)
		},
		contenders: func(_ *backend.Kernel, p int) []*measure.Contender {
			return []*measure.Contender{{
				Name: strconv.Itoa(p),
				Check: func() (measure.Check, error) {
					x.ran = append(x.ran, p)
					if p == x.wrong {
						return measure.Check{Elements: 5, Wrong: 1}, nil
					}
					return measure.Check{Elements: 5}, nil
				},
			}}
		},
	}
}

func runOn(t *testing.T, ctx context.Context, o Options) *run {
	t.Helper()
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	r := newRun(ctx, o, s)
	r.time = func(c *measure.Contender, runs int) (float64, error) {
		p, err := strconv.Atoi(c.Name)
		return math.Abs(float64(p-20)) + 1, err
	}
	return r
}

// A search goes downhill from the best seed to the fastest, keeps all it measured, and drops what
// is clearly slower after one sample.
func TestSearch(t *testing.T) {
	x := &paced{}
	r := runOn(t, t.Context(), Options{})
	won, before, err := search(r, x.space(), time.Now().Add(time.Hour))
	if err != nil || won == nil {
		t.Fatal(won, err)
	}
	if won.Params != 19 || won.Seconds != 2 || before != 11 { // 10, 13, 16, 19: 22 is slower
		t.Errorf("won %+v, before %v", won, before)
	}
	if len(won.Trials) != len(x.ran) || won.Trials[0].Params != 10 || won.Trials[1].Params != 50 {
		t.Errorf("ran %v, trials %+v", x.ran, won.Trials)
	}
	if d := won.Trials[1]; len(d.Seconds) != 1 || d.Note != "slower" {
		t.Errorf("not dropped: %+v", d)
	}
	if d := won.Trials[2]; len(d.Seconds) != 1 || d.Note != "far slower" {
		t.Errorf("not dropped at once: %+v", d)
	}
	if d := won.Trials[0]; len(d.Seconds) < 2*duelRounds || d.Note != "" {
		t.Errorf("the first best: %+v", d)
	}
}

// A winner that gained nothing beside what was used before, after all, does not stay.
func TestSearchRematch(t *testing.T) {
	x := &paced{}
	r := runOn(t, t.Context(), Options{})
	calls := map[string]int{}
	r.time = func(c *measure.Contender, runs int) (float64, error) {
		calls[c.Name]++
		if c.Name == "10" && calls["10"] <= 1+2*duelRounds { // until the rematch something else runs beside it
			return 100, nil
		}
		return 5, nil
	}
	sp := x.space()
	sp.seeds, sp.neighbours = []int{10, 50}, func(int) []int { return nil }
	won, before, err := search(r, sp, time.Now().Add(time.Hour))
	if err != nil || won.Params != 10 || won.Seconds != 5 || before != 5 {
		t.Errorf("%+v, before %v, %v", won, before, err)
	}
}

// What is wrong, or does not compile, does not win.
func TestSearchRefuses(t *testing.T) {
	x := &paced{wrong: 19}
	r := runOn(t, t.Context(), Options{})
	won, _, err := search(r, x.space(), time.Now().Add(time.Hour))
	if err != nil || won.Params != 16 ||
		!slices.ContainsFunc(r.report.Notes,
			func(s string) bool { return strings.Contains(s, "1 of 5 elements are wrong") }) {
		t.Errorf("%+v, %v, notes %q", won, err, r.report.Notes)
	}
	x = &paced{broken: 13}
	r = runOn(t, t.Context(), Options{})
	won, _, err = search(r, x.space(), time.Now().Add(time.Hour))
	if err != nil || slices.Contains(x.ran, 13) || won.Params == 13 || !r.prebuilt {
		t.Errorf("%+v, %v, ran %v", won, err, x.ran)
	}
	if r.prebuilt && !strings.Contains(fmt.Sprint(r.report.Notes), "come compiled") {
		t.Errorf("notes %q", r.report.Notes)
	}
	none := x.space()
	none.seeds = []int{13}
	if won, _, err := search(runOn(t, t.Context(), Options{}), none, time.Now().Add(time.Hour)); won != nil ||
		err != nil {
		t.Errorf("nothing works: %+v, %v", won, err)
	}
}

// The time ends a search, but not before its first candidate; so does the context, and what was
// found stays.
func TestSearchEnds(t *testing.T) {
	x := &paced{}
	won, before, err := search(runOn(t, t.Context(), Options{}), x.space(), time.Now())
	if err != nil || won == nil || won.Params != 10 || len(won.Trials) != 1 || before != won.Seconds {
		t.Errorf("no time: %+v, %v", won, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	x = &paced{}
	sp := x.space()
	next := sp.neighbours
	sp.neighbours = func(p int) []int { cancel(); return next(p) }
	won, _, err = search(runOn(t, ctx, Options{}), sp, time.Now().Add(time.Hour))
	if !errors.Is(err, context.Canceled) || won == nil || won.Params != 10 || len(won.Trials) != 3 {
		t.Errorf("cancelled: %+v, %v", won, err)
	}
}

// An interrupt leaves what was found, and it was stored.
func TestTuneInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var stored int
	r, err := Run(ctx, Options{
		Backend: "cpu", Types: []element.Type{element.Int32}, Sizes: []int{16, 24}, Trials: 2, onCPU: true,
		Store: func(d *tuning.Record) error { stored = len(d.Transpose); cancel(); return nil },
	})
	if !errors.Is(err, context.Canceled) || r == nil || len(r.Tuning.Transpose) != 1 || stored != 1 {
		t.Errorf("%+v, %v, stored %d", r, err, stored)
	}
	full := errors.New("the disk is full")
	if _, err := Run(t.Context(), Options{
		Backend: "cpu", Sizes: []int{16}, Trials: 2, onCPU: true,
		Store: func(*tuning.Record) error { return full },
	}); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

func TestTuneErrors(t *testing.T) {
	for _, o := range []Options{{Sizes: []int{0}}, {Limit: -1}, {Trials: -1}, {Backend: "abacus"}} {
		if r, err := Run(t.Context(), o); err == nil {
			t.Errorf("%+v: %+v", o, r)
		}
	}
	r, err := Run(t.Context(), Options{Backend: "cpu", Sizes: []int{16}, Limit: 1, Trials: 2, onCPU: true})
	if err != nil || len(r.Notes) != 6 || len(r.Tuning.MatMul) != 0 {
		t.Errorf("no time: %+v, %v", r, err)
	}
	r, err = Run(t.Context(), Options{Backend: "cpu"})
	if err != nil || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "nothing to search") ||
		len(r.Tuning.MatMul) != 0 {
		t.Errorf("on the cpu device: %+v, %v", r, err)
	}
}

package bench

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/linalg"
)

// Every function of every group is right beside those of all other libraries, and has all its
// samples.
func TestFunctions(t *testing.T) {
	defer func(quick time.Duration) { quickLimit = quick }(quickLimit)
	quickLimit = time.Minute
	r := mustRun(t, Options{Backend: "cpu", Functions: FunctionGroups(), Peers: true, Quick: true})
	if bad := r.Failures(); len(bad) > 0 {
		t.Errorf("failures: %q", bad)
	}
	if len(r.Products)+len(r.Transposes)+len(r.FirstCalls) != 0 {
		t.Error("there is more than functions")
	}
	var text strings.Builder
	if err := r.WriteTable(&text); err != nil {
		t.Fatal(err)
	}
	for _, title := range []string{"float32 gemv 40x40", "float64 SVD 70x70", "float64 sum of rows 20x20"} {
		if !strings.Contains(text.String(), "| "+title+" |") {
			t.Errorf("the table has no %s", title)
		}
	}
	for _, row := range r.Functions {
		checkFunction(t, &row, r.Method.Rounds)
	}
}

// Package array's functions have the contract's bits, and the report says so.
func TestFunctionBits(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := &runner{s: s, o: Options{Quick: true}}
	for _, ready := range append(arrayFunctions[float32](r), arrayFunctions[float64](r)...) {
		f, err := ready()
		if err != nil {
			t.Fatal(err)
		}
		if c, err := f.own().check(); err != nil || c.Elements == 0 || c.Differ != 0 {
			t.Errorf("%s: %+v, %v", f.row.Title(), c, err)
		}
		for _, free := range f.free {
			free()
		}
	}
}

func checkFunction(t *testing.T, row *Row, rounds int) {
	t.Helper()
	for _, e := range row.Entries {
		if e.Status != OK || len(e.Seconds) != rounds || e.Check == nil || e.Check.Elements == 0 || e.Rate <= 0 {
			t.Errorf("%s, %s: %+v", row.Title(), e.Name, e)
		}
	}
	if row.find(nameFast) == nil {
		t.Errorf("%s: Tandem has no figures", row.Title())
	}
}

func TestFunctionsRefuse(t *testing.T) {
	for want, o := range map[string]Options{
		`functions are blas, lapack, arrays, not "fft"`: {Functions: []string{"blas", "fft"}},
		"functions are measured in float32 and float64": {
			Functions: FunctionGroups(), Types: []element.Type{element.Int32},
		},
	} {
		if err := o.Validate(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A function whose result is wrong has no figures, whoever computed it.
func TestWrongFunction(t *testing.T) {
	r := &runner{ctx: t.Context(), o: Options{Quick: true}, report: &Report{}, deadline: time.Now().Add(time.Hour)}
	r.setMethod()
	f := newFunction[float64]("half", 1, 2, 1, gigaflops)
	x := make([]float64, 2)
	f.reset = func() { fill(x, poison[float64]()) }
	f.check = func() Check { return compare(x, []float64{1, 2}, 1e-10) }
	f.fast = func() error { x[0] = 1; return nil } // leaves x[1]
	f.peers = []functionPeer{
		{name: "right", run: repeat(func() { copy(x, []float64{1, 2}) })},
		{name: "wrong", run: repeat(func() { copy(x, []float64{1, 2.001}) })},
	}
	if err := r.function(func() (*function, error) { return f, nil }); err != nil {
		t.Fatal(err)
	}
	var states []string
	for _, e := range r.report.Functions[0].Entries {
		states = append(states, e.Status)
	}
	if want := []string{Wrong, OK, Wrong}; !slices.Equal(states, want) {
		t.Errorf("%q, want %q", states, want)
	}
	if len(r.report.Failures()) != 1 {
		t.Errorf("failures: %q", r.report.Failures())
	}
}

// The checks of factorizations find a factor that is wrong.
func TestSolverChecks(t *testing.T) {
	r := &runner{ctx: t.Context(), o: Options{Quick: true, Types: []element.Type{element.Float64}}}
	for _, f := range lapackFunctions[float64](r) {
		x, err := f()
		if err != nil {
			t.Fatal(err)
		}
		x.reset()
		if c := x.check(); c.Wrong == 0 {
			t.Errorf("%s: nothing was computed, and nothing is wrong", x.row.Title())
		}
		if err := x.fast(); err != nil {
			t.Fatal(err)
		}
		if c := x.check(); c.Wrong != 0 || c.Elements == 0 {
			t.Errorf("%s: %+v", x.row.Title(), c)
		}
	}
}

func TestCompare(t *testing.T) {
	want := []float64{0, -8, 1}
	for _, c := range []struct {
		got           []float64
		wrong, differ int
	}{
		{[]float64{0, -8, 1}, 0, 0},
		{[]float64{0.5, -8, 1}, 0, 1},
		{[]float64{0, -8, 1.9}, 1, 1},
		{[]float64{0, math.NaN(), math.Inf(1)}, 2, 2},
	} {
		check := compare(c.got, want, 0.1)
		if check.Wrong != c.wrong || check.Differ != c.differ || check.Elements != 3 {
			t.Errorf("%v: %+v", c.got, check)
		}
	}
	if check := compare([]float32{0.1}, []float64{0.1}, 0); check.Differ != 0 || check.Wrong != 0 {
		t.Errorf("float32(0.1) beside 0.1: %+v", check)
	}
}

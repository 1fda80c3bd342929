package bench

import (
	"bytes"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/racetest"
)

// A run of the scaling alone has a curve for each type, and on the cpu device for each number of
// threads, with all samples of all sizes.
func TestScaling(t *testing.T) {
	const threads = 3
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	onBackends(t, func(t *testing.T, name string) {
		o := small(name)
		o.Sizes, o.Scaling = []int{40, 16, 24, 24}, true
		r := mustRun(t, o)
		if got := runtime.GOMAXPROCS(0); got != threads {
			t.Errorf("GOMAXPROCS is %d, was %d", got, threads)
		}
		want := []int{threads}
		if name == "cpu" {
			want = []int{1, 2, threads}
		}
		if len(r.Scaling) != 2*len(want) || len(r.Products)+len(r.Transposes)+len(r.FirstCalls) > 0 {
			t.Fatalf("%d curves, want those of %v for two types; notes %q", len(r.Scaling), want, r.Notes)
		}
		for i, c := range r.Scaling {
			if c.Threads != want[i%len(want)] || c.Type != []string{"float32", "int32"}[i/len(want)] ||
				len(c.Points) != 3 {
				t.Errorf("curve %d: %+v", i, c)
			}
			for j, p := range c.Points {
				if p.N != []int{16, 24, 40}[j] || len(p.Seconds) != r.Method.Rounds || p.Time != Summarize(p.Seconds) ||
					p.Rate <= 0 {
					t.Errorf("curve %d: %+v", i, p)
				}
			}
		}
		plots, err := r.Plots()
		if err != nil || len(plots) != 4 {
			t.Errorf("%d plots, %v", len(plots), err)
		}
		checkReport(t, r)
		var text, table bytes.Buffer
		if err := r.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if err := r.WriteTable(&table); err != nil {
			t.Fatal(err)
		}
		for _, b := range []*bytes.Buffer{&text, &table} {
			if !strings.Contains(b.String(), "scaling, int32, fast") || !strings.Contains(b.String(), " 16: ") {
				t.Errorf("no scaling in\n%s", b)
			}
		}
	})
}

func TestScalingLimit(t *testing.T) {
	o := small("cpu")
	o.Scaling, o.Limit = true, 1
	r := mustRun(t, o)
	if len(r.Notes) != 2 {
		t.Errorf("notes %q", r.Notes)
	}
	if plots, err := r.Plots(); err != nil || len(plots) != 0 {
		t.Errorf("plots of nothing: %v, %v", plots, err)
	}
	checkReport(t, r)
}

// Samples of several passes come together, whatever the order of the sizes.
func TestCurveAdd(t *testing.T) {
	var c Curve
	c.add(24, []float64{3}, 6e9)
	c.add(16, []float64{5}, 5e9)
	c.add(24, []float64{1, 2}, 6e9)
	want := []CurvePoint{{16, []float64{5}, Summary{5, 5, 5}, 1}, {24, []float64{3, 1, 2}, Summary{2, 1, 3}, 3}}
	if !reflect.DeepEqual(c.Points, want) {
		t.Errorf("points %v, want %v", c.Points, want)
	}
}

// The largest rise of the time per operation, from a size on.
func TestLargestJump(t *testing.T) {
	c := Curve{}
	for _, p := range []struct {
		n    int
		cost float64 // of an operation
	}{{100, 1}, {200, 5}, {512, 4}, {513, 5}, {514, 3}, {515, 3.5}} {
		time := p.cost * float64(p.n) * float64(p.n) * float64(p.n)
		c.Points = append(c.Points, CurvePoint{N: p.n, Time: Summary{Min: time, Median: 9 * time, Max: 99 * time}})
	}
	for _, w := range []struct {
		n    int
		want Jump
	}{{0, Jump{100, 200, 4}}, {512, Jump{512, 513, 0.25}}, {514, Jump{514, 515, 3.5/3 - 1}}} {
		got := c.LargestJump(w.n)
		if got.Rise = math.Round(got.Rise*1e6) / 1e6; got.From != w.want.From || got.To != w.want.To ||
			got.Rise != math.Round(w.want.Rise*1e6)/1e6 {
			t.Errorf("from %d: %+v, want %+v", w.n, got, w.want)
		}
	}
	if got := new(Curve).LargestJump(0); got != (Jump{}) {
		t.Errorf("%+v", got)
	}
}

// entry has a rate and a time.
func entry(name string, rate float64) Entry {
	return Entry{Name: name, Status: OK, Rate: rate, Time: &Summary{1, 1, 1}, Check: &Check{Elements: 1}}
}

// The table has the ratios of the rows that have both, and no column without any.
func TestTable(t *testing.T) {
	r := Report{
		Products: []Row{
			{Experiment: "product", Type: "float32", M: 8, N: 8, K: 8, Unit: "GFLOP/s", Entries: []Entry{
				entry(nameFast, 120), entry("OpenBLAS", 100), entry(nameCPU, 90), entry("gonum", 10),
				{Name: "CLBlast", Status: Wrong},
			}},
			{
				Experiment: "product", Type: "int32", M: 8, N: 8, K: 8, Unit: "Gop/s",
				Entries: []Entry{entry(nameFast, 90), entry("NumPy", 0.5)},
			},
			{
				Experiment: "product", Type: "int32", M: 9, N: 9, K: 9,
				Entries: []Entry{{Name: nameFast, Status: Failed}},
			},
		},
		Transposes: []Row{{
			Experiment: "transpose", Type: "int32", M: 8, N: 8, Unit: "GB/s",
			Entries: []Entry{entry(nameFast, 9), entry(nameMemcpy, 10)},
		}},
		SmallCalls: []SmallCall{{Type: "float32", N: 64, Overhead: 2e-6, AllocsEach: 3}},
		FirstCalls: []FirstCall{{
			Type: "float32", N: 256,
			Sessions: []SessionCall{{First: 9, Second: 9}, {First: 0.002, Second: 0.001}},
		}},
	}
	var b bytes.Buffer
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| problem | fast | of peak | fast / OpenBLAS | fast / gonum | fast / NumPy | fast / cpu device | cpu " +
			"device / OpenBLAS | cpu device / gonum |\n",
		"| float32 product 8x8x8 | 120 GFLOP/s | - | 1.2 | 12 |  | 1.33 | 0.9 | 9 |\n",
		"| int32 product 8x8x8 | 90.0 Gop/s | - |  |  | 180 |  |  |  |\n",
		"| int32 transpose 8x8 | 9.00 GB/s | - | 0.9 |\n",
		"2 µs overhead a call, 3.0 allocations",
		"first call on a new session 2 ms, second 1 ms",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	if strings.Contains(b.String(), "9x9x9") || strings.Contains(b.String(), "CLBlast") {
		t.Errorf("rows or columns without figures:\n%s", &b)
	}
}

// Without sizes of the user's a run has thin products and a batch, whose results are checked.
func TestShapes(t *testing.T) {
	racetest.Skip(t, "others have its goroutines")
	onBackends(t, func(t *testing.T, name string) {
		if testing.Short() && name != "cpu" {
			t.Skip("short")
		}
		o := small(name)
		o.Sizes, o.Types, o.Peers = nil, []element.Type{element.Float32}, true
		r := mustRun(t, o)
		if bad := r.Failures(); len(bad) > 0 {
			t.Errorf("failures: %q", bad)
		}
		titles := []string{}
		for i := range r.Products {
			titles = append(titles, r.Products[i].Title())
		}
		for _, want := range []string{"32x32x32", "65x33x131", "1x70x70", "70x70x1", "8x70x70", "70x70x8"} {
			if !slices.Contains(titles, "float32 product "+want) {
				t.Errorf("no %s in %q", want, titles)
			}
		}
		last := r.Products[len(r.Products)-1]
		if last.Batch != 5 || last.Title() != "float32 batch of 5 products 9x11x10" || last.Work != 2*5*9*10*11 {
			t.Errorf("the batch is %+v", last)
		}
		checkRow(t, &last, r.Method.Rounds, []string{nameFast, nameEach, "gonum"})
		checkReport(t, r)
	})
}

// A batch with one wrong product is found.
func TestBatchReference(t *testing.T) {
	d := shape{m: 3, n: 4, k: 5, count: 6}
	p := randomProblem[float64](d.m*d.count, d.n, d.k)
	var parts []problem[float64]
	for i := range d.count {
		parts = append(parts, problem[float64]{d.m, d.n, d.k, p.a[i*15:][:15], p.b[:20], p.c[i*12:][:12]})
	}
	ref := batchReference(parts)
	c := batchOfLibrary(gonumBLAS(), parts, p, ref)
	if check, err := c.check(); err != nil || check.Wrong != 0 || check.Elements != 72 {
		t.Errorf("%+v, %v", check, err)
	}
	parts[4].c = make([]float64, 12)
	c = batchOfLibrary(gonumBLAS(), parts, p, ref)
	if check, err := c.check(); err != nil || check.Wrong != 12 {
		t.Errorf("one product is missing: %+v, %v", check, err)
	}
}

// Sizes are close around those where tiles end.
func TestScalingSizes(t *testing.T) {
	o := small("cpu")
	o.Sizes, o.Quick = nil, false
	s := tuneRunOn(t, t.Context(), TuneOptions{}).s
	sizes := (&runner{o: o, s: s}).scalingSizes()
	if !slices.IsSorted(sizes) || sizes[0] != 16 || sizes[len(sizes)-1] != 4096 ||
		len(slices.Compact(slices.Clone(sizes))) != len(sizes) {
		t.Error(sizes)
	}
	for i, n := range sizes[1:] {
		if before := sizes[i]; before >= 512 && n <= 1100 && n-before > 21 {
			t.Errorf("from %d to %d", before, n)
		}
	}
}

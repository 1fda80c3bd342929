package bench

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		samples []float64
		want    Summary
	}{
		{[]float64{3}, Summary{3, 3, 3}},
		{[]float64{5, 1, 3}, Summary{3, 1, 5}},
		{[]float64{4, 1, 3, 2}, Summary{2.5, 1, 4}},
		{[]float64{9, 9, 1, 9, 9}, Summary{9, 1, 9}},
	} {
		before := slices.Clone(c.samples)
		if got := Summarize(c.samples); got != c.want {
			t.Errorf("Summarize(%v) = %v, want %v", c.samples, got, c.want)
		}
		if !slices.Equal(before, c.samples) {
			t.Errorf("Summarize reorders the samples: %v, want %v", c.samples, before)
		}
	}
	if s := Summarize(nil); !math.IsNaN(s.Median) || !math.IsNaN(s.Min) || !math.IsNaN(s.Max) {
		t.Errorf("of no samples: %v", s)
	}
}

func TestMoreRuns(t *testing.T) {
	const sample = 20 * time.Millisecond
	for _, c := range []struct {
		runs int
		d    time.Duration
		want int
	}{
		{1, 10 * time.Millisecond, 3},
		{1, 19 * time.Millisecond, 2},
		{10, 19 * time.Millisecond, 13},
		{1, 0, 100},                      // the clock did not move: not beyond a factor
		{1, time.Microsecond, 100},       // the first run tells little
		{100, time.Microsecond, maxRuns}, // never beyond the bound
	} {
		if got := moreRuns(c.runs, c.d, sample, maxRuns); got != c.want {
			t.Errorf("moreRuns(%d, %v) = %d, want %d", c.runs, c.d, got, c.want)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		n, count int
		want     []int
	}{
		{3, 3, []int{0, 1, 2}},
		{3, 9, []int{0, 1, 2}},
		{10, 4, []int{0, 3, 6, 9}},
		{1 << 16, 2, []int{0, 1<<16 - 1}},
	} {
		if got := spread(c.n, c.count); !slices.Equal(got, c.want) {
			t.Errorf("spread(%d, %d) = %v, want %v", c.n, c.count, got, c.want)
		}
	}
}

func TestParseLoad(t *testing.T) {
	if got := parseLoad("0.50 1.25 2.00 1/234 5678\n"); !slices.Equal(got, []float64{0.5, 1.25, 2}) {
		t.Errorf("%v", got)
	}
	for _, text := range []string{"", "x y z", "NaN 1 2"} {
		if got := parseLoad(text); len(got) != 0 || got == nil {
			t.Errorf("of %q: %#v, want an empty list", text, got)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{formatRate(1234.5), "1234"},
		{formatRate(99.94), "99.9"},
		{formatRate(1.234), "1.23"},
		{formatRate(0.01234), "0.0123"},
		{formatTime(2.5e-7), "250 ns"},
		{formatTime(1.5e-5), "15 µs"},
		{formatTime(0.02), "20 ms"},
		{formatTime(2), "2 s"},
		{formatTime(-0.02), "-20 ms"},
		{formatPercent(0), "-"},
		{formatPercent(0.5), "50 %"},
		{formatPercent(0.00123), "0.12 %"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

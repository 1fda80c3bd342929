package tuning

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/element"
)

// The crossover is the first of two sizes in a row at which the device is not slower.
func TestCrossing(t *testing.T) {
	for name, c := range map[string]struct {
		device func(n int) float64 // where the host takes n
		late   int                 // size at which the time is over
		want   Crossing
		found  bool
	}{
		"overhead": {func(n int) float64 { return 300 + float64(n)/4 }, 0, Crossing{N: 512}, true},
		"always":   {func(n int) float64 { return float64(n) }, 0, Crossing{N: 64}, true},
		"one blip": {func(n int) float64 {
			if n == 128 || n >= 1024 {
				return 1
			}
			return 2 * float64(n)
		}, 0, Crossing{N: 1024}, true},
		"never":     {func(n int) float64 { return 2 * float64(n) }, 0, Crossing{Never: true}, true},
		"hopeless":  {func(n int) float64 { return 40 * float64(n) }, 300, Crossing{Never: true}, true},
		"time over": {func(n int) float64 { return 2 * float64(n) }, 512, Crossing{}, false},
		"at last":   {func(n int) float64 { return 8000 - float64(n) }, 0, Crossing{N: 4096}, true},
	} {
		next := 0
		got, found, err := findCrossing([]int{64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096},
			func(n int) (CrossingPair, error) {
				next = n
				return CrossingPair{N: n, Device: c.device(n), Host: float64(n)}, nil
			}, func() bool { return c.late > 0 && next >= c.late })
		if err != nil || found != c.found || found && (got.N != c.want.N || got.Never != c.want.Never ||
			len(got.Points) == 0) {
			t.Errorf("%s: %+v, %v, %v", name, got, found, err)
		}
	}
	lost := errors.New("lost")
	if _, found, err := findCrossing([]int{64}, func(int) (CrossingPair, error) {
		return CrossingPair{},
			lost
	}, func() bool { return false }); !errors.Is(err, lost) || found {
		t.Errorf("%v, %v", found, err)
	}
}

// A search among few sizes, for a device with an overhead.
func TestCrossingOfFewSizes(t *testing.T) {
	const never = math.MaxInt
	sizes := []int{256, 512, 1024, 2048, 4096}
	for _, c := range []struct {
		what           string
		overhead, rate float64 // of the device: seconds, and of the host's speed
		late           int
		want           int
	}{
		{"fast", 0, 10, 99, 256},
		{"slow to start", 0.2, 10, 99, 512},
		{"slower to start", 1, 10, 99, 1024},
		{"never faster", 0, 0.5, 99, never},
		{"out of time", 1, 10, 2, never},
		{"hopeless", 5, 10, 99, never}, // at 1024 and above it would be faster
		{"no time at all", 0, 10, 0, never},
	} {
		calls := 0
		got, done, err := findCrossing(sizes, func(n int) (CrossingPair, error) {
			calls++
			seconds := math.Pow(float64(n)/512, 3)
			return CrossingPair{N: n, Device: c.overhead + seconds/c.rate, Host: seconds}, nil
		}, func() bool { return calls >= c.late })
		if got.Size() != c.want || done != (c.late == 99) || err != nil {
			t.Errorf("%s: %d, done: %t, %v, want %d", c.what, got.Size(), done, err, c.want)
		}
	}
	lost := errors.New("lost")
	got, done, err := findCrossing(sizes, func(int) (CrossingPair, error) { return CrossingPair{}, lost },
		func() bool { return false })
	if got.Size() != never || done || err != lost {
		t.Errorf("failing device: %d, %t, %v", got.Size(), done, err)
	}
}

// A crossing is timed on both sides, and says of what and beside which host.
func TestFindCrossing(t *testing.T) {
	var ran [2]int
	c, done, err := FindCrossing(element.Float64, []int{3, 4}, func(n int) (device, host func() error) {
		way := func(i int, d time.Duration) func() error {
			return func() error { ran[i]++; time.Sleep(d); return nil }
		}
		return way(0, time.Millisecond), way(1, 20*time.Millisecond)
	}, func() bool { return false })
	if err != nil || !done || c.N != 3 || c.Never || c.Type != "float64" || c.Host != HostName() ||
		len(c.Points) != 2 || ran[0] < 8 || ran[1] != 8 {
		t.Errorf("%+v, %v, %v after %v runs", c, done, err, ran)
	}
	for _, p := range c.Points {
		if p.Device < 0.001 || p.Device > p.Host || p.Host < 0.02 {
			t.Errorf("point %+v", p)
		}
	}
	lost := errors.New("lost")
	if _, _, err := FindCrossing(element.Float32, []int{3}, func(int) (device, host func() error) {
		return func() error { return lost }, func() error { return nil }
	}, func() bool { return false }); err != lost {
		t.Error(err)
	}
}

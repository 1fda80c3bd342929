package cluster

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-gpu/tandem/internal/model"
	"github.com/tandem-gpu/tandem/linalg"
)

// productTime is how long a square grid of modelled devices takes for a product of n by n matrices
// in blocks, by the clock of the test's own world, with delayed broadcasts.
func productTime(
	t *testing.T, ranks, n, block int, device func() *model.Device, delay func(bytes, ranks int) time.Duration,
) (took time.Duration) {
	t.Helper()
	// Parallel then runs in its caller alone, and leaves no goroutine that waits for more work
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		f := newFake(ranks)
		f.delay = delay
		for rank, err := range f.job(t.Context(), nil, func(ctx context.Context, c *Comm) error {
			s, err := linalg.NewSession(device().Open())
			if err != nil {
				return err
			}
			defer s.Close()
			g, err := c.Grid(ctx, 0, block)
			if err != nil {
				return err
			}
			var m [3]*Matrix[float32]
			for i := range m {
				if m[i], err = New[float32](g, n, n); err != nil {
					return err
				}
			}
			if err := c.Agree(ctx, nil); err != nil {
				return err
			}
			start := time.Now()
			err = m[2].accumulate(ctx, s, m[0], m[1])
			if c.Rank() == 0 {
				took = time.Since(start)
			}
			return err
		}) {
			if err != nil {
				t.Fatalf("rank %d: %v", rank, err)
			}
		}
	})
	return took
}

// While one panel is multiplied the next is on its way: at least 0.8 of the smaller of the two
// times is hidden.
func TestOverlap(t *testing.T) {
	const (
		n, block, ranks = 512, 16, 4
		steps           = n / block
		work            = 10 * time.Millisecond // a panel's
	)
	for _, host := range []bool{true, false} {
		for _, delay := range []time.Duration{3 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond} {
			device := func() *model.Device {
				return &model.Device{
					In: 1e12, Out: 1e12, Rate: n * n / ranks * block / work.Seconds(), Host: host, Memory: 1 << 40,
				}
			}
			took := productTime(t, ranks, n, block, device, func(int, int) time.Duration { return delay })
			hidden := float64(steps*(work+delay)-took) / float64(steps*min(work, delay))
			t.Logf("host %v, a delay of %v: %v, %.3f is hidden", host, delay, took, hidden)
			if hidden < 0.8 {
				t.Errorf("host %v, a delay of %v: %.3f is hidden, want 0.8", host, delay, hidden)
			}
		}
	}
}

// A machine is what the table of docs/cluster.md assumes: ranks with one device each.
type machine struct {
	rate    float64 // multiply-adds a second of a device
	in      float64 // bytes a second to a device
	network float64 // bytes a second of a rank, each way
	latency float64 // seconds of a message
}

var assumed = machine{rate: 10e12, in: 50e9, network: 25e9, latency: 5e-6}

// broadcast is the time of a long message to ranks: it is scattered along a tree, and its parts are
// gathered around a ring.
func (m *machine) broadcast(bytes, ranks float64) float64 {
	if ranks == 1 {
		return 0
	}
	return (math.Ceil(math.Log2(ranks))+ranks-1)*m.latency + 2*(ranks-1)/ranks*bytes/m.network
}

// product is the time of a product of n by n float32 on a square grid. Of each step of SUMMA the
// device copies its two panels and multiplies; meanwhile the next two arrive, one after the other.
func (m *machine) product(n, block, ranks float64) float64 {
	side := math.Sqrt(ranks)
	steps, local := n/block, n/side
	panel := 4 * local * block
	arrive := 2 * m.broadcast(panel, side)
	work := 2*panel/m.in + local*local*block/m.rate
	return arrive + (steps-1)*max(arrive, work) + work + 4*local*local/m.in
}

// The formula is near to what the program takes on modelled devices and links, whichever of links
// and devices is slower.
func TestModel(t *testing.T) {
	const n, block = 512, 16
	for _, x := range []struct {
		ranks int
		machine
	}{
		{4, machine{rate: 1e8, in: 1e8, network: 1e6, latency: 1e-4}},
		{16, machine{rate: 1e7, in: 1e7, network: 1e7, latency: 1e-4}},
	} {
		device := func() *model.Device {
			return &model.Device{In: x.in, Out: x.in, Rate: x.rate, Memory: 1 << 40}
		}
		took := productTime(t, x.ranks, n, block, device, func(bytes, ranks int) time.Duration {
			return time.Duration(2 * x.broadcast(float64(bytes), float64(ranks)) * 1e9) // both panels use one link
		}).Seconds()
		want := x.product(n, block, float64(x.ranks))
		t.Logf("%+v: %.3f s, by the formula %.3f", x, took, want)
		if math.Abs(took/want-1) > 0.01 {
			t.Errorf("%+v: %.3f s, by the formula %.3f", x, took, want)
		}
	}
}

// The table in docs/cluster.md is the formula's.
func TestModelTable(t *testing.T) {
	b, err := os.ReadFile("../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	const large = 1 << 17
	for side := 1.0; side <= 32; side *= 2 {
		ranks := side * side
		strong, n := assumed.product(large, DefaultBlock, ranks), 1<<14*side
		weak := assumed.product(n, DefaultBlock, ranks)
		want := fmt.Sprintf("| %.0f | %.2f s | %.2f | %.0f | %.2f s | %.2f |\n",
			ranks, strong, large*large*large/assumed.rate/ranks/strong, n, weak, n*n*n/assumed.rate/ranks/weak)
		if !strings.Contains(string(b), want) {
			t.Errorf("docs/cluster.md has no row\n%s", want)
		}
	}
}

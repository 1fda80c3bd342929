package cluster

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-gpu/tandem/internal/modeltest"
	"github.com/tandem-gpu/tandem/linalg"
)

// productTime is how long a square grid of modelled devices takes for a product of n by n matrices
// in blocks, by the clock of the test's own world, with delayed broadcasts.
func productTime(
	t *testing.T, ranks, n, block int, device func() *modeltest.Device, delay func(bytes, ranks int) time.Duration,
) (took time.Duration) {
	t.Helper()
	// Parallel then runs in its caller alone, and leaves no goroutine that waits for more work
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		f := newFake(ranks)
		f.delay = delay
		for rank, err := range f.job(t.Context(), nil, func(ctx context.Context, c *Comm) error {
			s, err := linalg.NewSession(device())
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
			device := func() *modeltest.Device {
				return &modeltest.Device{
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

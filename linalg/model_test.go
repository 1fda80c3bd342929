package linalg_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/model"
	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/linalg"
)

// modelTime is how long devices take for a product of m by n by k in float32, the second time, when
// the rates are known, or the first.
func modelTime(t *testing.T, m, n, k int, limit string, known bool, devices ...*model.Device) (took time.Duration) {
	t.Helper()
	t.Setenv(linalg.EnvMemory, limit)
	// Parallel then runs in its caller alone, and leaves no goroutine that waits for more work
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	a, b, c := linalg.NewMatrix[float32](m, k, nil), linalg.NewMatrix[float32](k, n, nil),
		linalg.NewMatrix[float32](m, n, nil)
	synctest.Test(t, func(t *testing.T) {
		var list []*backend.Device
		for _, d := range devices {
			d.Reset()
			list = append(list, d.Open())
		}
		s, err := linalg.NewSession(list[0], list[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for range 2 {
			start := time.Now()
			if err := linalg.Gemm(1, 'N', a, 'N', b, 0, c, linalg.On(s)); err != nil {
				t.Fatal(err)
			}
			if took = time.Since(start); !known {
				break
			}
		}
		for _, d := range s.Devices() {
			if d.Err != nil {
				t.Error(d.Err)
			}
		}
	})
	return took
}

// gpu is a model with these rates.
func gpu(link, rate float64) *model.Device {
	return &model.Device{In: link, Out: link, Rate: rate, Memory: 1 << 40}
}

// One device comes near the bound of its link or of its arithmetic, whichever is the tighter.
func TestModelOverlap(t *testing.T) {
	for _, x := range []struct {
		m, n, k int
		link    float64
	}{
		{2048, 2048, 2048, 1e10}, // the arithmetic takes longer
		{2048, 2048, 2048, 1e9},
		{2048, 2048, 2048, 1e7}, // the copies in
		{3000, 3000, 100, 1e7},  // the copies out
		{300, 3000, 3000, 1e7},
	} {
		const rate = 1e10
		d := gpu(x.link, rate)
		took := modelTime(t, x.m, x.n, x.k, "", true, d).Seconds()
		work := float64(x.m) * float64(x.n) * float64(x.k) / rate
		in, out := 4*float64(x.m*x.k+x.k*x.n)/x.link, 4*float64(x.m*x.n)/x.link
		got := max(work, in, out) / took
		t.Logf("%+v: %.3f s of work, %.3f s in, %.3f s out: %.3f s, %.3f of the bound", x, work, in, out, took, got)
		if got < 0.92 {
			t.Errorf("%+v: %.3f of the bound, want 0.92", x, got)
		}
	}
}

// With memory for a tenth of the operands a device still computes most of the time.
func TestModelLimit(t *testing.T) {
	for _, n := range []int{2048, 3000} {
		const rate = 1e10
		d := gpu(1e9, rate)
		limit := fmt.Sprint(3 * n * n * 4 / 10)
		took := modelTime(t, n, n, n, limit, true, d).Seconds()
		got := math.Pow(float64(n), 3) / rate / took
		t.Logf("%d: %.3f s, %.3f of the bound", n, took, got)
		if got < 0.85 {
			t.Errorf("%d: %.3f of the bound, want 0.85", n, got)
		}
	}
}

// Devices of unequal rates come near the sum of their rates.
func TestModelBalance(t *testing.T) {
	for _, known := range []bool{true, false} {
		for n := 2; n <= 8; n++ {
			var devices []*model.Device
			sum := 0.0
			for i := range n {
				d := gpu(4e9, 1e9*float64(int(1)<<(i%4)))
				d.Host = i == 0 // as a cpu device is
				devices = append(devices, d)
				sum += d.Rate
			}
			const size = 2048
			took := modelTime(t, size, size, size, "", known, devices...).Seconds()
			got := size * size * size / sum / took
			t.Logf("%d devices, rates known %v: %.3f s, %.3f of the sum of rates", n, known, took, got)
			if got < 0.92 {
				t.Errorf("%d devices, rates known %v: %.3f of the sum of rates, want 0.92", n, known, got)
			}
		}
	}
}

// In QR the copies of panels, and of what they leave to the device, go on while it works.
func TestModelQR(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // as in modelTime
	const n, rate, link = 2048, 1e11, 1e9
	bound := 4.0 * n * n / link // seconds; the matrix comes first
	inTurn := bound
	for j := 0; j < n; j += solve.Panel {
		copies := 4 * solve.Panel * float64(n+n-j) / link
		work := 2 * solve.Panel * float64(n-j) * float64(n-j-solve.Panel) / rate
		bound += max(work, copies)
		inTurn += work + copies
	}
	var took time.Duration
	synctest.Test(t, func(t *testing.T) {
		s, err := linalg.NewSession(gpu(link, rate).Open())
		noError(t, err)
		defer s.Close()
		start := time.Now()
		_, err = linalg.FactorQR(linalg.NewMatrix[float32](n, n, nil), linalg.On(s))
		noError(t, err)
		took = time.Since(start)
	})
	got := bound / took.Seconds()
	t.Logf("%v, %.3f of the bound; where one waits for the other %.3f", took, got, bound/inTurn)
	if got < 0.97 {
		t.Errorf("%.3f of the bound, want 0.97", got)
	}
}

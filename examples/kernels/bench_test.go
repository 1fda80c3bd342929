package main

import (
	_ "embed"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

//go:embed testdata/hand.cl
var byHand string

// BenchmarkByHand holds kernels from Go against the same in the dialect, by turns, on the device of
// TANDEM_BACKEND: the medians in ns, and how fast the compiler's text is in terms of the other.
//
//	TANDEM_BACKEND=opencl go test -run '^$' -bench ByHand -benchtime 101x ./examples/kernels
func BenchmarkByHand(b *testing.B) {
	const n, c2 = 1500, float32(0.3)
	s, err := linalg.Open("")
	check(b, err)
	defer s.Close()
	if s.Info().Driver == "cpu" {
		b.Skip("a device that compiles text is needed")
	}
	r := rand.New(rand.NewPCG(1, 2))
	array := func(rows, cols int) *linalg.Array[float32] {
		a, err := linalg.Upload(s, random[float32](rows, cols, r))
		check(b, err)
		return a
	}
	x, y, weights := array(n, n), array(n, n), array(taps, taps)
	out := [2]*linalg.Array[float32]{array(n, n), array(n, n)}
	hand := func(name string) *backend.Kernel {
		k, err := s.CompileSource(&backend.Source{Name: name, Text: byHand})
		check(b, err)
		return k
	}
	wave, convolve := hand("wave"), hand("convolve")
	grid := tiles(n, n, side)
	size := int32(n)
	for _, c := range []struct {
		name           string
		fromGo, byHand func() error
	}{
		{
			"wave", func() error { return moveWave(s, out[0], x, y, c2) },
			func() error { return s.Launch(wave, grid, out[1], x, y, size, size, c2) },
		},
		{
			"convolve", func() error { return launchConvolve(s, convolveKernel.GridFor(n, n), out[0], x, weights) },
			func() error { return s.Launch(convolve, grid, out[1], x, weights, size, size) },
		},
	} {
		b.Run(c.name, func(b *testing.B) {
			var times [2][]time.Duration
			for range b.N {
				for i, launch := range []func() error{c.fromGo, c.byHand} {
					start := time.Now()
					check(b, launch())
					check(b, s.Wait())
					times[i] = append(times[i], time.Since(start))
				}
			}
			got, err := out[0].Download()
			check(b, err)
			want, err := out[1].Download()
			check(b, err)
			if !slices.Equal(got.Data, want.Data) {
				b.Fatal("the results differ")
			}
			var median [2]float64
			for i, t := range times {
				slices.Sort(t)
				median[i] = float64(t[len(t)/2])
			}
			b.ReportMetric(median[0], "go-ns")
			b.ReportMetric(median[1], "hand-ns")
			b.ReportMetric(median[1]/median[0], "go/hand")
		})
	}
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

package seeds

import (
	"runtime"
	"sync"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

func openCPU(b *testing.B) *linalg.Session {
	s, err := linalg.Open("cpu")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// A kernel without barriers beside a plain loop on all cores. The floor is 0.9 of its rate.
func BenchmarkMyKernel(b *testing.B) {
	const n = 1 << 22
	s, x := openCPU(b), make([]float32, n)
	b.Run("kernel", func(b *testing.B) {
		b.SetBytes(8 * n)
		for b.Loop() {
			if err := LaunchMyKernel[float32](s, backend.Grid1(n/256, 256), x); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("loop", func(b *testing.B) {
		b.SetBytes(8 * n)
		cores := runtime.GOMAXPROCS(0)
		for b.Loop() {
			var all sync.WaitGroup
			for i := range cores {
				all.Go(func() {
					part := x[i*n/cores : (i+1)*n/cores]
					for j := range part {
						part[j] *= 2
					}
				})
			}
			all.Wait()
		}
	})
}

// The tiled product on the cpu device beside the naive one, of which it is to have 0.4 of the rate,
// and beside goroutines that meet at the barriers, of which it is to have 20 times the rate.
func BenchmarkMatmul(b *testing.B) {
	const n = 256
	s := openCPU(b)
	x := constant[float32](n, n, 1)
	c := constant[float32](n, n, 0)
	grid := backend.Grid2(n/tpb, n/tpb, tpb, tpb)
	for _, v := range []struct {
		name string
		run  func() error
	}{
		{"naive", func() error { return LaunchMatmul[float32](s, grid, x, x, c) }},
		{"tiled", func() error { return LaunchFastMatmul[float32](s, grid, x, x, c) }},
		{"goroutines", func() error {
			on := func(m linalg.Matrix[float32]) gpu.Matrix[float32] {
				return gpu.Matrix[float32]{Data: m.Data, Rows: m.Rows, Cols: m.Cols, Stride: m.Stride}
			}
			return gpu.Run(grid, func(it gpu.Item) { FastMatmul(it, on(x), on(x), on(c)) })
		}},
	} {
		b.Run(v.name, func(b *testing.B) {
			for b.Loop() {
				if err := v.run(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(2*n*n*n*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

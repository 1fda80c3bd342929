package array

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/linalg"
)

// Beside slices.Sort on one core the floors are 8 times its speed on PoCL, 3.5 on cpu. One core is
// -cpu 1 under taskset: PoCL takes all that it may.
func BenchmarkSort(b *testing.B) {
	const n = 4_000_000
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]int32, n)
	for i := range x {
		x[i] = int32(rng.Uint32())
	}
	each := func(b *testing.B) { b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/element") }
	b.Run("slices", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			y := slices.Clone(x)
			b.StartTimer()
			slices.Sort(y)
		}
		each(b)
	})
	for _, spec := range []string{"cpu", "opencl"} {
		b.Run(spec, func(b *testing.B) {
			s, err := linalg.Open(spec)
			if err != nil {
				b.Skip(err)
			}
			defer s.Close()
			a, err := linalg.Upload(s, linalg.NewMatrix(1, n, x))
			if err != nil {
				b.Fatal(err)
			}
			c, err := linalg.NewArray[int32](s, 1, n)
			if err != nil {
				b.Fatal(err)
			}
			sort := func() {
				if err := cmp.Or(Sort(c, a), s.Wait()); err != nil {
					b.Fatal(err)
				}
			}
			sort() // compiles the kernels
			for b.Loop() {
				sort()
			}
			each(b)
		})
	}
}

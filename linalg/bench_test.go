package linalg_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/linalg"
)

// benchSession opens a session for a benchmark, which is skipped where the machine has no such
// device.
func benchSession(b *testing.B, spec string) *linalg.Session {
	b.Helper()
	s, err := linalg.Open(spec)
	backendtest.Require(b, spec, err)
	b.Cleanup(func() { s.Close() })
	return s
}

// zeros is an n by n array of zeros.
func zeros[T linalg.Element](tb testing.TB, s *linalg.Session, n int) *linalg.Array[T] {
	tb.Helper()
	a, err := linalg.NewArray[T](s, n, n)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// BenchmarkMul is a product of arrays that are on the device. One of 1 by 1 is almost all overhead:
// linalg's, the driver's and the device's.
func BenchmarkMul(b *testing.B) {
	for _, spec := range []string{"cpu", "opencl", "cuda", "cudasim"} {
		for _, n := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", spec, n), func(b *testing.B) {
				s := benchSession(b, spec)
				x, y, z := zeros[float32](b, s, n), zeros[float32](b, s, n), zeros[float32](b, s, n)
				b.ReportAllocs()
				for b.Loop() {
					if err := z.Mul(x, y); err != nil {
						b.Fatal(err)
					}
				}
				if err := s.Wait(); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// BenchmarkMatMul is a product from host memory to host memory.
func BenchmarkMatMul(b *testing.B) {
	for _, spec := range []string{"cpu", "opencl", "cuda"} {
		for _, n := range []int{16, 32, 64} {
			b.Run(fmt.Sprintf("%s/%d", spec, n), func(b *testing.B) {
				s := benchSession(b, spec)
				x, y := linalg.NewMatrix[float32](n, n, nil), linalg.NewMatrix[float32](n, n, nil)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := linalg.MatMul(x, y, linalg.On(s)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkMixed is products of float16 into float32, beside NumPy's
// a.astype(float32) @ b.astype(float32).
func BenchmarkMixed(b *testing.B) {
	for _, shape := range [][3]int{{1000, 1000, 1000}, {1, 4096, 4096}} {
		rng := rand.New(rand.NewPCG(16, 32))
		s := benchSession(b, "cpu")
		x := rounded[linalg.Float16](random[float32](rng, shape[0], shape[1], 0), 0)
		y := rounded[linalg.Float16](random[float32](rng, shape[1], shape[2], 0), 0)
		b.Run(fmt.Sprintf("%dx%dx%d", shape[0], shape[1], shape[2]), func(b *testing.B) {
			for b.Loop() {
				if _, err := linalg.MatMulMixed[float32](x, y, linalg.On(s),
					linalg.WithContext(b.Context())); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkNowAndThen is small work of the cpu device that comes every 2 ms, when the cores have
// gone to sleep, on one thread and on two: the median of the calls alone. Two should not take
// longer.
func BenchmarkNowAndThen(b *testing.B) {
	s := benchSession(b, "cpu")
	batchA, batchB := linalg.NewMatrix[float32](18, 11, nil), linalg.NewMatrix[float32](22, 10, nil)
	square := zeros[float32](b, s, 200)
	transposed := zeros[float32](b, s, 200)
	for name, call := range map[string]func() error{
		"batch of 2, 9x11x10": func() error {
			_, err := linalg.MatMul(batchA, batchB, linalg.Batch(2), linalg.On(s))
			return err
		},
		"transpose of 200": func() error { return transposed.Transpose(square) },
	} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/%d", name, threads), func(b *testing.B) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
				var times []float64 // microseconds
				for b.Loop() {
					time.Sleep(2 * time.Millisecond)
					start := time.Now()
					if err := call(); err != nil {
						b.Fatal(err)
					}
					times = append(times, time.Since(start).Seconds()*1e6)
				}
				slices.Sort(times)
				b.ReportMetric(times[len(times)/2], "us-median")
			})
		}
	}
}

// BenchmarkAddMul compares AddMul and SubMul with Mul, in turn: the shortest time of each, and what
// AddMul and SubMul take of Mul's.
func BenchmarkAddMul(b *testing.B) {
	for _, spec := range []string{"cpu", "opencl", "cuda"} {
		for _, n := range []int{256, 1024} {
			b.Run(fmt.Sprintf("%s/float32/%d", spec, n), func(b *testing.B) { benchmarkAddMul[float32](b, spec, n) })
			b.Run(fmt.Sprintf("%s/float64/%d", spec, n), func(b *testing.B) { benchmarkAddMul[float64](b, spec, n) })
			b.Run(fmt.Sprintf("%s/int32/%d", spec, n), func(b *testing.B) { benchmarkAddMul[int32](b, spec, n) })
		}
	}
}

func benchmarkAddMul[T linalg.Element](b *testing.B, spec string, n int) {
	s := benchSession(b, spec)
	x, y, z := zeros[T](b, s, n), zeros[T](b, s, n), zeros[T](b, s, n)
	all := []func(x, y *linalg.Array[T], opts ...linalg.Option) error{z.Mul, z.AddMul, z.SubMul}
	least := make([]time.Duration, len(all))
	for b.Loop() {
		for i, f := range all {
			start := time.Now()
			if err := f(x, y); err != nil {
				b.Fatal(err)
			}
			if err := s.Wait(); err != nil {
				b.Fatal(err)
			}
			if t := time.Since(start); least[i] == 0 || t < least[i] {
				least[i] = t
			}
		}
	}
	b.ReportMetric(least[0].Seconds()*1e3, "Mul-ms")
	b.ReportMetric(float64(least[1])/float64(least[0]), "AddMul/Mul")
	b.ReportMetric(float64(least[2])/float64(least[0]), "SubMul/Mul")
}

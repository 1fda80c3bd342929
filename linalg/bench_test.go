package linalg_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/linalg"
)

// benchSession opens a session for a benchmark, which is skipped where the machine has no such device.
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

// BenchmarkMul is a product of arrays that are on the device. One of 1 by 1 is almost all overhead: linalg's, the driver's and the device's.
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
					if _, err := linalg.MatMulContext(context.Background(), s, x, y); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

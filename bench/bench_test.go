package bench

import (
	"fmt"
	"testing"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// These benchmarks are fit for benchstat: go test -run '^$' -bench . -count 10 ./bench.
// TANDEM_BACKEND chooses the device.

func open(b *testing.B) *linalg.Session {
	s, err := linalg.Open("")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// bench runs a contender of a product or transpose, after its check.
func (c *contender) bench(b *testing.B, work float64, unit string) {
	b.Helper()
	if c.close != nil {
		b.Cleanup(c.close)
	}
	if check, err := c.check(); err != nil || check.Wrong > 0 {
		b.Fatalf("%+v, %v", check, err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := c.run(b.N); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(work*float64(b.N)/b.Elapsed().Seconds()/1e9, unit)
}

func BenchmarkMul(b *testing.B) {
	s := open(b)
	for _, n := range []int{16, 64, 256, 1024} {
		b.Run(fmt.Sprintf("float32/%d", n), func(b *testing.B) { benchmarkMul[float32](b, s, n) })
		b.Run(fmt.Sprintf("float64/%d", n), func(b *testing.B) { benchmarkMul[float64](b, s, n) })
		b.Run(fmt.Sprintf("int32/%d", n), func(b *testing.B) { benchmarkMul[int32](b, s, n) })
	}
}

func benchmarkMul[T linalg.Element](b *testing.B, s *linalg.Session, n int) {
	if t := element.TypeOf[T](); !kernels.Supports(ptr(s.Info()), t) {
		b.Skipf("the device does not support %s", t)
	}
	p := randomProblem[T](n, n, n)
	d, err := newOnDevice(s, p, newReference(p, 0))
	if err != nil {
		b.Fatal(err)
	}
	c := d.contender(nameFast, d.mul)
	c.close = d.free
	c.bench(b, 2*float64(n)*float64(n)*float64(n), "Gop/s")
}

// Thin products, whose cost is that of reading the large operand.
func BenchmarkMulThin(b *testing.B) {
	s := open(b)
	const long = 1024
	for _, d := range []shape{
		{m: 1, n: long, k: long}, {m: long, n: 1, k: long}, {m: 8, n: long, k: long}, {m: long, n: 8, k: long},
	} {
		b.Run(fmt.Sprintf("float32/%dx%dx%d", d.m, d.k, d.n), func(b *testing.B) {
			p := randomProblem[float32](d.m, d.n, d.k)
			x, err := newOnDevice(s, p, newReference(p, 0))
			if err != nil {
				b.Fatal(err)
			}
			c := x.contender(nameFast, x.mul)
			c.close = x.free
			c.bench(b, 2*float64(d.m)*float64(d.n)*float64(d.k), "Gop/s")
		})
	}
}

// A batch in one call, and one by one.
func BenchmarkBatch(b *testing.B) {
	r := &runner{ctx: b.Context(), s: open(b)}
	d := shape{64, 64, 64, 64}
	list, err := batchContenders[float32](r, d)
	b.Cleanup(func() { closeAll(list) })
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range list {
		b.Run(c.name, func(b *testing.B) {
			again := *c
			again.close = nil
			again.bench(b, 2*64*64*64*64, "Gop/s")
		})
	}
}

func BenchmarkMatMulHost(b *testing.B) {
	r := &runner{ctx: b.Context(), s: open(b)}
	for _, n := range []int{64, 1024} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := randomProblem[float32](n, n, n)
			hostToHost(r, p, newReference(p, 0)).bench(b, 2*float64(n)*float64(n)*float64(n), "Gop/s")
		})
	}
}

func BenchmarkTranspose(b *testing.B) {
	r := &runner{ctx: b.Context(), s: open(b)}
	for _, n := range []int{256, 2048} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			list, err := transposeContenders[int32](r, n)
			b.Cleanup(func() { closeAll(list) })
			if err != nil {
				b.Fatal(err)
			}
			for _, c := range list {
				if c.name == nameFast {
					c.bench(b, 2*4*float64(n)*float64(n), "GB/s")
				}
			}
		})
	}
}

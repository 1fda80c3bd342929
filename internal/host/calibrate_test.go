package host

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/internal/parallel"
)

var calibrate = flag.Bool("calibrate", false, "print where the ways that thresholds.go decides between cross")

// A crossing is two ways to compute the same, of which one is for sizes up to a threshold. ways
// gives both for a size.
type crossing struct {
	name      string
	threshold int
	sizes     []int
	ways      func(size int) (upTo, beyond func())
}

// TestCalibrate prints, for each threshold, how much longer the way beyond it takes at sizes around
// it: the threshold is right where that falls below 1. It is of float64, on all cores.
func TestCalibrate(t *testing.T) {
	if !*calibrate {
		t.Skip("without -calibrate")
	}
	for _, c := range []crossing{
		{"SerialWork", SerialWork, []int{1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22, 1 << 24}, serialWorkWays},
		{"SerialBytes", SerialBytes, []int{64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20}, serialBytesWays},
		{"slimSteps", slimSteps, []int{96, 128, 192, 256, 384, 512}, slimStepsWays},
		{"slimPart", slimPart, []int{1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16}, slimPartWays},
		{"stripElements", stripElements, []int{1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 17}, stripWays},
		{"smallComplex", smallComplex, []int{1 << 9, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 17}, smallComplexWays},
		{"complexFew", complexFew, []int{4, 8, 12, 16, 24, 32}, complexFewWays},
	} {
		t.Logf("%s is %d", c.name, c.threshold)
		for _, size := range c.sizes {
			upTo, beyond := c.ways(size)
			t.Logf("%12d: %.2f", size, timeRatio(beyond, upTo))
		}
	}
}

// timeRatio is how long f takes, over how long g does: the median of seven times each.
func timeRatio(f, g func()) float64 {
	n := 1
	each := func(f func()) time.Duration {
		start := time.Now()
		for range n {
			f()
		}
		return time.Since(start)
	}
	for each(g) < 200*time.Microsecond {
		n *= 2
	}
	ratios := make([]float64, 7)
	for i := range ratios {
		ratios[i] = float64(each(f)) / float64(each(g))
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

func calibrationData(n int) []float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64() / 1024
	}
	return x
}

// productWays is two ways to compute a product of m by n by k.
func productWays(m, n, k int, one, other func(p *product[float64])) (upTo, beyond func()) {
	a, b, c := calibrationData(m*k), calibrationData(k*n), make([]float64, m*n)
	way := func(f func(p *product[float64])) func() {
		return func() {
			p := newProduct(kernels[float64]()[0], problem[float64]{
				m: m, n: n, k: k, alpha: 1, a: a, lda: k, b: b, ldb: n, c: c, ldc: n,
			})
			f(&p)
		}
	}
	return way(one), way(other)
}

func serialWorkWays(work int) (upTo, beyond func()) {
	n := int(math.Cbrt(float64(work)))
	on := func(workers int) func(p *product[float64]) {
		return func(p *product[float64]) {
			p.workers = workers
			p.compute()
		}
	}
	return productWays(n, n, n, on(1), on(parallel.Workers()))
}

func serialBytesWays(bytes int) (upTo, beyond func()) {
	n := int(math.Sqrt(float64(bytes / 8)))
	a, c := calibrationData(n*n), make([]float64, n*n)
	return func() { copyRows(n, n, a, n, c, n) }, func() {
		spreadBands[float64](n, n, 1, func(lo, hi int) { copyRows(hi-lo, n, a[lo*n:], n, c[lo*n:], n) })
	}
}

func slimStepsWays(k int) (upTo, beyond func()) {
	return productWays(64, 64, k, (*product[float64]).compute, (*product[float64]).slim)
}

func slimPartWays(part int) (upTo, beyond func()) {
	n := int(math.Sqrt(float64(part * parallel.Workers())))
	return productWays(n, n, 1024, (*product[float64]).slim, (*product[float64]).compute)
}

func stripWays(elements int) (upTo, beyond func()) {
	const n = 64
	k := elements / n
	a, c, whole := calibrationData(n*k), make([]float64, n*n), make([]float64, n*n)
	x, y := Operand[float64]{a, n, true}, Operand[float64]{Data: a, Stride: n}
	return func() { strips(true, n, k, 1, x, y, 0, c, n) }, func() {
		GemmTrans(true, false, n, n, k, 1, a, n, a, n, 0, whole, n)
		FinishTriangle(true, n, 1, whole, n, 0, c, n)
	}
}

func smallComplexWays(work int) (upTo, beyond func()) {
	n := int(math.Cbrt(float64(work)))
	x := ComplexMatrix[float64]{Data: calibrationData(2 * n * n), Stride: n}
	p := ComplexProduct[float64]{
		M: n, N: n, K: n, Alpha: [2]float64{1}, A: x, B: x, C: make([]float64, 2*n*n), StrideC: n,
	}
	return p.ComputeRows, func() { _ = p.Compute(nil) }
}

func complexFewWays(cols int) (upTo, beyond func()) {
	const n = 100
	e := ComplexOperand[float64]{N: n, Data: calibrationData(2 * n * n), Row: 2 * n, Col: 2, Unit: true}
	first, bRow := e.inOrder(true, 2*cols)
	from, b, one := calibrationData(2*n*cols), make([]float64, 2*n*cols), [2]float64{1}
	update := func(m, n, k int, x []float64, ldx int, y []float64, ldy int, z []float64, ldz int) {
		AddMul(m, n, k, x, ldx, y, ldy, z, ldz)
	}
	return func() {
			copy(b, from)
			e.apply(true, cols, one, b, first, bRow, 2)
		}, func() {
			copy(b, from)
			e.packed(true, cols, one, b, first, bRow, 2, update)
		}
}

package gonumblas

import (
	"math"
	"sync"
	"time"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

const never = math.MaxInt

// The square products that the crossover is looked for among, and how long that may take. A smaller
// product takes the host less than about a millisecond, so that measuring would cost more than it
// can gain.
var crossingSizes = []int{firstSize, 512, 1024, 2048, 4096}

const (
	firstSize     = 256
	measuringTime = time.Second
)

// toDevice tells whether a product of m by n, with chains of k, runs on the device. Work grows with
// m*n*k and copies with m*k + k*n + m*n; their ratio is a third of the harmonic mean of m, n and k.
func toDevice[T float](e *engine, m, n, k int) bool {
	if e.keepsOnHost(m, n, k) {
		return false
	}
	size := 0
	if e.fixed != nil {
		size = *e.fixed
	} else if size = crossover[T](e, m, n, k); size == never {
		return false
	}
	if size > 0 && 3/(1/float64(m)+1/float64(n)+1/float64(k)) < float64(size) {
		return false
	}
	return kernels.Supports(&e.info, element.TypeOf[T]())
}

// A crossing is the crossover of a device and this host, in one type. It is looked up in the tuning
// data when the first product comes, and, where they do not know it, measured when a product comes
// that is large enough.
type crossing struct {
	lookUp, measure sync.Once
	known           bool
	size            int
}

// crossover is that of the device, as far as a product of m, n and k needs to know it.
func crossover[T float](e *engine, m, n, k int) int {
	c := crossingOf[T](e)
	c.lookUp.Do(func() { c.size, c.known = tuning.Crossover(&e.info, element.TypeOf[T]()) })
	if c.known {
		return c.size
	}
	if !kernels.Supports(&e.info, element.TypeOf[T]()) || 3/(1/float64(m)+1/float64(n)+1/float64(k)) < firstSize {
		return never
	}
	c.measure.Do(func() { c.size = measure[T](e) })
	return c.size
}

func crossingOf[T float](e *engine) *crossing {
	if is32[T]() {
		return &e.crossover32
	}
	return &e.crossover64
}

// measure finds the crossover, and keeps it with the user's tuning data, so that the next process
// looks it up. Only what was measured to its end is kept. Where it cannot be kept, the next process
// measures again: no result depends on it.
func measure[T float](e *engine) int {
	start := time.Now()
	c, done, err := tuning.FindCrossing(element.TypeOf[T](), crossingSizes, func(n int) (device, host func() error) {
		return products[T](e, n)
	}, func() bool { return time.Since(start) > measuringTime })
	switch {
	case err != nil:
		e.report("all products are", err)
		return never
	case done:
		_ = tuning.Keep(&tuning.Record{
			Device: tuning.DeviceIDOf(&e.info), Date: time.Now(),
			Crossover: []tuning.Crossing{c},
		})
	}
	return c.Size()
}

// products is a product of n by n by n on the device, and the same on the host.
func products[T float](e *engine, n int) (device, host func() error) {
	a, b, c := linalg.NewMatrix[T](n, n, nil), linalg.NewMatrix[T](n, n, nil), linalg.NewMatrix[T](n, n, nil)
	for i := range a.Data {
		a.Data[i], b.Data[i] = 1, 1
	}
	device = func() error { return deviceGemm(e, 1, blas.NoTrans, a, blas.NoTrans, b, 0, c) }
	host = func() error {
		hostGemm(1, blas.NoTrans, a, blas.NoTrans, b, 0, c)
		return nil
	}
	return device, host
}

func is32[T float]() bool {
	_, ok := any(T(0)).(float32)
	return ok
}

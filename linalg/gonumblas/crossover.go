package gonumblas

import (
	"math"
	"sync"
	"time"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

const never = math.MaxInt

// The square products that the crossover is looked for among, and how long that may take. A smaller product takes the host less than about a
// millisecond, so that measuring would cost more than it can gain.
const (
	firstSize     = 256
	lastSize      = 4096
	measuringTime = time.Second
	hopeless      = 32 // times slower than the host: a simulated device
)

// toDevice tells whether a product of m by n, with chains of k, runs on the device. Work grows with m*n*k and copies with m*k + k*n + m*n;
// their ratio is a third of the harmonic mean of m, n and k.
func toDevice[T float](e *engine, m, n, k int) bool {
	if e.fixed != nil && *e.fixed <= 0 {
		return supported[T](e)
	}
	mean := 3 / (1/float64(m) + 1/float64(n) + 1/float64(k))
	if e.fixed != nil {
		return mean >= float64(*e.fixed) && supported[T](e)
	}
	return mean >= firstSize && !sameProcessor(e) && supported[T](e) && mean >= float64(crossover[T](e))
}

// supported tells whether the device keeps the numerics contract in T.
func supported[T float](e *engine) bool {
	if is32[T]() {
		return e.s.Info().Float32
	}
	return e.s.Info().Float64
}

// sameProcessor tells whether the device is the processor that the host's own product runs on, and that product is the fastest there. The cpu
// device runs the very same product. An OpenCL CPU device (PoCL 3.1 on a Zen 3 with AVX2, float32 and float64) was slower at every
// size from 64 to 2048:
//
//	go test -run '^$' -bench Path ./linalg/gonumblas
//
// It may be faster where the host's product has no assembly.
func sameProcessor(e *engine) bool {
	info := e.s.Info()
	return info.Driver == "cpu" || !info.GPU && host.InstructionSet() != "go"
}

// A crossing is a crossover that is measured when it is first needed.
type crossing struct {
	once sync.Once
	size int
}

// crossover is that of this device and this host.
func crossover[T float](e *engine) int {
	c := &e.crossover64
	if is32[T]() {
		c = &e.crossover32
	}
	var err error
	c.once.Do(func() {
		start := time.Now()
		c.size, err = search(func(n int, onDevice bool) (time.Duration, error) {
			return timeProduct[T](e, n, onDevice)
		}, func() bool { return time.Since(start) > measuringTime })
	})
	if err != nil { // only in the call that measured
		e.report("all products are", err)
	}
	return c.size
}

// search is the first size at which the device is not slower than the host. It gives up where late says so or the device is far too slow.
func search(product func(n int, onDevice bool) (time.Duration, error), late func() bool) (int, error) {
	for n := firstSize; n <= lastSize && !late(); n *= 2 {
		device, err := product(n, true)
		if err != nil {
			return never, err
		}
		onHost, err := product(n, false)
		switch {
		case err != nil:
			return never, err
		case device <= onHost:
			return n, nil
		case device > hopeless*onHost:
			return never, nil
		}
	}
	return never, nil
}

// timeProduct is the best time of three, after one that compiles the kernel.
func timeProduct[T float](e *engine, n int, onDevice bool) (best time.Duration, err error) {
	a, b, c := linalg.NewMatrix[T](n, n, nil), linalg.NewMatrix[T](n, n, nil), linalg.NewMatrix[T](n, n, nil)
	for i := range a.Data {
		a.Data[i], b.Data[i] = 1, 1
	}
	best = math.MaxInt64
	for i := range 4 {
		start := time.Now()
		if onDevice {
			err = deviceGemm(e, 1, blas.NoTrans, a, blas.NoTrans, b, 0, c)
		} else {
			hostGemm(1, blas.NoTrans, a, blas.NoTrans, b, 0, c)
		}
		if err != nil {
			return 0, err
		}
		if i > 0 {
			best = min(best, time.Since(start))
		}
	}
	return best, nil
}

func is32[T float]() bool {
	_, ok := any(T(0)).(float32)
	return ok
}

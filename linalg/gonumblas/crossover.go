package gonumblas

import (
	"math"
	"sync"
	"time"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/kernels"
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
	size := 0
	if e.fixed != nil {
		size = *e.fixed
	} else if size = crossover[T](e, m, n, k); size == never {
		return false
	}
	if size > 0 && 3/(1/float64(m)+1/float64(n)+1/float64(k)) < float64(size) {
		return false
	}
	return kernels.TypeOf[T]().Supported(&e.info)
}

// A crossing is the crossover of a device and this host, in one type. It is looked up in the tuning data when the first product comes, and, where
// they do not know it, measured when a product comes that is large enough.
type crossing struct {
	lookUp, measure sync.Once
	known           bool
	size            int
}

// crossover is that of the device, as far as a product of m, n and k needs to know it.
func crossover[T float](e *engine, m, n, k int) int {
	c := crossingOf[T](e)
	c.lookUp.Do(func() { c.size, c.known = kernels.Crossover(&e.info, kernels.TypeOf[T]()) })
	if c.known {
		return c.size
	}
	if !kernels.TypeOf[T]().Supported(&e.info) || 3/(1/float64(m)+1/float64(n)+1/float64(k)) < firstSize {
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

// measure finds the crossover, and keeps it with the user's tuning data, so that the next process looks it up. Only what was measured to its
// end is kept.
func measure[T float](e *engine) int {
	start := time.Now()
	var points []kernels.CrossingPair
	size, done, err := search(func(n int) (device, host time.Duration, err error) {
		if device, err = timeProduct[T](e, n, true); err != nil {
			return 0, 0, err
		}
		host, err = timeProduct[T](e, n, false)
		points = append(points, kernels.CrossingPair{N: n, Device: device.Seconds(), Host: host.Seconds()})
		return device, host, err
	}, func() bool { return time.Since(start) > measuringTime })
	switch {
	case err != nil:
		e.report("all products are", err)
	case done:
		keep(e, tuningOf(kernels.TypeOf[T](), size, points))
	}
	return size
}

func tuningOf(t kernels.Type, size int, points []kernels.CrossingPair) kernels.Crossing {
	c := kernels.Crossing{Type: t.String(), Host: kernels.HostName(), N: size, Points: points}
	if size == never {
		c.N, c.Never = 0, true
	}
	return c
}

// keep writes c to the user's tuning file. Where that cannot be done, because there is none or it holds something else, c is measured again by the
// next process: no result depends on it.
func keep(e *engine, c kernels.Crossing) {
	file := kernels.TuningFile()
	if file == "" {
		return
	}
	all, err := kernels.ReadTuning(file)
	if err != nil {
		return
	}
	all.Merge(&kernels.DeviceTuning{Device: kernels.DeviceIDOf(&e.info), Date: time.Now(), Crossover: []kernels.Crossing{c}})
	if kernels.WriteTuning(file, all) == nil {
		kernels.ReloadTuning()
	}
}

// search is the first size at which the device is not slower than the host. It is done when it has found that, or that the device is slower at all sizes or
// far too slow; where late says so before, it gives up.
func search(product func(n int) (device, host time.Duration, err error), late func() bool) (size int, done bool, err error) {
	for n := firstSize; n <= lastSize; n *= 2 {
		if late() {
			return never, false, nil
		}
		device, host, err := product(n)
		switch {
		case err != nil:
			return never, false, err
		case device <= host:
			return n, true, nil
		case device > hopeless*host:
			return never, true, nil
		}
	}
	return never, true, nil
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

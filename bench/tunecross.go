package bench

import (
	"context"
	"time"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// crossingSizes are the n of the products that a crossover is looked for among. A smaller product takes the host less than the calls that bring it to a device. A
// device that is a processor gains nothing more beyond the size at which calls and copies no longer count.
func (r *tuneRun) crossingSizes() []int {
	all := []int{64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096}
	switch {
	case r.o.crossings > 0:
		return all[:r.o.crossings]
	case !r.s.Info().GPU:
		return all[:9]
	}
	return all
}

const (
	crossingRounds = 3  // samples of the device and of the host, in turns
	hopeless       = 32 // times slower than the host, from hopelessFrom on: there is no crossover
	hopelessFrom   = 256
)

// tuneCrossover finds the size from which products from host memory to host memory are not slower on the device than by the host's own code.
func tuneCrossover[T linalg.Element](r *tuneRun, until time.Time) error {
	c, found, err := crossing(r.crossingSizes(), func(n int) (kernels.CrossingPair, error) { return timeCrossing[T](r, n) }, func() bool { return !time.Now().Before(until) })
	if err != nil {
		if ctx := r.ctx.Err(); ctx != nil {
			return ctx
		}
		return r.noRoom(err, "%s crossover", kernels.TypeOf[T]())
	}
	if !found {
		r.note("%s crossover with the host: not found in the time that there was", kernels.TypeOf[T]())
		return nil
	}
	c.Type, c.Host = kernels.TypeOf[T]().String(), kernels.HostName()
	r.report.Tuning.Crossover = append(r.report.Tuning.Crossover, c)
	return nil
}

// crossing is the first of two sizes in a row at which the device is not slower. found is false where the time was over before that was known.
func crossing(sizes []int, measure func(n int) (kernels.CrossingPair, error), late func() bool) (c kernels.Crossing, found bool, err error) {
	before := 0 // the size before, if the device was not slower there
	for _, n := range sizes {
		if late() {
			return c, false, nil
		}
		p, err := measure(n)
		if err != nil {
			return c, false, err
		}
		c.Points = append(c.Points, p)
		switch faster := p.Device <= p.Host; {
		case faster && before > 0:
			c.N = before
			return c, true, nil
		case faster:
			before = n
		case n >= hopelessFrom && p.Device > hopeless*p.Host:
			c.Never = true
			return c, true, nil
		default:
			before = 0
		}
	}
	c.N, c.Never = before, before == 0
	return c, true, nil
}

// timeCrossing measures one size. Each sample lasts a few milliseconds at least.
func timeCrossing[T linalg.Element](r *tuneRun, n int) (p kernels.CrossingPair, err error) {
	x := randomProblem[T](n, n, n)
	a, b, c := linalg.NewMatrix(n, n, x.a), linalg.NewMatrix(n, n, x.b), linalg.NewMatrix(n, n, x.c)
	onDevice := &contender{run: func(runs int) error {
		for range runs {
			if err := linalg.GemmContext(context.Background(), r.s, 1, blas.NoTrans, a, blas.NoTrans, b, 0, c); err != nil {
				return err
			}
		}
		return r.ctx.Err()
	}}
	onHost := &contender{run: func(runs int) error {
		for range runs {
			host.Gemm(n, n, n, 1, x.a, n, x.b, n, 0, x.c, n)
		}
		return r.ctx.Err()
	}}
	var samples [2][]float64
	for _, c := range []*contender{onDevice, onHost} {
		if err := c.run(1); err != nil { // compiles
			return p, err
		}
	}
	for range crossingRounds {
		for i, c := range []*contender{onDevice, onHost} {
			s, err := r.sampleOf(c)
			if err != nil {
				return p, err
			}
			samples[i] = append(samples[i], s)
		}
	}
	return kernels.CrossingPair{N: n, Device: Summarize(samples[0]).Median, Host: Summarize(samples[1]).Median}, nil
}

// sampleOf is the seconds of a run, of as many as a sample needs.
func (r *tuneRun) sampleOf(c *contender) (float64, error) {
	d, err := elapsed(func() error { return c.run(1) })
	if err != nil || d >= r.sample {
		return d.Seconds(), err
	}
	runs := moreRuns(1, d, r.sample)
	d, err = elapsed(func() error { return c.run(runs) })
	return d.Seconds() / float64(runs), err
}

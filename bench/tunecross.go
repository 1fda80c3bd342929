package bench

import (
	"cmp"
	"context"
	"time"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/linalg"
)

// crossingSizes are the n of the products that a crossover is looked for among. A smaller product
// takes the host less than the calls that bring it to a device. A device that is a processor gains
// nothing more beyond the size at which calls and copies no longer count.
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

// tuneCrossover finds the size from which products from host memory to host memory are not slower
// on the device than by the host's own code.
func tuneCrossover[T linalg.Element](r *tuneRun, until time.Time) error {
	t := element.TypeOf[T]()
	c, done, err := tuning.FindCrossing(t, r.crossingSizes(),
		func(n int) (device, host func() error) { return crossingProducts[T](r, n) },
		func() bool { return !time.Now().Before(until) })
	switch {
	case err != nil && r.ctx.Err() != nil:
		return r.ctx.Err()
	case err != nil:
		return r.noRoom(err, "%s crossover", t)
	case !done:
		r.note("%s crossover with the host: not found in the time that there was", t)
		return nil
	}
	r.report.Tuning.Crossover = append(r.report.Tuning.Crossover, c)
	return nil
}

// crossingProducts is a product of n by n by n on the device, and the same on the host.
func crossingProducts[T linalg.Element](r *tuneRun, n int) (device, onHost func() error) {
	x := randomProblem[T](n, n, n)
	a, b, c := linalg.NewMatrix(n, n, x.a), linalg.NewMatrix(n, n, x.b), linalg.NewMatrix(n, n, x.c)
	device = func() error {
		err := linalg.GemmContext(context.Background(), r.s, 1, blas.NoTrans, a, blas.NoTrans, b, 0, c)
		return cmp.Or(err, r.ctx.Err())
	}
	onHost = func() error {
		host.Gemm(n, n, n, 1, x.a, n, x.b, n, 0, x.c, n)
		return r.ctx.Err()
	}
	return device, onHost
}

package conformance

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
)

// A job is a case to run with one set of parameters.
type job struct {
	c *Case
	v variant

	digest string // of the result
	err    error  // why there is none
}

// A unit is the jobs of one kernel, in the order of the cases. One worker does them all, so that each kernel is compiled once.
type unit struct {
	number   int // in the order in which kernels first occur: the same in every process
	jobs     []*job
	products int // what the jobs compute, roughly
}

// unitsOf makes units of the jobs.
func unitsOf(jobs []*job) (units []*unit) {
	of := map[*backend.Source]*unit{}
	for _, j := range jobs {
		u := of[j.v.source]
		if u == nil {
			u = &unit{number: len(units)}
			of[j.v.source] = u
			units = append(units, u)
		}
		u.jobs = append(u.jobs, j)
		u.products += j.c.M * j.c.N * max(j.c.K, 1)
	}
	return units
}

// longestFirst orders units so that workers end at about the same time. The fast product takes several times as long to compile as anything else.
func longestFirst(a, b *unit) int {
	fast := func(u *unit) int {
		if u.jobs[0].c.Kernel == "matmul" {
			return 1
		}
		return 0
	}
	return cmp.Or(fast(b)-fast(a), cmp.Compare(b.products, a.products))
}

// A worker does units, one after the other.
type worker interface {
	// do runs the jobs of u and puts the results into them. Its error stops everything. done is called with the number of jobs that are behind since the last time.
	do(ctx context.Context, u *unit, done func(n int)) error
}

// share divides the jobs among dev and the helpers. The first error stops all of them; what cannot be run is in the job.
func share(ctx context.Context, dev backend.Device, jobs []*job, o Options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var (
		mu     sync.Mutex // guards behind and failed, and keeps calls of Progress apart
		behind int
		failed error
	)
	done := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		behind += n
		if o.Progress != nil {
			o.Progress(behind, len(jobs))
		}
	}
	done(0)
	units := queueOf(jobs)
	work := func(w worker) {
		if err := workOff(ctx, w, units, done); err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed = cmp.Or(failed, err) // the later ones come of the first
			stop()
		}
	}
	var helpers sync.WaitGroup
	greeting, enough := context.WithCancel(ctx)
	for _, conn := range o.Helpers {
		helpers.Go(func() {
			defer conn.Close()
			if h := greet(greeting, conn, planOf(dev.Info(), jobs)); h != nil {
				defer context.AfterFunc(ctx, func() { conn.Close() })() // which ends what do waits for
				work(h)
			}
		})
	}
	s, err := newSession(dev)
	if err == nil {
		defer s.q.Close()
		work(s)
	} else {
		stop()
	}
	enough() // there is nothing left for a helper that has not come yet
	helpers.Wait()
	return cmp.Or(err, failed)
}

// queueOf is the units of the jobs, longest first, in a channel that is closed.
func queueOf(jobs []*job) <-chan *unit {
	units := unitsOf(jobs)
	slices.SortStableFunc(units, longestFirst)
	q := make(chan *unit, len(units))
	for _, u := range units {
		q <- u
	}
	close(q)
	return q
}

// workOff makes w do units until there are none left.
func workOff(ctx context.Context, w worker, units <-chan *unit, done func(n int)) error {
	for u := range units {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.do(ctx, u, done); err != nil {
			return err
		}
	}
	return nil
}

// A session is a device at work. It is the worker of this process.
type session struct {
	dev backend.Device
	q   backend.Queue
}

func newSession(dev backend.Device) (*session, error) {
	q, err := dev.NewQueue()
	return &session{dev, q}, err
}

func (s *session) do(ctx context.Context, u *unit, done func(n int)) error {
	k, err := s.dev.Compile(u.jobs[0].v.source)
	if err == nil {
		defer k.Release()
	}
	for _, j := range u.jobs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if j.err = err; err == nil {
			j.digest, j.err = j.c.run(s, k, j.v)
		}
		if isFinal(j.err) {
			return j.err
		}
		done(1)
	}
	return nil
}

// isFinal tells whether nothing more can be run after err.
func isFinal(err error) bool {
	return errors.Is(err, backend.ErrDeviceLost) || errors.Is(err, backend.ErrClosed)
}

package bench

import (
	"fmt"
	"runtime"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// firstCalls measures what the first product on a new session costs, and the second, several
// sessions after each other.
func firstCalls[T linalg.Element](r *runner) error {
	n, sessions := 256, 5
	if r.o.Quick {
		n = 32
	}
	if r.o.Progress != nil {
		r.o.Progress("first and second calls", 0)
	}
	p := randomProblem[T](n, n, n)
	a, b := linalg.NewMatrix(n, n, p.a), linalg.NewMatrix(n, n, p.b)
	result := FirstCall{Type: element.TypeOf[T]().String(), N: n, Sessions: []SessionCall{}}
	for range sessions {
		c, ok, err := newSession(r, a, b)
		if err != nil {
			return err
		}
		if !ok {
			r.note("first and second calls: the device does not keep the numerics contract in %s", result.Type)
			return nil
		}
		result.Sessions = append(result.Sessions, c)
	}
	r.report.FirstCalls = append(r.report.FirstCalls, result)
	return nil
}

// newSession opens a session and multiplies three times on it. ok is false where the device does
// not support the type.
func newSession[T linalg.Element](r *runner, a, b linalg.Matrix[T]) (c SessionCall, ok bool, err error) {
	start := time.Now()
	s, err := linalg.Open(r.o.Backend)
	if err != nil {
		return c, false, err
	}
	defer s.Close()
	c.Open = time.Since(start).Seconds()
	if !kernels.Supports(ptr(s.Info()), element.TypeOf[T]()) {
		return c, false, nil
	}
	for _, t := range []*float64{&c.First, &c.Second, &c.Third} {
		d, err := elapsed(func() error {
			_, err := linalg.MatMulContext(r.ctx, s, a, b)
			return err
		})
		if err != nil {
			return c, false, fmt.Errorf("the first calls: %w", err)
		}
		*t = d.Seconds()
	}
	return c, true, nil
}

// smallCalls measures what each call of a product of 64x64x64 costs.
func smallCalls[T linalg.Element](r *runner) error {
	const n = 64
	t := element.TypeOf[T]()
	if !r.step("calls of small products in " + t.String()) {
		return nil
	}
	calls := 1000
	if r.o.Quick {
		calls = 20
	}
	p := randomProblem[T](n, n, n)
	d, err := newOnDevice(r.s, p, nil)
	if err != nil {
		return err
	}
	defer d.free()
	result := SmallCall{
		Type: t.String(), N: n, Calls: calls,
		Explanation: "overhead is the median of waited less that of device; allocations are those of the whole " +
			"process, per call that is waited for at the end",
	}
	if err := d.s.Wait(); err != nil {
		return err
	}
	if err := d.contender(nameFast, d.mul).run(calls); err != nil { // compiles, and fills the pools
		return fmt.Errorf("small products: %w", err)
	}
	for range r.rounds {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		time.Sleep(r.rest)
		if err := d.smallSample(&result); err != nil {
			return fmt.Errorf("small products: %w", err)
		}
	}
	result.Overhead = Summarize(result.Waited).Median - Summarize(result.Device).Median
	r.report.SmallCalls = append(r.report.SmallCalls, result)
	return nil
}

// smallSample adds one sample of everything.
func (d *onDevice[T]) smallSample(result *SmallCall) error {
	var before, after runtime.MemStats
	each := float64(result.Calls)
	runtime.ReadMemStats(&before)
	start := time.Now()
	for range result.Calls {
		if err := d.mul(); err != nil {
			return err
		}
	}
	enqueued := time.Since(start)
	if err := d.s.Wait(); err != nil {
		return err
	}
	done := time.Since(start)
	runtime.ReadMemStats(&after)
	result.Enqueue = append(result.Enqueue, enqueued.Seconds()/each)
	result.Pipelined = append(result.Pipelined, done.Seconds()/each)
	result.AllocsEach = float64(after.Mallocs-before.Mallocs) / each
	result.BytesEach = float64(after.TotalAlloc-before.TotalAlloc) / each

	start = time.Now()
	for range result.Calls {
		if err := d.mul(); err != nil {
			return err
		}
		if err := d.s.Wait(); err != nil {
			return err
		}
	}
	result.Waited = append(result.Waited, time.Since(start).Seconds()/each)

	device := make([]float64, 0, result.Calls)
	for range result.Calls {
		s, err := deviceSeconds(d.s, d.mul)
		if err != nil {
			return err
		}
		device = append(device, s)
	}
	result.Device = append(result.Device, Summarize(device).Median)
	return nil
}

// deviceSeconds is the time by the device's own clock between events before and after what f
// enqueues.
func deviceSeconds(s *linalg.Session, f func() error) (seconds float64, err error) {
	release := func(e *backend.Event) {
		if rel := e.Release(); err == nil {
			err = rel
		}
	}
	begin, err := s.Queue().Record()
	if err != nil {
		return 0, err
	}
	defer release(begin)
	if err := f(); err != nil {
		return 0, err
	}
	end, err := s.Queue().Record()
	if err != nil {
		return 0, err
	}
	defer release(end)
	ns, err := end.Since(begin)
	return float64(ns) / 1e9, err
}

// Package measure checks and times contenders: what package bench compares, and package tune
// searches among.
package measure

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/tandem-gpu/tandem/internal/clock"
	"github.com/tandem-gpu/tandem/linalg"
)

// A Contender is one way to compute a problem.
type Contender struct {
	Name   string
	Peer   bool          // not of Tandem
	Queued bool          // runs are enqueued on a device, and waited for once
	Limit  time.Duration // of a run; 0: as of the others

	Check func() (Check, error)                 // runs it once on fresh memory, and checks the result
	Run   func(runs int) error                  // returns when the results are there
	Clock func(runs int) (time.Duration, error) // what counts of so many runs; nil: the time of Run
}

// A Check compares a result with what it must be.
type Check struct {
	Elements int // that were compared
	Wrong    int // not the contract's bits; of a peer, farther off than rounding explains
	Differ   int // other bits than the contract's
}

// Add adds the check of another part of the result.
func (c *Check) Add(d Check) {
	c.Elements, c.Wrong, c.Differ = c.Elements+d.Elements, c.Wrong+d.Wrong, c.Differ+d.Differ
}

// A Result is the memory of the host that a problem's result comes to.
type Result struct {
	Reset  func()                // makes it wrong, or what is computed in place as it was
	Verify func(peer bool) Check // tells whether it is right
}

// Contender is one whose result comes to the memory of r. Where it is computed elsewhere, put
// brings the memory there, and get back; otherwise they are nil.
func (r *Result) Contender(name string, run func(runs int) error, put, get func() error) *Contender {
	c := &Contender{Name: name, Run: run}
	c.Check = func() (Check, error) {
		r.Reset()
		if put != nil {
			if err := put(); err != nil {
				return Check{}, err
			}
		}
		if err := run(1); err != nil {
			return Check{}, err
		}
		if get != nil {
			r.Reset()
			if err := get(); err != nil {
				return Check{}, err
			}
		}
		return r.Verify(c.Peer), nil
	}
	return c
}

// OnDevice is a contender that enqueues on a session what computes array c, of which out is the
// same in r's memory.
func OnDevice[T linalg.Element](r *Result, name string, s *linalg.Session, c *linalg.Array[T], out []T,
	enqueue func() error,
) *Contender {
	rows, cols := c.Dims()
	m := linalg.NewMatrix(rows, cols, out)
	x := r.Contender(name, func(runs int) error { return cmp.Or(Repeat(enqueue)(runs), s.Wait()) },
		func() error { return c.CopyFrom(m) }, func() error { return c.CopyTo(m) })
	x.Queued = true
	return x
}

// Repeat is a run of what computes the result once.
func Repeat(once func() error) func(int) error {
	return func(runs int) error {
		for range runs {
			if err := once(); err != nil {
				return err
			}
		}
		return nil
	}
}

// Take is a sample: the time of so many runs. One before wakes threads and caches up.
func (c *Contender) Take(runs int) (time.Duration, error) {
	if runs > 1 {
		if err := c.Run(1); err != nil {
			return 0, err
		}
	}
	return c.time(runs)
}

func (c *Contender) time(runs int) (time.Duration, error) {
	if c.Clock != nil {
		return c.Clock(runs)
	}
	return Elapsed(func() error { return c.Run(runs) })
}

// Elapsed is the time that a call takes.
func Elapsed(call func() error) (time.Duration, error) {
	start := clock.Now()
	err := call()
	return clock.Now() - start, err
}

// MaxRuns bounds the runs of a sample on a device: a queue should not grow without bound.
const MaxRuns = 10000

// Enough is how many runs last as long as a sample, and what the first one took. It ends after the
// first where that takes longer than limit.
func (c *Contender) Enough(sample, limit time.Duration) (runs int, first time.Duration, err error) {
	most := 100 * MaxRuns
	if c.Queued {
		most = MaxRuns
	}
	for runs = 1; ; {
		d, err := c.time(runs)
		if runs == 1 {
			first = d
		}
		if err != nil || d >= sample || runs >= most || runs == 1 && d > limit {
			return runs, first, err
		}
		runs = more(runs, d, sample, most)
	}
}

// more is the number of runs that should last as long as a sample, where so many lasted d: a little
// more than in proportion.
func more(runs int, d, sample time.Duration, most int) int {
	want := 1 + 1.2*float64(runs)*float64(sample)/max(float64(d), 1)
	return min(int(min(want, 100*float64(runs))), most)
}

// Median is that of an odd number of samples, and the mean of the middle two of an even one.
func Median(samples []float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	n := len(s)
	return s[(n-1)/2]/2 + s[n/2]/2
}

// Version is the program's, with the revision where it was built from a repository.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}

// MaxSize is the largest n of a product.
const MaxSize = 1 << 16

// ValidateSizes returns nil when products of such n make sense, or says which does not.
func ValidateSizes(sizes []int) error {
	for _, n := range sizes {
		if n < 1 || n > MaxSize {
			return fmt.Errorf("a size must be 1 to %d, not %d", MaxSize, n)
		}
	}
	return nil
}

package cpu

import (
	"cmp"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/clock"
	"github.com/tandem-gpu/tandem/internal/parallel"
)

type kernel struct {
	sig    backend.Signature
	run    backend.GoKernel
	native *native     // runs in place of run; nil: there is none
	slow   atomic.Bool // the first group took as long as soon, or longer, when it was last measured
}

func (k *kernel) Signature() *backend.Signature { return &k.sig }

// launch runs all groups of g and waits for them. A single group runs in the caller's goroutine, as
// its kernel may use the cores itself, and so do several that are done soon. What is left is split
// into a few ranges for each core, so that cores that finish early take more.
func (k *kernel) launch(g backend.Grid, c *call) error {
	n := g.Count()
	if k.native != nil && g.Items() > 1 { // one work-item is no strip
		k.native.prepare(c)
	}
	if n == 1 {
		return k.failure(k.call(g, 0, 1, c, &c.frame))
	}
	done, err := 0, error(nil)
	if !k.slow.Load() { // or it is not done soon now, either
		done, err = k.begin(g, c)
	}
	ranges := min(n-done, 4*runtime.GOMAXPROCS(0))
	if ranges == 0 {
		return k.failure(err)
	}
	size, rest := (n-done)/ranges, (n-done)%ranges // the first rest ranges have one group more
	c.errs = slices.Grow(c.errs[:0], ranges)[:ranges]
	errs := c.errs
	clear(errs)
	start := clock.Now()
	parallel.Do(ranges, func(i int) {
		lo := done + i*size + min(i, rest)
		hi := lo + size
		if i < rest {
			hi++
		}
		f, start := frames.Get().(*frame), clock.Now()
		errs[i] = k.call(g, lo, hi, c, f)
		if lo == 0 { // no group had run: these tell how long they take
			k.measured((clock.Now() - start) / time.Duration(hi))
		}
		frames.Put(f)
	})
	lately.add(start, clock.Now()-start) // all cores are awake
	return k.failure(cmp.Or(err, cmp.Or(errs...)))
}

// begin runs the first groups of g until some time is spent and what is left is worth sharing, and
// tells how many. As many as will fit into the rest of that time go at once, but not too many more
// than there were.
func (k *kernel) begin(g backend.Grid, c *call) (done int, err error) {
	n := g.Count()
	start := clock.Now()
	alone, worth := lately.begin(start)
	spent, left := time.Duration(0), worth
	for size := 1; done < n && (spent < alone || left < worth); {
		hi := min(done+size, n)
		err = cmp.Or(err, k.call(g, done, hi, c, &c.frame))
		spent = clock.Now() - start
		if done == 0 {
			k.measured(spent)
		}
		done = hi
		each := float64(max(spent, 1)) / float64(done)
		left = time.Duration(float64(n-done) * each)
		if size = 4 * done; left >= worth {
			size = max(1, min(size, int(float64(alone-spent)/each)))
		}
	}
	lately.add(start, spent)
	return done, err
}

// measured notes how long the first group of a launch took.
func (k *kernel) measured(spent time.Duration) { k.slow.Store(spent >= soon) }

// failure is the launch's error for that of some groups.
func (k *kernel) failure(err error) error {
	if err == nil {
		return nil
	}
	return fail("Queue.Launch", backend.ErrLaunch, "kernel %s: %v", k.sig.Name, err)
}

// call runs some groups. A panic becomes an error.
func (k *kernel) call(g backend.Grid, lo, hi int, c *call, f *frame) (err error) {
	if c.narrow {
		return k.native.callNarrow(g, lo, hi, c.words, f)
	}
	if c.native {
		return k.native.call(g, lo, hi, c.words, f)
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic in groups %d to %d of %s%s: %v", lo, hi-1, g, panicSite(), v)
		}
	}()
	if err := k.run(g, lo, hi, c.args); err != nil {
		return fmt.Errorf("groups %d to %d of %s: %w", lo, hi-1, g, err)
	}
	return nil
}

// panicSite is where the panic that is being recovered happened, as " (file.go:12)".
func panicSite() string {
	var pc [32]uintptr
	// without Callers, panicSite and the deferred function
	frames := runtime.CallersFrames(pc[:runtime.Callers(3, pc[:])])
	for {
		f, more := frames.Next()
		if f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf(" (%s:%d)", filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}

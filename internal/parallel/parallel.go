// Package parallel spreads work over the cores.
package parallel

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandem-gpu/tandem/internal/clock"
)

// Do calls f(0) ... f(n-1) on up to GOMAXPROCS goroutines, and returns when all are done. Each core
// has a range of its own, which it begins with the first of, and when that is done it takes the
// last that another has left: so calls with the same n find in a core's caches what it had there
// before. It runs in the caller's goroutine alone when n is 1 or there is one core.
//
// When an f panics, indices not yet taken are left out, and once the others are done Do
// panics with the same value. In the same way an f that ends its goroutine, as testing's FailNow
// does, ends the caller's.
func Do(n int, f func(i int)) { do(n, f, false) }

// InOrder is Do, where each goroutine takes the next index of all: f(i) begins after f(i-1) has
// begun, and may wait for it.
func InOrder(n int, f func(i int)) { do(n, f, true) }

func do(n int, f func(i int), inOrder bool) {
	workers := min(n, Workers())
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	w := &work{n: n, f: f}
	w.left.L = &w.mu
	w.divide(workers, inOrder)
	calls.Add(1)
	defer calls.Add(-1)
	defer w.await() // where the caller's own f ends the goroutine
	w.engage(workers - 1)
	w.run()
	w.await()
	switch {
	case w.value != nil:
		panic(w.value)
	case w.exited:
		runtime.Goexit()
	}
}

// Workers is the number of goroutines that Do uses at most.
func Workers() int { return runtime.GOMAXPROCS(0) }

// work is one call of Do.
type work struct {
	n       int
	f       func(i int)
	workers atomic.Int32 // that have come
	ranges  []indices    // one for each worker, or one for all
	few     [4]indices

	helpers atomic.Int32 // at work; less than 0 once the caller takes no more
	asleep  atomic.Bool  // the caller waits for them

	mu     sync.Mutex
	left   sync.Cond // with mu: the last of them has left
	value  any       // of the first panic
	exited bool      // an f ended its goroutine
}

func (w *work) run() {
	done := false
	defer func() {
		if v := recover(); !done {
			for i := range w.ranges {
				w.ranges[i].Store(0)
			}
			w.mu.Lock()
			if v == nil {
				w.exited = true
			} else if w.value == nil {
				w.value = v
			}
			w.mu.Unlock()
		}
	}()
	own := int(w.workers.Add(1) - 1)
	if len(w.ranges) > 1 {
		own = core(own)
	}
	own %= len(w.ranges)
	for i, ok := w.ranges[own].first(); ok; i, ok = w.ranges[own].first() {
		w.f(i)
	}
	for other := range w.ranges {
		r := &w.ranges[(own+other)%len(w.ranges)]
		for i, ok := r.last(); ok; i, ok = r.last() {
			w.f(i)
		}
	}
	done = true
}

// divide gives each worker a range of the indices, or all of them one.
func (w *work) divide(workers int, inOrder bool) {
	if inOrder {
		workers = 1
	}
	if workers <= len(w.few) {
		w.ranges = w.few[:workers]
	} else {
		w.ranges = make([]indices, workers)
	}
	for i := range w.ranges {
		w.ranges[i].set(w.n*i/workers, w.n*(i+1)/workers)
	}
}

// indices is those that nobody has taken: the lower half is the first, the upper half one more than
// the last.
type indices struct{ atomic.Uint64 }

func (r *indices) set(lo, hi int) { r.Store(uint64(hi)<<32 | uint64(lo)) }

// first takes the first.
func (r *indices) first() (int, bool) {
	for {
		old := r.Load()
		lo, hi := int(uint32(old)), int(old>>32)
		if lo >= hi {
			return 0, false
		}
		if r.CompareAndSwap(old, old+1) {
			return lo, true
		}
	}
}

// last takes the last.
func (r *indices) last() (int, bool) {
	for {
		old := r.Load()
		lo, hi := int(uint32(old)), int(old>>32)
		if lo >= hi {
			return 0, false
		}
		if r.CompareAndSwap(old, old-1<<32) {
			return hi - 1, true
		}
	}
}

// over, added to the number of helpers, says that no more are taken.
const over = math.MinInt32

// await returns when no helper is at work any more. Who has not begun by then is too late: there is
// nothing left to do, and a core may take longer to wake than all the work.
func (w *work) await() {
	if w.helpers.Load() >= 0 {
		w.helpers.Add(over)
	}
	alone := func() bool { return w.helpers.Load() == over }
	if Spin(alone) {
		return
	}
	w.asleep.Store(true)
	w.mu.Lock()
	for !alone() {
		w.left.Wait()
	}
	w.mu.Unlock()
}

// enter counts a helper, unless the work is over.
func (w *work) enter() bool {
	for {
		n := w.helpers.Load()
		if n < 0 {
			return false
		}
		if w.helpers.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (w *work) leave() {
	if w.helpers.Add(-1) == over && w.asleep.Load() {
		w.mu.Lock()
		w.left.Broadcast()
		w.mu.Unlock()
	}
}

// A helper is a goroutine that works for calls of Do. To wake a sleeping core takes as long
// as a product of some hundred rows. So a helper does not go to sleep at once when its work is
// done, and neither does a caller that waits for the last of its helpers.
type helper struct{ next atomic.Pointer[work] }

// calls is how many calls of Do there are now.
var calls atomic.Int32

// idle is the helpers that look for work.
var idle struct {
	sync.Mutex
	helpers []*helper
}

// engage asks n helpers to run w.
func (w *work) engage(n int) {
	idle.Lock()
	for ; n > 0 && len(idle.helpers) > 0; n-- {
		last := len(idle.helpers) - 1
		idle.helpers[last].next.Store(w)
		idle.helpers = idle.helpers[:last]
	}
	idle.Unlock()
	for range n {
		go new(helper).work(w)
	}
}

// work runs w, and what comes soon after.
func (h *helper) work(w *work) {
	for w != nil {
		h.run(w)
		if w.asleep.Load() { // the caller's goroutine goes on here
			return
		}
		w = h.look()
	}
}

func (h *helper) run(w *work) {
	if w.enter() {
		defer w.leave()
		w.run()
	}
}

// look waits a little for more work. It is nil where none comes, and where there are other calls
// than the one that h has worked for: they need the core.
func (h *helper) look() *work {
	if calls.Load() > 1 {
		return nil
	}
	h.next.Store(nil)
	idle.Lock()
	idle.helpers = append(idle.helpers, h)
	idle.Unlock()
	if Spin(func() bool { return h.next.Load() != nil }) {
		return h.next.Load()
	}
	idle.Lock()
	defer idle.Unlock()
	idle.helpers = slices.DeleteFunc(idle.helpers, func(other *helper) bool { return other == h })
	return h.next.Load() // it may have come in the meantime
}

// Patience is how long Spin looks: a few times what it takes to wake a core. So long a core that
// has worked for Do stays awake.
const Patience = 100 * time.Microsecond

// spinTurns is how often Spin looks before it lets other goroutines run, too.
const spinTurns = 100

// Spin looks for an event until it happens, or in vain.
func Spin(happened func() bool) bool {
	start := clock.Now()
	for turn := 0; !happened(); turn++ {
		if clock.Now()-start > Patience {
			return false
		}
		if turn >= spinTurns {
			runtime.Gosched()
		}
	}
	return true
}

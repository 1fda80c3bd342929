package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tandem-gpu/tandem/backend"
)

// An Item is one work-item: a kernel's first parameter, by which it knows its place. d is 0, 1 or 2
// for x, y and z, and a constant in a kernel that is compiled.
type Item struct{ *item }

type item struct {
	group *group
	local [3]int
	used  int    // calls of Local so far
	at    string // where it last waited at a barrier
}

// Global is the work-item's place in the whole grid: Group(d)*LocalSize(d) + Local(d).
func (it Item) Global(d int) int { return it.group.id[d]*it.group.grid.Local[d] + it.local[d] }

// Local is its place in its group.
func (it Item) Local(d int) int { return it.local[d] }

// Group is its group's place in the grid.
func (it Item) Group(d int) int { return it.group.id[d] }

// GlobalSize is the number of work-items of the grid.
func (it Item) GlobalSize(d int) int { return it.group.grid.Groups[d] * it.group.grid.Local[d] }

// LocalSize is the number of work-items of a group.
func (it Item) LocalSize(d int) int { return it.group.grid.Local[d] }

// Groups is the number of groups.
func (it Item) Groups(d int) int { return it.group.grid.Groups[d] }

// Barrier waits for all work-items of the group. What they wrote before it is there after it.
func (it Item) Barrier() { it.group.wait(it.item, caller(), false, nil) }

// Any tells every work-item of the group whether cond holds for one of them. It is a barrier, so
// that all of them must come to it; its result is the same for all, so that it may decide over
// other barriers: for it.Any(changed) { ... }.
func (it Item) Any(cond bool) bool { return it.group.wait(it.item, caller(), cond, nil).any }

// Uniform is x of the group's first work-item, that at place 0 in each dimension, for all of them.
// It is a barrier, and its result may decide over others.
func Uniform[T interface{ Number | ~bool }](it Item, x T) T {
	return it.group.wait(it.item, caller(), false, x).first.(T)
}

// caller is where the function that calls it was called, as file.go:12.
func caller() string {
	_, file, line, _ := runtime.Caller(2)
	return fmt.Sprintf("%s:%d", filepath.Base(file), line)
}

// Local is memory that the work-items of a group share: the n-th call of each gives all of them the
// same array. Its contents are undefined at first. A is an array of constant size.
func Local[A any](it Item) *A {
	if it.used == maxLocal {
		panic("gpu: more than 64 arrays in local memory")
	}
	s := &it.group.shared[it.used]
	it.used++
	s.once.Do(func() { s.array = new(A) })
	return s.array.(*A)
}

// Run calls kernel for every work-item of grid. The work-items of a group run each in a goroutine,
// so that the race detector finds a missing barrier; the groups run one after the other, and in a
// program built with -race several of them beside each other, so that it finds races between
// neighbours. It is for tests and for finding mistakes; the cpu device runs compiled kernels much
// faster. A panic of a work-item, or one that ends while others wait at a barrier, is an error. As
// in any Go, x*y + z may be fused, which no device does; float32(x*y) + z is not.
func Run(grid backend.Grid, kernel func(Item)) error {
	return runGroups(grid, 0, grid.Count(), maxGoroutines, kernel)
}

// RunGroups is [Run] for the groups lo to hi-1, as [backend.Grid.Group] numbers them. Several calls
// may run at once, one for each core.
func RunGroups(grid backend.Grid, lo, hi int, kernel func(Item)) error {
	return runGroups(grid, lo, hi, maxGoroutines/runtime.GOMAXPROCS(0), kernel)
}

// maxGoroutines is half of what the race detector takes.
const maxGoroutines = 4096

// runGroups has up to most work-items at once where groups run beside each other. What one of these
// workers runs later is ordered behind what it has run before, and nothing else is.
func runGroups(grid backend.Grid, lo, hi, most int, kernel func(Item)) error {
	workers := 1
	if Goroutines {
		workers = max(1, min(hi-lo, most/grid.Items()))
	}
	var failed atomic.Bool
	errs := make([]error, workers)
	worker := func(w int) {
		for i := lo + w; i < hi && !failed.Load(); i += workers {
			g := &group{grid: grid, running: grid.Items(), gate: newGate()}
			g.id[0], g.id[1], g.id[2] = grid.Group(i)
			if errs[w] = g.run(kernel); errs[w] != nil {
				failed.Store(true)
			}
		}
	}
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() { worker(w) })
	}
	all.Wait()
	return cmp.Or(errs...)
}

const maxLocal = 64

// A group is the running work-items of one group. What they synchronise by orders no more than the
// barriers of a kernel do, so that the race detector sees what these leave unordered.
type group struct {
	grid   backend.Grid
	id     [3]int
	shared [maxLocal]struct {
		once  sync.Once
		array any
	}
	failed atomic.Bool

	mu      sync.Mutex
	gate    *gate
	running int    // work-items that have not ended
	waiting int    // of these, at the barrier
	place   string // of the barrier
	ended   *item  // one that has ended
	err     error
}

func (g *group) run(kernel func(Item)) error {
	var all sync.WaitGroup
	l := g.grid.Local
	for z := range l[2] {
		for y := range l[1] {
			for x := range l[0] {
				it := &item{group: g, local: [3]int{x, y, z}}
				all.Go(func() {
					defer g.end(it)
					kernel(Item{it})
				})
			}
		}
	}
	all.Wait()
	return g.err
}

// errStopped ends the work-items that wait in a group which has failed.
var errStopped = errors.New("stopped")

// A gate is a barrier that work-items come to, with what these have brought.
type gate struct {
	open  chan struct{} // closed when those that wait may go on
	any   bool          // of what they ask
	first any           // of the first work-item
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *group) wait(it *item, place string, cond bool, x any) *gate {
	gate := g.arrive(it, place, cond, x)
	<-gate.open
	if g.failed.Load() {
		panic(errStopped)
	}
	return gate
}

// arrive counts a work-item that comes to a barrier, and opens it for the last one.
func (g *group) arrive(it *item, place string, cond bool, x any) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	it.at = place
	g.gate.any = g.gate.any || cond
	if it.local == [3]int{} {
		g.gate.first = x
	}
	if g.waiting++; g.waiting == 1 {
		g.place = place
	} else if g.place != place {
		g.fail(fmt.Errorf("work-items wait at different barriers, %s and %s", g.place, place))
	}
	g.check()
	gate := g.gate
	if g.waiting == g.running && g.err == nil {
		g.waiting, g.gate = 0, newGate()
		close(gate.open)
	}
	return gate
}

// check fails the group where some have ended and all others wait.
func (g *group) check() {
	if g.ended == nil || g.waiting == 0 || g.waiting < g.running {
		return
	}
	after := "without a barrier"
	if g.ended.at != "" {
		after = "after the barrier at " + g.ended.at
	}
	g.fail(fmt.Errorf("work-item %v ended %s while others wait at the barrier at %s", g.ended.local, after, g.place))
}

func (g *group) fail(err error) {
	if g.err == nil {
		g.err = fmt.Errorf("group %v: %w", g.id, err)
		g.failed.Store(true)
		close(g.gate.open)
	}
}

// end counts a work-item that returns or panics.
func (g *group) end(it *item) {
	v := recover()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	switch {
	case v == nil:
		g.ended = it
	case v != any(errStopped):
		g.fail(fmt.Errorf("work-item %v%s: panic: %v", it.local, panicSite(), v))
	}
	g.check()
}

// panicSite is where the panic that was recovered happened, as " at file.go:12".
func panicSite() string {
	var pc [32]uintptr
	frames := runtime.CallersFrames(pc[:runtime.Callers(3, pc[:])])
	for {
		f, more := frames.Next()
		if f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") &&
			!strings.Contains(f.Function, "/gpu.Matrix[") {
			return fmt.Sprintf(" at %s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}

package host

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/parallel"
)

// A team computes a product on several cores. Its work is a list: block by block, the chunks of A
// to pack, then the tasks. Each worker takes the next item when it is free, and waits for the items
// that it builds on. Those come earlier in the list, so that a worker has them in hand. Nobody
// waits for the end of a block: who finds no task of it left packs A for the next one, into other
// memory.
type team[T element.Element] struct {
	stages []stage[T]
	tasks  []task         // of all stages
	ends   []atomic.Int32 // 1 for each task that has returned
	items  int
	next   atomic.Int64 // item to take
	failed atomic.Bool  // a worker has panicked: the others do not wait for it
	run    func(int)    // work, made once

	asleep atomic.Int32 // workers that wait for others and have given up to look
	mu     sync.Mutex
	wake   sync.Cond // with mu
}

// A stage is the work on a block of the product.
type stage[T element.Element] struct {
	product[T]
	first int // index of the first item
	packs int // calls of packA
	tasks []task

	packed, done atomic.Int32   // calls of packA, and tasks, that have returned
	finished     []atomic.Int32 // 1 for each task that has returned
}

// teams keeps a team, with the memory of its lists, for later products.
var teams sync.Pool

func newTeam[T element.Element]() *team[T] {
	if w, ok := teams.Get().(*team[T]); ok {
		return w
	}
	w := new(team[T])
	w.run = func(int) { w.work() }
	w.wake.L = &w.mu
	return w
}

// keep gives the team back. It forgets what it has worked on.
func (w *team[T]) keep() {
	clear(w.stages)
	clear(w.ends)
	w.stages, w.tasks, w.ends, w.items = w.stages[:0], w.tasks[:0], w.ends[:0], 0
	w.next.Store(0)
	teams.Put(w)
}

// spread computes the product on all cores. It works on copies, so that a product that never comes
// here needs no heap.
func (p *product[T]) spread() {
	w := newTeam[T]()
	var packed [2][]T
	if !p.directA {
		n := p.sizeA()
		second := n
		if p.rows >= p.m && p.steps >= p.k { // one block
			second = 0
		}
		s, memory := Take[T](n + second)
		defer s.Give()
		packed = [2][]T{memory[:n], memory[n:]}
	}
	for i := 0; i < p.m; i += p.rows {
		w.plan(p, i, packed)
	}
	ends := slices.Grow(w.ends, w.items)[:w.items]
	w.ends = ends
	for i := range w.stages {
		s := &w.stages[i]
		s.finished, ends = ends[:len(s.tasks)], ends[len(s.tasks):]
	}
	parallel.Do(p.workers, w.run)
	w.keep()
}

// plan appends the stages of the rows of C from i on.
func (w *team[T]) plan(p *product[T], i int, packed [2][]T) {
	mc, first := min(p.m-i, p.rows), len(w.tasks)
	w.tasks = p.split(w.tasks, i, mc)
	tasks := w.tasks[first:]
	for k := 0; k < p.k; k += p.steps {
		n := len(w.stages)
		w.stages = slices.Grow(w.stages, 1)[:n+1]
		s := &w.stages[n]
		s.product, s.first, s.tasks = *p, w.items, tasks
		s.i0, s.mc, s.p0, s.kc, s.packedA = i, mc, k, min(p.k-k, p.steps), packed[n%2]
		s.packs = s.chunks()
		w.items += s.packs + len(tasks)
	}
}

// thinParts is how many parts a worker has of a thin product.
const thinParts = 2

// spreadThin gives each worker columns of its own, so that C stays in its cache from block to
// block.
func (p *product[T]) spreadThin() {
	parts := thinParts * p.workers
	width := roundUp((p.n+parts-1)/parts, p.kern.cols)
	whole := *p // so that a product that never comes here needs no heap
	whole.workers = 1
	parallel.Do((p.n+width-1)/width, func(i int) {
		part, j := whole, i*width
		part.n, part.b, part.c = min(width, part.n-j), part.bFrom(0, j), part.c[j:]
		part.compute()
	})
}

// split appends the tasks of a block: wide ones first, then narrower and at last lower ones, so
// that no worker waits long for the last. Each takes about a share of what is left.
func (p *product[T]) split(tasks []task, i0, mc int) []task {
	rows, cols, shares := p.kern.rows, p.kern.cols, 2*p.workers
	for j := 0; j < p.n; {
		panels := (p.n - j + cols - 1) / cols
		width := min(max(panels/shares, 1)*cols, p.cols, p.n-j)
		height, end := mc, mc
		if panels < shares {
			height = min(mc, roundUp((mc*panels+shares-1)/shares, rows))
		}
		if p.upper {
			end = min(mc, j+width-i0)
		}
		for i := 0; i < end; i += height {
			tasks = append(tasks, task{i0 + i, min(height, end-i), j, width})
		}
		j += width
	}
	return tasks
}

// work is what each worker does.
func (w *team[T]) work() {
	ok := false
	defer func() {
		if !ok {
			w.failed.Store(true)
			w.tell()
		}
	}()
	at := 0
	for !w.failed.Load() {
		item := int(w.next.Add(1) - 1)
		if item >= w.items {
			break
		}
		for at+1 < len(w.stages) && item >= w.stages[at+1].first {
			at++
		}
		w.item(at, item-w.stages[at].first)
	}
	ok = true
}

// item does item i of a stage.
func (w *team[T]) item(at, i int) {
	s := &w.stages[at]
	if i < s.packs {
		if at >= 2 { // its memory was that of an earlier stage
			w.await(&w.stages[at-2].done, len(w.stages[at-2].tasks))
		}
		s.packA(i)
		s.packed.Add(1)
		w.tell()
		return
	}
	i -= s.packs
	w.await(&s.packed, s.packs)
	if s.p0 > 0 { // the chains of the stage before go on
		w.await(&w.stages[at-1].finished[i], 1)
	}
	if w.failed.Load() {
		return
	}
	s.multiply(s.tasks[i])
	s.finished[i].Store(1)
	s.done.Add(1)
	w.tell()
}

// await returns when n has come to want. It looks for a while, which takes less time as a rule than
// to sleep and to wake up; where that is in vain, the core may be what the others are waiting for.
func (w *team[T]) await(n *atomic.Int32, want int) {
	come := func() bool { return int(n.Load()) >= want || w.failed.Load() }
	if parallel.Spin(come) {
		return
	}
	w.asleep.Add(1)
	w.mu.Lock()
	for !come() {
		w.wake.Wait()
	}
	w.mu.Unlock()
	w.asleep.Add(-1)
}

// tell wakes those that sleep, to look what has come.
func (w *team[T]) tell() {
	if w.asleep.Load() > 0 {
		w.mu.Lock()
		w.wake.Broadcast()
		w.mu.Unlock()
	}
}

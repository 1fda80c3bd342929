package host

import (
	"runtime"
	"sync/atomic"
)

// A team computes a product on several cores. Its work is a list: block by block, the chunks of A to pack, then the tasks. Each worker takes the
// next item when it is free, and waits for the items that it builds on. Those come earlier in the list, so that a worker has them in hand. Nobody waits for the
// end of a block: who finds no task of it left packs A for the next one, into other memory.
type team[T Element] struct {
	stages []*stage[T]
	items  int
	next   atomic.Int64 // item to take
	failed atomic.Bool  // a worker has panicked: the others do not wait for it
}

// A stage is the work on a block of the product.
type stage[T Element] struct {
	product[T]
	first int // index of the first item
	packs int // calls of packA
	tasks []task

	packed, done atomic.Int32   // calls of packA, and tasks, that have returned
	finished     []atomic.Int32 // 1 for each task that has returned
}

// spread computes the product on all cores. It works on copies, so that a product that never comes here needs no heap.
func (p *product[T]) spread() {
	w := new(team[T])
	var packed [2][]T
	if !p.directA {
		n := p.sizeA()
		second := n
		if p.rows >= p.m && p.steps >= p.k { // one block
			second = 0
		}
		s, memory := take[T](n + second)
		defer s.give()
		packed = [2][]T{memory[:n], memory[n:]}
	}
	for i := 0; i < p.m; i += p.rows {
		mc := min(p.m-i, p.rows)
		tasks := p.split(i, mc)
		for k := 0; k < p.k; k += p.steps {
			s := &stage[T]{product: *p, first: w.items, tasks: tasks, finished: make([]atomic.Int32, len(tasks))}
			s.i0, s.mc, s.p0, s.kc, s.packedA = i, mc, k, min(p.k-k, p.steps), packed[len(w.stages)%2]
			s.packs = s.chunks()
			w.stages = append(w.stages, s)
			w.items += s.packs + len(tasks)
		}
	}
	Parallel(p.workers, func(int) { w.work() })
}

// thinParts is how many parts a worker has of a thin product.
const thinParts = 2

// spreadThin gives each worker columns of its own, so that C stays in its cache from block to block.
func (p *product[T]) spreadThin() {
	parts := thinParts * p.workers
	width := roundUp((p.n+parts-1)/parts, p.kern.cols)
	whole := *p // so that a product that never comes here needs no heap
	whole.workers = 1
	Parallel((p.n+width-1)/width, func(i int) {
		part, j := whole, i*width
		part.n, part.b, part.c = min(width, part.n-j), part.b[j:], part.c[j:]
		part.compute()
	})
}

// split makes the tasks of a block: wide ones first, then narrower and at last lower ones, so that no worker waits long for the last. Each takes
// about a share of what is left.
func (p *product[T]) split(i0, mc int) (tasks []task) {
	rows, cols, shares := p.kern.rows, p.kern.cols, 2*p.workers
	for j := 0; j < p.n; {
		panels := (p.n - j + cols - 1) / cols
		width := min(max(panels/shares, 1)*cols, p.cols, p.n-j)
		height := mc
		if panels < shares {
			height = min(mc, roundUp((mc*panels+shares-1)/shares, rows))
		}
		for i := 0; i < mc; i += height {
			tasks = append(tasks, task{i0 + i, min(height, mc-i), j, width})
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
	s := w.stages[at]
	if i < s.packs {
		if at >= 2 { // its memory was that of an earlier stage
			w.await(&w.stages[at-2].done, len(w.stages[at-2].tasks))
		}
		s.packA(i)
		s.packed.Add(1)
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
}

// awaitTurns is how often await looks before it lets other goroutines run, too.
const awaitTurns = 100

// await returns when n has come to want. That takes less time as a rule than to sleep and to wake up.
func (w *team[T]) await(n *atomic.Int32, want int) {
	for turn := 0; int(n.Load()) < want && !w.failed.Load(); turn++ {
		if turn >= awaitTurns {
			runtime.Gosched()
		}
	}
}

package ptxsim

import "fmt"

const (
	maxBarriers = 16
	warpSize    = 32
)

// A barrierOp is a form of bar. The barrier's number is in register a, the number of threads in b,
// the predicate of bar.red in c.
type barrierOp struct {
	counted bool // b says how many threads take part; else all of the block
	arrive  bool // does not wait
	reduce  string
	not     bool // of the predicate
}

// waiting is what a thread waits for.
type waiting struct {
	in      *inst
	barrier int
	count   int
	value   bool   // for bar.red
	mask    uint32 // of the lanes that take part, at a warp-level instruction
}

// arrive runs bar.
func (g *cta) arrive(t *thread, f *frame, in *inst) bool {
	op := &in.x.barrier
	w := waiting{in: in, barrier: int(f.r[in.a] & mask(32)), count: len(g.threads), value: f.r[in.c] != 0 != op.not}
	if w.barrier >= maxBarriers {
		return g.fail(t, Limit, fmt.Sprintf("barrier %d: a block has %d", w.barrier, maxBarriers))
	}
	if op.counted {
		w.count = int(f.r[in.b] & mask(32))
		if w.count == 0 || w.count%warpSize != 0 || w.count > (len(g.threads)+warpSize-1)/warpSize*warpSize {
			return g.fail(t, Limit,
				fmt.Sprintf("a barrier of %d threads in a block of %d: it must be a multiple of %d", w.count,
					len(g.threads),
					warpSize))
		}
		w.count = min(w.count, len(g.threads))
	}
	if op.arrive {
		g.arrived[w.barrier]++
		return true
	}
	t.state, t.wait = atBarrier, w
	return false
}

// runBlock runs all threads of the block to their end.
func (g *cta) runBlock() {
	for {
		live := false
		for i := range g.threads {
			t := &g.threads[i]
			if t.state == ready {
				g.run(t)
				if g.fault != nil || g.interrupted(t) {
					return
				}
			}
			live = live || t.state != exited
		}
		if g.suspected != nil && !g.anyReady() {
			g.fault = g.suspected
			return
		}
		if !live {
			return
		}
		if g.releaseWarps(); g.fault != nil {
			return
		}
		if g.releaseBarriers(); g.fault != nil {
			return
		}
		if !g.anyReady() {
			g.stuck()
			return
		}
	}
}

func (g *cta) anyReady() bool {
	for i := range g.threads {
		if g.threads[i].state == ready {
			return true
		}
	}
	return false
}

// interrupted ends a block that runs for too long.
func (g *cta) interrupted(t *thread) bool {
	if t.state != ready || g.steps <= g.dev.config.MaxSteps {
		return false
	}
	f := t.current()
	g.failAt(t, &f.code.insts[f.pc], Timeout, 0,
		fmt.Sprintf("the block has run %d instructions without an end", g.steps))
	return true
}

// releaseBarriers lets the threads go on that wait at a barrier which all its threads have reached.
func (g *cta) releaseBarriers() {
	var counts [maxBarriers]int
	var first [maxBarriers]*thread
	for i := range g.threads {
		t := &g.threads[i]
		if t.state != atBarrier {
			continue
		}
		b := t.wait.barrier
		if first[b] == nil {
			first[b] = t
		} else if w := first[b].wait; w.in != t.wait.in || w.count != t.wait.count {
			g.diverged(first[b], t)
			return
		}
		counts[b]++
	}
	released := false
	for b, t := range first {
		if t != nil && counts[b]+g.arrived[b] >= t.wait.count {
			g.release(b, t.wait.in)
			released = true
		}
	}
	if released {
		g.passBarrier()
	}
}

func (g *cta) diverged(a, b *thread) {
	in := b.wait.in
	what := "barrier"
	if a.wait.in.kind == kindWarp {
		what = a.wait.in.x.warp.name
	}
	where := fmt.Sprintf("at the %s of %s", what, g.placeOf(a))
	if a.wait.in == in {
		where = fmt.Sprintf("for %d threads instead of %d", a.wait.count, b.wait.count)
	}
	g.failAt(b, in, DivergentBarrier, 0, fmt.Sprintf("this thread waits here, while thread %s waits %s", triple(a.pos),
		where))
}

// placeOf is where the instruction is that t has run last.
func (g *cta) placeOf(t *thread) string {
	f := t.current()
	return g.faultAt(t, &f.code.insts[f.pc-1]).place()
}

// release lets the threads at barrier b go on, with the result of bar.red.
func (g *cta) release(b int, in *inst) {
	op := &in.x.barrier
	g.arrived[b] = 0
	count, all := uint64(0), true
	for i := range g.threads {
		if t := &g.threads[i]; t.state == atBarrier && t.wait.barrier == b {
			count += flag(t.wait.value)
			all = all && t.wait.value
		}
	}
	result := map[string]uint64{"popc": count, "and": flag(all), "or": flag(count > 0)}[op.reduce]
	for i := range g.threads {
		if t := &g.threads[i]; t.state == atBarrier && t.wait.barrier == b {
			t.state = ready
			if op.reduce != "" {
				t.current().r[in.d] = result
			}
		}
	}
}

// stuck reports the threads that wait for others that will never come.
func (g *cta) stuck() {
	var waits, gone *thread
	n := 0
	for i := range g.threads {
		switch t := &g.threads[i]; {
		case t.state == exited:
			if gone == nil {
				gone = t
			}
		default:
			n++
			if waits == nil {
				waits = t
			} else if t.wait.in != waits.wait.in {
				g.diverged(waits, t)
				return
			}
		}
	}
	text := fmt.Sprintf("%d of %d threads of the block wait here for others that wait too", n, len(g.threads))
	if gone != nil {
		text = fmt.Sprintf("%d of %d threads of the block wait here, but thread %s has exited (%s)", n,
			len(g.threads), triple(gone.pos), g.placeOf(gone))
	}
	g.failAt(waits, waits.wait.in, DivergentBarrier, 0, text)
}

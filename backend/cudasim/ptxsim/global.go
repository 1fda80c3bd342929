package ptxsim

import (
	"fmt"
	"sync/atomic"
)

// What threads do to global memory is noted for the time of a launch, as for shared memory:
// accesses of different threads to one byte race if one of them writes, unless both are atomic or a
// barrier of their block lies between. Between blocks nothing orders accesses, but in kernels with
// memory fences, by which atomic operations may.
//
// Blocks run at once. So each access is first noted, atomically, and then compared with what others
// have noted: of two that race, one at least sees the other. The fault is that of the later block,
// whichever ran first, as if blocks ran one after another.

// A trace is what an access leaves: its thread, its instruction, and how many barriers the block
// had passed. Blocks are numbered from launch to launch, so that a trace of an earlier launch is
// known by its lower number. From the highest bit:
//
//	24 block   16 epoch (barriers)   12 index into Module.sites   1 blocks   1 threads   10 thread
//
// As the note of many accesses, a trace is one of those in the last epoch of the lowest block:
// otherThreads says that there are others' in that epoch, otherBlocks that there are other blocks'.
type trace uint64

const (
	traceThread  trace = 1<<10 - 1
	otherThreads trace = 1 << 10
	otherBlocks  trace = 1 << 11

	traceSite  = 12 // shifts
	traceEpoch = 24
	traceBlock = 40

	maxSites  = 1 << (traceEpoch - traceSite)
	maxEpochs = 1 << (traceBlock - traceEpoch)
	maxBlocks = 1 << (64 - traceBlock)
)

// A note is the trace of all accesses of one kind to a word.
type note struct{ bits atomic.Uint64 }

func (n *note) load() trace { return trace(n.bits.Load()) }

func (n *note) swap(old, next trace) bool { return n.bits.CompareAndSwap(uint64(old), uint64(next)) }

const pageWords = 256

// A page is the notes of neighbouring words. Atomic operations are rare.
type page struct {
	plain  [pageWords]struct{ write, read note }
	atomic atomic.Pointer[[pageWords]note]
}

// page is the page of word w, of 1<<grain bytes. Pages are made when they are first used.
func (a *allocation) page(grain uint8, w uint64) *page {
	pages := once(&a.pages[grain], func() *[]atomic.Pointer[page] {
		p := make([]atomic.Pointer[page], uint64(len(a.mem))>>grain/pageWords+1)
		return &p
	})
	return once(&(*pages)[w/pageWords], func() *page { return new(page) })
}

// once is what p points to; create makes it for the first who ask.
func once[T any](p *atomic.Pointer[T], create func() *T) *T {
	if v := p.Load(); v != nil {
		return v
	}
	p.CompareAndSwap(nil, create())
	return p.Load()
}

// number gives the blocks of a launch their numbers. Where all numbers are used up they begin
// again, with no notes; in a launch of more blocks than there are numbers, blocks share them.
func (l *launch) number(blocks uint64) {
	d := l.dev
	if d.blocks+blocks >= maxBlocks {
		d.mu.Lock()
		d.mem.forget()
		d.mu.Unlock()
		d.blocks = 0
	}
	l.first = trace(d.blocks+1) << traceBlock
	l.numbers = min(blocks, maxBlocks-1)
	d.blocks += l.numbers
}

// forget drops all notes.
func (m *memory) forget() {
	for i := range m.table {
		if a := m.table[i].Load(); a != nil {
			for grain := range a.pages {
				a.pages[grain].Store(nil)
			}
		}
	}
}

// begin is the trace of block i at its start.
func (l *launch) begin(i uint64) trace { return l.first + trace(i%l.numbers)<<traceBlock }

// passBarrier begins another epoch. After the last one no accesses are noted.
func (g *cta) passBarrier() {
	g.shared.barrier()
	if g.now>>traceEpoch%maxEpochs == maxEpochs-1 {
		g.now = 0
	} else if g.now != 0 {
		g.now += 1 << traceEpoch
	}
}

// useGlobal notes that t accesses n bytes at off in a. It is false where that puts the block at
// fault.
func (g *cta) useGlobal(t *thread, in *inst, a *allocation, off uint64, n int, how access) bool {
	me := g.now | trace(in.site)<<traceSite | trace(t.id)
	grain := g.launch.code.effects.grain()
	for w := off >> grain; w<<grain < off+uint64(n); {
		at, other := g.use(a.page(grain, w), w%pageWords, me, how)
		switch {
		case at == nil:
			w++
		case other>>traceBlock > me>>traceBlock: // the other is at fault; go on as if it had not run yet
			g.launch.blame(g.launch.race(other, me, a, off, n), uint64((other-g.launch.first)>>traceBlock))
			at.swap(other, 0)
		case other&otherBlocks != 0 && !g.races(other&^otherBlocks, me): // later blocks, whichever they are
			g.launch.blame(g.launch.race(me, other, a, off, n), g.launch.numbers-1)
			at.swap(other, other&^otherBlocks)
		default:
			g.fault = g.launch.race(me, other, a, off, n)
			return false
		}
	}
	return true
}

// use notes an access to word i of p. Where it races with another, use returns the other's note.
func (g *cta) use(p *page, i uint64, me trace, how access) (at *note, other trace) {
	word := &p.plain[i]
	switch how {
	case accessRead:
		g.add(&word.read, me)
	case accessAtomic:
		g.add(&once(&p.atomic, func() *[pageWords]note { return new([pageWords]note) })[i], me)
	default: // the last write is enough: one that it is not ordered with is a race
		for {
			if other = word.write.load(); g.races(other, me) {
				return &word.write, other
			}
			if word.write.swap(other, me) {
				break
			}
		}
	}
	if other = word.write.load(); how != accessWrite && g.races(other, me) {
		return &word.write, other
	}
	if other = word.read.load(); how != accessRead && g.races(other, me) {
		return &word.read, other
	}
	if all := p.atomic.Load(); all != nil && how != accessAtomic {
		if other = all[i].load(); g.races(other, me) {
			return &all[i], other
		}
	}
	return nil, 0
}

// add adds an access to a note.
func (g *cta) add(n *note, me trace) {
	for {
		old := n.load()
		sum := old
		switch differs := old ^ me; {
		case old < g.launch.first, differs>>traceBlock != 0 && g.launch.code.effects.fence:
			sum = me
		case differs>>traceBlock != 0:
			sum = min(old, me) | otherBlocks
		case differs>>traceEpoch != 0:
			sum = me | old&otherBlocks
		case differs&traceThread>>g.launch.idShift != 0:
			sum |= otherThreads
		}
		if sum == old || n.swap(old, sum) {
			return
		}
	}
}

// races reports whether an access is not ordered with one that was noted, or another like that.
func (g *cta) races(noted, me trace) bool {
	switch differs := noted ^ me; {
	case noted < g.launch.first:
		return false
	case differs>>traceBlock != 0:
		return !g.launch.code.effects.fence
	case differs>>traceEpoch != 0:
		return noted&otherBlocks != 0
	default:
		return noted&(otherThreads|otherBlocks) != 0 || differs&traceThread>>g.launch.idShift != 0
	}
}

// blame makes f the fault of the launch unless an earlier block than i has failed.
func (l *launch) blame(f *Fault, i uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i < l.failed {
		l.failed, l.fault = i, f
	}
}

// race is the fault of the access me of n bytes at off in a, which races with another.
func (l *launch) race(me, other trace, a *allocation, off uint64, n int) *Fault {
	f, verb := l.locate(me)
	with, otherVerb := l.locate(other)
	who, why := fmt.Sprintf("thread %s of block %s", triple(with.Thread), triple(with.Block)), "with no barrier between"
	switch differs := me ^ other; {
	case differs>>traceBlock != 0:
		why = "and nothing orders blocks"
	case differs>>traceEpoch == 0 && differs&traceThread>>l.idShift != 0:
	case differs>>traceEpoch == 0 && other&otherThreads != 0:
		who = "other threads"
	default:
		who, why = "other blocks", "and nothing orders blocks"
	}
	f.Kind, f.Address = Race, a.addr+off
	f.Text = fmt.Sprintf("%d bytes at %#x, %d bytes into an allocation of %d, are %s, and %s by %s at %s, %s",
		n, f.Address, off, len(a.mem), verb, otherVerb, who, with.place(), why)
	return f
}

// locate is the place, the block and the thread of an access, and what it did.
func (l *launch) locate(t trace) (f *Fault, verb string) {
	f = &Fault{
		Kernel: l.code.name, Block: position(uint64((t-l.first)>>traceBlock), l.grid),
		Thread: position(uint64(t&traceThread), l.block),
	}
	i := t >> traceSite % maxSites
	if i == 0 {
		return f, "used"
	}
	s := l.module.sites[i-1]
	f.at(s.code, l.module.files, s.code.places[s.inst.place])
	return f, verbs[s.inst.kind]
}

package ptxsim

import (
	"fmt"
	"math"

	"github.com/tandem-gpu/tandem/internal/host"
)

// A threadState says whether a thread can run.
type threadState uint8

const (
	ready threadState = iota
	atBarrier
	atWarp // at an instruction that other threads of the warp take part in
	exited
)

// A thread is a thread of a block, recycled from block to block.
type thread struct {
	id     int // in the block
	pos    [3]int
	state  threadState
	frames []frame // calls, the kernel first; those above depth are recycled
	depth  int
	local  []byte // local memory of all frames
	wait   waiting
	copies []pendingCopy
	group  int // of copies, to be committed
}

// A frame is a call of a function.
type frame struct {
	code   *code
	r      []uint64
	pc     int
	params []byte // parameter memory; of a kernel, what lies behind its parameters
	base   uint64 // of its local memory, in the thread's
}

// A cta (cooperative thread array) is a block that runs, with its memory. One worker runs many
// blocks on it, one after another.
type cta struct {
	dev       *Device
	launch    *launch
	pos       [3]int
	threads   []thread
	regs      []uint64
	shared    shared
	now       trace            // of an access at this time, but for thread and site; 0 for none
	arrived   [maxBarriers]int // by bar.arrive
	steps     uint64
	fault     *Fault
	suspected *Fault           // a read of shared memory that may be a race, or else is Uninitialised
	notes     map[*inst]*Fault // diagnostics
}

const (
	slice     = 1 << 20 // instructions after which a thread that does not wait makes way for others
	maxDepth  = 256     // of calls
	maxLocal  = 512 << 10
	localFill = 16 // alignment of frames in local memory
)

// current is the thread's innermost frame.
func (t *thread) current() *frame { return &t.frames[t.depth] }

// run runs a thread until it exits, waits, is at fault (which g.fault says) or has used up its
// slice.
func (g *cta) run(t *thread) {
	f := t.current()
	insts, r, pc := f.code.insts, f.r, f.pc
	steps := uint64(0)
	for {
		in := &insts[pc]
		pc++
		steps++
		if in.guarded && (r[in.guard] != 0) == in.not {
			continue
		}
		switch in.kind {
		case kindALU:
			in.fn(r, in)
		case kindMov:
			r[in.d] = r[in.a]
		case kindAdd32:
			r[in.d] = uint64(uint32(r[in.a]) + uint32(r[in.b]))
		case kindAdd64:
			r[in.d] = r[in.a] + r[in.b]
		case kindFMA64:
			fmaF64(r, in)
		case kindDivide:
			g.divide(t, r, in)
		case kindBranch:
			pc = int(in.imm)
			if steps >= slice {
				f.pc = pc
				g.steps += steps
				return
			}
		case kindLoad:
			if !g.load(t, f, in) {
				goto stop
			}
		case kindStore:
			if !g.store(t, f, in) {
				goto stop
			}
		case kindClock:
			r[in.d] = (g.steps + steps) & uint64(in.imm)
		case kindActiveMask:
			r[in.d] = 1 << (t.id % warpSize)
		case kindCall, kindReturn:
			f.pc = pc
			if f = g.transfer(t, in); f == nil {
				g.steps += steps
				return
			}
			insts, r, pc = f.code.insts, f.r, f.pc
		default:
			f.pc = pc
			if !g.rare(t, f, in) || steps >= slice {
				g.steps += steps
				return
			}
			pc = f.pc
		}
	}
stop:
	f.pc = pc
	g.steps += steps
}

// rare runs the instructions that the loop of run leaves to it. It reports whether the thread goes
// on.
func (g *cta) rare(t *thread, f *frame, in *inst) bool {
	switch in.kind {
	case kindAtomic:
		return g.atomic(t, f, in)
	case kindBranchIndex:
		i := f.r[in.a] & mask(32)
		if i >= uint64(len(in.x.targets)) {
			return g.fail(t, OutOfBounds, fmt.Sprintf("index %d of a branch to one of %d targets", i,
				len(in.x.targets)))
		}
		f.pc = int(in.x.targets[i])
		return true
	case kindBarrier:
		return g.arrive(t, f, in)
	case kindCopy:
		return g.copyAsync(t, f, in)
	case kindCommit:
		t.group++
		return true
	case kindWait:
		g.waitCopies(t, int(in.imm))
		return true
	case kindWarp:
		t.state = atWarp
		t.wait = waiting{in: in, mask: uint32(f.r[in.x.warp.members])}
		return false
	case kindExit:
		t.state = exited
		return false
	}
	return g.fail(t, Trap, in.x.text)
}

// divide runs div or rem. By zero, all bits of the result are ones: what hardware gives, though PTX
// does not specify it.
func (g *cta) divide(t *thread, r []uint64, in *inst) {
	m := mask(in.x.typ.bits)
	if r[in.b]&m != 0 {
		in.fn(r, in)
		return
	}
	if g.dev.config.Diagnose != nil && g.notes[in] == nil {
		f := g.faultAt(t, in)
		f.Kind, f.Text = DivByZero,
			fmt.Sprintf("%d is divided by zero; hardware does not trap, and the result means nothing", r[in.a]&m)
		g.notes[in] = f
	}
	r[in.d] = m
}

// transfer runs a call or a return and gives the frame to go on with; nil if the thread stops.
func (g *cta) transfer(t *thread, in *inst) *frame {
	if in.kind == kindReturn && t.depth == 0 {
		t.state = exited
		return nil
	}
	if in.kind == kindReturn {
		callee := t.current()
		t.depth--
		caller := t.current()
		for _, c := range caller.code.insts[caller.pc-1].x.call.results {
			copy(caller.params[c.caller:][:c.size], callee.params[c.callee:])
		}
		return caller
	}
	return g.call(t, in)
}

func (g *cta) call(t *thread, in *inst) *frame {
	caller, site := t.current(), in.x.call
	base := (caller.base + uint64(caller.code.localSize) + localFill - 1) &^ (localFill - 1)
	if top := base + uint64(site.fn.localSize); t.depth+1 == maxDepth || top > maxLocal {
		g.fail(t, Limit, fmt.Sprintf("stack overflow: %d calls deep with %d bytes of local memory", t.depth+1, top))
		return nil
	}
	t.depth++
	if t.depth == len(t.frames) {
		t.frames = append(t.frames, frame{})
	}
	caller = &t.frames[t.depth-1] // append may have moved it
	f := t.current()
	f.code, f.pc, f.base = site.fn, 0, base
	f.r = resize(f.r, site.fn.regs)
	f.params = resize(f.params, site.fn.frameParams())
	t.reserve(base + uint64(site.fn.localSize))
	g.enter(t, f)
	for _, c := range site.args {
		copy(f.params[c.callee:][:c.size], caller.params[c.caller:])
	}
	return f
}

// reserve makes local memory reach to top.
func (t *thread) reserve(top uint64) {
	if uint64(len(t.local)) < top {
		t.local = append(t.local, make([]byte, top-uint64(len(t.local)))...)
	}
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// enter sets the registers and the local memory of a new frame: constants, special registers, and
// zero for the rest.
func (g *cta) enter(t *thread, f *frame) {
	c := f.code
	n := copy(f.r, c.consts)
	for i, s := range c.specials {
		f.r[n+i] = s(g, t, f)
	}
	clear(f.r[n+len(c.specials):])
	fill(t.local[f.base:][:c.localSize], undefined)
}

// fail ends the block with a fault of t at the instruction before its pc, which the frame must
// hold. It returns false.
func (g *cta) fail(t *thread, kind Kind, text string) bool {
	f := t.current()
	return g.failAt(t, &f.code.insts[f.pc-1], kind, 0, text)
}

func (g *cta) failAt(t *thread, in *inst, kind Kind, addr uint64, text string) bool {
	switch {
	case g.fault != nil:
	case g.suspected != nil && kind != Race: // all that follows may come of it
		g.fault = g.suspected
	default:
		g.fault = g.faultAt(t, in)
		g.fault.Kind, g.fault.Address, g.fault.Text = kind, addr, text
	}
	return false
}

// faultAt is a fault at an instruction of the thread's current function.
func (g *cta) faultAt(t *thread, in *inst) *Fault {
	fault := &Fault{Kernel: g.launch.code.name, Block: g.pos, Thread: t.pos}
	if c := t.current().code; in.place < int32(len(c.places)) {
		fault.at(c, g.launch.module.files, c.places[in.place])
	}
	return fault
}

func fmaF32(r []uint64, in *inst) {
	r[in.d] = bits32(host.FMA32(float32At(r, in.a), float32At(r, in.b), float32At(r, in.c)))
}

func fmaF64(r []uint64, in *inst) {
	r[in.d] = bits64(math.FMA(float64At(r, in.a), float64At(r, in.b), float64At(r, in.c)))
}

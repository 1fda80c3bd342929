package ptxsim

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// A launch is a kernel's run.
type launch struct {
	dev     *Device
	module  *Module
	code    *code
	grid    [3]int
	block   [3]int
	shared  int // bytes of shared memory of a block, with gaps
	dynamic int // of those, the dynamic ones
	params  []byte
	// from a thread's number to what races are told apart by: threads, or warps where those
	// synchronise by themselves
	idShift uint
	first   trace  // of its first block
	numbers uint64 // of blocks in traces

	next    atomic.Uint64 // block to run
	mu      sync.Mutex
	failed  uint64 // the first block that failed, or the number of blocks
	fault   *Fault // its fault
	notes   map[*inst]*Fault
	noteFor map[*inst]uint64 // the block of a note
}

// Launch runs f over the grid and waits for its end. params are the kernel's parameters, as
// [Function.Params] lays them out; dynamic is the bytes of dynamic shared memory.
//
// Blocks run on all cores. What fails a launch is a *Fault: of the first block that failed, in
// row-major order, so that it does not depend on timing. Blocks behind it may or may not have run.
// A fault that Launch finds before it starts is of the kind Limit.
func (d *Device) Launch(f *Function, grid, block [3]int, dynamic int, params []byte) error {
	if f.module.dev != d {
		return fmt.Errorf("kernel %s was loaded for another device", f.code.name)
	}
	l := &launch{dev: d, module: f.module, code: f.code, grid: grid, block: block, dynamic: dynamic}
	if text := l.check(params); text != "" {
		return &Fault{Kind: Limit, Kernel: f.code.name, Text: text}
	}
	l.params = params[:f.ParamSize]
	l.shared = f.code.shared.span
	if dynamic > 0 {
		l.shared = f.code.shared.dynamic() + dynamic
	}
	if f.code.effects.warp {
		l.idShift = 5
	}
	d.launch.Lock()
	defer d.launch.Unlock()
	if f.module.unloaded {
		return fmt.Errorf("kernel %s: its module was unloaded", f.code.name)
	}
	return l.run()
}

// check says what the device cannot do; "" if it can.
func (l *launch) check(params []byte) string {
	k := l.code
	axes := [3]string{"x", "y", "z"}
	threads := 1
	for i := range 3 {
		switch {
		case l.grid[i] < 1 || l.grid[i] > MaxGrid[i]:
			return fmt.Sprintf("grid of %d blocks in %s; the device takes 1 to %d", l.grid[i], axes[i], MaxGrid[i])
		case l.block[i] < 1 || l.block[i] > MaxBlock[i]:
			return fmt.Sprintf("block of %d threads in %s; the device takes 1 to %d", l.block[i], axes[i],
				MaxBlock[i])
		}
		threads *= l.block[i]
	}
	most := k.maxntid[0] * k.maxntid[1] * k.maxntid[2]
	switch {
	case threads > MaxThreads:
		return fmt.Sprintf("block of %d threads; the device takes at most %d", threads, MaxThreads)
	case k.reqntid != [3]int{} && k.reqntid != l.block:
		return fmt.Sprintf("block of %s threads; the kernel is written for %s", triple(l.block), triple(k.reqntid))
	case most != 0 && threads > most:
		return fmt.Sprintf("block of %d threads; the kernel is compiled for at most %d", threads, most)
	case l.dynamic < 0 || l.dynamic > SharedMemory || k.shared.total(l.dynamic) > SharedMemory:
		return fmt.Sprintf("%d bytes of static and %d of dynamic shared memory; a block can have %d", k.shared.size,
			l.dynamic, SharedMemory)
	case len(params) < k.formalSize:
		return fmt.Sprintf("%d bytes of parameters; the kernel has %d", len(params), k.formalSize)
	}
	return ""
}

func (l *launch) run() error {
	blocks := uint64(l.grid[0]) * uint64(l.grid[1]) * uint64(l.grid[2])
	workers := l.dev.config.Workers
	if l.code.effects.ordered || len(l.code.effects.reduces) > 1 {
		workers = 1 // what blocks see of each other depends on their order
	}
	workers = int(min(uint64(workers), blocks))
	l.failed = blocks
	l.number(blocks)
	ctas := make([]*cta, workers)
	for i := range ctas {
		ctas[i] = l.prepare()
	}
	var wg sync.WaitGroup
	for _, g := range ctas[1:] {
		wg.Go(func() { l.work(g, blocks) })
	}
	l.work(ctas[0], blocks)
	wg.Wait()
	l.dev.idle = append(l.dev.idle, ctas...)
	l.report()
	if l.fault != nil {
		return l.fault
	}
	return nil
}

// prepare is an idle cta, or a new one, set up for the launch.
func (l *launch) prepare() *cta {
	g := &cta{dev: l.dev}
	if idle := l.dev.idle; len(idle) > 0 {
		g = idle[len(idle)-1]
		l.dev.idle = idle[:len(idle)-1]
	}
	g.launch = l
	g.notes = map[*inst]*Fault{}
	n := l.block[0] * l.block[1] * l.block[2]
	g.threads = resize(g.threads, n)
	g.regs = resize(g.regs, n*l.code.regs)
	for i := range g.threads {
		t := &g.threads[i]
		t.id = i
		t.pos = position(uint64(i), l.block)
		t.reserve(uint64(l.code.localSize))
		t.frames = resize(t.frames, max(1, len(t.frames)))
		f := &t.frames[0]
		f.code = l.code
		f.r = g.regs[i*l.code.regs:][:l.code.regs]
		f.params = resize(f.params, l.code.frameParams())
	}
	return g
}

// work runs blocks until none is left that matters.
func (l *launch) work(g *cta, blocks uint64) {
	for {
		i := l.next.Add(1) - 1
		if i >= blocks || l.over(i) {
			break
		}
		g.start(i)
		g.runBlock()
		l.dev.steps.Add(g.steps)
		l.note(g, i)
	}
	g.launch = nil
}

// over reports whether a block before i has failed.
func (l *launch) over(i uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return i > l.failed
}

// position is where number i is in a grid or block of this size.
func position(i uint64, size [3]int) [3]int {
	x, y := uint64(size[0]), uint64(size[1])
	return [3]int{int(i % x), int(i / x % y), int(i / x / y)}
}

// start sets g up for block i.
func (g *cta) start(i uint64) {
	l := g.launch
	g.pos, g.now = position(i, l.grid), l.begin(i)
	g.steps, g.fault, g.suspected = 0, nil, nil
	clear(g.arrived[:])
	g.shared.reset(l.shared)
	g.shared.markGaps(&l.code.shared)
	for i := range g.threads {
		t := &g.threads[i]
		t.state, t.depth = ready, 0
		t.copies, t.group = t.copies[:0], 0
		f := &t.frames[0]
		f.pc, f.base = 0, 0
		g.enter(t, f)
	}
}

// note takes over the fault and the diagnostics of block i.
func (l *launch) note(g *cta, i uint64) {
	if g.fault == nil && len(g.notes) == 0 {
		return
	}
	if g.fault != nil {
		l.blame(g.fault, i)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.notes == nil {
		l.notes, l.noteFor = map[*inst]*Fault{}, map[*inst]uint64{}
	}
	for in, f := range g.notes {
		if first, ok := l.noteFor[in]; !ok || i < first {
			l.notes[in], l.noteFor[in] = f, i
		}
	}
	clear(g.notes)
}

// report passes the diagnostics on, in the order of the PTX lines.
func (l *launch) report() {
	var notes []*Fault
	for in, f := range l.notes {
		if l.noteFor[in] <= l.failed {
			notes = append(notes, f)
		}
	}
	slices.SortFunc(notes, func(a, b *Fault) int { return a.Line - b.Line })
	for _, f := range notes {
		l.dev.config.Diagnose(f)
	}
}

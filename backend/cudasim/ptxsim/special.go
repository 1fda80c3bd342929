package ptxsim

// A special is the value of a special register that does not change while a frame runs: it is kept
// in an ordinary one.
type special func(g *cta, t *thread, f *frame) uint64

// Not of PTX, so that no text can name them.
const (
	localAddr   = "address in .local of the frame's local memory"
	dynamicBase = "address in .shared of dynamic shared memory"
)

// specials are the special registers by name.
var specials = func() map[string]special {
	m := map[string]special{
		"%laneid":  func(_ *cta, t *thread, _ *frame) uint64 { return uint64(t.id % warpSize) },
		"%warpid":  func(_ *cta, t *thread, _ *frame) uint64 { return uint64(t.id / warpSize) },
		"%nwarpid": func(*cta, *thread, *frame) uint64 { return MaxThreads / warpSize },
		"%smid": func(g *cta, _ *thread, _ *frame) uint64 {
			return uint64((g.pos[0] + g.pos[1] + g.pos[2]) % Multiprocessors)
		},
		"%nsmid":             func(*cta, *thread, *frame) uint64 { return Multiprocessors },
		"%gridid":            func(*cta, *thread, *frame) uint64 { return 1 },
		"%dynamic_smem_size": func(g *cta, _ *thread, _ *frame) uint64 { return uint64(g.launch.dynamic) },
		"%total_smem_size": func(g *cta, _ *thread, _ *frame) uint64 {
			return uint64(g.launch.code.shared.total(g.launch.dynamic))
		},
		localAddr:   func(_ *cta, _ *thread, f *frame) uint64 { return f.base },
		dynamicBase: func(g *cta, _ *thread, _ *frame) uint64 { return uint64(g.launch.code.shared.dynamic()) },
	}
	for i, axis := range []string{".x", ".y", ".z"} {
		m["%tid"+axis] = func(_ *cta, t *thread, _ *frame) uint64 { return uint64(t.pos[i]) }
		m["%ntid"+axis] = func(g *cta, _ *thread, _ *frame) uint64 { return uint64(g.launch.block[i]) }
		m["%ctaid"+axis] = func(g *cta, _ *thread, _ *frame) uint64 { return uint64(g.pos[i]) }
		m["%nctaid"+axis] = func(g *cta, _ *thread, _ *frame) uint64 { return uint64(g.launch.grid[i]) }
	}
	for name, lanes := range map[string]func(own uint32) uint32{ // own is the bit of the thread's lane
		"eq": func(own uint32) uint32 { return own },
		"lt": func(own uint32) uint32 { return own - 1 },
		"le": func(own uint32) uint32 { return own | (own - 1) },
		"gt": func(own uint32) uint32 { return ^(own | (own - 1)) },
		"ge": func(own uint32) uint32 { return ^(own - 1) },
	} {
		m["%lanemask_"+name] = func(_ *cta, t *thread, _ *frame) uint64 { return uint64(lanes(1 << (t.id % warpSize))) }
	}
	return m
}()

// clocks are the special registers that change; the value is their width. All count instructions.
var clocks = map[string]uint8{"%clock": 32, "%clock64": 64, "%clock_hi": 0, "%globaltimer": 64, "%globaltimer_lo": 32}

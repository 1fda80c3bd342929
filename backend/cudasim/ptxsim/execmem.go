package ptxsim

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// The functions below that touch global memory are marked norace: threads of different blocks may
// race there, as on hardware, and that is no race of this program. Accesses are aligned and at most
// 8 bytes wide, which processors read and write whole.

// load runs ld. It reports whether the access was in order.
//
//go:norace
func (g *cta) load(t *thread, f *frame, in *inst) bool {
	b := g.memory(t, f, in, accessRead)
	if b == nil {
		return false
	}
	x := in.x
	for i, d := range x.lanes {
		v := readBytes(b[i*int(in.size):], in.size)
		if x.sext != 0 {
			v = uint64(signExtend(v, x.sext))
		}
		f.r[d] = v & x.mask
	}
	return true
}

// store runs st.
//
//go:norace
func (g *cta) store(t *thread, f *frame, in *inst) bool {
	b := g.memory(t, f, in, accessWrite)
	if b == nil {
		return false
	}
	for i, d := range in.x.lanes {
		writeBytes(b[i*int(in.size):], in.size, f.r[d])
	}
	return true
}

//go:norace
func readBytes(b []byte, size uint8) uint64 {
	switch size {
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	case 8:
		return binary.LittleEndian.Uint64(b)
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	}
	return uint64(b[0])
}

//go:norace
func writeBytes(b []byte, size uint8, v uint64) {
	switch size {
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	case 8:
		binary.LittleEndian.PutUint64(b, v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	default:
		b[0] = byte(v)
	}
}

// memory is the memory of an access, checked; nil after a fault.
//
//go:norace
func (g *cta) memory(t *thread, f *frame, in *inst, how access) []byte {
	addr := f.r[in.a] + uint64(in.imm)
	if in.narrow {
		addr &= mask(32)
	}
	if in.strong {
		how = accessAtomic
	}
	n := int(in.size) * int(in.lanes)
	sp := in.space
	if sp == spaceGeneric {
		sp, addr = fromGeneric(addr)
	}
	if addr&uint64(n-1) != 0 {
		g.failAt(t, in, Misaligned, addr, fmt.Sprintf("%s address %#x is not a multiple of the access's %d bytes", sp,
			addr, n))
		return nil
	}
	switch sp {
	case spaceGlobal:
		return g.globalMemory(t, in, addr, n, how)
	case spaceShared:
		return g.sharedMemory(t, in, addr, n, how)
	case spaceLocal:
		if top := f.base + uint64(f.code.localSize); addr+uint64(n) > top || addr+uint64(n) < addr {
			g.failAt(t, in, OutOfBounds, addr, fmt.Sprintf("%d bytes at %#x of local memory, which has %d bytes", n,
				addr, top))
			return nil
		}
		return t.local[addr:]
	}
	return g.paramMemory(t, f, in, addr, n)
}

// fromGeneric is the space that a generic address points into, and the address there.
func fromGeneric(addr uint64) (space, uint64) {
	switch {
	case addr-sharedWindow < windowSize:
		return spaceShared, addr - sharedWindow
	case addr-localWindow < windowSize:
		return spaceLocal, addr - localWindow
	}
	return spaceGlobal, addr
}

// globalMemory checks an access of n bytes, also for races.
//
//go:norace
func (g *cta) globalMemory(t *thread, in *inst, addr uint64, n int, how access) []byte {
	a, off := g.dev.mem.find(addr, uint64(n))
	if a == nil {
		g.failAt(t, in, OutOfBounds, addr, fmt.Sprintf("%d bytes at %#x: %s", n, addr, g.dev.mem.describe(addr, n)))
		return nil
	}
	if !a.complete.Load() {
		v := a.valid[off:][:n]
		if how != accessWrite && !written(v) && in.kind != kindStore {
			g.failAt(t, in, Uninitialised, addr,
				fmt.Sprintf("%d bytes at %#x, %d bytes into an allocation of %d: nothing has been written there", n,
					addr, off, len(a.mem)))
			return nil
		}
		if in.kind != kindLoad && in.kind != kindCopy {
			fill(v, validByte)
		}
	}
	if g.now != 0 && !g.useGlobal(t, in, a, off, n, how) {
		return nil
	}
	return a.mem[off:]
}

// written reports whether all bytes are marked as written.
//
//go:norace
func written(v []byte) bool {
	for _, b := range v {
		if b != validByte {
			return false
		}
	}
	return true
}

// sharedMemory checks an access of n bytes, also for races.
func (g *cta) sharedMemory(t *thread, in *inst, off uint64, n int, how access) []byte {
	s := &g.shared
	inside := off <= uint64(len(s.mem)) && uint64(n) <= uint64(len(s.mem))-off
	if !inside || !written(s.valid[off:][:n]) {
		if !inside || bytes.IndexByte(s.valid[off:][:n], gapByte) >= 0 {
			g.failAt(t, in, OutOfBounds, off, fmt.Sprintf("%d bytes at %s: no array is there", n, g.sharedName(off)))
			return nil
		}
		if bytes.IndexByte(s.valid[off:][:n], pendingByte) >= 0 {
			g.failAt(t, in, Race, off, fmt.Sprintf("%d bytes at %s are %s, for which an asynchronous copy has not "+
				"been waited for", n, g.sharedName(off), verbs[in.kind]))
			return nil
		}
		if in.kind != kindStore && in.kind != kindCopy {
			g.suspect(t, in, off, n)
		}
		if in.kind != kindLoad {
			fill(s.valid[off:][:n], validByte)
		}
	}
	if other, ok := s.use(off, n, uint32(t.id)>>g.launch.idShift, how); !ok {
		g.failAt(t, in, Race, off, g.raceText(off, n, in, other))
		return nil
	}
	return s.mem[off:]
}

// suspect notes a read of shared memory that nothing has written. If another thread writes it
// before the next barrier, it is a race; if none does, runBlock makes it the block's fault.
func (g *cta) suspect(t *thread, in *inst, off uint64, n int) {
	if g.suspected == nil {
		g.suspected = g.faultAt(t, in)
		g.suspected.Kind, g.suspected.Address = Uninitialised, off
		g.suspected.Text = fmt.Sprintf("%d bytes at %s: nothing has been written there", n, g.sharedName(off))
	}
	for i, v := range g.shared.valid[off:][:n] {
		if v == 0 {
			g.shared.mem[off+uint64(i)] = undefined
		}
	}
}

func (g *cta) raceText(off uint64, n int, in *inst, other uint32) string {
	who := "several other threads have"
	switch {
	case other >= splitID:
	case g.launch.idShift != 0:
		who = fmt.Sprintf("warp %d has", other)
	default:
		who = fmt.Sprintf("thread %s has", triple(g.threads[other].pos))
	}
	return fmt.Sprintf("%d bytes at %s are %s, which %s used since the last barrier", n, g.sharedName(off),
		verbs[in.kind], who)
}

// verbs is what an access does to memory.
var verbs = map[kind]string{kindLoad: "read", kindStore: "written", kindAtomic: "changed", kindCopy: "copied"}

// sharedName says where off is: in a variable, or how far behind one.
func (g *cta) sharedName(off uint64) string {
	layout := &g.launch.code.shared
	for i := len(layout.vars) - 1; i >= 0; i-- {
		v := layout.vars[i]
		switch at := off - uint64(v.offset); {
		case off < uint64(v.offset):
		case at < uint64(v.size):
			return fmt.Sprintf("shared %s+%d", v.name, at)
		case off < uint64(layout.dynamic()):
			return fmt.Sprintf("shared %s+%d, which has %d bytes", v.name, at, v.size)
		}
	}
	if g.launch.dynamic > 0 {
		return fmt.Sprintf("dynamic shared memory+%d, which has %d bytes", off-uint64(layout.dynamic()),
			g.launch.dynamic)
	}
	return fmt.Sprintf("shared address %#x", off)
}

// paramMemory is parameter memory: a kernel's parameters, which cannot be written, and behind them
// what belongs to the frame.
func (g *cta) paramMemory(t *thread, f *frame, in *inst, addr uint64, n int) []byte {
	size := uint64(0)
	if f.code.entry {
		size = uint64(len(g.launch.params))
		if addr+uint64(n) <= size && in.kind == kindLoad {
			return g.launch.params[addr:]
		}
	}
	if addr < size || addr+uint64(n) > size+uint64(len(f.params)) || addr+uint64(n) < addr {
		g.failAt(t, in, OutOfBounds, addr,
			fmt.Sprintf("%d bytes at %#x of the parameter memory, which has %d bytes", n, addr,
				size+uint64(len(f.params))))
		return nil
	}
	return f.params[addr-size:]
}

// atomic runs atom and red. The frame holds the pc.
//
//go:norace
func (g *cta) atomic(t *thread, f *frame, in *inst) bool {
	b := g.memory(t, f, in, accessAtomic)
	if b == nil {
		return false
	}
	m := &g.dev.atomic[(f.r[in.a]+uint64(in.imm))/8%uint64(len(g.dev.atomic))]
	m.Lock()
	old := readBytes(b, in.size)
	writeBytes(b, in.size, in.x.atom(old, f.r[in.b], f.r[in.c]))
	m.Unlock()
	f.r[in.d] = old
	return true
}

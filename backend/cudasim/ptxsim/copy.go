package ptxsim

import "fmt"

// A pendingCopy is a cp.async that its thread has not waited for. Until then its bytes of shared
// memory are marked as pendingByte, and every use of them is a race.
type pendingCopy struct {
	off   uint64
	n     int
	data  [16]byte
	group int
}

// cp decodes cp.async. The source is the instruction's address, the destination is in c and x.imm.
func (d *decoder) cp() {
	d.require(d.take("async"))
	d.needs(80)
	args := d.stmt.args
	switch d.oneOf("commit_group", "wait_group", "wait_all") {
	case "commit_group":
		d.args(0)
		d.emit(inst{kind: kindCommit})
		return
	case "wait_all":
		d.args(0)
		d.emit(inst{kind: kindWait, imm: -1})
		return
	case "wait_group":
		d.args(1)
		d.require(args[0].kind == operandLiteral && !args[0].lit.isFloat)
		d.emit(inst{kind: kindWait, imm: int64(args[0].lit.bits & mask(31))})
		return
	}
	bypass := d.take("cg")
	d.require((bypass || d.take("ca")) && d.oneOf("shared", "shared::cta") != "" && d.take("global"))
	d.hints()
	if len(args) != 4 {
		d.args(3)
	}
	n := args[2].lit.bits
	d.require(args[2].kind == operandLiteral && (n == 16 || !bypass && (n == 4 || n == 8)))
	in := inst{kind: kindCopy, space: spaceGlobal, size: uint8(n), lanes: 1, b: d.constant(n), d: d.unused()}
	to := inst{space: spaceShared}
	d.memory(&to, args[0])
	d.memory(&in, args[1])
	if len(args) == 4 {
		in.b = d.source(args[3], u32)
	}
	in.c, in.x = to.a, &extra{imm: to.imm, narrow: to.narrow, e: d.unused()}
	d.emit(in)
}

// copyAsync runs cp.async: the source is read now, the destination written at the wait.
//
//go:norace
func (g *cta) copyAsync(t *thread, f *frame, in *inst) bool {
	src, off := f.r[in.a]+uint64(in.imm), f.r[in.c]+uint64(in.x.imm)
	if in.narrow {
		src &= mask(32)
	}
	if in.x.narrow {
		off &= mask(32)
	}
	size := int(in.size)
	if (src|off)&uint64(size-1) != 0 {
		return g.failAt(t, in, Misaligned, src, fmt.Sprintf("a copy of %d bytes from %#x to shared address %#x", size,
			src, off))
	}
	c := pendingCopy{off: off, n: size, group: t.group}
	n := int(min(f.r[in.b]&mask(32), uint64(size)))
	if n > 0 {
		b := g.globalMemory(t, in, src, n, accessRead)
		if b == nil {
			return false
		}
		for i := range n {
			c.data[i] = b[i]
		}
	}
	if g.sharedMemory(t, in, off, size, accessWrite) == nil {
		return false
	}
	fill(g.shared.valid[off:][:size], pendingByte)
	t.copies = append(t.copies, c)
	return true
}

// waitCopies ends the copies of all groups but the last keep; of all where keep is negative.
func (g *cta) waitCopies(t *thread, keep int) {
	rest := t.copies[:0]
	for _, c := range t.copies {
		if keep >= 0 && c.group >= t.group-keep {
			rest = append(rest, c)
			continue
		}
		s := &g.shared
		s.use(c.off, c.n, uint32(t.id)>>g.launch.idShift, accessWrite) // any other use was at fault before
		copy(s.mem[c.off:], c.data[:c.n])
		fill(s.valid[c.off:][:c.n], validByte)
	}
	t.copies = rest
}

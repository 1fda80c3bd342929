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
func (d *decoder) cp() error {
	if !d.take("async") {
		return d.unknown()
	}
	if err := d.needs(80); err != nil {
		return err
	}
	switch d.oneOf("commit_group", "wait_group", "wait_all") {
	case "commit_group":
		d.emit(inst{kind: kindCommit})
		return d.args(0)
	case "wait_all":
		d.emit(inst{kind: kindWait, imm: -1})
		return d.args(0)
	case "wait_group":
		if err := d.args(1); err != nil {
			return err
		}
		n := d.stmt.args[0]
		if n.kind != operandLiteral || n.lit.isFloat {
			return d.unknown()
		}
		d.emit(inst{kind: kindWait, imm: int64(n.lit.bits & mask(31))})
		return nil
	}
	bypass := d.take("cg")
	if !bypass && !d.take("ca") || d.oneOf("shared", "shared::cta") == "" || !d.take("global") {
		return d.unknown()
	}
	d.hints()
	args := d.stmt.args
	if len(args) != 3 && len(args) != 4 {
		return d.args(3)
	}
	n := args[2].lit.bits
	if args[2].kind != operandLiteral || n != 16 && (bypass || n != 4 && n != 8) {
		return d.unknown()
	}
	in := inst{kind: kindCopy, space: spaceGlobal, size: uint8(n), lanes: 1, b: d.constant(n)}
	to := inst{space: spaceShared}
	if err := d.memory(&to, args[0]); err != nil {
		return err
	}
	if err := d.memory(&in, args[1]); err != nil {
		return err
	}
	if len(args) == 4 {
		var err error
		if in.b, err = d.source(args[3], u32); err != nil {
			return err
		}
	}
	in.c, in.x = to.a, &extra{imm: to.imm, narrow: to.narrow, e: d.unused()}
	in.d = d.unused()
	d.emit(in)
	return nil
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
	for i := range size {
		g.shared.valid[off+uint64(i)] = pendingByte
	}
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
		for i := range c.n {
			s.valid[c.off+uint64(i)] = validByte
		}
	}
	t.copies = rest
}

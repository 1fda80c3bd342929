package compiler

import "go/token"

// A uniformity finds what is the same for all work-items of a group, as WGSL does: a barrier must
// be where all of them come. Control flow diverges where a condition varies, until the ways meet
// again.
type uniformity struct {
	l       *lowerer
	escapes map[escape]token.Pos // jumps that only some work-items take
	changed bool
	report  bool
}

// An escape is a way out: of or to the next turn of a loop, out of a block, or (nil) of the kernel.
type escape struct {
	target *stmt
	next   bool
}

// analyse marks the variables of k that vary, and reports barriers that not all work-items reach.
func (l *lowerer) analyse(k *kernel) {
	walk(k.body, func(s *stmt) {
		k.barriers = k.barriers || s.kind == stmtBarrier
		s.exprs(func(e *expr) {
			e.walk(func(e *expr) {
				if e.op == opAddr {
					if v := rootVariable(e.x); v != nil {
						v.varying = true // who has the address may write it
					}
				}
			})
		})
	})
	u := &uniformity{l: l}
	for u.changed = true; u.changed; {
		u.changed = false
		u.escapes = map[escape]token.Pos{}
		u.list(k.body, token.NoPos)
	}
	u.report, u.escapes = true, map[escape]token.Pos{}
	u.list(k.body, token.NoPos)
}

// rootVariable is the variable that a place is a part of, nil where a pointer or slice leads there.
func rootVariable(e *expr) *variable {
	for {
		switch {
		case e.op == opVar:
			return e.v
		case e.op == opField || e.op == opIndex && e.x.typ.kind == kindArray:
			e = e.x
		default:
			return nil
		}
	}
}

// list walks statements from a point where the flow has diverged at d, or not at all; it gives
// where it has at the end.
func (u *uniformity) list(list []*stmt, d token.Pos) token.Pos {
	for _, s := range list {
		d = u.stmt(s, d)
	}
	return d
}

func (u *uniformity) set(v *variable, varies bool, d token.Pos) {
	if v != nil && !v.varying && (varies || d != token.NoPos) {
		v.varying, u.changed = true, true
	}
}

func (u *uniformity) stmt(s *stmt, d token.Pos) token.Pos {
	s.diverged = d
	switch s.kind {
	case stmtDecl:
		u.set(s.v, s.x != nil && varies(s.x), d)
	case stmtAssign:
		u.set(rootVariable(s.x), varies(s.y) || s.x.op != opVar && varies(s.x), d)
	case stmtCall:
		for _, v := range s.dst {
			u.set(v, varies(s.x), d)
		}
	case stmtBarrier:
		if d != token.NoPos && u.report && !s.reported {
			s.reported = true
			u.l.problem(s.pos, "a barrier that only some work-items may reach: at %s they may go different ways; "+
				"move it out, or let what the whole group shares decide, which memory and the work-item may not: "+
				"gpu.Uniform(it, x) is one value for all, it.Any(cond) whether it holds for one", u.l.position(d))
		}
	case stmtBreak:
		u.jump(escape{s.target, false}, d)
	case stmtContinue:
		u.jump(escape{s.target, true}, d)
	case stmtReturn:
		u.jump(escape{}, d)
	case stmtIf:
		inner := d
		if varies(s.x) {
			inner = s.x.pos
		}
		u.list(s.body, inner)
		u.list(s.els, inner)
		d = u.after(d)
	case stmtBlock:
		u.list(s.body, d)
		delete(u.escapes, escape{s, false})
		d = u.after(d)
	case stmtLoop:
		d = u.loop(s, d)
	}
	s.meets = d == token.NoPos
	return d
}

// jump notes a jump that is taken while the flow has diverged.
func (u *uniformity) jump(e escape, d token.Pos) {
	if d != token.NoPos {
		u.escapes[e] = d
	}
}

// after is where the flow has diverged behind a statement: there, if some have jumped further.
func (u *uniformity) after(d token.Pos) token.Pos {
	if d != token.NoPos {
		return d
	}
	for _, at := range u.escapes {
		d = max(d, at)
	}
	return d
}

// loop walks the body again if some work-items may have left it in the first turn.
func (u *uniformity) loop(s *stmt, d token.Pos) token.Pos {
	inner := d
	for range 2 {
		if s.x != nil && varies(s.x) {
			inner = s.x.pos
		}
		u.list(s.body, inner)
		delete(u.escapes, escape{s, true})
		inner = u.after(inner)
		u.list(s.post, inner)
	}
	delete(u.escapes, escape{s, false})
	return u.after(d)
}

// varies tells whether e may differ between the work-items of a group.
func varies(e *expr) bool {
	switch e.op {
	case opVar:
		return e.v.local || e.v.varying
	case opIndex:
		if e.x.typ.kind == kindSlice {
			return true
		}
	case opDeref, opAddr:
		return true
	case opItem:
		return e.name == "Global" || e.name == "Local"
	case opCall:
		if e.fn.effects || e.fn.memory {
			return true
		}
	case opBuiltin:
		if e.name[0] == 'A' { // atomic
			return true
		}
	}
	found := false
	e.children(func(x *expr) { found = found || varies(x) })
	return found
}

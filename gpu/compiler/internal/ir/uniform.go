package ir

import "go/token"

// A uniformity finds what is the same for all work-items of a group, as WGSL does: a barrier must
// be where all of them come. Control flow diverges where a condition varies, until the ways meet
// again.
type uniformity struct {
	p       *Program
	escapes map[Escape]token.Pos // jumps that only some work-items take
	changed bool
	report  bool
}

// An Escape is a way out: of or to the next turn of a loop, out of a block, or (nil) of the kernel.
type Escape struct {
	Target *Stmt
	Next   bool
}

// FindVarying marks the variables of k that vary, and reports barriers that not all work-items
// reach.
func (p *Program) FindVarying(k *Kernel) {
	k.Barriers = HoldsBarrier(k.Body)
	Addressed(k.Body, func(v *Variable) { v.varying = true }) // who has the address may write it
	u := &uniformity{p: p}
	for u.changed = true; u.changed; {
		u.changed = false
		u.escapes = map[Escape]token.Pos{}
		u.list(k.Body, token.NoPos)
	}
	u.report, u.escapes = true, map[Escape]token.Pos{}
	u.list(k.Body, token.NoPos)
}

// RootVariable is the variable that a place is a part of, nil where a pointer or slice leads there.
func RootVariable(e *Expr) *Variable {
	for {
		switch {
		case e.Op == OpVar:
			return e.Var
		case e.Op == OpField || e.Op == OpIndex && e.X.Type.Kind == KindArray:
			e = e.X
		default:
			return nil
		}
	}
}

// list walks statements from a point where the flow has diverged at d, or not at all.
func (u *uniformity) list(list []*Stmt, d token.Pos) {
	for _, s := range list {
		d = u.stmt(s, d)
	}
}

func (u *uniformity) set(v *Variable, varies bool, d token.Pos) {
	if v != nil && !v.varying && (varies || d != token.NoPos) {
		v.varying, u.changed = true, true
	}
}

func (u *uniformity) setField(v *Variable, i int, varies bool, d token.Pos) {
	if v.varying || v.fields[i] || !varies && d == token.NoPos {
		return
	}
	if v.fields == nil {
		v.fields = map[int]bool{}
	}
	v.fields[i], u.changed = true, true
}

// assign is place x, which is all of a variable or a part, becoming y.
func (u *uniformity) assign(x, y *Expr, d token.Pos) {
	if x.Op == OpVar && x.Type.Kind == KindStruct {
		for i := range x.Type.Fields {
			u.setField(x.Var, i, fieldVaries(y, i), d)
		}
		return
	}
	v, varies := RootVariable(x), varies(y) || x.Op != OpVar && varies(x)
	for x.Op != OpVar && v != nil {
		if x.Op == OpField && x.X.Op == OpVar {
			u.setField(v, x.N, varies, d)
			return
		}
		x = x.X
	}
	u.set(v, varies, d)
}

func (u *uniformity) stmt(s *Stmt, d token.Pos) token.Pos {
	s.diverged = d
	switch s.Kind {
	case StmtDecl:
		if s.X == nil {
			u.set(s.Var, false, d)
		} else {
			u.assign(VarExpr(s.Var, s.Pos), s.X, d)
		}
	case StmtAssign:
		u.assign(s.X, s.Y, d)
	case StmtCall:
		for _, v := range s.Dst {
			u.set(v, varies(s.X), d)
		}
	case StmtBarrier:
		if d != token.NoPos && u.report && !s.reported {
			s.reported = true
			u.p.Problem(s.Pos, "a barrier that only some work-items may reach: at %s they may go different ways; "+
				"move it out, or let what the whole group shares decide, which memory and the work-item may not: "+
				"gpu.Uniform(it, x) is one value for all, it.Any(cond) whether it holds for one", u.p.Position(d))
		}
	case StmtBreak:
		u.jump(Escape{s.Target, false}, d)
	case StmtContinue:
		u.jump(Escape{s.Target, true}, d)
	case StmtReturn:
		u.jump(Escape{}, d)
	case StmtIf:
		inner := d
		if varies(s.X) {
			inner = s.X.Pos
		}
		u.list(s.Body, inner)
		u.list(s.Else, inner)
		d = u.after(d)
	case StmtBlock:
		u.list(s.Body, d)
		delete(u.escapes, Escape{s, false})
		d = u.after(d)
	case StmtLoop:
		d = u.loop(s, d)
	}
	s.Meets = d == token.NoPos
	return d
}

// jump notes a jump that is taken while the flow has diverged.
func (u *uniformity) jump(e Escape, d token.Pos) {
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
func (u *uniformity) loop(s *Stmt, d token.Pos) token.Pos {
	inner := d
	for range 2 {
		if s.X != nil && varies(s.X) {
			inner = s.X.Pos
		}
		u.list(s.Body, inner)
		delete(u.escapes, Escape{s, true})
		inner = u.after(inner)
		u.list(s.Post, inner)
	}
	delete(u.escapes, Escape{s, false})
	return u.after(d)
}

// varies tells whether e may differ between the work-items of a group.
func varies(e *Expr) bool {
	switch e.Op {
	case OpVar:
		return e.Var.Local || e.Var.varying || len(e.Var.fields) > 0
	case OpField:
		return fieldVaries(e.X, e.N)
	case OpIndex:
		if e.X.Type.Kind == KindSlice {
			return true
		}
	case OpDeref, OpAddr:
		return true
	case OpItem:
		return e.Name == "Global" || e.Name == "Local"
	case OpCall:
		if e.Fn.Effects || e.Fn.Memory {
			return true
		}
	}
	if e.Atomic() {
		return true
	}
	found := false
	e.Children(func(x *Expr) { found = found || varies(x) })
	return found
}

// fieldVaries tells whether field i of struct e may differ between the work-items of a group.
func fieldVaries(e *Expr, i int) bool {
	switch e.Op {
	case OpVar:
		return e.Var.Local || e.Var.varying || e.Var.fields[i]
	case OpMake:
		return e.Args[i] != nil && varies(e.Args[i])
	}
	return varies(e)
}

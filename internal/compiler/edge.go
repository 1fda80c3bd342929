package compiler

import (
	"go/token"
	"slices"
)

// Without barriers the cpu device may take the work-items of a kernel in any order, and several
// groups at once. Two things that many kernels have go over into its loops over work-items: a
// condition that keeps those beyond an edge out, and a loop in steps of the whole grid, which would
// take each work-item through all memory.

// edges takes them off a kernel.
type edges struct {
	k       *kernel
	sp      *splitter
	values  map[*variable]*expr // of variables declared before, which may change later
	ends    [3][]*expr          // Global(d) stays below these
	strides []int               // d of the loops in steps of GlobalSize(d), from the outer to the inner
}

// cut is list without them, as far as what comes before has no effect beside its variables.
func (g *edges) cut(list []*stmt) []*stmt {
	for i, s := range list {
		before, last := slices.Clip(list[:i]), i == len(list)-1
		rest := *s
		switch {
		case s.kind == stmtDecl && (s.x == nil || plain(s.x)):
			g.values[s.v] = s.x
			continue
		case s.kind == stmtBlock && last && !targeted(s):
			rest.body = g.cut(s.body)
			return append(before, &rest)
		case s.kind == stmtIf && last && len(s.els) == 0:
			if rest.x = g.take(s.x, token.LAND, token.LSS, token.GTR); rest.x == nil {
				rest.kind, rest.body = stmtBlock, g.cut(s.body)
			}
			return append(before, &rest)
		case s.kind == stmtIf && len(s.els) == 0 && len(s.body) == 1 && s.body[0].kind == stmtReturn:
			if rest.x = g.take(s.x, token.LOR, token.GEQ, token.LEQ); rest.x == nil {
				return append(before, g.cut(list[i+1:])...)
			}
			return append(append(before, &rest), list[i+1:]...)
		case s.kind == stmtLoop && last && g.stride(s):
			return append(before, &stmt{kind: stmtBlock, pos: s.pos, body: g.cut(s.body)})
		}
		return list
	}
	return list
}

// take is what remains of e, a chain of conditions, without those at its beginning that compare a
// Global with something shared: nil where nothing does. tok is the operator where Global comes
// first, swapped where it comes second.
func (g *edges) take(e *expr, chain, tok, swapped token.Token) *expr {
	if e.op == opBinary && e.tok == chain {
		x := g.take(e.x, chain, tok, swapped)
		if x == nil {
			return g.take(e.y, chain, tok, swapped)
		}
		rest := *e
		rest.x = x
		return &rest
	}
	x, y := compared(e, tok, swapped)
	if x = g.value(x); x != nil && x.op == opItem && x.name == "Global" {
		if end := g.shared(y); end != nil {
			g.ends[x.n] = append(g.ends[x.n], end)
			return nil
		}
	}
	return e
}

// compared is the operands of e, the other way round where its operator is swapped.
func compared(e *expr, tok, swapped token.Token) (x, y *expr) {
	switch {
	case e.op != opBinary:
	case e.tok == tok:
		return e.x, e.y
	case e.tok == swapped:
		return e.y, e.x
	}
	return nil, nil
}

// stride takes loop s if it runs from Global(d) in steps of GlobalSize(d), and one turn of it has
// nothing to do with the others.
func (g *edges) stride(s *stmt) bool {
	if s.x == nil || len(s.post) != 1 || aimed(s) || len(localsOf(g.k.body)) > 0 {
		return false
	}
	v, step := assigned(s.post[0]), s.post[0].y
	if v == nil || g.sp.assigns[v] != 1 || step.op != opBinary || step.tok != token.ADD ||
		step.x.op != opVar || step.x.v != v {
		return false
	}
	start, step := g.value(g.values[v]), g.value(step.y)
	x, end := compared(s.x, token.LSS, token.GTR)
	if start == nil || start.op != opItem || start.name != "Global" || step == nil || step.op != opItem ||
		step.name != "GlobalSize" || step.n != start.n || x == nil || x.op != opVar || x.v != v {
		return false
	}
	if end = g.shared(end); end == nil || len(g.ends[start.n]) > 0 || !g.alone(s.body, v, start.n) {
		return false
	}
	g.strides, g.ends[start.n] = append(g.strides, start.n), []*expr{end}
	return true
}

// alone tells whether a turn of a loop leaves the work-item's variables as they were, does not
// return, and knows its place in dimension d from v alone.
func (g *edges) alone(body []*stmt, v *variable, d int) bool {
	ok, own := true, map[*variable]bool{}
	walk(body, func(s *stmt) {
		if s.kind == stmtDecl {
			own[s.v] = true
		}
	})
	change := func(v *variable) { ok = ok && (v == nil || own[v]) }
	walk(body, func(s *stmt) {
		switch s.kind {
		case stmtReturn:
			ok = false
		case stmtAssign:
			change(rootVariable(s.x))
		}
		for _, v := range s.dst {
			change(v)
		}
		s.exprs(func(e *expr) {
			e.walk(func(e *expr) {
				switch {
				case e.op == opAddr:
					change(rootVariable(e.x))
				case e.op != opVar || e.v != v:
					ok = ok && !g.knows(e, d)
				}
			})
		})
	})
	return ok
}

// knows tells whether e is the place of the work-item in dimension d, or a variable made of it.
func (g *edges) knows(e *expr, d int) bool {
	found := e.op == opItem && e.n == d && (e.name == "Global" || e.name == "Local")
	if e.op == opVar {
		g.values[e.v].walk(func(e *expr) { found = found || g.knows(e, d) })
	}
	return found
}

// value is e, or what a variable stands for that never changes.
func (g *edges) value(e *expr) *expr {
	for e != nil && e.op == opVar && g.values[e.v] != nil && g.sp.assigns[e.v] == 0 {
		e = g.values[e.v]
	}
	return e
}

// shared is integer e in terms of what all work-items of a launch have: nil if it is not the same
// for them.
func (g *edges) shared(e *expr) *expr {
	switch e = g.value(e); e.op {
	case opConst:
		return e
	case opVar:
		if slices.Contains(g.k.params, e.v) && g.sp.assigns[e.v] == 0 {
			return e
		}
	case opItem:
		if e.name == "GlobalSize" || e.name == "LocalSize" || e.name == "Groups" {
			return e
		}
	case opField, opLen, opConvert, opBinary:
		same := *e
		ok := e.typ.integer() && (e.op != opConvert || e.x.typ.integer())
		for _, x := range []**expr{&same.x, &same.y} {
			if *x != nil {
				*x = g.shared(*x)
				ok = ok && *x != nil
			}
		}
		if ok {
			return &same
		}
	}
	return nil
}

// plain tells whether e cannot panic and has no effect.
func plain(e *expr) bool {
	ok := true
	e.walk(func(e *expr) {
		switch e.op {
		case opConst, opZero, opVar, opBinary, opUnary, opConvert, opField, opLen, opItem:
		default:
			ok = false
		}
	})
	return ok
}

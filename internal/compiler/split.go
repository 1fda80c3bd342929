package compiler

import (
	"go/token"
	"slices"
)

// On the cpu device a kernel with barriers runs as several loops over the work-items of a group,
// one for each stretch of code without a barrier (Stratton, Stone and Hwu, MCUDA, 2008). What holds
// a barrier, and what jumps past one, is lifted: it runs once for the group, which is right as its
// conditions are uniform. A variable that several loops use is one element for each work-item,
// unless it is computed anew in each, or all its assignments are lifted.

// A splitter decides how a kernel is split.
type splitter struct {
	l       *lowerer
	k       *kernel
	assigns map[*variable]int   // assignments beside the declaration
	decls   map[*variable]*stmt // of variables
	loop    int                 // number of the present loop over work-items
	again   map[*variable]*expr // variables that each loop computes anew
}

func (l *lowerer) split(k *kernel) *splitter {
	sp := &splitter{
		l: l, k: k, assigns: map[*variable]int{}, decls: map[*variable]*stmt{},
		again: map[*variable]*expr{},
	}
	walk(k.body, func(s *stmt) {
		switch s.kind {
		case stmtDecl, stmtBarrier:
			sp.decls[s.v] = s
		case stmtAssign:
			if v := rootVariable(s.x); v != nil {
				sp.assigns[v]++
			}
		case stmtCall:
			for _, v := range s.dst {
				sp.assigns[v]++
			}
		}
		s.exprs(func(e *expr) {
			e.walk(func(e *expr) {
				if e.op == opAddr {
					if v := rootVariable(e.x); v != nil {
						sp.assigns[v]++
					}
				}
			})
		})
	})
	if !k.barriers {
		return sp
	}
	sp.lift(k.body)
	sp.promote(k.body)
	for changed := true; changed; { // a variable of the group depends on such alone
		changed = false
		walk(k.body, func(s *stmt) {
			if v := assigned(s); v != nil && s.lifted && !sp.groupValue(s) {
				changed = true
				walk(k.body, func(s *stmt) {
					if assigned(s) == v {
						s.lifted = false
					}
				})
			}
		})
	}
	sp.number(k.body, []escape{{}})
	sp.recompute()
	return sp
}

// assigned is the variable that s declares or assigns as a whole.
func assigned(s *stmt) *variable {
	switch {
	case s.kind == stmtDecl:
		return s.v
	case s.kind == stmtAssign && s.x.op == opVar:
		return s.x.v
	}
	return nil
}

// lift marks the statements that hold a barrier, or a jump of the whole group to the end of one
// that does or of the kernel. It tells whether there are any.
func (sp *splitter) lift(list []*stmt) bool {
	found := false
	for _, s := range list {
		inner := sp.lift(s.body)
		inner = sp.lift(s.els) || inner
		inner = sp.lift(s.post) || inner
		switch s.kind {
		case stmtBarrier, stmtReturn, stmtBreak, stmtContinue:
			s.lifted = s.kind == stmtBarrier || s.diverged == token.NoPos
		default:
			s.lifted = inner && leaves(s)
			if inner && !s.lifted { // jumps inside of what a work-item runs by itself are its own
				walk(slices.Concat(s.body, s.els, s.post), func(x *stmt) { x.lifted = false })
			}
		}
		found = found || s.lifted
	}
	return found
}

// leaves tells whether s holds a barrier, or a lifted jump out of it.
func leaves(s *stmt) bool {
	out := false
	inside := []*stmt{s}
	walk(slices.Concat(s.body, s.els, s.post), func(x *stmt) { inside = append(inside, x) })
	for _, x := range inside {
		switch x.kind {
		case stmtBarrier:
			return true
		case stmtReturn:
			out = out || x.lifted
		case stmtBreak, stmtContinue:
			out = out || x.lifted && !slices.Contains(inside, x.target)
		}
	}
	return out
}

// promote lifts the declarations of uniform variables whose only assignments are the posts of
// lifted loops, and these.
func (sp *splitter) promote(list []*stmt) {
	posts := map[*variable]int{}
	walk(list, func(s *stmt) {
		if s.kind == stmtLoop && s.lifted {
			for _, p := range s.post {
				if v := assigned(p); v != nil {
					posts[v]++
				}
			}
		}
	})
	promoted := func(v *variable) bool {
		return v != nil && !v.varying && !v.local && v.typ.scalar() && sp.assigns[v] == posts[v]
	}
	var visit func(list []*stmt)
	visit = func(list []*stmt) {
		for _, s := range list {
			if v := assigned(s); promoted(v) {
				s.lifted = true
			}
			if s.lifted {
				visit(s.body)
				visit(s.els)
				visit(s.post)
			}
		}
	}
	visit(list)
}

// groupValue tells whether the value that s assigns is known to the group as a whole.
func (sp *splitter) groupValue(s *stmt) bool {
	e := s.y
	if s.kind == stmtDecl {
		e = s.x
	}
	ok := true
	e.walk(func(e *expr) {
		switch e.op {
		case opVar:
			ok = ok && e.v.table == nil && !e.v.local && (slices.Contains(sp.k.params, e.v) &&
				sp.assigns[e.v] == 0 || sp.isGroup(e.v))
		case opIndex, opDeref, opCall, opAddr:
			ok = false
		}
	})
	return ok
}

// isGroup tells whether v is one variable for the group.
func (sp *splitter) isGroup(v *variable) bool { d := sp.decls[v]; return d != nil && d.lifted }

// number notes which loops over work-items use each variable. tail is the jumps that lead to what
// comes behind the end of the list.
func (sp *splitter) number(list []*stmt, tail []escape) {
	for i := 0; i < len(list); i++ {
		s := list[i]
		rest := tail
		if i < len(list)-1 {
			rest = nil
		}
		if !s.lifted {
			if i == 0 || list[i-1].lifted {
				sp.loop++
			}
			sp.use(list[i:i+1], sp.loop)
			sp.checkJumps(s, list[i:], tail)
			continue
		}
		if s.kind == stmtBarrier { // each work-item computes its part, in a loop of its own
			sp.loop++
			s.exprs(func(e *expr) { sp.useExpr(e, sp.loop) })
			continue
		}
		s.exprs(func(e *expr) { sp.useExpr(e, -1) })
		switch s.kind {
		case stmtIf:
			sp.number(s.body, rest)
			sp.number(s.els, rest)
		case stmtBlock:
			sp.number(s.body, append(slices.Clip(rest), escape{s, false}))
		case stmtLoop:
			sp.number(s.body, []escape{{s, true}})
			sp.number(s.post, nil)
		}
	}
}

// checkJumps refuses a jump of some work-items past statements that run for the whole group.
func (sp *splitter) checkJumps(s *stmt, rest []*stmt, tail []escape) {
	last := !slices.ContainsFunc(rest, func(s *stmt) bool { return s.lifted })
	walk([]*stmt{s}, func(x *stmt) {
		e := escape{x.target, x.kind == stmtContinue}
		jumps := x.kind == stmtReturn || (x.kind == stmtBreak || x.kind == stmtContinue) && x.target.lifted
		if jumps && !(last && slices.Contains(tail, e)) {
			sp.l.problem(x.pos, "some work-items jump past code that the group runs as a whole; "+
				"put that code under the opposite condition")
		}
	})
}

func (sp *splitter) use(list []*stmt, loop int) {
	variables(list, func(v *variable) { sp.touch(v, loop) })
}

func (sp *splitter) useExpr(e *expr, loop int) { e.variables(func(v *variable) { sp.touch(v, loop) }) }

func (sp *splitter) touch(v *variable, loop int) {
	switch {
	case v.local || v.table != nil || slices.Contains(sp.k.params, v) || sp.isGroup(v):
	case v.region == 0:
		v.region = loop
	case v.region != loop:
		v.region = -1
	}
	v.array = v.region == -1
}

// recompute finds the variables that are cheaper computed in each loop than kept.
func (sp *splitter) recompute() {
	var cheap func(e *expr, depth int) bool
	cheap = func(e *expr, depth int) bool {
		ok := depth < 4
		switch e.op {
		case opSlice: // of local memory
			return e.x.op == opVar && e.x.v.local && (e.y == nil || e.y.op == opConst) && e.z.op == opConst
		case opConst, opItem, opBinary, opConvert, opLen, opField:
			ok = ok && (e.op != opBinary || e.tok != token.QUO && e.tok != token.REM)
		case opVar:
			ok = ok && (slices.Contains(sp.k.params, e.v) && sp.assigns[e.v] == 0 || sp.again[e.v] != nil)
		default:
			ok = false
		}
		e.children(func(x *expr) { ok = ok && cheap(x, depth+1) })
		return ok
	}
	for changed := true; changed; {
		changed = false
		walk(sp.k.body, func(s *stmt) {
			if s.kind == stmtDecl && s.v.array && s.x != nil && sp.assigns[s.v] == 0 && sp.again[s.v] == nil &&
				(s.v.typ.scalar() || s.x.op == opSlice) && cheap(s.x, 0) {
				sp.again[s.v], s.v.array, changed = s.x, false, true
			}
		})
	}
}

// stretches calls items for the statements of a list that each work-item runs by itself, as many as
// stand together, and lifted for those that run for the group.
func stretches(list []*stmt, items func([]*stmt), lifted func(*stmt)) {
	for i := 0; i < len(list); i++ {
		first := i
		for i < len(list) && !list[i].lifted {
			i++
		}
		if i > first {
			items(list[first:i])
		}
		if i < len(list) {
			lifted(list[i])
		}
	}
}

// recomputed is the declarations of variables of a kernel that a loop over work-items computes anew
// for list, in their order.
func recomputed(body, list []*stmt, sp *splitter) (decls []*stmt) {
	if sp == nil || len(sp.again) == 0 {
		return nil
	}
	need := readsOf(list, sp.again)
	var order []*stmt
	walk(body, func(s *stmt) {
		if s.kind == stmtDecl && sp.again[s.v] != nil {
			order = append(order, s)
		}
	})
	for _, s := range slices.Backward(order) {
		if need[s.v] {
			sp.again[s.v].walk(func(e *expr) {
				if e.op == opVar {
					need[e.v] = true
				}
			})
		}
	}
	for _, s := range order {
		if need[s.v] {
			decls = append(decls, s)
		}
	}
	return decls
}

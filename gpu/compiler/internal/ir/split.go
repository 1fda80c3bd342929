package ir

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
	p     *Program
	k     *Kernel
	decls map[*Variable]*Stmt // of variables
	loop  int                 // number of the present loop over work-items
}

// Split decides how k is split, and marks its statements and variables with it.
func (p *Program) Split(k *Kernel) {
	countAssigns(k)
	if !k.Barriers {
		return
	}
	sp := &splitter{p: p, k: k, decls: map[*Variable]*Stmt{}}
	Walk(k.Body, func(s *Stmt) {
		if s.Kind == StmtDecl || s.Kind == StmtBarrier {
			sp.decls[s.Var] = s
		}
	})
	sp.lift(k.Body)
	sp.promote(k.Body)
	for changed := true; changed; { // a variable of the group depends on such alone
		changed = false
		Walk(k.Body, func(s *Stmt) {
			if v := Assigned(s); v != nil && s.Lifted && !sp.groupValue(s) {
				changed = true
				Walk(k.Body, func(s *Stmt) {
					if Assigned(s) == v {
						s.Lifted = false
					}
				})
			}
		})
	}
	sp.number(k.Body, []Escape{{}})
	sp.recompute()
}

// countAssigns counts how often k assigns its variables, and forgets what another split found.
func countAssigns(k *Kernel) {
	Walk(k.Body, func(s *Stmt) {
		if (s.Kind == StmtDecl || s.Kind == StmtBarrier) && s.Var != nil {
			s.Var.assigns, s.Var.loop, s.Var.Array, s.Var.Again = 0, 0, false, nil
		}
	})
	Walk(k.Body, func(s *Stmt) {
		if s.Kind == StmtAssign {
			if v := RootVariable(s.X); v != nil {
				v.assigns++
			}
		}
		for _, v := range s.Dst {
			v.assigns++
		}
	})
	Addressed(k.Body, func(v *Variable) { v.assigns++ })
}

// Assigned is the variable that s declares or assigns as a whole.
func Assigned(s *Stmt) *Variable {
	switch {
	case s.Kind == StmtDecl:
		return s.Var
	case s.Kind == StmtAssign && s.X.Op == OpVar:
		return s.X.Var
	}
	return nil
}

// lift marks the statements that hold a barrier, or a jump of the whole group to the end of one
// that does or of the kernel. It tells whether there are any.
func (sp *splitter) lift(list []*Stmt) bool {
	found := false
	for _, s := range list {
		inner := sp.lift(s.Body)
		inner = sp.lift(s.Else) || inner
		inner = sp.lift(s.Post) || inner
		switch s.Kind {
		case StmtBarrier, StmtReturn, StmtBreak, StmtContinue:
			s.Lifted = s.Kind == StmtBarrier || s.diverged == token.NoPos
		default:
			s.Lifted = inner && leaves(s)
			if inner && !s.Lifted { // jumps inside of what a work-item runs by itself are its own
				Walk(slices.Concat(s.Body, s.Else, s.Post), func(x *Stmt) { x.Lifted = false })
			}
		}
		found = found || s.Lifted
	}
	return found
}

// leaves tells whether s holds a barrier, or a lifted jump out of it.
func leaves(s *Stmt) bool {
	out, inside := false, Inside(s)
	for _, x := range inside {
		switch x.Kind {
		case StmtBarrier:
			return true
		case StmtReturn:
			out = out || x.Lifted
		case StmtBreak, StmtContinue:
			out = out || x.Lifted && !slices.Contains(inside, x.Target)
		}
	}
	return out
}

// promote lifts the declarations of uniform variables whose only assignments are the posts of
// lifted loops, and these.
func (sp *splitter) promote(list []*Stmt) {
	posts := map[*Variable]int{}
	Walk(list, func(s *Stmt) {
		if s.Kind == StmtLoop && s.Lifted {
			for _, p := range s.Post {
				if v := Assigned(p); v != nil {
					posts[v]++
				}
			}
		}
	})
	promoted := func(v *Variable) bool {
		return v != nil && !v.varying && !v.Local && v.Type.Scalar() && v.assigns == posts[v]
	}
	var visit func(list []*Stmt)
	visit = func(list []*Stmt) {
		for _, s := range list {
			if v := Assigned(s); promoted(v) {
				s.Lifted = true
			}
			if s.Lifted {
				visit(s.Body)
				visit(s.Else)
				visit(s.Post)
			}
		}
	}
	visit(list)
}

// groupValue tells whether the value that s assigns is known to the group as a whole.
func (sp *splitter) groupValue(s *Stmt) bool {
	e := s.Y
	if s.Kind == StmtDecl {
		e = s.X
	}
	return !e.Any(func(e *Expr) bool {
		switch e.Op {
		case OpVar:
			param := slices.Contains(sp.k.Params, e.Var) && e.Var.assigns == 0
			return e.Var.Table != nil || e.Var.Local || !param && !sp.isGroup(e.Var)
		case OpIndex, OpDeref, OpCall, OpAddr:
			return true
		}
		return false
	})
}

// isGroup tells whether v is one variable for the group.
func (sp *splitter) isGroup(v *Variable) bool { d := sp.decls[v]; return d != nil && d.Lifted }

// number notes which loops over work-items use each variable. tail is the jumps that lead to what
// comes behind the end of the list.
func (sp *splitter) number(list []*Stmt, tail []Escape) {
	for i := 0; i < len(list); i++ {
		s := list[i]
		rest := tail
		if i < len(list)-1 {
			rest = nil
		}
		if !s.Lifted {
			if i == 0 || list[i-1].Lifted {
				sp.loop++
			}
			Variables(list[i:i+1], func(v *Variable) { sp.touch(v, sp.loop) })
			sp.checkJumps(s, list[i:], tail)
			continue
		}
		if s.Kind == StmtBarrier { // each work-item computes its part, in a loop of its own
			sp.loop++
			s.Exprs(func(e *Expr) { sp.useExpr(e, sp.loop) })
			continue
		}
		s.Exprs(func(e *Expr) { sp.useExpr(e, -1) })
		switch s.Kind {
		case StmtIf:
			sp.number(s.Body, rest)
			sp.number(s.Else, rest)
		case StmtBlock:
			sp.number(s.Body, append(slices.Clip(rest), Escape{s, false}))
		case StmtLoop:
			sp.number(s.Body, []Escape{{s, true}})
			sp.number(s.Post, nil)
		}
	}
}

// checkJumps refuses a jump of some work-items past statements that run for the whole group.
func (sp *splitter) checkJumps(s *Stmt, rest []*Stmt, tail []Escape) {
	last := !slices.ContainsFunc(rest, func(s *Stmt) bool { return s.Lifted })
	Walk([]*Stmt{s}, func(x *Stmt) {
		e := Escape{x.Target, x.Kind == StmtContinue}
		jumps := x.Kind == StmtReturn || (x.Kind == StmtBreak || x.Kind == StmtContinue) && x.Target.Lifted
		if jumps && !(last && slices.Contains(tail, e)) {
			sp.p.Problem(x.Pos, "some work-items jump past code that the group runs as a whole; "+
				"put that code under the opposite condition")
		}
	})
}

func (sp *splitter) useExpr(e *Expr, loop int) { e.Variables(func(v *Variable) { sp.touch(v, loop) }) }

func (sp *splitter) touch(v *Variable, loop int) {
	switch {
	case v.Local || v.Table != nil || slices.Contains(sp.k.Params, v) || sp.isGroup(v):
	case v.loop == 0:
		v.loop = loop
	case v.loop != loop:
		v.loop = -1
	}
	v.Array = v.loop == -1
}

// recompute finds the variables that are cheaper computed in each loop than kept.
func (sp *splitter) recompute() {
	var cheap func(e *Expr, depth int) bool
	cheap = func(e *Expr, depth int) bool {
		ok := depth < 4
		switch e.Op {
		case OpSlice: // of local memory
			return e.X.Op == OpVar && e.X.Var.Local && (e.Y == nil || e.Y.Op == OpConst) && e.Z.Op == OpConst
		case OpConst, OpItem, OpBinary, OpConvert, OpLen, OpField:
			ok = ok && (e.Op != OpBinary || e.Token != token.QUO && e.Token != token.REM)
		case OpVar:
			ok = ok && (slices.Contains(sp.k.Params, e.Var) && e.Var.assigns == 0 || e.Var.Again != nil)
		default:
			ok = false
		}
		e.Children(func(x *Expr) { ok = ok && cheap(x, depth+1) })
		return ok
	}
	for changed := true; changed; {
		changed = false
		Walk(sp.k.Body, func(s *Stmt) {
			if s.Kind == StmtDecl && s.Var.Array && s.X != nil && s.Var.assigns == 0 &&
				(s.Var.Type.Scalar() || s.X.Op == OpSlice) && cheap(s.X, 0) {
				s.Var.Again, s.Var.Array, changed = s.X, false, true
			}
		})
	}
}

// Stretches calls items for the statements of a list that each work-item runs by itself, as many as
// stand together, and lifted for those that run for the group.
func Stretches(list []*Stmt, items func([]*Stmt), lifted func(*Stmt)) {
	for i := 0; i < len(list); i++ {
		first := i
		for i < len(list) && !list[i].Lifted {
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

// Recomputed is the declarations of variables of k that a loop over work-items computes anew for
// list, in their order.
func (k *Kernel) Recomputed(list []*Stmt) (decls []*Stmt) {
	need := map[*Variable]bool{}
	Walk(list, func(s *Stmt) {
		if s.Kind != StmtDecl || s.Var.Again == nil {
			s.Exprs(func(e *Expr) { e.Variables(func(v *Variable) { need[v] = true }) })
		}
	})
	var order []*Stmt
	Walk(k.Body, func(s *Stmt) {
		if s.Kind == StmtDecl && s.Var.Again != nil {
			order = append(order, s)
		}
	})
	for _, s := range slices.Backward(order) {
		if need[s.Var] {
			s.Var.Again.Variables(func(v *Variable) { need[v] = true })
			decls = append(decls, s)
		}
	}
	slices.Reverse(decls)
	return decls
}

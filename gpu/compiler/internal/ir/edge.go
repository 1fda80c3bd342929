package ir

import (
	"go/constant"
	"go/token"
	"slices"
)

// Without barriers the cpu device may take the work-items of a kernel in any order, and several
// groups at once. Two things that many kernels have go over into its loops over work-items: a
// condition that keeps those beyond an edge out, and a loop in steps of the whole grid, which would
// take each work-item through all memory. So it is for a stretch between barriers, whose loop may
// also go in steps of the group.

// Edges are what was taken off a kernel, or off a stretch of one.
type Edges struct {
	kernel  *Kernel
	stretch bool
	values  map[*Variable]*Expr // of variables declared before, which may change later
	Ends    [3][]*Expr          // Global(d) stays below these
	Strides []int               // d of the loops in steps of GlobalSize(d), from the outer to the inner
	// Local(d) goes on to here, by a loop in steps of LocalSize(d): from the loop over dimension 2,
	// which is around the others, to that over 0
	Wide [3]*Expr
}

// CutBody is the body of k without its edges, which a kernel with barriers keeps.
func (k *Kernel) CutBody() ([]*Stmt, *Edges) {
	g := &Edges{kernel: k, values: map[*Variable]*Expr{}}
	if k.Barriers {
		return k.Body, g
	}
	return g.cut(k.Body), g
}

// CutStretch is a stretch of k without its edges. One that shares variables with others keeps them:
// these may need what a loop leaves.
func (k *Kernel) CutStretch(list []*Stmt) ([]*Stmt, *Edges) {
	g := &Edges{kernel: k, stretch: true, values: map[*Variable]*Expr{}}
	for _, s := range k.Recomputed(list) {
		g.values[s.Var] = s.X
	}
	shares := false
	Variables(list, func(v *Variable) { shares = shares || v.Array })
	if shares {
		return list, g
	}
	return g.cut(list), g
}

// cut is list without edges, as far as what comes before has no effect beside its variables.
func (g *Edges) cut(list []*Stmt) []*Stmt {
	for i, s := range list {
		before, last := slices.Clip(list[:i]), i == len(list)-1
		rest := *s
		switch {
		case s.Kind == StmtDecl && (s.X == nil || plain(s.X)):
			g.values[s.Var] = s.X
			continue
		case s.Kind == StmtBlock && last && !Targeted(s):
			rest.Body = g.cut(s.Body)
			return append(before, &rest)
		case s.Kind == StmtIf && last && len(s.Else) == 0:
			if rest.X = g.take(s.X, token.LAND, token.LSS, token.GTR); rest.X == nil {
				rest.Kind, rest.Body = StmtBlock, g.cut(s.Body)
			}
			return append(before, &rest)
		case s.Kind == StmtIf && len(s.Else) == 0 && len(s.Body) == 1 && s.Body[0].Kind == StmtReturn:
			if rest.X = g.take(s.X, token.LOR, token.GEQ, token.LEQ); rest.X == nil {
				return append(before, g.cut(list[i+1:])...)
			}
			return append(append(before, &rest), list[i+1:]...)
		case s.Kind == StmtLoop && last && g.stride(s):
			return append(before, &Stmt{Kind: StmtBlock, Pos: s.Pos, Body: g.cut(s.Body)})
		}
		return list
	}
	return list
}

// take is what remains of e, a chain of conditions, without those at its beginning that compare a
// Global with something shared: nil where nothing does. tok is the operator where Global comes
// first, swapped where it comes second.
func (g *Edges) take(e *Expr, chain, tok, swapped token.Token) *Expr {
	if e.Op == OpBinary && e.Token == chain {
		x := g.take(e.X, chain, tok, swapped)
		if x == nil {
			return g.take(e.Y, chain, tok, swapped)
		}
		rest := *e
		rest.X = x
		return &rest
	}
	x, y := compared(e, tok, swapped)
	if x = g.value(x); x != nil && x.Op == OpItem && x.Name == "Global" {
		if end := g.shared(y); end != nil {
			g.Ends[x.N] = append(g.Ends[x.N], end)
			return nil
		}
	}
	return e
}

// compared is the operands of e, the other way round where its operator is swapped.
func compared(e *Expr, tok, swapped token.Token) (x, y *Expr) {
	switch {
	case e.Op != OpBinary:
	case e.Token == tok:
		return e.X, e.Y
	case e.Token == swapped:
		return e.Y, e.X
	}
	return nil, nil
}

// stride takes loop s if it runs from Global(d) in steps of GlobalSize(d), or from Local(d) in
// those of LocalSize(d), and its turns share no variable. They may share memory: so each work-item
// keeps their order, in loops within each other, too.
func (g *Edges) stride(s *Stmt) bool {
	if s.X == nil || len(s.Post) != 1 || Aimed(s) || !g.stretch && len(LocalsOf(g.kernel.Body)) > 0 {
		return false
	}
	v, step := Assigned(s.Post[0]), s.Post[0].Y
	if v == nil || v.assigns != 1 || step.Op != OpBinary || step.Token != token.ADD ||
		step.X.Op != OpVar || step.X.Var != v {
		return false
	}
	start, step := g.value(g.values[v]), g.value(step.Y)
	x, end := compared(s.X, token.LSS, token.GTR)
	if start == nil || start.Op != OpItem || x == nil || x.Op != OpVar || x.Var != v {
		return false
	}
	d, global := start.N, start.Name == "Global" && isItem(step, "GlobalSize", start.N)
	if !global && !(g.stretch && start.Name == "Local" && g.groupSize(step, d)) {
		return false
	}
	wide := slices.IndexFunc(g.Wide[:], func(end *Expr) bool { return end != nil }) // of a loop around s
	if wide >= 0 && (global || d >= wide) {
		return false
	}
	if end = g.shared(end); end == nil || len(g.Ends[d]) > 0 || !g.alone(s.Body, v, d) {
		return false
	}
	if !global {
		g.Wide[d] = end
		return true
	}
	g.Strides, g.Ends[d] = append(g.Strides, d), []*Expr{end}
	return true
}

func isItem(e *Expr, name string, d int) bool {
	return e != nil && e.Op == OpItem && e.Name == name && e.N == d
}

// RowsAtOnce is how many rows of strips are taken at once: AVX2 has registers for the sums of so
// many.
const RowsAtOnce = 4

// groupSize tells whether e is LocalSize(d), and that is known not to be so small that rows at once
// would have several turns of a work-item. Strips, which are no longer than a known size, never do.
func (g *Edges) groupSize(e *Expr, d int) bool {
	size := g.kernel.Group[d]
	if size < RowsAtOnce {
		return false
	}
	if e != nil && e.Op == OpConst && e.Type.Integer() {
		n, exact := constant.Int64Val(constant.ToInt(e.Value))
		return exact && n == int64(size)
	}
	return isItem(e, "LocalSize", d)
}

// alone tells whether a turn of a loop leaves the work-item's variables as they were, does not
// return, and knows its place in dimension d from v alone.
func (g *Edges) alone(body []*Stmt, v *Variable, d int) bool {
	ok, own := true, DeclaredIn(body)
	change := func(v *Variable) { ok = ok && (v == nil || v.Local || own[v]) }
	Walk(body, func(s *Stmt) {
		switch s.Kind {
		case StmtReturn:
			ok = false
		case StmtAssign:
			change(RootVariable(s.X))
		}
		for _, v := range s.Dst {
			change(v)
		}
		s.WalkExprs(func(e *Expr) {
			change(e.Addressed())
			ok = ok && (e.Op == OpVar && e.Var == v || !g.knows(e, d))
		})
	})
	return ok
}

// knows tells whether e is the place of the work-item in dimension d, or a variable made of it.
func (g *Edges) knows(e *Expr, d int) bool {
	if e.Op == OpVar {
		return g.values[e.Var].Any(func(e *Expr) bool { return g.knows(e, d) })
	}
	return e.Op == OpItem && e.N == d && (e.Name == "Global" || e.Name == "Local")
}

// value is e, or what a variable stands for that never changes.
func (g *Edges) value(e *Expr) *Expr {
	for e != nil && e.Op == OpVar && g.values[e.Var] != nil && e.Var.assigns == 0 {
		e = g.values[e.Var]
	}
	return e
}

// shared is integer e in terms of what all work-items of a launch have: nil if it is not the same
// for them.
func (g *Edges) shared(e *Expr) *Expr {
	switch e = g.value(e); e.Op {
	case OpConst:
		return e
	case OpVar:
		if slices.Contains(g.kernel.Params, e.Var) && e.Var.assigns == 0 {
			return e
		}
	case OpItem:
		if e.Name == "GlobalSize" || e.Name == "LocalSize" || e.Name == "Groups" {
			return e
		}
	case OpField, OpLen, OpConvert, OpBinary:
		same := *e
		ok := e.Type.Integer() && (e.Op != OpConvert || e.X.Type.Integer())
		for _, x := range []**Expr{&same.X, &same.Y} {
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
func plain(e *Expr) bool {
	return !e.Any(func(e *Expr) bool {
		switch e.Op {
		case OpConst, OpZero, OpVar, OpBinary, OpUnary, OpConvert, OpField, OpLen, OpItem:
			return false
		}
		return true
	})
}

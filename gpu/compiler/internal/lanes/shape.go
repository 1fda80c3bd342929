package lanes

import (
	"go/constant"
	"go/token"
	"slices"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// A shape is how a value differs between the lanes of a strip.
type shape uint8

const (
	uniform shape = iota // it does not
	linear               // an integer: that of the first lane, plus the number of the lane
	varying
)

// A laneShaper finds the shapes of variables, and where lanes part: a lane that waits behind a jump
// or a condition must keep the variables that it will read.
type laneShaper struct {
	vars     map[*ir.Variable]shape
	keeps    map[*ir.Stmt]bool // assignments that must leave other lanes' values
	parts    map[*ir.Stmt]bool // jumps that some lanes of the strip take and others do not
	around   []laneContext
	declared map[*ir.Variable][]laneContext
	values   map[*ir.Variable][]*ir.Expr // all that variables are ever set to; nil for zero
	pending  map[ir.Escape]bool
	mentions map[*ir.Variable]int
	changed  bool
}

// A laneContext is a statement around the present one.
type laneContext struct {
	s       *ir.Stmt
	varying bool // an if of which some lanes run a part
}

func shapesOf(body []*ir.Stmt) *laneShaper {
	a := &laneShaper{
		vars: map[*ir.Variable]shape{}, mentions: map[*ir.Variable]int{}, declared: map[*ir.Variable][]laneContext{},
	}
	count(body, a.mentions)
	a.values = valuesOf(body)
	for a.changed = true; a.changed; {
		a.changed = false
		a.keeps, a.parts = map[*ir.Stmt]bool{}, map[*ir.Stmt]bool{}
		a.pending = map[ir.Escape]bool{}
		a.list(body)
	}
	return a
}

// count adds how often statements mention variables beside their declarations.
func count(list []*ir.Stmt, m map[*ir.Variable]int) {
	ir.Walk(list, func(s *ir.Stmt) {
		s.Exprs(func(e *ir.Expr) { e.Variables(func(v *ir.Variable) { m[v]++ }) })
	})
}

func (a *laneShaper) list(list []*ir.Stmt) {
	for _, s := range list {
		a.stmt(s)
	}
}

// within runs f inside of s.
func (a *laneShaper) within(s *ir.Stmt, varying bool, f func()) {
	a.around = append(slices.Clip(a.around), laneContext{s, varying})
	f()
	a.around = a.around[:len(a.around)-1]
}

func (a *laneShaper) stmt(s *ir.Stmt) {
	switch s.Kind {
	case ir.StmtDecl, ir.StmtBarrier:
		if s.Var == nil {
			return
		}
		a.declared[s.Var] = a.around
		if s.Kind == ir.StmtDecl && s.X != nil {
			a.set(s.Var, a.shape(s.X))
		} else {
			a.set(s.Var, uniform)
		}
	case ir.StmtAssign:
		a.assign(s)
	case ir.StmtIf:
		parts := a.shape(s.X) != uniform
		a.within(s, parts, func() {
			a.list(s.Body)
			a.list(s.Else)
		})
	case ir.StmtBlock:
		a.within(s, false, func() { a.list(s.Body) })
		a.arrive(s, false)
	case ir.StmtLoop:
		a.loop(s)
	case ir.StmtBreak, ir.StmtContinue, ir.StmtReturn:
		a.jump(s)
	}
}

// escapeOf is where a jump leads: out of the stretch between barriers if its target runs for the
// whole group.
func (a *laneShaper) escapeOf(s *ir.Stmt) ir.Escape {
	if s.Kind == ir.StmtReturn || s.Target.Lifted {
		return ir.Escape{}
	}
	return ir.Escape{Target: s.Target, Next: s.Kind == ir.StmtContinue}
}

func (a *laneShaper) arrive(s *ir.Stmt, next bool) {
	delete(a.pending, ir.Escape{Target: s, Next: next})
}

// set adds what v may be.
func (a *laneShaper) set(v *ir.Variable, s shape) {
	if !v.Type.Scalar() {
		s = notLinear(s) // its parts may differ
	}
	old, known := a.vars[v]
	if known && s != old {
		s = varying // no value stands for numbers that are the same and ones that are not
	}
	if !known || s != old {
		a.vars[v], a.changed = s, true
	}
}

func (a *laneShaper) assign(s *ir.Stmt) {
	v := ir.RootVariable(s.X)
	if v == nil || v.Local || v.Table != nil {
		return
	}
	sh := a.shape(s.Y)
	if s.X.Op != ir.OpVar && a.indexShape(s.X) != uniform {
		sh = varying
	}
	if a.waits(v) {
		a.keeps[s] = true
		sh = varying
	}
	a.set(v, sh)
}

// indexShape is how the indices in place e differ.
func (a *laneShaper) indexShape(e *ir.Expr) shape {
	for {
		switch e.Op {
		case ir.OpIndex:
			if a.shape(e.Y) != uniform {
				return varying
			}
			e = e.X
		case ir.OpField:
			e = e.X
		default:
			return uniform
		}
	}
}

// waits tells whether a lane that does not come here may read v later.
func (a *laneShaper) waits(v *ir.Variable) bool {
	d := a.declared[v]
	n := 0
	for n < len(d) && n < len(a.around) && d[n].s == a.around[n].s {
		n++
	}
	for _, c := range a.around[n:] {
		if c.varying {
			return true
		}
	}
	for e := range a.pending {
		if e.Target == nil { // the end of the stretch, which is that of the kernel where v is no array
			if v.Array {
				return true
			}
			continue
		}
		at := slices.IndexFunc(a.around, func(c laneContext) bool { return c.s == e.Target })
		switch {
		case at < n: // v is declared inside of what those lanes have left
		case e.Next || !a.dead(v, a.around[n:at+1]):
			return true
		}
	}
	return false
}

// dead tells whether nobody reads v behind the last of the statements around, the first of which
// stands beside its declaration.
func (a *laneShaper) dead(v *ir.Variable, around []laneContext) bool {
	last := len(around) - 1
	for _, c := range around[:last] {
		if c.s.Kind == ir.StmtLoop {
			return false
		}
	}
	if v.Array {
		return false
	}
	inside := map[*ir.Variable]int{}
	count([]*ir.Stmt{around[last].s}, inside)
	return inside[v] == a.mentions[v]
}

func (a *laneShaper) loop(s *ir.Stmt) {
	for range 2 {
		if s.X != nil && a.shape(s.X) != uniform {
			a.pending[ir.Escape{Target: s}] = true
		}
		a.within(s, false, func() {
			a.list(s.Body)
			a.arrive(s, true)
			a.list(s.Post)
		})
	}
	a.arrive(s, false)
}

// jump notes a jump that some lanes take while others are behind or go on.
func (a *laneShaper) jump(s *ir.Stmt) {
	e := a.escapeOf(s)
	from := 0
	if e.Target != nil {
		from = slices.IndexFunc(a.around, func(c laneContext) bool { return c.s == e.Target }) + 1
	}
	parts := false
	for _, c := range a.around[from:] {
		parts = parts || c.varying
	}
	for p := range a.pending { // lanes that wait between here and the target
		at := slices.IndexFunc(a.around, func(c laneContext) bool { return c.s == p.Target })
		if p.Target != nil && (at >= from || p.Target == e.Target && p.Next && !e.Next) {
			parts = true
		}
	}
	if parts {
		a.parts[s] = true
		a.pending[e] = true
	}
}

// shape is how e differs between lanes.
func (a *laneShaper) shape(e *ir.Expr) shape {
	switch e.Op {
	case ir.OpConst, ir.OpZero:
		return uniform
	case ir.OpVar:
		return a.vars[e.Var]
	case ir.OpItem:
		if e.N == 0 && (e.Name == "Global" || e.Name == "Local") {
			return linear
		}
		return uniform
	case ir.OpConvert:
		x := a.shape(e.X)
		if x == linear && e.Type.Integer() && e.Type.Size <= e.X.Type.Size {
			return linear
		}
		return notLinear(x)
	case ir.OpWithin:
		return a.shape(e.X)
	case ir.OpBinary:
		return a.binary(e)
	case ir.OpIndex:
		if notLinear(a.shape(e.Y)) == varying {
			return varying
		}
		return a.shape(e.X)
	case ir.OpField, ir.OpLen:
		return notLinear(a.shape(e.X))
	}
	if e.Atomic() {
		return varying
	}
	s := uniform
	e.Children(func(x *ir.Expr) { s = max(s, notLinear(a.shape(x))) })
	return s
}

func notLinear(s shape) shape {
	if s == linear {
		return varying
	}
	return s
}

func (a *laneShaper) binary(e *ir.Expr) shape {
	x, y := a.shape(e.X), a.shape(e.Y)
	if e.Type.Integer() && x != varying && y != varying {
		switch {
		case e.Token == token.ADD && x != y:
			return linear
		case e.Token == token.SUB && x == linear:
			if y == linear {
				return uniform
			}
			return linear
		}
	}
	return max(notLinear(x), notLinear(y))
}

// edge tells whether e is a condition of which lanePrinter.whole can tell that all lanes meet it: a
// chain of comparisons of linear with uniform integers, uniform ones, and those in variables.
func (a *laneShaper) edge(e *ir.Expr) bool {
	switch {
	case a.shape(e) == uniform || e.Op == ir.OpVar:
		return true
	case e.Op != ir.OpBinary:
		return false
	case e.Token == token.LAND:
		return a.edge(e.X) && a.edge(e.Y)
	}
	x, y := a.shape(e.X), a.shape(e.Y)
	ordered := e.Token == token.LSS || e.Token == token.LEQ || e.Token == token.GTR || e.Token == token.GEQ
	return ordered && safe(e) && (x == linear && y == uniform || x == uniform && y == linear)
}

// valuesOf is what statements set variables to; what is done by an address is not known.
func valuesOf(body []*ir.Stmt) map[*ir.Variable][]*ir.Expr {
	m := map[*ir.Variable][]*ir.Expr{}
	ir.Walk(body, func(s *ir.Stmt) {
		switch v := ir.Assigned(s); {
		case s.Kind == ir.StmtDecl || s.Kind == ir.StmtBarrier && s.Var != nil:
			m[s.Var] = append(m[s.Var], s.X)
		case v != nil:
			m[v] = append(m[v], s.Y)
		}
		s.WalkExprs(func(e *ir.Expr) {
			if v := e.Addressed(); v != nil {
				m[v] = append(m[v], e)
			}
		})
	})
	return m
}

// most is a number up to which e may go from 0 on, -1 where there is none that is known.
func (a *laneShaper) most(e *ir.Expr, depth int) int64 {
	const unknown = -1
	switch {
	case depth == 0 || e != nil && !e.Type.Integer():
		return unknown
	case e == nil || e.Op == ir.OpZero:
		return 0
	case e.Op == ir.OpConst:
		if n, exact := constant.Int64Val(constant.ToInt(e.Value)); exact {
			return max(n, unknown)
		}
	case e.Op == ir.OpConvert:
		if n := a.most(e.X, depth-1); n <= 127 { // which all types have
			return n
		}
	case e.Op == ir.OpBinary && e.Token == token.AND:
		x, y := a.most(e.X, depth-1), a.most(e.Y, depth-1)
		if x == unknown || y == unknown {
			return max(x, y)
		}
		return min(x, y)
	case e.Op == ir.OpVar && a.declared[e.Var] != nil:
		n := int64(0)
		for _, x := range a.values[e.Var] {
			m := a.most(x, depth-1)
			if m == unknown {
				return unknown
			}
			n = max(n, m)
		}
		return n
	}
	return unknown
}

// inArray tells whether e is an element of an array that it has, whatever its index is.
func (a *laneShaper) inArray(e *ir.Expr) bool {
	if e.X.Type.Kind != ir.KindArray {
		return false
	}
	n := a.most(e.Y, 8)
	return 0 <= n && n < e.X.Type.Len
}

// harmless tells whether statements that have a mask may run though no lane is left in it: they
// change nothing but variables, check nothing but lanes, and take no time worth a jump.
func (a *laneShaper) harmless(list []*ir.Stmt) bool {
	ok := true
	ir.Walk(list, func(s *ir.Stmt) {
		switch s.Kind {
		case ir.StmtAssign:
			v := ir.RootVariable(s.X)
			ok = ok && v != nil && !v.Local && a.indexShape(s.X) == uniform
		case ir.StmtDecl, ir.StmtIf, ir.StmtBlock:
		case ir.StmtBreak, ir.StmtContinue, ir.StmtReturn:
			ok = ok && a.parts[s]
		default:
			ok = false
		}
		s.WalkExprs(func(e *ir.Expr) {
			if e.Op == ir.OpIndex {
				ok = ok && (a.inArray(e) || e.X.Type.Kind == ir.KindArray && a.shape(e.Y) == varying)
			}
			ok = ok && !trouble(e)
		})
	})
	return ok
}

// light tells whether statements take less time than finding out whether any lane runs them:
// assignments to a variable or two of what is there, or of its negative.
func (a *laneShaper) light(list []*ir.Stmt) bool {
	ok := len(list) <= 2
	for _, s := range list {
		ok = ok && s.Kind == ir.StmtAssign
		s.WalkExprs(func(e *ir.Expr) { ok = ok && (e.Op == ir.OpConst || e.Op == ir.OpVar || e.Op == ir.OpUnary) })
	}
	return ok && a.harmless(list)
}

// out is where lanes of s that part from the others go, beyond s.
func (a *laneShaper) out(s *ir.Stmt) (list []ir.Escape) {
	inside := ir.Inside(s)
	for _, x := range inside {
		if a.parts[x] {
			if e := a.escapeOf(x); !slices.Contains(inside, e.Target) && !slices.Contains(list, e) {
				list = append(list, e)
			}
		}
	}
	return list
}

// own is whether lanes of loop or block s leave it, or go on to its next turn, at different times.
func (a *laneShaper) own(s *ir.Stmt) (breaks, continues bool) {
	ir.Walk(s.Body, func(x *ir.Stmt) {
		if a.parts[x] {
			breaks = breaks || a.escapeOf(x) == (ir.Escape{Target: s})
			continues = continues || a.escapeOf(x) == (ir.Escape{Target: s, Next: true})
		}
	})
	return breaks, continues
}

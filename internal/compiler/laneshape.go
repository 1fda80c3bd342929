package compiler

import (
	"go/token"
	"slices"
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
	vars     map[*variable]shape
	keeps    map[*stmt]bool // assignments that must leave other lanes' values
	parts    map[*stmt]bool // jumps that some lanes of the strip take and others do not
	around   []laneContext
	declared map[*variable][]laneContext
	pending  map[escape]bool
	mentions map[*variable]int
	changed  bool
}

// A laneContext is a statement around the present one.
type laneContext struct {
	s       *stmt
	varying bool // an if of which some lanes run a part
}

func shapesOf(body []*stmt) *laneShaper {
	a := &laneShaper{
		vars: map[*variable]shape{}, mentions: map[*variable]int{}, declared: map[*variable][]laneContext{},
	}
	count(body, a.mentions)
	for a.changed = true; a.changed; {
		a.changed = false
		a.keeps, a.parts = map[*stmt]bool{}, map[*stmt]bool{}
		a.pending = map[escape]bool{}
		a.list(body)
	}
	return a
}

// count adds how often statements mention variables beside their declarations.
func count(list []*stmt, m map[*variable]int) {
	walk(list, func(s *stmt) {
		s.exprs(func(e *expr) { e.variables(func(v *variable) { m[v]++ }) })
	})
}

func (a *laneShaper) list(list []*stmt) {
	for _, s := range list {
		a.stmt(s)
	}
}

// within runs f inside of s.
func (a *laneShaper) within(s *stmt, varying bool, f func()) {
	a.around = append(slices.Clip(a.around), laneContext{s, varying})
	f()
	a.around = a.around[:len(a.around)-1]
}

func (a *laneShaper) stmt(s *stmt) {
	switch s.kind {
	case stmtDecl, stmtBarrier:
		if s.v == nil {
			return
		}
		a.declared[s.v] = a.around
		if s.kind == stmtDecl && s.x != nil {
			a.set(s.v, a.shape(s.x))
		} else {
			a.set(s.v, uniform)
		}
	case stmtAssign:
		a.assign(s)
	case stmtIf:
		parts := a.shape(s.x) != uniform
		a.within(s, parts, func() {
			a.list(s.body)
			a.list(s.els)
		})
	case stmtBlock:
		a.within(s, false, func() { a.list(s.body) })
		a.arrive(s, false)
	case stmtLoop:
		a.loop(s)
	case stmtBreak, stmtContinue, stmtReturn:
		a.jump(s)
	}
}

// escapeOf is where a jump leads: out of the stretch between barriers if its target runs for the
// whole group.
func (a *laneShaper) escapeOf(s *stmt) escape {
	if s.kind == stmtReturn || s.target.lifted {
		return escape{}
	}
	return escape{s.target, s.kind == stmtContinue}
}

func (a *laneShaper) arrive(s *stmt, next bool) { delete(a.pending, escape{s, next}) }

// set adds what v may be.
func (a *laneShaper) set(v *variable, s shape) {
	if !v.typ.scalar() {
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

func (a *laneShaper) assign(s *stmt) {
	v := rootVariable(s.x)
	if v == nil || v.local || v.table != nil {
		return
	}
	sh := a.shape(s.y)
	if s.x.op != opVar && a.indexShape(s.x) != uniform {
		sh = varying
	}
	if a.waits(v) {
		a.keeps[s] = true
		sh = varying
	}
	a.set(v, sh)
}

// indexShape is how the indices in place e differ.
func (a *laneShaper) indexShape(e *expr) shape {
	for {
		switch e.op {
		case opIndex:
			if a.shape(e.y) != uniform {
				return varying
			}
			e = e.x
		case opField:
			e = e.x
		default:
			return uniform
		}
	}
}

// waits tells whether a lane that does not come here may read v later.
func (a *laneShaper) waits(v *variable) bool {
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
		if e.target == nil { // the end of the stretch, which is that of the kernel where v is no array
			if v.array {
				return true
			}
			continue
		}
		at := slices.IndexFunc(a.around, func(c laneContext) bool { return c.s == e.target })
		switch {
		case at < n: // v is declared inside of what those lanes have left
		case e.next || !a.dead(v, a.around[n:at+1]):
			return true
		}
	}
	return false
}

// dead tells whether nobody reads v behind the last of the statements around, the first of which
// stands beside its declaration.
func (a *laneShaper) dead(v *variable, around []laneContext) bool {
	last := len(around) - 1
	for _, c := range around[:last] {
		if c.s.kind == stmtLoop {
			return false
		}
	}
	if v.array {
		return false
	}
	inside := map[*variable]int{}
	count([]*stmt{around[last].s}, inside)
	return inside[v] == a.mentions[v]
}

func (a *laneShaper) loop(s *stmt) {
	for range 2 {
		if s.x != nil && a.shape(s.x) != uniform {
			a.pending[escape{s, false}] = true
		}
		a.within(s, false, func() {
			a.list(s.body)
			a.arrive(s, true)
			a.list(s.post)
		})
	}
	a.arrive(s, false)
}

// jump notes a jump that some lanes take while others are behind or go on.
func (a *laneShaper) jump(s *stmt) {
	e := a.escapeOf(s)
	from := 0
	if e.target != nil {
		from = slices.IndexFunc(a.around, func(c laneContext) bool { return c.s == e.target }) + 1
	}
	parts := false
	for _, c := range a.around[from:] {
		parts = parts || c.varying
	}
	for p := range a.pending { // lanes that wait between here and the target
		at := slices.IndexFunc(a.around, func(c laneContext) bool { return c.s == p.target })
		if p.target != nil && (at >= from || p.target == e.target && p.next && !e.next) {
			parts = true
		}
	}
	if parts {
		a.parts[s] = true
		a.pending[e] = true
	}
}

// shape is how e differs between lanes.
func (a *laneShaper) shape(e *expr) shape {
	switch e.op {
	case opConst, opZero:
		return uniform
	case opVar:
		return a.vars[e.v]
	case opItem:
		if e.n == 0 && (e.name == "Global" || e.name == "Local") {
			return linear
		}
		return uniform
	case opConvert:
		x := a.shape(e.x)
		if x == linear && e.typ.integer() && e.typ.size <= e.x.typ.size {
			return linear
		}
		return notLinear(x)
	case opWithin:
		return a.shape(e.x)
	case opBinary:
		return a.binary(e)
	case opIndex:
		if notLinear(a.shape(e.y)) == varying {
			return varying
		}
		return a.shape(e.x)
	case opField, opLen:
		return notLinear(a.shape(e.x))
	case opBuiltin:
		if e.name[0] == 'A' { // atomic
			return varying
		}
	}
	s := uniform
	e.children(func(x *expr) { s = max(s, notLinear(a.shape(x))) })
	return s
}

func notLinear(s shape) shape {
	if s == linear {
		return varying
	}
	return s
}

func (a *laneShaper) binary(e *expr) shape {
	x, y := a.shape(e.x), a.shape(e.y)
	if e.typ.integer() && x != varying && y != varying {
		switch {
		case e.tok == token.ADD && x != y:
			return linear
		case e.tok == token.SUB && x == linear:
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
func (a *laneShaper) edge(e *expr) bool {
	switch {
	case a.shape(e) == uniform || e.op == opVar:
		return true
	case e.op != opBinary:
		return false
	case e.tok == token.LAND:
		return a.edge(e.x) && a.edge(e.y)
	}
	x, y := a.shape(e.x), a.shape(e.y)
	ordered := e.tok == token.LSS || e.tok == token.LEQ || e.tok == token.GTR || e.tok == token.GEQ
	return ordered && safe(e) && (x == linear && y == uniform || x == uniform && y == linear)
}

// out is where lanes of s that part from the others go, beyond s.
func (a *laneShaper) out(s *stmt) (list []escape) {
	inside := []*stmt{s}
	walk(slices.Concat(s.body, s.els, s.post), func(x *stmt) { inside = append(inside, x) })
	for _, x := range inside {
		if a.parts[x] {
			if e := a.escapeOf(x); !slices.Contains(inside, e.target) && !slices.Contains(list, e) {
				list = append(list, e)
			}
		}
	}
	return list
}

// own is whether lanes of loop or block s leave it, or go on to its next turn, at different times.
func (a *laneShaper) own(s *stmt) (breaks, continues bool) {
	walk(s.body, func(x *stmt) {
		if a.parts[x] {
			breaks = breaks || a.escapeOf(x) == escape{s, false}
			continues = continues || a.escapeOf(x) == escape{s, true}
		}
	})
	return breaks, continues
}

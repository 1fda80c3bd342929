package compiler

import (
	"fmt"
	"go/constant"
	"go/token"
)

// Machine code for the cpu device runs a kernel in strips: W work-items that are neighbours in x,
// as lanes of vectors (SPMD on SIMD; Pharr and Mark, ispc, 2012). For that the kernel becomes one
// body without calls (here), in which each variable is uniform, linear or varying over a strip
// (laneshape.go), and is printed as C with vectors (printlanes*.go).

// An inliner copies the body of a kernel, with the bodies of the functions in place of their calls,
// and with logical operations whose right side may fail as conditions.
type inliner struct {
	names   scope
	out     *[]*stmt
	stmts   map[*stmt]*stmt         // copies, for the targets of jumps
	vars    map[*variable]*variable // of functions, anew for each call
	places  map[*variable]*expr     // what pointers lead to
	block   *stmt                   // that a return leaves, nil in the kernel
	results []*variable
	integer *typ // Go's int
}

// noLanes is why a kernel has no native form.
type noLanes struct{ why string }

func (n noLanes) Error() string { return n.why }

func refuseLanes(format string, args ...any) { panic(noLanes{fmt.Sprintf(format, args...)}) }

// inlinedBody is the body of k without calls.
func inlinedBody(k *kernel, types *typeTable) []*stmt {
	in := &inliner{
		names: scope{}, stmts: map[*stmt]*stmt{}, vars: map[*variable]*variable{}, places: map[*variable]*expr{},
		integer: types.basic(kindInt64),
	}
	for name := range k.names {
		in.names[name] = true
	}
	return in.list(k.body)
}

// collect is the statements that f emits.
func (in *inliner) collect(f func()) (list []*stmt) {
	old := in.out
	in.out = &list
	defer func() { in.out = old }()
	f()
	return list
}

func (in *inliner) emit(s *stmt) { *in.out = append(*in.out, s) }

func (in *inliner) list(list []*stmt) []*stmt {
	return in.collect(func() {
		for _, s := range list {
			in.stmt(s)
		}
	})
}

func (in *inliner) stmt(s *stmt) {
	switch {
	case s.kind == stmtDecl && s.x != nil && (s.v.typ.kind == kindPointer || s.v.typ.kind == kindSlice):
		in.bind(s.v, in.expr(s.x), s.pos)
		return
	case s.kind == stmtAssign && s.x.op == opVar && in.places[s.x.v] != nil:
		refuseLanes("a slice of several arrays")
	}
	n := *s
	in.stmts[s] = &n
	if t := in.stmts[s.target]; t != nil {
		n.target = t
	}
	n.v, n.dst = in.variable(s.v), nil
	switch s.kind {
	case stmtLoop:
		in.loop(s, &n)
		return
	case stmtReturn:
		if in.block != nil {
			in.returns(s)
			return
		}
	case stmtCall:
		in.call(s)
		return
	}
	n.x, n.y = in.expr(s.x), in.expr(s.y)
	n.body, n.els = in.list(s.body), in.list(s.els)
	in.emit(&n)
}

func (in *inliner) loop(s, n *stmt) {
	var before []*stmt
	n.x = nil
	if s.x != nil {
		before = in.collect(func() { n.x = in.expr(s.x) })
	}
	if len(before) > 0 {
		exit := &stmt{kind: stmtBreak, pos: s.pos, target: n}
		before = append(before, &stmt{kind: stmtIf, pos: s.pos, x: not(n.x), body: []*stmt{exit}})
		n.x = nil
	}
	n.body = append(before, in.list(s.body)...)
	n.post = in.list(s.post)
	in.emit(n)
}

// returns is a return of an inlined function.
func (in *inliner) returns(s *stmt) {
	for i, a := range s.args {
		in.emit(&stmt{kind: stmtAssign, pos: s.pos, x: varExpr(in.results[i], s.pos), y: in.expr(a)})
	}
	in.emit(&stmt{kind: stmtBreak, pos: s.pos, target: in.block})
}

// call is a call that is a statement.
func (in *inliner) call(s *stmt) {
	if s.x.op != opCall {
		n := *s
		n.x = in.expr(s.x)
		in.emit(&n)
		return
	}
	results := in.inline(s.x)
	for i, v := range s.dst {
		in.emit(&stmt{kind: stmtAssign, pos: s.pos, x: varExpr(in.variable(v), s.pos), y: varExpr(results[i], s.pos)})
	}
}

// inline emits the body of a function for call e, and gives its results.
func (in *inliner) inline(e *expr) []*variable {
	f := *in
	f.vars, f.places, f.results = map[*variable]*variable{}, map[*variable]*expr{}, nil
	for _, t := range e.fn.results {
		v := in.fresh("r", t)
		f.results = append(f.results, v)
		in.emit(&stmt{kind: stmtDecl, pos: e.pos, v: v})
	}
	f.block = &stmt{kind: stmtBlock, pos: e.pos}
	f.block.body = in.collect(func() {
		f.out = in.out
		for i, p := range e.fn.params {
			f.bind(p, in.expr(e.args[i]), e.pos)
		}
		for _, s := range e.fn.body {
			f.stmt(s)
		}
	})
	trimExit(f.block)
	in.emit(f.block)
	return f.results
}

// bind gives v its value x, without calls. What x leads to stands for a pointer, and for a slice of
// all of an array.
func (in *inliner) bind(v *variable, x *expr, pos token.Pos) {
	switch {
	case x.op == opAddr || wholeArray(x):
		in.places[v] = in.fixedPlace(x.x)
	case v.typ.kind == kindPointer:
		refuseLanes("a pointer that may lead to several places")
	default:
		in.emit(&stmt{kind: stmtDecl, pos: pos, v: in.variable(v), x: x})
	}
}

func (in *inliner) fresh(name string, t *typ) *variable {
	c := cName(name)
	return &variable{name: in.names.unique(c), typ: t}
}

// variable is v as it is called here.
func (in *inliner) variable(v *variable) *variable {
	if v == nil || in.block == nil || v.table != nil || v.local {
		return v
	}
	if in.vars[v] == nil {
		in.vars[v] = in.fresh(v.name, v.typ)
	}
	return in.vars[v]
}

// fixedPlace is place e, whatever is assigned later.
func (in *inliner) fixedPlace(e *expr) *expr {
	c := *e
	switch e.op {
	case opIndex:
		c.y = in.temp(e.y)
		if e.x.typ.kind == kindSlice {
			c.x = in.temp(e.x)
		} else {
			c.x = in.fixedPlace(e.x)
		}
	case opField:
		c.x = in.fixedPlace(e.x)
	}
	return &c
}

// temp is e as a variable that does not change.
func (in *inliner) temp(e *expr) *expr {
	if e.op == opConst {
		return e
	}
	v := in.fresh("at", e.typ)
	in.emit(&stmt{kind: stmtDecl, pos: e.pos, v: v, x: e})
	return varExpr(v, e.pos)
}

func (in *inliner) expr(e *expr) *expr {
	if e == nil {
		return nil
	}
	if e.op == opBinary && (e.tok == token.LAND || e.tok == token.LOR) {
		return in.logical(e)
	}
	if e.op == opCall {
		return varExpr(in.inline(e)[0], e.pos)
	}
	if at := in.places[e.v]; e.op == opVar && at != nil {
		if e.typ.kind == kindSlice {
			return &expr{op: opSlice, typ: e.typ, pos: e.pos, x: at, z: in.lengthOf(at)}
		}
		return &expr{op: opAddr, typ: e.typ, pos: e.pos, x: at}
	}
	c := *e
	c.nested = 0
	c.v = in.variable(e.v)
	c.x, c.y, c.z = in.expr(e.x), in.expr(e.y), in.expr(e.z)
	switch {
	case e.op == opDeref && c.x.op == opAddr:
		return c.x.x
	case e.op == opIndex && wholeArray(c.x):
		c.x = c.x.x
	case e.op == opLen && wholeArray(c.x):
		return in.lengthOf(c.x.x)
	}
	c.args = nil
	for _, a := range e.args {
		c.args = append(c.args, in.expr(a))
	}
	return &c
}

// wholeArray tells whether e is a slice of all of an array that each work-item has for itself: what
// it is the value of stands for the array.
func wholeArray(e *expr) bool {
	if e.op != opSlice || e.y != nil || e.x.typ.kind != kindArray || e.x.space() != spacePrivate || e.z.op != opConst {
		return false
	}
	n, exact := constant.Int64Val(constant.ToInt(e.z.value))
	return exact && n == e.x.typ.len
}

func (in *inliner) lengthOf(array *expr) *expr {
	return &expr{op: opConst, typ: in.integer, pos: array.pos, value: constant.MakeInt64(array.typ.len)}
}

// logical is x && y or x || y: with a condition around what y needs, if it may fail.
func (in *inliner) logical(e *expr) *expr {
	c := *e
	c.nested = 0
	c.x = in.expr(e.x)
	before := in.collect(func() { c.y = in.expr(e.y) })
	if len(before) == 0 && safe(c.y) {
		return &c
	}
	v := in.fresh("t", e.typ)
	in.emit(&stmt{kind: stmtDecl, pos: e.pos, v: v, x: c.x})
	cond := varExpr(v, e.pos)
	if e.tok == token.LOR {
		cond = not(cond)
	}
	set := &stmt{kind: stmtAssign, pos: e.pos, x: varExpr(v, e.pos), y: c.y}
	in.emit(&stmt{kind: stmtIf, pos: e.pos, x: cond, body: append(before, set)})
	return varExpr(v, e.pos)
}

// safe tells whether e can be computed where Go does not.
func safe(e *expr) bool {
	ok := true
	e.walk(func(e *expr) {
		switch e.op {
		case opIndex:
			ok = ok && inArray(e)
		case opDeref, opSlice, opCall:
			ok = false
		case opBuiltin:
			ok = ok && e.name != "div" && e.name != "rem" && e.name[0] != 'A'
		}
	})
	return ok
}

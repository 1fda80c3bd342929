package lanes

import (
	"go/constant"
	"go/token"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// An inliner copies the body of a kernel, with the bodies of the functions in place of their calls,
// and with logical operations whose right side may fail as conditions.
type inliner struct {
	names   ir.Scope
	out     *[]*ir.Stmt
	stmts   map[*ir.Stmt]*ir.Stmt         // copies, for the targets of jumps
	vars    map[*ir.Variable]*ir.Variable // of functions, anew for each call
	places  map[*ir.Variable]*ir.Expr     // what pointers lead to
	block   *ir.Stmt                      // that a return leaves, nil in the kernel
	results []*ir.Variable
	integer *ir.Type // Go's int
	size    *int     // statements that were emitted
}

// maxInlined is how many statements a kernel has at most with its functions in place of their
// calls. Functions that call the next one twice double it each time.
const maxInlined = 20_000

// inlined is k without calls.
func inlined(k *ir.Kernel, types *ir.TypeTable) *ir.Kernel {
	in := &inliner{
		names: ir.Scope{}, stmts: map[*ir.Stmt]*ir.Stmt{}, vars: map[*ir.Variable]*ir.Variable{},
		places: map[*ir.Variable]*ir.Expr{}, integer: types.Basic(ir.KindInt64), size: new(int),
	}
	for name := range k.Names {
		in.names[name] = true
	}
	n, f := *k, *k.Function
	n.Function = &f
	f.Body = in.list(k.Body)
	return &n
}

// collect is the statements that f emits.
func (in *inliner) collect(f func()) (list []*ir.Stmt) {
	old := in.out
	in.out = &list
	defer func() { in.out = old }()
	f()
	return list
}

func (in *inliner) emit(s *ir.Stmt) {
	if *in.size++; *in.size > maxInlined {
		refuseLanes("over %d statements, with functions in place of their calls", maxInlined)
	}
	*in.out = append(*in.out, s)
}

func (in *inliner) list(list []*ir.Stmt) []*ir.Stmt {
	return in.collect(func() {
		for _, s := range list {
			in.stmt(s)
		}
	})
}

func (in *inliner) stmt(s *ir.Stmt) {
	switch {
	case s.Kind == ir.StmtDecl && s.X != nil && (s.Var.Type.Kind == ir.KindPointer || s.Var.Type.Kind == ir.KindSlice):
		in.bind(s.Var, in.expr(s.X), s.Pos)
		return
	case s.Kind == ir.StmtAssign && s.X.Op == ir.OpVar && in.places[s.X.Var] != nil:
		refuseLanes("a slice of several arrays")
	}
	n := *s
	in.stmts[s] = &n
	if t := in.stmts[s.Target]; t != nil {
		n.Target = t
	}
	n.Var, n.Dst = in.variable(s.Var), nil
	switch s.Kind {
	case ir.StmtLoop:
		in.loop(s, &n)
		return
	case ir.StmtReturn:
		if in.block != nil {
			in.returns(s)
			return
		}
	case ir.StmtCall:
		in.call(s)
		return
	}
	n.X, n.Y = in.expr(s.X), in.expr(s.Y)
	n.Body, n.Else = in.list(s.Body), in.list(s.Else)
	in.emit(&n)
}

func (in *inliner) loop(s, n *ir.Stmt) {
	var x *ir.Expr
	before := in.collect(func() { x = in.expr(s.X) })
	n.X = nil
	n.Body = append(n.Until(x, before), in.list(s.Body)...)
	n.Post = in.list(s.Post)
	in.emit(n)
}

// returns is a return of an inlined function.
func (in *inliner) returns(s *ir.Stmt) {
	for i, a := range s.Args {
		in.emit(&ir.Stmt{Kind: ir.StmtAssign, Pos: s.Pos, X: ir.VarExpr(in.results[i], s.Pos), Y: in.expr(a)})
	}
	in.emit(&ir.Stmt{Kind: ir.StmtBreak, Pos: s.Pos, Target: in.block})
}

// call is a call that is a statement.
func (in *inliner) call(s *ir.Stmt) {
	if s.X.Op != ir.OpCall {
		n := *s
		n.X = in.expr(s.X)
		in.emit(&n)
		return
	}
	results := in.inline(s.X)
	for i, v := range s.Dst {
		x, y := ir.VarExpr(in.variable(v), s.Pos), ir.VarExpr(results[i], s.Pos)
		in.emit(&ir.Stmt{Kind: ir.StmtAssign, Pos: s.Pos, X: x, Y: y})
	}
}

// inline emits the body of a function for call e, and gives its results.
func (in *inliner) inline(e *ir.Expr) []*ir.Variable {
	f := *in
	f.vars, f.places, f.results = map[*ir.Variable]*ir.Variable{}, map[*ir.Variable]*ir.Expr{}, nil
	for _, t := range e.Fn.Results {
		v := in.fresh("r", t)
		f.results = append(f.results, v)
		in.emit(&ir.Stmt{Kind: ir.StmtDecl, Pos: e.Pos, Var: v})
	}
	f.block = &ir.Stmt{Kind: ir.StmtBlock, Pos: e.Pos}
	f.block.Body = in.collect(func() {
		f.out = in.out
		for i, p := range e.Fn.Params {
			f.bind(p, in.expr(e.Args[i]), e.Pos)
		}
		for _, s := range e.Fn.Body {
			f.stmt(s)
		}
	})
	ir.TrimExit(f.block)
	in.emit(f.block)
	return f.results
}

// bind gives v its value x, without calls. What x leads to stands for a pointer, and for a slice of
// all of an array.
func (in *inliner) bind(v *ir.Variable, x *ir.Expr, pos token.Pos) {
	switch {
	case x.Op == ir.OpAddr || wholeArray(x):
		in.places[v] = in.fixedPlace(x.X)
	case v.Type.Kind == ir.KindPointer:
		refuseLanes("a pointer that may lead to several places")
	default:
		in.emit(&ir.Stmt{Kind: ir.StmtDecl, Pos: pos, Var: in.variable(v), X: x})
	}
}

func (in *inliner) fresh(name string, t *ir.Type) *ir.Variable {
	c := ir.CName(name)
	return &ir.Variable{Name: in.names.Unique(c), Type: t}
}

// variable is v as it is called here.
func (in *inliner) variable(v *ir.Variable) *ir.Variable {
	if v == nil || in.block == nil || v.Table != nil || v.Local {
		return v
	}
	if in.vars[v] == nil {
		in.vars[v] = in.fresh(v.Name, v.Type)
	}
	return in.vars[v]
}

// fixedPlace is place e, whatever is assigned later.
func (in *inliner) fixedPlace(e *ir.Expr) *ir.Expr {
	c := *e
	switch e.Op {
	case ir.OpIndex:
		c.Y = in.temp(e.Y)
		if e.X.Type.Kind == ir.KindSlice {
			c.X = in.temp(e.X)
		} else {
			c.X = in.fixedPlace(e.X)
		}
	case ir.OpField:
		c.X = in.fixedPlace(e.X)
	}
	return &c
}

// temp is e as a variable that does not change.
func (in *inliner) temp(e *ir.Expr) *ir.Expr {
	if e.Op == ir.OpConst {
		return e
	}
	v := in.fresh("at", e.Type)
	in.emit(&ir.Stmt{Kind: ir.StmtDecl, Pos: e.Pos, Var: v, X: e})
	return ir.VarExpr(v, e.Pos)
}

func (in *inliner) expr(e *ir.Expr) *ir.Expr {
	if e == nil {
		return nil
	}
	if e.Op == ir.OpBinary && (e.Token == token.LAND || e.Token == token.LOR) {
		return in.logical(e)
	}
	if e.Op == ir.OpCall {
		return ir.VarExpr(in.inline(e)[0], e.Pos)
	}
	if at := in.places[e.Var]; e.Op == ir.OpVar && at != nil {
		if e.Type.Kind == ir.KindSlice {
			return &ir.Expr{Op: ir.OpSlice, Type: e.Type, Pos: e.Pos, X: at, Z: in.lengthOf(at)}
		}
		return &ir.Expr{Op: ir.OpAddr, Type: e.Type, Pos: e.Pos, X: at}
	}
	c := *e
	c.Nested = 0
	c.Var = in.variable(e.Var)
	c.X, c.Y, c.Z = in.expr(e.X), in.expr(e.Y), in.expr(e.Z)
	switch {
	case e.Op == ir.OpDeref && c.X.Op == ir.OpAddr:
		return c.X.X
	case e.Op == ir.OpIndex && wholeArray(c.X):
		c.X = c.X.X
	case e.Op == ir.OpLen && wholeArray(c.X):
		return in.lengthOf(c.X.X)
	}
	c.Args = nil
	for _, a := range e.Args {
		c.Args = append(c.Args, in.expr(a))
	}
	return &c
}

// wholeArray tells whether e is a slice of all of an array that each work-item has for itself: what
// it is the value of stands for the array.
func wholeArray(e *ir.Expr) bool {
	if e.Op != ir.OpSlice || e.Y != nil || e.X.Type.Kind != ir.KindArray || e.X.Space() != ir.SpacePrivate ||
		e.Z.Op != ir.OpConst {
		return false
	}
	n, exact := constant.Int64Val(constant.ToInt(e.Z.Value))
	return exact && n == e.X.Type.Len
}

func (in *inliner) lengthOf(array *ir.Expr) *ir.Expr {
	return &ir.Expr{Op: ir.OpConst, Type: in.integer, Pos: array.Pos, Value: constant.MakeInt64(array.Type.Len)}
}

// logical is x && y or x || y: with a condition around what y needs, if it may fail.
func (in *inliner) logical(e *ir.Expr) *ir.Expr {
	c := *e
	c.Nested = 0
	c.X = in.expr(e.X)
	before := in.collect(func() { c.Y = in.expr(e.Y) })
	if len(before) == 0 && safe(c.Y) {
		return &c
	}
	v := ir.VarExpr(in.fresh("t", e.Type), e.Pos)
	in.emit(&ir.Stmt{Kind: ir.StmtDecl, Pos: e.Pos, Var: v.Var, X: c.X})
	in.emit(ir.Decide(e.Token, v, c.Y, before))
	return v
}

// safe tells whether e can be computed where Go does not.
func safe(e *ir.Expr) bool {
	return !e.Any(func(e *ir.Expr) bool {
		return e.Op == ir.OpIndex && !ir.InArray(e) || trouble(e)
	})
}

// trouble tells whether e, apart from its operands, may fail or has an effect: not for its index.
func trouble(e *ir.Expr) bool {
	switch e.Op {
	case ir.OpDeref, ir.OpSlice, ir.OpCall:
		return true
	case ir.OpBuiltin:
		return e.Name == "div" || e.Name == "rem" || e.Atomic()
	}
	return false
}

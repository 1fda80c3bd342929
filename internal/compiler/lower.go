package compiler

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// A Problem is something that keeps a kernel from being compiled.
type Problem struct {
	Pos  token.Position
	Text string // the reason; what to do instead
}

// A lowerer turns Go's syntax into the tree of ir.go.
type lowerer struct {
	*loader
	types    *typeTable
	funcs    map[string]*function
	active   []string // functions that are being lowered
	kernel   string   // the kernel that is
	entries  map[string]bool
	copies   int // of functions in place of their calls, in the kernel
	tables   map[*types.Var]*table
	need     map[string]bool // packages to read from source
	problems []Problem
	written  map[*function]map[*variable]bool // parameters that functions write through
}

// A frame is a function that is being lowered, for certain types.
type frame struct {
	*lowerer
	pkg      *goPackage
	env      env
	fn       *function
	bind     map[types.Object]binding
	outer    *frame // of a closure
	assigned map[types.Object]bool
	out      *[]*stmt
	jumps    []jump
	inline   *inlined // nil: a return leaves fn
	results  []*variable
	nested   int // statements that may run several times, or not at all
}

// A binding is what a name stands for: a variable, a pointer that never changes, or a function.
type binding struct {
	v   *variable
	e   *expr
	lit *ast.FuncLit
	f   *frame // of lit
}

type jump struct {
	label       string
	exit, again *stmt // the targets of break and continue; nil if it is none
	againExits  bool  // continue leaves a block
}

// inlined is where a return of an inlined function goes.
type inlined struct {
	block   *stmt
	results []*variable
}

// abort ends the lowering of a statement that has a problem.
type abort struct{}

func (f *frame) refuse(pos token.Pos, format string, args ...any) {
	f.problem(pos, format, args...)
	panic(abort{})
}

func (l *lowerer) problem(pos token.Pos, format string, args ...any) {
	p := Problem{Pos: l.fset.Position(pos), Text: fmt.Sprintf(format, args...)}
	for _, old := range l.problems {
		if old == p { // of another list of types
			return
		}
	}
	l.problems = append(l.problems, p)
}

// recoverable runs g, and goes on after a problem in it.
func recoverable(g func()) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			if _, is := v.(abort); !is {
				panic(v)
			}
			ok = false
		}
	}()
	g()
	return true
}

func (f *frame) typeOf(e ast.Expr) types.Type { return f.close(f.pkg.info.TypeOf(e)) }

// close is t with what the type parameters stand for here.
func (f *frame) close(t types.Type) types.Type { return f.types.close(t, f.env) }

// irType is the type of an expression.
func (f *frame) irType(pos token.Pos, t types.Type, s space) *typ {
	it, err := f.types.of(f.close(t), s)
	if err != nil {
		f.refuse(pos, "%v", err)
	}
	return it
}

func (f *frame) emit(s *stmt) *stmt {
	*f.out = append(*f.out, s)
	return s
}

// collect is the statements that g emits.
func (f *frame) collect(g func()) []*stmt {
	var list []*stmt
	old := f.out
	f.out = &list
	defer func() { f.out = old }()
	g()
	return list
}

// declare makes a variable of value x; nil is zero.
func (f *frame) declare(pos token.Pos, name string, t *typ, x *expr) *variable {
	v := f.fn.newVar(name, t)
	f.emit(&stmt{kind: stmtDecl, pos: pos, v: v, x: x})
	return v
}

func varExpr(v *variable, pos token.Pos) *expr {
	return &expr{op: opVar, typ: v.typ, v: v, pos: pos}
}

// temp is e as a variable of its own.
func (f *frame) temp(e *expr) *expr {
	if e.op == opVar && e.v.table == nil || e.op == opConst {
		return e
	}
	return varExpr(f.declare(e.pos, "", e.typ, e), e.pos)
}

// snapshot is the value that e has now, whatever is assigned later.
func (f *frame) snapshot(e *expr) *expr {
	if e.op == opConst {
		return e
	}
	return varExpr(f.declare(e.pos, "", e.typ, e), e.pos)
}

// lookup finds what a name stands for here.
func (f *frame) lookup(o types.Object) (binding, bool) {
	for g := f; g != nil; g = g.outer {
		if b, ok := g.bind[o]; ok {
			return b, true
		}
	}
	return binding{}, false
}

// space is the memory that a place is in.
func (e *expr) space() space {
	switch e.op {
	case opVar:
		switch {
		case e.v.local:
			return spaceLocal
		case e.v.table != nil:
			return spaceConstant
		}
	case opIndex:
		if e.x.typ.kind == kindSlice {
			return e.x.typ.space
		}
		return e.x.space()
	case opField:
		return e.x.space()
	case opDeref:
		return e.x.typ.space
	}
	return spacePrivate
}

// place tells whether e is something that can be assigned to.
func (e *expr) place() bool {
	switch e.op {
	case opVar:
		return e.v.table == nil
	case opDeref:
		return true
	case opIndex:
		return e.x.typ.kind == kindSlice || e.x.place()
	case opField:
		return e.x.place()
	}
	return false
}

// deref is what pointer p leads to.
func deref(p *expr) *expr {
	if p.op == opAddr {
		return p.x
	}
	return &expr{op: opDeref, typ: p.typ.elem, pos: p.pos, x: p}
}

// address is a pointer to place e.
func (f *frame) address(e *expr) *expr {
	if !e.place() {
		e = f.temp(e)
	}
	return &expr{op: opAddr, typ: f.types.pointer(e.typ, e.space()), pos: e.pos, x: e}
}

// constantOf is v as a value of type t.
func (f *frame) constantOf(pos token.Pos, v constant.Value, t *typ) *expr {
	switch {
	case t.kind == kindFloat32:
		x, _ := constant.Float32Val(constant.ToFloat(v))
		v = constant.MakeFloat64(float64(x))
	case t.kind == kindFloat64:
		x, _ := constant.Float64Val(constant.ToFloat(v))
		v = constant.MakeFloat64(x)
	case t.integer():
		v = constant.ToInt(v)
	}
	if t.kind != kindBool && v.Kind() == constant.Unknown {
		f.refuse(pos, "a constant that %s does not have; write one that it has", basics[t.kind].goName)
	}
	return &expr{op: opConst, typ: t, pos: pos, value: v}
}

func (f *frame) intConst(pos token.Pos, n int64) *expr {
	return &expr{op: opConst, typ: f.types.basic(kindInt64), pos: pos, value: constant.MakeInt64(n)}
}

// function is the function for a call with arguments of certain types, lowered now if it is new.
func (l *lowerer) function(pkg *goPackage, decl *ast.FuncDecl, key string, e env, args []*expr, at *frame,
	pos token.Pos,
) *function {
	for _, a := range args {
		key += " " + a.typ.key
	}
	if fn := l.funcs[key]; fn != nil {
		if !fn.done {
			at.refuse(pos, "%s calls itself, and a kernel has no recursion; use a loop", decl.Name.Name)
		}
		return fn
	}
	fn := &function{
		name: decl.Name.Name, pos: decl.Pos(), names: scope{},
	}
	if pkg.listed != l.root {
		fn.imported = pkg.Name + "." + decl.Name.Name
	}
	l.funcs[key] = fn
	f := &frame{
		lowerer: l, pkg: pkg, env: e, fn: fn, bind: map[types.Object]binding{},
		assigned: assignedIn(pkg.info, decl),
	}
	fn.body = f.collect(func() {
		recoverable(func() { f.params(decl.Recv, decl.Type, args) })
		f.block(decl.Body)
	})
	fn.done = true
	fn.effects, fn.memory = effects(fn.body)
	fn.elementary = elementary(pkg, decl, fn)
	return fn
}

// params declares the parameters of a function, of the types of args, and its named results.
func (f *frame) params(recv *ast.FieldList, sig *ast.FuncType, args []*expr) {
	names := paramNames(recv, sig)
	for i, a := range args {
		v := f.fn.newVar(names[i].Name, a.typ)
		f.fn.params = append(f.fn.params, v)
		if o := f.pkg.info.Defs[names[i]]; o != nil {
			f.bind[o] = binding{v: v}
		}
	}
	f.resultTypes(sig, func(t *typ) { f.fn.results = append(f.fn.results, t) })
}

// resultTypes calls add for each result of a function, and declares those that have names.
func (f *frame) resultTypes(sig *ast.FuncType, add func(*typ)) {
	if sig.Results == nil {
		return
	}
	for _, r := range sig.Results.List {
		t := f.irType(r.Type.Pos(), f.pkg.info.TypeOf(r.Type), spaceGlobal)
		if t.kind == kindPointer {
			f.refuse(r.Type.Pos(), "a kernel has no functions that return a pointer; return a value or an index")
		}
		add(t)
		for _, name := range r.Names {
			v := f.declare(name.Pos(), name.Name, t, nil)
			f.results = append(f.results, v)
			if o := f.pkg.info.Defs[name]; o != nil {
				f.bind[o] = binding{v: v}
			}
		}
		for range max(1, len(r.Names)) - 1 {
			add(t)
		}
	}
}

// paramNames is the names of the receiver and the parameters; unnamed ones are "_".
func paramNames(recv *ast.FieldList, sig *ast.FuncType) (names []*ast.Ident) {
	lists := []*ast.FieldList{sig.Params}
	if recv != nil {
		lists = []*ast.FieldList{recv, sig.Params}
	}
	for _, list := range lists {
		for _, p := range list.List {
			names = append(names, p.Names...)
			if len(p.Names) == 0 {
				names = append(names, ast.NewIdent("_"))
			}
		}
	}
	return names
}

// assignedIn is the variables that body assigns to after their declaration, or takes the address
// of.
func assignedIn(info *types.Info, body ast.Node) map[types.Object]bool {
	m := map[types.Object]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		if n == nil {
			return true
		}
		for _, e := range written(info, n) {
			if o := rootObject(info, e); o != nil {
				m[o] = true
			}
		}
		return true
	})
	return m
}

// effects tells whether statements write memory that others see, and whether they read any.
func effects(list []*stmt) (writes, reads bool) {
	look := func(e *expr) {
		e.walk(func(e *expr) {
			switch {
			case e.op == opCall:
				writes, reads = writes || e.fn.effects, reads || e.fn.memory
			case e.op == opBuiltin && strings.HasPrefix(e.name, "Atomic"):
				writes = true
			case (e.op == opIndex || e.op == opField || e.op == opDeref) && shared(e):
				reads = true
			}
		})
	}
	walk(list, func(s *stmt) {
		s.exprs(look)
		if s.kind == stmtAssign && shared(s.x) {
			writes = true
		}
	})
	return writes, reads
}

// shared tells whether a place is reached through a pointer or slice.
func shared(e *expr) bool {
	switch e.op {
	case opDeref:
		return true
	case opIndex:
		return e.x.typ.kind == kindSlice || shared(e.x)
	case opField:
		return shared(e.x)
	}
	return false
}

package front

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// A Lowerer turns Go's syntax into the tree of package ir.
type Lowerer struct {
	*Loader
	*ir.Program
	funcs   map[string]*ir.Function
	active  []string // functions that are being lowered
	kernel  string   // the kernel that is
	entries map[string]bool
	copies  int // of functions in place of their calls, in the kernel
	Tables  map[*types.Var]*ir.Table
	need    map[string]bool // packages to read from source
}

// A frame is a function that is being lowered, for certain types.
type frame struct {
	*Lowerer
	pkg      *Package
	env      ir.Env
	fn       *ir.Function
	bind     map[types.Object]binding
	outer    *frame // of a closure
	assigned map[types.Object]bool
	out      *[]*ir.Stmt
	jumps    []jump
	inline   *inlined // nil: a return leaves fn
	results  []*ir.Variable
	nested   int // statements that may run several times, or not at all
}

// A binding is what a name stands for: a variable, a pointer that never changes, or a function.
type binding struct {
	v   *ir.Variable
	e   *ir.Expr
	lit *ast.FuncLit
	f   *frame // of lit
}

type jump struct {
	label       string
	exit, again *ir.Stmt // the targets of break and continue; nil if it is none
	againExits  bool     // continue leaves a block
}

// inlined is where a return of an inlined function goes.
type inlined struct {
	block   *ir.Stmt
	results []*ir.Variable
}

// abort ends the lowering of a statement that has a problem.
type abort struct{}

func (f *frame) refuse(pos token.Pos, format string, args ...any) {
	f.Problem(pos, format, args...)
	panic(abort{})
}

// recoverable runs g, and goes on after a problem in it. After a problem what was lowered has gaps,
// such as a variable of a type that kernels do not have, so that another panic means nothing.
func (l *Lowerer) recoverable(g func()) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			if _, is := v.(abort); !is && len(l.Problems) == 0 {
				panic(v)
			}
			ok = false
		}
	}()
	g()
	return true
}

func (f *frame) typeOf(e ast.Expr) types.Type { return f.close(f.pkg.Info.TypeOf(e)) }

// close is t with what the type parameters stand for here.
func (f *frame) close(t types.Type) types.Type { return f.Types.Close(t, f.env) }

// irType is the type of an expression.
func (f *frame) irType(pos token.Pos, t types.Type, s ir.Space) *ir.Type {
	it, err := f.Types.Of(f.close(t), s)
	if err != nil {
		f.refuse(pos, "%v", err)
	}
	return it
}

func (f *frame) emit(s *ir.Stmt) { *f.out = append(*f.out, s) }

// collect is the statements that g emits.
func (f *frame) collect(g func()) []*ir.Stmt {
	var list []*ir.Stmt
	old := f.out
	f.out = &list
	defer func() { f.out = old }()
	g()
	return list
}

// declare makes a variable of value x; nil is zero.
func (f *frame) declare(pos token.Pos, name string, t *ir.Type, x *ir.Expr) *ir.Variable {
	if t.Kind == ir.KindItem {
		f.refuse(pos, "an item is only passed on, and asked; a kernel has one: use its parameter")
	}
	v := f.fn.NewVar(name, t)
	f.emit(&ir.Stmt{Kind: ir.StmtDecl, Pos: pos, Var: v, X: x})
	return v
}

// temp is e as a variable of its own.
func (f *frame) temp(e *ir.Expr) *ir.Expr {
	if e.Op == ir.OpVar && e.Var.Table == nil {
		return e
	}
	return f.snapshot(e)
}

// snapshot is the value that e has now, whatever is assigned later.
func (f *frame) snapshot(e *ir.Expr) *ir.Expr {
	if e.Op == ir.OpConst {
		return e
	}
	return ir.VarExpr(f.declare(e.Pos, "", e.Type, e), e.Pos)
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

// deref is what pointer p leads to.
func deref(p *ir.Expr) *ir.Expr {
	if p.Op == ir.OpAddr {
		return p.X
	}
	return &ir.Expr{Op: ir.OpDeref, Type: p.Type.Elem, Pos: p.Pos, X: p}
}

// address is a pointer to place e.
func (f *frame) address(e *ir.Expr) *ir.Expr {
	if !e.Place() {
		e = f.temp(e)
	}
	return &ir.Expr{Op: ir.OpAddr, Type: f.Types.Pointer(e.Type, e.Space()), Pos: e.Pos, X: e}
}

// constantOf is v as a value of type t.
func (f *frame) constantOf(pos token.Pos, v constant.Value, t *ir.Type) *ir.Expr {
	switch {
	case t.Kind == ir.KindFloat32:
		x, _ := constant.Float32Val(constant.ToFloat(v))
		v = constant.MakeFloat64(float64(x))
	case t.Kind == ir.KindFloat64:
		x, _ := constant.Float64Val(constant.ToFloat(v))
		v = constant.MakeFloat64(x)
	case t.Integer():
		v = constant.ToInt(v)
	}
	if t.Kind != ir.KindBool && v.Kind() == constant.Unknown {
		f.refuse(pos, "a constant that %s does not have; write one that it has", ir.Basics[t.Kind].GoName)
	}
	return &ir.Expr{Op: ir.OpConst, Type: t, Pos: pos, Value: v}
}

func (f *frame) intConst(pos token.Pos, n int64) *ir.Expr {
	return &ir.Expr{Op: ir.OpConst, Type: f.Types.Basic(ir.KindInt64), Pos: pos, Value: constant.MakeInt64(n)}
}

// function is the function for a call with arguments of certain types, lowered now if it is new.
func (l *Lowerer) function(pkg *Package, decl *ast.FuncDecl, key string, e ir.Env, args []*ir.Expr, at *frame,
	pos token.Pos,
) *ir.Function {
	for _, a := range args {
		key += " " + a.Type.Key
	}
	if fn := l.funcs[key]; fn != nil {
		if !fn.Done {
			at.refuse(pos, "%s calls itself, and a kernel has no recursion; use a loop", decl.Name.Name)
		}
		return fn
	}
	fn := &ir.Function{
		Name: decl.Name.Name, Pos: decl.Pos(), Names: ir.Scope{},
	}
	if pkg.listed != l.Root {
		fn.Imported = pkg.Name + "." + decl.Name.Name
	}
	l.funcs[key] = fn
	f := &frame{
		Lowerer: l, pkg: pkg, env: e, fn: fn, bind: map[types.Object]binding{},
		assigned: assignedIn(pkg.Info, decl),
	}
	fn.Body = f.collect(func() {
		f.recoverable(func() { f.params(decl.Recv, decl.Type, args) })
		f.block(decl.Body)
	})
	fn.Done = true
	fn.Effects, fn.Memory = effects(fn.Body)
	fn.Elementary = elementary(pkg, decl, fn)
	return fn
}

// params declares the parameters of a function, of the types of args, and its named results.
func (f *frame) params(recv *ast.FieldList, sig *ast.FuncType, args []*ir.Expr) {
	names := paramNames(recv, sig)
	for i, a := range args {
		v := f.fn.NewVar(names[i].Name, a.Type)
		f.fn.Params = append(f.fn.Params, v)
		if o := f.pkg.Info.Defs[names[i]]; o != nil {
			f.bind[o] = binding{v: v}
		}
	}
	f.resultTypes(sig, func(t *ir.Type) { f.fn.Results = append(f.fn.Results, t) })
}

// resultTypes calls add for each result of a function, and declares those that have names.
func (f *frame) resultTypes(sig *ast.FuncType, add func(*ir.Type)) {
	if sig.Results == nil {
		return
	}
	for _, r := range sig.Results.List {
		t := f.irType(r.Type.Pos(), f.pkg.Info.TypeOf(r.Type), ir.SpaceGlobal)
		if t.Kind == ir.KindPointer {
			f.refuse(r.Type.Pos(), "a kernel has no functions that return a pointer; return a value or an index")
		}
		add(t)
		for _, name := range r.Names {
			v := f.declare(name.Pos(), name.Name, t, nil)
			f.results = append(f.results, v)
			if o := f.pkg.Info.Defs[name]; o != nil {
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
func effects(list []*ir.Stmt) (writes, reads bool) {
	ir.WalkExprs(list, func(e *ir.Expr) {
		switch {
		case e.Op == ir.OpCall:
			writes, reads = writes || e.Fn.Effects, reads || e.Fn.Memory
		case e.Atomic():
			writes = true
		case (e.Op == ir.OpIndex || e.Op == ir.OpField || e.Op == ir.OpDeref) && ir.Shared(e):
			reads = true
		}
	})
	ir.Walk(list, func(s *ir.Stmt) { writes = writes || s.Kind == ir.StmtAssign && ir.Shared(s.X) })
	return writes, reads
}

// elementary tells whether Go can call fn, which decl declares in package rmath, or f32, where it
// is. Those with an int, which is an int64 here, are printed.
func elementary(pkg *Package, decl *ast.FuncDecl, fn *ir.Function) bool {
	if path := pkg.ImportPath; path != ir.ModulePath+"rmath" && path != ir.ModulePath+"rmath/f32" {
		return false
	}
	other := func(t *ir.Type) bool { return t.Kind != ir.KindFloat32 && t.Kind != ir.KindFloat64 }
	return decl.Name.IsExported() && !slices.ContainsFunc(fn.Results, other) &&
		!slices.ContainsFunc(fn.Params, func(v *ir.Variable) bool { return other(v.Type) })
}

package front

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// callValue lowers a call with one result.
func (f *frame) callValue(e *ast.CallExpr) *ir.Expr {
	r := f.call(e)
	if len(r) != 1 {
		f.refuse(e.Pos(), "the call has no value")
	}
	return r[0]
}

// call lowers a call, a conversion or a built-in function; it gives the results.
func (f *frame) call(e *ast.CallExpr) []*ir.Expr {
	fun := ast.Unparen(e.Fun)
	if tv := f.pkg.Info.Types[fun]; tv.IsType() {
		return []*ir.Expr{f.conversion(e, tv.Type)}
	} else if tv.IsBuiltin() {
		return f.builtin(e, fun)
	}
	if lit, ok := fun.(*ast.FuncLit); ok {
		return f.closure(e, lit, f)
	}
	id := callee(fun)
	if id == nil {
		f.refuse(e.Pos(), "a call of a computed function; call one by its name")
	}
	o := f.pkg.Info.Uses[id]
	if b, ok := f.lookup(o); ok && b.lit != nil {
		return f.closure(e, b.lit, b.f)
	}
	fn, ok := o.(*types.Func)
	if !ok {
		f.refuse(e.Pos(), "a call of a function that is a value; call one by its name")
	}
	if fn.Pkg() != nil && fn.Pkg().Path() == ir.GPUPath {
		return f.gpuCall(e, fun, fn, id)
	}
	if fn.Pkg() != nil && f.standard(fn.Pkg()) {
		return f.mathCall(e, fn)
	}
	return f.userCall(e, fun, fn, id)
}

func (f *frame) standard(p *types.Package) bool {
	l := f.Listed[p.Path()]
	return l != nil && l.Standard
}

// callee is the name in the function of a call.
func callee(fun ast.Expr) *ast.Ident {
	switch x := fun.(type) {
	case *ast.Ident:
		return x
	case *ast.SelectorExpr:
		return x.Sel
	case *ast.IndexExpr:
		return callee(ast.Unparen(x.X))
	case *ast.IndexListExpr:
		return callee(ast.Unparen(x.X))
	}
	return nil
}

func (f *frame) conversion(e *ast.CallExpr, target types.Type) *ir.Expr {
	t := f.irType(e.Pos(), target, ir.SpacePrivate)
	if v := f.pkg.Info.Types[e.Args[0]].Value; v != nil && t.Number() {
		// where t is a type parameter, Go gives the constant its default type first
		from := f.irType(e.Args[0].Pos(), f.pkg.Info.TypeOf(e.Args[0]), ir.SpacePrivate)
		if from.Integer() || !t.Integer() {
			return f.constantOf(e.Pos(), f.constantOf(e.Args[0].Pos(), v, from).Value, t)
		}
	}
	x := f.expr(e.Args[0])
	switch {
	case t.Number() && x.Type.Number():
		return f.convert(x, t)
	case t.Kind == x.Type.Kind && (t == x.Type || t.Kind == ir.KindBool ||
		t.Kind == ir.KindSlice && t.Elem == x.Type.Elem):
		return x
	}
	f.refuse(e.Pos(), "a conversion that kernels do not have; copy the fields or elements")
	return nil
}

// builtin lowers Go's own functions.
func (f *frame) builtin(e *ast.CallExpr, fun ast.Expr) []*ir.Expr {
	name := callee(fun).Name
	switch name {
	case "len", "cap":
		if name == "cap" {
			f.refuse(e.Pos(), "a kernel's slices have no capacity; use len")
		}
		x := f.expr(e.Args[0])
		if x.Type.Kind == ir.KindPointer {
			x = deref(x)
		}
		if x.Type.Kind == ir.KindArray {
			return []*ir.Expr{f.intConst(e.Pos(), x.Type.Len)}
		}
		return []*ir.Expr{{Op: ir.OpLen, Type: f.Types.Basic(ir.KindInt64), Pos: e.Pos(), X: x}}
	case "min", "max":
		t := f.irType(e.Pos(), f.pkg.Info.TypeOf(e), ir.SpacePrivate)
		var r *ir.Expr
		for i, x := range f.inOrder(e.Args...) {
			x = f.assignable(e.Args[i].Pos(), x, t)
			if r == nil {
				r = x
			} else {
				r = &ir.Expr{Op: ir.OpBuiltin, Type: t, Pos: e.Pos(), Name: name, Args: []*ir.Expr{r, x}}
			}
		}
		return []*ir.Expr{r}
	case "new", "make", "append":
		f.refuse(e.Pos(), "a kernel allocates nothing; use an array of constant size, or pass a slice")
	case "panic", "recover", "print", "println":
		f.refuse(e.Pos(), "a kernel has no %s; write an error number to a slice", name)
	case "copy", "clear":
		f.refuse(e.Pos(), "a kernel has no %s; write a loop", name)
	}
	f.refuse(e.Pos(), "a kernel has no %s; leave it out", name)
	return nil
}

// args lowers the arguments of a call behind those that there are already. A call with several
// results may be all of them.
func (f *frame) args(e *ast.CallExpr, first ...*ir.Expr) []*ir.Expr {
	if e.Ellipsis != token.NoPos {
		f.refuse(e.Ellipsis, "a kernel has no variadic functions; pass a slice or an array")
	}
	if len(e.Args) == 1 {
		if c, ok := ast.Unparen(e.Args[0]).(*ast.CallExpr); ok {
			if t, ok := f.pkg.Info.TypeOf(c).(*types.Tuple); ok && t.Len() > 1 {
				var results []*ir.Expr
				f.after(first, func() { results = f.call(c) })
				return append(first, results...)
			}
		}
	}
	for _, a := range e.Args {
		var x *ir.Expr
		f.after(first, func() { x = f.expr(a) })
		first = append(first, x)
	}
	return first
}

// inOrder lowers expressions one after the other; nil stays nil.
func (f *frame) inOrder(list ...ast.Expr) []*ir.Expr {
	values := make([]*ir.Expr, len(list))
	for i, e := range list {
		if e != nil {
			f.after(values[:i], func() { values[i] = f.expr(e) })
		}
	}
	return values
}

// after calls lower, which lowers what Go evaluates behind some expressions. Go makes calls in the
// order of the text: if what comes of it may change something, the calls in these expressions are
// made before.
func (f *frame) after(before []*ir.Expr, lower func()) {
	at := len(*f.out)
	lower()
	if len(before) == 0 || !changes((*f.out)[at:]) {
		return
	}
	behind := slices.Clone((*f.out)[at:])
	*f.out = (*f.out)[:at]
	for i, e := range before {
		before[i] = f.settle(e)
	}
	*f.out = append(*f.out, behind...)
}

// settle is e with what it calls computed now: also logical operations, which have their place in
// Go's order as calls have.
func (f *frame) settle(e *ir.Expr) *ir.Expr {
	if e == nil {
		return nil
	}
	logical := e.Op == ir.OpBinary && (e.Token == token.LAND || e.Token == token.LOR)
	if e.Op == ir.OpCall || e.Op == ir.OpBuiltin || e.ByCall || logical {
		return f.snapshot(e)
	}
	c := *e
	c.X, c.Y, c.Z = f.settle(e.X), f.settle(e.Y), f.settle(e.Z)
	c.Args = slices.Clone(e.Args)
	for i, a := range c.Args {
		c.Args[i] = f.settle(a)
	}
	return &c
}

// changes tells whether statements may change what an expression before them depends on: anything
// but variables of their own.
func changes(list []*ir.Stmt) bool {
	own := ir.DeclaredIn(list)
	return ir.Any(list, func(s *ir.Stmt) bool {
		return s.Kind == ir.StmtBarrier || s.Kind == ir.StmtAssign && !own[ir.RootVariable(s.X)]
	}) || ir.AnyExpr(list, func(e *ir.Expr) bool { return e.Op == ir.OpCall && e.Fn.Effects || e.Atomic() })
}

// gpuCall is a call of package gpu, or of a method of its types.
func (f *frame) gpuCall(e *ast.CallExpr, fun ast.Expr, fn *types.Func, id *ast.Ident) []*ir.Expr {
	sig := fn.Type().(*types.Signature)
	name := fn.Name()
	if sig.Recv() != nil {
		x := f.expr(ast.Unparen(fun).(*ast.SelectorExpr).X)
		if x.Type.Kind == ir.KindItem {
			return f.itemCall(e, name)
		}
		return f.matrixCall(e, name, x)
	}
	switch {
	case name == "Local":
		return []*ir.Expr{f.localMemory(e, id)}
	case name == "Uniform":
		args, t := f.args(e), f.irType(e.Pos(), f.pkg.Info.TypeOf(e), ir.SpacePrivate)
		return f.meet(e, name, t, f.assignable(e.Pos(), args[1], t))
	case name == "FMA":
		args := f.typed(e)
		if t := args[0].Type; t.Integer() {
			product := &ir.Expr{Op: ir.OpBinary, Type: t, Pos: e.Pos(), Token: token.MUL, X: args[0], Y: args[1]}
			return []*ir.Expr{{Op: ir.OpBinary, Type: t, Pos: e.Pos(), Token: token.ADD, X: product, Y: args[2]}}
		}
		return []*ir.Expr{{Op: ir.OpBuiltin, Type: args[0].Type, Pos: e.Pos(), Name: "fma", Args: args}}
	case strings.HasPrefix(name, "Atomic"):
		args := f.args(e)
		t := args[0].Type.Elem
		if s := args[0].Type.Space; s != ir.SpaceGlobal && s != ir.SpaceLocal {
			f.refuse(e.Pos(), "an atomic operation on a private variable; use an operator")
		}
		for i := range args[1:] {
			args[i+1] = f.assignable(e.Pos(), args[i+1], t)
		}
		return []*ir.Expr{f.snapshot(&ir.Expr{Op: ir.OpBuiltin, Type: t, Pos: e.Pos(), Name: name, Args: args})}
	case fn.Origin().Type().(*types.Signature).TypeParams().Len() == 1:
		return f.elementary(e, name)
	}
	f.refuse(e.Pos(), "gpu.%s is not for kernels; use what docs/kernels.md lists", name)
	return nil
}

// elementary is a call of a function of package gpu that is one of package rmath, or of rmath/f32
// for float32.
func (f *frame) elementary(e *ast.CallExpr, name string) []*ir.Expr {
	path := ir.ModulePath + "rmath"
	args := f.typed(e)
	if args[0].Type.Kind == ir.KindFloat32 {
		path += "/f32"
	}
	pkg := f.Loaded[path]
	if pkg == nil {
		f.need[path] = true
		panic(abort{})
	}
	fn := pkg.Types.Scope().Lookup(name).(*types.Func)
	return f.callFunction(e, f.function(pkg, pkg.funcs[fn], f.keyOf(fn, nil), ir.Env{}, args, f, e.Pos()), args)
}

// typed is the arguments of a call whose parameters and result have one type.
func (f *frame) typed(e *ast.CallExpr) []*ir.Expr {
	t := f.irType(e.Pos(), f.pkg.Info.TypeOf(e), ir.SpacePrivate)
	args := f.args(e)
	for i := range args {
		args[i] = f.assignable(e.Pos(), args[i], t) // they may be those of one call
	}
	return args
}

func (f *frame) itemCall(e *ast.CallExpr, name string) []*ir.Expr {
	if name == "Barrier" {
		f.emit(&ir.Stmt{Kind: ir.StmtBarrier, Pos: e.Pos()})
		return nil
	}
	if name == "Any" {
		return f.meet(e, name, f.Types.Basic(ir.KindInt32), f.expr(e.Args[0]))
	}
	d, ok := int64(0), false
	if v := f.pkg.Info.Types[e.Args[0]].Value; v != nil {
		d, ok = constant.Int64Val(v)
	}
	if !ok || d < 0 || d > 2 {
		f.refuse(e.Args[0].Pos(), "a dimension that is not the constant 0, 1 or 2; write one of these")
	}
	return []*ir.Expr{{Op: ir.OpItem, Type: f.Types.Basic(ir.KindInt64), Pos: e.Pos(), Name: name, N: int(d)}}
}

// meet is a barrier with a result, over which the group agrees in memory of type t.
func (f *frame) meet(e *ast.CallExpr, name string, t *ir.Type, x *ir.Expr) []*ir.Expr {
	key := name + " " + t.Key
	v := f.fn.Meeting[key]
	if v == nil {
		v = f.fn.NewVar("agreed", t)
		v.Local = true
		if f.fn.Meeting == nil {
			f.fn.Meeting = map[string]*ir.Variable{}
		}
		f.fn.Meeting[key] = v
	}
	r := f.fn.NewVar("", x.Type)
	meeting := &ir.Meeting{Name: name, Shared: v}
	f.emit(&ir.Stmt{Kind: ir.StmtBarrier, Pos: e.Pos(), Var: r, X: x, Meeting: meeting})
	return []*ir.Expr{ir.VarExpr(r, e.Pos())}
}

// matrixCall is At or Set of a matrix.
func (f *frame) matrixCall(e *ast.CallExpr, name string, m *ir.Expr) []*ir.Expr {
	if m.Type.Kind == ir.KindPointer {
		m = deref(m)
	}
	args := f.args(e, m)
	m, args = args[0], args[1:]
	field := func(i int) *ir.Expr { return f.path(e.Pos(), m, []int{i}) }
	integer := f.Types.Basic(ir.KindInt64)
	within := func(name string, i *ir.Expr, limit int) *ir.Expr {
		return &ir.Expr{Op: ir.OpWithin, Type: integer, Pos: e.Pos(), Name: name, X: f.toInt(i), Y: field(limit)}
	}
	row := f.combine(e.Pos(), token.MUL, integer, within("ROW", args[0], 1), field(3))
	at := f.combine(e.Pos(), token.ADD, integer, row, within("COLUMN", args[1], 2))
	place := f.indexed(e.Pos(), field(0), at)
	place.ByCall = true
	if name == "At" {
		return []*ir.Expr{place}
	}
	f.emit(&ir.Stmt{Kind: ir.StmtAssign, Pos: e.Pos(), X: place, Y: f.assignable(e.Pos(), args[2], place.Type)})
	return nil
}

// localMemory is gpu.Local: an array of the group, and a pointer to it.
func (f *frame) localMemory(e *ast.CallExpr, id *ast.Ident) *ir.Expr {
	t := f.irType(e.Pos(), f.pkg.Info.Instances[id].TypeArgs.At(0), ir.SpacePrivate)
	if t.Kind != ir.KindArray || t.Size == 0 {
		f.refuse(e.Pos(), "local memory is an array of constant size, of numbers or structs; write gpu.Local[[n]T](it)")
	}
	if f.nested > 0 {
		f.refuse(e.Pos(), "local memory in a statement that may run several times, or not at all; declare it before")
	}
	f.expr(e.Args[0])
	v := f.fn.NewVar("shared", t)
	v.Local = true
	return f.address(ir.VarExpr(v, e.Pos()))
}

// userCall calls a function or method that is written in Go.
func (f *frame) userCall(e *ast.CallExpr, fun ast.Expr, fn *types.Func, id *ast.Ident) []*ir.Expr {
	sig := fn.Type().(*types.Signature)
	if sig.Variadic() {
		f.refuse(e.Pos(), "%s takes a variable number of arguments; pass an array or a slice", fn.Name())
	}
	callEnv := ir.Env{}
	var args []*ir.Expr
	if sel, ok := fun.(*ast.SelectorExpr); ok && sig.Recv() != nil {
		s := f.pkg.Info.Selections[sel]
		if s == nil || s.Kind() != types.MethodVal {
			f.refuse(e.Pos(), "a method expression; call the method of a value")
		}
		fn = f.method(e, s, fn)
		if types.IsInterface(fn.Type().(*types.Signature).Recv().Type()) {
			f.refuse(e.Pos(), "a call of %s through an interface, and a kernel has none; use a type parameter",
				fn.Name())
		}
		args = []*ir.Expr{f.receiver(sel, s, fn)}
		f.receiverTypes(fn, callEnv)
	}
	origin := fn.Origin()
	if inst, ok := f.pkg.Info.Instances[id]; ok {
		params := origin.Type().(*types.Signature).TypeParams()
		for i := range params.Len() {
			callEnv[params.At(i)] = f.close(inst.TypeArgs.At(i))
		}
	}
	pkg := f.sourceOf(e.Pos(), origin.Pkg(), origin.Name())
	decl := pkg.funcs[origin]
	if decl == nil || decl.Body == nil {
		f.refuse(e.Pos(), "%s has no body in Go; write one", fn.Name())
	}
	args = f.args(e, args...)
	f.matchParams(e, origin.Type().(*types.Signature), callEnv, args)
	key := f.keyOf(origin, callEnv)
	if slices.ContainsFunc(args, func(a *ir.Expr) bool { return a.Type.Kind == ir.KindItem }) {
		g := &frame{
			Lowerer: f.Lowerer, pkg: pkg, env: callEnv, bind: map[types.Object]binding{},
			assigned: assignedIn(pkg.Info, decl),
		}
		return f.inlineCall(e, g, key, decl.Recv, decl.Type, decl.Body, args)
	}
	return f.callFunction(e, f.function(pkg, decl, key, callEnv, args, f, e.Pos()), args)
}

// matchParams gives constants among the arguments the types of the parameters.
func (f *frame) matchParams(e *ast.CallExpr, sig *types.Signature, callEnv ir.Env, args []*ir.Expr) {
	offset := len(args) - sig.Params().Len()
	for i := range sig.Params().Len() {
		a := args[i+offset]
		closed := f.Types.Close(sig.Params().At(i).Type(), callEnv)
		if t, err := f.Types.Of(closed, ir.SpaceGlobal); err == nil && t.Scalar() {
			args[i+offset] = f.assignable(e.Pos(), a, t)
		}
	}
}

func (l *Lowerer) keyOf(fn *types.Func, e ir.Env) string {
	key := fn.FullName() + strconv.Itoa(int(fn.Pos()))
	sig := fn.Type().(*types.Signature)
	for _, list := range []*types.TypeParamList{sig.RecvTypeParams(), sig.TypeParams()} {
		for i := range list.Len() {
			key += "," + strconv.Itoa(l.Types.ID(e[list.At(i)]))
		}
	}
	return key
}

// method is the method that a call of s means: that of the type which a type parameter stands for.
func (f *frame) method(e *ast.CallExpr, s *types.Selection, fn *types.Func) *types.Func {
	if _, ok := types.Unalias(s.Recv()).(*types.TypeParam); !ok {
		return fn
	}
	o, _, _ := types.LookupFieldOrMethod(f.close(s.Recv()), true, fn.Pkg(), fn.Name())
	m, ok := o.(*types.Func)
	if !ok {
		f.refuse(e.Pos(), "the method %s of a type parameter; call a function", fn.Name())
	}
	return m
}

// receiver is the receiver of a method call, as the method takes it.
func (f *frame) receiver(sel *ast.SelectorExpr, s *types.Selection, fn *types.Func) *ir.Expr {
	x := f.expr(sel.X)
	index := s.Index()
	if _, parameter := types.Unalias(s.Recv()).(*types.TypeParam); parameter { // the method may be an embedded field's
		_, index, _ = types.LookupFieldOrMethod(f.close(s.Recv()), true, fn.Pkg(), fn.Name())
	}
	if len(index) > 1 {
		x = f.path(sel.Pos(), x, index[:len(index)-1])
	}
	_, wantsPointer := types.Unalias(fn.Origin().Type().(*types.Signature).Recv().Type()).(*types.Pointer)
	switch {
	case wantsPointer && x.Type.Kind != ir.KindPointer:
		return f.address(x)
	case !wantsPointer && x.Type.Kind == ir.KindPointer:
		return deref(x)
	}
	return x
}

// receiverTypes binds the type parameters of a method's receiver.
func (f *frame) receiverTypes(fn *types.Func, callEnv ir.Env) {
	params := fn.Origin().Type().(*types.Signature).RecvTypeParams()
	if params.Len() == 0 {
		return
	}
	t := f.close(fn.Type().(*types.Signature).Recv().Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if n, ok := t.(*types.Named); ok && n.TypeArgs().Len() == params.Len() {
		for i := range params.Len() {
			callEnv[params.At(i)] = f.close(n.TypeArgs().At(i))
		}
	}
}

// callFunction calls a function that is printed as one. A call that has effects, or that depends on
// those of others, is a statement of its own.
func (f *frame) callFunction(e *ast.CallExpr, fn *ir.Function, args []*ir.Expr) []*ir.Expr {
	if x := constantCall(fn, args, e.Pos()); x != nil {
		return []*ir.Expr{x}
	}
	f.fn.Calls = append(f.fn.Calls, fn)
	c := &ir.Expr{Op: ir.OpCall, Pos: e.Pos(), Fn: fn, Args: args}
	switch len(fn.Results) {
	case 0:
		f.emit(&ir.Stmt{Kind: ir.StmtCall, Pos: e.Pos(), X: c})
		return nil
	case 1:
		c.Type = fn.Results[0]
		if fn.Effects || fn.Memory {
			return []*ir.Expr{f.snapshot(c)}
		}
		return []*ir.Expr{c}
	}
	s := &ir.Stmt{Kind: ir.StmtCall, Pos: e.Pos(), X: c}
	var r []*ir.Expr
	for _, t := range fn.Results {
		v := f.declare(e.Pos(), "", t, nil)
		s.Dst = append(s.Dst, v)
		r = append(r, ir.VarExpr(v, e.Pos()))
	}
	f.emit(s)
	return r
}

// closure calls a function literal: its body takes the call's place.
func (f *frame) closure(e *ast.CallExpr, lit *ast.FuncLit, def *frame) []*ir.Expr {
	args := f.args(e)
	if t, ok := f.pkg.Info.TypeOf(lit).(*types.Signature); ok {
		if t.Variadic() {
			f.refuse(e.Pos(), "a function with a variable number of arguments; pass an array or a slice")
		}
		f.matchParams(e, t, f.env, args)
	}
	g := &frame{
		Lowerer: f.Lowerer, pkg: def.pkg, env: def.env, outer: def, bind: map[types.Object]binding{},
		assigned: def.assigned,
	}
	return f.inlineCall(e, g, "closure "+strconv.Itoa(int(lit.Pos())), nil, lit.Type, lit.Body, args)
}

// maxCopies is how many calls of a kernel are replaced by the bodies of functions.
const maxCopies = 1000

// inlineCall puts the body of a function in place of a call. g is its frame.
func (f *frame) inlineCall(e *ast.CallExpr, g *frame, key string, recv *ast.FieldList, sig *ast.FuncType,
	body *ast.BlockStmt, args []*ir.Expr,
) []*ir.Expr {
	if slices.Contains(f.active, key) {
		f.refuse(e.Pos(), "a function that calls itself, and a kernel has no recursion; use a loop")
	}
	if len(f.active) > 100 {
		f.refuse(e.Pos(), "calls nested more than 100 deep; use a loop")
	}
	if f.Lowerer.copies++; f.Lowerer.copies > maxCopies {
		f.refuse(e.Pos(), "more than %d calls of function literals and of functions with an item, each of which takes "+
			"its call's place; use a loop, or a function without an item", maxCopies)
	}
	f.Lowerer.active = append(f.Lowerer.active, key)
	defer func() { f.Lowerer.active = f.Lowerer.active[:len(f.Lowerer.active)-1] }()
	g.fn, g.out, g.nested = f.fn, f.out, f.nested
	for i, name := range paramNames(recv, sig) {
		if args[i].Type.Kind == ir.KindItem {
			g.bind[g.pkg.Info.Defs[name]] = binding{e: args[i]}
			continue
		}
		g.bindNew(name, args[i])
	}
	var results []*ir.Expr
	in := &inlined{block: &ir.Stmt{Kind: ir.StmtBlock, Pos: e.Pos()}}
	g.resultTypes(sig, func(t *ir.Type) {
		in.results, results = append(in.results, nil), append(results, &ir.Expr{Type: t})
	})
	for i, r := range results {
		v := (*ir.Variable)(nil)
		if i < len(g.results) {
			v = g.results[i]
		} else {
			v = f.declare(e.Pos(), "", r.Type, nil)
		}
		in.results[i], results[i] = v, ir.VarExpr(v, e.Pos())
	}
	g.inline = in
	in.block.Body = g.collect(func() { g.block(body) })
	ir.TrimExit(in.block)
	f.emit(in.block)
	return results
}

package compiler

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// callValue lowers a call with one result.
func (f *frame) callValue(e *ast.CallExpr) *expr {
	r := f.call(e)
	if len(r) != 1 {
		f.refuse(e.Pos(), "the call has no value")
	}
	return r[0]
}

// call lowers a call, a conversion or a built-in function; it gives the results.
func (f *frame) call(e *ast.CallExpr) []*expr {
	fun := ast.Unparen(e.Fun)
	if tv := f.pkg.info.Types[fun]; tv.IsType() {
		return []*expr{f.conversion(e, tv.Type)}
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
	o := f.pkg.info.Uses[id]
	if b, ok := f.lookup(o); ok && b.lit != nil {
		return f.closure(e, b.lit, b.f)
	}
	fn, ok := o.(*types.Func)
	if !ok {
		f.refuse(e.Pos(), "a call of a function that is a value; call one by its name")
	}
	if fn.Pkg() != nil && fn.Pkg().Path() == gpuPath {
		return f.gpuCall(e, fun, fn, id)
	}
	if fn.Pkg() != nil && f.standard(fn.Pkg()) {
		return f.mathCall(e, fn)
	}
	return f.userCall(e, fun, fn, id)
}

func (f *frame) standard(p *types.Package) bool {
	l := f.listed[p.Path()]
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

func (f *frame) conversion(e *ast.CallExpr, target types.Type) *expr {
	t := f.irType(e.Pos(), target, spacePrivate)
	if v := f.pkg.info.Types[e.Args[0]].Value; v != nil && t.number() {
		// where t is a type parameter, Go gives the constant its default type first
		from := f.irType(e.Args[0].Pos(), f.pkg.info.TypeOf(e.Args[0]), spacePrivate)
		if from.integer() || !t.integer() {
			return f.constantOf(e.Pos(), f.constantOf(e.Args[0].Pos(), v, from).value, t)
		}
	}
	x := f.expr(e.Args[0])
	switch {
	case t.number() && x.typ.number():
		return f.convert(x, t)
	case t.kind == x.typ.kind && (t.kind == kindBool || t.kind == kindSlice && t.elem == x.typ.elem || t == x.typ):
		return x
	}
	f.refuse(e.Pos(), "a conversion that kernels do not have; copy the fields or elements")
	return nil
}

// builtin lowers Go's own functions.
func (f *frame) builtin(e *ast.CallExpr, fun ast.Expr) []*expr {
	name := callee(fun).Name
	switch name {
	case "len", "cap":
		if name == "cap" {
			f.refuse(e.Pos(), "a kernel's slices have no capacity; use len")
		}
		x := f.expr(e.Args[0])
		if x.typ.kind == kindPointer {
			x = deref(x)
		}
		if x.typ.kind == kindArray {
			return []*expr{f.intConst(e.Pos(), x.typ.len)}
		}
		return []*expr{{op: opLen, typ: f.types.basic(kindInt64), pos: e.Pos(), x: x}}
	case "min", "max":
		t := f.irType(e.Pos(), f.pkg.info.TypeOf(e), spacePrivate)
		var r *expr
		for i, x := range f.inOrder(e.Args...) {
			x = f.assignable(e.Args[i].Pos(), x, t)
			if r == nil {
				r = x
			} else {
				r = &expr{op: opBuiltin, typ: t, pos: e.Pos(), name: name, args: []*expr{r, x}}
			}
		}
		return []*expr{r}
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
func (f *frame) args(e *ast.CallExpr, first ...*expr) []*expr {
	if e.Ellipsis != token.NoPos {
		f.refuse(e.Ellipsis, "a kernel has no variadic functions; pass a slice or an array")
	}
	if len(e.Args) == 1 {
		if c, ok := ast.Unparen(e.Args[0]).(*ast.CallExpr); ok {
			if t, ok := f.pkg.info.TypeOf(c).(*types.Tuple); ok && t.Len() > 1 {
				var results []*expr
				f.after(first, func() { results = f.call(c) })
				return append(first, results...)
			}
		}
	}
	for _, a := range e.Args {
		var x *expr
		f.after(first, func() { x = f.expr(a) })
		first = append(first, x)
	}
	return first
}

// inOrder lowers expressions one after the other; nil stays nil.
func (f *frame) inOrder(list ...ast.Expr) []*expr {
	values := make([]*expr, len(list))
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
func (f *frame) after(before []*expr, lower func()) {
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
func (f *frame) settle(e *expr) *expr {
	if e == nil {
		return nil
	}
	logical := e.op == opBinary && (e.tok == token.LAND || e.tok == token.LOR)
	if e.op == opCall || e.op == opBuiltin || e.within || logical {
		return f.snapshot(e)
	}
	c := *e
	c.x, c.y, c.z = f.settle(e.x), f.settle(e.y), f.settle(e.z)
	c.args = slices.Clone(e.args)
	for i, a := range c.args {
		c.args[i] = f.settle(a)
	}
	return &c
}

// changes tells whether statements may change what an expression before them depends on: anything
// but variables of their own.
func changes(list []*stmt) bool {
	own, found := map[*variable]bool{}, false
	walk(list, func(s *stmt) {
		if s.kind == stmtDecl {
			own[s.v] = true
		}
	})
	walk(list, func(s *stmt) {
		found = found || s.kind == stmtBarrier || s.kind == stmtAssign && !own[rootVariable(s.x)]
		s.exprs(func(e *expr) {
			e.walk(func(e *expr) {
				found = found || e.op == opCall && e.fn.effects ||
					e.op == opBuiltin && strings.HasPrefix(e.name, "Atomic")
			})
		})
	})
	return found
}

// gpuCall is a call of package gpu, or of a method of its types.
func (f *frame) gpuCall(e *ast.CallExpr, fun ast.Expr, fn *types.Func, id *ast.Ident) []*expr {
	sig := fn.Type().(*types.Signature)
	name := fn.Name()
	if sig.Recv() != nil {
		x := f.expr(ast.Unparen(fun).(*ast.SelectorExpr).X)
		if x.typ.kind == kindItem {
			return f.itemCall(e, name)
		}
		return f.matrixCall(e, name, x)
	}
	switch {
	case name == "Local":
		return []*expr{f.localMemory(e, id)}
	case name == "Uniform":
		args, t := f.args(e), f.irType(e.Pos(), f.pkg.info.TypeOf(e), spacePrivate)
		return f.meet(e, name, t, f.assignable(e.Pos(), args[1], t))
	case name == "FMA":
		args := f.typed(e)
		if t := args[0].typ; t.integer() {
			product := &expr{op: opBinary, typ: t, pos: e.Pos(), tok: token.MUL, x: args[0], y: args[1]}
			return []*expr{{op: opBinary, typ: t, pos: e.Pos(), tok: token.ADD, x: product, y: args[2]}}
		}
		return []*expr{{op: opBuiltin, typ: args[0].typ, pos: e.Pos(), name: "fma", args: args}}
	case strings.HasPrefix(name, "Atomic"):
		args := f.args(e)
		t := args[0].typ.elem
		if s := args[0].typ.space; s != spaceGlobal && s != spaceLocal {
			f.refuse(e.Pos(), "an atomic operation on a private variable; use an operator")
		}
		for i := range args[1:] {
			args[i+1] = f.assignable(e.Pos(), args[i+1], t)
		}
		return []*expr{f.snapshot(&expr{op: opBuiltin, typ: t, pos: e.Pos(), name: name, args: args})}
	case fn.Origin().Type().(*types.Signature).TypeParams().Len() == 1:
		return f.elementary(e, name)
	}
	f.refuse(e.Pos(), "gpu.%s is not for kernels; use what docs/kernels.md lists", name)
	return nil
}

// elementary is a call of a function of package gpu that is one of package rmath, or of rmath/f32
// for float32.
func (f *frame) elementary(e *ast.CallExpr, name string) []*expr {
	path := modulePath + "rmath"
	args := f.typed(e)
	if args[0].typ.kind == kindFloat32 {
		path += "/f32"
	}
	pkg := f.loaded[path]
	if pkg == nil {
		f.need[path] = true
		panic(abort{})
	}
	fn := pkg.types.Scope().Lookup(name).(*types.Func)
	return f.callFunction(e, f.function(pkg, pkg.funcs[fn], f.keyOf(fn, nil), env{}, args, f, e.Pos()), args)
}

// typed is the arguments of a call whose parameters and result have one type.
func (f *frame) typed(e *ast.CallExpr) []*expr {
	t := f.irType(e.Pos(), f.pkg.info.TypeOf(e), spacePrivate)
	args := f.args(e)
	for i := range args {
		args[i] = f.assignable(e.Pos(), args[i], t) // they may be those of one call
	}
	return args
}

func (f *frame) itemCall(e *ast.CallExpr, name string) []*expr {
	if name == "Barrier" {
		f.emit(&stmt{kind: stmtBarrier, pos: e.Pos()})
		return nil
	}
	if name == "Any" {
		return f.meet(e, name, f.types.basic(kindInt32), f.expr(e.Args[0]))
	}
	d, ok := int64(0), false
	if v := f.pkg.info.Types[e.Args[0]].Value; v != nil {
		d, ok = constant.Int64Val(v)
	}
	if !ok || d < 0 || d > 2 {
		f.refuse(e.Args[0].Pos(), "a dimension that is not the constant 0, 1 or 2; write one of these")
	}
	return []*expr{{op: opItem, typ: f.types.basic(kindInt64), pos: e.Pos(), name: name, n: int(d)}}
}

// meet is a barrier with a result, over which the group agrees in memory of type t.
func (f *frame) meet(e *ast.CallExpr, name string, t *typ, x *expr) []*expr {
	key := name + " " + t.key
	v := f.fn.meeting[key]
	if v == nil {
		v = f.fn.newVar("agreed", t)
		v.local = true
		if f.fn.meeting == nil {
			f.fn.meeting = map[string]*variable{}
		}
		f.fn.meeting[key] = v
	}
	r := f.fn.newVar("", x.typ)
	f.emit(&stmt{kind: stmtBarrier, pos: e.Pos(), v: r, x: x, meeting: &meeting{name, v}})
	return []*expr{varExpr(r, e.Pos())}
}

// matrixCall is At or Set of a matrix.
func (f *frame) matrixCall(e *ast.CallExpr, name string, m *expr) []*expr {
	if m.typ.kind == kindPointer {
		m = deref(m)
	}
	args := f.args(e, m)
	m, args = args[0], args[1:]
	field := func(i int) *expr { return f.path(e.Pos(), m, []int{i}) }
	integer := f.types.basic(kindInt64)
	within := func(name string, i *expr, limit int) *expr {
		return &expr{op: opWithin, typ: integer, pos: e.Pos(), name: name, x: f.toInt(i), y: field(limit)}
	}
	row := &expr{op: opBinary, typ: integer, pos: e.Pos(), tok: token.MUL, x: within("ROW", args[0], 1), y: field(3)}
	at := &expr{op: opBinary, typ: integer, pos: e.Pos(), tok: token.ADD, x: row, y: within("COLUMN", args[1], 2)}
	place := f.indexed(e.Pos(), field(0), at)
	place.within = true
	if name == "At" {
		return []*expr{place}
	}
	f.emit(&stmt{kind: stmtAssign, pos: e.Pos(), x: place, y: f.assignable(e.Pos(), args[2], place.typ)})
	return nil
}

// localMemory is gpu.Local: an array of the group, and a pointer to it.
func (f *frame) localMemory(e *ast.CallExpr, id *ast.Ident) *expr {
	t := f.irType(e.Pos(), f.pkg.info.Instances[id].TypeArgs.At(0), spacePrivate)
	if t.kind != kindArray || t.size == 0 {
		f.refuse(e.Pos(), "local memory is an array of constant size, of numbers or structs; write gpu.Local[[n]T](it)")
	}
	if f.nested > 0 {
		f.refuse(e.Pos(), "local memory in a statement that may run several times, or not at all; declare it before")
	}
	f.expr(e.Args[0])
	v := f.fn.newVar("shared", t)
	v.local = true
	return f.address(varExpr(v, e.Pos()))
}

// userCall calls a function or method that is written in Go.
func (f *frame) userCall(e *ast.CallExpr, fun ast.Expr, fn *types.Func, id *ast.Ident) []*expr {
	sig := fn.Type().(*types.Signature)
	if sig.Variadic() {
		f.refuse(e.Pos(), "%s takes a variable number of arguments; pass an array or a slice", fn.Name())
	}
	callEnv := env{}
	var args []*expr
	if sel, ok := fun.(*ast.SelectorExpr); ok && sig.Recv() != nil {
		s := f.pkg.info.Selections[sel]
		if s == nil || s.Kind() != types.MethodVal {
			f.refuse(e.Pos(), "a method expression; call the method of a value")
		}
		fn = f.method(e, s, fn)
		if types.IsInterface(fn.Type().(*types.Signature).Recv().Type()) {
			f.refuse(e.Pos(), "a call of %s through an interface, and a kernel has none; use a type parameter",
				fn.Name())
		}
		args = []*expr{f.receiver(sel, s, fn)}
		f.receiverTypes(fn, s, callEnv)
	}
	origin := fn.Origin()
	if inst, ok := f.pkg.info.Instances[id]; ok {
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
	if slices.ContainsFunc(args, func(a *expr) bool { return a.typ.kind == kindItem }) {
		g := &frame{
			lowerer: f.lowerer, pkg: pkg, env: callEnv, bind: map[types.Object]binding{},
			assigned: assignedIn(pkg.info, decl),
		}
		return f.inlineCall(e, g, key, decl.Recv, decl.Type, decl.Body, args)
	}
	return f.callFunction(e, f.function(pkg, decl, key, callEnv, args, f, e.Pos()), args)
}

// matchParams gives constants among the arguments the types of the parameters.
func (f *frame) matchParams(e *ast.CallExpr, sig *types.Signature, callEnv env, args []*expr) {
	offset := len(args) - sig.Params().Len()
	for i := range sig.Params().Len() {
		a := args[i+offset]
		closed := f.types.close(sig.Params().At(i).Type(), callEnv)
		if t, err := f.types.of(closed, spaceGlobal); err == nil && t.scalar() {
			args[i+offset] = f.assignable(e.Pos(), a, t)
		}
	}
}

func (l *lowerer) keyOf(fn *types.Func, e env) string {
	key := fn.FullName() + itoa(int(fn.Pos()))
	sig := fn.Type().(*types.Signature)
	for _, list := range []*types.TypeParamList{sig.RecvTypeParams(), sig.TypeParams()} {
		for i := range list.Len() {
			key += "," + itoa(l.types.id(e[list.At(i)]))
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
func (f *frame) receiver(sel *ast.SelectorExpr, s *types.Selection, fn *types.Func) *expr {
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
	case wantsPointer && x.typ.kind != kindPointer:
		return f.address(x)
	case !wantsPointer && x.typ.kind == kindPointer:
		return deref(x)
	}
	return x
}

// receiverTypes binds the type parameters of a method's receiver.
func (f *frame) receiverTypes(fn *types.Func, s *types.Selection, callEnv env) {
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
func (f *frame) callFunction(e *ast.CallExpr, fn *function, args []*expr) []*expr {
	f.fn.calls = append(f.fn.calls, fn)
	c := &expr{op: opCall, pos: e.Pos(), fn: fn, args: args}
	switch len(fn.results) {
	case 0:
		f.emit(&stmt{kind: stmtCall, pos: e.Pos(), x: c})
		return nil
	case 1:
		c.typ = fn.results[0]
		if fn.effects || fn.memory {
			return []*expr{f.snapshot(c)}
		}
		return []*expr{c}
	}
	s := &stmt{kind: stmtCall, pos: e.Pos(), x: c}
	var r []*expr
	for _, t := range fn.results {
		v := f.declare(e.Pos(), "", t, nil)
		s.dst = append(s.dst, v)
		r = append(r, varExpr(v, e.Pos()))
	}
	f.emit(s)
	return r
}

// closure calls a function literal: its body takes the call's place.
func (f *frame) closure(e *ast.CallExpr, lit *ast.FuncLit, def *frame) []*expr {
	args := f.args(e)
	if t, ok := f.pkg.info.TypeOf(lit).(*types.Signature); ok {
		if t.Variadic() {
			f.refuse(e.Pos(), "a function with a variable number of arguments; pass an array or a slice")
		}
		f.matchParams(e, t, f.env, args)
	}
	g := &frame{
		lowerer: f.lowerer, pkg: def.pkg, env: def.env, outer: def, bind: map[types.Object]binding{},
		assigned: def.assigned,
	}
	return f.inlineCall(e, g, "closure "+itoa(int(lit.Pos())), nil, lit.Type, lit.Body, args)
}

// maxCopies is how many calls of a kernel are replaced by the bodies of functions.
const maxCopies = 1000

// inlineCall puts the body of a function in place of a call. g is its frame.
func (f *frame) inlineCall(e *ast.CallExpr, g *frame, key string, recv *ast.FieldList, sig *ast.FuncType,
	body *ast.BlockStmt, args []*expr,
) []*expr {
	if slices.Contains(f.active, key) {
		f.refuse(e.Pos(), "a function that calls itself, and a kernel has no recursion; use a loop")
	}
	if len(f.active) > 100 {
		f.refuse(e.Pos(), "calls nested more than 100 deep; use a loop")
	}
	if f.lowerer.copies++; f.lowerer.copies > maxCopies {
		f.refuse(e.Pos(), "more than %d calls of function literals and of functions with an item, each of which takes "+
			"its call's place; use a loop, or a function without an item", maxCopies)
	}
	f.lowerer.active = append(f.lowerer.active, key)
	defer func() { f.lowerer.active = f.lowerer.active[:len(f.lowerer.active)-1] }()
	g.fn, g.out, g.nested = f.fn, f.out, f.nested
	for i, name := range paramNames(recv, sig) {
		if args[i].typ.kind == kindItem {
			g.bind[g.pkg.info.Defs[name]] = binding{e: args[i]}
			continue
		}
		g.bindNew(name, args[i], f.pkg.info)
	}
	var results []*expr
	in := &inlined{block: &stmt{kind: stmtBlock, pos: e.Pos()}}
	g.resultTypes(sig, func(t *typ) { in.results = append(in.results, nil); results = append(results, &expr{typ: t}) })
	for i, r := range results {
		v := (*variable)(nil)
		if i < len(g.results) {
			v = g.results[i]
		} else {
			v = f.declare(e.Pos(), "", r.typ, nil)
		}
		in.results[i], results[i] = v, varExpr(v, e.Pos())
	}
	g.inline = in
	in.block.body = g.collect(func() { g.block(body) })
	trimExit(in.block)
	f.emit(in.block)
	return results
}

// trimExit leaves out a break at the end of a block.
func trimExit(b *stmt) {
	if n := len(b.body); n > 0 && b.body[n-1].kind == stmtBreak && b.body[n-1].target == b {
		b.body = b.body[:n-1]
	}
}

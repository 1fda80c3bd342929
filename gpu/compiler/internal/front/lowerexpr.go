package front

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// expr lowers an expression with one value.
func (f *frame) expr(e ast.Expr) *ir.Expr { return f.shallow(f.unlimited(ast.Unparen(e))) }

// shallow is e, of which a part becomes a variable where it is nested deeper than C compilers take.
func (f *frame) shallow(e *ir.Expr) *ir.Expr {
	if e.Type != nil && e.Type.Scalar() && e.Depth() > maxDepth {
		return f.temp(e)
	}
	return e
}

// maxDepth is how deep expressions are nested: clang's limit for brackets is 256.
const maxDepth = 60

func (f *frame) unlimited(e ast.Expr) *ir.Expr {
	if tv := f.pkg.Info.Types[e]; tv.Value != nil {
		return f.constantOf(e.Pos(), tv.Value, f.irType(e.Pos(), tv.Type, ir.SpacePrivate))
	}
	switch e := e.(type) {
	case *ast.BasicLit: // a constant of a type parameter's type
		v := constant.MakeFromLiteral(e.Value, e.Kind, 0)
		return f.constantOf(e.Pos(), v, f.irType(e.Pos(), f.pkg.Info.TypeOf(e), ir.SpacePrivate))
	case *ast.Ident:
		return f.ident(e)
	case *ast.SelectorExpr:
		return f.selector(e)
	case *ast.IndexExpr:
		return f.index(e)
	case *ast.SliceExpr:
		return f.slice(e)
	case *ast.StarExpr:
		return deref(f.expr(e.X))
	case *ast.UnaryExpr:
		return f.unary(e)
	case *ast.BinaryExpr:
		return f.binary(e)
	case *ast.CallExpr:
		return f.callValue(e)
	case *ast.CompositeLit:
		return f.temp(f.composite(e))
	case *ast.FuncLit:
		f.refuse(e.Pos(), "a function as a value; give it a name with := and call it, or declare it")
	case *ast.TypeAssertExpr:
		f.refuse(e.Pos(), "a kernel has no interfaces; use a type parameter")
	}
	f.refuse(e.Pos(), "a kernel has no expressions of this kind; write it with operators and calls")
	return nil
}

func (f *frame) ident(e *ast.Ident) *ir.Expr {
	o := f.pkg.Info.Uses[e]
	if o == nil {
		o = f.pkg.Info.Defs[e]
	}
	if b, ok := f.lookup(o); ok {
		switch {
		case b.v != nil:
			return ir.VarExpr(b.v, e.Pos())
		case b.e != nil && b.e.Type.Kind == ir.KindItem:
			return &ir.Expr{Op: b.e.Op, Type: b.e.Type, Pos: e.Pos()}
		case b.e != nil:
			return b.e
		}
		f.refuse(e.Pos(), "a function as a value; call it")
	}
	switch o := o.(type) {
	case *types.Var:
		return f.packageVar(e.Pos(), o)
	case *types.Nil:
		f.refuse(e.Pos(), "a kernel has no nil; compare a length, or pass a flag")
	case *types.Func:
		f.refuse(e.Pos(), "a function as a value; call it")
	}
	f.refuse(e.Pos(), "%s is not known here; go vet says why", e.Name)
	return nil
}

// packageVar is a variable of a package, which must be a table that no code changes.
func (f *frame) packageVar(pos token.Pos, o *types.Var) *ir.Expr {
	if t := f.Tables[o]; t != nil {
		return tableExpr(t, pos)
	}
	if o.Pkg() == nil || o.Parent() != o.Pkg().Scope() {
		f.refuse(pos, "%s is declared outside; pass it to the kernel", o.Name())
	}
	pkg := f.sourceOf(pos, o.Pkg(), o.Name())
	for _, g := range f.Loaded {
		switch n := g.dirty[o].(type) {
		case nil:
		case *ast.UnaryExpr, *ast.SliceExpr, *ast.SelectorExpr:
			f.refuse(pos, "variable %s of the package may change, as its address is taken at %s; index it, "+
				"copy it to a variable, or pass it to the kernel", o.Name(), f.Position(n.Pos()))
		default:
			f.refuse(pos, "variable %s of the package changes at %s; pass it to the kernel", o.Name(),
				f.Position(n.Pos()))
		}
	}
	spec := pkg.vars[o]
	g := &frame{Lowerer: f.Lowerer, pkg: pkg, fn: &ir.Function{Names: ir.Scope{}}, bind: map[types.Object]binding{}}
	var value *ir.Expr
	extra := g.collect(func() { value = g.initial(spec, o) })
	t := &ir.Table{Name: o.Name(), Value: value}
	if len(extra) > 0 || !isConstant(value) {
		f.refuse(pos, "variable %s of the package has no constant value; pass it to the kernel", o.Name())
	}
	f.Tables[o] = t
	return tableExpr(t, pos)
}

// initial is the value that a declaration gives to variable o.
func (f *frame) initial(spec *ast.ValueSpec, o *types.Var) *ir.Expr {
	t := f.irType(spec.Pos(), o.Type(), ir.SpacePrivate)
	switch {
	case len(spec.Values) > 0:
	case t.Number():
		return f.constantOf(spec.Pos(), constant.MakeInt64(0), t)
	case t.Kind == ir.KindBool:
		return f.constantOf(spec.Pos(), constant.MakeBool(false), t)
	default:
		return &ir.Expr{Op: ir.OpZero, Type: t}
	}
	if len(spec.Values) != len(spec.Names) {
		f.refuse(spec.Pos(), "the value of %s is not constant; pass it to the kernel", o.Name())
	}
	for i, name := range spec.Names {
		if f.pkg.Info.Defs[name] == o {
			if lit, ok := ast.Unparen(spec.Values[i]).(*ast.CompositeLit); ok {
				return f.composite(lit)
			}
			return f.expr(spec.Values[i])
		}
	}
	return &ir.Expr{Op: ir.OpZero, Type: t}
}

func isConstant(e *ir.Expr) bool {
	if e == nil || e.Op == ir.OpZero || e.Op == ir.OpConst || special(e, e.Type) != nil {
		return true
	}
	if e.Op != ir.OpMake {
		return false
	}
	for _, a := range e.Args {
		if !isConstant(a) {
			return false
		}
	}
	return true
}

func tableExpr(t *ir.Table, pos token.Pos) *ir.Expr {
	if t.Value.Op == ir.OpConst || special(t.Value, t.Value.Type) != nil {
		return t.Value
	}
	return ir.VarExpr(&ir.Variable{Name: t.Name, Type: t.Value.Type, Table: t}, pos)
}

// sourceOf is a package that a kernel uses something of, read from source.
func (f *frame) sourceOf(pos token.Pos, p *types.Package, name string) *Package {
	if g := f.Loaded[p.Path()]; g != nil {
		return g
	}
	if l := f.Listed[p.Path()]; l == nil || l.Standard {
		f.refuse(pos, "%s.%s is not for kernels; of the standard library use what docs/kernels.md lists",
			p.Path(), name)
	}
	f.need[p.Path()] = true
	panic(abort{})
}

func (f *frame) selector(e *ast.SelectorExpr) *ir.Expr {
	s := f.pkg.Info.Selections[e]
	if s == nil {
		if v, ok := f.pkg.Info.Uses[e.Sel].(*types.Var); ok {
			return f.packageVar(e.Pos(), v)
		}
		f.refuse(e.Pos(), "a function as a value; call it")
	}
	if s.Kind() != types.FieldVal {
		f.refuse(e.Pos(), "a method as a value; call it")
	}
	x := f.expr(e.X)
	if x.Type.Kind == ir.KindItem {
		f.refuse(e.Pos(), "an item has no fields; use its methods")
	}
	return f.path(e.Sel.Pos(), x, s.Index())
}

// path follows embedded fields.
func (f *frame) path(pos token.Pos, x *ir.Expr, index []int) *ir.Expr {
	for _, i := range index {
		if x.Type.Kind == ir.KindPointer {
			x = deref(x)
		}
		x = &ir.Expr{Op: ir.OpField, Type: x.Type.Fields[i].Type, Pos: pos, X: x, N: i}
	}
	return x
}

// index lowers x[i].
func (f *frame) index(e *ast.IndexExpr) *ir.Expr {
	if tv := f.pkg.Info.Types[e.X]; !tv.IsValue() {
		f.refuse(e.Pos(), "a function as a value; call it")
	}
	list := f.inOrder(e.X, e.Index)
	return f.indexed(e.Pos(), list[0], list[1])
}

func (f *frame) indexed(pos token.Pos, x, i *ir.Expr) *ir.Expr {
	if x.Type.Kind == ir.KindPointer {
		x = deref(x)
	}
	if x.Type.Kind == ir.KindArray && !x.Place() && x.Space() != ir.SpaceConstant && x.Op != ir.OpVar {
		x = f.temp(x)
	}
	return &ir.Expr{Op: ir.OpIndex, Type: x.Type.Elem, Pos: pos, X: x, Y: i}
}

// slice lowers x[low:high].
func (f *frame) slice(e *ast.SliceExpr) *ir.Expr {
	if e.Slice3 {
		f.refuse(e.Pos(), "a kernel's slices have no capacity; leave the third index out")
	}
	list := f.inOrder(e.X, e.Low, e.High)
	x, low, high := list[0], list[1], list[2]
	if x.Type.Kind == ir.KindPointer {
		x = deref(x)
	}
	elem, s := x.Type.Elem, x.Type.Space
	r := &ir.Expr{Op: ir.OpSlice, Pos: e.Pos(), X: x}
	if x.Type.Kind == ir.KindArray {
		if !x.Place() {
			f.refuse(e.Pos(), "a slice of a table or of a value; copy it to a variable first")
		}
		s = x.Space()
	}
	r.Type = f.Types.Slice(elem, s)
	if low != nil {
		r.Y = f.temp(f.toInt(low))
	}
	switch {
	case high != nil:
		r.Z = f.toInt(high)
	case x.Type.Kind == ir.KindArray:
		r.Z = f.intConst(e.Pos(), x.Type.Len)
	default:
		r.X = f.temp(x)
		r.Z = &ir.Expr{Op: ir.OpLen, Type: f.Types.Basic(ir.KindInt64), Pos: e.Pos(), X: r.X}
	}
	return r
}

// toInt is integer e as int.
func (f *frame) toInt(e *ir.Expr) *ir.Expr { return f.convert(e, f.Types.Basic(ir.KindInt64)) }

// convert is e as type t.
func (f *frame) convert(e *ir.Expr, t *ir.Type) *ir.Expr {
	switch {
	case e.Type == t:
		return e
	case special(e, t) != nil:
		return special(e, t)
	case e.Op == ir.OpConst && t.Integer() && e.Type.Integer() && representable(e.Value, t):
		return &ir.Expr{Op: ir.OpConst, Type: t, Pos: e.Pos, Value: e.Value}
	}
	return &ir.Expr{Op: ir.OpConvert, Type: t, Pos: e.Pos, X: e}
}

func representable(v constant.Value, t *ir.Type) bool {
	if t.Signed() {
		n, ok := constant.Int64Val(v)
		shift := 64 - t.Bits()
		return ok && n<<shift>>shift == n
	}
	n, ok := constant.Uint64Val(v)
	return ok && constant.Sign(v) >= 0 && n<<(64-t.Bits())>>(64-t.Bits()) == n
}

func (f *frame) unary(e *ast.UnaryExpr) *ir.Expr {
	if e.Op == token.AND {
		if lit, ok := ast.Unparen(e.X).(*ast.CompositeLit); ok {
			return f.address(f.temp(f.composite(lit)))
		}
		x := f.expr(e.X)
		if x.Space() == ir.SpaceConstant {
			f.refuse(e.Pos(), "the address of a table; use its elements")
		}
		return f.address(x)
	}
	x := f.expr(e.X)
	if value, known := decided(x); known && e.Op == token.NOT {
		return constantAt(e.Pos(), x.Type, constant.MakeBool(!value))
	}
	switch e.Op {
	case token.ADD:
		return x
	case token.SUB, token.XOR, token.NOT:
		return &ir.Expr{Op: ir.OpUnary, Type: x.Type, Pos: e.Pos(), Token: e.Op, X: x}
	}
	f.refuse(e.Pos(), "a kernel has no channels; work-items share local memory and meet at a barrier")
	return nil
}

func (f *frame) binary(e *ast.BinaryExpr) *ir.Expr {
	switch e.Op {
	case token.LAND, token.LOR:
		return f.logical(e)
	case token.SHL, token.SHR:
		list := f.inOrder(e.X, e.Y)
		x := list[0]
		if t := f.irType(e.Pos(), f.pkg.Info.TypeOf(e), ir.SpacePrivate); x.Type != t && x.Op == ir.OpConst {
			x = f.constantOf(x.Pos, x.Value, t)
		}
		return f.shift(e.Pos(), e.Op, x, list[1])
	}
	list := f.inOrder(e.X, e.Y)
	x, y := list[0], list[1]
	// a constant beside a variable has the variable's type
	if x.Type != y.Type && x.Op == ir.OpConst {
		x = f.constantOf(x.Pos, x.Value, y.Type)
	} else if x.Type != y.Type && y.Op == ir.OpConst {
		y = f.constantOf(y.Pos, y.Value, x.Type)
	}
	return f.operate(e.Pos(), e.Op, x, y)
}

// operate is x tok y.
func (f *frame) operate(pos token.Pos, tok token.Token, x, y *ir.Expr) *ir.Expr {
	switch tok {
	case token.EQL, token.NEQ:
		return f.equal(pos, tok, x, y)
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		return f.combine(pos, tok, f.Types.Basic(ir.KindBool), x, y)
	case token.QUO, token.REM:
		if x.Type.Integer() && !plainDivisor(y) {
			name := map[token.Token]string{token.QUO: "div", token.REM: "rem"}[tok]
			return &ir.Expr{Op: ir.OpBuiltin, Type: x.Type, Pos: pos, Name: name, Args: []*ir.Expr{x, y}}
		}
	}
	if x.Type != y.Type {
		f.refuse(pos, "slices and pointers of different memories; use two variables")
	}
	return f.combine(pos, tok, x.Type, x, y)
}

// plainDivisor tells whether division by y is what C and Go both do: y is a constant, not 0 or -1.
func plainDivisor(y *ir.Expr) bool {
	if y.Op != ir.OpConst {
		return false
	}
	n, exact := constant.Int64Val(y.Value)
	return !exact || n != 0 && n != -1
}

// equal is x == y or x != y, field by field.
func (f *frame) equal(pos token.Pos, tok token.Token, x, y *ir.Expr) *ir.Expr {
	boolean := f.Types.Basic(ir.KindBool)
	if x.Type.Scalar() {
		return f.combine(pos, tok, boolean, x, y)
	}
	var parts [][2]*ir.Expr
	switch {
	case x.Type.Kind == ir.KindStruct && !x.Type.HasReference():
		x, y = f.temp(x), f.temp(y)
		for i, fl := range x.Type.Fields {
			if fl.Name != "_" {
				parts = append(parts, [2]*ir.Expr{f.path(pos, x, []int{i}), f.path(pos, y, []int{i})})
			}
		}
	case x.Type.Kind == ir.KindArray && x.Type.Len <= 64:
		x, y = f.temp(x), f.temp(y)
		for i := range x.Type.Len {
			n := f.intConst(pos, i)
			parts = append(parts, [2]*ir.Expr{f.indexed(pos, x, n), f.indexed(pos, y, n)})
		}
	default:
		f.refuse(pos, "values of this type cannot be compared in a kernel; compare their elements in a loop")
	}
	join := token.LAND
	if tok == token.NEQ {
		join = token.LOR
	}
	var all *ir.Expr
	for _, p := range parts {
		one := f.equal(pos, tok, p[0], p[1])
		switch {
		case one.Op == ir.OpConst: // of structs without fields
		case all == nil:
			all = one
		default:
			all = &ir.Expr{Op: ir.OpBinary, Type: boolean, Pos: pos, Token: join, X: all, Y: one}
		}
	}
	if all == nil {
		return &ir.Expr{Op: ir.OpConst, Type: boolean, Pos: pos, Value: constant.MakeBool(tok == token.EQL)}
	}
	return all
}

// logical is x && y or x || y. Where y needs statements, they run only if y is evaluated.
func (f *frame) logical(e *ast.BinaryExpr) *ir.Expr {
	x := f.expr(e.X)
	var y *ir.Expr
	if value, known := decided(x); known {
		if value == (e.Op == token.LOR) {
			f.dead(func() { f.expr(e.Y) })
			return x
		}
		*f.out = append(*f.out, f.inside(func() { y = f.expr(e.Y) })...)
		return y
	}
	extra := f.inside(func() { y = f.expr(e.Y) })
	value, known := decided(y)
	switch {
	case len(extra) > 0:
	case known && value == (e.Op == token.LAND):
		return x
	case known && !x.MayFail():
		return y
	default:
		return &ir.Expr{Op: ir.OpBinary, Type: x.Type, Pos: e.Pos(), Token: e.Op, X: x, Y: y}
	}
	t := ir.VarExpr(f.declare(e.Pos(), "", x.Type, x), e.Pos())
	f.emit(ir.Decide(e.Op, t, y, extra))
	return t
}

// shift is x << y or x >> y. Where nothing of x is left it is computed still, if it may fail.
func (f *frame) shift(pos token.Pos, tok token.Token, x, y *ir.Expr) *ir.Expr {
	bits := int64(x.Type.Bits())
	if y.Op == ir.OpConst {
		n, exact := constant.Uint64Val(constant.ToInt(y.Value))
		switch {
		case exact && n < uint64(bits):
		case tok == token.SHR && x.Type.Signed():
			n = uint64(bits - 1)
		default:
			zero := f.constantOf(pos, constant.MakeInt64(0), x.Type)
			if !x.MayFail() {
				return zero
			}
			return &ir.Expr{Op: ir.OpBinary, Type: x.Type, Pos: pos, Token: token.AND, X: x, Y: zero}
		}
		y = f.intConst(pos, int64(n))
		y.Type = f.Types.Basic(ir.KindUint64)
	} else {
		y = f.convert(y, f.Types.Basic(ir.KindUint64))
	}
	return &ir.Expr{Op: ir.OpShift, Type: x.Type, Pos: pos, Token: tok, X: x, Y: y}
}

// composite lowers a literal of an array or a struct to OpMake.
func (f *frame) composite(e *ast.CompositeLit) *ir.Expr {
	goType := f.pkg.Info.TypeOf(e)
	t := f.irType(e.Pos(), goType, ir.SpaceGlobal)
	r := &ir.Expr{Op: ir.OpMake, Type: t, Pos: e.Pos()}
	element := func(i int64, x ast.Expr, t *ir.Type) {
		var v *ir.Expr
		f.after(r.Args, func() { v = f.assignable(x.Pos(), f.value(x), t) })
		r.Args[i] = v
	}
	switch t.Kind {
	case ir.KindStruct:
		r.Args = make([]*ir.Expr, len(t.Fields))
		for i, x := range e.Elts {
			if kv, ok := x.(*ast.KeyValueExpr); ok {
				_, at, _ := types.LookupFieldOrMethod(f.close(goType), false, f.pkg.Types, kv.Key.(*ast.Ident).Name)
				i, x = at[0], kv.Value
			}
			element(int64(i), x, t.Fields[i].Type)
		}
	case ir.KindArray:
		if t.Len > 1<<20 {
			f.refuse(e.Pos(), "a literal of %d elements; pass a slice to the kernel", t.Len)
		}
		r.Args = make([]*ir.Expr, t.Len)
		next := int64(0)
		for _, x := range e.Elts {
			if kv, ok := x.(*ast.KeyValueExpr); ok {
				next, _ = constant.Int64Val(constant.ToInt(f.pkg.Info.Types[kv.Key].Value))
				x = kv.Value
			}
			element(next, x, t.Elem)
			next++
		}
	default:
		f.refuse(e.Pos(), "a kernel allocates nothing; use an array of constant size, or pass a slice")
	}
	return r
}

// assignable checks that e can be a value of type t: slices must be of the same memory.
func (f *frame) assignable(pos token.Pos, e *ir.Expr, t *ir.Type) *ir.Expr {
	switch {
	case e.Type == t:
		return e
	case e.Type == nil: // a part of a variable whose type was refused
		panic(abort{})
	case e.Op == ir.OpConst && t.Scalar():
		return f.constantOf(pos, e.Value, t)
	}
	if t.Kind == ir.KindStruct || t.Kind == ir.KindArray {
		f.refuse(pos, "a value of a struct type, for one of another with the same fields; copy the fields")
	}
	f.refuse(pos, "a slice or pointer of another memory than the variable has; use a variable of its own")
	return nil
}

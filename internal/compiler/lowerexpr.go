package compiler

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// expr lowers an expression with one value.
func (f *frame) expr(e ast.Expr) *expr { return f.shallow(f.unlimited(ast.Unparen(e))) }

// shallow is e, of which a part becomes a variable where it is nested deeper than C compilers take.
func (f *frame) shallow(e *expr) *expr {
	if e.typ != nil && e.typ.scalar() && e.depth() > maxDepth {
		return f.temp(e)
	}
	return e
}

// maxDepth is how deep expressions are nested: clang's limit for brackets is 256.
const maxDepth = 60

func (f *frame) unlimited(e ast.Expr) *expr {
	if tv := f.pkg.info.Types[e]; tv.Value != nil {
		return f.constantOf(e.Pos(), tv.Value, f.irType(e.Pos(), tv.Type, spacePrivate))
	}
	switch e := e.(type) {
	case *ast.BasicLit: // a constant of a type parameter's type
		v := constant.MakeFromLiteral(e.Value, e.Kind, 0)
		return f.constantOf(e.Pos(), v, f.irType(e.Pos(), f.pkg.info.TypeOf(e), spacePrivate))
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

func (f *frame) ident(e *ast.Ident) *expr {
	o := f.pkg.info.Uses[e]
	if o == nil {
		o = f.pkg.info.Defs[e]
	}
	if b, ok := f.lookup(o); ok {
		switch {
		case b.v != nil:
			return varExpr(b.v, e.Pos())
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
func (f *frame) packageVar(pos token.Pos, o *types.Var) *expr {
	if t := f.tables[o]; t != nil {
		return tableExpr(t, pos)
	}
	if o.Pkg() == nil || o.Parent() != o.Pkg().Scope() {
		f.refuse(pos, "%s is declared outside; pass it to the kernel", o.Name())
	}
	pkg := f.sourceOf(pos, o.Pkg(), o.Name())
	for _, g := range f.loaded {
		if at, ok := g.dirty[o]; ok {
			f.refuse(pos, "variable %s of the package changes at %s; pass it to the kernel", o.Name(), f.position(at))
		}
	}
	spec := pkg.vars[o]
	g := &frame{lowerer: f.lowerer, pkg: pkg, fn: &function{names: scope{}}, bind: map[types.Object]binding{}}
	var value *expr
	extra := g.collect(func() { value = g.initial(spec, o) })
	t := &table{name: o.Name(), value: value}
	if len(extra) > 0 || !isConstant(value) {
		f.refuse(pos, "variable %s of the package has no constant value; pass it to the kernel", o.Name())
	}
	f.tables[o] = t
	return tableExpr(t, pos)
}

// initial is the value that a declaration gives to variable o.
func (f *frame) initial(spec *ast.ValueSpec, o *types.Var) *expr {
	t := f.irType(spec.Pos(), o.Type(), spacePrivate)
	switch {
	case len(spec.Values) > 0:
	case t.number():
		return f.constantOf(spec.Pos(), constant.MakeInt64(0), t)
	case t.kind == kindBool:
		return f.constantOf(spec.Pos(), constant.MakeBool(false), t)
	default:
		return &expr{op: opZero, typ: t}
	}
	if len(spec.Values) != len(spec.Names) {
		f.refuse(spec.Pos(), "the value of %s is not constant; pass it to the kernel", o.Name())
	}
	for i, name := range spec.Names {
		if f.pkg.info.Defs[name] == o {
			if lit, ok := ast.Unparen(spec.Values[i]).(*ast.CompositeLit); ok {
				return f.composite(lit)
			}
			return f.expr(spec.Values[i])
		}
	}
	return &expr{op: opZero, typ: t}
}

func isConstant(e *expr) bool {
	if e == nil || e.op == opZero || e.op == opConst || special(e, e.typ) != nil {
		return true
	}
	if e.op != opMake {
		return false
	}
	for _, a := range e.args {
		if !isConstant(a) {
			return false
		}
	}
	return true
}

func tableExpr(t *table, pos token.Pos) *expr {
	if t.value.op == opConst || special(t.value, t.value.typ) != nil {
		return t.value
	}
	return &expr{op: opVar, typ: t.value.typ, pos: pos, v: &variable{name: t.name, typ: t.value.typ, table: t}}
}

func (l *lowerer) position(pos token.Pos) string {
	p := l.fset.Position(pos)
	return shortName(p.Filename) + ":" + itoa(p.Line)
}

// sourceOf is a package that a kernel uses something of, read from source.
func (f *frame) sourceOf(pos token.Pos, p *types.Package, name string) *goPackage {
	if g := f.loaded[p.Path()]; g != nil {
		return g
	}
	if l := f.listed[p.Path()]; l == nil || l.Standard {
		f.refuse(pos, "%s.%s is not for kernels; of the standard library use what docs/kernels.md lists",
			p.Path(), name)
	}
	f.need[p.Path()] = true
	panic(abort{})
}

func (f *frame) selector(e *ast.SelectorExpr) *expr {
	s := f.pkg.info.Selections[e]
	if s == nil {
		if v, ok := f.pkg.info.Uses[e.Sel].(*types.Var); ok {
			return f.packageVar(e.Pos(), v)
		}
		f.refuse(e.Pos(), "a function as a value; call it")
	}
	if s.Kind() != types.FieldVal {
		f.refuse(e.Pos(), "a method as a value; call it")
	}
	x := f.expr(e.X)
	if x.typ.kind == kindItem {
		f.refuse(e.Pos(), "an item has no fields; use its methods")
	}
	return f.path(e.Sel.Pos(), x, s.Index())
}

// path follows embedded fields.
func (f *frame) path(pos token.Pos, x *expr, index []int) *expr {
	for _, i := range index {
		if x.typ.kind == kindPointer {
			x = deref(x)
		}
		x = &expr{op: opField, typ: x.typ.fields[i].typ, pos: pos, x: x, n: i}
	}
	return x
}

// index lowers x[i].
func (f *frame) index(e *ast.IndexExpr) *expr {
	if tv := f.pkg.info.Types[e.X]; !tv.IsValue() {
		f.refuse(e.Pos(), "a function as a value; call it")
	}
	list := f.inOrder(e.X, e.Index)
	return f.indexed(e.Pos(), list[0], list[1])
}

func (f *frame) indexed(pos token.Pos, x, i *expr) *expr {
	if x.typ.kind == kindPointer {
		x = deref(x)
	}
	if x.typ.kind == kindArray && !x.place() && x.space() != spaceConstant && x.op != opVar {
		x = f.temp(x)
	}
	return &expr{op: opIndex, typ: x.typ.elem, pos: pos, x: x, y: i}
}

// slice lowers x[low:high].
func (f *frame) slice(e *ast.SliceExpr) *expr {
	if e.Slice3 {
		f.refuse(e.Pos(), "a kernel's slices have no capacity; leave the third index out")
	}
	list := f.inOrder(e.X, e.Low, e.High)
	x, low, high := list[0], list[1], list[2]
	if x.typ.kind == kindPointer {
		x = deref(x)
	}
	elem, s := x.typ.elem, x.typ.space
	r := &expr{op: opSlice, pos: e.Pos(), x: x}
	if x.typ.kind == kindArray {
		if !x.place() {
			f.refuse(e.Pos(), "a slice of a table or of a value; copy it to a variable first")
		}
		s = x.space()
	}
	r.typ = f.types.slice(elem, s)
	if low != nil {
		r.y = f.temp(f.toInt(low))
	}
	switch {
	case high != nil:
		r.z = f.toInt(high)
	case x.typ.kind == kindArray:
		r.z = f.intConst(e.Pos(), x.typ.len)
	default:
		r.x = f.temp(x)
		r.z = &expr{op: opLen, typ: f.types.basic(kindInt64), pos: e.Pos(), x: r.x}
	}
	return r
}

// toInt is integer e as int.
func (f *frame) toInt(e *expr) *expr { return f.convert(e, f.types.basic(kindInt64)) }

// convert is e as type t.
func (f *frame) convert(e *expr, t *typ) *expr {
	switch {
	case e.typ == t:
		return e
	case special(e, t) != nil:
		return special(e, t)
	case e.op == opConst && t.integer() && e.typ.integer() && representable(e.value, t):
		return &expr{op: opConst, typ: t, pos: e.pos, value: e.value}
	}
	return &expr{op: opConvert, typ: t, pos: e.pos, x: e}
}

func representable(v constant.Value, t *typ) bool {
	if t.signed() {
		n, ok := constant.Int64Val(v)
		shift := 64 - t.bits()
		return ok && n<<shift>>shift == n
	}
	n, ok := constant.Uint64Val(v)
	return ok && constant.Sign(v) >= 0 && n<<(64-t.bits())>>(64-t.bits()) == n
}

func (f *frame) unary(e *ast.UnaryExpr) *expr {
	if e.Op == token.AND {
		if lit, ok := ast.Unparen(e.X).(*ast.CompositeLit); ok {
			return f.address(f.temp(f.composite(lit)))
		}
		x := f.expr(e.X)
		if x.space() == spaceConstant {
			f.refuse(e.Pos(), "the address of a table; use its elements")
		}
		return f.address(x)
	}
	x := f.expr(e.X)
	switch e.Op {
	case token.ADD:
		return x
	case token.SUB, token.XOR, token.NOT:
		return &expr{op: opUnary, typ: x.typ, pos: e.Pos(), tok: e.Op, x: x}
	}
	f.refuse(e.Pos(), "a kernel has no channels; work-items share local memory and meet at a barrier")
	return nil
}

func (f *frame) binary(e *ast.BinaryExpr) *expr {
	switch e.Op {
	case token.LAND, token.LOR:
		return f.logical(e)
	case token.SHL, token.SHR:
		list := f.inOrder(e.X, e.Y)
		x := list[0]
		if t := f.irType(e.Pos(), f.pkg.info.TypeOf(e), spacePrivate); x.typ != t && x.op == opConst {
			x = f.constantOf(x.pos, x.value, t)
		}
		return f.shift(e.Pos(), e.Op, x, list[1])
	}
	list := f.inOrder(e.X, e.Y)
	x, y := list[0], list[1]
	// a constant beside a variable has the variable's type
	if x.typ != y.typ && x.op == opConst {
		x = f.constantOf(x.pos, x.value, y.typ)
	} else if x.typ != y.typ && y.op == opConst {
		y = f.constantOf(y.pos, y.value, x.typ)
	}
	return f.operate(e.Pos(), e.Op, x, y)
}

// operate is x tok y.
func (f *frame) operate(pos token.Pos, tok token.Token, x, y *expr) *expr {
	switch tok {
	case token.EQL, token.NEQ:
		return f.equal(pos, tok, x, y)
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		return &expr{op: opBinary, typ: f.types.basic(kindBool), pos: pos, tok: tok, x: x, y: y}
	case token.QUO, token.REM:
		if x.typ.integer() && !plainDivisor(y) {
			name := map[token.Token]string{token.QUO: "div", token.REM: "rem"}[tok]
			return &expr{op: opBuiltin, typ: x.typ, pos: pos, name: name, args: []*expr{x, y}}
		}
	}
	if x.typ != y.typ {
		f.refuse(pos, "slices and pointers of different memories; use two variables")
	}
	return &expr{op: opBinary, typ: x.typ, pos: pos, tok: tok, x: x, y: y}
}

// plainDivisor tells whether division by y is what C and Go both do: y is a constant, not 0 or -1.
func plainDivisor(y *expr) bool {
	if y.op != opConst {
		return false
	}
	n, exact := constant.Int64Val(y.value)
	return !exact || n != 0 && n != -1
}

// equal is x == y or x != y, field by field.
func (f *frame) equal(pos token.Pos, tok token.Token, x, y *expr) *expr {
	boolean := f.types.basic(kindBool)
	if x.typ.scalar() {
		return &expr{op: opBinary, typ: boolean, pos: pos, tok: tok, x: x, y: y}
	}
	var parts [][2]*expr
	switch {
	case x.typ.kind == kindStruct && !x.typ.hasReference():
		x, y = f.temp(x), f.temp(y)
		for i, fl := range x.typ.fields {
			if fl.name != "_" {
				parts = append(parts, [2]*expr{f.path(pos, x, []int{i}), f.path(pos, y, []int{i})})
			}
		}
	case x.typ.kind == kindArray && x.typ.len <= 64:
		x, y = f.temp(x), f.temp(y)
		for i := range x.typ.len {
			n := f.intConst(pos, i)
			parts = append(parts, [2]*expr{f.indexed(pos, x, n), f.indexed(pos, y, n)})
		}
	default:
		f.refuse(pos, "values of this type cannot be compared in a kernel; compare their elements in a loop")
	}
	join := token.LAND
	if tok == token.NEQ {
		join = token.LOR
	}
	var all *expr
	for _, p := range parts {
		one := f.equal(pos, tok, p[0], p[1])
		switch {
		case one.op == opConst: // of structs without fields
		case all == nil:
			all = one
		default:
			all = &expr{op: opBinary, typ: boolean, pos: pos, tok: join, x: all, y: one}
		}
	}
	if all == nil {
		return &expr{op: opConst, typ: boolean, pos: pos, value: constant.MakeBool(tok == token.EQL)}
	}
	return all
}

// logical is x && y or x || y. Where y needs statements, they run only if y is evaluated.
func (f *frame) logical(e *ast.BinaryExpr) *expr {
	x := f.expr(e.X)
	var y *expr
	f.nested++
	extra := f.collect(func() { y = f.expr(e.Y) })
	f.nested--
	if len(extra) == 0 {
		return &expr{op: opBinary, typ: x.typ, pos: e.Pos(), tok: e.Op, x: x, y: y}
	}
	t := varExpr(f.declare(e.Pos(), "", x.typ, x), e.Pos())
	cond := t
	if e.Op == token.LOR {
		cond = &expr{op: opUnary, typ: t.typ, pos: e.Pos(), tok: token.NOT, x: t}
	}
	extra = append(extra, &stmt{kind: stmtAssign, pos: e.Pos(), x: t, y: y})
	f.emit(&stmt{kind: stmtIf, pos: e.Pos(), x: cond, body: extra})
	return t
}

// mayFail tells whether x has an index that may be out of range.
func mayFail(x *expr) (found bool) {
	x.walk(func(x *expr) { found = found || x.op == opIndex })
	return found
}

// shift is x << y or x >> y. Where nothing of x is left it is computed still, if it may fail.
func (f *frame) shift(pos token.Pos, tok token.Token, x, y *expr) *expr {
	bits := int64(x.typ.bits())
	if y.op == opConst {
		n, exact := constant.Uint64Val(constant.ToInt(y.value))
		switch {
		case exact && n < uint64(bits):
		case tok == token.SHR && x.typ.signed():
			n = uint64(bits - 1)
		default:
			zero := f.constantOf(pos, constant.MakeInt64(0), x.typ)
			if !mayFail(x) {
				return zero
			}
			return &expr{op: opBinary, typ: x.typ, pos: pos, tok: token.AND, x: x, y: zero}
		}
		y = f.intConst(pos, int64(n))
		y.typ = f.types.basic(kindUint64)
	} else {
		y = f.convert(y, f.types.basic(kindUint64))
	}
	return &expr{op: opShift, typ: x.typ, pos: pos, tok: tok, x: x, y: y}
}

// composite lowers a literal of an array or a struct to opMake.
func (f *frame) composite(e *ast.CompositeLit) *expr {
	goType := f.pkg.info.TypeOf(e)
	t := f.irType(e.Pos(), goType, spaceGlobal)
	r := &expr{op: opMake, typ: t, pos: e.Pos()}
	element := func(i int64, x ast.Expr, t *typ) {
		var v *expr
		f.after(r.args, func() { v = f.assignable(x.Pos(), f.value(x), t) })
		r.args[i] = v
	}
	switch t.kind {
	case kindStruct:
		r.args = make([]*expr, len(t.fields))
		for i, x := range e.Elts {
			if kv, ok := x.(*ast.KeyValueExpr); ok {
				i, x = fieldIndex(f.close(goType), kv.Key), kv.Value
			}
			element(int64(i), x, t.fields[i].typ)
		}
	case kindArray:
		if t.len > 1<<20 {
			f.refuse(e.Pos(), "a literal of %d elements; pass a slice to the kernel", t.len)
		}
		r.args = make([]*expr, t.len)
		next := int64(0)
		for _, x := range e.Elts {
			if kv, ok := x.(*ast.KeyValueExpr); ok {
				next, _ = constant.Int64Val(constant.ToInt(f.pkg.info.Types[kv.Key].Value))
				x = kv.Value
			}
			element(next, x, t.elem)
			next++
		}
	default:
		f.refuse(e.Pos(), "a kernel allocates nothing; use an array of constant size, or pass a slice")
	}
	return r
}

// assignable checks that e can be a value of type t: slices must be of the same memory.
func (f *frame) assignable(pos token.Pos, e *expr, t *typ) *expr {
	if e.typ == t {
		return e
	}
	if e.op == opConst && t.scalar() {
		return f.constantOf(pos, e.value, t)
	}
	f.refuse(pos, "a slice or pointer of another memory than the variable has; use a variable of its own")
	return nil
}

func fieldIndex(t types.Type, key ast.Expr) int {
	if s, ok := t.Underlying().(*types.Struct); ok {
		for i := range s.NumFields() {
			if id, ok := key.(*ast.Ident); ok && s.Field(i).Name() == id.Name {
				return i
			}
		}
	}
	return 0
}

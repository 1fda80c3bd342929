package lanes

import (
	"fmt"
	"go/token"
	"strings"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// A laneValue is an expression in C: of a linear value that of the first lane.
type laneValue struct {
	c     string
	t     *ir.Type
	shape shape
}

// shaped is the type that a variable has in C.
func (p *lanePrinter) shaped(v *ir.Variable) string {
	if p.a.vars[v] == varying {
		return p.lanesType(v.Type)
	}
	return p.Type(v.Type)
}

// lanesType is the type of t with a value for each lane: numbers become vectors, truth a mask,
// parts of structs and arrays vectors of their own.
func (p *lanePrinter) lanesType(t *ir.Type) string {
	switch {
	case t.Kind == ir.KindBool:
		return "mask"
	case t.Scalar():
		p.Type(t)
		return t.Name + "v"
	}
	scalar := p.Type(t)
	name := scalar + "_v"
	if p.Helpers[name] {
		return name
	}
	p.Helpers[name] = true
	if t.Kind == ir.KindSlice {
		fmt.Fprintf(p.Decls, "SLICES(%s, %s)\n", scalar, name)
		return name
	}
	var parts, vec, sel []string
	part := func(t *ir.Type, name string) {
		parts = append(parts, fmt.Sprintf("%s %s;", p.lanesType(t), name))
		vec = append(vec, fmt.Sprintf("r.%s = %s(x.%[1]s);", name, p.widener(t)))
		sel = append(sel, fmt.Sprintf("r.%s = sel(m, x.%[1]s, y.%[1]s);", name))
	}
	if t.Kind == ir.KindStruct {
		for i, f := range t.Fields {
			part(f.Type, ir.FieldName(t, i))
		}
	} else {
		parts = append(parts, fmt.Sprintf("%s v[%d];", p.lanesType(t.Elem), t.Len))
		loop := fmt.Sprintf("for (int i = 0; i < %d; i++) ", t.Len)
		vec = append(vec, loop+"r.v[i] = "+p.widener(t.Elem)+"(x.v[i]);")
		sel = append(sel, loop+"r.v[i] = sel(m, x.v[i], y.v[i]);")
	}
	fmt.Fprintf(p.Decls, "typedef struct { %s } %s;\n", strings.Join(parts, " "), name)
	fmt.Fprintf(p.Decls, "OVER %s vec_%s(%[2]s x) { %[1]s r; %[3]s return r; }\n", name, scalar, strings.Join(vec, " "))
	fmt.Fprintf(p.Decls, "OVER %s sel(mask m, %[1]s x, %[1]s y) { %[1]s r; %[2]s return r; }\n", name,
		strings.Join(sel, " "))
	return name
}

// widener is the function that gives all lanes one value of type t.
func (p *lanePrinter) widener(t *ir.Type) string {
	switch {
	case t.Kind == ir.KindBool:
		return "mask_of"
	case t.Scalar():
		return "vec"
	}
	p.lanesType(t)
	return "vec_" + p.Type(t)
}

// varied is v for each lane.
func (p *lanePrinter) varied(v laneValue) string {
	switch v.shape {
	case uniform:
		if v.t.Scalar() && v.t.Kind != ir.KindBool {
			return fmt.Sprintf("vec((%s)(%s))", p.Type(v.t), v.c)
		}
		return fmt.Sprintf("%s(%s)", p.widener(v.t), v.c)
	case linear:
		return fmt.Sprintf("lin((%s)(%s))", p.Type(v.t), v.c)
	}
	return v.c
}

// as is v of shape s: of one that differs between lanes a value for each.
func (p *lanePrinter) as(v laneValue, s shape) string {
	if s == varying {
		return p.varied(v)
	}
	return v.c
}

// scalar is e, which is the same for all lanes.
func (p *lanePrinter) scalar(e *ir.Expr) string {
	v := p.expr(e)
	if v.shape != uniform {
		refuseLanes("a condition of the whole group that differs between work-items")
	}
	return v.c
}

// first is v of the first lane.
func (p *lanePrinter) first(v laneValue) string {
	if !v.t.Scalar() {
		refuseLanes("a value of the group that is no number")
	}
	if v.t.Kind == ir.KindBool {
		return fmt.Sprintf("(%s)[0] != 0", v.c)
	}
	return fmt.Sprintf("(%s)[0]", v.c)
}

// temp is v as a variable.
func (p *lanePrinter) temp(v laneValue) laneValue {
	if isWord(v.c) {
		return v
	}
	t := p.Type(v.t)
	if v.shape == varying {
		t = p.lanesType(v.t)
	}
	name := p.next("t")
	p.Line("const %s %s = %s;", t, name, v.c)
	v.c = name
	return v
}

// isWord tells whether c is a name or a number.
func isWord(c string) bool {
	return strings.Trim(c, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}

// declare prints a declaration, which gives a variable that other stretches use too a new value.
func (p *lanePrinter) declare(s *ir.Stmt) {
	v, name := s.Var, p.name(s.Var)
	if v.Array {
		defer func() { p.version++ }()
	}
	zero := s.X == nil || s.X.Op == ir.OpZero
	value := "{0}"
	if !zero {
		value = p.as(p.expr(s.X), p.a.vars[v])
	}
	switch {
	case !v.Array:
		p.Line("%s %s = %s;", p.shaped(v), name, value)
	case zero:
		p.Line("%s = (%s){0};", name, p.shaped(v))
	default:
		p.Line("%s = %s;", name, value)
	}
}

func (p *lanePrinter) assign(s *ir.Stmt) {
	defer func() { p.version++ }()
	v := ir.RootVariable(s.X)
	if v == nil || v.Local {
		p.store(s.X, p.expr(s.Y))
		return
	}
	y := p.expr(s.Y)
	if p.a.vars[v] != varying {
		p.Line("%s = %s;", p.register(s.X).c, y.c)
		return
	}
	if p.a.indexShape(s.X) != uniform {
		p.scatter(p.access(s.X), y)
		return
	}
	x, value := p.register(s.X).c, p.varied(y)
	if p.a.keeps[s] && p.mask != "" {
		value = fmt.Sprintf("sel(%s, %s, %s)", p.mask, value, x)
	}
	p.Line("%s = %s;", x, value)
}

// expr prints what e needs before, and gives e.
func (p *lanePrinter) expr(e *ir.Expr) laneValue {
	v := laneValue{t: e.Type, shape: p.a.shape(e)}
	switch e.Op {
	case ir.OpConst:
		v.c = p.Constant(e)
	case ir.OpZero:
		v.c = fmt.Sprintf("(%s){0}", p.Type(e.Type))
	case ir.OpVar, ir.OpIndex, ir.OpField, ir.OpDeref:
		return p.load(e)
	case ir.OpLen:
		v.c = p.expr(e.X).c + ".n"
	case ir.OpWithin:
		return p.expr(e.X)
	case ir.OpItem:
		v.c = p.item(e)
	case ir.OpBinary:
		v.c = p.binary(e, v.shape)
	case ir.OpUnary:
		v.c = p.unary(e, v.shape)
	case ir.OpShift:
		v.c = p.shift(e, v.shape)
	case ir.OpConvert:
		v.c = p.convert(e, v.shape)
	case ir.OpMake:
		v.c = p.make(e, v.shape)
	case ir.OpSlice:
		v.c = p.cut(e, v.shape)
	case ir.OpBuiltin:
		v.c = p.builtin(e, v.shape)
	default:
		refuseLanes("an expression that strips do not have")
	}
	return v
}

// item is the place of a work-item; in x of the first lane.
func (p *lanePrinter) item(e *ir.Expr) string {
	if e.N == 1 {
		return p.k.Item(e, p.y)
	}
	return p.k.Item(e, p.loops[e.N])
}

// narrow puts c, arithmetic of one value, back into its type: C computes small ones as int.
func narrow(c string, t *ir.Type) string {
	if t.Size < 4 {
		return fmt.Sprintf("((%s)%s)", t.Name, c)
	}
	return c
}

func (p *lanePrinter) binary(e *ir.Expr, s shape) string {
	x, y := p.expr(e.X), p.expr(e.Y)
	tok, t := e.Token.String(), e.X.Type
	switch e.Token {
	case token.AND_NOT:
		if s != varying {
			return narrow(fmt.Sprintf("(%s & ~%s)", x.c, y.c), t)
		}
		return fmt.Sprintf("(%s & ~%s)", p.varied(x), p.varied(y))
	case token.EQL, token.NEQ:
		if t.Kind == ir.KindBool {
			if s != varying {
				return fmt.Sprintf("((%s != 0) %s (%s != 0))", x.c, tok, y.c)
			}
			c := fmt.Sprintf("(%s ^ %s)", p.varied(x), p.varied(y))
			if e.Token == token.EQL {
				c = "~" + c
			}
			return c
		}
	}
	if s != varying {
		c := fmt.Sprintf("(%s %s %s)", x.c, tok, y.c)
		if t.Integer() && e.Type == t {
			return narrow(c, t)
		}
		return c
	}
	switch {
	case e.Token == token.LAND:
		return fmt.Sprintf("(%s & %s)", p.varied(x), p.varied(y))
	case e.Token == token.LOR:
		return fmt.Sprintf("(%s | %s)", p.varied(x), p.varied(y))
	case e.Type.Kind == ir.KindBool && t.Kind != ir.KindBool:
		if c := p.neighbours(e.Token, x, y); c != "" {
			return c
		}
		return fmt.Sprintf("as_mask(%s %s %s)", p.varied(x), tok, p.varied(y))
	}
	return fmt.Sprintf("(%s %s %s)", p.varied(x), tok, p.varied(y))
}

// mirrored is what y says of x where a comparison is what x says of y.
var mirrored = map[token.Token]token.Token{
	token.LSS: token.GTR, token.LEQ: token.GEQ, token.GTR: token.LSS, token.GEQ: token.LEQ,
	token.EQL: token.EQL, token.NEQ: token.NEQ,
}

// neighbours is a comparison of a linear with a uniform value: without vectors of the values, which
// are longer than a mask. It is "" for others.
func (p *lanePrinter) neighbours(tok token.Token, x, y laneValue) string {
	if y.shape == linear {
		x, y, tok = y, x, mirrored[tok]
	}
	if x.shape != linear || y.shape != uniform {
		return ""
	}
	name := map[token.Token]string{
		token.LSS: "less", token.LEQ: "less_or_equal", token.GTR: "~less_or_equal", token.GEQ: "~less",
		token.EQL: "equal", token.NEQ: "~equal",
	}[tok]
	return fmt.Sprintf("%s((%s)(%s), (%[2]s)(%[4]s))", name, x.t.Name, x.c, y.c)
}

func (p *lanePrinter) unary(e *ir.Expr, s shape) string {
	x := p.expr(e.X)
	switch {
	case e.Token == token.NOT && s != varying:
		return fmt.Sprintf("(!%s)", x.c)
	case e.Token == token.NOT, e.Token == token.XOR && s == varying:
		return fmt.Sprintf("(~%s)", p.varied(x))
	case e.Token == token.XOR:
		return narrow(fmt.Sprintf("(~%s)", x.c), e.Type)
	case s == varying:
		return fmt.Sprintf("(-%s)", p.varied(x))
	case e.Type.Integer():
		return narrow(fmt.Sprintf("(-%s)", x.c), e.Type)
	}
	return fmt.Sprintf("(-%s)", x.c)
}

func (p *lanePrinter) shift(e *ir.Expr, s shape) string {
	x, t := p.expr(e.X), e.Type
	left := e.Token == token.SHL
	if e.Y.Op == ir.OpConst {
		n := e.Y.Value.ExactString()
		if s == varying {
			return fmt.Sprintf("(%s %s (%sv)(%s))", p.varied(x), e.Token, t.Name, n)
		}
		return narrow(fmt.Sprintf("(%s %s %s)", x.c, e.Token, n), t)
	}
	name := map[bool]string{true: "shl", false: "shr"}[left]
	y := p.expr(e.Y)
	if s == varying {
		return fmt.Sprintf("%s(%s, %s)", name, p.varied(x), p.varied(y))
	}
	return fmt.Sprintf("%s(%s, %s)", p.Helper(name+"_"+t.Name), x.c, y.c)
}

// exactNarrow is functions whose float64 result for a float32 is exact, or is rounded to the same
// float32 as the result for float32 is.
var exactNarrow = map[string]bool{"sqrt": true, "abs": true, "floor": true, "ceil": true, "trunc": true}

func (p *lanePrinter) convert(e *ir.Expr, s shape) string {
	t, from := e.Type, e.X.Type
	if b := e.X; t.Kind == ir.KindFloat32 && b.Op == ir.OpBuiltin && exactNarrow[b.Name] &&
		b.Args[0].Op == ir.OpConvert && b.Args[0].X.Type.Kind == ir.KindFloat32 {
		return p.rounding(b.Name, p.expr(b.Args[0].X), s)
	}
	x := p.expr(e.X)
	switch {
	case t == from:
		return x.c
	case s != varying && from.Float() && t.Integer():
		return fmt.Sprintf("%s(%s)", p.ToInt(t, from), x.c)
	case s != varying:
		return fmt.Sprintf("((%s)%s)", p.Type(t), x.c)
	case from.Float() && t.Integer():
		return fmt.Sprintf("to_%s(%s)", t.Name, p.varied(x))
	}
	p.Type(t)
	return fmt.Sprintf("CV(%s, %s)", p.varied(x), t.Name)
}

// rounding is sqrt and such of x.
func (p *lanePrinter) rounding(name string, x laneValue, s shape) string {
	return fmt.Sprintf("__builtin_elementwise_%s(%s)", name, p.as(x, s))
}

// make is a struct or array of values.
func (p *lanePrinter) make(e *ir.Expr, s shape) string {
	t := p.Type(e.Type)
	if s == varying {
		t = p.lanesType(e.Type)
	}
	name := p.next("t")
	p.Line("%s %s = {0};", t, name)
	for i, a := range e.Args {
		if a == nil || a.Op == ir.OpZero {
			continue
		}
		value := p.as(p.expr(a), s)
		part := fmt.Sprintf(".v[%d]", i)
		if e.Type.Kind == ir.KindStruct {
			part = "." + ir.FieldName(e.Type, i)
		}
		p.Line("%s%s = %s;", name, part, value)
	}
	return name
}

// cut is a part of a slice or an array.
func (p *lanePrinter) cut(e *ir.Expr, s shape) string {
	t := p.Type(e.Type)
	x := laneValue{t: e.Type}
	if e.X.Type.Kind == ir.KindArray {
		if e.X.Space() == ir.SpacePrivate {
			refuseLanes("a slice of an array that each work-item has for itself")
		}
		a := p.access(e.X)
		if a.shape != uniform {
			refuseLanes("a slice of an array that differs between work-items")
		}
		x.c = fmt.Sprintf("make_%s(%s.v, %d)", t, a.text, e.X.Type.Len)
	} else {
		x = p.expr(e.X)
	}
	x = p.temp(x)
	low := laneValue{c: "((i64)0)", t: e.Z.Type}
	if e.Y != nil {
		low = p.temp(p.expr(e.Y))
	}
	high := p.temp(p.expr(e.Z))
	place := p.Place(e.Pos)
	if s == varying {
		lanes := func(v laneValue) string { return "CV(" + p.varied(v) + ", i64)" }
		return fmt.Sprintf("cut_%s(c, %s, %s, %s, %s, %d)", p.lanesType(e.Type), p.present(), p.varied(x), lanes(low),
			lanes(high), place)
	}
	p.Line("CHECK_CUT(%s, %s, %s.n, %d)", low.c, high.c, x.c, place)
	return fmt.Sprintf("make_%s(%s.p + %s, %s - %s)", t, x.c, low.c, high.c, low.c)
}

func (p *lanePrinter) builtin(e *ir.Expr, s shape) string {
	if e.Atomic() {
		return p.atomic(e)
	}
	if len(e.Args) == 0 {
		return p.Special(e)
	}
	var args []laneValue
	for _, a := range e.Args {
		args = append(args, p.expr(a))
	}
	t := e.Args[0].Type
	p.Type(t)
	p.Type(e.Type)
	var list []string
	for _, a := range args {
		list = append(list, p.as(a, s))
	}
	all := strings.Join(list, ", ")
	switch e.Name {
	case "fma":
		return fmt.Sprintf("__builtin_elementwise_fma(%s)", all)
	case "sqrt", "abs", "floor", "ceil", "trunc":
		return p.rounding(e.Name, args[0], s)
	}
	if s == varying {
		return p.lanesBuiltin(e, args, list)
	}
	switch e.Name {
	case "div", "rem": // by 0 it is 0, which the helper would fail for
		y := p.temp(args[1]).c
		return fmt.Sprintf("(%s == 0 ? (%s)0 : %s(LINE(%d) %s, %[1]s))", y, t.Name, p.Helper(e.Name+"_"+t.Name),
			p.Place(e.Pos), args[0].c)
	case "bits", "frombits":
		return fmt.Sprintf("as_%s(%s)", e.Type.Dialect(), all)
	}
	return p.Helped(e.Name, t, all)
}

// lanesBuiltin is a function of args, which are list for each lane.
func (p *lanePrinter) lanesBuiltin(e *ir.Expr, args []laneValue, list []string) string {
	all, t := strings.Join(list, ", "), e.Args[0].Type
	switch e.Name {
	case "min":
		return fmt.Sprintf("least(%s)", all)
	case "max":
		return fmt.Sprintf("most(%s)", all)
	case "bits", "frombits":
		return fmt.Sprintf("((%sv)%s)", e.Type.Name, all)
	case "div", "rem":
		y, m := p.varied(p.temp(args[1])), p.present()
		if e.Name == "rem" { // which is 0 for the 1 that it takes for 0
			return fmt.Sprintf("remainder(%s, %s, %s)", m, list[0], y)
		}
		return fmt.Sprintf("sel(as_mask(%s == 0), (%sv)(0), quotient(%s, %s, %[1]s))", y, t.Name, m, list[0])
	}
	// lane by lane
	name := p.next("t")
	var each []string
	for i, a := range args {
		a.c, a.shape = list[i], varying
		each = append(each, p.temp(a).c+"[q]")
	}
	p.Line("%s %s; LANES %[2]s[q] = %s;", p.lanesType(e.Type), name,
		p.Helped(e.Name, t, strings.Join(each, ", ")))
	return name
}

// present is the mask of the present lanes.
func (p *lanePrinter) present() string {
	if p.mask == "" {
		return "FULL"
	}
	return p.mask
}

// guard is before what a lane does, q: all of them, or those of the mask.
func (p *lanePrinter) guard() string {
	if p.mask == "" {
		return "LANES "
	}
	return fmt.Sprintf("SOME(%s) ", p.mask)
}

// atomic prints an atomic operation, lane by lane.
func (p *lanePrinter) atomic(e *ir.Expr) string {
	name := strings.ToLower(strings.TrimPrefix(e.Name, "Atomic"))
	if e.Args[0].Op != ir.OpAddr {
		refuseLanes("a pointer that may lead to several places")
	}
	at := p.access(e.Args[0].X)
	kind := "GLOBAL_"
	if e.Args[0].X.Space() == ir.SpaceLocal {
		kind = "LOCAL_"
	}
	list := "&" + at.lane()
	for _, a := range e.Args[1:] {
		v := p.temp(p.expr(a))
		list += ", " + v.lane()
	}
	t := p.next("t")
	p.version++
	p.Line("%s %s = {0};", p.lanesType(e.Type), t)
	p.Line("%s%s[q] = %s%s(%s);", p.guard(), t, kind, name, list)
	return t
}

// lane is v of lane q.
func (v laneValue) lane() string {
	switch v.shape {
	case varying:
		return v.c + "[q]"
	case linear:
		return fmt.Sprintf("(%s)(%s + q)", v.t.Name, v.c)
	}
	return v.c
}

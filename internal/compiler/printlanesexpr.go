package compiler

import (
	"fmt"
	"go/token"
	"strings"
)

// A laneValue is an expression in C: of a linear value that of the first lane.
type laneValue struct {
	c     string
	t     *typ
	shape shape
}

// shaped is the type that a variable has in C.
func (p *lanePrinter) shaped(v *variable) string {
	if p.a.vars[v] == varying {
		return p.lanesType(v.typ)
	}
	return p.typ(v.typ)
}

// lanesType is the type of t with a value for each lane: numbers become vectors, truth a mask,
// parts of structs and arrays vectors of their own.
func (p *lanePrinter) lanesType(t *typ) string {
	switch {
	case t.kind == kindBool:
		return "mask"
	case t.scalar():
		p.typ(t)
		return t.name + "v"
	}
	scalar := p.typ(t)
	name := scalar + "_v"
	if p.helpers[name] {
		return name
	}
	p.helpers[name] = true
	if t.kind == kindSlice {
		fmt.Fprintf(p.decls, "SLICES(%s, %s)\n", scalar, name)
		return name
	}
	var parts, vec, sel []string
	part := func(t *typ, name string) {
		parts = append(parts, fmt.Sprintf("%s %s;", p.lanesType(t), name))
		vec = append(vec, fmt.Sprintf("r.%s = %s(x.%[1]s);", name, p.widener(t)))
		sel = append(sel, fmt.Sprintf("r.%s = sel(m, x.%[1]s, y.%[1]s);", name))
	}
	if t.kind == kindStruct {
		for i, f := range t.fields {
			part(f.typ, fieldName(t, i))
		}
	} else {
		parts = append(parts, fmt.Sprintf("%s v[%d];", p.lanesType(t.elem), t.len))
		loop := fmt.Sprintf("for (int i = 0; i < %d; i++) ", t.len)
		vec = append(vec, loop+"r.v[i] = "+p.widener(t.elem)+"(x.v[i]);")
		sel = append(sel, loop+"r.v[i] = sel(m, x.v[i], y.v[i]);")
	}
	fmt.Fprintf(p.decls, "typedef struct { %s } %s;\n", strings.Join(parts, " "), name)
	fmt.Fprintf(p.decls, "OVER %s vec_%s(%[2]s x) { %[1]s r; %[3]s return r; }\n", name, scalar, strings.Join(vec, " "))
	fmt.Fprintf(p.decls, "OVER %s sel(mask m, %[1]s x, %[1]s y) { %[1]s r; %[2]s return r; }\n", name,
		strings.Join(sel, " "))
	return name
}

// widener is the function that gives all lanes one value of type t.
func (p *lanePrinter) widener(t *typ) string {
	switch {
	case t.kind == kindBool:
		return "mask_of"
	case t.scalar():
		return "vec"
	}
	p.lanesType(t)
	return "vec_" + p.typ(t)
}

// varied is v for each lane.
func (p *lanePrinter) varied(v laneValue) string {
	switch v.shape {
	case uniform:
		if v.t.scalar() && v.t.kind != kindBool {
			return fmt.Sprintf("vec((%s)(%s))", p.typ(v.t), v.c)
		}
		return fmt.Sprintf("%s(%s)", p.widener(v.t), v.c)
	case linear:
		return fmt.Sprintf("lin((%s)(%s))", p.typ(v.t), v.c)
	}
	return v.c
}

// scalar is e, which is the same for all lanes.
func (p *lanePrinter) scalar(e *expr) string {
	v := p.expr(e)
	if v.shape != uniform {
		refuseLanes("a condition of the whole group that differs between work-items")
	}
	return v.c
}

// first is v of the first lane.
func (p *lanePrinter) first(v laneValue) string {
	if !v.t.scalar() {
		refuseLanes("a value of the group that is no number")
	}
	if v.t.kind == kindBool {
		return fmt.Sprintf("(%s)[0] != 0", v.c)
	}
	return fmt.Sprintf("(%s)[0]", v.c)
}

// temp is v as a variable.
func (p *lanePrinter) temp(v laneValue) laneValue {
	if isWord(v.c) {
		return v
	}
	t := p.typ(v.t)
	if v.shape == varying {
		t = p.lanesType(v.t)
	}
	name := p.next("t")
	p.line("const %s %s = %s;", t, name, v.c)
	v.c = name
	return v
}

// isWord tells whether c is a name or a number.
func isWord(c string) bool {
	return strings.Trim(c, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}

// declare prints a declaration, which gives a variable that other stretches use too a new value.
func (p *lanePrinter) declare(s *stmt) {
	v, name := s.v, p.name(s.v)
	if v.array {
		defer func() { p.version++ }()
	}
	value := "{0}"
	switch {
	case s.x == nil || s.x.op == opZero:
		if v.array {
			p.line("%s = (%s){0};", name, p.shaped(v))
			return
		}
	default:
		x := p.expr(s.x)
		value = x.c
		if p.a.vars[v] == varying {
			value = p.varied(x)
		}
	}
	if v.array {
		p.line("%s = %s;", name, value)
		return
	}
	p.line("%s %s = %s;", p.shaped(v), name, value)
}

func (p *lanePrinter) assign(s *stmt) {
	defer func() { p.version++ }()
	v := rootVariable(s.x)
	if v == nil || v.local {
		p.store(s.x, p.expr(s.y))
		return
	}
	y := p.expr(s.y)
	if p.a.vars[v] != varying {
		p.line("%s = %s;", p.register(s.x).c, y.c)
		return
	}
	if p.a.indexShape(s.x) != uniform {
		p.scatter(p.access(s.x), y)
		return
	}
	x, value := p.register(s.x).c, p.varied(y)
	if p.a.keeps[s] && p.mask != "" {
		value = fmt.Sprintf("sel(%s, %s, %s)", p.mask, value, x)
	}
	p.line("%s = %s;", x, value)
}

// expr prints what e needs before, and gives e.
func (p *lanePrinter) expr(e *expr) laneValue {
	v := laneValue{t: e.typ, shape: p.a.shape(e)}
	switch e.op {
	case opConst:
		v.c = p.constant(e)
	case opZero:
		v.c = fmt.Sprintf("(%s){0}", p.typ(e.typ))
	case opVar, opIndex, opField, opDeref:
		return p.load(e)
	case opLen:
		v.c = p.expr(e.x).c + ".n"
	case opWithin:
		return p.expr(e.x)
	case opItem:
		v.c = p.item(e)
	case opBinary:
		v.c = p.binary(e, v.shape)
	case opUnary:
		v.c = p.unary(e, v.shape)
	case opShift:
		v.c = p.shift(e, v.shape)
	case opConvert:
		v.c = p.convert(e, v.shape)
	case opMake:
		v.c = p.make(e, v.shape)
	case opSlice:
		v.c = p.cut(e, v.shape)
	case opBuiltin:
		v.c = p.builtin(e, v.shape)
	default:
		refuseLanes("an expression that strips do not have")
	}
	return v
}

// item is the place of a work-item, as goPrinter has it; in x of the first lane.
func (p *lanePrinter) item(e *expr) string {
	d := e.n
	at := p.loops[d]
	if d == 1 {
		at = p.y
	}
	switch e.name {
	case "Global":
		if !p.k.barriers {
			return at
		}
		return fmt.Sprintf("(b%d + %s)", d, at)
	case "Local":
		if !p.k.barriers {
			return fmt.Sprintf("(%s - b%d)", at, d)
		}
		return at
	case "Group":
		return fmt.Sprintf("g%d", d)
	case "GlobalSize":
		return fmt.Sprintf("s%d", d)
	case "LocalSize":
		return fmt.Sprintf("n%d", d)
	}
	return fmt.Sprintf("N%d", d)
}

// narrow puts c, arithmetic of one value, back into its type: C computes small ones as int.
func narrow(c string, t *typ) string {
	if t.size < 4 {
		return fmt.Sprintf("((%s)%s)", t.name, c)
	}
	return c
}

func (p *lanePrinter) binary(e *expr, s shape) string {
	x, y := p.expr(e.x), p.expr(e.y)
	tok, t := e.tok.String(), e.x.typ
	switch e.tok {
	case token.AND_NOT:
		if s != varying {
			return narrow(fmt.Sprintf("(%s & ~%s)", x.c, y.c), t)
		}
		return fmt.Sprintf("(%s & ~%s)", p.varied(x), p.varied(y))
	case token.EQL, token.NEQ:
		if t.kind == kindBool {
			if s != varying {
				return fmt.Sprintf("((%s != 0) %s (%s != 0))", x.c, tok, y.c)
			}
			c := fmt.Sprintf("(%s ^ %s)", p.varied(x), p.varied(y))
			if e.tok == token.EQL {
				c = "~" + c
			}
			return c
		}
	}
	if s != varying {
		c := fmt.Sprintf("(%s %s %s)", x.c, tok, y.c)
		if t.integer() && e.typ == t {
			return narrow(c, t)
		}
		return c
	}
	switch {
	case e.tok == token.LAND:
		return fmt.Sprintf("(%s & %s)", p.varied(x), p.varied(y))
	case e.tok == token.LOR:
		return fmt.Sprintf("(%s | %s)", p.varied(x), p.varied(y))
	case e.typ.kind == kindBool && t.kind != kindBool:
		if c := p.neighbours(e.tok, x, y); c != "" {
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
	return fmt.Sprintf("%s((%s)(%s), (%[2]s)(%[4]s))", name, x.t.name, x.c, y.c)
}

func (p *lanePrinter) unary(e *expr, s shape) string {
	x := p.expr(e.x)
	switch {
	case e.tok == token.NOT && s != varying:
		return fmt.Sprintf("(!%s)", x.c)
	case e.tok == token.NOT, e.tok == token.XOR && s == varying:
		return fmt.Sprintf("(~%s)", p.varied(x))
	case e.tok == token.XOR:
		return narrow(fmt.Sprintf("(~%s)", x.c), e.typ)
	case s == varying:
		return fmt.Sprintf("(-%s)", p.varied(x))
	case e.typ.integer():
		return narrow(fmt.Sprintf("(-%s)", x.c), e.typ)
	}
	return fmt.Sprintf("(-%s)", x.c)
}

func (p *lanePrinter) shift(e *expr, s shape) string {
	x, t := p.expr(e.x), e.typ
	left := e.tok == token.SHL
	if e.y.op == opConst {
		n := e.y.value.ExactString()
		if s == varying {
			return fmt.Sprintf("(%s %s (%sv)(%s))", p.varied(x), e.tok, t.name, n)
		}
		return narrow(fmt.Sprintf("(%s %s %s)", x.c, e.tok, n), t)
	}
	name := map[bool]string{true: "shl", false: "shr"}[left]
	y := p.expr(e.y)
	if s == varying {
		return fmt.Sprintf("%s(%s, %s)", name, p.varied(x), p.varied(y))
	}
	return fmt.Sprintf("%s(%s, %s)", p.helper(name+"_"+t.name), x.c, y.c)
}

// exactNarrow is functions whose float64 result for a float32 is exact, or is rounded to the same
// float32 as the result for float32 is.
var exactNarrow = map[string]bool{"sqrt": true, "abs": true, "floor": true, "ceil": true, "trunc": true}

func (p *lanePrinter) convert(e *expr, s shape) string {
	t, from := e.typ, e.x.typ
	if b := e.x; t.kind == kindFloat32 && b.op == opBuiltin && exactNarrow[b.name] && b.args[0].op == opConvert &&
		b.args[0].x.typ.kind == kindFloat32 {
		return p.rounding(b.name, p.expr(b.args[0].x), s)
	}
	x := p.expr(e.x)
	switch {
	case t == from:
		return x.c
	case s != varying && from.float() && t.integer():
		return fmt.Sprintf("%s(%s)", p.toInt(t, from), x.c)
	case s != varying:
		return fmt.Sprintf("((%s)%s)", p.typ(t), x.c)
	case from.float() && t.integer():
		return fmt.Sprintf("to_%s(%s)", t.name, p.varied(x))
	}
	p.typ(t)
	return fmt.Sprintf("CV(%s, %s)", p.varied(x), t.name)
}

// rounding is sqrt and such of x.
func (p *lanePrinter) rounding(name string, x laneValue, s shape) string {
	c := x.c
	if s == varying {
		c = p.varied(x)
	}
	return fmt.Sprintf("__builtin_elementwise_%s(%s)", name, c)
}

// make is a struct or array of values.
func (p *lanePrinter) make(e *expr, s shape) string {
	t := p.typ(e.typ)
	if s == varying {
		t = p.lanesType(e.typ)
	}
	name := p.next("t")
	p.line("%s %s = {0};", t, name)
	for i, a := range e.args {
		if a == nil || a.op == opZero {
			continue
		}
		v := p.expr(a)
		c := v.c
		if s == varying {
			c = p.varied(v)
		}
		part := fmt.Sprintf(".v[%d]", i)
		if e.typ.kind == kindStruct {
			part = "." + fieldName(e.typ, i)
		}
		p.line("%s%s = %s;", name, part, c)
	}
	return name
}

// cut is a part of a slice or an array.
func (p *lanePrinter) cut(e *expr, s shape) string {
	t := p.typ(e.typ)
	x := laneValue{t: e.typ}
	if e.x.typ.kind == kindArray {
		if e.x.space() == spacePrivate {
			refuseLanes("a slice of an array that each work-item has for itself")
		}
		a := p.access(e.x)
		if a.shape != uniform {
			refuseLanes("a slice of an array that differs between work-items")
		}
		x.c = fmt.Sprintf("make_%s(%s.v, %d)", t, a.text, e.x.typ.len)
	} else {
		x = p.expr(e.x)
	}
	x = p.temp(x)
	low := laneValue{c: "((i64)0)", t: e.z.typ}
	if e.y != nil {
		low = p.temp(p.expr(e.y))
	}
	high := p.temp(p.expr(e.z))
	place := p.place(e.pos)
	if s == varying {
		lanes := func(v laneValue) string { return "CV(" + p.varied(v) + ", i64)" }
		return fmt.Sprintf("cut_%s(c, %s, %s, %s, %s, %d)", p.lanesType(e.typ), p.present(), p.varied(x), lanes(low),
			lanes(high), place)
	}
	p.line("CHECK_CUT(%s, %s, %s.n, %d)", low.c, high.c, x.c, place)
	return fmt.Sprintf("make_%s(%s.p + %s, %s - %s)", t, x.c, low.c, high.c, low.c)
}

func (p *lanePrinter) builtin(e *expr, s shape) string {
	if e.name[0] == 'A' {
		return p.atomic(e)
	}
	if len(e.args) == 0 {
		return p.special(e)
	}
	var args []laneValue
	for _, a := range e.args {
		args = append(args, p.expr(a))
	}
	t := e.args[0].typ
	p.typ(t)
	p.typ(e.typ)
	if s == varying {
		return p.lanesBuiltin(e, args)
	}
	list := args[0].c
	for _, a := range args[1:] {
		list += ", " + a.c
	}
	switch e.name {
	case "fma":
		return fmt.Sprintf("__builtin_elementwise_fma(%s)", list)
	case "sqrt", "abs", "floor", "ceil", "trunc":
		return p.rounding(e.name, args[0], s)
	case "div", "rem":
		return fmt.Sprintf("%s(LINE(%d) %s)", p.helper(e.name+"_"+t.name), p.place(e.pos), list)
	case "bits", "frombits":
		return fmt.Sprintf("as_%s(%s)", e.typ.dialect(), list)
	}
	return p.countBits(e.name, e.typ, t, list)
}

// countBits is a helper of Go's meaning for one value.
func (p *lanePrinter) countBits(name string, to, t *typ, list string) string {
	switch name {
	case "popcount", "clz", "ctz":
		return fmt.Sprintf("((i64)%s(%s))", p.helper(name+"_"+t.name), list)
	case "len":
		return fmt.Sprintf("((i64)%d - (i64)%s(%s))", t.bits(), p.helper("clz_"+t.name), list)
	}
	return fmt.Sprintf("%s(%s)", p.helper(name+"_"+t.name), list)
}

func (p *lanePrinter) lanesBuiltin(e *expr, args []laneValue) string {
	var list []string
	for _, a := range args {
		list = append(list, p.varied(a))
	}
	all, t := strings.Join(list, ", "), e.args[0].typ
	switch e.name {
	case "fma":
		return fmt.Sprintf("__builtin_elementwise_fma(%s)", all)
	case "min":
		return fmt.Sprintf("least(%s)", all)
	case "max":
		return fmt.Sprintf("most(%s)", all)
	case "sqrt", "abs", "floor", "ceil", "trunc":
		return p.rounding(e.name, args[0], varying)
	case "bits", "frombits":
		return fmt.Sprintf("((%sv)%s)", e.typ.name, all)
	case "div", "rem":
		y := p.temp(args[1])
		m := p.present()
		if y.shape == uniform {
			p.line("if (UNLIKELY(%s == 0)) fail(c, FAIL_DIVIDE, %d, 0, 0);", y.c, p.place(e.pos))
		} else {
			p.line("check_zero(c, %s, %s, %d);", m, p.varied(y), p.place(e.pos))
		}
		name := map[string]string{"div": "quotient", "rem": "remainder"}[e.name]
		return fmt.Sprintf("%s(%s, %s, %s)", name, m, list[0], p.varied(y))
	}
	// lane by lane
	name := p.next("t")
	var each []string
	for i, a := range args {
		a.c, a.shape = list[i], varying
		each = append(each, p.temp(a).c+"[q]")
	}
	p.line("%s %s; LANES %[2]s[q] = %s;", p.lanesType(e.typ), name,
		p.countBits(e.name, e.typ, t, strings.Join(each, ", ")))
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
func (p *lanePrinter) atomic(e *expr) string {
	name := strings.ToLower(strings.TrimPrefix(e.name, "Atomic"))
	if e.args[0].op != opAddr {
		refuseLanes("a pointer that may lead to several places")
	}
	at := p.access(e.args[0].x)
	kind := "GLOBAL_"
	if e.args[0].x.space() == spaceLocal {
		kind = "LOCAL_"
	}
	list := "&" + at.lane()
	for _, a := range e.args[1:] {
		v := p.temp(p.expr(a))
		list += ", " + v.lane()
	}
	t := p.next("t")
	p.version++
	p.line("%s %s = {0};", p.lanesType(e.typ), t)
	p.line("%s%s[q] = %s%s(%s);", p.guard(), t, kind, name, list)
	return t
}

// lane is v of lane q.
func (v laneValue) lane() string {
	switch v.shape {
	case varying:
		return v.c + "[q]"
	case linear:
		return fmt.Sprintf("(%s)(%s + q)", v.t.name, v.c)
	}
	return v.c
}

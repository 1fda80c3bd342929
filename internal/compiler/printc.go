package compiler

import (
	"cmp"
	"fmt"
	"go/constant"
	"go/token"
	"maps"
	"math"
	"slices"
	"strings"
)

// cText is the text of a kernel in the portable dialect, but for support.Head, and the names of the
// files that its lines are of.
func cText(k *kernel, l *lowerer) (text string, files []string) {
	p := newCPrinter(k, l)
	p.kernel(k)
	body := p.out.String()
	return p.decls.String() + body, *p.files
}

// A cPrinter prints a kernel and what it needs: decls are types, tables, helpers and functions, in
// an order in which each is known before it is used.
type cPrinter struct {
	l          *lowerer
	files      *[]string // that lines are of
	decls, out *strings.Builder
	indent     int
	names      scope          // of the text, beside variables, whose names end in _ or what parameter has
	named      map[any]string // types, tables and functions that are declared
	helpers    map[string]bool
	float64By  string // where other packages compute with float64, an error that names their functions
	fn         *function
	around     []*stmt // the loops and blocks that the statement is in
	labels     int
}

func newCPrinter(k *kernel, l *lowerer) *cPrinter {
	p := &cPrinter{
		l: l, decls: new(strings.Builder), out: new(strings.Builder), names: scope{k.entry: true},
		named: map[any]string{}, helpers: map[string]bool{}, files: new([]string), fn: k.function,
	}
	p.place(k.pos) // the kernel's own file is the first
	return p
}

func (p *cPrinter) line(format string, args ...any) {
	p.out.WriteString(strings.Repeat("  ", p.indent))
	fmt.Fprintf(p.out, format, args...)
	p.out.WriteByte('\n')
}

// place is a line of the kernel's source: its number, and 1e6 times the number of its file.
func (p *cPrinter) place(pos token.Pos) int {
	where := p.l.fset.Position(pos)
	name := p.l.relative(where.Filename)
	i := slices.Index(*p.files, name)
	if i < 0 {
		i = len(*p.files)
		*p.files = append(*p.files, name)
	}
	return i*1e6 + where.Line
}

// cSpace is the word for a memory before a type.
var cSpace = map[space]string{
	spacePrivate: "", spaceLocal: "LOCALPTR ", spaceGlobal: "__global ",
	spaceConstant: "__constant ",
}

// typ is the name of t, which it declares when it is new.
func (p *cPrinter) typ(t *typ) string {
	if name := p.named[t]; name != "" {
		return name
	}
	name := t.name
	switch t.kind {
	case kindPointer:
		return cSpace[t.space] + p.typ(t.elem) + " *"
	case kindFloat64:
		p.decls.WriteString(p.float64By + "typedef double f64;\n")
	case kindArray:
		elem := p.typ(t.elem)
		name = fmt.Sprintf("a%d_%s", t.len, p.word(t.elem))
		fmt.Fprintf(p.decls, "typedef struct { %s v[%d]; } %s;\n", elem, t.len, name)
		p.assertSize(name, t)
	case kindSlice:
		elem := p.typ(t.elem)
		name = fmt.Sprintf("s%s_%s", spaceNames[t.space], p.word(t.elem))
		pointer := cSpace[t.space] + elem + " *"
		fmt.Fprintf(p.decls, "typedef struct { %sp; i64 n; } %s;\n", pointer, name)
		fmt.Fprintf(p.decls, "FN %s make_%[1]s(%[2]sp, i64 n) { %[1]s s; s.p = p; s.n = n; return s; }\n",
			name, pointer)
	case kindStruct:
		name = p.structType(t)
	}
	p.named[t] = name
	return name
}

// word is the name of t as a part of another's: bool and uint8 are one type in C.
func (p *cPrinter) word(t *typ) string {
	if t.kind == kindBool {
		return "bool"
	}
	return p.typ(t)
}

// float64Error names the functions of other packages that compute with float64, for a device that
// does not have it: the kernel itself may not show that they do.
func float64Error(k *function) string {
	var names []string
	var find func(fn *function)
	find = func(fn *function) {
		for _, c := range fn.calls {
			switch {
			case c.imported == "":
				find(c)
			case c.usesFloat64():
				names = append(names, c.imported)
			}
		}
	}
	find(k)
	if names == nil {
		return ""
	}
	slices.Sort(names)
	return fmt.Sprintf("#if defined(__OPENCL_VERSION__) && !defined(cl_khr_fp64)\n"+
		"#error %s: needs float64, which this device does not have\n#endif\n",
		strings.Join(slices.Compact(names), ", "))
}

// structType declares a struct with its padding written out, so that its size tells that every
// field is where Go has it.
func (p *cPrinter) structType(t *typ) (name string) {
	var b strings.Builder
	end := int64(0)
	pad := func(to int64) {
		if t.size > 0 && to > end {
			fmt.Fprintf(&b, " u8 gap%d[%d];", end, to-end)
		}
	}
	for i, f := range t.fields {
		pad(f.off)
		fmt.Fprintf(&b, " %s %s;", p.typ(f.typ), fieldName(t, i))
		end = f.off + f.typ.size
	}
	pad(t.size)
	if len(t.fields) == 0 {
		b.WriteString(" u8 none;")
	}
	name = p.names.unique(cName(t.name) + "_t")
	fmt.Fprintf(p.decls, "typedef struct {%s } %s;\n", b.String(), name)
	p.assertSize(name, t)
	return name
}

func (p *cPrinter) assertSize(name string, t *typ) {
	if t.size > 0 {
		fmt.Fprintf(p.decls, "typedef char size_%s[sizeof(%[1]s) == %d ? 1 : -1];\n", name, t.size)
	}
}

// fieldName is the name of field i in both languages.
func fieldName(t *typ, i int) string {
	name := t.fields[i].name
	if c := cName(name); c != name || name == "_" {
		return fmt.Sprintf("%s_%d", c, i)
	}
	return name + "_"
}

func (p *cPrinter) kernel(k *kernel) {
	p.float64By = float64Error(k.function)
	var params, inner []string
	for _, v := range k.params {
		head, value := p.parameter(v)
		params, inner = append(params, head...), append(inner, value)
	}
	group := ""
	if k.group != [3]int{} {
		group = fmt.Sprintf(" WG_SIZE(%d, %d, %d)", k.group[0], k.group[1], k.group[2])
	}
	head := strings.Join(params, ", ") + " CHECKED_KERNEL"
	if len(params) == 0 {
		head = "CHECKED_ALONE"
	}
	p.line("__kernel%s", group)
	p.line("void %s(%s) {", k.entry, head)
	p.indent++
	for _, v := range localsOf(k.body) {
		p.line("LOCALMEM %s %s;", p.typ(v.typ), p.name(v))
	}
	for _, key := range slices.Sorted(maps.Keys(k.meeting)) {
		v := k.meeting[key]
		p.line("LOCALMEM %s %s;", p.typ(v.typ), p.name(v))
	}
	p.line("CHECKED_BEGIN")
	for _, s := range inner {
		p.line("%s", s)
	}
	p.stmts(k.body)
	p.indent--
	p.line("}")
}

// localsOf is the memory that the group shares, in the order of use.
func localsOf(list []*stmt) (found []*variable) {
	look := func(e *expr) {
		e.walk(func(e *expr) {
			if e.op == opVar && e.v.local && !slices.Contains(found, e.v) {
				found = append(found, e.v)
			}
		})
	}
	walk(list, func(s *stmt) { s.exprs(look) })
	return found
}

// parameter is a kernel's parameter as the launch passes it, and the declaration of the variable
// that the kernel sees.
func (p *cPrinter) parameter(v *variable) (head []string, value string) {
	name, t := p.name(v), v.typ
	constant := map[bool]string{true: "const "}[v.readOnly]
	cast := func(elem *typ) string { // Go has no such types
		if !v.readOnly {
			return ""
		}
		return fmt.Sprintf("(__global %s *)", p.typ(elem))
	}
	switch {
	case v.leaves != nil:
		value = fmt.Sprintf("%s %s;", p.typ(t), name)
		for i, l := range v.leaves {
			x := fmt.Sprintf("%sx%d", name, i)
			head = append(head, cScalar(l.typ)+x)
			value += fmt.Sprintf(" %s%s = (%s)%s;", name, l.c, p.typ(l.typ), x)
		}
	case t.kind == kindSlice:
		head = []string{
			fmt.Sprintf("__global %s%s *%sp", constant, p.typ(t.elem), name), "const ulong " + name + "off",
			"const ulong " + name + "len",
		}
		value = fmt.Sprintf("%s %s = make_%[1]s(%[3]s%[2]sp + %[2]soff, (i64)%[2]slen);", p.typ(t), name, cast(t.elem))
	case t.kind == kindStruct:
		data := t.fields[0].typ
		head = []string{
			fmt.Sprintf("__global %s%s *%sp", constant, p.typ(data.elem), name),
			"const ulong " + name + "off",
		}
		for _, part := range []string{"rows", "cols", "stride"} {
			head = append(head, "const ulong "+name+part)
		}
		typ := p.typ(t)
		value = fmt.Sprintf("%s %s; %[2]s.%s = make_%s(%s%[2]sp + %[2]soff, (i64)(%[2]srows == 0 ? 0 : "+
			"(%[2]srows - 1) * %[2]sstride + %[2]scols));", typ, name, fieldName(t, 0), p.typ(data), cast(data.elem))
		for i, part := range []string{"rows", "cols", "stride"} {
			value += fmt.Sprintf(" %s.%s = (i64)%[1]s%[3]s;", name, fieldName(t, i+1), part)
		}
	default:
		head = []string{cScalar(t) + name + "x"}
	}
	if value == "" {
		value = fmt.Sprintf("%s %s = (%[1]s)%[2]sx;", p.typ(t), name)
	}
	return head, value
}

// cScalar is how a number is passed.
func cScalar(t *typ) string {
	switch {
	case t.kind == kindFloat32:
		return "const float "
	case t.kind == kindFloat64:
		return "const double "
	case t.size == 8:
		return "const ulong "
	}
	return "const uint "
}

func (p *cPrinter) name(v *variable) string {
	if v.table != nil {
		return p.table(v.table)
	}
	return cName(v.name) + "_"
}

func (p *cPrinter) table(t *table) string {
	if p.named[t] == "" {
		typ := p.typ(t.value.typ)
		p.named[t] = p.names.unique(cName(t.name) + "_c")
		fmt.Fprintf(p.decls, "TABLE %s %s = %s;\n", typ, p.named[t], p.initializer(t.value))
	}
	return p.named[t]
}

// function prints fn before what is printed now, and gives its name.
func (p *cPrinter) function(fn *function) string {
	if name := p.named[fn]; name != "" {
		return name
	}
	name := p.names.unique(cName(fn.name) + "_f")
	p.named[fn] = name
	q := &cPrinter{
		l: p.l, files: p.files, decls: p.decls, out: new(strings.Builder), names: p.names, named: p.named,
		helpers: p.helpers, fn: fn, float64By: p.float64By,
	}
	result := q.resultType(fn)
	var params []string
	for _, v := range fn.params {
		params = append(params, q.typ(v.typ)+" "+q.name(v))
	}
	head := "CHECKER " + strings.Join(params, ", ")
	if len(params) == 0 {
		head = "CHECKER_ALONE"
	}
	q.line("FN %s %s(%s) {", result, name, head)
	q.indent++
	q.stmts(fn.body)
	if n := len(fn.body); len(fn.results) > 0 && (n == 0 || fn.body[n-1].kind != stmtReturn) {
		q.line("%s r = {0}; return r;", result)
	}
	q.indent--
	q.line("}")
	p.decls.WriteString(q.out.String())
	return name
}

// resultType is the type of a function's results; several are a struct of their own.
func (p *cPrinter) resultType(fn *function) string {
	switch len(fn.results) {
	case 0:
		return "void"
	case 1:
		return p.typ(fn.results[0])
	}
	var b strings.Builder
	for i, t := range fn.results {
		fmt.Fprintf(&b, " %s r%d;", p.typ(t), i)
	}
	name := p.function(fn) + "_results"
	if !p.helpers[name] {
		p.helpers[name] = true
		fmt.Fprintf(p.decls, "typedef struct {%s } %s;\n", b.String(), name)
	}
	return name
}

func (p *cPrinter) stmts(list []*stmt) {
	for _, s := range list {
		p.stmt(s)
	}
}

func (p *cPrinter) body(list []*stmt) {
	p.indent++
	p.stmts(list)
	p.indent--
}

func (p *cPrinter) stmt(s *stmt) {
	switch s.kind {
	case stmtDecl:
		p.line("%s %s = %s;", p.typ(s.v.typ), p.name(s.v), p.initializer(s.x))
	case stmtAssign:
		p.line("%s;", p.assign(s))
	case stmtCall:
		p.call(s)
	case stmtIf:
		p.ifStmt(s)
	case stmtLoop:
		p.loop(s)
	case stmtBlock:
		p.around = append(p.around, s)
		p.line("{")
		p.body(s.body)
		p.line("}")
		p.around = p.around[:len(p.around)-1]
		p.broken(s)
	case stmtBreak, stmtContinue:
		p.jump(s)
	case stmtReturn:
		p.returnStmt(s)
	case stmtBarrier:
		p.barrier(s)
	}
}

func (p *cPrinter) barrier(s *stmt) {
	if s.v == nil {
		p.line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);")
		return
	}
	t := p.typ(s.v.typ)
	p.line("%s %s;", t, p.name(s.v))
	p.line("%s(%s, %s, %s, %s)", strings.ToUpper(s.meeting.name), t, p.name(s.v), p.name(s.meeting.shared), p.bare(s.x))
}

func (p *cPrinter) assign(s *stmt) string {
	if common(s.x) {
		return fmt.Sprintf("STORE(%s, %s, %s)", p.access(s.x), p.memory(s.x), p.bare(s.y))
	}
	return fmt.Sprintf("%s = %s", p.memory(s.x), p.bare(s.y))
}

func (p *cPrinter) call(s *stmt) {
	if len(s.dst) == 0 {
		p.line("%s;", p.bare(s.x))
		return
	}
	p.line("{ %s r = %s;", p.resultType(s.x.fn), p.bare(s.x))
	for i, v := range s.dst {
		p.line("  %s = r.r%d;", p.name(v), i)
	}
	p.line("}")
}

func (p *cPrinter) ifStmt(s *stmt) {
	join := func(list []*stmt) {
		if s.lifted && len(list) > 0 && !holdsBarrier(list) {
			p.line("  JOIN;")
		}
	}
	if s.lifted {
		p.line("JOIN;")
	}
	p.line("if (%s) {", p.bare(s.x))
	join(s.body)
	p.body(s.body)
	for len(s.els) == 1 && s.els[0].kind == stmtIf && !s.els[0].lifted { // compilers limit how deep they nest
		s = s.els[0]
		p.line("} else if (%s) {", p.bare(s.x))
		p.body(s.body)
	}
	if len(s.els) > 0 {
		p.line("} else {")
		join(s.els)
		p.body(s.els)
	}
	p.line("}")
}

func holdsBarrier(list []*stmt) bool {
	found := false
	walk(list, func(s *stmt) { found = found || s.kind == stmtBarrier })
	return found
}

func holdsMeeting(list []*stmt) bool {
	found := false
	walk(list, func(s *stmt) { found = found || s.meeting != nil })
	return found
}

func (p *cPrinter) loop(s *stmt) {
	cond, post := "", ""
	if s.x != nil {
		cond = p.bare(s.x)
	}
	if len(s.post) > 0 {
		post = p.assign(s.post[0])
	}
	if !holdsBarrier(s.body) {
		cond = fmt.Sprintf("GO(%s)", cmp.Or(cond, "1"))
	} else if holdsMeeting(s.body) {
		cond = fmt.Sprintf("GO_ALL(%s)", cmp.Or(cond, "1"))
	}
	p.around = append(p.around, s)
	body := p.captured(s.body)
	p.line("for (; %s; %s) {", cond, post)
	if s.resumed { // the braces end what the body declares
		body = p.spaces() + "  {\n" + body + p.spaces() + "  }\n" + p.spaces() + "  " + s.label + "_next:;\n"
	}
	p.out.WriteString(body)
	p.line("}")
	p.around = p.around[:len(p.around)-1]
	p.broken(s)
	s.resumed = false
}

// broken prints where a goto out of s leads: to a barrier, if it came past one.
func (p *cPrinter) broken(s *stmt) {
	if !s.broken {
		return
	}
	p.line("%s:;", s.label)
	if s.meets && holdsBarrier(s.body) {
		p.line("JOIN;")
	}
	s.broken = false
}

func (p *cPrinter) spaces() string { return strings.Repeat("  ", p.indent) }

// captured is the text of a body.
func (p *cPrinter) captured(list []*stmt) string {
	out := p.out
	p.out = new(strings.Builder)
	p.body(list)
	text := p.out.String()
	p.out = out
	return text
}

// jump prints a break or continue: with goto where it leaves more than the innermost loop.
func (p *cPrinter) jump(s *stmt) {
	for i := len(p.around) - 1; i >= 0; i-- {
		if a := p.around[i]; a.kind == stmtLoop || a == s.target {
			if a == s.target && a.kind == stmtLoop {
				p.line("%s;", map[stmtKind]string{stmtBreak: "break", stmtContinue: "continue"}[s.kind])
				return
			}
			break
		}
	}
	t := s.target
	if !t.broken && !t.resumed {
		p.labels++
		t.label = fmt.Sprintf("l%d", p.labels)
	}
	if s.kind == stmtBreak {
		t.broken = true
		p.line("goto %s;", t.label)
		return
	}
	t.resumed = true
	p.line("goto %s_next;", t.label)
}

func (p *cPrinter) returnStmt(s *stmt) {
	switch len(s.args) {
	case 0:
		p.line("return;")
	case 1:
		p.line("return %s;", p.bare(s.args[0]))
	default:
		var list []string
		for _, a := range s.args {
			list = append(list, p.bare(a))
		}
		p.line("{ %s r = {%s}; return r; }", p.resultType(p.fn), strings.Join(list, ", "))
	}
}

// initializer is a value in a declaration.
func (p *cPrinter) initializer(e *expr) string {
	switch {
	case e == nil || e.op == opZero:
		if e != nil && e.typ.scalar() {
			return "0"
		}
		return "{0}"
	case e.op == opMake:
		return p.braces(e)
	}
	return p.bare(e)
}

// braces is a literal; what it leaves out at the end is zero.
func (p *cPrinter) braces(e *expr) string {
	if len(e.args) == 0 {
		return "{0}"
	}
	types := func(i int) *typ {
		if e.typ.kind == kindArray {
			return e.typ.elem
		}
		return e.typ.fields[i].typ
	}
	last := len(e.args) - 1
	for last > 0 && e.args[last] == nil {
		last--
	}
	var list []string
	end := int64(0)
	for i, a := range e.args[:last+1] {
		if t := e.typ; t.kind == kindStruct && t.size > 0 {
			if t.fields[i].off > end {
				list = append(list, "{0}")
			}
			end = t.fields[i].off + t.fields[i].typ.size
		}
		switch {
		case a != nil:
			list = append(list, p.initializer(a))
		case types(i).scalar():
			list = append(list, "0")
		default:
			list = append(list, "{0}")
		}
	}
	s := "{" + strings.Join(list, ", ") + "}"
	if e.typ.kind == kindArray {
		return "{" + s + "}"
	}
	return s
}

// bare is e without parentheses around it.
func (p *cPrinter) bare(e *expr) string {
	s := p.expr(e)
	if strings.HasPrefix(s, "(") && closes(s) == len(s)-1 {
		return s[1 : len(s)-1]
	}
	return s
}

// closes is where the parenthesis that s starts with closes.
func closes(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func (p *cPrinter) exprs(list []*expr) string {
	var s []string
	for _, e := range list {
		s = append(s, p.bare(e))
	}
	return strings.Join(s, ", ")
}

// expr is e, in parentheses where it is more than a primary expression.
func (p *cPrinter) expr(e *expr) string {
	switch e.op {
	case opConst:
		return p.constant(e)
	case opVar, opIndex, opField, opDeref:
		if common(e) {
			return fmt.Sprintf("LOAD(%s, %s)", p.access(e), p.memory(e))
		}
		return p.memory(e)
	case opBinary:
		return p.binary(e)
	case opShift:
		return p.shift(e)
	case opUnary:
		return p.unary(e)
	case opConvert:
		if e.x.typ.float() && e.typ.integer() {
			return fmt.Sprintf("%s(%s)", p.toInt(e.typ, e.x.typ), p.bare(e.x))
		}
		return fmt.Sprintf("((%s)%s)", p.typ(e.typ), p.expr(e.x))
	case opAddr:
		return fmt.Sprintf("(&%s)", p.memory(e.x))
	case opSlice:
		return p.slice(e)
	case opLen:
		return p.expr(e.x) + ".n"
	case opWithin:
		limit := p.bare(e.y)
		return fmt.Sprintf("%s(%s, %s, %d)", e.name, p.bare(e.x), limit, p.place(e.pos))
	case opCall:
		if len(e.args) == 0 {
			return p.function(e.fn) + "(CHECK_ALONE)"
		}
		return fmt.Sprintf("%s(CHECK %s)", p.function(e.fn), p.exprs(e.args))
	case opBuiltin:
		return p.builtin(e)
	case opItem:
		return fmt.Sprintf("((i64)%s(%d))", cItem[e.name], e.n)
	}
	panic("compiler: an expression that C does not have")
}

// common tells whether e is memory that other work-items see.
func common(e *expr) bool { s := e.space(); return s == spaceGlobal || s == spaceLocal }

// access declares the access to memory of e's type, and gives the name that LOAD and STORE take.
func (p *cPrinter) access(e *expr) string {
	typ, s := p.typ(e.typ), e.space()
	name := spaceNames[s] + "_" + typ
	if !p.helpers[name] {
		p.helpers[name] = true
		fmt.Fprintf(p.decls, "ACCESS(%s, %s, %s)\n", name, strings.TrimSpace(cSpace[s]), typ)
	}
	return name
}

// memory is e as a place, which is not read.
func (p *cPrinter) memory(e *expr) string {
	switch e.op {
	case opVar:
		p.typ(e.typ)
		return p.name(e.v)
	case opIndex:
		i := p.bare(e.y)
		if e.x.typ.kind == kindSlice {
			s := p.expr(e.x)
			if !e.within {
				i = fmt.Sprintf("AT(%s, %s.n, %d)", i, s, p.place(e.pos))
			}
			return fmt.Sprintf("%s.p[%s]", s, i)
		}
		if !e.within && !inArray(e) {
			i = fmt.Sprintf("AT(%s, %d, %d)", i, e.x.typ.len, p.place(e.pos))
		}
		return fmt.Sprintf("%s.v[%s]", p.memory(e.x), i)
	case opField:
		p.typ(e.x.typ)
		return fmt.Sprintf("%s.%s", p.memory(e.x), fieldName(e.x.typ, e.n))
	case opDeref:
		return fmt.Sprintf("(*%s)", p.expr(e.x))
	}
	return p.expr(e)
}

// inArray tells whether e is an element of an array with a constant index that it has.
func inArray(e *expr) bool {
	if e.x.typ.kind != kindArray || e.y.op != opConst {
		return false
	}
	n, exact := constant.Int64Val(constant.ToInt(e.y.value))
	return exact && 0 <= n && n < e.x.typ.len
}

var cItem = map[string]string{
	"Global": "get_global_id", "Local": "get_local_id", "Group": "get_group_id", "GlobalSize": "get_global_size",
	"LocalSize": "get_local_size", "Groups": "get_num_groups",
}

func (p *cPrinter) slice(e *expr) string {
	var data, length string
	if e.x.typ.kind == kindArray {
		data, length = p.memory(e.x)+".v", fmt.Sprint(e.x.typ.len)
	} else {
		s := p.expr(e.x)
		data, length = s+".p", s+".n"
	}
	t, high := p.typ(e.typ), p.expr(e.z)
	if e.y == nil && (e.z.op == opLen && e.z.x == e.x || e.z.op == opConst && e.x.typ.kind == kindArray) {
		return fmt.Sprintf("make_%s(%s, %s)", t, data, high)
	}
	low := "0"
	if e.y != nil {
		low = p.expr(e.y)
	}
	cut := fmt.Sprintf("CUT(%s, %s, %s, %d)", low, high, length, p.place(e.pos))
	return fmt.Sprintf("make_%s(%s + %s, %s - %s)", t, data, cut, high, low)
}

// constant is a number, exactly.
func (p *cPrinter) constant(e *expr) string {
	t := e.typ
	switch {
	case t.kind == kindBool:
		if constant.BoolVal(e.value) {
			return "1"
		}
		return "0"
	case t.float():
		x, _ := constant.Float64Val(e.value)
		p.typ(t)
		return cFloat(x, t)
	case t.unsigned():
		n, _ := constant.Uint64Val(e.value)
		if t.kind == kindUint64 {
			return fmt.Sprintf("%dul", n)
		}
		return fmt.Sprintf("%du", n)
	}
	n, _ := constant.Int64Val(e.value)
	switch {
	case n == math.MinInt64:
		return "((i64)0x8000000000000000ul)"
	case t.kind == kindInt64:
		return fmt.Sprintf("((i64)%d)", n)
	case n == math.MinInt32:
		return "((i32)0x80000000u)"
	case n < 0:
		return fmt.Sprintf("(%d)", n)
	}
	return fmt.Sprint(n)
}

// cFloat is x in decimal digits where few are exact, in hexadecimal ones elsewhere.
func cFloat(x float64, t *typ) string {
	s := fmt.Sprintf("%x", x)
	if y := x * 1024; y == math.Trunc(y) && math.Abs(x) < 1<<20 {
		s = fmt.Sprintf("%.10f", x)
		s = strings.TrimRight(s, "0")
		if strings.HasSuffix(s, ".") {
			s += "0"
		}
	}
	if t.kind == kindFloat32 {
		s += "f"
	}
	if x < 0 {
		return "(" + s + ")"
	}
	return s
}

// special is an infinity or NaN, as an expression that every C takes for a constant.
func (p *cPrinter) special(e *expr) string {
	one, suffix := 1, ""
	if e.name == "nan" {
		one = 0
	}
	if p.typ(e.typ); e.typ.kind == kindFloat32 {
		suffix = "f"
	}
	return fmt.Sprintf("(%d / 0.0%s)", one, suffix)
}

// wide is the unsigned type that C computes integers of type t in, as Go does: modulo 2^n.
func wide(t *typ) string {
	if t.size == 8 {
		return "u64"
	}
	return "u32"
}

func (p *cPrinter) binary(e *expr) string {
	t, x, y, tok := e.x.typ, p.expr(e.x), p.expr(e.y), e.tok.String()
	switch e.tok {
	case token.ADD, token.SUB, token.MUL:
		if t.kind == kindUint32 || t.kind == kindUint64 || t.float() {
			break
		}
		if t.integer() {
			return fmt.Sprintf("((%[1]s)((%[2]s)%[3]s %[4]s (%[2]s)%[5]s))", t.name, wide(t), x, tok, y)
		}
	case token.QUO:
		if t.kind == kindFloat32 {
			return fmt.Sprintf("%s(%s, %s)", p.helper("div_f32"), p.bare(e.x), p.bare(e.y))
		}
	case token.AND_NOT:
		return fmt.Sprintf("(%s & ~%s)", x, y)
	case token.EQL, token.NEQ:
		if t.kind == kindBool {
			return fmt.Sprintf("((%s != 0) %s (%s != 0))", x, tok, y)
		}
	}
	return fmt.Sprintf("(%s %s %s)", x, tok, y)
}

func (p *cPrinter) unary(e *expr) string {
	x, t := p.expr(e.x), e.typ
	switch {
	case e.tok == token.NOT:
		return fmt.Sprintf("(!%s)", x)
	case e.tok == token.XOR:
		return fmt.Sprintf("((%s)~%s)", t.name, x)
	case t.integer():
		return fmt.Sprintf("((%s)(0u - (%s)%s))", t.name, wide(t), x)
	}
	return fmt.Sprintf("(-%s)", x)
}

func (p *cPrinter) shift(e *expr) string {
	t := e.typ
	if e.y.op != opConst {
		name := "shl_"
		if e.tok == token.SHR {
			name = "shr_"
		}
		return fmt.Sprintf("%s(%s, %s)", p.helper(name+t.name), p.bare(e.x), p.bare(e.y))
	}
	n, _ := constant.Int64Val(e.y.value)
	if e.tok == token.SHR {
		return fmt.Sprintf("(%s >> %d)", p.expr(e.x), n)
	}
	return fmt.Sprintf("((%s)((%s)%s << %d))", t.name, wide(t), p.expr(e.x), n)
}

func (p *cPrinter) builtin(e *expr) string {
	if len(e.args) == 0 {
		return p.special(e)
	}
	t := e.args[0].typ
	p.typ(t)
	p.typ(e.typ)
	args := p.exprs(e.args)
	switch e.name {
	case "fma":
		return fmt.Sprintf("fma(%s)", args)
	case "div", "rem":
		return fmt.Sprintf("%s(LINE(%d) %s)", p.helper(e.name+"_"+t.name), p.place(e.pos), args)
	case "min", "max":
		return fmt.Sprintf("%s(%s)", p.helper(e.name+"_"+t.name), args)
	case "bits", "frombits":
		return fmt.Sprintf("as_%s(%s)", map[kind]string{
			kindUint32: "uint", kindUint64: "ulong", kindFloat32: "float",
			kindFloat64: "double",
		}[e.typ.kind], args)
	case "popcount", "clz", "ctz":
		return fmt.Sprintf("((i64)%s(%s))", p.helper(e.name+"_"+t.name), args)
	case "len":
		return fmt.Sprintf("((i64)%d - (i64)%s(%s))", t.bits(), p.helper("clz_"+t.name), args)
	case "reverse", "reversebytes", "mulhi":
		return fmt.Sprintf("%s(%s)", p.helper(e.name+"_"+t.name), args)
	case "sqrt", "abs", "floor", "ceil", "trunc":
		return fmt.Sprintf("%s(%s)", p.helper(e.name+"_f64"), args)
	}
	name := strings.ToLower(strings.TrimPrefix(e.name, "Atomic"))
	return fmt.Sprintf("%s(CHECK %s)", p.atomic(name, t.elem, t.space), args)
}

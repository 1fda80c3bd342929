package compiler

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// A goPrinter prints kernels and functions as Go for the cpu device.
type goPrinter struct {
	l         *lowerer
	out       strings.Builder
	names     *names   // in the package
	types     []string // declarations of types and tables
	done      map[any]bool
	queue     []*function
	reads     map[*variable]bool
	k         *kernel
	sp        *splitter
	inLoop    bool // over work-items
	heads     [3]string
	hoists    int
	hoisted   map[*expr]string // by names
	labels    int
	next      string // the label of the loop over work-items that a return or such goes on with
	used      bool   // it was
	addressed map[*variable]bool
	kept      map[*variable]bool // elements of a work-item that the present loop keeps in a variable
}

func newGoPrinter(l *lowerer, n *names) *goPrinter {
	return &goPrinter{l: l, names: n, done: map[any]bool{}, hoisted: map[*expr]string{}}
}

func (p *goPrinter) line(format string, args ...any) {
	fmt.Fprintf(&p.out, format+"\n", args...)
}

// at says where the next line is from.
func (p *goPrinter) at(pos token.Pos) {
	if pos != token.NoPos {
		where := p.l.fset.Position(pos)
		p.line("//line %s:%d", p.l.relative(where.Filename), where.Line)
	}
}

// global is the name of a type, a table or a function that generated code declares in the package.
func (p *goPrinter) global(x any, name string) string { return p.names.of(x, "gpu_"+name) }

// own is Go's own function min or max, which the package may hide.
func (p *goPrinter) own(name string) string {
	if p.names.pkg.Lookup(name) != nil {
		return "support." + exported(name)
	}
	return name
}

// typ is t in Go.
func (p *goPrinter) typ(t *typ) string {
	switch t.kind {
	case kindArray:
		return fmt.Sprintf("[%d]%s", t.len, p.typ(t.elem))
	case kindSlice:
		return "[]" + p.typ(t.elem)
	case kindPointer:
		return "*" + p.typ(t.elem)
	case kindStruct:
		return p.structType(t)
	}
	return basics[t.kind].goName
}

func (p *goPrinter) structType(t *typ) string {
	name := p.global(t, t.name)
	if p.done[t] {
		return name
	}
	p.done[t] = true
	var b strings.Builder
	fmt.Fprintf(&b, "type %s struct {\n", name)
	for i, f := range t.fields {
		fmt.Fprintf(&b, "%s %s\n", fieldName(t, i), p.typ(f.typ))
	}
	b.WriteString("}\n")
	p.types = append(p.types, b.String())
	return name
}

func (p *goPrinter) name(v *variable) string {
	if v.table != nil {
		return p.table(v.table)
	}
	return v.name + "_"
}

func (p *goPrinter) table(t *table) string {
	name := p.global(t, t.name)
	if !p.done[t] {
		p.done[t] = true
		value := ""
		switch t.value.op {
		case opZero:
			value = p.zero(t.value.typ)
		case opMake:
			value = p.make(t.value)
		default:
			value = p.bare(t.value)
		}
		p.types = append(p.types, fmt.Sprintf("var %s = %s\n", name, value))
	}
	return name
}

// variable is v where it is used: with barriers it may be one for each work-item.
func (p *goPrinter) variable(v *variable) string {
	if !v.array {
		return p.name(v)
	}
	switch {
	case p.kept[v]:
		return p.name(v)
	case p.inLoop:
		return p.name(v) + "all[w]"
	}
	return p.name(v) + "all[0]"
}

// function is the name of fn, which is printed later, unless it is there already.
func (p *goPrinter) function(fn *function) string {
	if fn.elementary {
		return fn.imported
	}
	if !p.done[fn] {
		p.done[fn] = true
		p.queue = append(p.queue, fn)
	}
	return p.global(fn, fn.name)
}

// elementary tells whether Go can call fn, which decl declares in package rmath, or f32, where it
// is. Those with an int, which is an int64 here, are printed.
func elementary(pkg *goPackage, decl *ast.FuncDecl, fn *function) bool {
	if path := pkg.ImportPath; path != ownImports["rmath"] && path != ownImports["f32"] {
		return false
	}
	other := func(t *typ) bool { return t.kind != kindFloat32 && t.kind != kindFloat64 }
	return decl.Name.IsExported() && !slices.ContainsFunc(fn.results, other) &&
		!slices.ContainsFunc(fn.params, func(v *variable) bool { return other(v.typ) })
}

// functions prints the functions that were called.
func (p *goPrinter) functions() {
	for len(p.queue) > 0 {
		fn := p.queue[0]
		p.queue = p.queue[1:]
		p.k, p.sp, p.reads, p.labels = nil, nil, readsOf(fn.body, nil), 0
		var params, results []string
		for _, v := range fn.params {
			params = append(params, p.name(v)+" "+p.typ(v.typ))
		}
		for _, t := range fn.results {
			results = append(results, p.typ(t))
		}
		p.line("\nfunc %s(%s) (%s) {", p.function(fn), strings.Join(params, ", "), strings.Join(results, ", "))
		p.stmts(fn.body)
		if len(fn.results) > 0 && !terminates(fn.body) {
			p.line("panic(\"unreachable\")")
		}
		p.line("//line @:1\n}")
	}
}

// addressed is the variables whose address list takes.
func addressed(list []*stmt) map[*variable]bool {
	m := map[*variable]bool{}
	walk(list, func(s *stmt) {
		s.exprs(func(e *expr) {
			e.walk(func(e *expr) {
				if e.op == opAddr {
					if v := rootVariable(e.x); v != nil {
						m[v] = true
					}
				}
			})
		})
	})
	return m
}

// terminates tells whether Go sees that the end of list is not reached.
func terminates(list []*stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch s := list[len(list)-1]; s.kind {
	case stmtReturn:
		return true
	case stmtIf:
		return terminates(s.body) && terminates(s.els)
	case stmtBlock:
		return !targeted(s) && terminates(s.body)
	case stmtLoop:
		return s.x == nil && !targeted(s)
	}
	return false
}

// targeted tells whether a break leaves s.
func targeted(s *stmt) bool {
	found := false
	walk(s.body, func(x *stmt) { found = found || x.kind == stmtBreak && x.target == s && (x.lifted || !s.lifted) })
	return found
}

// readsOf is the variables whose values list uses, beside those in the declarations that are
// skipped.
func readsOf(list []*stmt, skip map[*variable]*expr) map[*variable]bool {
	m := map[*variable]bool{}
	look := func(e *expr) {
		e.walk(func(e *expr) {
			if e.op == opVar {
				m[e.v] = true
			}
		})
	}
	walk(list, func(s *stmt) {
		if s.kind == stmtDecl && skip[s.v] != nil {
			return
		}
		s.exprs(func(e *expr) {
			if s.kind != stmtAssign || e != s.x || e.op != opVar {
				look(e)
			}
		})
	})
	return m
}

func (p *goPrinter) stmts(list []*stmt) {
	for _, s := range list {
		p.stmt(s)
	}
}

func (p *goPrinter) stmt(s *stmt) {
	switch s.kind {
	case stmtBlock:
		p.block(s, func() { p.stmts(s.body) })
		return
	case stmtBreak, stmtContinue:
		p.jump(s)
		return
	}
	p.at(s.pos)
	switch s.kind {
	case stmtDecl:
		p.declare(s)
	case stmtAssign:
		p.line("%s = %s", p.expr(s.x), p.bare(s.y))
	case stmtCall:
		p.call(s)
	case stmtIf:
		p.line("if %s {", p.bare(s.x))
		p.stmts(s.body)
		if len(s.els) > 0 {
			p.line("} else {")
			p.stmts(s.els)
		}
		p.line("}")
	case stmtLoop:
		p.loop(s)
	case stmtReturn:
		p.returnStmt(s)
	}
}

func (p *goPrinter) declare(s *stmt) {
	v := s.v
	switch value := p.initial(s); {
	case p.sp != nil && p.sp.again[v] != nil:
		return // each loop over work-items begins with it
	case v.array:
		p.line("%s = %s", p.variable(v), value)
	case s.x == nil:
		p.line("var %s %s", p.name(v), p.typ(v.typ))
	default:
		p.line("%s := %s", p.name(v), value)
	}
	if !v.array && !p.reads[v] {
		p.line("_ = %s", p.name(v))
	}
}

// initial is the value of a declaration.
func (p *goPrinter) initial(s *stmt) string {
	switch {
	case s.x == nil || s.x.op == opZero:
		return p.zero(s.v.typ)
	case s.x.op == opMake:
		return p.make(s.x)
	}
	return p.bare(s.x)
}

func (p *goPrinter) zero(t *typ) string {
	switch {
	case t.kind == kindBool:
		return "false"
	case t.number():
		return basics[t.kind].goName + "(0)"
	case t.kind == kindSlice:
		return p.typ(t) + "(nil)"
	}
	return p.typ(t) + "{}"
}

// make is a literal.
func (p *goPrinter) make(e *expr) string {
	var list []string
	for i, a := range e.args {
		if a == nil || a.op == opZero {
			continue
		}
		value := ""
		if a.op == opMake {
			value = p.make(a)
		} else {
			value = p.bare(a)
		}
		key := strconv.Itoa(i)
		if e.typ.kind == kindStruct {
			key = fieldName(e.typ, i)
		}
		list = append(list, key+": "+value)
	}
	return p.typ(e.typ) + "{" + strings.Join(list, ", ") + "}"
}

func (p *goPrinter) call(s *stmt) {
	if len(s.dst) == 0 {
		p.line("%s", p.expr(s.x))
		return
	}
	var list []string
	for _, v := range s.dst {
		list = append(list, p.variable(v))
	}
	p.line("%s = %s", strings.Join(list, ", "), p.expr(s.x))
}

// block prints a block that jumps may leave.
func (p *goPrinter) block(s *stmt, body func()) {
	if !targeted(s) {
		p.line("{")
		body()
		p.line("}")
		return
	}
	p.line("%s:\nswitch {\ndefault:", p.label(s))
	body()
	p.line("}")
}

func (p *goPrinter) label(s *stmt) string {
	if s.label == "" || !strings.HasPrefix(s.label, "b") {
		p.labels++
		s.label = fmt.Sprintf("b%d", p.labels)
	}
	return s.label
}

// aimed tells whether a jump of any kind names loop s.
func aimed(s *stmt) bool {
	found := false
	walk(s.body, func(x *stmt) { found = found || (x.kind == stmtBreak || x.kind == stmtContinue) && x.target == s })
	return found
}

func (p *goPrinter) loop(s *stmt) {
	p.hoist(s)
	if aimed(s) {
		p.line("%s:", p.label(s))
		p.at(s.pos)
	}
	cond, post := "", ""
	if s.x != nil {
		cond = p.bare(s.x)
	}
	if len(s.post) > 0 {
		post = fmt.Sprintf("%s = %s", p.expr(s.post[0].x), p.bare(s.post[0].y))
	}
	p.line("for ; %s; %s {", cond, post)
	p.stmts(s.body)
	p.line("}")
	clear(p.hoisted)
}

// hoist declares before loop s, in which there is no other, the fields of matrices that it uses: Go
// keeps no struct of six words in registers. In kernels with barriers, whose loops are short as a
// rule, it does not pay.
func (p *goPrinter) hoist(s *stmt) {
	all, inner := []*stmt{s}, false
	walk(slices.Concat(s.body, s.post), func(x *stmt) {
		all = append(all, x)
		inner = inner || x.kind == stmtLoop
	})
	if inner || p.k == nil || p.k.barriers {
		return
	}
	names := map[string]string{}
	var look func(e *expr)
	look = func(e *expr) {
		switch {
		case e.op == opWithin: // what it is below is for the checked mode
			look(e.x)
		case e.op == opField && e.x.op == opVar && slices.Contains(p.k.params, e.x.v) && e.x.v.leaves == nil:
			text := p.expr(e)
			if names[text] == "" {
				p.hoists++
				names[text] = fmt.Sprintf("h%d", p.hoists)
				p.line("%s := %s", names[text], text)
			}
			p.hoisted[e] = names[text]
		default:
			e.children(look)
		}
	}
	for _, x := range all {
		x.exprs(look)
	}
}

func (p *goPrinter) jump(s *stmt) {
	if p.inLoop && p.sp != nil && p.sp.k.barriers && !p.within(s.target) { // to the end of this loop over work-items
		p.used = true
		p.line("continue %s", p.next)
		return
	}
	p.line("%s %s", map[stmtKind]string{stmtBreak: "break", stmtContinue: "continue"}[s.kind], p.label(s.target))
}

// within tells whether a jump's target is inside the present loop over work-items.
func (p *goPrinter) within(target *stmt) bool { return !target.lifted }

func (p *goPrinter) returnStmt(s *stmt) {
	if p.k != nil {
		p.used = true
		p.line("continue %s", p.next)
		return
	}
	var list []string
	for _, a := range s.args {
		list = append(list, p.bare(a))
	}
	p.line("return %s", strings.Join(list, ", "))
}

// bare is e without parentheses around it.
func (p *goPrinter) bare(e *expr) string {
	s := p.expr(e)
	if strings.HasPrefix(s, "(") && closes(s) == len(s)-1 {
		return s[1 : len(s)-1]
	}
	return s
}

func (p *goPrinter) expr(e *expr) string {
	if name := p.hoisted[e]; name != "" {
		return name
	}
	switch e.op {
	case opConst:
		return p.constant(e)
	case opVar:
		return p.variable(e.v)
	case opBinary:
		return p.binary(e)
	case opShift:
		return p.shift(e)
	case opUnary:
		return fmt.Sprintf("(%s%s)", map[token.Token]string{
			token.SUB: "-", token.XOR: "^",
			token.NOT: "!",
		}[e.tok], p.notConstant(e.x))
	case opConvert:
		if e.x.typ.float() && e.typ.integer() {
			return fmt.Sprintf("support.Int[%s](%s)", p.typ(e.typ), p.bare(e.x))
		}
		return fmt.Sprintf("%s(%s)", p.typ(e.typ), p.notConstant(e.x))
	case opIndex:
		return p.index(e)
	case opField:
		return fmt.Sprintf("%s.%s", p.expr(e.x), fieldName(e.x.typ, e.n))
	case opDeref:
		return fmt.Sprintf("(*%s)", p.expr(e.x))
	case opAddr:
		return fmt.Sprintf("(&%s)", p.expr(e.x))
	case opSlice:
		low := ""
		if e.y != nil {
			low = p.bare(e.y)
		}
		return fmt.Sprintf("%s[%s:%s]", p.expr(e.x), low, p.bare(e.z))
	case opWithin:
		return p.expr(e.x)
	case opLen:
		return fmt.Sprintf("int64(len(%s))", p.bare(e.x))
	case opCall:
		return fmt.Sprintf("%s(%s)", p.function(e.fn), p.exprs(e.args))
	case opBuiltin:
		return p.builtin(e)
	case opItem:
		return p.item(e)
	}
	panic("compiler: an expression that Go does not have")
}

// index is x[i]. A constant index beyond an array, which Go would refuse, panics when it is used.
func (p *goPrinter) index(e *expr) string {
	i := p.bare(e.y)
	if e.y.op == opConst {
		i = e.y.value.ExactString()
		n, exact := constant.Int64Val(constant.ToInt(e.y.value))
		if !exact || n < 0 || e.x.typ.kind == kindArray && !inArray(e) {
			i = "support.Value(" + p.constant(e.y) + ")"
		}
	} else if e.y.constant() {
		i = "support.Value(" + i + ")"
	}
	return fmt.Sprintf("%s[%s]", p.expr(e.x), i)
}

// notConstant is e, so that Go does not compute with it exactly.
func (p *goPrinter) notConstant(e *expr) string {
	if e.constant() && e.typ.number() {
		return "support.Value(" + p.bare(e) + ")"
	}
	return p.expr(e)
}

func (p *goPrinter) exprs(list []*expr) string {
	var s []string
	for _, e := range list {
		s = append(s, p.bare(e))
	}
	return strings.Join(s, ", ")
}

func (p *goPrinter) constant(e *expr) string {
	switch {
	case e.typ.kind == kindBool:
		return strconv.FormatBool(constant.BoolVal(e.value))
	case e.typ.float():
		x, _ := constant.Float64Val(e.value)
		return fmt.Sprintf("%s(%s)", basics[e.typ.kind].goName, strconv.FormatFloat(x, 'g', -1, e.typ.bits()))
	}
	return fmt.Sprintf("%s(%s)", basics[e.typ.kind].goName, e.value.ExactString())
}

func (p *goPrinter) binary(e *expr) string {
	x, y := p.expr(e.x), p.expr(e.y)
	if e.x.constant() && e.y.constant() && e.x.typ.number() {
		x = p.notConstant(e.x)
	}
	s := fmt.Sprintf("(%s %s %s)", x, e.tok, y)
	if e.tok == token.MUL && e.typ.float() { // so that Go does not fuse it with a sum
		return fmt.Sprintf("%s%s", p.typ(e.typ), s)
	}
	return s
}

func (p *goPrinter) shift(e *expr) string {
	n := p.bare(e.y)
	if e.y.op == opConst {
		n = e.y.value.ExactString()
	}
	return fmt.Sprintf("(%s %s (%s))", p.notConstant(e.x), e.tok, n)
}

func (p *goPrinter) builtin(e *expr) string {
	args := p.exprs(e.args)
	switch e.name {
	case "fma":
		if e.typ.kind == kindFloat32 {
			return "support.FMA32(" + args + ")"
		}
		return "math.FMA(" + args + ")"
	case "min", "max":
		return fmt.Sprintf("%s(%s)", p.own(e.name), args)
	case "div", "rem":
		return fmt.Sprintf("support.%s(%s)", exported(e.name), args)
	case "bits", "frombits":
		f, suffix := e.args[0].typ, "bits"
		if e.name == "frombits" {
			f, suffix = e.typ, "frombits"
		}
		return fmt.Sprintf("math.%s%s(%s)", exported(basics[f.kind].goName), suffix, args)
	case "inf":
		return p.typ(e.typ) + "(math.Inf(1))"
	case "nan":
		return p.typ(e.typ) + "(math.NaN())"
	case "popcount", "clz", "ctz", "len":
		return fmt.Sprintf("int64(bits.%s%d(%s))", bitFunctions[e.name], e.args[0].typ.bits(), args)
	case "reverse", "reversebytes":
		return fmt.Sprintf("bits.%s%d(%s)", bitFunctions[e.name], e.typ.bits(), args)
	case "mulhi":
		return fmt.Sprintf("support.MulHi(%s)", args)
	case "sqrt", "abs", "floor", "ceil", "trunc":
		return fmt.Sprintf("math.%s(%s)", exported(e.name), args)
	}
	if name, ok := strings.CutPrefix(e.name, "Atomic"); ok && e.args[0].typ.space == spaceLocal {
		return fmt.Sprintf("support.Local%s(%s)", name, args) // one goroutine runs a group
	}
	return fmt.Sprintf("gpu.%s(%s)", e.name, args)
}

// item is the place of a work-item: g is its group, n the sizes of a group, b where the group
// begins, l the work-item's place there, s the size of the grid. Without barriers the loops count
// the place in the grid, i.
func (p *goPrinter) item(e *expr) string {
	switch e.name {
	case "Global":
		if !p.k.barriers {
			return fmt.Sprintf("i%d", e.n)
		}
		return fmt.Sprintf("(b%d + l%[1]d)", e.n)
	case "Local":
		if !p.k.barriers {
			return fmt.Sprintf("(i%d - b%[1]d)", e.n)
		}
		return fmt.Sprintf("l%d", e.n)
	case "Group":
		return fmt.Sprintf("g%d", e.n)
	case "GlobalSize":
		return fmt.Sprintf("s%d", e.n)
	case "LocalSize":
		return fmt.Sprintf("n%d", e.n)
	}
	return fmt.Sprintf("int64(grid.Groups[%d])", e.n)
}

// usesItem tells whether list has a method of the item in dimension d.
func usesItem(list []*stmt, name string, d int) bool {
	found := false
	walk(list, func(s *stmt) {
		s.exprs(func(e *expr) {
			e.walk(func(e *expr) { found = found || e.op == opItem && e.name == name && e.n == d })
		})
	})
	return found
}

// maxGroup is how many work-items a group has at most on the cpu device.
const maxGroup = 1024

// kernel prints k as a backend.GoKernel. plain runs it as it is written.
func (p *goPrinter) kernel(k *kernel, name, plain string, sp *splitter) {
	body, g := k.body, edges{k: k, sp: sp, values: map[*variable]*expr{}}
	if !k.barriers {
		body = g.cut(body)
	}
	p.k, p.sp, p.reads, p.labels, p.addressed = k, sp, readsOf(k.body, nil), 0, addressed(k.body)
	p.hoists = 0
	p.line("\nfunc %s(grid backend.Grid, lo, hi int, args []backend.Arg) error {", name)
	p.line("if gpu.Goroutines {\nreturn %s(grid, lo, hi, args)\n}", plain)
	at := 0
	for _, v := range k.params {
		at = p.parameter(v, at)
	}
	items := maxGroup
	if k.group != [3]int{} {
		items = k.group[0] * k.group[1] * k.group[2]
		// no constants: Go would compute with them exactly
		p.line("n0, n1, n2 := int64(%d), int64(%d), int64(%d)", k.group[0], k.group[1], k.group[2])
	} else {
		p.line("n0, n1, n2 := int64(grid.Local[0]), int64(grid.Local[1]), int64(grid.Local[2])")
	}
	for d := range 3 {
		if usesItem(k.body, "GlobalSize", d) {
			p.line("s%d := int64(grid.Groups[%[1]d]) * n%[1]d", d)
		}
	}
	for _, v := range localsOf(k.body) {
		p.line("var %s %s", p.name(v), p.typ(v.typ))
	}
	walk(k.body, func(s *stmt) {
		if s.kind == stmtDecl && s.v.array {
			p.line("var %sall [%d]%s", p.name(s.v), items, p.typ(s.v.typ))
		}
	})
	p.used = false
	start := p.out.Len()
	p.line("for i := lo; i < hi; i++ {")
	p.line("x, y, z := grid.Group(i)\ng0, g1, g2 := int64(x), int64(y), int64(z)")
	p.line("b0, b1, b2 := g0*n0, g1*n1, g2*n2 // Go does not take them out of loops\n_, _, _ = b0, b1, b2")
	if k.barriers {
		for d := range p.heads {
			p.heads[d] = fmt.Sprintf("for l%d := int64(0); l%[1]d < n%[1]d; l%[1]d++ {", d)
		}
		p.group(k.body)
		text := p.out.String()
		if strings.Contains(text[start:], "continue groups\n") {
			text = text[:start] + "groups:\n" + text[start:]
		}
		p.out.Reset()
		p.out.WriteString(text)
	} else {
		p.reads = readsOf(body, nil)
		p.all(body, &g)
	}
	p.line("//line @:1\n}\nreturn nil\n}")
}

// all prints the loops over the work-items of a kernel without barriers: those of several groups
// where it cannot tell them apart.
func (p *goPrinter) all(body []*stmt, g *edges) {
	sizes := [3]string{"n0", "n1", "n2"}
	if g.k.group[1]*g.k.group[2] <= 1 && len(localsOf(g.k.body)) == 0 &&
		!usesItem(body, "Local", 0) && !usesItem(body, "Group", 0) {
		p.line("more := support.More(grid, i, hi)\ni += more")
		sizes[0] = "int64(1+more)*n0"
	}
	for d, begin := range []string{"b0", "b1", "b2"} {
		if slices.Contains(g.strides, d) {
			begin = fmt.Sprintf("a%d", d)
		}
		p.heads[d] = fmt.Sprintf("for i%d := %s; i%[1]d < e%[1]d; i%[1]d++ {", d, begin)
	}
	for _, d := range g.strides {
		p.line("for a%d := b%[1]d; a%[1]d < %s; a%[1]d += s%[1]d {", d, p.bare(g.ends[d][0]))
	}
	for d, n := range sizes {
		end := fmt.Sprintf("b%d + %s", d, n)
		if slices.Contains(g.strides, d) {
			end = "a" + end[1:]
		}
		if len(g.ends[d]) > 0 {
			end = fmt.Sprintf("%s(%s, %s)", p.own("min"), end, p.exprs(g.ends[d]))
		}
		p.line("e%d := %s", d, end)
	}
	p.items(body)
	for range g.strides {
		p.line("}")
	}
}

// parameter declares what the kernel sees of the arguments from i on, and gives the next.
func (p *goPrinter) parameter(v *variable, i int) int {
	t, name := v.typ, p.name(v)
	switch {
	case v.leaves != nil:
		p.line("var %s %s", name, p.typ(t))
		for _, l := range v.leaves {
			p.line("%s%s = %s", name, l.gen, scalarArg(l.typ, "args", i))
			i++
		}
	case t.kind == kindSlice:
		p.line("%s := support.Slice[%s](args[%d:])", name, p.typ(t.elem), i)
		i += 3
	case t.kind == kindStruct:
		data := t.fields[0].typ
		p.line("%s := %s{%s: support.Matrix[%s](args[%d:])}", name, p.typ(t), fieldName(t, 0), p.typ(data.elem), i)
		for f := 1; f < 4; f++ {
			p.line("%s.%s = args[%d].Int64()", name, fieldName(t, f), i+1+f)
		}
		i += 5
	default:
		p.line("%s := %s", name, scalarArg(t, "args", i))
		i++
	}
	if !p.reads[v] {
		p.line("_ = %s", name)
	}
	return i
}

// scalarArg is argument i of args as a scalar of type t.
func scalarArg(t *typ, args string, i int) string {
	switch {
	case t.kind == kindBool:
		return fmt.Sprintf("%s[%d].Uint32() != 0", args, i)
	case t.float() || t.size >= 4:
		return fmt.Sprintf("%s[%d].%s()", args, i, exported(basics[t.kind].goName))
	}
	return fmt.Sprintf("%s(%s[%d].Uint32())", basics[t.kind].goName, args, i)
}

// items prints a loop over the work-items of a group.
func (p *goPrinter) items(list []*stmt) {
	outer := p.out.String()
	p.out.Reset()
	p.labels++
	p.next, p.used, p.inLoop = fmt.Sprintf("items%d", p.labels), false, true
	keep := p.keep(list)
	for _, v := range keep {
		if overwrites(list, v) {
			p.line("var %s %s", p.name(v), p.typ(v.typ))
		} else {
			p.line("%s := %[1]sall[w]", p.name(v))
		}
	}
	p.anew(list)
	p.stmts(list)
	for _, v := range keep {
		p.line("%sall[w] = %[1]s", p.name(v))
	}
	p.inLoop, p.kept = false, nil
	body := p.out.String()
	p.out.Reset()
	p.out.WriteString(outer)
	p.line("%s\n%s", p.heads[2], p.heads[1])
	if p.used {
		p.line("%s:", p.next)
	}
	p.line("%s", p.heads[0])
	if strings.Contains(body, "all[w]") {
		p.line("w := (l2*n1+l1)*n0 + l0")
	}
	p.out.WriteString(body)
	p.line("}\n}\n}")
}

// keep is the numbers of a work-item that a loop over work-items loads when it begins and stores
// when it ends, since Go does not keep elements of arrays in registers: none where a jump may skip
// the end.
func (p *goPrinter) keep(list []*stmt) (keep []*variable) {
	p.kept = map[*variable]bool{}
	leaves := false
	note := func(v *variable) {
		if v.array && v.typ.scalar() && !p.addressed[v] && !p.kept[v] {
			p.kept[v] = true
			keep = append(keep, v)
		}
	}
	variables(list, note)
	walk(list, func(s *stmt) {
		leaves = leaves || s.kind == stmtReturn || (s.kind == stmtBreak || s.kind == stmtContinue) && s.target.lifted
	})
	if leaves {
		p.kept = nil
		return nil
	}
	return keep
}

// overwrites tells whether the first of the statements that has to do with v gives it a new value.
func overwrites(list []*stmt, v *variable) bool {
	for _, s := range list {
		if assigned(s) == v {
			value := s.y
			if s.kind == stmtDecl {
				value = s.x
			}
			return value == nil || !mentions(value, v)
		}
		found := false
		walk([]*stmt{s}, func(s *stmt) {
			found = found || s.kind == stmtDecl && s.v == v || slices.Contains(s.dst, v)
			s.exprs(func(e *expr) { found = found || mentions(e, v) })
		})
		if found {
			return false
		}
	}
	return false
}

func mentions(e *expr, v *variable) bool {
	found := false
	e.walk(func(e *expr) { found = found || e.op == opVar && e.v == v })
	return found
}

// anew declares the variables that each loop computes anew.
func (p *goPrinter) anew(list []*stmt) {
	for _, s := range recomputed(p.k.body, list, p.sp) {
		p.line("%s := %s", p.name(s.v), p.bare(s.x))
	}
}

// group prints statements of a kernel with barriers: loops over work-items, and what is lifted.
func (p *goPrinter) group(list []*stmt) { stretches(list, p.items, p.lifted) }

func (p *goPrinter) lifted(s *stmt) {
	switch s.kind {
	case stmtDecl, stmtAssign:
		p.stmt(s)
	case stmtBlock:
		p.block(s, func() { p.group(s.body) })
	case stmtIf:
		p.at(s.pos)
		p.line("if %s {", p.bare(s.x))
		p.group(s.body)
		if len(s.els) > 0 {
			p.line("} else {")
			p.group(s.els)
		}
		p.line("}")
	case stmtLoop:
		p.liftedLoop(s)
	case stmtBarrier:
		p.meeting(s)
	case stmtReturn:
		p.line("continue groups")
	case stmtBreak:
		p.line("break %s", p.label(s.target))
	case stmtContinue:
		p.line("break %s_body", p.label(s.target))
	}
}

// meeting prints what a group agrees on: each work-item adds its part to one variable of the group,
// or the first gives it.
func (p *goPrinter) meeting(s *stmt) {
	if s.v == nil {
		return
	}
	p.at(s.pos)
	p.line("var %s %s", p.name(s.v), p.typ(s.v.typ))
	if !p.reads[s.v] {
		p.line("_ = %s", p.name(s.v))
	}
	yes := &expr{op: opConst, typ: s.v.typ, value: constant.MakeBool(true)}
	set := &stmt{kind: stmtAssign, pos: s.pos, x: varExpr(s.v, s.pos), y: s.x}
	if s.meeting.name == "Any" {
		set.y = yes
		p.items([]*stmt{{kind: stmtIf, pos: s.pos, x: s.x, body: []*stmt{set}}})
		return
	}
	heads := p.heads
	for d := range p.heads {
		p.heads[d] = fmt.Sprintf("for l%d := int64(0); l%[1]d < 1; l%[1]d++ {", d)
	}
	p.items([]*stmt{set})
	p.heads = heads
}

// liftedLoop prints a loop that holds a barrier. A continue leaves a block around its body.
func (p *goPrinter) liftedLoop(s *stmt) {
	var breaks, continues bool
	walk(s.body, func(x *stmt) {
		breaks = breaks || x.kind == stmtBreak && x.target == s && x.lifted
		continues = continues || x.kind == stmtContinue && x.target == s && x.lifted
	})
	if breaks {
		p.line("%s:", p.label(s))
	}
	p.at(s.pos)
	if s.x != nil {
		p.line("for %s {", p.bare(s.x))
	} else {
		p.line("for {")
	}
	if continues {
		p.line("%s_body:\nswitch {\ndefault:", p.label(s))
	}
	p.group(s.body)
	if continues {
		p.line("}")
	}
	p.group(s.post)
	p.line("}")
}

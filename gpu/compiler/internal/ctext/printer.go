// Package ctext prints kernels in the dialect that OpenCL and CUDA share.
package ctext

import (
	"cmp"
	"fmt"
	"go/constant"
	"go/token"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// Text is the text of a kernel in the portable dialect, but for support.Head, and the names of the
// files that its lines are of.
func Text(k *ir.Kernel, program *ir.Program) (text string, files []string) {
	p := NewPrinter(k, program)
	p.kernel(k)
	body := p.Out.String()
	return p.Decls.String() + body, *p.files
}

// A Printer prints a kernel and what it needs: decls are types, tables, helpers and functions, in
// an order in which each is known before it is used.
type Printer struct {
	Program    *ir.Program
	files      *[]string // that lines are of
	Decls, Out *strings.Builder
	Indent     int
	names      ir.Scope       // of the text, beside variables, whose names end in _ or what parameter has
	named      map[any]string // types, tables and functions that are declared
	Helpers    map[string]bool
	float64By  string // where other packages compute with float64, an error that names their functions
	fn         *ir.Function
	barriers   bool       // the kernel has some
	around     []*ir.Stmt // the loops and blocks that the statement is in
	targets    map[*ir.Stmt]*target
}

// A target is a loop or a block that jumps leave, or a loop whose next turn they go on with, by
// goto.
type target struct {
	label           string
	broken, resumed bool
}

// NewPrinter is a printer for kernel k, and for functions that it calls.
func NewPrinter(k *ir.Kernel, program *ir.Program) *Printer {
	p := &Printer{
		Program: program, Decls: new(strings.Builder), Out: new(strings.Builder), names: ir.Scope{k.Entry: true},
		named: map[any]string{}, Helpers: map[string]bool{}, files: new([]string), fn: k.Function,
		barriers: k.Barriers, targets: map[*ir.Stmt]*target{},
	}
	p.Place(k.Pos) // the kernel's own file is the first
	return p
}

// Line prints a line, indented.
func (p *Printer) Line(format string, args ...any) {
	p.Out.WriteString(strings.Repeat("  ", p.Indent))
	fmt.Fprintf(p.Out, format, args...)
	p.Out.WriteByte('\n')
}

// Place is a line of the kernel's source: its number, and 1e6 times the number of its file.
func (p *Printer) Place(pos token.Pos) int {
	where := p.Program.Files.Position(pos)
	name := p.Program.Relative(where.Filename)
	i := slices.Index(*p.files, name)
	if i < 0 {
		i = len(*p.files)
		*p.files = append(*p.files, name)
	}
	return i*1e6 + where.Line
}

// cSpace is the word for a memory before a type.
var cSpace = map[ir.Space]string{
	ir.SpacePrivate: "", ir.SpaceLocal: "LOCALPTR ", ir.SpaceGlobal: "__global ",
	ir.SpaceConstant: "__constant ",
}

// Type is the name of t, which it declares when it is new.
func (p *Printer) Type(t *ir.Type) string {
	if name := p.named[t]; name != "" {
		return name
	}
	name := t.Name
	switch t.Kind {
	case ir.KindPointer:
		return cSpace[t.Space] + p.Type(t.Elem) + " *"
	case ir.KindFloat64:
		p.Decls.WriteString(p.float64By + "typedef double f64;\n")
	case ir.KindArray:
		elem := p.Type(t.Elem)
		name = p.names.Unique(fmt.Sprintf("a%d_%s", t.Len, p.word(t.Elem)))
		fmt.Fprintf(p.Decls, "typedef struct { %s v[%d]; } %s;\n", elem, t.Len, name)
		p.assertSize(name, t)
	case ir.KindSlice:
		elem := p.Type(t.Elem)
		name = p.names.Unique(fmt.Sprintf("s%s_%s", ir.SpaceNames[t.Space], p.word(t.Elem)))
		pointer := cSpace[t.Space] + elem + " *"
		fmt.Fprintf(p.Decls, "typedef struct { %sp; i64 n; } %s;\n", pointer, name)
		fmt.Fprintf(p.Decls, "FN %s make_%[1]s(%[2]sp, i64 n) { %[1]s s; s.p = p; s.n = n; return s; }\n",
			name, pointer)
	case ir.KindStruct:
		name = p.structType(t)
	}
	p.named[t] = name
	return name
}

// word is the name of t as a part of another's: bool and uint8 are one type in C.
func (p *Printer) word(t *ir.Type) string {
	if t.Kind == ir.KindBool {
		return "bool"
	}
	return p.Type(t)
}

// float64Error names the functions of other packages that compute with float64, for a device that
// does not have it: the kernel itself may not show that they do.
func float64Error(k *ir.Function) string {
	var names []string
	for _, fn := range k.Reached() {
		for _, c := range fn.Calls {
			if fn.Imported == "" && c.Imported != "" && c.UsesFloat64() {
				names = append(names, c.Imported)
			}
		}
	}
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
func (p *Printer) structType(t *ir.Type) (name string) {
	var b strings.Builder
	end := int64(0)
	pad := func(to int64) {
		if t.Size > 0 && to > end {
			fmt.Fprintf(&b, " u8 gap%d[%d];", end, to-end)
		}
	}
	for i, f := range t.Fields {
		pad(f.Off)
		fmt.Fprintf(&b, " %s %s;", p.Type(f.Type), ir.FieldName(t, i))
		end = f.Off + f.Type.Size
	}
	pad(t.Size)
	if len(t.Fields) == 0 {
		b.WriteString(" u8 none;")
	}
	name = p.names.Unique(ir.CName(t.Name) + "_t")
	fmt.Fprintf(p.Decls, "typedef struct {%s } %s;\n", b.String(), name)
	p.assertSize(name, t)
	return name
}

func (p *Printer) assertSize(name string, t *ir.Type) {
	if t.Size > 0 {
		fmt.Fprintf(p.Decls, "typedef char size_%s[sizeof(%[1]s) == %d ? 1 : -1];\n", name, t.Size)
	}
}

func (p *Printer) kernel(k *ir.Kernel) {
	p.float64By = float64Error(k.Function)
	var params, inner []string
	for _, v := range k.Params {
		head, value := p.parameter(v)
		params, inner = append(params, head...), append(inner, value)
	}
	group := ""
	if k.Group != [3]int{} {
		group = fmt.Sprintf(" WG_SIZE(%d, %d, %d)", k.Group[0], k.Group[1], k.Group[2])
	}
	head := strings.Join(params, ", ") + " CHECKED_KERNEL"
	if len(params) == 0 {
		head = "CHECKED_ALONE"
	}
	p.Line("__kernel%s", group)
	p.Line("void %s(%s) {", k.Entry, head)
	p.Indent++
	for _, v := range ir.LocalsOf(k.Body) {
		p.Line("LOCALMEM %s %s;", p.Type(v.Type), p.Name(v))
	}
	for _, key := range slices.Sorted(maps.Keys(k.Meeting)) {
		v := k.Meeting[key]
		p.Line("LOCALMEM %s %s;", p.Type(v.Type), p.Name(v))
	}
	p.Line("CHECKED_BEGIN")
	for _, s := range inner {
		p.Line("%s", s)
	}
	p.stmts(k.Body)
	p.Indent--
	p.Line("}")
}

// parameter is a kernel's parameter as the launch passes it, and the declaration of the variable
// that the kernel sees.
func (p *Printer) parameter(v *ir.Variable) (head []string, value string) {
	name, t := p.Name(v), v.Type
	constant := map[bool]string{true: "const "}[v.ReadOnly]
	cast := func(elem *ir.Type) string { // Go has no such types
		if !v.ReadOnly {
			return ""
		}
		return fmt.Sprintf("(__global %s *)", p.Type(elem))
	}
	switch {
	case v.Leaves != nil:
		value = fmt.Sprintf("%s %s;", p.Type(t), name)
		for i, l := range v.Leaves {
			x := fmt.Sprintf("%sx%d", name, i)
			head = append(head, cScalar(l.Type)+x)
			value += fmt.Sprintf(" %s%s = (%s)%s;", name, l.C, p.Type(l.Type), x)
		}
	case t.Kind == ir.KindSlice:
		head = []string{
			fmt.Sprintf("__global %s%s *%sp", constant, p.Type(t.Elem), name), "const ulong " + name + "off",
			"const ulong " + name + "len",
		}
		value = fmt.Sprintf("%s %s = make_%[1]s(%[3]s%[2]sp + %[2]soff, (i64)%[2]slen);", p.Type(t), name, cast(t.Elem))
	case t.Kind == ir.KindStruct:
		data := t.Fields[0].Type
		head = []string{
			fmt.Sprintf("__global %s%s *%sp", constant, p.Type(data.Elem), name),
			"const ulong " + name + "off",
		}
		for _, part := range []string{"rows", "cols", "stride"} {
			head = append(head, "const ulong "+name+part)
		}
		typ := p.Type(t)
		value = fmt.Sprintf("%s %s; %[2]s.%s = make_%s(%s%[2]sp + %[2]soff, (i64)(%[2]srows == 0 || "+
			"%[2]scols == 0 ? 0 : (%[2]srows - 1) * %[2]sstride + %[2]scols));",
			typ, name, ir.FieldName(t, 0), p.Type(data), cast(data.Elem))
		for i, part := range []string{"rows", "cols", "stride"} {
			value += fmt.Sprintf(" %s.%s = (i64)%[1]s%[3]s;", name, ir.FieldName(t, i+1), part)
		}
	default:
		head = []string{cScalar(t) + name + "x"}
	}
	if value == "" {
		value = fmt.Sprintf("%s %s = (%[1]s)%[2]sx;", p.Type(t), name)
	}
	return head, value
}

// cScalar is how a number is passed.
func cScalar(t *ir.Type) string {
	switch {
	case t.Kind == ir.KindFloat32:
		return "const float "
	case t.Kind == ir.KindFloat64:
		return "const double "
	case t.Size == 8:
		return "const ulong "
	}
	return "const uint "
}

// Name is what the text calls v.
func (p *Printer) Name(v *ir.Variable) string {
	if v.Table != nil {
		return p.table(v.Table)
	}
	return ir.CName(v.Name) + "_"
}

func (p *Printer) table(t *ir.Table) string {
	if p.named[t] == "" {
		typ := p.Type(t.Value.Type)
		p.named[t] = p.names.Unique(ir.CName(t.Name) + "_c")
		fmt.Fprintf(p.Decls, "TABLE %s %s = %s;\n", typ, p.named[t], p.initializer(t.Value))
	}
	return p.named[t]
}

// function prints fn before what is printed now, and gives its name.
func (p *Printer) function(fn *ir.Function) string {
	if name := p.named[fn]; name != "" {
		return name
	}
	name := p.names.Unique(ir.CName(fn.Name) + "_f")
	p.named[fn] = name
	q := &Printer{
		Program: p.Program, files: p.files, Decls: p.Decls, Out: new(strings.Builder), names: p.names, named: p.named,
		Helpers: p.Helpers, fn: fn, float64By: p.float64By, targets: map[*ir.Stmt]*target{},
	}
	result := q.resultType(fn)
	var params []string
	for _, v := range fn.Params {
		params = append(params, q.Type(v.Type)+" "+q.Name(v))
	}
	head := "CHECKER " + strings.Join(params, ", ")
	if len(params) == 0 {
		head = "CHECKER_ALONE"
	}
	q.Line("FN %s %s(%s) {", result, name, head)
	q.Indent++
	q.stmts(fn.Body)
	if n := len(fn.Body); len(fn.Results) > 0 && (n == 0 || fn.Body[n-1].Kind != ir.StmtReturn) {
		q.Line("%s r = {0}; return r;", result)
	}
	q.Indent--
	q.Line("}")
	p.Decls.WriteString(q.Out.String())
	return name
}

// resultType is the type of a function's results; several are a struct of their own.
func (p *Printer) resultType(fn *ir.Function) string {
	switch len(fn.Results) {
	case 0:
		return "void"
	case 1:
		return p.Type(fn.Results[0])
	}
	var b strings.Builder
	for i, t := range fn.Results {
		fmt.Fprintf(&b, " %s r%d;", p.Type(t), i)
	}
	name := p.function(fn) + "_results"
	if !p.Helpers[name] {
		p.Helpers[name] = true
		fmt.Fprintf(p.Decls, "typedef struct {%s } %s;\n", b.String(), name)
	}
	return name
}

func (p *Printer) stmts(list []*ir.Stmt) {
	for _, s := range list {
		p.stmt(s)
	}
}

func (p *Printer) body(list []*ir.Stmt) {
	p.Indent++
	p.stmts(list)
	p.Indent--
}

func (p *Printer) stmt(s *ir.Stmt) {
	switch s.Kind {
	case ir.StmtDecl:
		p.Line("%s %s = %s;", p.Type(s.Var.Type), p.Name(s.Var), p.initializer(s.X))
	case ir.StmtAssign:
		p.Line("%s;", p.assign(s))
	case ir.StmtCall:
		p.call(s)
	case ir.StmtIf:
		p.ifStmt(s)
	case ir.StmtLoop:
		p.loop(s)
	case ir.StmtBlock:
		p.around = append(p.around, s)
		p.Line("{")
		p.body(s.Body)
		p.Line("}")
		p.around = p.around[:len(p.around)-1]
		p.broken(s)
	case ir.StmtBreak, ir.StmtContinue:
		p.jump(s)
	case ir.StmtReturn:
		p.returnStmt(s)
	case ir.StmtBarrier:
		p.barrier(s)
	}
}

func (p *Printer) barrier(s *ir.Stmt) {
	if s.Var == nil {
		p.Line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);")
		return
	}
	t := p.Type(s.Var.Type)
	p.Line("%s %s;", t, p.Name(s.Var))
	p.Line("%s(%s, %s, %s, %s)", strings.ToUpper(s.Meeting.Name), t, p.Name(s.Var), p.Name(s.Meeting.Shared),
		p.bare(s.X))
}

func (p *Printer) assign(s *ir.Stmt) string {
	if Common(s.X) {
		return fmt.Sprintf("STORE(%s, %s, %s)", p.access(s.X), p.memory(s.X), p.bare(s.Y))
	}
	return fmt.Sprintf("%s = %s", p.memory(s.X), p.bare(s.Y))
}

func (p *Printer) call(s *ir.Stmt) {
	if len(s.Dst) == 0 {
		p.Line("%s;", p.bare(s.X))
		return
	}
	p.Line("{ %s r = %s;", p.resultType(s.X.Fn), p.bare(s.X))
	for i, v := range s.Dst {
		p.Line("  %s = r.r%d;", p.Name(v), i)
	}
	p.Line("}")
}

func (p *Printer) ifStmt(s *ir.Stmt) {
	join := func(list []*ir.Stmt) {
		if s.Lifted && len(list) > 0 && !ir.HoldsBarrier(list) {
			p.Line("  JOIN;")
		}
	}
	if s.Lifted {
		p.Line("JOIN;")
	}
	p.Line("if (%s) {", p.bare(s.X))
	join(s.Body)
	p.body(s.Body)
	for len(s.Else) == 1 && s.Else[0].Kind == ir.StmtIf && !s.Else[0].Lifted { // compilers limit how deep they nest
		s = s.Else[0]
		p.Line("} else if (%s) {", p.bare(s.X))
		p.body(s.Body)
	}
	if len(s.Else) > 0 {
		p.Line("} else {")
		join(s.Else)
		p.body(s.Else)
	}
	p.Line("}")
}

func (p *Printer) loop(s *ir.Stmt) {
	cond, post := "", ""
	if s.X != nil {
		cond = p.bare(s.X)
	}
	if len(s.Post) > 0 {
		post = p.assign(s.Post[0])
	}
	if !ir.HoldsBarrier(s.Body) {
		cond = fmt.Sprintf("GO(%s)", cmp.Or(cond, "1"))
	} else if ir.Any(s.Body, func(s *ir.Stmt) bool { return s.Meeting != nil }) {
		cond = fmt.Sprintf("GO_ALL(%s)", cmp.Or(cond, "1"))
	}
	p.around = append(p.around, s)
	body := p.captured(s.Body)
	p.Line("for (; %s; %s) {", cond, post)
	if t := p.targets[s]; t != nil && t.resumed { // the braces end what the body declares
		body = p.spaces() + "  {\n" + body + p.spaces() + "  }\n" + p.spaces() + "  " + t.label + "_next:;\n"
	}
	p.Out.WriteString(body)
	p.Line("}")
	p.around = p.around[:len(p.around)-1]
	p.broken(s)
}

// broken prints where a goto out of s leads: to a barrier, if it came past one.
func (p *Printer) broken(s *ir.Stmt) {
	t := p.targets[s]
	if t == nil || !t.broken {
		return
	}
	p.Line("%s:;", t.label)
	if s.Meets && ir.HoldsBarrier(s.Body) {
		p.Line("JOIN;")
	}
}

func (p *Printer) spaces() string { return strings.Repeat("  ", p.Indent) }

// captured is the text of a body.
func (p *Printer) captured(list []*ir.Stmt) string {
	out := p.Out
	p.Out = new(strings.Builder)
	p.body(list)
	text := p.Out.String()
	p.Out = out
	return text
}

// jump prints a break or continue: with goto where it leaves more than the innermost loop.
func (p *Printer) jump(s *ir.Stmt) {
	for i := len(p.around) - 1; i >= 0; i-- {
		if a := p.around[i]; a.Kind == ir.StmtLoop || a == s.Target {
			if a == s.Target && a.Kind == ir.StmtLoop {
				p.Line("%s;", map[ir.StmtKind]string{ir.StmtBreak: "break", ir.StmtContinue: "continue"}[s.Kind])
				return
			}
			break
		}
	}
	t := p.targets[s.Target]
	if t == nil {
		t = &target{label: fmt.Sprintf("l%d", len(p.targets)+1)}
		p.targets[s.Target] = t
	}
	if s.Kind == ir.StmtBreak {
		t.broken = true
		p.Line("goto %s;", t.label)
		return
	}
	t.resumed = true
	p.Line("goto %s_next;", t.label)
}

// returnStmt prints a return: one of the whole group from a barrier, as PoCL (3.1) goes wrong where
// other work-items leave later, each for itself.
func (p *Printer) returnStmt(s *ir.Stmt) {
	if s.Lifted && !strings.HasSuffix(p.Out.String(), "JOIN;\n") {
		p.Line("JOIN;")
	}
	switch len(s.Args) {
	case 0:
		p.Line("return;")
	case 1:
		p.Line("return %s;", p.exprs(s.Args))
	default:
		p.Line("{ %s r = {%s}; return r; }", p.resultType(p.fn), p.exprs(s.Args))
	}
}

// initializer is a value in a declaration.
func (p *Printer) initializer(e *ir.Expr) string {
	switch {
	case e == nil || e.Op == ir.OpZero:
		if e != nil && e.Type.Scalar() {
			return "0"
		}
		return "{0}"
	case e.Op == ir.OpMake:
		return p.braces(e)
	}
	return p.bare(e)
}

// braces is a literal; what it leaves out at the end is zero.
func (p *Printer) braces(e *ir.Expr) string {
	if len(e.Args) == 0 {
		return "{0}"
	}
	types := func(i int) *ir.Type {
		if e.Type.Kind == ir.KindArray {
			return e.Type.Elem
		}
		return e.Type.Fields[i].Type
	}
	last := len(e.Args) - 1
	for last > 0 && e.Args[last] == nil {
		last--
	}
	var list []string
	end := int64(0)
	for i, a := range e.Args[:last+1] {
		if t := e.Type; t.Kind == ir.KindStruct && t.Size > 0 {
			if t.Fields[i].Off > end {
				list = append(list, "{0}")
			}
			end = t.Fields[i].Off + t.Fields[i].Type.Size
		}
		switch {
		case a != nil:
			list = append(list, p.initializer(a))
		case types(i).Scalar():
			list = append(list, "0")
		default:
			list = append(list, "{0}")
		}
	}
	s := "{" + strings.Join(list, ", ") + "}"
	if e.Type.Kind == ir.KindArray {
		return "{" + s + "}"
	}
	return s
}

// bare is e without parentheses around it.
func (p *Printer) bare(e *ir.Expr) string { return ir.Bare(p.expr(e)) }

func (p *Printer) exprs(list []*ir.Expr) string {
	var s []string
	for _, e := range list {
		s = append(s, p.bare(e))
	}
	return strings.Join(s, ", ")
}

// expr is e, in parentheses where it is more than a primary expression.
func (p *Printer) expr(e *ir.Expr) string {
	switch e.Op {
	case ir.OpConst:
		return p.Constant(e)
	case ir.OpVar, ir.OpIndex, ir.OpField, ir.OpDeref:
		if Common(e) {
			return fmt.Sprintf("LOAD(%s, %s)", p.access(e), p.memory(e))
		}
		return p.memory(e)
	case ir.OpBinary:
		return p.binary(e)
	case ir.OpShift:
		return p.shift(e)
	case ir.OpUnary:
		return p.unary(e)
	case ir.OpConvert:
		if e.X.Type.Float() && e.Type.Integer() {
			return fmt.Sprintf("%s(%s)", p.ToInt(e.Type, e.X.Type), p.bare(e.X))
		}
		return fmt.Sprintf("((%s)%s)", p.Type(e.Type), p.expr(e.X))
	case ir.OpAddr:
		return fmt.Sprintf("(&%s)", p.memory(e.X))
	case ir.OpSlice:
		return p.slice(e)
	case ir.OpLen:
		return p.expr(e.X) + ".n"
	case ir.OpWithin:
		limit := p.bare(e.Y)
		return fmt.Sprintf("%s(%s, %s, %d)", e.Name, p.bare(e.X), limit, p.Place(e.Pos))
	case ir.OpCall:
		if len(e.Args) == 0 {
			return p.function(e.Fn) + "(CHECK_ALONE)"
		}
		return fmt.Sprintf("%s(CHECK %s)", p.function(e.Fn), p.exprs(e.Args))
	case ir.OpBuiltin:
		return p.builtin(e)
	case ir.OpItem:
		return fmt.Sprintf("((i64)%s(%d))", cItem[e.Name], e.N)
	}
	panic("compiler: an expression that C does not have")
}

// Common tells whether e is memory that other work-items see.
func Common(e *ir.Expr) bool { s := e.Space(); return s == ir.SpaceGlobal || s == ir.SpaceLocal }

// access declares the access to memory of e's type, and gives the name that LOAD and STORE take.
func (p *Printer) access(e *ir.Expr) string {
	typ, s := p.Type(e.Type), e.Space()
	name := ir.SpaceNames[s] + "_" + typ
	if !p.Helpers[name] {
		p.Helpers[name] = true
		fmt.Fprintf(p.Decls, "ACCESS(%s, %s, %s)\n", name, strings.TrimSpace(cSpace[s]), typ)
	}
	return name
}

// memory is e as a place, which is not read.
func (p *Printer) memory(e *ir.Expr) string {
	switch e.Op {
	case ir.OpVar:
		p.Type(e.Type)
		return p.Name(e.Var)
	case ir.OpIndex:
		i := p.bare(e.Y)
		if e.X.Type.Kind == ir.KindSlice {
			s := p.expr(e.X)
			return fmt.Sprintf("%s.p[AT(%s, %s.n, %d)]", s, i, s, p.Place(e.Pos))
		}
		if !ir.InArray(e) {
			i = fmt.Sprintf("AT(%s, %d, %d)", i, e.X.Type.Len, p.Place(e.Pos))
		}
		return fmt.Sprintf("%s.v[%s]", p.memory(e.X), i)
	case ir.OpField:
		p.Type(e.X.Type)
		return fmt.Sprintf("%s.%s", p.memory(e.X), ir.FieldName(e.X.Type, e.N))
	case ir.OpDeref:
		return fmt.Sprintf("(*%s)", p.expr(e.X))
	}
	return p.expr(e)
}

var cItem = map[string]string{
	"Global": "get_global_id", "Local": "get_local_id", "Group": "get_group_id", "GlobalSize": "get_global_size",
	"LocalSize": "get_local_size", "Groups": "get_num_groups",
}

func (p *Printer) slice(e *ir.Expr) string {
	var data, length string
	if e.X.Type.Kind == ir.KindArray {
		data, length = p.memory(e.X)+".v", fmt.Sprint(e.X.Type.Len)
	} else {
		s := p.expr(e.X)
		data, length = s+".p", s+".n"
	}
	t, high := p.Type(e.Type), p.expr(e.Z)
	if e.Y == nil && (e.Z.Op == ir.OpLen && e.Z.X == e.X || e.Z.Op == ir.OpConst && e.X.Type.Kind == ir.KindArray) {
		return fmt.Sprintf("make_%s(%s, %s)", t, data, high)
	}
	low := "0"
	if e.Y != nil {
		low = p.expr(e.Y)
	}
	cut := fmt.Sprintf("CUT(%s, %s, %s, %d)", low, high, length, p.Place(e.Pos))
	return fmt.Sprintf("make_%s(%s + %s, %s - %s)", t, data, cut, high, low)
}

// Constant is a number, exactly.
func (p *Printer) Constant(e *ir.Expr) string {
	t := e.Type
	switch {
	case t.Kind == ir.KindBool:
		if constant.BoolVal(e.Value) {
			return "1"
		}
		return "0"
	case t.Float():
		x, _ := constant.Float64Val(e.Value)
		p.Type(t)
		return cFloat(x, t)
	case t.Unsigned():
		n, _ := constant.Uint64Val(e.Value)
		if t.Kind == ir.KindUint64 {
			return fmt.Sprintf("%dul", n)
		}
		return fmt.Sprintf("%du", n)
	}
	n, _ := constant.Int64Val(e.Value)
	switch {
	case n == math.MinInt64:
		return "((i64)0x8000000000000000ul)"
	case t.Kind == ir.KindInt64:
		return fmt.Sprintf("((i64)%d)", n)
	case n == math.MinInt32:
		return "((i32)0x80000000u)"
	case n < 0:
		return fmt.Sprintf("(%d)", n)
	}
	return fmt.Sprint(n)
}

// cFloat is x in decimal digits where few are exact, in hexadecimal ones elsewhere.
func cFloat(x float64, t *ir.Type) string {
	s := fmt.Sprintf("%x", x)
	if y := x * 1024; y == math.Trunc(y) && math.Abs(x) < 1<<20 {
		s = fmt.Sprintf("%.10f", x)
		s = strings.TrimRight(s, "0")
		if strings.HasSuffix(s, ".") {
			s += "0"
		}
	}
	if t.Kind == ir.KindFloat32 {
		s += "f"
	}
	if x < 0 {
		return "(" + s + ")"
	}
	return s
}

// Special is an infinity or NaN, as an expression that every C takes for a constant.
func (p *Printer) Special(e *ir.Expr) string {
	one, suffix := 1, ""
	if e.Name == "nan" {
		one = 0
	}
	if p.Type(e.Type); e.Type.Kind == ir.KindFloat32 {
		suffix = "f"
	}
	return fmt.Sprintf("(%d / 0.0%s)", one, suffix)
}

// wide is the unsigned type that C computes integers of type t in, as Go does: modulo 2^n.
func wide(t *ir.Type) string {
	if t.Size == 8 {
		return "u64"
	}
	return "u32"
}

func (p *Printer) binary(e *ir.Expr) string {
	if x := timesMinus1(e); x != nil && p.barriers {
		return p.negated(x)
	}
	t, x, y, tok := e.X.Type, p.expr(e.X), p.expr(e.Y), e.Token.String()
	switch e.Token {
	case token.ADD, token.SUB, token.MUL:
		if t.Kind == ir.KindUint32 || t.Kind == ir.KindUint64 || t.Float() {
			break
		}
		if t.Integer() {
			return fmt.Sprintf("((%[1]s)((%[2]s)%[3]s %[4]s (%[2]s)%[5]s))", t.Name, wide(t), x, tok, y)
		}
	case token.QUO:
		if t.Kind == ir.KindFloat32 {
			return fmt.Sprintf("%s(%s, %s)", p.Helper("div_f32"), p.bare(e.X), p.bare(e.Y))
		}
	case token.AND_NOT:
		return fmt.Sprintf("(%s & ~%s)", x, y)
	case token.EQL, token.NEQ:
		if t.Kind == ir.KindBool {
			return fmt.Sprintf("((%s != 0) %s (%s != 0))", x, tok, y)
		}
	}
	return fmt.Sprintf("(%s %s %s)", x, tok, y)
}

func (p *Printer) unary(e *ir.Expr) string {
	x, t := p.expr(e.X), e.Type
	switch {
	case e.Token == token.NOT:
		return fmt.Sprintf("(!%s)", x)
	case e.Token == token.XOR:
		return fmt.Sprintf("((%s)~%s)", t.Name, x)
	case t.Integer():
		return fmt.Sprintf("((%s)(0u - (%s)%s))", t.Name, wide(t), x)
	case p.barriers:
		return p.negated(e.X)
	}
	return fmt.Sprintf("(-%s)", x)
}

// negated is -x of a float, which compilers do not know for that.
func (p *Printer) negated(x *ir.Expr) string {
	return fmt.Sprintf("%s(%s)", p.Helper("neg_"+x.Type.Name), p.bare(x))
}

// timesMinus1 is the float x of x * -1, -1 * x and x / -1, which compilers take for -x; else nil.
func timesMinus1(e *ir.Expr) *ir.Expr {
	minus1 := func(x *ir.Expr) bool {
		return x.Op == ir.OpConst && constant.Compare(x.Value, token.EQL, constant.MakeInt64(-1))
	}
	switch {
	case !e.X.Type.Float():
	case (e.Token == token.MUL || e.Token == token.QUO) && minus1(e.Y):
		return e.X
	case e.Token == token.MUL && minus1(e.X):
		return e.Y
	}
	return nil
}

func (p *Printer) shift(e *ir.Expr) string {
	t := e.Type
	if e.Y.Op != ir.OpConst {
		name := "shl_"
		if e.Token == token.SHR {
			name = "shr_"
		}
		return fmt.Sprintf("%s(%s, %s)", p.Helper(name+t.Name), p.bare(e.X), p.bare(e.Y))
	}
	n, _ := constant.Int64Val(e.Y.Value)
	if e.Token == token.SHR {
		return fmt.Sprintf("(%s >> %d)", p.expr(e.X), n)
	}
	return fmt.Sprintf("((%s)((%s)%s << %d))", t.Name, wide(t), p.expr(e.X), n)
}

func (p *Printer) builtin(e *ir.Expr) string {
	if len(e.Args) == 0 {
		return p.Special(e)
	}
	t := e.Args[0].Type
	p.Type(t)
	p.Type(e.Type)
	args := p.exprs(e.Args)
	switch e.Name {
	case "fma":
		return fmt.Sprintf("fma(%s)", args)
	case "div", "rem":
		return fmt.Sprintf("%s(LINE(%d) %s)", p.Helper(e.Name+"_"+t.Name), p.Place(e.Pos), args)
	case "min", "max", "popcount", "clz", "ctz", "len", "reverse", "reversebytes", "mulhi":
		return p.Helped(e.Name, t, args)
	case "bits", "frombits":
		return fmt.Sprintf("as_%s(%s)", e.Type.Dialect(), args)
	case "sqrt", "abs", "floor", "ceil", "trunc":
		return fmt.Sprintf("%s(%s)", p.Helper(e.Name+"_f64"), args)
	}
	name := strings.ToLower(strings.TrimPrefix(e.Name, "Atomic"))
	return fmt.Sprintf("%s(CHECK %s)", p.atomic(name, t.Elem, t.Space), args)
}

// Helped is a call of a helper for type t, which counts bits, or has a result of the same type.
func (p *Printer) Helped(name string, t *ir.Type, args string) string {
	switch name {
	case "popcount", "clz", "ctz":
		return fmt.Sprintf("((i64)%s(%s))", p.Helper(name+"_"+t.Name), args)
	case "len":
		return fmt.Sprintf("((i64)%d - (i64)%s(%s))", t.Bits(), p.Helper("clz_"+t.Name), args)
	}
	return fmt.Sprintf("%s(%s)", p.Helper(name+"_"+t.Name), args)
}

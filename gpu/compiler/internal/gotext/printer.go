// Package gotext prints kernels, and the functions that they call, as Go for the cpu device.
package gotext

import (
	"fmt"
	"go/constant"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// A Printer prints kernels and functions as Go for the cpu device.
type Printer struct {
	program   *ir.Program
	Out       strings.Builder
	names     *Names   // in the package
	Types     []string // declarations of types and tables
	done      map[any]bool
	queue     []*ir.Function
	reads     map[*ir.Variable]bool
	k         *ir.Kernel
	inLoop    bool      // over work-items
	heads     [3]string // of the loops of a kernel without barriers
	hoists    int
	hoisted   map[*ir.Expr]string // by names
	labels    int
	labelled  map[*ir.Stmt]string
	next      string // the label of the loop over work-items that a return or such goes on with
	used      bool   // it was
	addressed map[*ir.Variable]bool
	kept      map[*ir.Variable]bool // elements of a work-item that the present loop keeps in a variable
	unset     map[*ir.Variable]bool // those whose variable is declared where it gets its value
}

// NewPrinter is a printer for the kernels of a package.
func NewPrinter(program *ir.Program, n *Names) *Printer {
	return &Printer{
		program: program, names: n, done: map[any]bool{}, hoisted: map[*ir.Expr]string{},
		unset: map[*ir.Variable]bool{}, labelled: map[*ir.Stmt]string{},
	}
}

// Line prints a line.
func (p *Printer) Line(format string, args ...any) {
	fmt.Fprintf(&p.Out, format+"\n", args...)
}

// at says where the next line is from.
func (p *Printer) at(pos token.Pos) {
	if pos != token.NoPos {
		where := p.program.Files.Position(pos)
		p.Line("//line %s:%d", p.program.Relative(where.Filename), where.Line)
	}
}

// global is the name of a type, a table or a function that generated code declares in the package.
func (p *Printer) global(x any, name string) string { return p.names.Of(x, "gpu_"+name) }

// own is Go's own function min or max, which the package may hide.
func (p *Printer) own(name string) string {
	if p.names.pkg.Lookup(name) != nil {
		return "support." + ir.Exported(name)
	}
	return name
}

// typ is t in Go.
func (p *Printer) typ(t *ir.Type) string {
	switch t.Kind {
	case ir.KindArray:
		return fmt.Sprintf("[%d]%s", t.Len, p.typ(t.Elem))
	case ir.KindSlice:
		return "[]" + p.typ(t.Elem)
	case ir.KindPointer:
		return "*" + p.typ(t.Elem)
	case ir.KindStruct:
		return p.structType(t)
	}
	return ir.Basics[t.Kind].GoName
}

func (p *Printer) structType(t *ir.Type) string {
	name := p.global(t, t.Name)
	if p.done[t] {
		return name
	}
	p.done[t] = true
	var b strings.Builder
	fmt.Fprintf(&b, "type %s struct {\n", name)
	for i, f := range t.Fields {
		fmt.Fprintf(&b, "%s %s\n", ir.FieldName(t, i), p.typ(f.Type))
	}
	b.WriteString("}\n")
	p.Types = append(p.Types, b.String())
	return name
}

func (p *Printer) name(v *ir.Variable) string {
	if v.Table != nil {
		return p.Table(v.Table)
	}
	return v.Name + "_"
}

// Table is the name of a table, which it declares.
func (p *Printer) Table(t *ir.Table) string {
	name := p.global(t, t.Name)
	if !p.done[t] {
		p.done[t] = true
		p.Types = append(p.Types, fmt.Sprintf("var %s = %s\n", name, p.value(t.Value)))
	}
	return name
}

// variable is v where it is used: with barriers it may be one for each work-item.
func (p *Printer) variable(v *ir.Variable) string {
	switch {
	case !v.Array || p.kept[v]:
		return p.name(v)
	case p.inLoop:
		return p.name(v) + "all[w]"
	}
	return p.name(v) + "all[0]"
}

// Function is the name of fn, which is printed later, unless it is there already.
func (p *Printer) Function(fn *ir.Function) string {
	if fn.Elementary {
		return fn.Imported
	}
	if !p.done[fn] {
		p.done[fn] = true
		p.queue = append(p.queue, fn)
	}
	return p.global(fn, fn.Name)
}

// Functions prints the functions that were called.
func (p *Printer) Functions() {
	for len(p.queue) > 0 {
		fn := p.queue[0]
		p.queue = p.queue[1:]
		p.k, p.reads, p.labels, p.addressed = nil, ir.ReadsOf(fn.Body), 0, addressed(fn.Body)
		var params, results []string
		for _, v := range fn.Params {
			params = append(params, p.name(v)+" "+p.typ(v.Type))
		}
		for _, t := range fn.Results {
			results = append(results, p.typ(t))
		}
		p.Line("\nfunc %s(%s) (%s) {", p.Function(fn), strings.Join(params, ", "), strings.Join(results, ", "))
		p.stmts(fn.Body)
		if len(fn.Results) > 0 && !terminates(fn.Body) {
			p.Line("panic(\"unreachable\")")
		}
		p.Line("//line @:1\n}")
	}
}

// addressed is the variables whose address list takes.
func addressed(list []*ir.Stmt) map[*ir.Variable]bool {
	m := map[*ir.Variable]bool{}
	ir.Addressed(list, func(v *ir.Variable) { m[v] = true })
	return m
}

// terminates tells whether Go sees that the end of list is not reached.
func terminates(list []*ir.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch s := list[len(list)-1]; s.Kind {
	case ir.StmtReturn:
		return true
	case ir.StmtIf:
		return terminates(s.Body) && terminates(s.Else)
	case ir.StmtBlock:
		return !ir.Targeted(s) && terminates(s.Body)
	case ir.StmtLoop:
		return s.X == nil && !ir.Targeted(s)
	}
	return false
}

func (p *Printer) stmts(list []*ir.Stmt) {
	for len(list) > 0 {
		n := p.newResults(list)
		if n == 0 {
			n = 1
			p.stmt(list[0])
		}
		list = list[n:]
	}
}

// newResults prints the statements at the beginning of list that declare variables and give them
// the results of a call, and tells how many they are.
func (p *Printer) newResults(list []*ir.Stmt) (n int) {
	for n < len(list) && list[n].Kind == ir.StmtDecl && list[n].X == nil && !list[n].Var.Array {
		n++
	}
	if n == 0 || n == len(list) || list[n].Kind != ir.StmtCall || len(list[n].Dst) != n {
		return 0
	}
	call, assign := list[n], "="
	names := make([]string, n)
	for i, v := range call.Dst {
		if v != list[i].Var {
			return 0
		}
		switch names[i] = "_"; {
		case p.reads[v]:
			names[i], assign = p.name(v), ":="
		case mentioned(list[n+1:], v): // assigned again, which declare has a line for
			return 0
		}
	}
	p.at(call.Pos)
	p.Line("%s %s %s", strings.Join(names, ", "), assign, p.expr(call.X))
	return n + 1
}

// mentioned tells whether list uses v, or assigns it.
func mentioned(list []*ir.Stmt, v *ir.Variable) (found bool) {
	ir.Variables(list, func(x *ir.Variable) { found = found || x == v })
	return found
}

func (p *Printer) stmt(s *ir.Stmt) {
	switch s.Kind {
	case ir.StmtBlock:
		if begin, ok := p.begin(s); ok {
			loop := s.Body[len(s.Body)-1]
			p.at(loop.Pos)
			p.loop(loop, begin)
			return
		}
		p.block(s, func() { p.stmts(s.Body) })
		return
	case ir.StmtBreak, ir.StmtContinue:
		p.jump(s)
		return
	}
	p.at(s.Pos)
	switch s.Kind {
	case ir.StmtDecl:
		p.declare(s)
	case ir.StmtAssign:
		p.set(ir.Assigned(s), p.expr(s.X), p.bare(s.Y))
	case ir.StmtCall:
		p.call(s)
	case ir.StmtIf:
		p.ifStmt(s, p.stmts)
	case ir.StmtLoop:
		p.loop(s, "")
	case ir.StmtReturn:
		p.returnStmt(s)
	case ir.StmtBarrier:
		p.first(s)
	}
}

// ifStmt prints an if, whose parts list prints.
func (p *Printer) ifStmt(s *ir.Stmt, list func([]*ir.Stmt)) {
	p.Line("if %s {", p.bare(s.X))
	list(s.Body)
	if len(s.Else) > 0 {
		p.Line("} else {")
		list(s.Else)
	}
	p.Line("}")
}

func (p *Printer) declare(s *ir.Stmt) {
	v := s.Var
	switch value := p.initial(s); {
	case v.Again != nil:
		return // each loop over work-items begins with it
	case v.Array:
		p.set(v, p.variable(v), value)
	case s.X == nil:
		p.Line("var %s %s", p.name(v), p.typ(v.Type))
	default:
		p.Line("%s := %s", p.name(v), value)
	}
	if !v.Array && !p.reads[v] {
		p.Line("_ = %s", p.name(v))
	}
}

// set gives x, which is v if that is not nil, a value.
func (p *Printer) set(v *ir.Variable, x, value string) {
	if p.unset[v] {
		p.Line("%s := %s", x, value)
		p.unset[v] = false
	} else {
		p.Line("%s = %s", x, value)
	}
}

// initial is the value of a declaration.
func (p *Printer) initial(s *ir.Stmt) string {
	if s.X == nil {
		return p.zero(s.Var.Type)
	}
	return p.value(s.X)
}

// value is e in a declaration or a literal.
func (p *Printer) value(e *ir.Expr) string {
	switch e.Op {
	case ir.OpZero:
		return p.zero(e.Type)
	case ir.OpMake:
		return p.make(e)
	}
	return p.bare(e)
}

func (p *Printer) zero(t *ir.Type) string {
	switch {
	case t.Kind == ir.KindBool:
		return "false"
	case t.Number():
		return ir.Basics[t.Kind].GoName + "(0)"
	case t.Kind == ir.KindSlice:
		return p.typ(t) + "(nil)"
	}
	return p.typ(t) + "{}"
}

// make is a literal.
func (p *Printer) make(e *ir.Expr) string {
	var list []string
	for i, a := range e.Args {
		if a == nil || a.Op == ir.OpZero {
			continue
		}
		key := strconv.Itoa(i)
		if e.Type.Kind == ir.KindStruct {
			key = ir.FieldName(e.Type, i)
		}
		list = append(list, key+": "+p.value(a))
	}
	return p.typ(e.Type) + "{" + strings.Join(list, ", ") + "}"
}

func (p *Printer) call(s *ir.Stmt) {
	if len(s.Dst) == 0 {
		p.Line("%s", p.expr(s.X))
		return
	}
	var list []string
	for _, v := range s.Dst {
		list = append(list, p.variable(v))
	}
	p.Line("%s = %s", strings.Join(list, ", "), p.expr(s.X))
}

// block prints a block that jumps may leave.
func (p *Printer) block(s *ir.Stmt, body func()) {
	if !ir.Targeted(s) { // the names of a function differ
		body()
		return
	}
	p.Line("%s:\nswitch {\ndefault:", p.label(s))
	body()
	p.Line("}")
}

func (p *Printer) label(s *ir.Stmt) string {
	if p.labelled[s] == "" {
		p.labels++
		p.labelled[s] = fmt.Sprintf("loop%d", p.labels)
	}
	return p.labelled[s]
}

// begin is how the loop begins that a block holds with its variables and nothing else.
func (p *Printer) begin(s *ir.Stmt) (string, bool) {
	last := len(s.Body) - 1
	if last < 1 || ir.Targeted(s) || s.Body[last].Kind != ir.StmtLoop {
		return "", false
	}
	var names, values []string
	for i, d := range s.Body[:last] {
		if d.Kind != ir.StmtDecl || d.Var.Array || d.Var.Again != nil || !p.reads[d.Var] ||
			p.addressed[d.Var] {
			return "", false
		}
		for _, other := range s.Body[:i] {
			if d.X.Mentions(other.Var) {
				return "", false
			}
		}
		names, values = append(names, p.name(d.Var)), append(values, p.initial(d))
	}
	return strings.Join(names, ", ") + " := " + strings.Join(values, ", "), true
}

// loop prints a loop, which may begin with variables of its own.
func (p *Printer) loop(s *ir.Stmt, begin string) {
	p.hoist(s)
	if ir.Aimed(s) {
		p.Line("%s:", p.label(s))
		p.at(s.Pos)
	}
	cond, post := "", ""
	if s.X != nil {
		cond = p.bare(s.X)
	}
	if len(s.Post) > 0 {
		post = fmt.Sprintf("%s = %s", p.expr(s.Post[0].X), p.bare(s.Post[0].Y))
	}
	p.Line("for %s; %s; %s {", begin, cond, post)
	p.stmts(s.Body)
	p.Line("}")
	clear(p.hoisted)
}

// hoist declares before loop s, in which there is no other, the fields of matrices that it uses: Go
// keeps no struct of six words in registers. In kernels with barriers, whose loops are short as a
// rule, it does not pay.
func (p *Printer) hoist(s *ir.Stmt) {
	if p.k == nil || p.k.Barriers || ir.Any(s.Body, func(x *ir.Stmt) bool { return x.Kind == ir.StmtLoop }) {
		return
	}
	names := map[string]string{}
	var look func(e *ir.Expr)
	look = func(e *ir.Expr) {
		switch {
		case e.Op == ir.OpWithin: // what it is below is for the checked mode
			look(e.X)
		case e.Op == ir.OpField && e.X.Op == ir.OpVar && slices.Contains(p.k.Params, e.X.Var) && e.X.Var.Leaves == nil:
			text := p.expr(e)
			if names[text] == "" {
				p.hoists++
				names[text] = fmt.Sprintf("h%d", p.hoists)
				p.Line("%s := %s", names[text], text)
			}
			p.hoisted[e] = names[text]
		default:
			e.Children(look)
		}
	}
	ir.Walk([]*ir.Stmt{s}, func(x *ir.Stmt) { x.Exprs(look) })
}

func (p *Printer) jump(s *ir.Stmt) {
	if p.inLoop && p.k.Barriers && s.Target.Lifted {
		p.used = true // to the end of this loop over work-items
		p.Line("continue %s", p.next)
		return
	}
	word := map[ir.StmtKind]string{ir.StmtBreak: "break", ir.StmtContinue: "continue"}[s.Kind]
	p.Line("%s %s", word, p.label(s.Target))
}

func (p *Printer) returnStmt(s *ir.Stmt) {
	if p.k != nil {
		p.used = true
		p.Line("continue %s", p.next)
		return
	}
	p.Line("return %s", p.exprs(s.Args))
}

// bare is e without parentheses around it.
func (p *Printer) bare(e *ir.Expr) string { return ir.Bare(p.expr(e)) }

func (p *Printer) expr(e *ir.Expr) string {
	if name := p.hoisted[e]; name != "" {
		return name
	}
	switch e.Op {
	case ir.OpConst:
		return constantOf(e)
	case ir.OpVar:
		return p.variable(e.Var)
	case ir.OpBinary:
		return p.binary(e)
	case ir.OpShift:
		return p.shift(e)
	case ir.OpUnary:
		return fmt.Sprintf("(%s%s)", e.Token, p.notConstant(e.X))
	case ir.OpConvert:
		if e.X.Type.Float() && e.Type.Integer() {
			return fmt.Sprintf("support.Int[%s](%s)", p.typ(e.Type), p.bare(e.X))
		}
		if e.X.Type.Integer() && e.X.Type.Bits() == 64 && e.Type.Kind == ir.KindFloat32 {
			return fmt.Sprintf("support.Float32(%s)", p.notConstant(e.X))
		}
		return fmt.Sprintf("%s(%s)", p.typ(e.Type), p.notConstant(e.X))
	case ir.OpIndex:
		return p.index(e)
	case ir.OpField:
		return fmt.Sprintf("%s.%s", p.expr(e.X), ir.FieldName(e.X.Type, e.N))
	case ir.OpDeref:
		return fmt.Sprintf("(*%s)", p.expr(e.X))
	case ir.OpAddr:
		return fmt.Sprintf("(&%s)", p.expr(e.X))
	case ir.OpSlice:
		low := ""
		if e.Y != nil {
			low = p.bare(e.Y)
		}
		return fmt.Sprintf("%s[%s:%s]", p.expr(e.X), low, p.bare(e.Z))
	case ir.OpWithin:
		return p.expr(e.X)
	case ir.OpLen:
		return fmt.Sprintf("int64(len(%s))", p.bare(e.X))
	case ir.OpCall:
		return fmt.Sprintf("%s(%s)", p.Function(e.Fn), p.exprs(e.Args))
	case ir.OpBuiltin:
		return p.builtin(e)
	case ir.OpItem:
		return p.item(e)
	}
	panic("compiler: an expression that Go does not have")
}

// index is x[i]. A constant index beyond an array, which Go would refuse, panics when it is used.
func (p *Printer) index(e *ir.Expr) string {
	i := p.bare(e.Y)
	if e.Y.Op == ir.OpConst {
		i = e.Y.Value.ExactString()
		n, exact := constant.Int64Val(constant.ToInt(e.Y.Value))
		if !exact || n < 0 || e.X.Type.Kind == ir.KindArray && !ir.InArray(e) {
			i = "support.Value(" + constantOf(e.Y) + ")"
		}
	} else if e.Y.Constant() {
		i = "support.Value(" + i + ")"
	}
	return fmt.Sprintf("%s[%s]", p.expr(e.X), i)
}

// notConstant is e, so that Go does not compute with it exactly.
func (p *Printer) notConstant(e *ir.Expr) string {
	if e.Constant() && e.Type.Number() {
		return "support.Value(" + p.bare(e) + ")"
	}
	return p.expr(e)
}

func (p *Printer) exprs(list []*ir.Expr) string {
	var s []string
	for _, e := range list {
		s = append(s, p.bare(e))
	}
	return strings.Join(s, ", ")
}

func constantOf(e *ir.Expr) string {
	if e.Type.Kind == ir.KindBool {
		return Literal(e)
	}
	return fmt.Sprintf("%s(%s)", ir.Basics[e.Type.Kind].GoName, Literal(e))
}

// Literal is a constant without its type.
func Literal(e *ir.Expr) string {
	switch {
	case e.Type.Kind == ir.KindBool:
		return strconv.FormatBool(constant.BoolVal(e.Value))
	case e.Type.Float():
		x, _ := constant.Float64Val(e.Value)
		return strconv.FormatFloat(x, 'g', -1, e.Type.Bits())
	}
	return e.Value.ExactString()
}

func (p *Printer) binary(e *ir.Expr) string {
	x, y := p.expr(e.X), p.expr(e.Y)
	if e.X.Constant() && e.Y.Constant() && e.X.Type.Number() {
		x = p.notConstant(e.X)
	}
	s := fmt.Sprintf("(%s %s %s)", x, e.Token, y)
	if e.Token == token.MUL && e.Type.Float() { // so that Go does not fuse it with a sum
		return fmt.Sprintf("%s%s", p.typ(e.Type), s)
	}
	return s
}

func (p *Printer) shift(e *ir.Expr) string {
	n := p.bare(e.Y)
	if e.Y.Op == ir.OpConst {
		n = e.Y.Value.ExactString()
	}
	return fmt.Sprintf("(%s %s (%s))", p.notConstant(e.X), e.Token, n)
}

func (p *Printer) builtin(e *ir.Expr) string {
	args := p.exprs(e.Args)
	switch e.Name {
	case "fma":
		if e.Type.Kind == ir.KindFloat32 {
			return "support.FMA32(" + args + ")"
		}
		return "math.FMA(" + args + ")"
	case "min", "max":
		return fmt.Sprintf("%s(%s)", p.own(e.Name), args)
	case "div", "rem":
		return fmt.Sprintf("support.%s(%s)", ir.Exported(e.Name), args)
	case "bits", "frombits":
		f, suffix := e.Args[0].Type, "bits"
		if e.Name == "frombits" {
			f, suffix = e.Type, "frombits"
		}
		return fmt.Sprintf("math.%s%s(%s)", ir.Exported(ir.Basics[f.Kind].GoName), suffix, args)
	case "inf":
		return p.typ(e.Type) + "(math.Inf(1))"
	case "nan":
		return p.typ(e.Type) + "(math.NaN())"
	case "popcount", "clz", "ctz", "len":
		return fmt.Sprintf("int64(bits.%s%d(%s))", bitFunctions[e.Name], e.Args[0].Type.Bits(), args)
	case "reverse", "reversebytes":
		return fmt.Sprintf("bits.%s%d(%s)", bitFunctions[e.Name], e.Type.Bits(), args)
	case "mulhi":
		return fmt.Sprintf("support.MulHi(%s)", args)
	case "sqrt", "abs", "floor", "ceil", "trunc":
		return fmt.Sprintf("math.%s(%s)", ir.Exported(e.Name), args)
	}
	if name, ok := strings.CutPrefix(e.Name, "Atomic"); ok && e.Args[0].Type.Space == ir.SpaceLocal {
		return fmt.Sprintf("support.Local%s(%s)", name, args) // one goroutine runs a group
	}
	return fmt.Sprintf("gpu.%s(%s)", e.Name, args)
}

// item is the place of a work-item.
func (p *Printer) item(e *ir.Expr) string {
	at := "i"
	switch {
	case e.Name == "Groups":
		return fmt.Sprintf("int64(grid.Groups[%d])", e.N)
	case p.k.Barriers:
		at = "l"
	}
	return p.k.Item(e, at+strconv.Itoa(e.N))
}

// bitFunctions is the names that package math/bits has for operations of the tree.
var bitFunctions = map[string]string{
	"popcount": "OnesCount", "clz": "LeadingZeros", "ctz": "TrailingZeros", "len": "Len", "reverse": "Reverse",
	"reversebytes": "ReverseBytes",
}

// Kernel prints k as a backend.GoKernel.
func (p *Printer) Kernel(k *ir.Kernel, name string) {
	body, g := k.CutBody()
	p.k, p.reads, p.labels, p.addressed = k, ir.ReadsOf(k.Body), 0, addressed(k.Body)
	p.hoists = 0
	p.Line("\nfunc %s(grid backend.Grid, lo, hi int, args []backend.Arg) error {", name)
	at := 0
	for _, v := range k.Params {
		at = p.parameter(v, at)
	}
	if k.Group != [3]int{} {
		// no constants: Go would compute with them exactly
		p.Line("n0, n1, n2 := int64(%d), int64(%d), int64(%d)", k.Group[0], k.Group[1], k.Group[2])
	} else {
		p.Line("n0, n1, n2 := int64(grid.Local[0]), int64(grid.Local[1]), int64(grid.Local[2])")
	}
	for d := range 3 {
		if ir.UsesItem(k.Body, "GlobalSize", d) {
			p.Line("s%d := int64(grid.Groups[%[1]d]) * n%[1]d", d)
		}
	}
	for _, v := range ir.LocalsOf(k.Body) {
		p.Line("var %s %s", p.name(v), p.typ(v.Type))
	}
	if k.Barriers {
		p.Line("n := n0 * n1 * n2")
	}
	p.arrays(k.Body, k.Group[0]*k.Group[1]*k.Group[2])
	p.used = false
	start := p.Out.Len()
	p.Line("for i := lo; i < hi; i++ {")
	p.Line("g0, g1, g2 := support.Group(grid, i)")
	p.Line("b0, b1, b2 := g0*n0, g1*n1, g2*n2 // Go does not take them out of loops")
	bases := p.Out.Len()
	if k.Barriers {
		p.group(k.Body)
	} else {
		p.reads = ir.ReadsOf(body)
		p.all(body, g)
	}
	text := p.Out.String()
	p.Out.Reset()
	p.Out.WriteString(text[:start] + groupHead(text[start:bases], text[bases:]) + text[bases:])
	p.Line("//line @:1\n}\nreturn nil\n}")
}

// groupHead is the head of the loop over groups, with what body needs.
func groupHead(head, body string) string {
	unused := slices.DeleteFunc([]string{"b0", "b1", "b2"}, func(b string) bool {
		return regexp.MustCompile(`\b` + b + `\b`).MatchString(body)
	})
	if n := len(unused); n > 0 {
		head += "_" + strings.Repeat(", _", n-1) + " = " + strings.Join(unused, ", ") + "\n"
	}
	if strings.Contains(body, "continue groups\n") {
		head = "groups:\n" + head
	}
	return head
}

// arrays declares the variables that each work-item has one of, those of a type together: arrays
// of so many items, or with 0 slices of as many as a group has.
func (p *Printer) arrays(body []*ir.Stmt, items int) {
	var types []string
	names := map[string][]string{}
	ir.Walk(body, func(s *ir.Stmt) {
		if s.Kind != ir.StmtDecl || !s.Var.Array {
			return
		}
		t := p.typ(s.Var.Type)
		if names[t] == nil {
			types = append(types, t)
		}
		names[t] = append(names[t], p.name(s.Var)+"all")
	})
	for _, t := range types {
		list := strings.Join(names[t], ", ")
		if items > 0 {
			p.Line("var %s [%d]%s", list, items, t)
		} else {
			each := strings.Repeat(fmt.Sprintf(", make([]%s, n)", t), len(names[t]))
			p.Line("%s := %s", list, each[2:])
		}
	}
}

// all prints the loops over the work-items of a kernel without barriers: those of several groups
// where it cannot tell them apart.
func (p *Printer) all(body []*ir.Stmt, g *ir.Edges) {
	sizes := [3]string{"n0", "n1", "n2"}
	if p.k.Group[1]*p.k.Group[2] <= 1 && len(ir.LocalsOf(p.k.Body)) == 0 &&
		!ir.UsesItem(body, "Local", 0) && !ir.UsesItem(body, "Group", 0) {
		p.Line("more := support.More(grid, i, hi)\ni += more")
		sizes[0] = "int64(1+more)*n0"
	}
	for d, begin := range []string{"b0", "b1", "b2"} {
		if slices.Contains(g.Strides, d) {
			begin = fmt.Sprintf("a%d", d)
		}
		p.heads[d] = fmt.Sprintf("for i%d := %s; i%[1]d < e%[1]d; i%[1]d++ {", d, begin)
	}
	for _, d := range g.Strides {
		p.Line("for a%d := b%[1]d; a%[1]d < %s; a%[1]d += s%[1]d {", d, p.bare(g.Ends[d][0]))
	}
	ends := make([]string, len(sizes))
	for d, n := range sizes {
		end := fmt.Sprintf("b%d + %s", d, n)
		if slices.Contains(g.Strides, d) {
			end = "a" + end[1:]
		}
		if len(g.Ends[d]) > 0 {
			end = fmt.Sprintf("%s(%s, %s)", p.own("min"), end, p.exprs(g.Ends[d]))
		}
		ends[d] = end
	}
	p.Line("e0, e1, e2 := %s", strings.Join(ends, ", "))
	p.items(body)
	for range g.Strides {
		p.Line("}")
	}
}

// parameter declares what the kernel sees of the arguments from i on, and gives the next.
func (p *Printer) parameter(v *ir.Variable, i int) int {
	t, name := v.Type, p.name(v)
	switch {
	case v.Leaves != nil:
		p.Line("var %s %s", name, p.typ(t))
		for _, l := range v.Leaves {
			p.Line("%s%s = %s", name, l.Gen, ScalarArg(l.Type, "args", i))
			i++
		}
	case t.Kind == ir.KindSlice:
		p.Line("%s := support.Slice[%s](args[%d:])", name, p.typ(t.Elem), i)
		i += 3
	case t.Kind == ir.KindStruct:
		fields := fmt.Sprintf("%s: support.Matrix[%s](args[%d:])", ir.FieldName(t, 0), p.typ(t.Fields[0].Type.Elem), i)
		for f := 1; f < 4; f++ {
			fields += fmt.Sprintf(", %s: args[%d].Int64()", ir.FieldName(t, f), i+1+f)
		}
		p.Line("%s := %s{%s}", name, p.typ(t), fields)
		i += 5
	default:
		p.Line("%s := %s", name, ScalarArg(t, "args", i))
		i++
	}
	if !p.reads[v] {
		p.Line("_ = %s", name)
	}
	return i
}

// ScalarArg is argument i of args as a scalar of type t.
func ScalarArg(t *ir.Type, args string, i int) string {
	switch {
	case t.Kind == ir.KindBool:
		return fmt.Sprintf("%s[%d].Uint32() != 0", args, i)
	case t.Float() || t.Size >= 4:
		return fmt.Sprintf("%s[%d].%s()", args, i, ir.Exported(ir.Basics[t.Kind].GoName))
	}
	return fmt.Sprintf("%s(%s[%d].Uint32())", ir.Basics[t.Kind].GoName, args, i)
}

// items prints a loop over the work-items of a group.
func (p *Printer) items(list []*ir.Stmt) {
	outer := p.Out.String()
	p.Out.Reset()
	p.labels++
	p.next, p.used, p.inLoop = fmt.Sprintf("items%d", p.labels), false, true
	keep := p.keep(list)
	for _, v := range keep {
		if p.unset[v] = overwrites(list, v); !p.unset[v] {
			p.Line("%s := %[1]sall[w]", p.name(v))
		}
	}
	p.anew(list)
	p.stmts(list)
	written := writtenIn(list)
	for _, v := range keep {
		if written[v] {
			p.Line("%sall[w] = %[1]s", p.name(v))
		}
	}
	p.inLoop, p.kept = false, nil
	body := p.Out.String()
	p.Out.Reset()
	p.Out.WriteString(outer)
	if p.k.Barriers {
		p.phase(body)
		return
	}
	p.Line("%s\n%s", p.heads[2], p.heads[1])
	if p.used {
		p.Line("%s:", p.next)
	}
	p.Line("%s", p.heads[0])
	p.Out.WriteString(body)
	p.Line("}\n}\n}")
}

// placeNames is the names that the text of a work-item may have for its place, and what they are:
// number w of its group, and the place there.
var placeNames = []struct {
	used *regexp.Regexp
	text string
}{
	{regexp.MustCompile(`\bl0\b`), "l0 := w % n0"},
	{regexp.MustCompile(`\bl1\b`), "l1 := w / n0 % n1"},
	{regexp.MustCompile(`\bl2\b`), "l2 := w / (n0 * n1)"},
}

// phase prints the loop over the work-items of a group, whose text is body.
func (p *Printer) phase(body string) {
	if directives.ReplaceAllString(body, "") == "" {
		return
	}
	var places []string
	for _, l := range placeNames {
		if l.used.MatchString(body) {
			places = append(places, l.text)
		}
	}
	byNumber := len(places) > 0 || strings.Contains(body, "all[w]")
	if p.used {
		p.Line("%s:", p.next)
	}
	if byNumber {
		p.Line("for w := range n {")
	} else {
		p.Line("for range n {")
	}
	for _, l := range places {
		p.Line("%s", l)
	}
	p.Out.WriteString(body)
	p.Line("}")
}

// directives is lines that say where what follows comes from.
var directives = regexp.MustCompile(`(?m)^//line .*\n`)

// writtenIn is the variables that list gives a value.
func writtenIn(list []*ir.Stmt) map[*ir.Variable]bool {
	m := map[*ir.Variable]bool{}
	ir.Walk(list, func(s *ir.Stmt) {
		m[s.Var], m[ir.Assigned(s)] = true, true
		for _, v := range s.Dst {
			m[v] = true
		}
	})
	return m
}

// keep is the numbers of a work-item that a loop over work-items loads when it begins and stores,
// if it changed them, when it ends, since Go does not keep elements of arrays in registers: none
// where a jump may skip the end.
func (p *Printer) keep(list []*ir.Stmt) (keep []*ir.Variable) {
	p.kept = map[*ir.Variable]bool{}
	leaves := false
	note := func(v *ir.Variable) {
		if v.Array && v.Type.Scalar() && !p.addressed[v] && !p.kept[v] {
			p.kept[v] = true
			keep = append(keep, v)
		}
	}
	ir.Variables(list, note)
	ir.Walk(list, func(s *ir.Stmt) {
		jumps := s.Kind == ir.StmtBreak || s.Kind == ir.StmtContinue
		leaves = leaves || s.Kind == ir.StmtReturn || jumps && s.Target.Lifted
	})
	if leaves {
		p.kept = nil
		return nil
	}
	return keep
}

// overwrites tells whether the first of the statements that has to do with v gives it a new value.
func overwrites(list []*ir.Stmt, v *ir.Variable) bool {
	for _, s := range list {
		if ir.Assigned(s) == v {
			value := s.Y
			if s.Kind == ir.StmtDecl {
				value = s.X
			}
			return value == nil || !value.Mentions(v)
		}
		if mentioned([]*ir.Stmt{s}, v) {
			return false
		}
	}
	return false
}

// anew declares the variables that each loop computes anew.
func (p *Printer) anew(list []*ir.Stmt) {
	for _, s := range p.k.Recomputed(list) {
		p.Line("%s := %s", p.name(s.Var), p.bare(s.X))
	}
}

// group prints statements of a kernel with barriers: loops over work-items, and what is lifted.
func (p *Printer) group(list []*ir.Stmt) { ir.Stretches(list, p.items, p.lifted) }

func (p *Printer) lifted(s *ir.Stmt) {
	switch s.Kind {
	case ir.StmtDecl, ir.StmtAssign:
		p.stmt(s)
	case ir.StmtBlock:
		p.block(s, func() { p.group(s.Body) })
	case ir.StmtIf:
		p.at(s.Pos)
		p.ifStmt(s, p.group)
	case ir.StmtLoop:
		p.liftedLoop(s)
	case ir.StmtBarrier:
		p.meeting(s)
	case ir.StmtReturn:
		p.Line("continue groups")
	case ir.StmtBreak:
		p.Line("break %s", p.label(s.Target))
	case ir.StmtContinue:
		p.Line("break %s_body", p.label(s.Target))
	}
}

// meeting prints what a group agrees on: each work-item adds its part to one variable of the group,
// or the first gives it.
func (p *Printer) meeting(s *ir.Stmt) {
	if s.Var == nil {
		return
	}
	p.at(s.Pos)
	p.Line("var %s %s", p.name(s.Var), p.typ(s.Var.Type))
	if !p.reads[s.Var] {
		p.Line("_ = %s", p.name(s.Var))
	}
	if s.Meeting.Name == "Any" {
		yes := &ir.Expr{Op: ir.OpConst, Type: s.Var.Type, Value: constant.MakeBool(true)}
		set := &ir.Stmt{Kind: ir.StmtAssign, Pos: s.Pos, X: ir.VarExpr(s.Var, s.Pos), Y: yes}
		p.items([]*ir.Stmt{{Kind: ir.StmtIf, Pos: s.Pos, X: s.X, Body: []*ir.Stmt{set}}})
		return
	}
	p.items([]*ir.Stmt{s})
}

// first prints what each work-item computes of which the first gives the group its value: it may be
// an error for another.
func (p *Printer) first(s *ir.Stmt) {
	p.Line("if x := %s; l0|l1|l2 == 0 {\n%s = x\n}", p.expr(s.X), p.name(s.Var))
}

// liftedLoop prints a loop that holds a barrier. A continue leaves a block around its body.
func (p *Printer) liftedLoop(s *ir.Stmt) {
	var breaks, continues bool
	ir.Walk(s.Body, func(x *ir.Stmt) {
		breaks = breaks || x.Kind == ir.StmtBreak && x.Target == s && x.Lifted
		continues = continues || x.Kind == ir.StmtContinue && x.Target == s && x.Lifted
	})
	if breaks {
		p.Line("%s:", p.label(s))
	}
	p.at(s.Pos)
	if s.X != nil {
		p.Line("for %s {", p.bare(s.X))
	} else {
		p.Line("for {")
	}
	if continues {
		p.Line("%s_body:\nswitch {\ndefault:", p.label(s))
	}
	p.group(s.Body)
	if continues {
		p.Line("}")
	}
	p.group(s.Post)
	p.Line("}")
}

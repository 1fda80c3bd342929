package lanes

import (
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ctext"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// A lanePrinter prints a kernel as C for clang: a strip of W work-items at a time. It takes types,
// tables and the helpers of Go's meaning from ctext.Printer.
//
// mask is the C variable of the lanes that run the present statement, "" for all. A jump that some
// lanes take notes them in a mask of its target; the statements behind it run for the others, as
// long as there are any.
type lanePrinter struct {
	*ctext.Printer
	k         *ir.Kernel // without calls
	a         *laneShaper
	width     int
	maskType  string // the integer of masks
	large     bool   // it is printed once, for strips with a mask
	mask      string
	gone      map[ir.Escape]string // masks of the lanes that have jumped
	ends      map[ir.Escape]string // labels of targets, for jumps of all lanes
	aimed     map[string]bool      // labels that are used
	number    int                  // of the last name
	copies    int                  // how often the present statements are printed twice
	long      int                  // the loops around that may have many turns
	strips    []*ir.Variable       // that live across barriers: elements for each strip
	inStrip   bool
	loops     [3]string             // the loops over strips
	tail      bool                  // the last strip of a row may have fewer lanes
	y         string                // the present row
	rows      []int                 // those that are taken at once, counted from y
	row       int                   // the present one of them
	dependent map[*ir.Variable]bool // variables of which each row has its own
	beyond    string                // how far away in memory the present strip goes on later; "" for unknown
	seen      map[string]seenAccess
	version   int // of variables and memory: how often something may have been assigned
}

func (p *lanePrinter) next(prefix string) string {
	p.number++
	return fmt.Sprintf("%s%d", prefix, p.number)
}

func (p *lanePrinter) kernel(body []*ir.Stmt, edge *ir.Edges) {
	at := 0
	for _, v := range p.k.Params {
		at = p.parameter(v, at)
	}
	params := p.Out.String()
	p.Out.Reset()
	p.Indent = 2
	if p.k.Barriers {
		p.loops = [3]string{"l0", "l1", "l2"}
		p.group(body)
	} else {
		p.all(body, edge)
	}
	groups := p.Out.String()
	p.Out.Reset()
	p.Indent = 0
	p.memories()
	p.Line("KERNEL(%s) {", p.k.Entry)
	p.Line("  const u64 *const arg = c->arg;\n%s", strings.TrimSuffix(params, "\n"))
	for d := range 3 {
		n := fmt.Sprintf("c->local[%d]", d)
		if p.k.Group != [3]int{} {
			n = fmt.Sprint(p.k.Group[d])
		}
		p.Line("  const i64 n%d = %s, N%[1]d = c->groups[%[1]d], s%[1]d = n%[1]d * N%[1]d;", d, n)
	}
	p.Line("  %s_group *const shared = c->scratch;", p.k.Entry)
	p.Line("  %s_strip *const strips = (void *)((u8 *)c->scratch + %[1]s_scratch[0]);", p.k.Entry)
	p.Line("  for (i64 group = c->lo; group < c->hi; group++) {")
	p.Line("    const i64 g0 = group %% N0, g1 = group / N0 %% N1, g2 = group / N0 / N1;")
	p.Line("    const i64 b0 = g0 * n0, b1 = g1 * n1, b2 = g2 * n2;")
	p.Out.WriteString(groups)
	p.Line("    next_group:;\n  }\n  return 0;\n}")
}

// memories declares what a group and a strip keep.
func (p *lanePrinter) memories() {
	var group, strip strings.Builder
	for _, v := range ir.LocalsOf(p.k.Body) {
		fmt.Fprintf(&group, " %s %s __attribute__((aligned(64)));", p.Type(v.Type), p.Printer.Name(v))
	}
	if group.Len() > 0 { // strips of which lanes are missing may be loaded and stored as a whole
		text := group.String()
		group.Reset()
		fmt.Fprintf(&group, " u64 before[W];%s u64 behind[W];", text)
	}
	for _, v := range p.strips {
		fmt.Fprintf(&strip, " %s %s;", p.shaped(v), p.Printer.Name(v))
	}
	const head = "__attribute__((visibility(\"default\"))) const i64 "
	p.Line("typedef struct {%s u8 end; } __attribute__((aligned(64))) %s_group;", group.String(), p.k.Entry)
	p.Line("typedef struct {%s u8 end; } __attribute__((aligned(64))) %s_strip;", strip.String(), p.k.Entry)
	p.Line("%s%s_scratch[2] = {sizeof(%[2]s_group), %s}, %[2]s_lanes = W;", head, p.k.Entry,
		map[bool]string{true: "sizeof(" + p.k.Entry + "_strip)", false: "0"}[len(p.strips) > 0])
}

// parameter declares what the kernel sees of the arguments from i on, and gives the next.
func (p *lanePrinter) parameter(v *ir.Variable, i int) int {
	t, name := v.Type, p.Printer.Name(v)
	switch {
	case v.Leaves != nil:
		p.Line("  %s %s;", p.Type(t), name)
		for _, l := range v.Leaves {
			p.Line("  %s%s = %s;", name, l.C, p.scalarArg(l.Type, i))
			i++
		}
		return i
	case t.Kind == ir.KindSlice:
		p.Line("  const %s %s = %s;", p.Type(t), name, p.sliceArg(t, i, fmt.Sprintf("(i64)arg[%d]", i+2)))
		return i + 3
	case t.Kind == ir.KindStruct:
		length := fmt.Sprintf("arg[%d] == 0 || arg[%[2]d] == 0 ? 0 : (i64)((arg[%[1]d] - 1) * arg[%[3]d] + arg[%[2]d])",
			i+2, i+3, i+4)
		p.Line("  const %s %s = {%s, (i64)arg[%d], (i64)arg[%d], (i64)arg[%d]};", p.Type(t), name,
			p.sliceArg(t.Fields[0].Type, i, length), i+2, i+3, i+4)
		return i + 5
	}
	p.Line("  const %s %s = %s;", p.Type(t), name, p.scalarArg(t, i))
	return i + 1
}

func (p *lanePrinter) scalarArg(t *ir.Type, i int) string {
	switch t.Kind {
	case ir.KindFloat32:
		return fmt.Sprintf("as_float((u32)arg[%d])", i)
	case ir.KindFloat64:
		return fmt.Sprintf("as_double(arg[%d])", i)
	}
	return fmt.Sprintf("(%s)arg[%d]", p.Type(t), i)
}

func (p *lanePrinter) sliceArg(t *ir.Type, i int, length string) string {
	return fmt.Sprintf("make_%s((%s *)arg[%d] + arg[%d], %s)", p.Type(t), p.Type(t.Elem), i, i+1, length)
}

// name is a variable where it is used.
func (p *lanePrinter) name(v *ir.Variable) string {
	switch {
	case v.Local:
		return "shared->" + p.Printer.Name(v)
	case p.dependent[v]:
		return fmt.Sprintf("%sr%d", p.Printer.Name(v), p.row)
	}
	return p.Printer.Name(v)
}

// all prints the strips of a kernel without barriers, of several groups in a row at once where it
// cannot tell them apart.
func (p *lanePrinter) all(body []*ir.Stmt, g *ir.Edges) {
	p.loops, p.tail = [3]string{"i0", "i1", "i2"}, true
	n0, begin := "n0", [3]string{"b0", "b1", "b2"}
	if len(ir.LocalsOf(p.k.Body)) == 0 && !ir.UsesItem(body, "Local", 0) && !ir.UsesItem(body, "Group", 0) {
		p.Line("i64 more = N0 - 1 - g0;")
		p.Line("if (more > c->hi - 1 - group) more = c->hi - 1 - group;")
		p.Line("group += more;")
		n0 = "(1 + more) * n0"
	}
	for _, d := range g.Strides {
		p.Line("const i64 end%d = %s;", d, p.expr(g.Ends[d][0]).c)
		begin[d] = fmt.Sprintf("a%d", d)
		p.Line("for (i64 a%d = b%[1]d; a%[1]d < end%[1]d; a%[1]d += s%[1]d) {", d)
	}
	for d, n := range [3]string{n0, "n1", "n2"} {
		p.Line("i64 e%d = %s + %s;", d, begin[d], n)
		for _, e := range g.Ends[d] {
			end := p.next("end")
			p.Line("const i64 %s = %s;", end, p.expr(e).c)
			p.Line("if (e%d > %s) e%[1]d = %[2]s;", d, end)
		}
	}
	p.Line("for (i64 i2 = %s; i2 < e2; i2++) {", begin[2])
	p.inner(func() { p.plane(body, begin, "e") })
	p.Line("}")
	for range g.Strides {
		p.Line("}")
	}
}

// plane prints the rows of strips from some place to some ends: several at once where that pays.
func (p *lanePrinter) plane(list []*ir.Stmt, begin [3]string, end string) {
	x, y := p.loops[0], p.loops[1]
	p.Line("i64 %s = %s;", y, begin[1])
	if dependent := rowsOf(p.k.Recomputed(list), list, p.kept(list), p.a); dependent != nil && !p.large {
		const n = ir.RowsAtOnce
		p.Line("for (; %s + %d <= %s1; %[1]s += %[2]d) {", y, n, end)
		p.inner(func() {
			p.Line("i64 %s = %s;", x, begin[0])
			for r := range n {
				p.rows = append(p.rows, r)
			}
			p.dependent, p.y = dependent, y
			p.wholeStrips(list, end)
			p.rows, p.dependent = nil, nil
			if p.tail {
				p.y = "row"
				p.Line("if (%s < %s0) for (i64 row = %s; row < %[3]s + %[4]d; row++) {", x, end, y, n)
				p.inner(func() { p.rest(list, end) })
				p.Line("}")
			}
		})
		p.Line("}")
	}
	p.y = y
	p.Line("for (; %s < %s1; %[1]s++) {", y, end)
	p.inner(func() {
		p.Line("i64 %s = %s;", x, begin[0])
		if p.large && p.tail {
			p.Line("for (; %s < %s0; %[1]s += W) {", x, end)
			p.inner(func() { p.rest(list, end) })
			p.Line("}")
			return
		}
		p.wholeStrips(list, end)
		if p.tail {
			p.Line("if (%s < %s0) {", x, end)
			p.inner(func() { p.rest(list, end) })
			p.Line("}")
		}
	})
	p.Line("}")
}

// wholeStrips prints the whole strips of a row.
func (p *lanePrinter) wholeStrips(list []*ir.Stmt, end string) {
	x := p.loops[0]
	p.Line("for (; %s + W <= %s0; %[1]s += W) {", x, end)
	p.inner(func() { p.strip(list, "") })
	p.Line("}")
}

// rest prints the strip at the end of a row, which has fewer lanes.
func (p *lanePrinter) rest(list []*ir.Stmt, end string) {
	mask := p.next("m")
	p.Line("const mask %s = below(%s0 - %s);", mask, end, p.loops[0])
	p.strip(list, mask)
}

// strip prints statements for a strip of the lanes of mask.
func (p *lanePrinter) strip(list []*ir.Stmt, mask string) {
	p.mask, p.inStrip = mask, true
	done := ir.Escape{}
	p.ends[done] = p.next("done")
	p.nobody(done)
	keep := p.kept(list)
	p.eachRow(func() { p.begin(keep) })
	for _, s := range p.k.Recomputed(list) { // what each stretch computes anew
		if p.anew(s.Var) == nil {
			p.forRows(p.dependent[s.Var], func() { p.declare(s) })
		}
	}
	p.stmts(list)
	p.label(done)
	p.eachRow(func() {
		for _, v := range keep {
			p.Line("%s->%s = %s;", p.stripName(), p.Printer.Name(v), p.name(v))
		}
	})
	p.mask, p.inStrip = "", false
}

// anew is the condition that v stands for, as of the edge of a matrix, which stretches compute
// where they need it: most need no mask of it. It is nil for others.
func (p *lanePrinter) anew(v *ir.Variable) *ir.Expr {
	if v.Type.Kind != ir.KindBool {
		return nil
	}
	return v.Again
}

// begin loads what the present strip keeps.
func (p *lanePrinter) begin(keep []*ir.Variable) {
	if len(keep) > 0 {
		p.Line("%s_strip *const %s = strips + ((l2 * n1 + %s) * ((n0 + W - 1) / W) + l0 / W);",
			p.k.Entry, p.stripName(), p.y)
	}
	for _, v := range keep {
		p.Line("%s %s = %s->%s;", p.shaped(v), p.name(v), p.stripName(), p.Printer.Name(v))
	}
}

func (p *lanePrinter) stripName() string {
	if p.rows == nil {
		return "strip"
	}
	return fmt.Sprintf("strip%d", p.row)
}

// kept is the variables of other stretches that list uses.
func (p *lanePrinter) kept(list []*ir.Stmt) (keep []*ir.Variable) {
	note := func(v *ir.Variable) {
		if v.Array && !slices.Contains(keep, v) {
			keep = append(keep, v)
			if !slices.Contains(p.strips, v) {
				p.strips = append(p.strips, v)
			}
		}
	}
	ir.Variables(list, note)
	return keep
}

// label ends target e, if a jump led there.
func (p *lanePrinter) label(e ir.Escape) {
	if name := p.ends[e]; p.aimed[name] {
		p.Line("%s:;", name)
	}
}

// group prints statements of a kernel with barriers: loops over strips, and what is lifted.
func (p *lanePrinter) group(list []*ir.Stmt) { ir.Stretches(list, p.items, p.lifted) }

// items prints the loops over the strips of a group. A loop of all work-items in steps of the grid,
// or of the group, goes around them: so they take memory in its order.
func (p *lanePrinter) items(list []*ir.Stmt) {
	list, edge := p.k.CutStretch(list)
	x := p.k.Group[0]
	p.tail = x == 0 || x%p.width != 0 || edge.Wide[0] != nil || len(edge.Ends[0]) > 0
	ahead := p.beyond
	for _, d := range edge.Strides {
		end := p.next("end")
		p.Line("const i64 %s = %s;", end, p.expr(edge.Ends[d][0]).c)
		p.Line("for (i64 a%d = b%[1]d; a%[1]d < %s; a%[1]d += s%[1]d) {", d, end)
		p.Line("const i64 b%d = a%[1]d;", d)
		if d == 0 {
			p.beyond = "4 * s0"
		}
	}
	p.Line("{")
	for d := range 3 {
		p.limit(d, edge)
	}
	p.Line("for (i64 l2 = 0; l2 < e2; l2++) {")
	p.inner(func() { p.plane(list, [3]string{"0", "0", "0"}, "e") })
	p.Line("}")
	p.Line("}")
	for range edge.Strides {
		p.Line("}")
	}
	p.beyond = ahead
}

// limit declares where the work-items of a group end in dimension d.
func (p *lanePrinter) limit(d int, edge *ir.Edges) {
	n := fmt.Sprintf("n%d", d)
	if edge.Wide[d] != nil {
		n = p.expr(edge.Wide[d]).c
	}
	p.Line("i64 e%d = %s;", d, n)
	for _, e := range edge.Ends[d] {
		end := p.next("end")
		p.Line("const i64 %s = %s;", end, p.expr(e).c)
		p.Line("if (%s <= b%d) e%[2]d = 0; else if (%[1]s - b%[2]d < e%[2]d) e%[2]d = %[1]s - b%[2]d;", end, d)
	}
}

func (p *lanePrinter) lifted(s *ir.Stmt) {
	switch s.Kind {
	case ir.StmtDecl:
		p.declare(s)
	case ir.StmtAssign:
		p.assign(s)
	case ir.StmtBlock:
		p.ends[ir.Escape{Target: s}] = p.next("end")
		p.Line("{")
		p.inner(func() { p.group(s.Body) })
		p.Line("}")
		p.label(ir.Escape{Target: s})
	case ir.StmtIf:
		p.Line("if (%s) {", p.scalar(s.X))
		p.inner(func() { p.group(s.Body) })
		p.Line("} else {")
		p.inner(func() { p.group(s.Else) })
		p.Line("}")
	case ir.StmtLoop:
		p.uniformLoop(s, func() { p.group(s.Body) }, func() { p.group(s.Post) })
	case ir.StmtBarrier:
		p.meet(s)
	case ir.StmtReturn:
		p.Line("goto next_group;")
	case ir.StmtBreak, ir.StmtContinue:
		p.leave(ir.Escape{Target: s.Target, Next: s.Kind == ir.StmtContinue})
	}
}

// inner prints what stands in braces, and forgets what was seen there.
func (p *lanePrinter) inner(f func()) {
	seen := maps.Clone(p.seen)
	p.Indent++
	f()
	p.Indent--
	p.seen = seen
}

// leave is a jump of all lanes, or of the group.
func (p *lanePrinter) leave(e ir.Escape) {
	p.aimed[p.ends[e]] = true
	p.Line("goto %s;", p.ends[e])
}

// meet prints what a group agrees on.
func (p *lanePrinter) meet(s *ir.Stmt) {
	if s.Var == nil {
		return
	}
	name := p.name(s.Var)
	p.Line("%s %s = {0};", p.Type(s.Var.Type), name)
	if s.Meeting.Name == "Any" || p.a.shape(s.X) != uniform && s.X.MayFail() { // for another than the first
		p.items([]*ir.Stmt{s})
		return
	}
	p.Line("{ const i64 l0 = 0, l1 = 0, l2 = 0;")
	p.Line("  const mask first = below(1);")
	p.y = "l1"
	p.inner(func() { p.strip([]*ir.Stmt{s}, "first") })
	p.Line("}")
}

// agree is what a strip adds to what the group agrees on.
func (p *lanePrinter) agree(s *ir.Stmt) {
	v, name := p.expr(s.X), p.name(s.Var)
	switch {
	case s.Meeting.Name == "Any" && v.shape == uniform:
		p.Line("%s |= %s != 0;", name, v.c)
	case s.Meeting.Name == "Any":
		p.Line("%s |= any(%s);", name, p.and(v.c))
	case v.shape == varying:
		p.Line("if (l0 == 0 && %s == 0 && l2 == 0) %s = %s;", p.y, name, p.first(v))
	default:
		p.Line("if (l0 == 0 && %s == 0 && l2 == 0) %s = %s;", p.y, name, v.c)
	}
}

func (p *lanePrinter) stmts(list []*ir.Stmt) {
	for i, s := range list {
		if len(p.rows) > 1 {
			p.together(s)
			continue
		}
		p.stmt(s)
		if s.Kind == ir.StmtBreak || s.Kind == ir.StmtContinue || s.Kind == ir.StmtReturn {
			return
		}
		out := p.a.out(s)
		if len(out) == 0 || i == len(list)-1 {
			continue
		}
		if rest := list[i+1:]; p.a.harmless(rest) { // some lanes are left, mostly
			p.masking(p.without(out), func() { p.stmts(rest) })
		} else {
			p.some(p.without(out), rest)
		}
		return
	}
}

// some prints statements for the lanes of mask c, where there are any.
func (p *lanePrinter) some(c string, list []*ir.Stmt) {
	p.masking(c, func() {
		p.Line("if (any(%s)) {", p.mask)
		p.inner(func() { p.stmts(list) })
		p.Line("}")
	})
}

// masking runs f for the lanes of mask c.
func (p *lanePrinter) masking(c string, f func()) {
	old := p.mask
	p.mask = p.next("m")
	p.Line("const mask %s = %s;", p.mask, c)
	f()
	p.mask = old
}

// without is the present lanes but for those that have gone to some targets.
func (p *lanePrinter) without(out []ir.Escape) string {
	var list []string
	for _, e := range out {
		list = append(list, p.gone[e])
	}
	return p.and("~(" + strings.Join(list, " | ") + ")")
}

// and is mask c of the present lanes.
func (p *lanePrinter) and(c string) string {
	if p.mask == "" {
		return c
	}
	return p.mask + " & " + c
}

func (p *lanePrinter) stmt(s *ir.Stmt) {
	switch s.Kind {
	case ir.StmtDecl:
		if s.Var.Again == nil { // or each stretch has begun with it
			p.declare(s)
		}
	case ir.StmtAssign:
		p.assign(s)
	case ir.StmtCall:
		p.expr(s.X)
	case ir.StmtIf:
		p.ifStmt(s)
	case ir.StmtBlock:
		p.block(s)
	case ir.StmtLoop:
		p.loop(s)
	case ir.StmtBreak, ir.StmtContinue, ir.StmtReturn:
		p.jump(s)
	case ir.StmtBarrier:
		p.agree(s)
	}
}

func (p *lanePrinter) jump(s *ir.Stmt) {
	e := p.a.escapeOf(s)
	if !p.a.parts[s] {
		p.leave(e)
		return
	}
	p.Line("%s |= %s;", p.gone[e], p.present())
}

func (p *lanePrinter) block(s *ir.Stmt) {
	e := ir.Escape{Target: s}
	breaks, _ := p.a.own(s)
	old := p.ends[e]
	p.ends[e] = p.next("end")
	p.Line("{")
	p.inner(func() {
		if breaks {
			p.nobody(e)
		}
		p.stmts(s.Body)
	})
	p.Line("}")
	p.label(e)
	p.ends[e] = old
}

// maxLaneCopies is how often the innermost statements may be printed twice: for strips of which all
// lanes run them, which load and store vectors, and for others.
const maxLaneCopies = 2

func (p *lanePrinter) ifStmt(s *ir.Stmt) {
	if p.a.shape(s.X) == uniform {
		p.Line("if (%s) {", p.scalar(s.X))
		p.inner(func() { p.stmts(s.Body) })
		if len(s.Else) > 0 {
			p.Line("} else {")
			p.inner(func() { p.stmts(s.Else) })
		}
		p.Line("}")
		return
	}
	if p.mask != "" || p.copies >= maxLaneCopies || !p.a.edge(s.X) {
		p.masked(s)
		return
	}
	p.Line("if (%s) {", p.whole(s.X))
	p.copies++
	p.inner(func() { p.stmts(s.Body) })
	p.Line("} else {")
	p.inner(func() { p.masked(s) })
	p.Line("}")
	p.copies--
}

// masked prints an if of which some lanes run a part.
func (p *lanePrinter) masked(s *ir.Stmt) {
	cond := p.next("m")
	p.Line("const mask %s = %s;", cond, p.varied(p.expr(s.X)))
	if len(s.Else) == 0 && p.a.light(s.Body) {
		p.masking(p.and(cond), func() { p.stmts(s.Body) })
		return
	}
	p.some(p.and(cond), s.Body)
	if len(s.Else) > 0 {
		p.some(p.and("~"+cond), s.Else)
	}
}

// turns prints loop s: begin may leave it, post follows the body.
func (p *lanePrinter) turns(s *ir.Stmt, begin, body, post func()) {
	next := ir.Escape{Target: s, Next: true}
	p.ends[next] = p.next("next")
	p.version++
	if !counted(s.X) {
		p.long++
		defer func() { p.long-- }()
	}
	p.Line("for (;;) {")
	p.inner(func() {
		begin()
		p.Line("{")
		p.inner(body)
		p.Line("}")
		p.label(next)
		post()
	})
	p.Line("}")
}

// counted tells whether condition x of a loop compares with a constant.
func counted(x *ir.Expr) bool {
	return x != nil && x.Op == ir.OpBinary && (x.X.Op == ir.OpConst || x.Y.Op == ir.OpConst)
}

// uniformLoop prints a loop of which all lanes run the same turns.
func (p *lanePrinter) uniformLoop(s *ir.Stmt, body, post func()) {
	out := ir.Escape{Target: s}
	p.ends[out] = p.next("end")
	p.turns(s, func() { p.unless(s.X) }, body, post)
	p.label(out)
}

// unless leaves a loop where x, which is the same for all lanes, does not hold; nil does.
func (p *lanePrinter) unless(x *ir.Expr) {
	if x != nil {
		p.Line("if (!(%s)) break;", p.scalar(x))
	}
}

func (p *lanePrinter) loop(s *ir.Stmt) {
	breaks, continues := p.a.own(s)
	leaves := p.a.out(s)
	parts := breaks || continues || len(leaves) > 0
	varies := s.X != nil && p.a.shape(s.X) != uniform
	switch {
	case !parts && !varies:
		p.uniformLoop(s, func() { p.stmts(s.Body) }, func() { p.stmts(s.Post) })
		return
	case !parts && !ir.Targeted(s) && p.mask == "" && p.copies < maxLaneCopies && p.a.edge(s.X):
		p.wholeTurns(s)
	}
	p.maskedLoop(s, varies, leaves)
}

// wholeTurns prints the turns of a loop that all lanes run.
func (p *lanePrinter) wholeTurns(s *ir.Stmt) {
	p.copies++
	p.turns(s, func() { p.Line("if (!(%s)) break;", p.whole(s.X)) }, func() { p.stmts(s.Body) },
		func() { p.stmts(s.Post) })
	p.copies--
}

// maskedLoop prints a loop that lanes leave one after the other.
func (p *lanePrinter) maskedLoop(s *ir.Stmt, varies bool, leaves []ir.Escape) {
	out, next := ir.Escape{Target: s}, ir.Escape{Target: s, Next: true}
	breaks, continues := p.a.own(s)
	p.ends[out] = p.next("end")
	old, live := p.mask, p.next("live")
	p.Line("mask %s = %s;", live, p.present())
	if breaks {
		p.nobody(out)
		leaves = append(slices.Clip(leaves), out)
	}
	p.mask = live
	p.turns(s, func() {
		if varies {
			p.Line("%s &= %s;", live, p.varied(p.expr(s.X)))
			p.Line("if (!any(%s)) break;", live)
		} else {
			p.unless(s.X)
		}
		if continues {
			p.nobody(next)
		}
	}, func() { p.stmts(s.Body) }, func() {
		if len(leaves) > 0 {
			p.Line("%s = %s;", live, p.without(leaves))
			p.Line("if (!any(%s)) break;", live)
		}
		p.stmts(s.Post)
	})
	p.mask = old
	p.label(out)
}

// nobody declares the lanes that have gone to e, of which there are none yet.
func (p *lanePrinter) nobody(e ir.Escape) {
	p.gone[e] = p.next("gone")
	p.Line("mask %s = NONE;", p.gone[e])
}

// whole is the condition that all lanes of a strip meet e, an edge.
func (p *lanePrinter) whole(e *ir.Expr) string {
	switch {
	case p.a.shape(e) == uniform:
		return "(" + p.scalar(e) + ") != 0"
	case e.Op == ir.OpVar && p.anew(e.Var) != nil && p.a.edge(p.anew(e.Var)):
		return p.whole(p.anew(e.Var))
	case e.Op == ir.OpVar: // a condition that was computed before
		return "!any(~" + p.expr(e).c + ")"
	case e.Token == token.LAND:
		return p.whole(e.X) + " && " + p.whole(e.Y)
	}
	x, y, tok := e.X, e.Y, e.Token
	if p.a.shape(y) == linear {
		x, y, tok = y, x, mirrored[tok]
	}
	a, b := p.expr(x).c, p.expr(y).c
	switch tok {
	case token.LSS:
		return fmt.Sprintf("%s < %s && (u64)%[2]s - (u64)%[1]s >= W", a, b)
	case token.LEQ:
		return fmt.Sprintf("%s <= %s && (u64)%[2]s - (u64)%[1]s >= W - 1", a, b)
	}
	return fmt.Sprintf("%s %s %s && %[1]s <= LAST(%[4]s)", a, tok, b, x.Type.Name)
}

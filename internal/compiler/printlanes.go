package compiler

import (
	_ "embed"
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// A lanePrinter prints a kernel as C for clang: a strip of W work-items at a time. It takes types,
// tables and the helpers of Go's meaning from cPrinter.
//
// mask is the C variable of the lanes that run the present statement, "" for all. A jump that some
// lanes take notes them in a mask of its target; the statements behind it run for the others, as
// long as there are any.
type lanePrinter struct {
	*cPrinter
	k         *kernel
	sp        *splitter
	a         *laneShaper
	width     int
	large     bool // it is printed once, for strips with a mask
	mask      string
	gone      map[escape]string // masks of the lanes that have jumped
	ends      map[escape]string // labels of targets, for jumps of all lanes
	aimed     map[string]bool   // labels that are used
	number    int               // of the last name
	copies    int               // how often the present statements are printed twice
	strips    []*variable       // that live across barriers: elements for each strip
	inStrip   bool
	loops     [3]string          // the loops over strips
	tail      bool               // the last strip of a row may have fewer lanes
	y         string             // the present row
	rows      []int              // those that are taken at once, counted from y
	row       int                // the present one of them
	dependent map[*variable]bool // variables of which each row has its own
	seen      map[string]seenAccess
	version   int // of variables and memory: how often something may have been assigned
}

//go:embed lanes.h
var lanesHeader string

// nativeText is kernel k as C, behind native.h. The error says why there is none. Go for the cpu
// device must have been printed before.
func nativeText(k *kernel, l *lowerer) (text string, err error) {
	defer func() {
		if v := recover(); v != nil {
			if no, ok := v.(noLanes); ok {
				err = no
				return
			}
			panic(v)
		}
	}()
	own := *l
	own.problems = nil
	f := *k.function
	f.body = inlinedBody(k, l.types)
	n := *k
	n.function = &f
	walk(f.body, func(s *stmt) {
		if s.v != nil {
			s.v.region, s.v.array = 0, false
		}
	})
	own.analyse(&n)
	sp := own.split(&n)
	if len(own.problems) > 0 {
		return "", noLanes{own.problems[0].Text}
	}
	p := &lanePrinter{
		cPrinter: newCPrinter(k, l),
		k:        &n, sp: sp, gone: map[escape]string{}, ends: map[escape]string{}, aimed: map[string]bool{},
		seen: map[string]seenAccess{},
	}
	if size := localSize(&n); size > maxLaneMemory {
		return "", noLanes{fmt.Sprintf("%d bytes of local memory", size)}
	}
	return p.text(), nil
}

// maxLaneMemory is how many bytes of local memory machine code is given at most: each thread keeps
// them.
const maxLaneMemory = 1 << 20

// largeKernel is how many operations make a kernel so large that it is printed once, not for whole
// strips, edges and loops apart: a third of the code, at 0.9 to 1 of the speed. Groups that have
// barriers are left out: their work-items loop over elements, which masks make half as fast.
const largeKernel = 400

func operations(list []*stmt) (n int) {
	walk(list, func(s *stmt) { s.exprs(func(e *expr) { e.walk(func(*expr) { n++ }) }) })
	return n
}

// text is the whole of it.
func (p *lanePrinter) text() string {
	body, edge := p.k.body, &edges{k: p.k, sp: p.sp, values: map[*variable]*expr{}}
	if !p.k.barriers {
		body = edge.cut(body)
	}
	p.a = shapesOf(body)
	p.large = !p.k.barriers && operations(body) > largeKernel
	mask := ""
	p.width, mask = p.lanes(body)
	p.kernel(body, edge)
	return fmt.Sprintf("#define W %d\n#define MASK %s\n%s%s%s", p.width, mask, lanesHeader, p.decls, p.out)
}

// lanes is how many work-items make a strip, and the integer of masks: vectors of 16 float32 are
// two or four registers, which hides latencies; a strip does not reach beyond a group. Functions of
// float32 that compute in float64 have as many lanes: most of their conditions are on float32.
func (p *lanePrinter) lanes(body []*stmt) (n int, mask string) {
	var size [9]int // how many variables have values of so many bytes
	single := false
	for v, s := range p.a.vars {
		if s == varying && v.typ.number() && (v.typ.float() || v.typ.size < 8) {
			size[v.typ.size]++
			single = single || v.typ.kind == kindFloat32
		}
	}
	n, mask = 16, "i32"
	if size[8] > 0 && !single {
		n = 8
		if size[4] < size[8] {
			mask = "i64"
		}
	}
	if p.streams(body) {
		n *= 4
	}
	x := p.k.group[0]
	if x == 0 {
		return n, mask
	}
	if x < 4 {
		refuseLanes("groups of %d work-items in x", x)
	}
	for n > x {
		n /= 2
	}
	for m := n; m >= 4; m /= 2 {
		if x%m == 0 {
			return m, mask
		}
	}
	return n, mask
}

// streams tells whether the kernel's groups are wide, and their work is a loop in steps of the grid
// that adds up what it loads: then more lanes at a time make up for the latency of the sum.
func (p *lanePrinter) streams(body []*stmt) bool {
	wide := p.k.group[0] >= 64
	for _, v := range localsOf(body) {
		wide = wide || v.typ.kind == kindArray && v.typ.len >= 64
	}
	found, simple := false, true
	walk(body, func(s *stmt) {
		if s.kind != stmtLoop || s.x == nil || len(s.post) != 1 || p.a.shape(s.x) == uniform {
			return
		}
		found = found || usesItem(s.post, "GlobalSize", 0)
		walk(s.body, func(s *stmt) {
			simple = simple && (s.kind == stmtDecl || s.kind == stmtAssign || s.kind == stmtBlock)
			s.exprs(func(e *expr) {
				e.walk(func(e *expr) {
					index := e.op == opIndex && p.a.shape(e.y) == varying
					simple = simple && !index && (e.op != opBuiltin || e.name[0] != 'A')
				})
			})
		})
	})
	return wide && found && simple
}

func (p *lanePrinter) next(prefix string) string {
	p.number++
	return fmt.Sprintf("%s%d", prefix, p.number)
}

func (p *lanePrinter) kernel(body []*stmt, edge *edges) {
	at := 0
	for _, v := range p.k.params {
		at = p.parameter(v, at)
	}
	params := p.out.String()
	p.out.Reset()
	p.indent = 2
	if p.k.barriers {
		p.loops = [3]string{"l0", "l1", "l2"}
		p.group(body)
	} else {
		p.all(body, edge)
	}
	groups := p.out.String()
	p.out.Reset()
	p.indent = 0
	p.memories()
	p.line("KERNEL(%s) {", p.k.entry)
	p.line("  const u64 *const arg = c->arg;\n%s", strings.TrimSuffix(params, "\n"))
	for d := range 3 {
		n := fmt.Sprintf("c->local[%d]", d)
		if p.k.group != [3]int{} {
			n = fmt.Sprint(p.k.group[d])
		}
		p.line("  const i64 n%d = %s, N%[1]d = c->groups[%[1]d], s%[1]d = n%[1]d * N%[1]d;", d, n)
	}
	p.line("  %s_group *const shared = c->scratch;", p.k.entry)
	p.line("  %s_strip *const strips = (void *)((u8 *)c->scratch + %[1]s_scratch[0]);", p.k.entry)
	p.line("  for (i64 group = c->lo; group < c->hi; group++) {")
	p.line("    const i64 g0 = group %% N0, g1 = group / N0 %% N1, g2 = group / N0 / N1;")
	p.line("    const i64 b0 = g0 * n0, b1 = g1 * n1, b2 = g2 * n2;")
	p.out.WriteString(groups)
	p.line("    next_group:;\n  }\n  return 0;\n}")
}

// memories declares what a group and a strip keep.
func (p *lanePrinter) memories() {
	var group, strip strings.Builder
	for _, v := range localsOf(p.k.body) {
		fmt.Fprintf(&group, " %s %s __attribute__((aligned(64)));", p.typ(v.typ), p.cPrinter.name(v))
	}
	if group.Len() > 0 { // strips of which lanes are missing may be loaded and stored as a whole
		text := group.String()
		group.Reset()
		fmt.Fprintf(&group, " u64 before[W];%s u64 behind[W];", text)
	}
	for _, v := range p.strips {
		fmt.Fprintf(&strip, " %s %s;", p.shaped(v), p.cPrinter.name(v))
	}
	const head = "__attribute__((visibility(\"default\"))) const i64 "
	p.line("typedef struct {%s u8 end; } __attribute__((aligned(64))) %s_group;", group.String(), p.k.entry)
	p.line("typedef struct {%s u8 end; } __attribute__((aligned(64))) %s_strip;", strip.String(), p.k.entry)
	p.line("%s%s_scratch[2] = {sizeof(%[2]s_group), %s}, %[2]s_lanes = W;", head, p.k.entry,
		map[bool]string{true: "sizeof(" + p.k.entry + "_strip)", false: "0"}[len(p.strips) > 0])
}

// parameter declares what the kernel sees of the arguments from i on, and gives the next.
func (p *lanePrinter) parameter(v *variable, i int) int {
	t, name := v.typ, p.cPrinter.name(v)
	switch {
	case v.leaves != nil:
		p.line("  %s %s;", p.typ(t), name)
		for _, l := range v.leaves {
			p.line("  %s%s = %s;", name, l.c, p.scalarArg(l.typ, i))
			i++
		}
		return i
	case t.kind == kindSlice:
		p.line("  const %s %s = %s;", p.typ(t), name, p.sliceArg(t, i, fmt.Sprintf("(i64)arg[%d]", i+2)))
		return i + 3
	case t.kind == kindStruct:
		length := fmt.Sprintf("arg[%d] == 0 || arg[%[2]d] == 0 ? 0 : (i64)((arg[%[1]d] - 1) * arg[%[3]d] + arg[%[2]d])",
			i+2, i+3, i+4)
		p.line("  const %s %s = {%s, (i64)arg[%d], (i64)arg[%d], (i64)arg[%d]};", p.typ(t), name,
			p.sliceArg(t.fields[0].typ, i, length), i+2, i+3, i+4)
		return i + 5
	}
	p.line("  const %s %s = %s;", p.typ(t), name, p.scalarArg(t, i))
	return i + 1
}

func (p *lanePrinter) scalarArg(t *typ, i int) string {
	switch t.kind {
	case kindFloat32:
		return fmt.Sprintf("as_float((u32)arg[%d])", i)
	case kindFloat64:
		return fmt.Sprintf("as_double(arg[%d])", i)
	}
	return fmt.Sprintf("(%s)arg[%d]", p.typ(t), i)
}

func (p *lanePrinter) sliceArg(t *typ, i int, length string) string {
	return fmt.Sprintf("make_%s((%s *)arg[%d] + arg[%d], %s)", p.typ(t), p.typ(t.elem), i, i+1, length)
}

// name is a variable where it is used.
func (p *lanePrinter) name(v *variable) string {
	switch {
	case v.local:
		return "shared->" + p.cPrinter.name(v)
	case p.dependent[v]:
		return fmt.Sprintf("%sr%d", p.cPrinter.name(v), p.row)
	}
	return p.cPrinter.name(v)
}

// all prints the strips of a kernel without barriers: those of several groups in a row where it
// cannot tell them apart.
func (p *lanePrinter) all(body []*stmt, g *edges) {
	p.loops, p.tail = [3]string{"i0", "i1", "i2"}, true
	n0 := "n0"
	if len(localsOf(p.k.body)) == 0 && !usesItem(body, "Local", 0) && !usesItem(body, "Group", 0) {
		p.line("i64 more = N0 - 1 - g0;")
		p.line("if (more > c->hi - 1 - group) more = c->hi - 1 - group;")
		p.line("group += more;")
		n0 = "(1 + more) * n0"
	}
	begin := [3]string{"b0", "b1", "b2"}
	for _, d := range g.strides {
		p.line("const i64 end%d = %s;", d, p.expr(g.ends[d][0]).c)
		p.line("for (i64 a%d = b%[1]d; a%[1]d < end%[1]d; a%[1]d += s%[1]d) {", d)
		begin[d] = fmt.Sprintf("a%d", d)
	}
	for d, n := range [3]string{n0, "n1", "n2"} {
		p.line("i64 e%d = %s + %s;", d, begin[d], n)
		for _, e := range g.ends[d] {
			end := p.next("end")
			p.line("const i64 %s = %s;", end, p.expr(e).c)
			p.line("if (e%d > %s) e%[1]d = %[2]s;", d, end)
		}
	}
	p.line("for (i64 i2 = %s; i2 < e2; i2++) {", begin[2])
	p.inner(func() { p.plane(body, begin, "e") })
	p.line("}")
	for range g.strides {
		p.line("}")
	}
}

// plane prints the rows of strips from some place to some ends: several at once where that pays.
func (p *lanePrinter) plane(list []*stmt, begin [3]string, end string) {
	x, y := p.loops[0], p.loops[1]
	p.line("i64 %s = %s;", y, begin[1])
	if dependent := rowsOf(recomputed(p.k.body, list, p.sp), list, p.kept(list), p.a); dependent != nil && !p.large {
		p.line("for (; %s + %d <= %s1; %[1]s += %[2]d) {", y, laneRows, end)
		p.inner(func() {
			p.line("i64 %s = %s;", x, begin[0])
			for r := range laneRows {
				p.rows = append(p.rows, r)
			}
			p.dependent, p.y = dependent, y
			p.wholeStrips(list, end)
			p.rows, p.dependent = nil, nil
			if p.tail {
				p.y = "row"
				p.line("if (%s < %s0) for (i64 row = %s; row < %[3]s + %[4]d; row++) {", x, end, y, laneRows)
				p.inner(func() { p.rest(list, end) })
				p.line("}")
			}
		})
		p.line("}")
	}
	p.y = y
	p.line("for (; %s < %s1; %[1]s++) {", y, end)
	p.inner(func() {
		p.line("i64 %s = %s;", x, begin[0])
		if p.large && p.tail {
			p.line("for (; %s < %s0; %[1]s += W) {", x, end)
			p.inner(func() { p.rest(list, end) })
			p.line("}")
			return
		}
		p.wholeStrips(list, end)
		if p.tail {
			p.line("if (%s < %s0) {", x, end)
			p.inner(func() { p.rest(list, end) })
			p.line("}")
		}
	})
	p.line("}")
}

// wholeStrips prints the whole strips of a row.
func (p *lanePrinter) wholeStrips(list []*stmt, end string) {
	x := p.loops[0]
	p.line("for (; %s + W <= %s0; %[1]s += W) {", x, end)
	p.inner(func() { p.strip(list, "") })
	p.line("}")
}

// rest prints the strip at the end of a row, which has fewer lanes.
func (p *lanePrinter) rest(list []*stmt, end string) {
	mask := p.next("m")
	p.line("const mask %s = below(%s0 - %s);", mask, end, p.loops[0])
	p.strip(list, mask)
}

// strip prints statements for a strip of the lanes of mask.
func (p *lanePrinter) strip(list []*stmt, mask string) {
	p.mask, p.inStrip = mask, true
	done := escape{}
	p.ends[done] = p.next("done")
	p.nobody(done)
	keep := p.kept(list)
	p.eachRow(func() { p.begin(keep) })
	for _, s := range recomputed(p.k.body, list, p.sp) { // what each stretch computes anew
		p.forRows(p.dependent[s.v], func() { p.declare(s) })
	}
	p.stmts(list)
	p.label(done)
	p.eachRow(func() {
		for _, v := range keep {
			p.line("%s->%s = %s;", p.stripName(), p.cPrinter.name(v), p.name(v))
		}
	})
	p.mask, p.inStrip = "", false
}

// begin loads what the present strip keeps.
func (p *lanePrinter) begin(keep []*variable) {
	if len(keep) > 0 {
		p.line("%s_strip *const %s = strips + ((l2 * n1 + %s) * ((n0 + W - 1) / W) + l0 / W);",
			p.k.entry, p.stripName(), p.y)
	}
	for _, v := range keep {
		p.line("%s %s = %s->%s;", p.shaped(v), p.name(v), p.stripName(), p.cPrinter.name(v))
	}
}

func (p *lanePrinter) stripName() string {
	if p.rows == nil {
		return "strip"
	}
	return fmt.Sprintf("strip%d", p.row)
}

// kept is the variables of other stretches that list uses.
func (p *lanePrinter) kept(list []*stmt) (keep []*variable) {
	note := func(v *variable) {
		if v.array && !slices.Contains(keep, v) {
			keep = append(keep, v)
			if !slices.Contains(p.strips, v) {
				p.strips = append(p.strips, v)
			}
		}
	}
	variables(list, note)
	return keep
}

// label ends target e, if a jump led there.
func (p *lanePrinter) label(e escape) {
	if name := p.ends[e]; p.aimed[name] {
		p.line("%s:;", name)
	}
}

// group prints statements of a kernel with barriers: loops over strips, and what is lifted.
func (p *lanePrinter) group(list []*stmt) { stretches(list, p.items, p.lifted) }

// items prints the loops over the strips of a group.
func (p *lanePrinter) items(list []*stmt) {
	x := p.k.group[0]
	p.tail = x == 0 || x%p.width != 0
	p.line("for (i64 l2 = 0; l2 < n2; l2++) {")
	p.inner(func() { p.plane(list, [3]string{"0", "0", "0"}, "n") })
	p.line("}")
}

func (p *lanePrinter) lifted(s *stmt) {
	switch s.kind {
	case stmtDecl:
		p.declare(s)
	case stmtAssign:
		p.assign(s)
	case stmtBlock:
		p.ends[escape{s, false}] = p.next("end")
		p.line("{")
		p.inner(func() { p.group(s.body) })
		p.line("}")
		p.label(escape{s, false})
	case stmtIf:
		p.line("if (%s) {", p.scalar(s.x))
		p.inner(func() { p.group(s.body) })
		p.line("} else {")
		p.inner(func() { p.group(s.els) })
		p.line("}")
	case stmtLoop:
		p.uniformLoop(s, func() { p.group(s.body) }, func() { p.group(s.post) })
	case stmtBarrier:
		p.meet(s)
	case stmtReturn:
		p.line("goto next_group;")
	case stmtBreak, stmtContinue:
		p.leave(escape{s.target, s.kind == stmtContinue})
	}
}

// inner prints what stands in braces, and forgets what was seen there.
func (p *lanePrinter) inner(f func()) {
	seen := maps.Clone(p.seen)
	p.indent++
	f()
	p.indent--
	p.seen = seen
}

// leave is a jump of all lanes, or of the group.
func (p *lanePrinter) leave(e escape) {
	p.aimed[p.ends[e]] = true
	p.line("goto %s;", p.ends[e])
}

// meet prints what a group agrees on.
func (p *lanePrinter) meet(s *stmt) {
	if s.v == nil {
		return
	}
	name := p.name(s.v)
	p.line("%s %s = {0};", p.typ(s.v.typ), name)
	set := &stmt{kind: stmtBarrier, pos: s.pos, v: s.v, x: s.x, meeting: s.meeting}
	if s.meeting.name == "Any" {
		p.items([]*stmt{set})
		return
	}
	p.line("{ const i64 l0 = 0, l1 = 0, l2 = 0;")
	p.line("  const mask first = below(1);")
	p.y = "l1"
	p.inner(func() { p.strip([]*stmt{set}, "first") })
	p.line("}")
}

// agree is what a strip adds to what the group agrees on.
func (p *lanePrinter) agree(s *stmt) {
	v, name := p.expr(s.x), p.name(s.v)
	switch {
	case s.meeting.name == "Any" && v.shape == uniform:
		p.line("%s |= %s != 0;", name, v.c)
	case s.meeting.name == "Any":
		p.line("%s |= any(%s);", name, p.and(v.c))
	case v.shape == varying:
		p.line("%s = %s;", name, p.first(v))
	default:
		p.line("%s = %s;", name, v.c)
	}
}

func (p *lanePrinter) stmts(list []*stmt) {
	for i, s := range list {
		if len(p.rows) > 1 {
			p.together(s)
			continue
		}
		p.stmt(s)
		if s.kind == stmtBreak || s.kind == stmtContinue || s.kind == stmtReturn {
			return
		}
		out := p.a.out(s)
		if len(out) == 0 || i == len(list)-1 {
			continue
		}
		p.some(p.without(out), list[i+1:])
		return
	}
}

// some prints statements for the lanes of mask c, where there are any.
func (p *lanePrinter) some(c string, list []*stmt) {
	old := p.mask
	p.mask = p.next("m")
	p.line("const mask %s = %s;", p.mask, c)
	p.line("if (any(%s)) {", p.mask)
	p.inner(func() { p.stmts(list) })
	p.line("}")
	p.mask = old
}

// without is the present lanes but for those that have gone to some targets.
func (p *lanePrinter) without(out []escape) string {
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

func (p *lanePrinter) stmt(s *stmt) {
	switch s.kind {
	case stmtDecl:
		if p.sp.again[s.v] == nil { // or each stretch has begun with it
			p.declare(s)
		}
	case stmtAssign:
		p.assign(s)
	case stmtCall:
		p.expr(s.x)
	case stmtIf:
		p.ifStmt(s)
	case stmtBlock:
		p.block(s)
	case stmtLoop:
		p.loop(s)
	case stmtBreak, stmtContinue, stmtReturn:
		p.jump(s)
	case stmtBarrier:
		p.agree(s)
	}
}

func (p *lanePrinter) jump(s *stmt) {
	e := p.a.escapeOf(s)
	if !p.a.parts[s] {
		p.leave(e)
		return
	}
	p.line("%s |= %s;", p.gone[e], p.present())
}

func (p *lanePrinter) block(s *stmt) {
	e := escape{s, false}
	breaks, _ := p.a.own(s)
	old := p.ends[e]
	p.ends[e] = p.next("end")
	p.line("{")
	p.inner(func() {
		if breaks {
			p.nobody(e)
		}
		p.stmts(s.body)
	})
	p.line("}")
	p.label(e)
	p.ends[e] = old
}

// maxLaneCopies is how often the innermost statements may be printed twice: for strips of which all
// lanes run them, which load and store vectors, and for others.
const maxLaneCopies = 2

func (p *lanePrinter) ifStmt(s *stmt) {
	if p.a.shape(s.x) == uniform {
		p.line("if (%s) {", p.scalar(s.x))
		p.inner(func() { p.stmts(s.body) })
		if len(s.els) > 0 {
			p.line("} else {")
			p.inner(func() { p.stmts(s.els) })
		}
		p.line("}")
		return
	}
	if p.mask != "" || p.copies >= maxLaneCopies || !p.a.edge(s.x) {
		p.masked(s)
		return
	}
	p.line("if (%s) {", p.whole(s.x))
	p.copies++
	p.inner(func() { p.stmts(s.body) })
	p.line("} else {")
	p.inner(func() { p.masked(s) })
	p.line("}")
	p.copies--
}

// masked prints an if of which some lanes run a part.
func (p *lanePrinter) masked(s *stmt) {
	cond := p.next("m")
	p.line("const mask %s = %s;", cond, p.varied(p.expr(s.x)))
	p.some(p.and(cond), s.body)
	if len(s.els) > 0 {
		p.some(p.and("~"+cond), s.els)
	}
}

// turns prints loop s: begin may leave it, post follows the body.
func (p *lanePrinter) turns(s *stmt, begin, body, post func()) {
	next := escape{s, true}
	p.ends[next] = p.next("next")
	p.version++
	p.line("for (;;) {")
	p.inner(func() {
		begin()
		p.line("{")
		p.inner(body)
		p.line("}")
		p.label(next)
		post()
	})
	p.line("}")
}

// uniformLoop prints a loop of which all lanes run the same turns.
func (p *lanePrinter) uniformLoop(s *stmt, body, post func()) {
	out := escape{s, false}
	p.ends[out] = p.next("end")
	p.turns(s, func() { p.unless(s.x) }, body, post)
	p.label(out)
}

// unless leaves a loop where x, which is the same for all lanes, does not hold; nil does.
func (p *lanePrinter) unless(x *expr) {
	if x != nil {
		p.line("if (!(%s)) break;", p.scalar(x))
	}
}

func (p *lanePrinter) loop(s *stmt) {
	breaks, continues := p.a.own(s)
	leaves := p.a.out(s)
	parts := breaks || continues || len(leaves) > 0
	varies := s.x != nil && p.a.shape(s.x) != uniform
	switch {
	case !parts && !varies:
		p.uniformLoop(s, func() { p.stmts(s.body) }, func() { p.stmts(s.post) })
		return
	case !parts && !targeted(s) && p.mask == "" && p.copies < maxLaneCopies && p.a.edge(s.x):
		p.wholeTurns(s)
	}
	p.maskedLoop(s, varies, leaves)
}

// wholeTurns prints the turns of a loop that all lanes run.
func (p *lanePrinter) wholeTurns(s *stmt) {
	p.copies++
	p.turns(s, func() { p.line("if (!(%s)) break;", p.whole(s.x)) }, func() { p.stmts(s.body) },
		func() { p.stmts(s.post) })
	p.copies--
}

// maskedLoop prints a loop that lanes leave one after the other.
func (p *lanePrinter) maskedLoop(s *stmt, varies bool, leaves []escape) {
	out, next := escape{s, false}, escape{s, true}
	breaks, continues := p.a.own(s)
	p.ends[out] = p.next("end")
	old, live := p.mask, p.next("live")
	p.line("mask %s = %s;", live, p.present())
	if breaks {
		p.nobody(out)
		leaves = append(slices.Clip(leaves), out)
	}
	p.mask = live
	p.turns(s, func() {
		if varies {
			p.line("%s &= %s;", live, p.varied(p.expr(s.x)))
			p.line("if (!any(%s)) break;", live)
		} else {
			p.unless(s.x)
		}
		if continues {
			p.nobody(next)
		}
	}, func() { p.stmts(s.body) }, func() {
		if len(leaves) > 0 {
			p.line("%s = %s;", live, p.without(leaves))
			p.line("if (!any(%s)) break;", live)
		}
		p.stmts(s.post)
	})
	p.mask = old
	p.label(out)
}

// nobody declares the lanes that have gone to e, of which there are none yet.
func (p *lanePrinter) nobody(e escape) {
	p.gone[e] = p.next("gone")
	p.line("mask %s = NONE;", p.gone[e])
}

// whole is the condition that all lanes of a strip meet e, an edge.
func (p *lanePrinter) whole(e *expr) string {
	switch {
	case p.a.shape(e) == uniform:
		return "(" + p.scalar(e) + ") != 0"
	case e.op == opVar: // a condition that was computed before, as of the edge of a matrix
		return "!any(~" + p.expr(e).c + ")"
	case e.tok == token.LAND:
		return p.whole(e.x) + " && " + p.whole(e.y)
	}
	x, y, tok := e.x, e.y, e.tok
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
	return fmt.Sprintf("%s %s %s && %[1]s <= LAST(%[4]s)", a, tok, b, x.typ.name)
}

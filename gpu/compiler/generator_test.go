package compiler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A generator writes random programs within the subset, up to three to a kernel, each a function
// with its barriers, and the calls that compare the kernels. They index
// within bounds, divide integers by nothing that is 0, convert no float that an integer does not
// have, have their barriers where all work-items come, and leave to chance no order of memory
// accesses, so that plain Go defines every bit; bits of NaN are left out of what they write.
type generator struct {
	r      *rand.Rand
	b      strings.Builder // the package
	checks strings.Builder // the calls of main
	indent int
	depth  int      // of statements
	vars   []genVar // that are in scope
	outer  int      // those of them that were declared outside of the innermost block
	names  int
	jumps  []genJump
	funcs  []genFunc
	kernel *genKernel // nil in a function
	rmath  bool       // calls functions of rmath/f32
	typeT  bool       // in a generic function or kernel
}

type genVar struct {
	name, typ string
	fixed     bool // is not assigned to
}

// A genJump is a loop or a switch that a jump may lead to.
type genJump struct {
	label string // "": none
	loop  bool
}

type genFunc struct {
	name    string
	params  []string
	result  string
	generic bool
}

// A genKernel is the kernel at hand.
type genKernel struct {
	shared  []genVar // in local memory: an element is of typ
	size    int      // of a group
	group   string   // the number of the group
	reads   []genVar // what only this work-item writes, or none
	atomics [2]string
}

var (
	genInts = []string{
		"int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "flags",
	}
	genFloats  = []string{"float32", "float64", "angle"}
	genNumbers = slices.Concat(genInts, genFloats)
	genScalars = append(genNumbers[:len(genNumbers):len(genNumbers)], "bool")
	genStructs = []string{"pair", "vec", "outer"}
)

// genFields is the parts of structs.
var genFields = map[string][][2]string{
	"vec":  {{"x", "float32"}, {"y", "float32"}},
	"pair": {{"a", "int16"}, {"b", "float64"}, {"c[1]", "uint8"}, {"c[2]", "uint8"}, {"d", "bool"}, {"e", "float32"}},
	"outer": {
		{"p", "pair"},
		{"v", "[2]vec"},
		{"k", "int8"},
		{"m", "[4]uint16"},
		{"t", "angle"},
		{"x", "float32"},
		{"vec", "vec"},
	},
}

func isFloat(t string) bool  { return slices.Contains(genFloats, t) }
func isInt(t string) bool    { return slices.Contains(genInts, t) }
func isScalar(t string) bool { return t == "T" || slices.Contains(genScalars, t) }

const genHead = `package main

import (
	"math"
	"math/bits"

	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/rmath/f32"
)

type flags uint16

type angle float32

func (a angle) half() angle { return a / 2 }

type vec struct{ x, y float32 }

func (a vec) plus(b vec) vec { return vec{a.x + b.x, a.y + b.y} }

type pair struct {
	a int16
	b float64
	c [3]uint8
	d bool
	e float32
}

func (p pair) sum() float64 { return float64(p.a) + float64(p.b*float64(p.c[1])) }

func (p *pair) bump(n int16) { p.a += n; p.c[2]++; p.d = !p.d }

func (p *pair) take(n int16) int32 { p.a += n; p.c[1]++; return int32(p.a) ^ int32(p.c[2]) }

func (p pair) mix() int32 { return int32(p.a)*3 + int32(p.c[1]) }

type outer struct {
	vec
	p pair
	v [2]vec
	k int8
	m [4]uint16
	t angle
}

func (o outer) sum() float64 { return o.p.sum() + float64(o.plus(o.v[1]).x) + float64(o.m[2]) }

type box[T gpu.Number] struct{ lo, hi T }

func (b box[T]) width() T { return b.hi - b.lo }

func (b *box[T]) grow(x T) { b.hi += x; b.lo = min(b.lo, x) }

func mk[T gpu.Number](x, y T) box[T] { return box[T]{lo: min(x, y), hi: max(x, y)} }

func divmod[T gpu.Integer](x, y T) (q, r T) {
	if y == 0 {
		return x, 0
	}
	return x / y, x % y
}

func spread[T gpu.Number](a [4]T) (lo, hi T, at int) {
	lo, hi = a[0], a[0]
	for i, v := range a {
		if v > hi {
			hi, at = v, i
		}
		lo = min(lo, v)
	}
	return
}

func bitsOf(x float64) uint64 {
	if x != x {
		return 1
	}
	return math.Float64bits(x)
}

func bits32(x float32) uint32 {
	if x != x {
		return 1
	}
	return math.Float32bits(x)
}

func toInt(x float64) int {
	if x != x {
		return 0
	}
	return int(max(min(x, 1e9), -1e9))
}

func toUint(x float32) uint64 {
	if x != x {
		return 0
	}
	return uint64(max(min(x, 1.8e19), 0))
}

func b2i(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func store(p *int32, v int32) int32 { old := *p; *p = v; return old }

func tick(p *int32) int32 { *p = *p*3 + 1; return *p >> 1 }

func look(x int32) int32 { return x*x ^ 5 }

func blend(x, y, z int32) int32 { return x + 2*y - 3*z }

func two(x int32) (a, b int32) { return x + 1, ^x }

func scan(x []float32, n int) (s float32) {
	for i, v := range x {
		if i >= n {
			break
		}
		s += v
	}
	return
}

const (
	red = iota
	green
	blue
)

const third angle = 1.0 / 3

var primes = [8]uint32{2, 3, 5, 7, 11, 13, 17, 1<<32 - 5}

var corners = [4]pair{{a: -3, b: 0.1}, {c: [3]uint8{1, 2, 3}, d: true}, {}, {e: 1e-40}}

var steps = [2][4]int16{{1, -2, 3}, {3: -32768}}

var _ = bits.OnesCount32

var _ = f32.Exp

`

func (g *generator) pick(list ...string) string { return list[g.r.IntN(len(list))] }

// chance is true once in n times.
func (g *generator) chance(n int) bool { return g.r.IntN(n) == 0 }

func (g *generator) line(format string, args ...any) {
	g.b.WriteString(strings.Repeat("\t", g.indent))
	fmt.Fprintf(&g.b, format+"\n", args...)
}

func (g *generator) name(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

// declared adds a variable; it need not be used.
func (g *generator) declared(name, typ string) {
	g.line("_ = %s", name)
	g.vars = append(g.vars, genVar{name, typ, false})
}

// file is a package of n programs.
func (g *generator) file(n int) string {
	g.rmath = g.chance(8)
	g.b.WriteString(genHead)
	for i := range 6 {
		g.function(i > 3)
	}
	for i := 0; n > 0; i++ {
		parts := min(n, 1+g.r.IntN(3))
		if g.chance(6) {
			g.genericKernel(i, parts)
		} else {
			g.plainKernel(i, parts)
		}
		n -= parts
	}
	return g.b.String()
}

// valueType is a type of parameters, results and variables.
func (g *generator) valueType() string {
	switch {
	case g.typeT && g.chance(3):
		return "T"
	case g.chance(8):
		return g.pick(genStructs...)
	case g.chance(8):
		return "[4]" + g.pick(genScalars...)
	}
	return g.pick(genScalars...)
}

func (g *generator) function(generic bool) {
	f := genFunc{name: g.name("fn"), generic: generic}
	g.vars, g.kernel, g.typeT = nil, nil, generic
	var params []string
	add := func(t string) {
		v := genVar{name: g.name("a"), typ: t}
		f.params = append(f.params, t)
		params = append(params, v.name+" "+t)
		g.vars = append(g.vars, v)
	}
	head := ""
	if generic {
		head, f.result = "[T gpu.Number]", "T"
		add("T")
	} else {
		f.result = g.valueType()
	}
	for range 1 + g.r.IntN(3) {
		add(g.valueType())
	}
	g.line("func %s%s(%s) %s {", f.name, head, strings.Join(params, ", "), f.result)
	g.indent++
	g.stmts(2)
	if g.chance(3) {
		g.line("if %s {", g.expr("bool", 1))
		g.line("\treturn %s", g.value(f.result, 1))
		g.line("}")
	}
	g.line("return %s", g.value(f.result, 2))
	g.indent--
	g.line("}\n")
	g.funcs, g.typeT = append(g.funcs, f), false
}

// genGrids are 96 work-items each: the grid, the work-item, its place in the group, the group, the
// group's size, and the size as the directive has it.
var genGrids = []struct {
	grid, id, local, group string
	size                   int
	directive              string
}{
	{"backend.Grid1(3, 32)", "it.Global(0)", "it.Local(0)", "it.Group(0)", 32, "32"},
	{"backend.Grid1(12, 8)", "it.Global(0)", "it.Local(0)", "it.Group(0)", 8, "8"},
	{"backend.Grid2(3, 1, 8, 4)", "it.Group(0)*32+l", "it.Local(1)*8+it.Local(0)", "it.Group(0)", 32, "8 4"},
	{
		"backend.Grid3(1, 3, 1, 4, 4, 2)", "it.Group(1)*32+l", "(it.Local(2)*4+it.Local(1))*4+it.Local(0)",
		"it.Group(1)", 32, "4 4 2",
	},
}

// programs writes a kernel's programs, each a function, and the kernel, which calls them one after
// the other. scope is what they have; it gives the kernel's grid.
func (g *generator) programs(i, n int, types, params, args string, scope, reads []genVar) string {
	grid := genGrids[g.r.IntN(len(genGrids))]
	k := &genKernel{size: grid.size, group: grid.group, reads: reads}
	for j := range k.atomics {
		k.atomics[j] = g.pick("Add", "Min", "Max", "And", "Or", "Xor")
	}
	head := ""
	if types != "" {
		head = "[T gpu.Number]"
	}
	g.kernel, g.typeT = k, types != ""
	for j := range n {
		g.line("func k%dp%d%s(it gpu.Item, id, l int, %s) {", i, j, head, params)
		g.vars = append(scope[:len(scope):len(scope)], genVar{"id", "int", true}, genVar{"l", "int", true})
		k.shared = nil
		g.indent++
		g.program()
		g.indent--
		g.line("}\n")
	}
	g.kernel, g.typeT = nil, false
	g.line("//tandem:kernel%s", types)
	if g.chance(3) {
		g.line("//tandem:group %s", grid.directive)
	}
	g.line("func k%d%s(it gpu.Item, %s) {", i, head, params)
	g.line("\tl := %s", grid.local)
	g.line("\tid := %s", grid.id)
	for j := range n {
		g.line("\tk%dp%d(it, id, l, %s)", i, j, strings.Replace(args, "out", fmt.Sprintf("out[%d:]", j*768), 1))
	}
	g.line("}\n")
	return grid.grid
}

// program is local memory, phases, and what is written at the end.
func (g *generator) program() {
	k := g.kernel
	for j := range g.r.IntN(3) {
		v := genVar{fmt.Sprintf("sh%d", j), g.pick(append(genScalars, "pair", "vec")...), false}
		if g.typeT && g.chance(2) {
			v.typ = "T"
		}
		if v.name == "sh1" { // of two dimensions
			g.line("sh1 := gpu.Local[[%d][4]%s](it)", k.size/4, v.typ)
		} else {
			g.line("sh0 := gpu.Local[[%d]%s](it)", k.size, v.typ)
		}
		k.shared = append(k.shared, v)
	}
	counts := len(k.shared) > 0 && g.chance(3)
	if counts {
		g.line("counts := gpu.Local[[4]%s](it)", g.pick("uint32", "int32", "uint64", "int64"))
		g.line("if l < 4 {")
		g.line("\tcounts[l] = 77")
		g.line("}")
	}
	for _, v := range k.shared {
		g.line("%s = %s", g.at(v, "l"), g.value(v.typ, 2))
	}
	if len(k.shared) > 0 {
		g.line("it.Barrier()")
	}
	g.phase(counts)
	for n := 1; n < 6 && g.chance(4); n++ {
		g.phase(counts)
	}
	if g.chance(4) {
		g.line("if %s {", g.expr("bool", 1))
		g.line("\tout[id*8] = %s", g.digest())
		g.line("\treturn")
		g.line("}")
	}
	for j := range 2 + g.r.IntN(4) {
		g.line("out[id*8+%d] = %s", j, g.digest())
	}
}

func (g *generator) plainKernel(i, n int) {
	grid := g.programs(i, n, "", "n int, f float64, w outer, q [4]float32, out []uint64, xi []int32, x []float32, "+
		"y []float64, u []uint8, s []pair, ai []int32, au []uint64, m gpu.Matrix[float32], b gpu.Matrix[float64]",
		"n, f, w, q, out, xi, x, y, u, s, ai, au, m, b",
		[]genVar{{"n", "int", true}, {"f", "float64", true}, {"w", "outer", false}, {"q", "[4]float32", false}},
		[]genVar{
			{"xi[id]", "int32", false},
			{"u[id]", "uint8", false},
			{"s[id]", "pair", false},
			{"x[id]", "float32", true},
			{"y[(id+1)%96]", "float64", true},
			{"m.At(id/8, id%8)", "float32", true},
			{"b.At(id&7, l&3)", "float64", true},
			{"it.GlobalSize(0)", "int", true},
			{"it.LocalSize(1)", "int", true},
			{"it.Groups(0)", "int", true},
			{"len(x)", "int", true},
			{"scan(x, n)", "float32", true},
			{"scan(x[id:], 3)", "float32", true},
			{"s[id].sum()", "float64", true},
			{"w.plus(w.v[0])", "vec", true},
		})
	fmt.Fprintf(&g.checks, "\tcheck(\"k%d\", %s, %d, func(it gpu.Item, d *data) {\n"+
		"\t\tk%[1]d(it, d.n, d.f, d.w, d.q, d.out, d.i, d.x, d.y, d.u, d.s, d.ai, d.au, d.m, d.b)\n\t},\n"+
		"\t\tfunc(s *linalg.Session, grid backend.Grid, d *data) error {\n"+
		"\t\t\treturn launchK%[1]d(s, grid, d.n, d.f, d.w, d.q, d.out, d.i, d.x, d.y, d.u, d.s, d.ai, d.au, "+
		"host(d.m), host(d.b))\n\t\t})\n", i, grid, n)
}

func (g *generator) genericKernel(i, n int) {
	var types []string
	for len(types) < 2 {
		if t := g.pick(genNumbers...); !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	grid := g.programs(i, n, " "+strings.Join(types, " "), "n int, f T, out []uint64, xt, yt []T", "n, f, out, xt, yt",
		[]genVar{{"n", "int", true}, {"f", "T", true}},
		[]genVar{
			{"xt[id]", "T", false}, {"yt[(id+5)%96]", "T", true}, {"yt[id]", "T", true}, {"len(yt)", "int", true},
		})
	for _, t := range types {
		fmt.Fprintf(&g.checks, "\tcheckGeneric(\"k%d %s\", %s, %d, k%[1]d[%[2]s],\n"+
			"\t\tfunc(s *linalg.Session, grid backend.Grid, n int, f %[2]s, out []uint64, x, y []%[2]s) error {\n"+
			"\t\t\treturn launchK%[1]d[%[2]s](s, grid, n, f, out, x, y)\n\t\t})\n", i, t, grid, n)
	}
}

// at is element k of local memory.
func (g *generator) at(v genVar, k string) string {
	if v.name == "sh1" {
		return fmt.Sprintf("sh1[(%s)>>2][(%s)&3]", k, k)
	}
	return fmt.Sprintf("%s[%s]", v.name, k)
}

// phase is some statements, or a loop of the whole group, and barriers with changed local memory.
func (g *generator) phase(counts bool) {
	k := g.kernel
	switch {
	case len(k.shared) == 0 || g.chance(3):
		g.stmts(2)
		return
	case counts && g.chance(2):
		g.line("gpu.Atomic%s(&counts[%s&3], %d)", g.pick("Add", "Min", "Max", "And", "Or", "Xor"), g.expr("uint8", 1),
			g.r.IntN(200))
		g.line("it.Barrier()")
		v := g.name("v")
		g.line("%s := uint64(counts[(l+%d)&3])", v, g.r.IntN(4))
		g.declared(v, "uint64")
		g.line("it.Barrier()")
		return
	case g.chance(4):
		g.meeting()
		return
	case g.chance(12):
		g.line("if %s == %d && n > %d { // all of the group", k.group, g.r.IntN(3), g.r.IntN(14))
		g.line("\treturn")
		g.line("}")
	}
	outer := len(g.vars)
	closing := "}"
	switch v := g.name("r"); g.r.IntN(7) {
	case 5:
		t := g.pick("int", "uint8", "int32")
		g.line("for %s := range gpu.Uniform(it, %s&3) {", v, g.expr(t, 1))
		g.vars = append(g.vars, genVar{v, t, true})
	case 6:
		w := g.name("r")
		g.line("%s := 0", w)
		g.line("for %s < 3 && it.Any(%s) {", w, g.expr("bool", 1))
		g.line("\t%s++", w)
		g.vars = append(g.vars, genVar{w, "int", true})
	case 0:
		g.line("for %s := range n - %d {", v, g.r.IntN(6))
		g.vars = append(g.vars, genVar{v, "int", true})
	case 1:
		g.line("for %s := %d; %s > 0; %s /= 2 {", v, 1+g.r.IntN(12), v, v)
		g.vars = append(g.vars, genVar{v, "int", true})
	case 2:
		g.line("if %s > 0 || n > %d {", k.group, g.r.IntN(14))
	case 3:
		g.line("switch %s {", k.group)
		g.line("case 0, %d:", 1+g.r.IntN(2))
	default:
		closing = ""
	}
	g.indent++
	g.line("_ = %s", g.vars[len(g.vars)-1].name)
	sh := k.shared[g.r.IntN(len(k.shared))]
	t := g.name("v")
	g.line("%s := %s", t, g.at(sh, fmt.Sprintf("(l+%d)&%d", g.r.IntN(40), k.size-1)))
	g.declared(t, sh.typ)
	if g.chance(2) {
		g.stmts(1)
	}
	g.line("it.Barrier()")
	if sh.typ == "pair" && g.chance(2) {
		g.line("%s.bump(int16(l))", g.at(sh, "l"))
	} else {
		g.line("%s = %s", g.at(sh, "l"), g.value(sh.typ, 2))
	}
	if closing == "}" && g.chance(4) {
		g.line("if n == %d { // all of the group", 5+g.r.IntN(4))
		g.line("\tit.Barrier()")
		g.line("}")
	}
	g.line("it.Barrier()")
	g.indent--
	if closing != "" {
		g.line("%s", closing)
		g.vars = g.vars[:outer]
	}
}

func (g *generator) stmts(n int) {
	for range 1 + g.r.IntN(n) {
		g.stmt()
	}
}

func (g *generator) block(n int) {
	before := g.outer
	g.outer = len(g.vars)
	g.indent++
	g.depth++
	g.stmts(n)
	g.depth--
	g.indent--
	g.vars, g.outer = g.vars[:g.outer], before
}

func (g *generator) stmt() {
	k := g.r.IntN(23)
	if g.depth > 1 {
		k = g.r.IntN(6)
	}
	switch k {
	case 0, 1:
		g.declare()
	case 2, 3, 4:
		g.assign()
	case 5:
		g.memory()
	case 6, 7:
		if g.chance(3) {
			v, t := g.name("v"), g.pick(genScalars...)
			g.line("if %s := %s(%s); %s {", v, t, g.expr(t, 1), g.expr("bool", 1))
			g.line("\t_ = %s", v)
		} else {
			g.line("if %s {", g.expr("bool", 2))
		}
		g.block(2)
		switch g.r.IntN(4) {
		case 0, 1:
			g.line("} else {")
			g.block(2)
		case 2:
			g.line("} else if %s {", g.expr("bool", 1))
			g.block(1)
		}
		g.line("}")
	case 8, 9:
		g.loop()
	case 10:
		g.switchStmt()
	case 11:
		g.jump()
	case 12:
		g.closure()
	case 13, 14:
		g.multi()
	case 15:
		g.order()
	case 16, 17:
		g.effects()
	case 18:
		g.slicesMoved()
	case 19:
		g.rangeOver()
	case 20:
		g.localType()
	case 21:
		g.unicode()
	case 22:
		g.wideInts()
	default:
		g.copies()
	}
}

func (g *generator) declare() {
	t, name := g.valueType(), g.name("v")
	i := g.r.IntN(len(g.vars))
	if old := g.vars[i]; g.depth > 0 && g.chance(8) && old.typ == t && !old.fixed && i < g.outer &&
		old.name[0] != 'p' { // parameters are of the body's own block
		name = old.name // hides it
	}
	switch {
	case g.chance(8):
		g.line("var %s %s", name, t)
	case isScalar(t):
		g.line("%s := %s(%s)", name, t, g.expr(t, 3))
	default:
		g.line("%s := %s", name, g.value(t, 2))
	}
	g.declared(name, t)
}

// value is something of type t.
func (g *generator) value(t string, depth int) string {
	if isScalar(t) {
		return g.expr(t, depth)
	}
	var fit []string
	for _, v := range g.places() {
		if v.typ == t {
			fit = append(fit, v.name)
		}
	}
	if len(fit) > 0 && g.chance(2) {
		return g.pick(fit...)
	}
	if depth > 0 && g.chance(2) {
		if f := g.call(t, depth); f != "" {
			return f
		}
	}
	if elem, ok := strings.CutPrefix(t, "[4]"); ok {
		return fmt.Sprintf("%s{%s, 2: %s}", t, g.value(elem, depth-1), g.value(elem, depth-1))
	}
	if elem, ok := strings.CutPrefix(t, "[2]"); ok {
		return fmt.Sprintf("%s{1: %s}", t, g.value(elem, depth-1))
	}
	var fields []string
	for _, f := range genFields[t] {
		if !strings.Contains(f[0], "[") && f[0] != "x" && g.chance(2) {
			fields = append(fields, f[0]+": "+g.value(f[1], depth-1))
		}
	}
	return fmt.Sprintf("%s{%s}", t, strings.Join(fields, ", "))
}

// places is the variables and the memory that can be read.
func (g *generator) places() []genVar {
	if g.kernel == nil {
		return g.vars
	}
	return slices.Concat(g.vars, g.kernel.reads)
}

// part is a number or a bool in v.
func (g *generator) part(v genVar) genVar {
	for !isScalar(v.typ) {
		if fields := genFields[v.typ]; fields != nil {
			f := fields[g.r.IntN(len(fields))]
			v.name, v.typ = v.name+"."+f[0], f[1]
			continue
		}
		index := fmt.Sprint(g.r.IntN(2))
		if g.chance(3) && g.depth < 6 {
			g.depth += 3
			index = fmt.Sprintf("%s&%c", g.leaf(g.pick("uint8", "int", "int32")), v.typ[1]-1)
			g.depth -= 3
		}
		v.name, v.typ = fmt.Sprintf("%s[%s]", v.name, index), v.typ[3:]
	}
	return v
}

func (g *generator) loop() {
	label, v := "", g.name("i")
	if g.chance(2) {
		label = g.name("L")
		g.line("%s:", label)
	}
	outer := len(g.vars)
	add := func(name, t string, fixed bool) { g.vars = append(g.vars, genVar{name, t, fixed}) }
	switch g.r.IntN(9) {
	case 0:
		g.line("for %s := 0; %s < %d; %s++ {", v, v, 1+g.r.IntN(5), v)
		add(v, "int", true)
	case 1:
		g.line("for %s := range %d {", v, 1+g.r.IntN(5))
		add(v, "int", true)
	case 2:
		t := g.pick("uint8", "int16", "uint64", "flags")
		g.line("for %s := range %s(%s) & 3 {", v, t, g.expr(t, 1))
		add(v, t, true)
	case 3:
		t := g.pick("uint8", "int64", "uint16", "float32")
		g.line("for %s := %s(%d); %s < 7; %[1]s += 2 {", v, t, g.r.IntN(5), v)
		add(v, t, true)
	case 4:
		w := g.name("j")
		g.line("for %s, %s := 0, %d; %s < %s; %s, %s = %[1]s+1, %[2]s-2 {", v, w, g.r.IntN(9), v, w, v, w)
		add(v, "int", true)
		add(w, "int", true)
	case 5:
		if label != "" { // the label is the loop's
			g.line("for %s := uint32(%d); ; {", v, 1+g.r.IntN(20))
		} else {
			g.line("%s := uint32(%d)", v, 1+g.r.IntN(20))
			g.line("for {")
		}
		g.line("\tif %s /= 2; %s == 0 {", v, v)
		g.line("\t\tbreak")
		g.line("\t}")
		add(v, "uint32", true)
	case 6:
		if g.kernel != nil && !g.typeT {
			e := g.name("e")
			low := g.r.IntN(80)
			g.line("for %s, %s := range %s[%d:%d] {", v, e, g.pick("x", "x[:90]"), low, low+g.r.IntN(5))
			g.line("\t_ = %s", e)
			add(e, "float32", false)
			add(v, "int", true)
			break
		}
		fallthrough
	default:
		array, elem, e := g.pick("primes", "corners", "steps[1]"), "", g.name("e")
		elem = map[string]string{"primes": "uint32", "corners": "pair", "steps[1]": "int16"}[array]
		for _, a := range g.vars {
			if t, ok := strings.CutPrefix(a.typ, "[4]"); ok && !a.fixed && g.chance(2) {
				array, elem = g.pick("", "&")+a.name, t
			}
		}
		g.line("for %s, %s := range %s {", v, e, array)
		g.line("\t_, _ = %s, %s", v, e)
		add(e, elem, false)
		add(v, "int", false)
	}
	g.line("\t_ = %s", g.vars[len(g.vars)-1].name)
	g.jumps = append(g.jumps, genJump{label, true})
	g.block(2)
	if label != "" {
		g.line("\tif %s {", g.expr("bool", 1))
		g.line("\t\tcontinue %s", label)
		g.line("\t}")
	}
	g.jumps = g.jumps[:len(g.jumps)-1]
	g.line("}")
	g.vars = g.vars[:outer]
}

// jump leaves a loop or a switch, or goes to a loop's next turn.
func (g *generator) jump() {
	if len(g.jumps) == 0 {
		g.assign()
		return
	}
	j := g.jumps[g.r.IntN(len(g.jumps))]
	if j.label == "" { // the innermost
		j.loop = slices.ContainsFunc(g.jumps, func(j genJump) bool { return j.loop })
	}
	word := "break"
	if j.loop && g.chance(2) {
		word = "continue"
	}
	g.line("if %s {", g.expr("bool", 1))
	g.line("\t%s", strings.TrimSpace(word+" "+j.label))
	g.line("}")
}

func (g *generator) switchStmt() {
	label := ""
	if g.chance(4) {
		label = g.name("S")
		g.line("%s:", label)
	}
	outer := len(g.vars)
	condition := func() string { return g.expr("bool", 1) }
	cases, last := []string{"0", "1, 3", "blue"}, "77"
	switch t := g.pick("int32", "uint8", "int", "int64"); g.r.IntN(4) {
	case 0:
		g.line("switch {")
		cases, last = []string{condition(), condition() + ", " + condition(), condition()}, condition()
	case 1:
		v := g.name("v")
		g.line("switch %s := %s(%s); %s {", v, t, g.expr(t, 1), v)
		g.vars = append(g.vars, genVar{v, t, true})
		cases = []string{g.leaf(t), g.leaf(t) + ", " + g.leaf(t), g.leaf(t) + " + " + v}
	default:
		g.line("switch %s & 3 {", g.expr(t, 2))
	}
	g.jumps = append(g.jumps, genJump{label, false})
	def := g.r.IntN(6)
	for i, c := range cases {
		if i == def {
			g.line("default:")
			g.block(2)
		}
		g.line("case %s:", c)
		g.block(2)
		if i < 2 && def != i+1 && g.chance(4) {
			g.line("\tfallthrough")
		}
	}
	if label != "" {
		g.line("case %s:", last)
		g.line("\tif %s {", condition())
		g.line("\t\tbreak %s", label)
		g.line("\t}")
	}
	g.jumps = g.jumps[:len(g.jumps)-1]
	g.line("}")
	g.vars = g.vars[:outer]
}

func (g *generator) closure() {
	name, t := g.name("c"), g.pick("int32", "float64", "uint16")
	p := g.name("p")
	g.line("%s := func(%s %s) %s {", name, p, t, t)
	outer, jumps := len(g.vars), g.jumps
	g.vars, g.jumps = append(g.vars, genVar{p, t, false}), nil
	g.block(2)
	g.line("\tif %s { return %s }", g.expr("bool", 1), g.expr(t, 1))
	g.line("\treturn %s", g.expr(t, 2))
	g.vars, g.jumps = g.vars[:outer], jumps
	g.line("}")
	v := g.name("v")
	g.line("%s := %s(%s)", v, name, g.expr(t, 1))
	g.declared(v, t)
}

// multi is calls with several results, and assignments of several values.
func (g *generator) multi() {
	a, b := g.name("v"), g.name("v")
	if g.chance(3) {
		t, at := g.pick(genNumbers...), g.name("v")
		g.line("%s, %s, %s := spread(%s)", a, b, at, g.value("[4]"+t, 2))
		g.line("%s, %s = %s, %s", a, b, b, a)
		g.declared(a, t)
		g.declared(b, t)
		g.declared(at, "int")
		return
	}
	t := g.pick("int8", "int32", "uint64", "int", "uint16", "flags")
	g.line("%s, %s := divmod[%s](%s, %s)", a, b, t, g.expr(t, 2), g.expr(t, 2))
	g.line("%s, %s = %s, %s", a, b, b, a)
	g.declared(a, t)
	g.declared(b, t)
	for _, v := range g.vars {
		if elem, ok := strings.CutPrefix(v.typ, "[4]"); ok && isScalar(elem) && !v.fixed {
			g.line("%s[%s&3], %s[%s&3] = %[3]s[0], %[5]s", v.name, g.leaf("uint8"), v.name, g.leaf("int"),
				g.expr(elem, 1))
			break
		}
	}
}

// order is calls that change a variable, whose order counts.
func (g *generator) order() {
	t, v := g.name("t"), g.name("v")
	g.line("%s := int32(%s)", t, g.expr("int32", 1))
	call := fmt.Sprintf("tick(&%s)", t)
	switch g.r.IntN(4) {
	case 0:
		g.line("%s := %s*5 - %s ^ %s<<2", v, call, call, call)
	case 1:
		g.line("%s := int32(7)", v)
		g.line("if %s && %s > 3 || %s < 9 {", g.expr("bool", 1), call, call)
		g.line("\t%s += %s", v, call)
		g.line("}")
	case 2:
		a := g.name("v")
		g.line("%s := [4]int32{%s, %s, 3: %s}", a, call, call, call)
		g.line("%s[%s&3], %[1]s[%[2]s&3] = %[2]s, %[2]s", a, call)
		g.line("%s[%s&3] %s= %s", a, call, g.pick("+", "-", "*", "^"), call)
		g.line("%s := max(%s, %s[%s&3])", v, call, a, call)
		g.declared(a, "[4]int32")
	default:
		g.line("%s := store(&%s, %s) - %s", v, t, call, call)
	}
	g.declared(v, "int32")
	g.declared(t, "int32")
}

// copies is arrays and structs as values.
func (g *generator) copies() {
	t := g.pick("[4]int16", "[4]float64", "pair", "vec", "outer", "[2]vec")
	a, b, c := g.name("v"), g.name("v"), g.name("v")
	g.line("%s := %s", a, g.value(t, 2))
	g.line("%s := %s", b, a)
	p := g.part(genVar{b, t, false})
	g.line("%s = %s", p.name, g.expr(p.typ, 2))
	g.line("%s := %s %s %s", c, a, g.pick("==", "!="), b)
	g.declared(a, t)
	g.declared(b, t)
	g.declared(c, "bool")
	if t == "pair" || t == "outer" {
		p := g.name("p")
		g.line("%s := &%s%s", p, a, map[string]string{"outer": ".p"}[t])
		g.line("%s.bump(%s)", p, g.expr("int16", 1))
	}
}

// memory writes what is the work-item's own, or does what commutes.
func (g *generator) memory() {
	if g.kernel == nil || g.typeT {
		g.assign()
		return
	}
	v := g.name("v")
	switch g.r.IntN(6) {
	case 0:
		g.line("s[id].bump(%s)", g.expr("int16", 1))
	case 1:
		g.line("m.Set(id/8, id%%8, %s)", g.expr("float32", 2))
	case 2:
		g.line("gpu.Atomic%s(&ai[%s&7], %s)", g.kernel.atomics[0], g.leaf("uint8"), g.expr("int32", 2))
	case 3:
		g.line("gpu.Atomic%s(&au[%s&7], %s)", g.kernel.atomics[1], g.leaf("uint8"), g.expr("uint64", 2))
	case 4:
		g.line("%s := gpu.Atomic%s(&xi[id], %s)", v, g.pick("Add", "Min", "Max", "And", "Or", "Xor", "Exchange"),
			g.expr("int32", 2))
		g.declared(v, "int32")
	default:
		g.line("%s := gpu.AtomicCompareExchange(&xi[id], %s, %s)", v, g.expr("int32", 1), g.expr("int32", 1))
		g.declared(v, "int32")
	}
}

func (g *generator) assign() {
	var free []genVar
	for _, v := range g.places() {
		if !v.fixed {
			free = append(free, v)
		}
	}
	if len(free) == 0 {
		g.declare()
		return
	}
	v := free[g.r.IntN(len(free))]
	if !isScalar(v.typ) && g.chance(4) {
		g.line("%s = %s", v.name, g.value(v.typ, 2))
		return
	}
	v = g.part(v)
	name, t := v.name, v.typ
	switch {
	case t == "bool" || g.chance(2):
		g.line("%s = %s", name, g.expr(t, 3))
	case t == "T":
		g.line("%s %s= %s", name, g.pick("+", "-", "*"), g.expr(t, 2))
	case isFloat(t):
		g.line("%s %s= %s", name, g.pick("+", "-", "*", "/"), g.expr(t, 2))
	case g.chance(4):
		g.line("%s%s", name, g.pick("++", "--"))
	case g.chance(4):
		g.line("%s %s= %s", name, g.pick("<<", ">>"), g.expr(g.pick("uint8", "uint", "uint64"), 1))
	case g.chance(6):
		g.line("%s %s= %s | 1", name, g.pick("/", "%"), g.expr(t, 1))
	default:
		g.line("%s %s= %s", name, g.pick("+", "-", "*", "&", "|", "^", "&^"), g.expr(t, 2))
	}
}

// digest is a uint64 of some variables.
func (g *generator) digest() string {
	if g.chance(4) {
		return "bitsOf(float64(" + g.expr(g.pick("float32", "float64", "int32", "uint16"), 3) + "))"
	}
	v := g.vars[g.r.IntN(len(g.vars))]
	if v.typ == "pair" || v.typ == "outer" && g.chance(2) {
		return "bitsOf(" + v.name + ".sum())"
	}
	switch v = g.part(v); {
	case v.typ == "bool":
		return "b2i(" + v.name + ")"
	case isInt(v.typ):
		return "uint64(" + v.name + ")"
	}
	return "bitsOf(float64(" + v.name + "))"
}

// leaf is a variable of type t, or a conversion of one: never a constant.
func (g *generator) leaf(t string) string {
	var fit, numbers []string
	for _, v := range g.places() {
		v = g.part(v)
		switch {
		case v.typ == t:
			fit = append(fit, v.name)
		case v.typ != "bool" && t != "bool" && t != "T" && (isFloat(t) || isInt(v.typ)):
			numbers = append(numbers, t+"("+v.name+")")
		}
	}
	switch g.r.IntN(12) {
	case 0:
		numbers = append(numbers, map[bool]string{true: t + "(primes[", false: t + "(steps[1]["}[g.chance(2)]+
			g.index()+"])")
	case 1:
		if isFloat(t) {
			numbers = append(numbers, t+"(corners["+g.index()+"].b)")
		}
	}
	switch {
	case t == "T" && len(fit) == 0:
		return "T(uint8(" + g.index() + ") & 63)"
	case t == "T":
		return g.pick(fit...)
	case len(fit) > 0 && (len(numbers) == 0 || t == "bool" || !g.chance(4)):
		return g.pick(fit...)
	case t == "bool":
		return g.compare(1)
	case len(numbers) > 0:
		return g.pick(numbers...)
	}
	for _, v := range g.vars {
		switch v = g.part(v); {
		case isFloat(v.typ) || v.typ == "T":
			return t + "(toInt(float64(" + v.name + ")))"
		case v.typ == "bool":
			return t + "(b2i(" + v.name + "))"
		}
	}
	return t + "(primes[b2i(true)])"
}

// index is a number below 4.
func (g *generator) index() string {
	if g.kernel != nil {
		return g.pick("id&3", "l&3", "n&3", "2")
	}
	return g.pick("0", "1", "3")
}

func (g *generator) literal(t string) string {
	switch {
	case t == "bool":
		return g.pick("true", "false")
	case t == "T":
		return g.pick("1", "3", "T(5)", "blue")
	case t == "angle" && g.chance(4):
		return "third"
	case isFloat(t):
		return g.pick("0.1", "2", "-1.5", "1e10", "3.25e-3", "0", "1.0/3", "1e-40", "16777217")
	case strings.HasPrefix(t, "u") || t == "flags":
		return g.pick("1", "3", "200", "7", "255", "'a'", "green")
	}
	return g.pick("1", "-1", "100", "7", "-128", "127", "'a'", "blue")
}

func (g *generator) compare(depth int) string {
	t := g.pick("int32", "float64", "uint8", "float32", "int", "uint64", "int16", "angle", "flags")
	if g.typeT && g.chance(3) {
		t = "T"
	}
	return fmt.Sprintf("(%s %s %s)", g.leaf(t), g.pick("<", "<=", ">", ">=", "==", "!="), g.expr(t, depth-1))
}

// call is a call of a function with a result of type t, "" where there is none.
func (g *generator) call(t string, depth int) string {
	for _, i := range g.r.Perm(len(g.funcs)) {
		f := g.funcs[i]
		if f.result != t && !(f.generic && (t == "T" || isFloat(t) || isInt(t))) {
			continue
		}
		var args []string
		for _, p := range f.params {
			if f.generic && p == "T" {
				p = t
			}
			args = append(args, g.value(p, depth-2))
		}
		if f.generic {
			return fmt.Sprintf("%s[%s](%s)", f.name, t, strings.Join(args, ", "))
		}
		return fmt.Sprintf("%s(%s)", f.name, strings.Join(args, ", "))
	}
	return ""
}

func (g *generator) expr(t string, depth int) string {
	if depth <= 0 {
		return g.leaf(t)
	}
	x := func() string { return g.expr(t, depth-1) }
	if g.chance(12) {
		if c := g.call(t, depth); c != "" {
			return c
		}
	}
	switch {
	case t == "bool":
		switch g.r.IntN(5) {
		case 0:
			return fmt.Sprintf("(%s %s %s)", x(), g.pick("&&", "||"), x())
		case 1:
			return "!" + g.leaf(t)
		case 2:
			return fmt.Sprintf("(%s %s %s)", g.leaf(t), g.pick("==", "!="), x())
		}
		return g.compare(depth)
	case t == "T":
		return g.number(t, x)
	case isFloat(t):
		return g.float(t, depth, x)
	}
	return g.integer(t, depth, x)
}

// number is an expression of any type of numbers.
func (g *generator) number(t string, x func() string) string {
	switch g.r.IntN(8) {
	case 0:
		return fmt.Sprintf("gpu.FMA(%s, %s, %s)", x(), x(), x())
	case 1:
		return fmt.Sprintf("%s(%s, %s)", g.pick("min", "max"), x(), x())
	case 2:
		return fmt.Sprintf("%s(%s, %s, %s)", g.pick("min", "max"), x(), g.literal(t), x())
	case 3:
		return fmt.Sprintf("mk(%s, %s).width()", x(), x())
	case 4:
		return "-" + g.leaf(t)
	case 5:
		return fmt.Sprintf("(%s %s %s)", g.leaf(t), g.pick("+", "-", "*"), g.literal(t))
	}
	return fmt.Sprintf("(%s %s %s)", x(), g.pick("+", "-", "*"), x())
}

var genRmath = []string{"Exp", "Exp2", "Expm1", "Sigmoid", "Sinh", "Cosh", "Tanh", "Log", "Log2", "Sin"}

func (g *generator) float(t string, depth int, x func() string) string {
	if g.rmath && g.chance(6) {
		return fmt.Sprintf("%s(f32.%s(%s))", t, g.pick(genRmath...), g.expr("float32", depth-1))
	}
	switch g.r.IntN(13) {
	case 12:
		return fmt.Sprintf("%s(math.Copysign(float64(%s), float64(%s)))", t, x(), g.leaf("int32"))
	case 0:
		if t == "float64" {
			return fmt.Sprintf("math.FMA(%s, %s, %s)", x(), x(), x())
		}
		return g.number(t, x)
	case 1:
		return fmt.Sprintf("%s(math.Float32frombits(%s))", t, g.expr("uint32", depth-1))
	case 2:
		return fmt.Sprintf("%s(math.%s(float64(%s)))", t, g.pick("Sqrt", "Abs", "Floor", "Ceil", "Trunc"), x())
	case 3:
		return fmt.Sprintf("%s(%s)", t, g.expr(g.pick(genNumbers...), depth-1))
	case 4:
		return fmt.Sprintf("(%s %s %s)", g.leaf(t), g.pick("+", "-", "*", "/"), g.nonZero(t))
	case 5:
		return fmt.Sprintf("(%s*%s + %s)", x(), x(), x())
	case 6:
		return "-" + g.leaf(t)
	case 7:
		if t == "angle" {
			return g.leaf(t) + ".half()"
		}
		return g.number(t, x)
	case 8:
		return g.number(t, x)
	}
	return fmt.Sprintf("(%s %s %s)", x(), g.pick("+", "-", "*", "/"), x())
}

func (g *generator) nonZero(t string) string {
	if s := g.literal(t); s != "0" {
		return s
	}
	return "2"
}

func (g *generator) integer(t string, depth int, x func() string) string {
	switch g.r.IntN(13) {
	case 0:
		return fmt.Sprintf("(%s %s (%s | 1))", x(), g.pick("/", "%"), x())
	case 1:
		count := g.expr(g.pick("uint8", "uint", "uint32", "flags"), depth-1)
		return fmt.Sprintf("(%s %s %s)", x(), g.pick("<<", ">>"), count)
	case 2:
		return fmt.Sprintf("(%s %s %d)", g.leaf(t), g.pick("<<", ">>"), g.r.IntN(70))
	case 3:
		return fmt.Sprintf("%s(%s)", t, g.expr(g.pick(genInts...), depth-1))
	case 4:
		return t + g.pick("(toInt("+g.expr("float64", depth-1)+"))", "(toUint("+g.expr("float32", depth-1)+"))")
	case 5:
		count := g.leaf(g.pick("int8", "int", "int64"))
		return fmt.Sprintf("(%s %s (%s & 31))", g.leaf(t), g.pick("<<", ">>"), count)
	case 6:
		return fmt.Sprintf("(%s %s %s)", g.leaf(t), g.pick("+", "-", "*", "&", "|", "^", "&^"), g.literal(t))
	case 7:
		return g.pick("-", "^", "+") + g.leaf(t)
	case 8:
		switch t {
		case "uint32":
			return g.pick(fmt.Sprintf("bits.RotateLeft32(%s, %s)", x(), g.leaf("int")),
				"bits32("+g.expr("float32", depth-1)+")")
		case "uint64":
			return g.pick(fmt.Sprintf("bits.RotateLeft64(%s, %s)", x(), g.leaf("int")),
				"bitsOf("+g.expr("float64", depth-1)+")")
		case "int":
			w := g.pick("32", "64")
			return fmt.Sprintf("bits.%s%s(%s)", g.pick("OnesCount", "LeadingZeros"), w, g.expr("uint"+w, depth-1))
		}
		return g.number(t, x)
	case 9, 10:
		return g.number(t, x)
	}
	return fmt.Sprintf("(%s %s %s)", x(), g.pick("+", "-", "*", "&", "|", "^", "&^"), x())
}

// meeting is a barrier with a result, by itself or in a helper of its own.
func (g *generator) meeting() {
	v := g.name("v")
	switch t := g.pick(genScalars...); g.r.IntN(4) {
	case 0:
		g.line("%s := it.Any(%s)", v, g.expr("bool", 2))
		g.declared(v, "bool")
	case 1:
		g.line("%s := gpu.Uniform(it, %s(%s))", v, t, g.expr(t, 2))
		g.declared(v, t)
	case 2:
		g.line("%s := func() %s {", v, t)
		g.line("\tif it.Any(%s) && it.Any(%s) {", g.expr("bool", 1), g.expr("bool", 1))
		g.line("\t\treturn gpu.Uniform(it, %s(%s))", t, g.expr(t, 1))
		g.line("\t}")
		g.line("\treturn %s", g.expr(t, 1))
		g.line("}()")
		g.declared(v, t)
	default:
		g.line("%s := gpu.Uniform(it, %s(%s))", v, "uint8", g.expr("uint8", 1))
		g.line("for %s > 0 {", v)
		g.line("\t%s = gpu.Uniform(it, %[1]s/%d)", v, 2+g.r.IntN(3))
		g.line("}")
		g.vars = append(g.vars, genVar{v, "uint8", true}) // which decides over a barrier: never another's
	}
}

// wideInts is results of package bits, which may go over their operands.
func (g *generator) wideInts() {
	a, b := g.name("v"), g.name("v")
	g.line("%s, %s := uint64(%s), uint64(%s)", a, b, g.expr("uint64", 1), g.expr("uint64", 1))
	g.declared(a, "uint64")
	g.declared(b, "uint64")
	switch g.r.IntN(3) {
	case 0:
		g.line("%s, %s = bits.Mul64(%[1]s, %[2]s)", a, b)
	case 1:
		g.line("%s, %s = bits.Add64(%[1]s, %[2]s, %s&1)", a, b, g.leaf("uint64"))
	default:
		g.line("%s, %s = bits.Sub64(%[2]s, %[1]s, %s&1)", a, b, g.leaf("uint64"))
	}
	g.line("%s ^= uint64(bits.%s(uint16(%s)))", a, g.pick("TrailingZeros16", "Len16", "Reverse16", "ReverseBytes16"), b)
}

// effects is one expression that looks at a variable and a struct by calls, and changes them by
// calls, which Go makes in the order of the text.
func (g *generator) effects() {
	t, p, v, w := g.name("t"), g.name("p"), g.name("v"), g.name("w")
	g.line("%s, %s := int32(%s), %s", t, p, g.expr("int32", 1), g.value("pair", 1))
	call := func() string {
		return g.pick("look("+t+")", "tick(&"+t+")", p+".mix()", fmt.Sprintf("%s.take(%d)", p, g.r.IntN(9)),
			"("+p+").mix()", "(&"+p+").take(2)", "look(look("+t+"))", "tick(&("+t+"))")
	}
	var sum func(n int) string
	sum = func(n int) string {
		switch {
		case n <= 0 || g.chance(4):
			return call()
		case g.chance(5):
			return fmt.Sprintf("blend(%s, %s, %s)", sum(n-2), sum(n-2), sum(n-2))
		case g.chance(5):
			return fmt.Sprintf("([3]int32{%s, 2: %s})[%s&1]", sum(n-2), sum(n-2), call())
		case g.chance(5):
			return fmt.Sprintf("(pair{a: int16(%s), c: [3]uint8{1: uint8(%s)}}).mix()", sum(n-2), sum(n-2))
		case g.chance(6):
			return fmt.Sprintf("int32(b2i(%s > %s %s %s < 7))", sum(n-2), call(), g.pick("&&", "||"), call())
		case g.chance(6):
			return fmt.Sprintf("%s(%s, %s)", g.pick("min", "max"), sum(n-2), sum(n-2))
		}
		return fmt.Sprintf("(%s %s %s)", sum(n-1), g.pick("+", "-", "*", "^", "&^"), sum(n-1))
	}
	switch g.r.IntN(6) {
	case 0:
		g.line("%s, %s := %s, %s", v, w, sum(2), sum(2))
	case 1:
		g.line("%s, %s := func() (int32, int32) { return %s, %s }()", v, w, sum(2), sum(2))
	case 2:
		g.line("var %s, %s = %s, %s", v, w, sum(3), sum(1))
	case 3:
		a := g.name("v")
		g.line("var %s [4]int32", a)
		g.line("%s[%s&3] = %s", a, sum(2), sum(2))
		g.line("%s[%s&3], _ = %s, %s", a, sum(1), sum(1), sum(1))
		g.line("%s[%s&3] %s= %s", a, sum(2), g.pick("+", "-", "|"), sum(2))
		g.line("%s, %s := %s[%s&3], %s", v, w, a, sum(1), sum(1))
		g.declared(a, "[4]int32")
	case 4:
		g.line("%s, %s := two(%s + %s)", v, w, sum(2), sum(1))
		g.line("switch %s {", sum(1))
		g.line("case %s, %s:", sum(1), sum(2))
		g.line("\t%s = %s", v, sum(1))
		g.line("}")
	default:
		g.line("%s, %s := int32(0), int32(1)", v, w)
		g.line("if %s < %s && %s != %s {", sum(1), sum(1), sum(1), sum(1))
		g.line("\t%s, %s = %s, %s", v, w, sum(2), sum(2))
		g.line("}")
		g.line("for range 2 {")
		g.line("\t%s, %s = %s+%[2]s, %[4]s", v, w, sum(1), sum(1))
		g.line("}")
	}
	g.declared(v, "int32")
	g.declared(w, "int32")
	g.declared(t, "int32")
	g.declared(p, "pair")
}

// slicesMoved is assignments of slices and indices beside elements that these lead to.
func (g *generator) slicesMoved() {
	a, s, i := g.name("v"), g.name("s"), g.name("i")
	t := g.pick("int32", "float64", "uint8")
	g.line("%s := %s", a, g.value("[4]"+t, 1))
	g.line("%s, %s := %s[:], %d", s, i, a, g.r.IntN(2))
	g.line("%s, %s[%s] = %s[1:], %s", s, s, i, s, g.expr(t, 1))
	g.line("%s, %s[%s:][0] = %d, %s", i, s, i, g.r.IntN(2), g.expr(t, 1))
	g.line("%s[0], %s, %s[%s] = %s, %s[:2], %[1]s[1]", s, s, s, i, g.expr(t, 1), s)
	if g.chance(2) {
		g.line("for %s = range %s {", i, s)
		g.line("\t%s[len(%[1]s)-1-%s], %[1]s[%[2]s] = %[1]s[%[2]s], %[3]s", s, i, g.expr(t, 1))
		g.line("}")
	}
	g.declared(a, "[4]"+t)
	g.declared(i, "int")
}

// rangeOver is a range over an array that is no variable, and changes while the loop goes on.
func (g *generator) rangeOver() {
	k, e, sum := g.name("i"), g.name("e"), g.name("v")
	var array, elem, place string
	if g.kernel != nil && !g.typeT && g.chance(2) {
		array, elem = "s[id].c", "uint8"
		place = array
	} else {
		o, p := g.name("v"), g.name("p")
		g.line("%s := %s", o, g.value("outer", 1))
		g.line("%s := &%s", p, o)
		switch g.r.IntN(4) {
		case 0:
			array, elem, place = p+".m", "uint16", o+".m"
		case 1:
			array, elem, place = "("+o+".p.c)", "uint8", p+".p.c"
		case 2:
			q := g.name("p")
			g.line("%s := &%s.m", q, p)
			array, elem, place = "*"+q, "uint16", q
		default:
			array, elem, place = p+".p.c", "uint8", p+".p.c"
		}
		g.vars = append(g.vars, genVar{o, "outer", false})
	}
	g.line("var %s uint64", sum)
	g.line("for %s, %s := range %s {", k, e, array)
	g.line("\t%s[%d] = %s(%s) + %s", place, g.r.IntN(3), elem, g.leaf(elem), e)
	g.line("\t%s[%s&1] += %d", place, k, g.r.IntN(99))
	g.line("\t%s = %[1]s*31 + uint64(%s)", sum, e)
	g.line("}")
	g.declared(sum, "uint64")
}

// localType is a type of a name that others have, too.
func (g *generator) localType() {
	t, u, v, w := g.valueType(), g.pick(genScalars...), g.name("v"), g.name("v")
	g.line("var %s %s", v, t)
	g.line("var %s %s", w, u)
	g.line("{")
	g.line("\ttype loc struct {")
	g.line("\t\tp %s", t)
	g.line("\t\tq [2]%s", u)
	g.line("\t}")
	x, y := g.name("v"), g.name("v")
	g.line("\t%s := loc{p: %s, q: [2]%s{1: %s}}", x, g.value(t, 1), u, g.expr(u, 1))
	g.line("\t%s := %s", y, x)
	g.line("\t%s.q[0] = %s", x, g.expr(u, 1))
	g.line("\t%s, %s = %s.p, %s.q[%s&1]", v, w, y, x, g.leaf("uint8"))
	g.line("}")
	g.declared(v, t)
	g.declared(w, u)
}

// unicode is names that C writes alike.
func (g *generator) unicode() {
	n, t := g.name(""), g.pick("int32", "float32", "uint16")
	a, b := "é"+n, "u00e9"+n
	g.line("%s := %s(%s)", a, t, g.expr(t, 1))
	g.vars = append(g.vars, genVar{a, t, false})
	g.line("if %s {", g.expr("bool", 1))
	g.line("\t%s := %s(%s)", b, t, g.expr(t, 1))
	g.line("\t%s, %s = %[2]s, %[1]s", a, b)
	g.line("\t%s += %s", a, b)
	g.line("}")
}

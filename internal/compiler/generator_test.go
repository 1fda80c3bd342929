package compiler

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A generator writes random kernels within the subset. They index within bounds, divide by nothing
// that is 0, convert no float that an integer does not have, and their barriers are where all
// work-items come, so that plain Go defines every bit; bits of NaN are left out of what they write.
type generator struct {
	r      *rand.Rand
	b      strings.Builder
	indent int
	vars   []genVar // that are in scope
	names  int
	loops  []string // labels
	funcs  []genFunc
	item   bool // in a kernel
	shared []genVar
	depth  int
}

type genVar struct {
	name, typ string
	fixed     bool // is not assigned to
}

type genFunc struct {
	name   string
	params []string
	result string
}

var genTypes = []string{
	"int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64",
	"float32", "float64", "bool",
}

func (g *generator) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g *generator) line(format string, args ...any) {
	g.b.WriteString(strings.Repeat("\t", g.indent))
	fmt.Fprintf(&g.b, format+"\n", args...)
}

func (g *generator) name(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

const genHead = `package main

import (
	"math"
	"math/bits"

	"github.com/tandem-gpu/tandem/gpu"
)

type pair struct {
	a int16
	b float64
	c [3]uint8
	d bool
	e float32
}

func (p pair) sum() float64 { return float64(p.a) + p.b*float64(p.c[1]) }

func (p *pair) bump(n int16) { p.a += n; p.c[2]++; p.d = !p.d }

type box[T gpu.Number] struct{ lo, hi T }

func (b box[T]) width() T { return b.hi - b.lo }

func mk[T gpu.Number](x, y T) box[T] { return box[T]{lo: min(x, y), hi: max(x, y)} }

func divmod[T gpu.Integer](x, y T) (q, r T) {
	if y == 0 {
		return x, 0
	}
	return x / y, x % y
}

func bitsOf(x float64) uint64 {
	if x != x {
		return 1
	}
	return math.Float64bits(x)
}

func toInt(x float64) int {
	if x != x {
		return 0
	}
	return int(max(min(x, 1e9), -1e9))
}

func b2i(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func store(p *int32, v int32) int32 { old := *p; *p = v; return old }

func scan(x []float32, n int) (s float32) {
	for i, v := range x {
		if i >= n {
			break
		}
		s += v
	}
	return
}

var primes = [8]uint32{2, 3, 5, 7, 11, 13, 17, 1<<32 - 5}

const big = 1 << 40

var _ = bits.OnesCount32

`

func (g *generator) file(n int) string {
	g.b.WriteString(genHead)
	for range 6 {
		g.function()
	}
	for i := range n {
		g.kernel(i)
	}
	return g.b.String()
}

func (g *generator) function() {
	f := genFunc{name: g.name("f"), result: g.pick(genTypes...)}
	g.vars, g.item = nil, false
	var params []string
	for range 1 + g.r.IntN(3) {
		t := g.pick(genTypes...)
		v := genVar{name: g.name("a"), typ: t}
		f.params = append(f.params, t)
		params = append(params, v.name+" "+t)
		g.vars = append(g.vars, v)
	}
	g.line("func %s(%s) %s {", f.name, strings.Join(params, ", "), f.result)
	g.indent++
	g.stmts(3)
	g.line("return %s", g.expr(f.result, 3))
	g.indent--
	g.line("}\n")
	g.funcs = append(g.funcs, f)
}

func (g *generator) kernel(i int) {
	g.item, g.shared = true, nil
	g.vars = []genVar{{"n", "int", true}, {"f", "float64", true}, {"w", "pair", false}, {"q", "[4]float32", false}}
	g.line("//tandem:kernel")
	g.line("func k%d(it gpu.Item, n int, f float64, w pair, q [4]float32, out []uint64, "+
		"xi []int32, x []float32, y []float64, u []uint8, s []pair) {", i)
	g.indent++
	g.line("id, l := it.Global(0), it.Local(0)")
	g.vars = append(g.vars, genVar{"id", "int", true}, genVar{"l", "int", true})
	for j := range g.r.IntN(3) {
		t := g.pick(append(genTypes, "pair", "pair", "pair")...)
		g.line("sh%d := gpu.Local[[32]%s](it)", j, t)
		g.line("sh%d[l] = %s", j, g.value(t))
		g.shared = append(g.shared, genVar{fmt.Sprintf("sh%d", j), t, false})
	}
	if len(g.shared) > 0 {
		g.line("it.Barrier()")
	}
	for range 4 + g.r.IntN(4) {
		g.phase()
	}
	for j := range 8 {
		g.line("out[id*8+%d] = %s", j, g.digest())
	}
	g.indent--
	g.line("}\n")
}

// phase is some statements, or a loop of the whole group, and barriers with changed local memory.
func (g *generator) phase() {
	if len(g.shared) == 0 || g.r.IntN(2) == 0 {
		g.stmts(3)
		return
	}
	outer := len(g.vars)
	closing := ""
	switch g.r.IntN(4) {
	case 0:
		v := g.name("r")
		g.line("for %s := range n - %d {", v, g.r.IntN(6))
		g.vars = append(g.vars, genVar{v, "int", true})
		closing = "}"
	case 1:
		v := g.name("r")
		g.line("for %s := %d; %s > 0; %s /= 2 {", v, 1+g.r.IntN(12), v, v)
		g.vars = append(g.vars, genVar{v, "int", true})
		closing = "}"
	case 2:
		g.line("if it.Group(0) > 0 || n > %d {", g.r.IntN(14))
		closing = "}"
	}
	g.indent++
	g.line("_ = %s", g.vars[len(g.vars)-1].name)
	sh := g.shared[g.r.IntN(len(g.shared))]
	t := g.name("v")
	g.line("%s := sh%s[(l+%d)&31]", t, sh.name[2:], g.r.IntN(40))
	g.line("_ = %s", t)
	g.vars = append(g.vars, genVar{t, sh.typ, false})
	if g.r.IntN(2) == 0 {
		g.stmts(1)
	}
	g.line("it.Barrier()")
	if sh.typ == "pair" {
		g.line("%s.bump(int16(l))", t)
		g.line("%s[l] = %s", sh.name, t)
	} else {
		g.line("%s[l] = %s", sh.name, g.expr(sh.typ, 2))
	}
	if closing == "}" && g.r.IntN(4) == 0 {
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
	outer := len(g.vars)
	g.indent++
	g.depth++
	g.stmts(n)
	g.depth--
	g.indent--
	g.vars = g.vars[:outer]
}

func (g *generator) declare() {
	t := g.pick(genTypes...)
	name := g.name("v")
	switch g.r.IntN(8) {
	case 0:
		g.line("var %s [4]%s", name, t)
		g.vars = append(g.vars, genVar{name, "[4]" + t, false})
	case 1:
		g.line("%s := pair{a: %s, b: %s, d: %s}", name, g.expr("int16", 1), g.expr("float64", 2), g.expr("bool", 1))
		g.vars = append(g.vars, genVar{name, "pair", false})
	case 2:
		g.line("%s := [4]%s{%s, 2: %s}", name, "float32", g.expr("float32", 1), g.expr("float32", 2))
		g.vars = append(g.vars, genVar{name, "[4]float32", false})
	default:
		g.line("%s := %s(%s)", name, t, g.expr(t, 3))
		g.vars = append(g.vars, genVar{name, t, false})
	}
	g.line("_ = %s", name)
}

func (g *generator) stmt() {
	k := g.r.IntN(13)
	if g.depth > 2 {
		k = g.r.IntN(5)
	}
	switch k {
	case 0, 1:
		g.declare()
	case 2, 3, 4:
		g.assign()
	case 5, 6:
		g.line("if %s {", g.expr("bool", 2))
		g.block(2)
		if g.r.IntN(2) == 0 {
			g.line("} else {")
			g.block(2)
		}
		g.line("}")
	case 7, 8:
		g.loop()
	case 9:
		g.switchStmt()
	case 10:
		if len(g.loops) > 0 {
			g.line("if %s {", g.expr("bool", 1))
			g.line("\t%s %s", g.pick("break", "continue"), g.loops[g.r.IntN(len(g.loops))])
			g.line("}")
			return
		}
		g.assign()
	case 11:
		g.closure()
	default:
		g.multi()
	}
}

func (g *generator) loop() {
	label, v := g.name("L"), g.name("i")
	used := g.r.IntN(2) == 0
	if used {
		g.line("%s:", label)
	}
	outer := len(g.vars)
	switch g.r.IntN(4) {
	case 0:
		g.line("for %s := 0; %s < %d; %s++ {", v, v, 1+g.r.IntN(5), v)
	case 1:
		g.line("for %s := range %d {", v, 1+g.r.IntN(5))
	case 2:
		g.line("for %s := range uint8(%s) & 3 {", v, g.expr("uint8", 1))
		g.vars = append(g.vars, genVar{v, "uint8", true})
		v = ""
	default:
		w := g.name("e")
		g.line("for %s, %s := range primes {", v, w)
		g.line("\t_, _ = %s, %s", v, w)
		g.vars = append(g.vars, genVar{w, "uint32", false})
	}
	if v != "" {
		g.vars = append(g.vars, genVar{v, "int", true})
	}
	g.line("\t_ = %s", g.vars[len(g.vars)-1].name)
	if used {
		g.loops = append(g.loops, label)
	}
	old := g.loops
	g.block(3)
	if used {
		g.indent++
		g.line("if %s {", g.expr("bool", 1))
		g.line("\tcontinue %s", label)
		g.line("}")
		g.indent--
		g.loops = old[:len(old)-1]
	}
	g.line("}")
	g.vars = g.vars[:outer]
}

func (g *generator) switchStmt() {
	loops := g.loops
	t := g.pick("int32", "uint8", "int")
	g.line("switch %s & 3 {", g.expr(t, 2))
	for i := range 3 {
		g.line("case %d:", i)
		g.block(2)
		if g.r.IntN(3) == 0 {
			g.line("\tif %s { break }", g.expr("bool", 1))
		}
		if i < 2 && g.r.IntN(4) == 0 {
			g.line("\tfallthrough")
		}
	}
	g.line("default:")
	g.block(2)
	g.line("}")
	g.loops = loops
}

func (g *generator) closure() {
	name, t := g.name("c"), g.pick("int32", "float64", "uint16")
	p := g.name("p")
	g.line("%s := func(%s %s) %s {", name, p, t, t)
	outer, loops := len(g.vars), g.loops
	g.vars, g.loops = append(g.vars, genVar{p, t, false}), nil
	g.block(2)
	g.line("\tif %s { return %s }", g.expr("bool", 1), g.expr(t, 1))
	g.line("\treturn %s", g.expr(t, 2))
	g.vars, g.loops = g.vars[:outer], loops
	g.line("}")
	v := g.name("v")
	g.line("%s := %s(%s)", v, name, g.expr(t, 1))
	g.line("_ = %s", v)
	g.vars = append(g.vars, genVar{v, t, false})
}

func (g *generator) multi() {
	t := g.pick("int8", "int32", "uint64", "int", "uint16")
	a, b := g.name("v"), g.name("v")
	g.line("%s, %s := divmod[%s](%s, %s)", a, b, t, g.expr(t, 2), g.expr(t, 2))
	g.line("%s, %s = %s, %s", a, b, b, a)
	g.vars = append(g.vars, genVar{a, t, false}, genVar{b, t, false})
	if g.item && g.r.IntN(2) == 0 {
		g.line("s[id].bump(int16(%s))", a)
	}
	if g.item && g.r.IntN(2) == 0 {
		v := g.name("v")
		g.line("%s := store(&xi[id], int32(%s))", v, b)
		g.vars = append(g.vars, genVar{v, "int32", false})
		g.line("_ = %s", v)
	}
}

func (g *generator) assign() {
	var free []genVar
	for _, v := range g.vars {
		if !v.fixed {
			free = append(free, v)
		}
	}
	if len(free) == 0 {
		g.declare()
		return
	}
	v := free[g.r.IntN(len(free))]
	name, t := v.name, v.typ
	if elem, ok := strings.CutPrefix(t, "[4]"); ok {
		name, t = fmt.Sprintf("%s[%s&3]", name, g.expr("uint8", 1)), elem
	} else if t == "pair" {
		part := g.r.IntN(5)
		name += []string{".a", ".b", ".c[1]", ".d", ".e"}[part]
		t = []string{"int16", "float64", "uint8", "bool", "float32"}[part]
	}
	switch {
	case t == "bool" || g.r.IntN(2) == 0:
		g.line("%s = %s", name, g.expr(t, 3))
	case strings.HasPrefix(t, "float"):
		g.line("%s %s= %s", name, g.pick("+", "-", "*", "/"), g.expr(t, 2))
	case g.r.IntN(4) == 0:
		g.line("%s%s", name, g.pick("++", "--"))
	case g.r.IntN(4) == 0:
		g.line("%s %s= %s", name, g.pick("<<", ">>"), g.expr(g.pick("uint8", "uint", "uint64"), 1))
	default:
		g.line("%s %s= %s", name, g.pick("+", "-", "*", "&", "|", "^", "&^"), g.expr(t, 2))
	}
}

// value is something of type t, which may be pair.
func (g *generator) value(t string) string {
	if t == "pair" {
		return "s[id]"
	}
	return g.expr(t, 2)
}

// digest is a uint64 of some variables.
func (g *generator) digest() string {
	if g.r.IntN(4) > 0 {
		v := g.vars[g.r.IntN(len(g.vars))]
		switch t := v.typ; {
		case t == "bool":
			return "b2i(" + v.name + ")"
		case strings.HasPrefix(t, "float"):
			return "bitsOf(float64(" + v.name + "))"
		case t == "pair":
			return "bitsOf(" + v.name + ".sum())"
		case strings.HasPrefix(t, "[4]float"):
			return "bitsOf(float64(" + v.name + "[l&3]))"
		case t == "[4]bool":
			return "b2i(" + v.name + "[l&3])"
		case strings.HasPrefix(t, "[4]"):
			return "uint64(" + v.name + "[l&3])"
		default:
			return "uint64(" + v.name + ")"
		}
	}
	return "bitsOf(float64(" + g.expr(g.pick("float32", "float64", "int32", "uint16"), 3) + "))"
}

// leaf is a variable of type t, or a conversion of one: never a constant.
func (g *generator) leaf(t string) string {
	var fit, numbers []string
	for _, v := range g.vars {
		name, vt := v.name, v.typ
		if elem, ok := strings.CutPrefix(vt, "[4]"); ok {
			name, vt = fmt.Sprintf("%s[%d]", name, g.r.IntN(4)), elem
		}
		if vt == "pair" {
			part := g.r.IntN(5)
			name += []string{".a", ".b", ".c[1]", ".d", ".e"}[part]
			vt = []string{"int16", "float64", "uint8", "bool", "float32"}[part]
		}
		if vt == t {
			fit = append(fit, name)
		} else if vt != "bool" && t != "bool" && (!strings.HasPrefix(vt, "float") || strings.HasPrefix(t, "float")) {
			numbers = append(numbers, t+"("+name+")")
		}
	}
	if g.item {
		for _, m := range []struct{ name, typ string }{
			{"xi[id]", "int32"},
			{"x[id]", "float32"},
			{"y[(id+1)%96]", "float64"},
			{"u[id]", "uint8"},
			{"primes[id&7]", "uint32"},
			{"it.GlobalSize(0)", "int"},
			{"it.Group(0)", "int"},
			{"len(x)", "int"},
			{"scan(x, n)", "float32"},
			{"scan(x[id:], 3)", "float32"},
			{"s[(id*7)%96].sum()", "float64"},
		} {
			if m.name[0] == 's' && m.name[1] == '[' && t == "float64" {
				continue // others change s
			}
			if m.typ == t {
				fit = append(fit, m.name)
			}
		}
	}
	if len(fit) > 0 && (len(numbers) == 0 || g.r.IntN(4) > 0) {
		return fit[g.r.IntN(len(fit))]
	}
	if len(numbers) > 0 {
		return numbers[g.r.IntN(len(numbers))]
	}
	if t == "bool" {
		return g.compare(1)
	}
	for _, v := range g.vars { // of floats, or bool
		if v.typ == "float32" || v.typ == "float64" {
			return t + "(toInt(float64(" + v.name + ")))"
		}
		if v.typ == "bool" {
			return t + "(b2i(" + v.name + "))"
		}
	}
	return t + "(primes[b2i(true)])"
}

func (g *generator) literal(t string) string {
	switch {
	case t == "bool":
		return g.pick("true", "false")
	case strings.HasPrefix(t, "float"):
		return g.pick("0.1", "2", "-1.5", "1e10", "3.25e-3", "0", "1.0/3", "1e-40", "16777217")
	case strings.HasPrefix(t, "u"):
		return g.pick("1", "3", "200", "7", "255")
	}
	return g.pick("1", "-1", "100", "7", "-128", "127")
}

func (g *generator) compare(depth int) string {
	t := g.pick("int32", "float64", "uint8", "float32", "int", "uint64", "int16")
	return fmt.Sprintf("(%s %s %s)", g.leaf(t), g.pick("<", "<=", ">", ">=", "==", "!="), g.expr(t, depth-1))
}

func (g *generator) expr(t string, depth int) string {
	if depth <= 0 {
		return g.leaf(t)
	}
	x := func() string { return g.expr(t, depth-1) }
	if g.r.IntN(8) == 0 {
		for _, f := range g.funcs {
			if f.result == t && g.r.IntN(2) == 0 {
				var args []string
				for _, p := range f.params {
					args = append(args, g.expr(p, depth-2))
				}
				return fmt.Sprintf("%s(%s)", f.name, strings.Join(args, ", "))
			}
		}
	}
	switch {
	case t == "bool":
		switch g.r.IntN(4) {
		case 0:
			return fmt.Sprintf("(%s %s %s)", x(), g.pick("&&", "||"), x())
		case 1:
			return "!" + g.leaf(t)
		}
		return g.compare(depth)
	case strings.HasPrefix(t, "float"):
		return g.float(t, depth, x)
	}
	return g.integer(t, depth, x)
}

func (g *generator) float(t string, depth int, x func() string) string {
	switch g.r.IntN(10) {
	case 0:
		return fmt.Sprintf("gpu.FMA(%s, %s, %s)", x(), x(), x())
	case 1:
		return fmt.Sprintf("%s(%s, %s)", g.pick("min", "max"), x(), x())
	case 2:
		return fmt.Sprintf("%s(math.%s(float64(%s)))", t, g.pick("Sqrt", "Abs", "Floor", "Ceil", "Trunc"), x())
	case 3:
		return fmt.Sprintf("%s(%s)", t, g.expr(g.pick(genTypes[:12]...), depth-1))
	case 4:
		return fmt.Sprintf("(%s %s %s)", g.leaf(t), g.pick("+", "-", "*", "/"), g.literalNonZero(t))
	case 5:
		return fmt.Sprintf("(%s*%s + %s)", x(), x(), x())
	case 6:
		return "-" + g.leaf(t)
	case 7:
		return fmt.Sprintf("mk(%s, %s).width()", x(), x())
	}
	return fmt.Sprintf("(%s %s %s)", x(), g.pick("+", "-", "*", "/"), x())
}

func (g *generator) literalNonZero(t string) string {
	if s := g.literal(t); s != "0" {
		return s
	}
	return "2"
}

func (g *generator) integer(t string, depth int, x func() string) string {
	switch g.r.IntN(12) {
	case 0:
		return fmt.Sprintf("(%s %s (%s | 1))", x(), g.pick("/", "%"), x())
	case 1:
		return fmt.Sprintf("(%s %s %s)", x(), g.pick("<<", ">>"), g.expr(g.pick("uint8", "uint", "uint32"), depth-1))
	case 2:
		return fmt.Sprintf("(%s %s %d)", g.leaf(t), g.pick("<<", ">>"), g.r.IntN(70))
	case 3:
		return fmt.Sprintf("%s(%s)", t, g.expr(g.pick(genTypes[:10]...), depth-1))
	case 4:
		return fmt.Sprintf("%s(toInt(%s))", t, g.expr("float64", depth-1))
	case 5:
		return fmt.Sprintf("%s(%s, %s)", g.pick("min", "max"), x(), x())
	case 6:
		return fmt.Sprintf("(%s %s %s)", g.leaf(t), g.pick("+", "-", "*", "&", "|", "^", "&^"), g.literal(t))
	case 7:
		return g.pick("-", "^") + g.leaf(t)
	case 8:
		switch t {
		case "uint32":
			return fmt.Sprintf("bits.RotateLeft32(%s, %s)", x(), g.expr("int", 0))
		case "uint64":
			return fmt.Sprintf("bits.RotateLeft64(%s, %s)", x(), g.expr("int", 0))
		case "int":
			return fmt.Sprintf("bits.%s(%s)", g.pick("OnesCount32", "LeadingZeros32"), g.expr("uint32", depth-1))
		}
		return fmt.Sprintf("gpu.FMA(%s, %s, %s)", x(), x(), x())
	case 9:
		return fmt.Sprintf("mk(%s, %s).width()", x(), x())
	}
	return fmt.Sprintf("(%s %s %s)", x(), g.pick("+", "-", "*", "&", "|", "^", "&^"), x())
}

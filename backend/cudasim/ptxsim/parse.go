package ptxsim

import (
	"slices"
	"strings"
)

const (
	maxNesting  = 64      // of blocks, operands and initialisers
	maxVariable = 1 << 30 // bytes of a variable
	maxRegs     = 1 << 20 // registers of one .reg
)

// parse makes the tree of a PTX module.
func parse(text string) *moduleTree {
	p := &parser{toks: lex(text), mod: &moduleTree{files: map[int32]string{}}}
	for p.peek().kind != tokenEOF {
		p.module()
	}
	if p.mod.target == "" {
		refuse(p.peek().line, "no .target: this is not a PTX module")
	}
	return p.mod
}

type parser struct {
	toks  []token // ends with tokenEOF, which next never passes
	pos   int
	depth int // of nesting
	mod   *moduleTree
	loc   *location
	locs  map[location]*location // of the function so far, by place
}

func (p *parser) peek() token { return p.toks[p.pos] }

func (p *parser) next() token {
	t := p.toks[p.pos]
	if t.kind != tokenEOF {
		p.pos++
	}
	return t
}

// is reports whether the next token is text.
func (p *parser) is(text string) bool {
	t := p.peek()
	return t.text == text && t.kind != tokenString && t.kind != tokenEOF
}

// accept moves behind the next token if it is text.
func (p *parser) accept(text string) bool {
	found := p.is(text)
	if found {
		p.pos++
	}
	return found
}

// oneOf moves behind the next token if it is one of texts, and gives it; "" otherwise.
func (p *parser) oneOf(texts ...string) string {
	if i := slices.IndexFunc(texts, p.accept); i >= 0 {
		return texts[i]
	}
	return ""
}

func (p *parser) expect(text string) {
	if t := p.peek(); !p.accept(text) {
		refuse(t.line, "expected %q, found %q", text, t.text)
	}
}

// take is the text of the next token, which must be of this kind.
func (p *parser) take(kind tokenKind, what string) string {
	t := p.next()
	if t.kind != kind {
		refuse(t.line, "expected %s, found %q", what, t.text)
	}
	return t.text
}

func (p *parser) word(what string) string { return p.take(tokenWord, what) }

// integer is a decimal, octal, hexadecimal or binary number, with an optional minus.
func (p *parser) integer(what string) int64 {
	neg := p.accept("-")
	t := p.peek()
	v, ok := parseInt(p.take(tokenNumber, what))
	if !ok {
		refuse(t.line, "expected %s, found %q", what, t.text)
	}
	if neg {
		v = -v
	}
	return int64(v)
}

// small is a number from 0 to limit.
func (p *parser) small(what string, limit int64) int {
	line := p.peek().line
	v := p.integer(what)
	if v < 0 || v > limit {
		refuse(line, "%s of %d is not between 0 and %d", what, v, limit)
	}
	return int(v)
}

// list parses items with commas between them, up to end.
func (p *parser) list(end string, item func()) {
	if p.accept(end) {
		return
	}
	item()
	for p.accept(",") {
		item()
	}
	p.expect(end)
}

// nested parses what may hold others of its kind.
func (p *parser) nested(what string, f func()) {
	if p.depth++; p.depth > maxNesting {
		refuse(p.peek().line, "%s are nested too deeply", what)
	}
	f()
	p.depth--
}

// module parses one directive at module level.
func (p *parser) module() {
	extern := false
	for {
		linking := p.oneOf(".extern", ".visible", ".weak", ".common", ".internal")
		if linking == "" {
			break
		}
		extern = extern || linking == ".extern"
	}
	d := p.next()
	switch d.text {
	case ".version":
		p.take(tokenNumber, "a number after .version")
	case ".address_size":
		if bits := p.take(tokenNumber, "a number after .address_size"); bits != "64" {
			refuse(d.line, "addresses of %s bits: only 64 are simulated", bits)
		}
	case ".target": // sm_75, debug
		p.mod.targetLine = p.peek().line
		p.mod.target = p.word("a target")
		for p.accept(",") {
			p.word("a target option")
		}
	case ".file":
		p.file()
	case ".section":
		p.section()
	case ".pragma":
		p.pragma()
	case ".entry", ".func":
		p.function(d.text == ".entry", extern)
	case ".global", ".const", ".shared", ".local":
		p.mod.vars = append(p.mod.vars, p.variables(d.text[1:], extern)...)
	default:
		refuse(d.line, "unknown directive %q", d.text)
	}
}

// file parses: number "name" [, time, size].
func (p *parser) file() {
	n := p.small("file number", 1<<30)
	p.mod.files[int32(n)] = p.take(tokenString, "a file name")
	for p.accept(",") {
		p.integer("a number")
	}
}

// section skips a section of debugging information.
func (p *parser) section() {
	p.word("a section name")
	p.expect("{")
	for depth := 1; depth > 0; {
		switch {
		case p.accept("{"):
			depth++
		case p.accept("}"):
			depth--
		case p.next().kind == tokenEOF:
			refuse(p.peek().line, "a section does not end")
		}
	}
}

func (p *parser) pragma() { p.list(";", func() { p.take(tokenString, "a string") }) }

// variables parses what follows .global and the like, to the semicolon: [.align n] [.v4] .type name
// [dimensions] [= value], ...
func (p *parser) variables(space string, extern bool) (out []*varDecl) {
	base := varDecl{line: p.peek().line, space: space, extern: extern}
	lanes := p.varType(&base)
	p.list(";", func() {
		v := base
		p.declarator(&v, lanes)
		out = append(out, &v)
	})
	return out
}

// varType parses the attributes and the type of a declaration, and gives the elements of a vector.
func (p *parser) varType(v *varDecl) (lanes int64) {
	lanes = 1
	for {
		t := p.next()
		switch t.text {
		case ".align":
			v.align = p.alignment()
			continue
		case ".v2", ".v4":
			lanes = int64(t.text[2] - '0')
			continue
		}
		ty, ok := types[strings.TrimPrefix(t.text, ".")]
		if !ok || t.text[0] != '.' {
			refuse(t.line, "expected a type, found %q", t.text)
		}
		v.typ = ty
		if v.align == 0 {
			v.align = max(1, ty.size()*int(lanes))
		}
		return lanes
	}
}

func (p *parser) alignment() int {
	line := p.peek().line
	n := p.small("alignment", 1<<16)
	if n == 0 || n&(n-1) != 0 {
		refuse(line, "an alignment of %d is not a power of two", n)
	}
	return n
}

// declarator parses a name with its register count, dimensions and initialiser.
func (p *parser) declarator(v *varDecl, lanes int64) {
	v.line = p.peek().line
	v.name = p.word("a name")
	switch {
	case v.space == "reg" && lanes > 1:
		refuse(v.line, "registers that are vectors are not simulated")
	case v.space == "reg":
		if p.accept("<") {
			v.count = p.small("number of registers", maxRegs)
			p.expect(">")
		}
		return
	case v.typ.class == pred:
		refuse(v.line, "%s is a predicate in .%s: predicates are registers", v.name, v.space)
	}
	v.size = lanes * int64(v.typ.size())
	open := false
	for p.accept("[") {
		if p.accept("]") {
			open = true
			continue
		}
		if v.size *= int64(p.small("dimension", maxVariable)); v.size > maxVariable {
			refuse(v.line, "%s is larger than %d bytes", v.name, maxVariable)
		}
		p.expect("]")
	}
	if p.accept("=") {
		p.initialiser(&v.init)
	}
	if open {
		v.size = int64(len(v.init)) * int64(v.typ.size())
	}
}

// initialiser parses a value, or values in braces, which may be nested.
func (p *parser) initialiser(out *[]initValue) {
	if !p.accept("{") {
		*out = append(*out, p.initValue())
		return
	}
	p.nested("braces", func() {
		p.list("}", func() { p.initialiser(out) })
	})
}

// initValue parses a number, symbol, symbol+n or generic(symbol)+n.
func (p *parser) initValue() initValue {
	if p.peek().kind != tokenWord {
		return initValue{value: p.literal()}
	}
	name := p.word("a symbol")
	if name == "generic" && p.accept("(") {
		name = p.word("a symbol")
		p.expect(")")
	}
	return initValue{symbol: name, value: literal{bits: uint64(p.offset())}}
}

// offset parses an optional +n, -n or +-n.
func (p *parser) offset() int64 {
	if p.accept("+") || p.is("-") {
		return p.integer("an offset")
	}
	return 0
}

func (p *parser) literal() literal {
	sign := p.oneOf("-", "+")
	t := p.peek()
	l, ok := parseLiteral(p.take(tokenNumber, "a number"))
	if !ok {
		refuse(t.line, "expected a number, found %q", t.text)
	}
	if sign == "-" {
		return l.negate()
	}
	return l
}

package ptxsim

import "strings"

// function parses what follows .entry or .func: [(results)] name [(parameters)] directives, and a
// body or a semicolon.
func (p *parser) function(entry, extern bool) {
	f := &funcTree{line: p.peek().line, entry: entry}
	p.loc, p.locs = nil, map[location]*location{}
	if !entry {
		f.rets = p.params()
	}
	f.name = p.word("a function's name")
	f.params = p.params()
	for p.performance(f) {
	}
	if p.accept(";") {
		f.extern = true
	} else {
		f.body = p.block()
	}
	if extern && !f.extern {
		refuse(f.line, "%s is .extern and has a body", f.name)
	}
	p.mod.funcs = append(p.mod.funcs, f)
}

// params parses (.param .u64 .ptr .global .align 4 a, .param .align 8 .b8 b[16]), if it is there.
func (p *parser) params() (out []*varDecl) {
	if !p.accept("(") {
		return nil
	}
	p.list(")", func() {
		p.expect(".param")
		v := &varDecl{space: "param"}
		lanes := p.varType(v)
		if p.accept(".ptr") { // the space and alignment that it points to
			v.pointer = true
			p.oneOf(".global", ".const", ".shared", ".local")
			if p.accept(".align") {
				p.alignment()
			}
		}
		p.declarator(v, lanes)
		out = append(out, v)
	})
	return out
}

// performance parses a directive between a function's parameters and its body; false if none is
// there.
func (p *parser) performance(f *funcTree) bool {
	d := p.peek()
	if d.kind != tokenWord {
		return false
	}
	p.next()
	switch d.text {
	case ".reqntid":
		f.reqntid = p.dims(d.text)
	case ".maxntid":
		f.maxntid = p.dims(d.text)
	case ".minnctapersm", ".maxnctapersm", ".maxnreg":
		p.integer("a number")
	case ".noreturn":
	case ".pragma":
		p.pragma()
	default:
		refuse(d.line, "unknown directive %q", d.text)
	}
	return true
}

// dims parses x[, y[, z]].
func (p *parser) dims(what string) [3]int {
	d := [3]int{p.small(what, 1<<16), 1, 1}
	for i := 1; i < 3 && p.accept(","); i++ {
		d[i] = p.small(what, 1<<16)
	}
	return d
}

// block parses { ... }.
func (p *parser) block() *block {
	b := &block{}
	p.nested("blocks", func() {
		p.expect("{")
		for !p.accept("}") {
			p.item(b)
		}
	})
	return b
}

// item parses a declaration, label, instruction, directive or inner block of a function's body.
func (p *parser) item(b *block) {
	t := p.peek()
	switch t.text {
	case "{":
		b.items = append(b.items, blockItem{line: t.line, block: p.block()})
		return
	case ".loc":
		p.next()
		p.location()
		return
	case ".pragma":
		p.next()
		p.pragma()
		return
	case ".reg", ".local", ".shared", ".param", ".global", ".const", ".extern":
		p.next()
		space, extern := t.text, t.text == ".extern"
		if extern {
			space = ".shared"
			p.expect(space)
		}
		for _, v := range p.variables(space[1:], extern) {
			b.items = append(b.items, blockItem{line: v.line, decl: v})
		}
		return
	}
	if t.kind == tokenWord && p.toks[p.pos+1].text == ":" {
		p.pos += 2
		b.items = append(b.items, blockItem{line: t.line, label: t.text})
		return
	}
	b.items = append(b.items, blockItem{line: t.line, stmt: p.statement()})
}

// location parses: file line column [, function_name label, inlined_at file line column].
func (p *parser) location() {
	at := p.position()
	l := &location{file: at.file, line: at.line, column: at.column}
	if p.accept(",") {
		p.expect("function_name")
		p.word("a label")
		p.offset()
		p.expect(",")
		p.expect("inlined_at")
		outer := p.position()
		if l.inlinedAt = p.locs[outer]; l.inlinedAt == nil { // else it knows where it was itself inlined
			l.inlinedAt = &outer
		}
	}
	p.loc, p.locs[at] = l, l
}

func (p *parser) position() location {
	number := func() int32 { return int32(p.small("a line number", 1<<30)) }
	return location{file: number(), line: number(), column: number()}
}

// statement parses [@[!]p] name.modifiers operands ; and the lists of labels that look like it.
func (p *parser) statement() *stmt {
	s := &stmt{line: p.peek().line, loc: p.loc}
	if p.accept("@") {
		s.guardNot = p.accept("!")
		s.guard = p.word("a predicate")
	}
	name := p.word("an instruction")
	parts := strings.Split(strings.TrimPrefix(name, "."), ".")
	s.name, s.mods = parts[0], parts[1:]
	if strings.HasPrefix(name, ".") && name != ".branchtargets" {
		refuse(s.line, "unknown directive %q", name)
	}
	p.list(";", func() { s.args = append(s.args, p.operand()) })
	return s
}

func (p *parser) operand() (a operand) {
	t := p.peek()
	switch p.oneOf("{", "(", "[", "!") {
	case "{":
		return p.operands("}")
	case "(":
		return p.operands(")")
	case "[":
		return p.memory()
	case "!":
		return operand{name: p.word("a predicate after !"), not: true}
	}
	if t.kind != tokenWord {
		return operand{kind: operandLiteral, lit: p.literal()}
	}
	a.name = p.word("an operand")
	if p.accept("|") {
		return operand{kind: operandPair, list: []operand{a, {name: p.word("a register")}}}
	}
	a.offset = p.offset()
	return a
}

// operands parses a list of operands, up to end.
func (p *parser) operands(end string) operand {
	a := operand{kind: operandList}
	p.nested("operands", func() {
		p.list(end, func() { a.list = append(a.list, p.operand()) })
	})
	return a
}

// memory parses an address behind its [.
func (p *parser) memory() (a operand) {
	a.kind = operandMemory
	if p.peek().kind == tokenWord {
		a.name = p.word("an address")
		a.offset = p.offset()
	} else {
		a.offset = p.integer("an address")
	}
	p.expect("]")
	return a
}

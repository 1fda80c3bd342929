package ptxsim

import "strings"

// function parses what follows .entry or .func: [(results)] name [(parameters)] directives, and a
// body or a semicolon.
func (p *parser) function(entry, extern bool) (err error) {
	f := &funcTree{line: p.peek().line, entry: entry}
	p.loc, p.locs = nil, map[location]*location{}
	if !entry && p.peek().text == "(" {
		if f.rets, err = p.params(); err != nil {
			return err
		}
	}
	if f.name, err = p.word("a function's name"); err != nil {
		return err
	}
	if p.peek().text == "(" {
		if f.params, err = p.params(); err != nil {
			return err
		}
	}
	if err := p.performance(f); err != nil {
		return err
	}
	if p.accept(";") {
		f.extern = true
	} else if f.body, err = p.block(0); err != nil {
		return err
	}
	if extern && !f.extern {
		return errorAt(f.line, "%s is .extern and has a body", f.name)
	}
	p.mod.funcs = append(p.mod.funcs, f)
	return nil
}

// params parses (.param .u64 .ptr .global .align 4 a, .param .align 8 .b8 b[16]).
func (p *parser) params() (out []*varDecl, err error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	if p.accept(")") {
		return nil, nil
	}
	for {
		if err := p.expect(".param"); err != nil {
			return nil, err
		}
		v := &varDecl{space: "param"}
		lanes, err := p.varType(v)
		if err != nil {
			return nil, err
		}
		if p.accept(".ptr") {
			v.pointer = true
			if err := p.pointer(); err != nil {
				return nil, err
			}
		}
		if err := p.declarator(v, lanes); err != nil {
			return nil, err
		}
		out = append(out, v)
		if !p.accept(",") {
			return out, p.expect(")")
		}
	}
}

// pointer parses the space and alignment that a parameter points to.
func (p *parser) pointer() error {
	switch p.peek().text {
	case ".global", ".const", ".shared", ".local":
		p.next()
	}
	if p.accept(".align") {
		_, err := p.alignment()
		return err
	}
	return nil
}

// performance parses the directives between a function's parameters and its body.
func (p *parser) performance(f *funcTree) error {
	for {
		d := p.peek()
		switch d.text {
		case ".reqntid", ".maxntid":
			p.next()
			dims, err := p.dims(d.text)
			if err != nil {
				return err
			}
			if d.text == ".reqntid" {
				f.reqntid = dims
			} else {
				f.maxntid = dims
			}
		case ".minnctapersm", ".maxnctapersm", ".maxnreg":
			p.next()
			if _, err := p.integer("a number"); err != nil {
				return err
			}
		case ".noreturn":
			p.next()
		case ".pragma":
			p.next()
			if err := p.pragma(); err != nil {
				return err
			}
		default:
			if d.kind == tokenWord {
				return errorAt(d.line, "unknown directive %q", d.text)
			}
			return nil
		}
	}
}

// dims parses x[, y[, z]].
func (p *parser) dims(what string) ([3]int, error) {
	d := [3]int{1, 1, 1}
	for i := range d {
		n, err := p.small(what, 1<<16)
		if err != nil {
			return d, err
		}
		d[i] = n
		if !p.accept(",") {
			break
		}
	}
	return d, nil
}

// block parses { ... }.
func (p *parser) block(depth int) (*block, error) {
	if depth > maxNesting {
		return nil, errorAt(p.peek().line, "blocks are nested too deeply")
	}
	if err := p.expect("{"); err != nil {
		return nil, err
	}
	b := &block{}
	for !p.accept("}") {
		if err := p.item(b, depth); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// item parses a declaration, label, instruction, directive or inner block of a function's body.
func (p *parser) item(b *block, depth int) error {
	t := p.peek()
	switch t.text {
	case "{":
		inner, err := p.block(depth + 1)
		b.items = append(b.items, blockItem{line: t.line, block: inner})
		return err
	case ".loc":
		p.next()
		return p.location()
	case ".pragma":
		p.next()
		return p.pragma()
	case ".reg", ".local", ".shared", ".param", ".global", ".const", ".extern":
		p.next()
		extern := t.text == ".extern"
		if extern {
			if t = p.next(); t.text != ".shared" {
				return errorAt(t.line, "expected .shared after .extern, found %q", t.text)
			}
		}
		vars, err := p.variables(t.text[1:], extern)
		for _, v := range vars {
			b.items = append(b.items, blockItem{line: v.line, decl: v})
		}
		return err
	}
	if t.kind == tokenWord && p.toks[p.pos+1].text == ":" {
		p.pos += 2
		b.items = append(b.items, blockItem{line: t.line, label: t.text})
		return nil
	}
	s, err := p.statement()
	b.items = append(b.items, blockItem{line: t.line, stmt: s})
	return err
}

// location parses: file line column [, function_name label, inlined_at file line column].
func (p *parser) location() error {
	l, err := p.position()
	if err != nil {
		return err
	}
	if p.accept(",") {
		if err := p.expect("function_name"); err != nil {
			return err
		}
		if _, err := p.word("a label"); err != nil {
			return err
		}
		if _, err := p.offset(); err != nil {
			return err
		}
		if err := p.expect(","); err != nil {
			return err
		}
		if err := p.expect("inlined_at"); err != nil {
			return err
		}
		at, err := p.position()
		if err != nil {
			return err
		}
		if known, ok := p.locs[*at]; ok { // which knows where it was itself inlined
			at = known
		}
		l.inlinedAt = at
	}
	p.loc = l
	p.locs[location{file: l.file, line: l.line, column: l.column}] = l
	return nil
}

func (p *parser) position() (*location, error) {
	var v [3]int32
	for i := range v {
		n, err := p.small("a line number", 1<<30)
		if err != nil {
			return nil, err
		}
		v[i] = int32(n)
	}
	return &location{file: v[0], line: v[1], column: v[2]}, nil
}

// statement parses [@[!]p] name.modifiers operands ; and the lists of labels that look like it.
func (p *parser) statement() (s *stmt, err error) {
	s = &stmt{line: p.peek().line, loc: p.loc}
	if p.accept("@") {
		s.guardNot = p.accept("!")
		if s.guard, err = p.word("a predicate"); err != nil {
			return nil, err
		}
	}
	name, err := p.word("an instruction")
	if err != nil {
		return nil, err
	}
	parts := strings.Split(strings.TrimPrefix(name, "."), ".")
	s.name, s.mods = parts[0], parts[1:]
	if strings.HasPrefix(name, ".") && name != ".branchtargets" {
		return nil, errorAt(s.line, "unknown directive %q", name)
	}
	for !p.accept(";") {
		a, err := p.operand(0)
		if err != nil {
			return nil, err
		}
		s.args = append(s.args, a)
		if !p.accept(",") {
			return s, p.expect(";")
		}
	}
	return s, nil
}

func (p *parser) operand(depth int) (a operand, err error) {
	t := p.peek()
	if depth > maxNesting {
		return a, errorAt(t.line, "operands are nested too deeply")
	}
	switch t.text {
	case "{", "(":
		p.next()
		return p.list(map[string]string{"{": "}", "(": ")"}[t.text], depth)
	case "[":
		p.next()
		return p.memory()
	case "!":
		p.next()
		a, err = p.operand(depth + 1)
		if err == nil && (a.kind != operandName || a.not || a.offset != 0) {
			err = errorAt(t.line, "expected a predicate after !")
		}
		a.not = true
		return a, err
	}
	if t.kind != tokenWord {
		a.kind = operandLiteral
		a.lit, err = p.literal()
		return a, err
	}
	a.name = p.next().text
	if p.accept("|") {
		second, err := p.word("a register")
		return operand{kind: operandPair, list: []operand{a, {name: second}}}, err
	}
	a.offset, err = p.offset()
	return a, err
}

func (p *parser) list(end string, depth int) (operand, error) {
	a := operand{kind: operandList}
	for !p.accept(end) {
		e, err := p.operand(depth + 1)
		if err != nil {
			return a, err
		}
		a.list = append(a.list, e)
		if !p.accept(",") {
			return a, p.expect(end)
		}
	}
	return a, nil
}

// memory parses an address behind its [.
func (p *parser) memory() (a operand, err error) {
	a.kind = operandMemory
	if p.peek().kind == tokenWord {
		a.name = p.next().text
		if a.offset, err = p.offset(); err != nil {
			return a, err
		}
	} else if a.offset, err = p.integer("an address"); err != nil {
		return a, err
	}
	return a, p.expect("]")
}

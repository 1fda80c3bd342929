package ptxsim

import (
	"strings"
)

const (
	maxNesting  = 64      // of blocks, operands and initialisers
	maxVariable = 1 << 30 // bytes of a variable
	maxRegs     = 1 << 20 // registers of one .reg
)

// parse makes the tree of a PTX module.
func parse(text string) (*moduleTree, error) {
	toks, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &parser{toks: toks, mod: &moduleTree{files: map[int32]string{}}}
	for p.peek().kind != tokenEOF {
		if err := p.module(); err != nil {
			return nil, err
		}
	}
	if p.mod.target == "" {
		return nil, errorAt(p.peek().line, "no .target: this is not a PTX module")
	}
	return p.mod, nil
}

type parser struct {
	toks []token // ends with tokenEOF, which next never passes
	pos  int
	mod  *moduleTree
	loc  *location
	locs map[location]*location // of the function so far, by place
}

func (p *parser) peek() token { return p.toks[p.pos] }

func (p *parser) next() token {
	t := p.toks[p.pos]
	if t.kind != tokenEOF {
		p.pos++
	}
	return t
}

// accept moves behind the next token if it is text.
func (p *parser) accept(text string) bool {
	t := p.peek()
	if t.text != text || t.kind == tokenString || t.kind == tokenEOF {
		return false
	}
	p.pos++
	return true
}

func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return errorAt(p.peek().line, "expected %q, found %q", text, p.peek().text)
	}
	return nil
}

func (p *parser) word(what string) (string, error) {
	if t := p.peek(); t.kind != tokenWord {
		return "", errorAt(t.line, "expected %s, found %q", what, t.text)
	}
	return p.next().text, nil
}

// integer is a decimal, octal, hexadecimal or binary number, with an optional minus.
func (p *parser) integer(what string) (int64, error) {
	neg := p.accept("-")
	t := p.next()
	v, ok := parseInt(t.text)
	if t.kind != tokenNumber || !ok {
		return 0, errorAt(t.line, "expected %s, found %q", what, t.text)
	}
	if neg {
		v = -v
	}
	return int64(v), nil
}

// small is a number from 0 to limit.
func (p *parser) small(what string, limit int64) (int, error) {
	line := p.peek().line
	v, err := p.integer(what)
	if err == nil && (v < 0 || v > limit) {
		err = errorAt(line, "%s of %d is not between 0 and %d", what, v, limit)
	}
	return int(v), err
}

// module parses one directive at module level.
func (p *parser) module() error {
	t := p.peek()
	extern := false
	for {
		switch p.peek().text {
		case ".extern":
			extern = true
			fallthrough
		case ".visible", ".weak", ".common", ".internal":
			p.next()
			continue
		}
		break
	}
	switch d := p.peek(); d.text {
	case ".version", ".address_size":
		p.next()
		if v := p.next(); v.kind != tokenNumber {
			return errorAt(v.line, "expected a number after %s, found %q", d.text, v.text)
		} else if d.text == ".address_size" && v.text != "64" {
			return errorAt(v.line, "addresses of %s bits: only 64 are simulated", v.text)
		}
		return nil
	case ".target":
		p.next()
		return p.target()
	case ".file":
		p.next()
		return p.file()
	case ".section":
		p.next()
		return p.section()
	case ".pragma":
		p.next()
		return p.pragma()
	case ".entry", ".func":
		p.next()
		return p.function(d.text == ".entry", extern)
	case ".global", ".const", ".shared", ".local":
		p.next()
		vars, err := p.variables(d.text[1:], extern)
		p.mod.vars = append(p.mod.vars, vars...)
		return err
	}
	return errorAt(t.line, "unknown directive %q", p.peek().text)
}

// target parses "sm_75, debug".
func (p *parser) target() error {
	line := p.peek().line
	name, err := p.word("a target")
	if err != nil {
		return err
	}
	p.mod.target, p.mod.targetLine = name, line
	for p.accept(",") {
		if _, err := p.word("a target option"); err != nil {
			return err
		}
	}
	return nil
}

// file parses: number "name" [, time, size].
func (p *parser) file() error {
	n, err := p.small("file number", 1<<30)
	if err != nil {
		return err
	}
	t := p.next()
	if t.kind != tokenString {
		return errorAt(t.line, "expected a file name, found %q", t.text)
	}
	p.mod.files[int32(n)] = t.text
	for p.accept(",") {
		if _, err := p.integer("a number"); err != nil {
			return err
		}
	}
	return nil
}

// section skips a section of debugging information.
func (p *parser) section() error {
	if _, err := p.word("a section name"); err != nil {
		return err
	}
	if err := p.expect("{"); err != nil {
		return err
	}
	for depth := 1; depth > 0; {
		switch t := p.next(); {
		case t.kind == tokenEOF:
			return errorAt(t.line, "a section does not end")
		case t.kind == tokenPunct && t.text == "{":
			depth++
		case t.kind == tokenPunct && t.text == "}":
			depth--
		}
	}
	return nil
}

func (p *parser) pragma() error {
	for {
		if t := p.next(); t.kind != tokenString {
			return errorAt(t.line, "expected a string, found %q", t.text)
		}
		if !p.accept(",") {
			return p.expect(";")
		}
	}
}

// variables parses what follows .global and the like, to the semicolon: [.align n] [.v4] .type name
// [dimensions] [= value], ...
func (p *parser) variables(space string, extern bool) ([]*varDecl, error) {
	base := varDecl{line: p.peek().line, space: space, extern: extern}
	lanes, err := p.varType(&base)
	if err != nil {
		return nil, err
	}
	var out []*varDecl
	for {
		v := base
		if err := p.declarator(&v, lanes); err != nil {
			return nil, err
		}
		out = append(out, &v)
		if !p.accept(",") {
			return out, p.expect(";")
		}
	}
}

// varType parses the attributes and the type of a declaration, and gives the elements of a vector.
func (p *parser) varType(v *varDecl) (lanes int64, err error) {
	lanes = 1
	for {
		t := p.peek()
		switch t.text {
		case ".align":
			p.next()
			if v.align, err = p.alignment(); err != nil {
				return 0, err
			}
			continue
		case ".v2", ".v4":
			p.next()
			lanes = int64(t.text[2] - '0')
			continue
		}
		ty, ok := types[strings.TrimPrefix(t.text, ".")]
		if !ok || t.text[0] != '.' {
			return 0, errorAt(t.line, "expected a type, found %q", t.text)
		}
		p.next()
		v.typ = ty
		if v.align == 0 {
			v.align = max(1, ty.size()*int(lanes))
		}
		return lanes, nil
	}
}

func (p *parser) alignment() (int, error) {
	line := p.peek().line
	n, err := p.small("alignment", 1<<16)
	if err == nil && (n == 0 || n&(n-1) != 0) {
		err = errorAt(line, "an alignment of %d is not a power of two", n)
	}
	return n, err
}

// declarator parses a name with its register count, dimensions and initialiser.
func (p *parser) declarator(v *varDecl, lanes int64) (err error) {
	v.line = p.peek().line
	if v.name, err = p.word("a name"); err != nil {
		return err
	}
	if v.space == "reg" {
		if lanes > 1 {
			return errorAt(v.line, "registers that are vectors are not simulated")
		}
		if p.accept("<") {
			if v.count, err = p.small("number of registers", maxRegs); err != nil {
				return err
			}
			return p.expect(">")
		}
		return nil
	}
	if v.typ.class == pred {
		return errorAt(v.line, "%s is a predicate in .%s: predicates are registers", v.name, v.space)
	}
	v.size = lanes * int64(v.typ.size())
	open := false
	for p.accept("[") {
		if p.accept("]") {
			open = true
			continue
		}
		n, err := p.small("dimension", maxVariable)
		if err != nil {
			return err
		}
		if v.size *= int64(n); v.size > maxVariable {
			return errorAt(v.line, "%s is larger than %d bytes", v.name, maxVariable)
		}
		if err := p.expect("]"); err != nil {
			return err
		}
	}
	if p.accept("=") {
		if v.init, err = p.initialiser(nil, 0); err != nil {
			return err
		}
	}
	if open {
		v.size = int64(len(v.init)) * int64(v.typ.size())
	}
	return nil
}

// initialiser parses a value, or values in braces, which may be nested.
func (p *parser) initialiser(out []initValue, depth int) ([]initValue, error) {
	if depth > maxNesting {
		return nil, errorAt(p.peek().line, "braces are nested too deeply")
	}
	if !p.accept("{") {
		v, err := p.initValue()
		return append(out, v), err
	}
	if p.accept("}") {
		return out, nil
	}
	for {
		var err error
		if out, err = p.initialiser(out, depth+1); err != nil {
			return nil, err
		}
		if !p.accept(",") {
			return out, p.expect("}")
		}
	}
}

// initValue parses a number, symbol, symbol+n or generic(symbol)+n.
func (p *parser) initValue() (initValue, error) {
	if t := p.peek(); t.kind != tokenWord {
		l, err := p.literal()
		return initValue{value: l}, err
	}
	name := p.next().text
	if name == "generic" && p.accept("(") {
		var err error
		if name, err = p.word("a symbol"); err != nil {
			return initValue{}, err
		}
		if err := p.expect(")"); err != nil {
			return initValue{}, err
		}
	}
	offset, err := p.offset()
	return initValue{symbol: name, value: literal{bits: uint64(offset)}}, err
}

// offset parses an optional +n, -n or +-n.
func (p *parser) offset() (int64, error) {
	switch p.peek().text {
	case "+":
		p.next()
		return p.integer("an offset")
	case "-":
		return p.integer("an offset")
	}
	return 0, nil
}

func (p *parser) literal() (literal, error) {
	neg := p.accept("-")
	if !neg {
		p.accept("+")
	}
	t := p.next()
	l, ok := parseLiteral(t.text)
	if t.kind != tokenNumber || !ok {
		return l, errorAt(t.line, "expected a number, found %q", t.text)
	}
	if neg {
		l = l.negate()
	}
	return l, nil
}

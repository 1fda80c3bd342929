package driverkit

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
)

// ParseParams reads the parameters of kernel s.Name from s.Text, and the group size that it is
// written for (zero where it takes any). It knows what kernels in the portable dialect use in their
// heads: object-like macros, conditionals, typedefs, the scalar and vector types,
// reqd_work_group_size and WG_SIZE. A type that it cannot resolve becomes a parameter of unknown
// size. The error matches ErrBuild; Params and Group of the Source spare the reading.
func ParseParams(s *backend.Source) (params []backend.Param, group [3]int, err error) {
	if s.Params != nil {
		return s.Params, s.Group, nil
	}
	p := parser{macros: map[string][]string{}, typedefs: map[string][]string{}, structs: map[string]string{}}
	fail := func(err error) ([]backend.Param, [3]int, error) {
		return nil, [3]int{}, backend.Failure("", "driverkit.ParseParams", backend.ErrBuild,
			"%s: %v; Source.Params can declare the parameters instead", s.FileName(), err)
	}
	for name, value := range s.Macros {
		p.macros[name] = tokenize(value)
	}
	if err := p.preprocess(s.Unpacked().Text); err != nil {
		return fail(err)
	}
	if params, group, err = p.kernel(s.Name); err != nil {
		return fail(err)
	}
	if s.Group != [3]int{} {
		group = s.Group
	}
	return params, group, nil
}

// parser holds what of a translation unit matters for the heads of its kernels.
type parser struct {
	macros   map[string][]string // object-like macros
	typedefs map[string][]string
	structs  map[string]string // the numbers that they are made of: Go's name of the type, where there is one type
	tokens   []string          // the text after preprocessing, macros expanded
	steps    int               // of the expansion of macros
	tooLarge bool              // they were not expanded to the end
}

// Bounds on what is read and done, so that macros which double each other end in an error.
const (
	maxTokens  = 1 << 18
	maxSteps   = 2 * maxTokens
	maxNesting = 64
)

var errTooLarge = errors.New("macros expand to too much")

var (
	comments   = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	tokenRE    = regexp.MustCompile(`[A-Za-z_]\w*|\d\w*|"(?:[^"\\]|\\.)*"|<<|>>|<=|>=|==|!=|&&|\|\||\S`)
	identifier = regexp.MustCompile(`^[A-Za-z_]\w*$`)
	definedRE  = regexp.MustCompile(`\bdefined(?:\s*\(\s*(\w+)\s*\)|\s+(\w+))`)
)

func tokenize(s string) []string { return tokenRE.FindAllString(s, -1) }

// preprocess follows #define, #undef and conditionals, and expands object-like macros. Other
// directives are passed over.
func (p *parser) preprocess(text string) error {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\\\n", " ")
	text = comments.ReplaceAllStringFunc(text,
		func(c string) string { return strings.Repeat("\n", strings.Count(c, "\n")) + " " })
	var conds conditionals
	for n, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if !strings.HasPrefix(trimmed, "#") {
			if conds.active() {
				p.tokens = p.expand(p.tokens, tokenize(line), nil)
			}
			if p.tooLarge || len(p.tokens) > maxTokens {
				return fmt.Errorf("line %d: %w", n+1, errTooLarge)
			}
			continue
		}
		if err := p.directive(&conds, strings.TrimSpace(trimmed[1:])); err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	if len(conds) > 0 {
		return fmt.Errorf("#if without #endif")
	}
	return nil
}

// conditionals is the stack of open #if: whether its present branch is taken, and whether some
// branch was.
type conditionals []struct{ on, done bool }

func (c conditionals) active() bool {
	for _, f := range c {
		if !f.on {
			return false
		}
	}
	return true
}

func (p *parser) directive(conds *conditionals, line string) error {
	name, rest := line, ""
	if i := strings.IndexFunc(line, func(r rune) bool { return r < 'a' || r > 'z' }); i >= 0 {
		name, rest = line[:i], line[i:]
	}
	top := len(*conds) - 1
	switch name {
	case "if", "ifdef", "ifndef":
		on := false
		if conds.active() {
			var err error
			if on, err = p.condition(name, rest); err != nil {
				return err
			}
		}
		*conds = append(*conds, struct{ on, done bool }{on, on || !conds.active()})
	case "elif", "else", "endif":
		if top < 0 {
			return fmt.Errorf("#%s without #if", name)
		}
		f := &(*conds)[top]
		switch {
		case name == "endif":
			*conds = (*conds)[:top]
		case f.done:
			f.on = false
		case name == "else":
			f.on, f.done = true, true
		default:
			on, err := p.condition("if", rest)
			if err != nil {
				return err
			}
			f.on, f.done = on, on
		}
	case "define", "undef":
		if !conds.active() {
			return nil
		}
		rest = strings.TrimLeft(rest, " \t")
		t := tokenize(rest)
		if len(t) == 0 {
			return fmt.Errorf("#%s without a name", name)
		}
		delete(p.macros, t[0])
		if functionLike := strings.HasPrefix(rest[len(t[0]):], "("); name == "define" && !functionLike {
			p.macros[t[0]] = t[1:]
		}
	}
	return nil
}

// condition evaluates the rest of an #if, #ifdef or #ifndef.
func (p *parser) condition(kind, rest string) (bool, error) {
	t := tokenize(rest)
	if kind != "if" {
		if len(t) == 0 {
			return false, fmt.Errorf("#%s without a name", kind)
		}
		_, defined := p.macros[t[0]]
		return defined == (kind == "ifdef"), nil
	}
	t = tokenize(definedRE.ReplaceAllStringFunc(rest, func(s string) string {
		name := definedRE.FindStringSubmatch(s)
		if _, ok := p.macros[name[1]+name[2]]; ok {
			return "1"
		}
		return "0"
	}))
	if slices.Contains(t, "defined") {
		return false, fmt.Errorf("defined without a name")
	}
	t = p.expand(nil, t, nil)
	if p.tooLarge {
		return false, errTooLarge
	}
	v, err := evaluate(t)
	return v != 0, err
}

// expand adds tokens to out with object-like macros replaced; busy holds those being expanded,
// which C leaves alone.
func (p *parser) expand(out, tokens, busy []string) []string {
	for _, t := range tokens {
		if p.steps++; p.steps > maxSteps || len(busy) == maxNesting {
			p.tooLarge = true
			return out
		}
		if body, ok := p.macros[t]; ok && !slices.Contains(busy, t) {
			out = p.expand(out, body, append(busy, t))
		} else {
			out = append(out, t)
		}
	}
	return out
}

// kernel finds the head of a kernel and reads it.
func (p *parser) kernel(name string) ([]backend.Param, [3]int, error) {
	var group [3]int
	start, found := -1, []string{}
	for i, t := range p.tokens {
		switch {
		case t == "typedef":
			p.typedef(p.tokens[i+1:])
		case t == "struct":
			p.structure(p.tokens[i+1:])
		case t == "__kernel" || t == "kernel":
			start = i
		case t == "{" || t == ";":
			start = -1
		case start >= 0 && i+1 < len(p.tokens) && p.tokens[i+1] == "(":
			if t == name {
				params, err := p.params(balanced(p.tokens[i+1:]))
				if err == nil {
					group, err = groupSize(p.tokens[start:i])
				}
				return params, group, err
			}
			if p.tokens[i-1] == "void" && t != "WG_SIZE" && t != "__attribute__" {
				found = append(found, t)
				start = -1
			}
		}
	}
	if len(found) > 0 {
		return nil, group, fmt.Errorf("no kernel %s; there is %s", name, strings.Join(found, ", "))
	}
	return nil, group, fmt.Errorf("no kernel %s", name)
}

// balanced is the tokens between the parenthesis that t starts with and its partner.
func balanced(t []string) []string {
	depth := 0
	for i := range t {
		switch t[i] {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				return t[1:i]
			}
		}
	}
	return t[min(1, len(t)):]
}

// typedef notes "typedef float T;". Structures and arrays stay unknown.
func (p *parser) typedef(t []string) {
	end := slices.Index(t, ";")
	if end < 2 {
		return
	}
	for _, w := range t[:end] {
		if !identifier.MatchString(w) {
			return
		}
	}
	p.typedefs[t[end-1]] = t[:end-1]
}

// structure notes "struct T { float x, y; }" and "struct { float x, y; } T", t being what follows
// the first word, where all members are numbers of one type or vectors of them.
func (p *parser) structure(t []string) {
	open, end := slices.Index(t, "{"), slices.Index(t, "}")
	if open < 0 || open > 1 || end < open || end+1 == len(t) {
		return
	}
	elem := ""
	for _, member := range split(t[open+1:end], ";") {
		if len(member) == 0 { // after the last semicolon
			continue
		}
		m, err := p.param(append([]string{"*"}, split(member, ",")[0]...))
		numbers := m.Numbers()
		if err != nil || numbers == "" || slices.Contains(member, "*") || elem != "" && numbers != elem {
			return
		}
		elem = numbers
	}
	if open == 1 {
		p.structs["struct "+t[0]] = elem
	}
	p.structs[t[end+1]] = elem
}

// groupSize reads reqd_work_group_size(x, y, z) or WG_SIZE(x, y, z) out of the words before a
// kernel's name.
func groupSize(t []string) (g [3]int, err error) {
	for i, w := range t {
		if w != "reqd_work_group_size" && w != "WG_SIZE" {
			continue
		}
		parts := split(balanced(t[i+1:]), ",")
		if len(parts) != 3 {
			return g, fmt.Errorf("%s takes three numbers", w)
		}
		for d := range g {
			v, err := evaluate(parts[d])
			if err != nil {
				return g, fmt.Errorf("%s: %w", w, err)
			}
			g[d] = int(v)
		}
	}
	return g, nil
}

// split cuts a list at the separators outside parentheses.
func split(t []string, separator string) [][]string {
	if len(t) == 0 {
		return nil
	}
	parts, depth := [][]string{nil}, 0
	for _, w := range t {
		switch w {
		case "(", "[":
			depth++
		case ")", "]":
			depth--
		}
		if w == separator && depth == 0 {
			parts = append(parts, nil)
			continue
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], w)
	}
	return parts
}

func (p *parser) params(t []string) ([]backend.Param, error) {
	params := []backend.Param{}
	if len(t) == 1 && t[0] == "void" {
		return params, nil
	}
	for i, words := range split(t, ",") {
		param, err := p.param(words)
		if err != nil {
			return nil, fmt.Errorf("parameter %d: %w", i, err)
		}
		params = append(params, param)
	}
	return params, nil
}

// qualifiers are the words of a parameter that do not change how it is passed.
var qualifiers = []string{
	"const", "volatile", "restrict", "__restrict", "__restrict__", "__global", "global", "__constant", "constant",
	"__private", "private", "__read_only", "read_only", "__write_only", "write_only",
}

func (p *parser) param(words []string) (backend.Param, error) {
	var param backend.Param
	var typ []string
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case w == "__local" || w == "local":
			return param, fmt.Errorf(
				"the dialect has no local arguments: declare the array in the kernel with LOCALMEM")
		case w == "__attribute__":
			i += len(balanced(words[i+1:])) + 2
		case w == "*" || w == "[":
			param.Buffer = true
		case !identifier.MatchString(w) || slices.Contains(qualifiers, w):
		default:
			typ = append(typ, w)
		}
	}
	if len(typ) == 0 {
		return param, fmt.Errorf("no type")
	}
	if n := len(typ) - 1; n > 0 && !isTypeWord(typ[n]) {
		param.Name, typ = typ[n], typ[:n]
	}
	typ = p.resolve(typ)
	param.Type = strings.Join(typ, " ")
	if param.Buffer {
		param.Elem = p.structs[param.Type]
		param.Type += "*"
		return param, nil
	}
	param.Size = backend.TypeSize(param.Type)
	return param, nil
}

// resolve follows typedefs.
func (p *parser) resolve(typ []string) []string {
	for range 16 {
		t, ok := p.typedefs[typ[0]]
		if !ok || len(typ) != 1 {
			break
		}
		typ = t
	}
	return typ
}

// evaluate computes a constant integer expression of C. Unknown identifiers are 0, as in #if.
func evaluate(t []string) (int64, error) {
	e := evaluator{t: t}
	v := e.binary(1)
	if e.err == nil && len(e.t) > 0 {
		e.err = fmt.Errorf("unexpected %q in %q", e.t[0], strings.Join(t, " "))
	}
	return v, e.err
}

type evaluator struct {
	t     []string
	depth int
	err   error
}

// operators are C's binary operators; those of a higher level bind more tightly.
var operators = map[string]struct {
	level int
	apply func(a, b int64) int64
}{
	"||": {1, func(a, b int64) int64 { return truth(a != 0 || b != 0) }},
	"&&": {2, func(a, b int64) int64 { return truth(a != 0 && b != 0) }},
	"|":  {3, func(a, b int64) int64 { return a | b }},
	"^":  {4, func(a, b int64) int64 { return a ^ b }},
	"&":  {5, func(a, b int64) int64 { return a & b }},
	"==": {6, func(a, b int64) int64 { return truth(a == b) }},
	"!=": {6, func(a, b int64) int64 { return truth(a != b) }},
	"<":  {7, func(a, b int64) int64 { return truth(a < b) }},
	">":  {7, func(a, b int64) int64 { return truth(a > b) }},
	"<=": {7, func(a, b int64) int64 { return truth(a <= b) }},
	">=": {7, func(a, b int64) int64 { return truth(a >= b) }},
	"<<": {8, func(a, b int64) int64 { return a << uint64(b&63) }},
	">>": {8, func(a, b int64) int64 { return a >> uint64(b&63) }},
	"+":  {9, func(a, b int64) int64 { return a + b }},
	"-":  {9, func(a, b int64) int64 { return a - b }},
	"*":  {10, func(a, b int64) int64 { return a * b }},
	"/":  {10, func(a, b int64) int64 { return a / b }},
	"%":  {10, func(a, b int64) int64 { return a % b }},
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// binary reads numbers with operators of this level and above between them.
func (e *evaluator) binary(level int) int64 {
	v := e.unary()
	for len(e.t) > 0 && operators[e.t[0]].level >= level {
		name, op := e.t[0], operators[e.t[0]]
		e.t = e.t[1:]
		b := e.binary(op.level + 1)
		if b == 0 && (name == "/" || name == "%") {
			e.err = fmt.Errorf("division by zero")
			return 0
		}
		v = op.apply(v, b)
	}
	return v
}

func (e *evaluator) unary() int64 {
	if e.depth++; len(e.t) == 0 || e.depth > maxTokens {
		e.err = fmt.Errorf("an expression ends too early, or is too large")
		return 0
	}
	w := e.t[0]
	e.t = e.t[1:]
	switch {
	case w == "(":
		v := e.binary(1)
		if len(e.t) == 0 || e.t[0] != ")" {
			e.err = fmt.Errorf("a parenthesis is not closed")
			return 0
		}
		e.t = e.t[1:]
		return v
	case w == "-":
		return -e.unary()
	case w == "+":
		return e.unary()
	case w == "~":
		return ^e.unary()
	case w == "!":
		return truth(e.unary() == 0)
	case identifier.MatchString(w):
		return 0
	}
	v, err := strconv.ParseInt(strings.TrimRight(w, "uUlL"), 0, 64)
	if err != nil {
		e.err = fmt.Errorf("%q is not an integer", w)
	}
	return v
}

func isTypeWord(w string) bool {
	return slices.Contains([]string{"int", "long", "short", "char", "unsigned", "signed"}, w) || backend.TypeSize(w) > 0
}

package compiler

import (
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// The program between Go's syntax and the two texts: typed, with all names resolved, calls of
// functions with side effects in statements of their own, and no statement that only one of the
// languages has.

type op uint8

const (
	opConst   op = iota // value
	opZero              // the zero value of a struct or array
	opVar               // v
	opBinary            // x tok y
	opShift             // x tok y
	opUnary             // tok x
	opConvert           // x as typ
	opIndex             // x[y], of a slice or an array
	opField             // x.fields[n]
	opDeref             // *x
	opAddr              // &x
	opWithin            // integer x, which must be below y: a ROW or COLUMN of a matrix, as name says
	opSlice             // x[y:z], of a slice or an array
	opLen               // the length of slice x
	opCall              // fn(args)
	opBuiltin           // name(args)
	opItem              // name of the work-item in dimension n
	opMake              // a struct or array of args; nil stands for zero
)

type expr struct {
	op      op
	typ     *typ
	pos     token.Pos
	tok     token.Token
	x, y, z *expr
	args    []*expr
	n       int
	name    string
	value   constant.Value
	v       *variable
	fn      *function
	within  bool // an opIndex whose y is within the bounds if the opWithin in it are
	nested  int  // depth, once it was asked for
}

// depth is how deep e is nested.
func (e *expr) depth() int {
	if e.nested == 0 {
		e.children(func(x *expr) { e.nested = max(e.nested, x.depth()) })
		e.nested++
	}
	return e.nested
}

// children calls f for the operands of e.
func (e *expr) children(f func(*expr)) {
	for _, x := range []*expr{e.x, e.y, e.z} {
		if x != nil {
			f(x)
		}
	}
	for _, x := range e.args {
		if x != nil {
			f(x)
		}
	}
}

// walk calls f for e and all expressions in it.
func (e *expr) walk(f func(*expr)) {
	if e == nil {
		return
	}
	f(e)
	e.children(func(x *expr) { x.walk(f) })
}

// variables calls f for the variables that e mentions, at each place.
func (e *expr) variables(f func(*variable)) {
	e.walk(func(e *expr) {
		if e.op == opVar {
			f(e.v)
		}
	})
}

// constant tells whether a compiler would compute e itself.
func (e *expr) constant() bool {
	switch e.op {
	case opConst:
		return true
	case opBinary, opShift, opUnary, opConvert:
		all := true
		e.children(func(x *expr) { all = all && x.constant() })
		return all
	}
	return false
}

type variable struct {
	name  string // unique in its function, also as C has it
	typ   *typ
	local bool // memory that the group shares
	table *table
	// for kernels with barriers, which run as several loops over work-items
	varying bool
	region  int  // the loop that uses it: 0 none yet, -1 several
	array   bool // one for each work-item
	// of a kernel's parameter that is a struct or an array
	leaves []leaf
	// of a kernel's parameter that is a slice or a matrix: nothing writes its elements
	readOnly bool
}

// A leaf is a number in a struct or an array that is passed by value: a parameter of its own.
type leaf struct {
	typ    *typ
	goType types.Type
	// how to select it, in the text, in the Go for the cpu device and in the package's own Go
	c, gen, own string
}

// A table is a variable of a package that no code writes.
type table struct {
	name  string
	value *expr
}

type stmtKind uint8

const (
	stmtDecl     stmtKind = iota // v, of value x; nil is zero
	stmtAssign                   // x = y
	stmtCall                     // dst = x, a call with several results or none
	stmtIf                       // x, body, els
	stmtLoop                     // while x (nil: for ever), body, then post
	stmtBlock                    // body, which stmtBreak can leave
	stmtBreak                    // out of target, a loop or block
	stmtContinue                 // to the end of target's body
	stmtReturn                   // args
	stmtBarrier                  // v, unless it is nil, becomes what the group agrees on of x: see meeting
)

type stmt struct {
	kind            stmtKind
	pos             token.Pos
	v               *variable
	x, y            *expr
	dst             []*variable
	args            []*expr
	body, els, post []*stmt
	target          *stmt
	meeting         *meeting // of a stmtBarrier with a result
	// for the printers
	label           string
	broken, resumed bool      // the target of a break, of a continue
	diverged        token.Pos // where work-items may have gone different ways before
	meets           bool      // behind it no work-item has gone another way
	reported        bool
	lifted          bool // runs once for the group, as it holds a barrier
}

// A meeting is a barrier with a result that is the same for all work-items of a group.
type meeting struct {
	name   string    // Any: whether x is true for one of them; Uniform: x of the first
	shared *variable // where they agree, in the text
}

// exprs calls f for the expressions of s itself.
func (s *stmt) exprs(f func(*expr)) {
	for _, x := range append([]*expr{s.x, s.y}, s.args...) {
		if x != nil {
			f(x)
		}
	}
}

// walk calls f for all statements of list.
func walk(list []*stmt, f func(*stmt)) {
	for _, s := range list {
		f(s)
		walk(s.body, f)
		walk(s.els, f)
		walk(s.post, f)
	}
}

// variables calls f for the variables that list declares or mentions, at each place.
func variables(list []*stmt, f func(*variable)) {
	walk(list, func(s *stmt) {
		if s.kind == stmtDecl {
			f(s.v)
		}
		for _, v := range s.dst {
			f(v)
		}
		s.exprs(func(e *expr) { e.variables(f) })
	})
}

type function struct {
	name    string // in Go; of a kernel, in C
	params  []*variable
	results []*typ
	body    []*stmt
	pos     token.Pos
	names   scope // of variables, as C has them
	effects bool  // writes memory that others see
	memory  bool  // reads memory that others write
	done    bool
	calls   []*function
	meeting map[string]*variable // for meetings, by their names and types

	imported   string // its name as Go has it, if it is of another package than the kernel
	elementary bool   // Go on the cpu device calls it where it is
}

// usesFloat64 tells whether f, or what it calls, computes with float64.
func (f *function) usesFloat64() bool {
	found := slices.ContainsFunc(f.calls, (*function).usesFloat64)
	walk(f.body, func(s *stmt) {
		s.exprs(func(e *expr) {
			e.walk(func(x *expr) { found = found || x.typ != nil && x.typ.kind == kindFloat64 })
		})
	})
	return found
}

func (f *function) newVar(name string, t *typ) *variable {
	if name == "" || name == "_" {
		name = "t"
	}
	c := cName(name)
	number := strings.TrimPrefix(f.names.unique(c), c)
	return &variable{name: name + number, typ: t}
}

// A kernel is a kernel for one list of types.
type kernel struct {
	*function
	instance string // "Float32"
	entry    string // in C
	group    [3]int // the only group size; zero if any will do
	barriers bool
	params   []*variable
}

// Package ir is the tree between Go's syntax and the texts that are printed: typed, with all names
// resolved, calls of functions with side effects in statements of their own, and no statement that
// only one of the languages has. It has the passes that several printers need, too: passes.go lists
// all that happens to a kernel.
package ir

import (
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// An Op is the kind of an expression.
type Op uint8

const (
	OpConst   Op = iota // value
	OpZero              // the zero value of a struct or array
	OpVar               // v
	OpBinary            // x tok y
	OpShift             // x tok y
	OpUnary             // tok x
	OpConvert           // x as typ
	OpIndex             // x[y], of a slice or an array
	OpField             // x.fields[n]
	OpDeref             // *x
	OpAddr              // &x
	OpWithin            // integer x, which must be below y: a ROW or COLUMN of a matrix, as name says
	OpSlice             // x[y:z], of a slice or an array
	OpLen               // the length of slice x
	OpCall              // fn(args)
	OpBuiltin           // name(args)
	OpItem              // name of the work-item in dimension n
	OpMake              // a struct or array of args; nil stands for zero
)

// An Expr is an expression; Op says which of its fields count.
type Expr struct {
	Op      Op
	Type    *Type
	Pos     token.Pos
	Token   token.Token
	X, Y, Z *Expr
	Args    []*Expr
	N       int
	Name    string
	Value   constant.Value
	Var     *Variable
	Fn      *Function
	ByCall  bool // an OpIndex that is a call of a matrix: At or Set
	Nested  int  // depth, once it was asked for
}

// Depth is how deep e is nested.
func (e *Expr) Depth() int {
	if e.Nested == 0 {
		e.Children(func(x *Expr) { e.Nested = max(e.Nested, x.Depth()) })
		e.Nested++
	}
	return e.Nested
}

// Children calls f for the operands of e.
func (e *Expr) Children(f func(*Expr)) {
	for _, x := range []*Expr{e.X, e.Y, e.Z} {
		if x != nil {
			f(x)
		}
	}
	for _, x := range e.Args {
		if x != nil {
			f(x)
		}
	}
}

// Walk calls f for e and all expressions in it.
func (e *Expr) Walk(f func(*Expr)) {
	if e == nil {
		return
	}
	f(e)
	e.Children(func(x *Expr) { x.Walk(f) })
}

// Any tells whether f holds for e or an expression in it.
func (e *Expr) Any(f func(*Expr) bool) bool {
	found := false
	e.Walk(func(e *Expr) { found = found || f(e) })
	return found
}

// MayFail tells whether e has an index or a bound that may be out of range, or may divide by 0.
func (e *Expr) MayFail() bool {
	return e.Any(func(e *Expr) bool {
		switch e.Op {
		case OpIndex, OpSlice, OpWithin, OpCall:
			return true
		}
		return e.Op == OpBuiltin && (e.Name == "div" || e.Name == "rem")
	})
}

// Mentions tells whether v is in e.
func (e *Expr) Mentions(v *Variable) bool {
	return e.Any(func(e *Expr) bool { return e.Op == OpVar && e.Var == v })
}

// Variables calls f for the variables that e mentions, at each place.
func (e *Expr) Variables(f func(*Variable)) {
	e.Walk(func(e *Expr) {
		if e.Op == OpVar {
			f(e.Var)
		}
	})
}

// Constant tells whether a compiler would compute e itself.
func (e *Expr) Constant() bool {
	switch e.Op {
	case OpConst:
		return true
	case OpBinary, OpShift, OpUnary, OpConvert:
		all := true
		e.Children(func(x *Expr) { all = all && x.Constant() })
		return all
	}
	return false
}

// A Variable is one of a function, a parameter too, or a table.
type Variable struct {
	Name  string // unique in its function, also as C has it
	Type  *Type
	Local bool // memory that the group shares
	Table *Table
	// of a kernel, as passes find it
	varying bool         // it may differ between the work-items of a group
	fields  map[int]bool // of a struct: those that vary where not all of it does
	assigns int          // assignments beside the declaration
	loop    int          // over work-items, the only one that uses it; several: -1
	Array   bool         // one for each work-item
	Again   *Expr        // what each loop over work-items computes it of anew, so that it is no array; else nil
	// of a kernel's parameter that is a struct or an array
	Leaves []Leaf
	// of a kernel's parameter that is a slice or a matrix: nothing writes its elements
	ReadOnly bool
}

// A Leaf is a number in a struct or an array that is passed by value: a parameter of its own.
type Leaf struct {
	Type   *Type
	GoType types.Type
	// how to select it, in the text, in the Go for the cpu device and in the package's own Go
	C, Gen, Own string
}

// A Table is a variable of a package that no code writes.
type Table struct {
	Name  string
	Value *Expr
}

// A StmtKind is the kind of a statement.
type StmtKind uint8

const (
	StmtDecl     StmtKind = iota // v, of value x; nil is zero
	StmtAssign                   // x = y
	StmtCall                     // dst = x, a call with several results or none
	StmtIf                       // x, body, els
	StmtLoop                     // while x (nil: for ever), body, then post
	StmtBlock                    // body, which StmtBreak can leave
	StmtBreak                    // out of target, a loop or block
	StmtContinue                 // to the end of target's body
	StmtReturn                   // args
	StmtBarrier                  // v, unless it is nil, becomes what the group agrees on of x: see Meeting
)

// A Stmt is a statement; Kind says which of its fields count.
type Stmt struct {
	Kind             StmtKind
	Pos              token.Pos
	Var              *Variable
	X, Y             *Expr
	Dst              []*Variable
	Args             []*Expr
	Body, Else, Post []*Stmt
	Target           *Stmt
	Meeting          *Meeting // of a StmtBarrier with a result
	// what passes find out
	diverged token.Pos // where work-items may have gone different ways before
	Meets    bool      // behind it no work-item has gone another way
	reported bool
	Lifted   bool // runs once for the group, as it holds a barrier
}

// A Meeting is a barrier with a result that is the same for all work-items of a group.
type Meeting struct {
	Name   string    // Any: whether x is true for one of them; Uniform: x of the first
	Shared *Variable // where they agree, in the text
}

// Exprs calls f for the expressions of s itself.
func (s *Stmt) Exprs(f func(*Expr)) {
	for _, x := range append([]*Expr{s.X, s.Y}, s.Args...) {
		if x != nil {
			f(x)
		}
	}
}

// WalkExprs calls f for the expressions of s itself, and all that are in these.
func (s *Stmt) WalkExprs(f func(*Expr)) { s.Exprs(func(e *Expr) { e.Walk(f) }) }

// WalkExprs calls f for all expressions in the statements of list.
func WalkExprs(list []*Stmt, f func(*Expr)) { Walk(list, func(s *Stmt) { s.WalkExprs(f) }) }

// Walk calls f for all statements of list.
func Walk(list []*Stmt, f func(*Stmt)) {
	for _, s := range list {
		f(s)
		Walk(s.Body, f)
		Walk(s.Else, f)
		Walk(s.Post, f)
	}
}

// Any tells whether f holds for a statement of list.
func Any(list []*Stmt, f func(*Stmt) bool) bool {
	found := false
	Walk(list, func(s *Stmt) { found = found || f(s) })
	return found
}

// AnyExpr tells whether f holds for an expression in the statements of list.
func AnyExpr(list []*Stmt, f func(*Expr) bool) bool {
	found := false
	WalkExprs(list, func(e *Expr) { found = found || f(e) })
	return found
}

// Variables calls f for the variables that list declares or mentions, at each place.
func Variables(list []*Stmt, f func(*Variable)) {
	Walk(list, func(s *Stmt) {
		if s.Kind == StmtDecl {
			f(s.Var)
		}
		for _, v := range s.Dst {
			f(v)
		}
		s.Exprs(func(e *Expr) { e.Variables(f) })
	})
}

// A Function is one for certain types of its parameters.
type Function struct {
	Name    string // in Go; of a kernel, in C
	Params  []*Variable
	Results []*Type
	Body    []*Stmt
	Pos     token.Pos
	Names   Scope // of variables, as C has them
	Effects bool  // writes memory that others see
	Memory  bool  // reads memory that others write
	Done    bool
	Calls   []*Function
	Meeting map[string]*Variable // for meetings, by their names and types

	Imported   string // its name as Go has it, if it is of another package than the kernel
	Elementary bool   // Go on the cpu device calls it where it is
}

// UsesFloat64 tells whether f, or what it calls, computes with float64.
func (f *Function) UsesFloat64() bool {
	return slices.ContainsFunc(f.Reached(), func(g *Function) bool {
		return AnyExpr(g.Body, func(x *Expr) bool { return x.Type != nil && x.Type.Kind == KindFloat64 })
	})
}

// Reached is f, what it calls, and what that calls, each once.
func (f *Function) Reached() []*Function {
	all := []*Function{f}
	for i := 0; i < len(all); i++ {
		for _, g := range all[i].Calls {
			if !slices.Contains(all, g) {
				all = append(all, g)
			}
		}
	}
	return all
}

// NewVar is a variable of f whose name no other has.
func (f *Function) NewVar(name string, t *Type) *Variable {
	if name == "" || name == "_" {
		name = "t"
	}
	c := CName(name)
	number := strings.TrimPrefix(f.Names.Unique(c), c)
	return &Variable{Name: name + number, Type: t}
}

// A Kernel is a kernel for one list of types.
type Kernel struct {
	*Function
	Types    []types.Type // the list; empty for a kernel that is not generic
	Env      Env          // what its type parameters stand for
	Instance string       // "Float32"
	Entry    string       // in C
	Group    [3]int       // the only group size; zero if any will do
	Barriers bool
}

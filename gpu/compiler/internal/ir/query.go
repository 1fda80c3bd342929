package ir

import (
	"fmt"
	"go/constant"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Questions about the tree that several passes and printers ask.

// Space is the memory that a place is in.
func (e *Expr) Space() Space {
	switch e.Op {
	case OpVar:
		switch {
		case e.Var.Local:
			return SpaceLocal
		case e.Var.Table != nil:
			return SpaceConstant
		}
	case OpIndex:
		if e.X.Type.Kind == KindSlice {
			return e.X.Type.Space
		}
		return e.X.Space()
	case OpField:
		return e.X.Space()
	case OpDeref:
		return e.X.Type.Space
	}
	return SpacePrivate
}

// Place tells whether e is something that can be assigned to.
func (e *Expr) Place() bool {
	switch e.Op {
	case OpVar:
		return e.Var.Table == nil
	case OpDeref:
		return true
	case OpIndex:
		return e.X.Type.Kind == KindSlice || e.X.Place()
	case OpField:
		return e.X.Place()
	}
	return false
}

// Atomic tells whether e is an atomic operation.
func (e *Expr) Atomic() bool { return e.Op == OpBuiltin && strings.HasPrefix(e.Name, "Atomic") }

// VarExpr is what v holds.
func VarExpr(v *Variable, pos token.Pos) *Expr {
	return &Expr{Op: OpVar, Type: v.Type, Var: v, Pos: pos}
}

// Shared tells whether a place is reached through a pointer or slice.
func Shared(e *Expr) bool {
	switch e.Op {
	case OpDeref:
		return true
	case OpIndex:
		return e.X.Type.Kind == KindSlice || Shared(e.X)
	case OpField:
		return Shared(e.X)
	}
	return false
}

// Not is !x.
func Not(x *Expr) *Expr {
	if x.Op == OpUnary && x.Token == token.NOT {
		return x.X
	}
	return &Expr{Op: OpUnary, Type: x.Type, Pos: x.Pos, Token: token.NOT, X: x}
}

// Decide is how x && y or x || y, as tok says, is put into v, which holds x, where y needs the
// statements before: they run only where x leaves it open.
func Decide(tok token.Token, v, y *Expr, before []*Stmt) *Stmt {
	open := v
	if tok == token.LOR {
		open = Not(v)
	}
	set := &Stmt{Kind: StmtAssign, Pos: v.Pos, X: v, Y: y}
	return &Stmt{Kind: StmtIf, Pos: v.Pos, X: open, Body: append(before, set)}
}

// Until is the beginning of a turn of loop s whose condition x needs the statements before: a break
// takes the place of the condition.
func (s *Stmt) Until(x *Expr, before []*Stmt) []*Stmt {
	if len(before) == 0 {
		s.X = x
		return nil
	}
	exit := &Stmt{Kind: StmtBreak, Pos: x.Pos, Target: s}
	return append(before, &Stmt{Kind: StmtIf, Pos: x.Pos, X: Not(x), Body: []*Stmt{exit}})
}

// TrimExit leaves out a break at the end of a block.
func TrimExit(b *Stmt) {
	if n := len(b.Body); n > 0 && b.Body[n-1].Kind == StmtBreak && b.Body[n-1].Target == b {
		b.Body = b.Body[:n-1]
	}
}

// LocalsOf is the memory that the group shares, in the order of use.
func LocalsOf(list []*Stmt) (found []*Variable) {
	WalkExprs(list, func(e *Expr) {
		if e.Op == OpVar && e.Var.Local && !slices.Contains(found, e.Var) {
			found = append(found, e.Var)
		}
	})
	return found
}

// InArray tells whether e is an element of an array with a constant index that it has.
func InArray(e *Expr) bool {
	if e.X.Type.Kind != KindArray || e.Y.Op != OpConst {
		return false
	}
	n, exact := constant.Int64Val(constant.ToInt(e.Y.Value))
	return exact && 0 <= n && n < e.X.Type.Len
}

// FieldName is the name of field i in both languages.
func FieldName(t *Type, i int) string {
	name := t.Fields[i].Name
	if c := CName(name); c != name || name == "_" {
		return fmt.Sprintf("%s_%d", c, i)
	}
	return name + "_"
}

// Targeted tells whether a break leaves s.
func Targeted(s *Stmt) bool {
	return Any(s.Body, func(x *Stmt) bool {
		return x.Kind == StmtBreak && x.Target == s && (x.Lifted || !s.Lifted)
	})
}

// Aimed tells whether a jump of any kind names loop s.
func Aimed(s *Stmt) bool {
	return Any(s.Body, func(x *Stmt) bool { return (x.Kind == StmtBreak || x.Kind == StmtContinue) && x.Target == s })
}

// Inside is s and all statements in it.
func Inside(s *Stmt) (list []*Stmt) {
	Walk([]*Stmt{s}, func(x *Stmt) { list = append(list, x) })
	return list
}

// DeclaredIn is the variables that list declares.
func DeclaredIn(list []*Stmt) map[*Variable]bool {
	own := map[*Variable]bool{}
	Walk(list, func(s *Stmt) {
		if s.Kind == StmtDecl {
			own[s.Var] = true
		}
	})
	return own
}

// Addressed calls f for the variables of which list takes an address, or a slice, at each place.
func Addressed(list []*Stmt, f func(*Variable)) {
	WalkExprs(list, func(e *Expr) {
		if v := e.Addressed(); v != nil {
			f(v)
		}
	})
}

// Addressed is the variable of which e is an address or a slice, so that who has it may write the
// variable; nil where e is neither.
func (e *Expr) Addressed() *Variable {
	if e.Op == OpAddr || e.Op == OpSlice && e.X.Type.Kind == KindArray {
		return RootVariable(e.X)
	}
	return nil
}

// ReadsOf is the variables whose values list uses.
func ReadsOf(list []*Stmt) map[*Variable]bool {
	m := map[*Variable]bool{}
	Walk(list, func(s *Stmt) {
		s.Exprs(func(e *Expr) {
			if s.Kind != StmtAssign || e != s.X || e.Op != OpVar {
				e.Variables(func(v *Variable) { m[v] = true })
			}
		})
	})
	return m
}

// HoldsBarrier tells whether a barrier is in list.
func HoldsBarrier(list []*Stmt) bool {
	return Any(list, func(s *Stmt) bool { return s.Kind == StmtBarrier })
}

// UsesItem tells whether list has a method of the item in dimension d.
func UsesItem(list []*Stmt, name string, d int) bool {
	return AnyExpr(list, func(e *Expr) bool { return e.Op == OpItem && e.Name == name && e.N == d })
}

// Item is what the cpu device calls the place of a work-item, e: g is its group, n the sizes of a
// group, b where the group begins, s the size of the grid, N its groups. at is what loops count:
// the place in the group in kernels with barriers, in the grid in others.
func (k *Kernel) Item(e *Expr, at string) string {
	switch {
	case e.Name == "Global" && k.Barriers:
		return fmt.Sprintf("(b%d + %s)", e.N, at)
	case e.Name == "Local" && !k.Barriers:
		return fmt.Sprintf("(%s - b%d)", at, e.N)
	case e.Name == "Global" || e.Name == "Local":
		return at
	}
	letter := map[string]string{"Group": "g", "LocalSize": "n", "GlobalSize": "s", "Groups": "N"}[e.Name]
	return letter + strconv.Itoa(e.N)
}

// LocalSize is how many bytes of local memory a group of n takes.
func LocalSize(n *Kernel) (size int64) {
	for _, v := range slices.Concat(LocalsOf(n.Body), slices.Collect(maps.Values(n.Meeting))) {
		size += v.Type.Size
	}
	return size
}

// OwnSize is how many bytes the largest variable takes that a work-item has of its own in f, or in
// what f calls.
func OwnSize(f *Function) (size int64) {
	for _, g := range f.Reached() {
		for v := range DeclaredIn(g.Body) {
			size = max(size, v.Type.Size)
		}
	}
	return size
}

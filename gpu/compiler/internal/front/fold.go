package front

import (
	"go/constant"
	"go/token"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// A type parameter often stands for a struct without fields, whose methods give constants, on which
// the kernel depends. What such constants decide is decided here, so that an instance is printed,
// and compiled, without what is for others. What is left out was lowered: its problems are told.

// constantCall is what a call gives whose arguments hold nothing, if that is a constant; else nil.
func constantCall(fn *ir.Function, args []*ir.Expr, pos token.Pos) *ir.Expr {
	if len(fn.Body) != 1 || fn.Body[0].Kind != ir.StmtReturn || len(fn.Body[0].Args) != 1 {
		return nil
	}
	x := fn.Body[0].Args[0]
	if x.Op != ir.OpConst || x.Type.Float() {
		return nil
	}
	for _, a := range args {
		if a.Type.Kind != ir.KindStruct || len(a.Type.Fields) > 0 || a.MayFail() {
			return nil
		}
	}
	return constantAt(pos, x.Type, x.Value)
}

func constantAt(pos token.Pos, t *ir.Type, v constant.Value) *ir.Expr {
	return &ir.Expr{Op: ir.OpConst, Type: t, Pos: pos, Value: v}
}

// combine is x tok y, of type t: a constant where it is one of integers.
func (f *frame) combine(pos token.Pos, tok token.Token, t *ir.Type, x, y *ir.Expr) *ir.Expr {
	if x.Op == ir.OpConst && y.Op == ir.OpConst && x.Type.Integer() {
		switch tok {
		case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
			return constantAt(pos, t, constant.MakeBool(constant.Compare(x.Value, tok, y.Value)))
		case token.ADD, token.SUB, token.MUL:
			if v := constant.BinaryOp(x.Value, tok, y.Value); representable(v, t) {
				return constantAt(pos, t, v)
			}
		}
	}
	return &ir.Expr{Op: ir.OpBinary, Type: t, Pos: pos, Token: tok, X: x, Y: y}
}

// decided is the value of a condition, if it is a constant.
func decided(x *ir.Expr) (value, known bool) {
	if x.Op != ir.OpConst || x.Type.Kind != ir.KindBool {
		return false, false
	}
	return constant.BoolVal(x.Value), true
}

// choose emits statements that run if x is true, or others: of a constant those that do, and lowers
// the others for their problems alone.
func (f *frame) choose(pos token.Pos, x *ir.Expr, yes, no func()) {
	if value, known := decided(x); known {
		if !value {
			yes, no = no, yes
		}
		list := f.inside(yes)
		f.dead(no)
		*f.out = append(*f.out, list...)
		return
	}
	f.emit(&ir.Stmt{Kind: ir.StmtIf, Pos: pos, X: x, Body: f.inside(yes), Else: f.inside(no)})
}

// dead lowers what never runs.
func (f *frame) dead(g func()) {
	calls := f.fn.Calls
	f.inside(g)
	f.fn.Calls = calls
}

// leaves tells whether nothing runs behind the statements.
func leaves(list []*ir.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch list[len(list)-1].Kind {
	case ir.StmtBreak, ir.StmtContinue, ir.StmtReturn:
		return true
	}
	return false
}

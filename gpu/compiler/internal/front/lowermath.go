package front

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// builtins is what kernels have of package math and, without the width in its name, of math/bits,
// and is an operation of the tree.
var builtins = map[string]string{
	"math.Sqrt": "sqrt", "math.Abs": "abs", "math.FMA": "fma", "math.Float32bits": "bits", "math.Float64bits": "bits",
	"math.Float32frombits": "frombits", "math.Float64frombits": "frombits",
	"math.Floor": "floor", "math.Ceil": "ceil", "math.Trunc": "trunc", "math.NaN": "nan",
	"math/bits.OnesCount": "popcount", "math/bits.LeadingZeros": "clz", "math/bits.TrailingZeros": "ctz",
	"math/bits.Len": "len", "math/bits.Reverse": "reverse", "math/bits.ReverseBytes": "reversebytes",
}

// composed is what kernels have of these packages and is made of other operations.
var composed = map[string]func(m mathCall, args []*ir.Expr) []*ir.Expr{
	"math.Inf": mathCall.inf, "math.IsNaN": mathCall.isNaN, "math.IsInf": mathCall.isInf,
	"math.Signbit": mathCall.signbit, "math.Copysign": mathCall.copysign,
	"math/bits.RotateLeft": mathCall.rotate, "math/bits.Mul": mathCall.mul, "math/bits.Add": mathCall.add,
	"math/bits.Sub": mathCall.sub,
}

// A mathCall is a call of the standard library.
type mathCall struct {
	*frame
	pos token.Pos
}

// mathCall lowers one.
func (f *frame) mathCall(e *ast.CallExpr, fn *types.Func) []*ir.Expr {
	name := fn.Pkg().Path() + "." + fn.Name()
	if fn.Pkg().Path() == "math/bits" {
		name = strings.TrimRight(name, "0123456789")
	}
	op, compose := builtins[name], composed[name]
	if op == "" && compose == nil {
		f.refuseStandard(e.Pos(), fn)
	}
	sig := fn.Type().(*types.Signature)
	args := f.args(e)
	for i := range args {
		args[i] = f.assignable(e.Pos(), args[i], f.irType(e.Pos(), sig.Params().At(i).Type(), ir.SpacePrivate))
	}
	m := mathCall{f, e.Pos()}
	if compose != nil {
		return compose(m, args)
	}
	return []*ir.Expr{m.builtin(op, f.irType(e.Pos(), sig.Results().At(0).Type(), ir.SpacePrivate), args...)}
}

// inexact is what package math has, and neither rmath nor a device with the same bits.
var inexact = strings.Fields("Gamma Lgamma Erfinv Erfcinv J0 J1 Jn Y0 Y1 Yn Pow10")

// refuseStandard says what to use for a function of the standard library.
func (f *frame) refuseStandard(pos token.Pos, fn *types.Func) {
	why := "has no counterpart on devices; use what docs/kernels.md lists, or write it out"
	if name := fn.Name(); fn.Pkg().Path() == "math" {
		rmath, err := f.Import(ir.ModulePath + "rmath")
		switch {
		case err == nil && rmath.Scope().Lookup(name) != nil:
			why = "is not for kernels; use rmath." + name + ", which has the same bits on every device"
		case name == "Sincos":
			why = "is not for kernels; use rmath.Sin and rmath.Cos, which have the same bits on every device"
		case name == "Max" || name == "Min":
			why = "is not for kernels; use " + strings.ToLower(name) + ", which is Go's own"
		case slices.Contains(inexact, name):
			why = "is not for kernels, as its bits differ between devices; compute it before"
		}
	}
	f.refuse(pos, "%s %s", fn.FullName(), why)
}

func (m mathCall) builtin(name string, t *ir.Type, args ...*ir.Expr) *ir.Expr {
	return &ir.Expr{Op: ir.OpBuiltin, Type: t, Pos: m.pos, Name: name, Args: args}
}

func (m mathCall) binary(tok token.Token, x, y *ir.Expr) *ir.Expr {
	return &ir.Expr{Op: ir.OpBinary, Type: x.Type, Pos: m.pos, Token: tok, X: x, Y: y}
}

func (m mathCall) compare(tok token.Token, x, y *ir.Expr) *ir.Expr {
	return &ir.Expr{Op: ir.OpBinary, Type: m.Types.Basic(ir.KindBool), Pos: m.pos, Token: tok, X: x, Y: y}
}

func (m mathCall) complement(x *ir.Expr) *ir.Expr {
	return &ir.Expr{Op: ir.OpUnary, Type: x.Type, Pos: m.pos, Token: token.XOR, X: x}
}

func (m mathCall) uint(t *ir.Type, n uint64) *ir.Expr {
	return &ir.Expr{Op: ir.OpConst, Type: t, Pos: m.pos, Value: constant.MakeUint64(n)}
}

// top is the highest bit of integers of type t.
func (m mathCall) top(t *ir.Type) *ir.Expr { return m.uint(t, 1<<(t.Bits()-1)) }

// all is results that what is assigned later does not change.
func (m mathCall) all(list ...*ir.Expr) []*ir.Expr {
	for i := range list {
		list[i] = m.snapshot(list[i])
	}
	return list
}

// narrow is x, or the float32 that it was converted from: such kernels need no float64.
func (m mathCall) narrow(x *ir.Expr) *ir.Expr {
	if x.Op == ir.OpConvert && x.X.Type.Kind == ir.KindFloat32 {
		x = x.X
	}
	return m.temp(x)
}

// bits is those of a float.
func (m mathCall) bits(x *ir.Expr) *ir.Expr {
	if x.Type.Kind == ir.KindFloat32 {
		return m.builtin("bits", m.Types.Basic(ir.KindUint32), x)
	}
	return m.builtin("bits", m.Types.Basic(ir.KindUint64), x)
}

// inf is a constant where its sign is one.
func (m mathCall) inf(args []*ir.Expr) []*ir.Expr {
	sign, u64 := args[0], m.Types.Basic(ir.KindUint64)
	x := m.builtin("inf", m.Types.Basic(ir.KindFloat64))
	if sign.Op != ir.OpConst {
		negative := m.binary(token.AND, m.convert(sign, u64), m.top(u64))
		bits := m.binary(token.OR, m.uint(u64, math.Float64bits(math.Inf(1))), negative)
		return []*ir.Expr{m.builtin("frombits", x.Type, bits)}
	}
	if constant.Sign(sign.Value) < 0 {
		x = &ir.Expr{Op: ir.OpUnary, Type: x.Type, Pos: m.pos, Token: token.SUB, X: x}
	}
	return []*ir.Expr{x}
}

// special is e as type t where it is an infinity or NaN: so float32 kernels need no float64.
func special(e *ir.Expr, t *ir.Type) *ir.Expr {
	switch {
	case !t.Float():
	case e.Op == ir.OpBuiltin && len(e.Args) == 0:
		return &ir.Expr{Op: ir.OpBuiltin, Type: t, Pos: e.Pos, Name: e.Name}
	case e.Op == ir.OpUnary && e.Token == token.SUB && e.X.Op == ir.OpBuiltin && len(e.X.Args) == 0:
		return &ir.Expr{Op: ir.OpUnary, Type: t, Pos: e.Pos, Token: token.SUB, X: special(e.X, t)}
	}
	return nil
}

func (m mathCall) isNaN(args []*ir.Expr) []*ir.Expr {
	x := m.narrow(args[0])
	return []*ir.Expr{m.compare(token.NEQ, x, x)}
}

func (m mathCall) isInf(args []*ir.Expr) []*ir.Expr {
	x, sign := m.narrow(args[0]), m.temp(args[1])
	largest := math.MaxFloat64
	if x.Type.Kind == ir.KindFloat32 {
		largest = math.MaxFloat32
	}
	limit := func(y float64) *ir.Expr {
		return &ir.Expr{Op: ir.OpConst, Type: x.Type, Pos: m.pos, Value: constant.MakeFloat64(y)}
	}
	above, below := m.compare(token.GTR, x, limit(largest)), m.compare(token.LSS, x, limit(-largest))
	if sign.Op == ir.OpConst {
		switch constant.Sign(sign.Value) {
		case 1:
			return []*ir.Expr{above}
		case -1:
			return []*ir.Expr{below}
		}
		return []*ir.Expr{m.compare(token.LOR, above, below)}
	}
	zero := m.intConst(m.pos, 0)
	above = m.compare(token.LAND, m.compare(token.GEQ, sign, zero), above)
	below = m.compare(token.LAND, m.compare(token.LEQ, sign, zero), below)
	return []*ir.Expr{m.compare(token.LOR, above, below)}
}

func (m mathCall) signbit(args []*ir.Expr) []*ir.Expr {
	b := m.bits(m.narrow(args[0]))
	return []*ir.Expr{m.compare(token.GEQ, b, m.top(b.Type))}
}

func (m mathCall) copysign(args []*ir.Expr) []*ir.Expr {
	x, sign := m.bits(args[0]), m.bits(args[1])
	x = m.binary(token.AND_NOT, x, m.top(x.Type))
	bits := m.binary(token.OR, x, m.binary(token.AND, sign, m.top(x.Type)))
	return []*ir.Expr{m.builtin("frombits", args[0].Type, bits)}
}

func (m mathCall) rotate(args []*ir.Expr) []*ir.Expr {
	x, u64 := m.temp(args[0]), m.Types.Basic(ir.KindUint64)
	width := m.uint(u64, uint64(x.Type.Bits()))
	n := m.temp(m.binary(token.AND, m.convert(args[1], u64), m.uint(u64, uint64(x.Type.Bits()-1))))
	left, right := m.shift(m.pos, token.SHL, x, n), m.shift(m.pos, token.SHR, x, m.binary(token.SUB, width, n))
	return []*ir.Expr{m.binary(token.OR, left, right)}
}

func (m mathCall) mul(args []*ir.Expr) []*ir.Expr {
	x, y := m.temp(args[0]), m.temp(args[1])
	if x.Type.Bits() == 64 {
		return m.all(m.builtin("mulhi", x.Type, x, y), m.binary(token.MUL, x, y))
	}
	u64 := m.Types.Basic(ir.KindUint64)
	product := m.temp(m.binary(token.MUL, m.convert(x, u64), m.convert(y, u64)))
	high := m.shift(m.pos, token.SHR, product, m.uint(u64, 32))
	return m.all(m.convert(high, x.Type), m.convert(product, x.Type))
}

// add and sub find the carry as package math/bits does.
func (m mathCall) add(args []*ir.Expr) []*ir.Expr {
	x, y := m.temp(args[0]), m.temp(args[1])
	sum := m.snapshot(m.binary(token.ADD, m.binary(token.ADD, x, y), args[2]))
	either := m.binary(token.AND_NOT, m.binary(token.OR, x, y), sum)
	return []*ir.Expr{sum, m.snapshot(m.carry(m.binary(token.OR, m.binary(token.AND, x, y), either)))}
}

func (m mathCall) sub(args []*ir.Expr) []*ir.Expr {
	x, y := m.temp(args[0]), m.temp(args[1])
	diff := m.snapshot(m.binary(token.SUB, m.binary(token.SUB, x, y), args[2]))
	same := m.binary(token.AND, m.complement(m.binary(token.XOR, x, y)), diff)
	return []*ir.Expr{diff, m.snapshot(m.carry(m.binary(token.OR, m.binary(token.AND, m.complement(x), y), same)))}
}

// carry is the highest bit of x.
func (m mathCall) carry(x *ir.Expr) *ir.Expr {
	return m.shift(m.pos, token.SHR, x, m.uint(x.Type, uint64(x.Type.Bits()-1)))
}

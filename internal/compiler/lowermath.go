package compiler

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"slices"
	"strings"
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

// bitFunctions is the names that package math/bits has for operations of the tree.
var bitFunctions = map[string]string{
	"popcount": "OnesCount", "clz": "LeadingZeros", "ctz": "TrailingZeros", "len": "Len", "reverse": "Reverse",
	"reversebytes": "ReverseBytes",
}

// composed is what kernels have of these packages and is made of other operations.
var composed = map[string]func(m mathCall, args []*expr) []*expr{
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
func (f *frame) mathCall(e *ast.CallExpr, fn *types.Func) []*expr {
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
		args[i] = f.assignable(e.Pos(), args[i], f.irType(e.Pos(), sig.Params().At(i).Type(), spacePrivate))
	}
	m := mathCall{f, e.Pos()}
	if compose != nil {
		return compose(m, args)
	}
	return []*expr{m.builtin(op, f.irType(e.Pos(), sig.Results().At(0).Type(), spacePrivate), args...)}
}

// inexact is what package math has, and neither rmath nor a device with the same bits.
var inexact = strings.Fields("Gamma Lgamma Erfinv Erfcinv J0 J1 Jn Y0 Y1 Yn Pow10")

// refuseStandard says what to use for a function of the standard library.
func (f *frame) refuseStandard(pos token.Pos, fn *types.Func) {
	why := "has no counterpart on devices; use what docs/kernels.md lists, or write it out"
	if name := fn.Name(); fn.Pkg().Path() == "math" {
		rmath, err := f.Import(modulePath + "rmath")
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

func (m mathCall) builtin(name string, t *typ, args ...*expr) *expr {
	return &expr{op: opBuiltin, typ: t, pos: m.pos, name: name, args: args}
}

func (m mathCall) binary(tok token.Token, x, y *expr) *expr {
	return &expr{op: opBinary, typ: x.typ, pos: m.pos, tok: tok, x: x, y: y}
}

func (m mathCall) compare(tok token.Token, x, y *expr) *expr {
	return &expr{op: opBinary, typ: m.types.basic(kindBool), pos: m.pos, tok: tok, x: x, y: y}
}

func (m mathCall) complement(x *expr) *expr {
	return &expr{op: opUnary, typ: x.typ, pos: m.pos, tok: token.XOR, x: x}
}

func (m mathCall) uint(t *typ, n uint64) *expr {
	return &expr{op: opConst, typ: t, pos: m.pos, value: constant.MakeUint64(n)}
}

// top is the highest bit of integers of type t.
func (m mathCall) top(t *typ) *expr { return m.uint(t, 1<<(t.bits()-1)) }

// all is results that what is assigned later does not change.
func (m mathCall) all(list ...*expr) []*expr {
	for i := range list {
		list[i] = m.snapshot(list[i])
	}
	return list
}

// narrow is x, or the float32 that it was converted from: such kernels need no float64.
func (m mathCall) narrow(x *expr) *expr {
	if x.op == opConvert && x.x.typ.kind == kindFloat32 {
		x = x.x
	}
	return m.temp(x)
}

// bits is those of a float.
func (m mathCall) bits(x *expr) *expr {
	if x.typ.kind == kindFloat32 {
		return m.builtin("bits", m.types.basic(kindUint32), x)
	}
	return m.builtin("bits", m.types.basic(kindUint64), x)
}

// inf is a constant where its sign is one.
func (m mathCall) inf(args []*expr) []*expr {
	sign, u64 := args[0], m.types.basic(kindUint64)
	x := m.builtin("inf", m.types.basic(kindFloat64))
	if sign.op != opConst {
		negative := m.binary(token.AND, m.convert(sign, u64), m.top(u64))
		bits := m.binary(token.OR, m.uint(u64, math.Float64bits(math.Inf(1))), negative)
		return []*expr{m.builtin("frombits", x.typ, bits)}
	}
	if constant.Sign(sign.value) < 0 {
		x = &expr{op: opUnary, typ: x.typ, pos: m.pos, tok: token.SUB, x: x}
	}
	return []*expr{x}
}

// special is e as type t where it is an infinity or NaN: so float32 kernels need no float64.
func special(e *expr, t *typ) *expr {
	switch {
	case !t.float():
	case e.op == opBuiltin && len(e.args) == 0:
		return &expr{op: opBuiltin, typ: t, pos: e.pos, name: e.name}
	case e.op == opUnary && e.tok == token.SUB && e.x.op == opBuiltin && len(e.x.args) == 0:
		return &expr{op: opUnary, typ: t, pos: e.pos, tok: token.SUB, x: special(e.x, t)}
	}
	return nil
}

func (m mathCall) isNaN(args []*expr) []*expr {
	x := m.narrow(args[0])
	return []*expr{m.compare(token.NEQ, x, x)}
}

func (m mathCall) isInf(args []*expr) []*expr {
	x, sign := m.narrow(args[0]), m.temp(args[1])
	largest := math.MaxFloat64
	if x.typ.kind == kindFloat32 {
		largest = math.MaxFloat32
	}
	limit := func(y float64) *expr {
		return &expr{op: opConst, typ: x.typ, pos: m.pos, value: constant.MakeFloat64(y)}
	}
	above, below := m.compare(token.GTR, x, limit(largest)), m.compare(token.LSS, x, limit(-largest))
	if sign.op == opConst {
		switch constant.Sign(sign.value) {
		case 1:
			return []*expr{above}
		case -1:
			return []*expr{below}
		}
		return []*expr{m.compare(token.LOR, above, below)}
	}
	zero := m.intConst(m.pos, 0)
	above = m.compare(token.LAND, m.compare(token.GEQ, sign, zero), above)
	below = m.compare(token.LAND, m.compare(token.LEQ, sign, zero), below)
	return []*expr{m.compare(token.LOR, above, below)}
}

func (m mathCall) signbit(args []*expr) []*expr {
	b := m.bits(m.narrow(args[0]))
	return []*expr{m.compare(token.GEQ, b, m.top(b.typ))}
}

func (m mathCall) copysign(args []*expr) []*expr {
	x, sign := m.bits(args[0]), m.bits(args[1])
	x = m.binary(token.AND_NOT, x, m.top(x.typ))
	bits := m.binary(token.OR, x, m.binary(token.AND, sign, m.top(x.typ)))
	return []*expr{m.builtin("frombits", args[0].typ, bits)}
}

func (m mathCall) rotate(args []*expr) []*expr {
	x, u64 := m.temp(args[0]), m.types.basic(kindUint64)
	width := m.uint(u64, uint64(x.typ.bits()))
	n := m.temp(m.binary(token.AND, m.convert(args[1], u64), m.uint(u64, uint64(x.typ.bits()-1))))
	left, right := m.shift(m.pos, token.SHL, x, n), m.shift(m.pos, token.SHR, x, m.binary(token.SUB, width, n))
	return []*expr{m.binary(token.OR, left, right)}
}

func (m mathCall) mul(args []*expr) []*expr {
	x, y := m.temp(args[0]), m.temp(args[1])
	if x.typ.bits() == 64 {
		return m.all(m.builtin("mulhi", x.typ, x, y), m.binary(token.MUL, x, y))
	}
	u64 := m.types.basic(kindUint64)
	product := m.temp(m.binary(token.MUL, m.convert(x, u64), m.convert(y, u64)))
	high := m.shift(m.pos, token.SHR, product, m.uint(u64, 32))
	return m.all(m.convert(high, x.typ), m.convert(product, x.typ))
}

// add and sub find the carry as package math/bits does.
func (m mathCall) add(args []*expr) []*expr {
	x, y := m.temp(args[0]), m.temp(args[1])
	sum := m.snapshot(m.binary(token.ADD, m.binary(token.ADD, x, y), args[2]))
	either := m.binary(token.AND_NOT, m.binary(token.OR, x, y), sum)
	return []*expr{sum, m.snapshot(m.carry(m.binary(token.OR, m.binary(token.AND, x, y), either)))}
}

func (m mathCall) sub(args []*expr) []*expr {
	x, y := m.temp(args[0]), m.temp(args[1])
	diff := m.snapshot(m.binary(token.SUB, m.binary(token.SUB, x, y), args[2]))
	same := m.binary(token.AND, m.complement(m.binary(token.XOR, x, y)), diff)
	return []*expr{diff, m.snapshot(m.carry(m.binary(token.OR, m.binary(token.AND, m.complement(x), y), same)))}
}

// carry is the highest bit of x.
func (m mathCall) carry(x *expr) *expr {
	return m.shift(m.pos, token.SHR, x, m.uint(x.typ, uint64(x.typ.bits()-1)))
}

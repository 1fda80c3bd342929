package ptxsim

import (
	"maps"
	"slices"
	"strings"
)

var (
	u32 = typ{unsigned, 32}
	b32 = typ{untyped, 32}
	b64 = typ{untyped, 64}
	f32 = typ{float, 32}
	f64 = typ{float, 64}
	p1  = typ{pred, 1}
)

// integers are the instructions for integers, by type and name.
var integers = map[typ]map[string]aluFunc{
	{signed, 16}: intFuncs[int16, uint16](), {unsigned, 16}: intFuncs[uint16, uint16](),
	{signed, 32}: wideIntFuncs[int32, uint32](), {unsigned, 32}: wideIntFuncs[uint32, uint32](),
	{signed, 64}: wideIntFuncs[int64, uint64](), {unsigned, 64}: wideIntFuncs[uint64, uint64](),
}

// intFuncs is the instructions for integers T of any size; U is T without a sign.
func intFuncs[T integer, U unsignedInt]() map[string]aluFunc {
	fs := map[string]aluFunc{
		"add": addInt[U], "sub": subInt[U], "mul.lo": mulLow[U], "mad.lo": madLow[U], "mul.hi": mulHigh[T, U],
		"mad.hi": madHigh[T, U], "div": divInt[T, U], "rem": remInt[T, U], "sad": sumOfDifference[T, U],
		"min": minInt[T, U], "max": maxInt[T, U], "neg": negInt[U], "and": andInt[U], "or": orInt[U], "xor": xorInt[U],
		"not": notInt[U], "shl": shiftLeft[U], "shr": shiftRight[T, U],
	}
	if isSigned[T]() {
		fs["abs"] = absInt[T, U]
	}
	if width[U]() < 64 {
		fs["mul.wide"], fs["mad.wide"] = mulWide[T], madWide[T]
	}
	return fs
}

// wideIntFuncs is the instructions for integers of 32 and 64 bits.
func wideIntFuncs[T integer, U unsignedInt]() map[string]aluFunc {
	fs := intFuncs[T, U]()
	maps.Copy(fs, map[string]aluFunc{
		"popc": popCount[U], "clz": countLeadingZeros[U], "brev": reverseBits[U], "bfind": findLeading[T, U],
		"bfe": extractField[T, U], "bfi": insertField[U],
	})
	return fs
}

// intForms are the operands of these instructions, the destination first: t is the instruction's
// type, w the one of twice the size, and u is u32.
var intForms = map[string]string{
	"add": "ttt", "sub": "ttt", "mul.lo": "ttt", "mad.lo": "tttt", "mul.hi": "ttt", "mad.hi": "tttt",
	"mul.wide": "wtt", "mad.wide": "wttw", "div": "ttt", "rem": "ttt", "sad": "tttt", "min": "ttt", "max": "ttt",
	"neg": "tt", "abs": "tt", "and": "ttt", "or": "ttt", "xor": "ttt", "not": "tt", "shl": "ttu", "shr": "ttu",
	"popc": "ut", "clz": "ut", "brev": "tt", "bfind": "ut", "bfe": "ttuu", "bfi": "tttu",
}

// intFunc is the instruction name for integers of type t; nil if there is none.
func (t typ) intFunc(name string) aluFunc {
	if t.class == untyped {
		t.class = unsigned
	}
	return integers[t][name]
}

// arithmetic decodes an instruction for integers or floats.
func (d *decoder) arithmetic() {
	if slices.Contains(d.mods, "cc") {
		d.carrying()
	} else if t := d.typ(); t.class == float {
		d.floatOf(t)
	} else {
		d.intOf(t)
	}
}

// integer decodes an instruction for integers.
func (d *decoder) integer() { d.intOf(d.typ()) }

func (d *decoder) intOf(t typ) {
	name := d.stmt.name
	if half := d.oneOf("lo", "hi", "wide"); half != "" {
		name += "." + half
	}
	in := inst{fn: t.intFunc(name)}
	d.require(in.fn != nil)
	switch {
	case name == "add" && t.bits == 32:
		in.kind = kindAdd32
	case name == "add" && t.bits == 64:
		in.kind = kindAdd64
	case name == "div" || name == "rem":
		in.kind, in.x = kindDivide, &extra{typ: t}
	case strings.HasSuffix(name, "wide"):
		in.imm = int64(mask(2 * t.bits))
	case name == "bfind":
		in.imm = int64(flag(d.take("shiftamt")))
	case name == "bfi": // has an operand more
		d.args(5)
		in.x = &extra{e: d.src(4, u32)}
		d.stmt.args = d.stmt.args[:4]
	}
	operands := map[rune]typ{'t': t, 'u': u32, 'w': {t.class, 2 * t.bits}}
	var ts []typ
	for _, letter := range intForms[name] {
		ts = append(ts, operands[letter])
	}
	d.simple(in, ts[0], ts[1:]...)
}

// carrying decodes add.cc, addc, madc.hi.cc and the like.
func (d *decoder) carrying() {
	t := d.typ()
	d.require(t.isInt() && t.bits >= 32)
	in, n := inst{fn: addCarry, x: &extra{typ: t, e: d.carry()}}, 2
	if d.take("cc") {
		in.imm |= carryOut
	}
	if strings.HasSuffix(d.stmt.name, "c") {
		in.imm |= carryIn
	}
	switch d.stmt.name[:3] {
	case "sub":
		in.imm |= borrow
	case "mad":
		in.x.fn, n = t.intFunc("mul."+d.oneOf("lo", "hi")), 3
		d.require(in.x.fn != nil)
	}
	d.uniform(in, t, n)
}

// logic decodes and, or, xor and not, which predicates have, too.
func (d *decoder) logic() {
	switch t := d.typ(); {
	case t != p1:
		d.intOf(t)
	case d.stmt.name == "not":
		d.uniform(inst{fn: notPred}, t, 1)
	default:
		d.uniform(inst{fn: b64.intFunc(d.stmt.name)}, t, 2) // predicates are 0 or 1
	}
}

func (d *decoder) funnel() {
	in := inst{fn: funnelShift}
	side, over := d.oneOf("l", "r"), d.oneOf("wrap", "clamp")
	d.require(d.typ() == b32 && side != "" && over != "")
	if side == "r" {
		in.imm |= funnelRight
	}
	if over == "clamp" {
		in.imm |= funnelClamp
	}
	d.uniform(in, b32, 3)
}

func (d *decoder) lop3() {
	d.require(d.typ() == b32)
	d.args(5)
	table := d.stmt.args[4]
	if table.kind != operandLiteral || table.lit.isFloat || table.lit.bits > 255 {
		d.refuse("the table of lop3 is not a number from 0 to 255")
	}
	d.stmt.args = d.stmt.args[:4]
	d.uniform(inst{fn: lop3, imm: int64(table.lit.bits)}, b32, 3)
}

func (d *decoder) prmt() {
	d.require(d.typ() == b32)
	d.uniform(inst{fn: permute}, b32, 3)
}

// dot decodes dp4a.
func (d *decoder) dot() {
	signs := []string{"u32", "s32"}
	d.require(len(d.mods) == 2)
	a, b := slices.Index(signs, d.mods[0]), slices.Index(signs, d.mods[1])
	d.require(a >= 0 && b >= 0)
	d.mods = nil
	d.needs(61)
	d.uniform(inst{fn: dotBytes, imm: int64(a | b<<1)}, b32, 3)
}

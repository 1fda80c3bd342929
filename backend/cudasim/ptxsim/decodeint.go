package ptxsim

import "slices"

var (
	u32 = typ{unsigned, 32}
	b32 = typ{untyped, 32}
	b64 = typ{untyped, 64}
	f32 = typ{float, 32}
	f64 = typ{float, 64}
	p1  = typ{pred, 1}
)

// add decodes add and sub.
func (d *decoder) add() error {
	if slices.Contains(d.mods, "cc") {
		return d.addCarry()
	}
	sub := d.stmt.name == "sub"
	t, err := d.typ()
	switch {
	case err != nil:
		return err
	case t.class == float && sub:
		return d.float(t, 2, subF32, subF64, sub32, sub64)
	case t.class == float:
		return d.float(t, 2, addF32, addF64, add32, add64)
	case !t.isInt():
		return d.unknown()
	case t == typ{signed, 32} && d.take("sat"):
		if sub {
			return d.uniform(inst{fn: saturatedSub}, t, 2)
		}
		return d.uniform(inst{fn: saturatedAdd}, t, 2)
	case sub:
		return d.uniform(inst{fn: bySize(t, subInt[uint16], subInt[uint32], subInt[uint64])}, t, 2)
	}
	in := inst{fn: addInt[uint16]}
	switch t.bits {
	case 32:
		in = inst{kind: kindAdd32}
	case 64:
		in = inst{kind: kindAdd64}
	}
	return d.uniform(in, t, 2)
}

// addCarry decodes add.cc, addc, sub.cc and subc.
func (d *decoder) addCarry() error {
	t, err := d.typ()
	if err != nil || !t.isInt() || t.bits < 32 {
		return d.unknown()
	}
	in := inst{fn: addCarry, x: &extra{typ: t, e: d.carry()}, imm: d.carryMode()}
	if d.stmt.name[:3] == "sub" {
		in.fn = subCarry
	}
	return d.uniform(in, t, 2)
}

// carryMode is 1 if the instruction takes a carry, plus 2 if it leaves one.
func (d *decoder) carryMode() int64 {
	mode := int64(0)
	if name := d.stmt.name; name[len(name)-1] == 'c' {
		mode = 1
	}
	if d.take("cc") {
		mode |= 2
	}
	return mode
}

func (d *decoder) mul() error {
	t, err := d.typ()
	if err != nil {
		return err
	}
	if t.class == float {
		return d.float(t, 2, mulF32, mulF64, mul32, mul64)
	}
	if !t.isInt() {
		return d.unknown()
	}
	switch d.oneOf("lo", "hi", "wide") {
	case "lo":
		return d.uniform(inst{fn: bySize(t, mulLow[uint16], mulLow[uint32], mulLow[uint64])}, t, 2)
	case "hi":
		return d.uniform(inst{fn: mulHigh, x: &extra{typ: t}}, t, 2)
	case "wide":
		if t.bits < 64 {
			return d.simple(inst{fn: bySign(t, wideS16, wideS32, nil, wideU16, wideU32, nil)}, typ{t.class, 2 * t.bits},
				t, t)
		}
	}
	return d.unknown()
}

// mad decodes mad, mad.cc and madc.
func (d *decoder) mad() error {
	t, err := d.typ()
	if err != nil {
		return err
	}
	if t.class == float && d.stmt.name == "mad" {
		return d.fmaOf(t)
	}
	if !t.isInt() {
		return d.unknown()
	}
	half := d.oneOf("lo", "hi", "wide")
	if mode := d.carryMode(); mode != 0 && t.bits >= 32 && (half == "lo" || half == "hi") {
		if half == "hi" {
			mode |= 4
		}
		return d.uniform(inst{fn: madCarry, x: &extra{typ: t, e: d.carry()}, imm: mode}, t, 3)
	} else if mode != 0 {
		return d.unknown()
	}
	switch {
	case half == "lo":
		return d.uniform(inst{fn: bySize(t, madLow[uint16], madLow[uint32], madLow[uint64])}, t, 3)
	case half == "hi":
		return d.uniform(inst{fn: madHigh, x: &extra{typ: t}}, t, 3)
	case half == "wide" && t.bits < 64:
		wide := typ{t.class, 2 * t.bits}
		return d.simple(inst{fn: bySign(t, madWideS16, madWideS32, nil, madWideU16, madWideU32, nil)}, wide, t, t, wide)
	}
	return d.unknown()
}

// mul24 decodes mul24 and mad24.
func (d *decoder) mul24() error {
	t, err := d.typ()
	if err != nil || !t.isInt() || t.bits != 32 || !d.take("lo") {
		return d.unknown()
	}
	if d.stmt.name == "mad24" {
		return d.uniform(inst{fn: mad24, x: &extra{typ: t}}, t, 3)
	}
	return d.uniform(inst{fn: mul24, x: &extra{typ: t}}, t, 2)
}

func (d *decoder) div() error {
	t, err := d.typ()
	switch {
	case err != nil:
		return err
	case t.class == float:
		return d.divFloat(t)
	case !t.isInt():
		return d.unknown()
	}
	fn := bySign(t, divSigned[int16, uint16], divSigned[int32, uint32], divSigned[int64, uint64],
		divUnsigned[uint16], divUnsigned[uint32], divUnsigned[uint64])
	return d.uniform(inst{kind: kindDivide, fn: fn, x: &extra{typ: t}}, t, 2)
}

func (d *decoder) rem() error {
	t, err := d.typ()
	if err != nil || !t.isInt() {
		return d.unknown()
	}
	fn := bySign(t, remSigned[int16, uint16], remSigned[int32, uint32], remSigned[int64, uint64],
		remUnsigned[uint16], remUnsigned[uint32], remUnsigned[uint64])
	return d.uniform(inst{kind: kindDivide, fn: fn, x: &extra{typ: t}}, t, 2)
}

func (d *decoder) sad() error {
	t, err := d.typ()
	if err != nil || !t.isInt() {
		return d.unknown()
	}
	return d.uniform(inst{fn: sumOfDifference, x: &extra{typ: t}}, t, 3)
}

func (d *decoder) neg() error {
	t, err := d.typ()
	switch {
	case err != nil:
		return err
	case t.class == float && t.bits >= 32:
		x := &extra{f32: negF32, f64: negF64, ftz: t == f32 && d.take("ftz")}
		return d.uniform(inst{fn: bySize(t, nil, anyF32, anyF64), x: x}, t, 1)
	case t.isInt():
		return d.uniform(inst{fn: bySize(t, negInt[uint16], negInt[uint32], negInt[uint64])}, t, 1)
	}
	return d.unknown()
}

func (d *decoder) abs() error {
	t, err := d.typ()
	switch {
	case err != nil:
		return err
	case t.class == float && t.bits >= 32:
		x := &extra{f32: absF32, f64: absF64, ftz: t == f32 && d.take("ftz")}
		return d.uniform(inst{fn: bySize(t, nil, anyF32, anyF64), x: x}, t, 1)
	case t.isInt() && t.class == signed:
		return d.uniform(inst{fn: bySize(t, absSigned[int16, uint16], absSigned[int32, uint32],
			absSigned[int64, uint64])}, t, 1)
	}
	return d.unknown()
}

func (d *decoder) minMax() error {
	t, err := d.typ()
	if err != nil || !t.isInt() && (t.class != float || t.bits == 16) {
		return d.unknown()
	}
	if t.class == float {
		return d.minMaxFloat(t)
	}
	fn := bySign(t, minSigned[int16, uint16], minSigned[int32, uint32], minSigned[int64, uint64],
		minUnsigned[uint16], minUnsigned[uint32], minUnsigned[uint64])
	if d.stmt.name == "max" {
		fn = bySign(t, maxSigned[int16, uint16], maxSigned[int32, uint32], maxSigned[int64, uint64],
			maxUnsigned[uint16], maxUnsigned[uint32], maxUnsigned[uint64])
	}
	return d.uniform(inst{fn: fn}, t, 2)
}

// logic decodes and, or and xor.
func (d *decoder) logic() error {
	t, err := d.typ()
	if err != nil || t != p1 && !t.isInt() {
		return d.unknown()
	}
	wide := t
	if t == p1 {
		wide = b64 // predicates are 0 or 1
	}
	fn := bySize(wide, andInt[uint16], andInt[uint32], andInt[uint64])
	switch d.stmt.name {
	case "or":
		fn = bySize(wide, orInt[uint16], orInt[uint32], orInt[uint64])
	case "xor":
		fn = bySize(wide, xorInt[uint16], xorInt[uint32], xorInt[uint64])
	}
	return d.uniform(inst{fn: fn}, t, 2)
}

func (d *decoder) not() error {
	t, err := d.typ()
	switch {
	case err != nil:
		return err
	case t == p1:
		return d.uniform(inst{fn: notPred}, t, 1)
	case t.isInt():
		return d.uniform(inst{fn: bySize(t, notInt[uint16], notInt[uint32], notInt[uint64])}, t, 1)
	}
	return d.unknown()
}

func (d *decoder) cnot() error {
	t, err := d.typ()
	if err != nil || !t.isInt() {
		return d.unknown()
	}
	return d.uniform(inst{fn: bySize(t, cnotInt[uint16], cnotInt[uint32], cnotInt[uint64])}, t, 1)
}

// shift decodes shl and shr.
func (d *decoder) shift() error {
	t, err := d.typ()
	if err != nil || !t.isInt() {
		return d.unknown()
	}
	fn := bySize(t, shiftLeft[uint16], shiftLeft[uint32], shiftLeft[uint64])
	if d.stmt.name == "shr" {
		fn = bySign(t, shiftSigned[int16, uint16], shiftSigned[int32, uint32], shiftSigned[int64, uint64],
			shiftUnsigned[uint16], shiftUnsigned[uint32], shiftUnsigned[uint64])
	}
	return d.simple(inst{fn: fn}, t, t, u32)
}

func (d *decoder) funnel() error {
	t, err := d.typ()
	if err != nil || t != b32 {
		return d.unknown()
	}
	fn := map[string]aluFunc{
		"l.wrap": funnelLeftWrap, "l.clamp": funnelLeftClamp, "r.wrap": funnelRightWrap, "r.clamp": funnelRightClamp,
	}[d.oneOf("l", "r")+"."+d.oneOf("wrap", "clamp")]
	if fn == nil {
		return d.unknown()
	}
	return d.uniform(inst{fn: fn}, t, 3)
}

func (d *decoder) lop3() error {
	t, err := d.typ()
	if err != nil || t != b32 {
		return d.unknown()
	}
	if err := d.args(5); err != nil {
		return err
	}
	table := d.stmt.args[4]
	if table.kind != operandLiteral || table.lit.isFloat || table.lit.bits > 255 {
		return d.errorf("the table of lop3 is not a number from 0 to 255")
	}
	d.stmt.args = d.stmt.args[:4]
	return d.uniform(inst{fn: lop3, imm: int64(table.lit.bits)}, t, 3)
}

func (d *decoder) prmt() error {
	mode := slices.Index(permuteModes, d.oneOf(permuteModes[1:]...)) // behind the type, unlike others
	t, err := d.typ()
	if err != nil || t != b32 {
		return d.unknown()
	}
	return d.uniform(inst{fn: permute, imm: int64(mode)}, t, 3)
}

// bitCount decodes popc and clz.
func (d *decoder) bitCount() error {
	t, err := d.typ()
	if err != nil || !t.isInt() || t.bits < 32 {
		return d.unknown()
	}
	fn := popCount
	if d.stmt.name == "clz" {
		fn = countLeadingZeros
	}
	return d.simple(inst{fn: fn, x: &extra{typ: t}}, u32, t)
}

func (d *decoder) brev() error {
	t, err := d.typ()
	if err != nil || !t.isInt() || t.bits < 32 {
		return d.unknown()
	}
	return d.uniform(inst{fn: bySize(t, nil, reverseBits[uint32], reverseBits[uint64])}, t, 1)
}

func (d *decoder) bfind() error {
	t, err := d.typ()
	if err != nil || !t.isInt() || t.bits < 32 {
		return d.unknown()
	}
	return d.simple(inst{fn: findLeading, x: &extra{typ: t}, imm: int64(flag(d.take("shiftamt")))}, u32, t)
}

func (d *decoder) bfe() error {
	t, err := d.typ()
	if err != nil || !t.isInt() || t.bits < 32 {
		return d.unknown()
	}
	return d.simple(inst{fn: extractField, x: &extra{typ: t}}, t, t, u32, u32)
}

func (d *decoder) bfi() error {
	t, err := d.typ()
	if err != nil || !t.isInt() || t.bits < 32 {
		return d.unknown()
	}
	if err := d.args(5); err != nil {
		return err
	}
	length, err := d.src(4, u32)
	if err != nil {
		return err
	}
	d.stmt.args = d.stmt.args[:4]
	return d.simple(inst{fn: insertField, x: &extra{typ: t, e: length}}, t, t, t, u32)
}

// dot decodes dp4a, and dp2a, which says which bytes of b it takes.
func (d *decoder) dot() error {
	signs := map[string]int64{"u32": 0, "s32": 1}
	in := inst{fn: dotBytes}
	if d.stmt.name == "dp2a" && len(d.mods) > 0 {
		half, ok := map[string]int64{"lo": 0, "hi": 4}[d.mods[0]]
		if !ok {
			return d.unknown()
		}
		in.fn, in.imm, d.mods = dotHalves, half, d.mods[1:]
	}
	if len(d.mods) != 2 {
		return d.unknown()
	}
	a, okA := signs[d.mods[0]]
	b, okB := signs[d.mods[1]]
	if !okA || !okB {
		return d.unknown()
	}
	d.mods = nil
	if err := d.needs(61); err != nil {
		return err
	}
	in.imm |= a | b<<1
	return d.uniform(in, b32, 3)
}

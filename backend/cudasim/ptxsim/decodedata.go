package ptxsim

// comparison takes the comparison of setp, and gives the function and what it needs.
func (d *decoder) comparison(t typ) (aluFunc, *extra) {
	x := &extra{ftz: t == f32 && d.take("ftz")}
	d.require(len(d.mods) > 0)
	name := d.mods[0]
	d.mods = d.mods[1:]
	if t.class == float {
		x.compare = floatCompares[name]
		d.require(x.compare != nil)
		return d.either(t, compareF32, compareF64), x
	}
	if t.class == untyped {
		d.require(name == "eq" || name == "ne")
		t.class = unsigned
	}
	fn := intCompares[t][name]
	d.require(fn != nil)
	return fn, x
}

// setp decodes a comparison. Its longer forms have a second destination, which gets the opposite,
// or combine the result with a predicate.
func (d *decoder) setp() {
	t := d.typ()
	fn, x := d.comparison(t)
	in := inst{fn: fn}
	if t.class == float {
		in.x = x
	}
	combined := len(d.mods) > 0
	args := d.stmt.args
	if combined {
		d.args(4)
		x.logic = logics[d.oneOf("and", "or", "xor")]
		d.require(x.logic != nil)
		in.c = d.negated(args[3], p1, &x.not)
	} else {
		d.args(3)
	}
	in.a, in.b = d.src(1, t), d.src(2, t)
	second, paired := d.pair()
	in.d = d.dst(p1)
	if combined || paired {
		in.fn, in.x, x.fn, x.e = combine, x, fn, second
	}
	d.emit(in)
}

// negated is the register of a source of type t that may have a ! before it, which not says.
func (d *decoder) negated(a operand, t typ, not *bool) int32 {
	*not, a.not = a.not, false
	return d.source(a, t)
}

// pair leaves the first of two destinations p|q as the operand, and gives the register of the
// second; without one a register that nobody reads.
func (d *decoder) pair() (second int32, ok bool) {
	to := &d.stmt.args[0]
	if to.kind != operandPair {
		return d.unused(), false
	}
	second = d.destination(to.list[1], p1).index
	*to = to.list[0]
	return second, true
}

func (d *decoder) selp() {
	t := d.typ()
	d.require(t.bits >= 16)
	d.simple(inst{fn: selectPred}, t, t, t, p1)
}

// mov decodes mov, which also packs and unpacks the parts of a register.
func (d *decoder) mov() {
	t := d.typ()
	d.require(t.bits != 8)
	d.args(2)
	to, from := d.stmt.args[0], d.stmt.args[1]
	switch bits, isClock := clocks[from.name]; {
	case to.kind == operandList || from.kind == operandList:
		d.pack(t, to, from)
	case isClock:
		d.emit(inst{kind: kindClock, d: d.dst(t), imm: int64(mask(bits))})
	default:
		d.uniform(inst{kind: kindMov}, t, 1)
	}
}

// pack decodes mov.b64 d, {a,b} and mov.b64 {a,b}, d: the first of the parts is the lowest.
func (d *decoder) pack(t typ, to, from operand) {
	parts := max(len(to.list), len(from.list))
	d.require(to.kind != from.kind && t.class != pred && (parts == 2 || parts == 4) && int(t.bits)/parts >= 8)
	part := typ{untyped, t.bits / uint8(parts)}
	x := &extra{typ: part}
	if to.kind == operandList {
		for _, p := range to.list {
			x.lanes = append(x.lanes, d.destination(p, part).index)
		}
		d.emit(inst{fn: unpackParts, x: x, a: d.src(1, t)})
		return
	}
	for _, p := range from.list {
		x.from = append(x.from, d.source(p, part))
	}
	d.emit(inst{fn: packParts, x: x, d: d.dst(t)})
}

func packParts(r []uint64, in *inst) {
	x, v := in.x, uint64(0)
	for i, p := range x.from {
		v |= r[p] & mask(x.typ.bits) << (uint8(i) * x.typ.bits)
	}
	r[in.d] = v
}

func unpackParts(r []uint64, in *inst) {
	x, v := in.x, r[in.a]
	for i, p := range x.lanes {
		r[p] = v >> (uint8(i) * x.typ.bits) & mask(x.typ.bits)
	}
}

func (d *decoder) cvt() {
	src := d.typ()
	c := conversion{src: src, dst: d.typ()}
	for _, t := range []typ{c.src, c.dst} {
		d.require(t.class == signed || t.class == unsigned || t.class == float)
	}
	if m := d.oneOf("rni", "rzi", "rmi", "rpi"); m != "" {
		c.mode, c.integral = roundings[m[:2]], true
	} else {
		c.mode = d.rounding()
	}
	c.ftz = (src == f32 || c.dst == f32) && d.take("ftz")
	c.sat = c.dst.class == float && d.take("sat")
	d.args(2)
	to := d.destination(d.stmt.args[0], c.dst)
	c.wide = to.typ.bits
	in := inst{d: to.index, a: d.src(1, typ{src.class, max(src.bits, 16)})} // registers have at least 16 bits
	switch {
	case src.class == float || c.dst.class == float:
		in.fn, in.x = convert, &extra{cvt: c}
	case src.class == unsigned && (c.dst.class == unsigned || c.dst.bits > src.bits):
		in.fn, in.imm = truncate, int64(mask(min(src.bits, c.dst.bits)))
	default:
		in.fn, in.x = extend, &extra{cvt: c}
	}
	d.emit(in)
}

// spaces are the state spaces by their modifiers. Device memory has .const, too.
var spaces = map[string]space{
	"param": spaceParam, "param::entry": spaceParam, "param::func": spaceParam,
	"global": spaceGlobal, "const": spaceGlobal, "shared": spaceShared, "shared::cta": spaceShared, "local": spaceLocal,
}

// spaceOf takes the state space; spaceGeneric without.
func (d *decoder) spaceOf() space {
	for _, mod := range d.mods {
		if sp, ok := spaces[mod]; ok {
			d.take(mod)
			return sp
		}
	}
	return spaceGeneric
}

// cvta decodes the conversion between generic addresses and those of a space.
func (d *decoder) cvta() {
	to := d.take("to")
	sp := d.spaceOf()
	t := d.typ()
	d.require(t.isInt() && t.bits == 64 && sp != spaceGeneric && sp != spaceParam)
	if sp == spaceGlobal {
		d.uniform(inst{kind: kindMov}, t, 1)
		return
	}
	window := uint64(sharedWindow)
	if sp == spaceLocal {
		window = localWindow
	}
	if to {
		window = -window
	}
	d.uniform(inst{kind: kindAdd64, b: d.constant(window)}, t, 1)
}

// isspacep decodes the question whether a generic address is in a space.
func (d *decoder) isspacep() {
	sp := d.spaceOf()
	d.require(sp != spaceGeneric && sp != spaceParam)
	d.simple(inst{fn: isSpace, imm: int64(sp)}, p1, b64)
}

func isSpace(r []uint64, in *inst) {
	sp, _ := fromGeneric(r[in.a])
	r[in.d] = flag(int64(sp) == in.imm)
}

package ptxsim

import "slices"

// comparison takes the comparison of setp or set, and gives the function and what it needs.
func (d *decoder) comparison(t typ) (aluFunc, *extra, error) {
	x := &extra{ftz: t == f32 && d.take("ftz"), typ: t}
	if len(d.mods) == 0 {
		return nil, nil, d.unknown()
	}
	name := d.mods[0]
	d.mods = d.mods[1:]
	if t.class == float && t.bits >= 32 {
		if x.compare = floatCompares[name]; x.compare == nil {
			return nil, nil, d.unknown()
		}
		return bySize(t, nil, compareF32, compareF64), x, nil
	}
	if t.class == untyped {
		if name != "eq" && name != "ne" {
			return nil, nil, d.unknown()
		}
		t.class = unsigned
	}
	fn := intCompares[t][name]
	if fn == nil || t.class == signed && slices.Contains([]string{"lo", "ls", "hi", "hs"}, name) {
		return nil, nil, d.unknown()
	}
	return fn, x, nil
}

// combination takes the operation and decodes the predicate that a comparison is combined with,
// operand i.
func (d *decoder) combination(i int, in *inst) (err error) {
	x := in.x
	if len(d.mods) == 0 {
		return d.args(i)
	}
	if x.logic = logics[d.oneOf("and", "or", "xor")]; x.logic == nil {
		return d.unknown()
	}
	if err := d.args(i + 1); err != nil {
		return err
	}
	a := d.stmt.args[i]
	x.not, a.not = a.not, false
	in.c, err = d.source(a, p1)
	return err
}

func (d *decoder) setp() error {
	t, err := d.typ()
	if err != nil {
		return err
	}
	fn, x, err := d.comparison(t)
	if err != nil {
		return err
	}
	in := inst{fn: fn, x: x}
	if len(d.stmt.args) < 3 {
		return d.args(3)
	}
	if in.a, err = d.src(1, t); err != nil {
		return err
	}
	if in.b, err = d.src(2, t); err != nil {
		return err
	}
	plain := len(d.mods) == 0
	if err := d.combination(3, &in); err != nil {
		return err
	}
	to := d.stmt.args[0]
	if to.kind == operandPair {
		second, err := d.destination(to.list[1], p1)
		if err != nil {
			return err
		}
		plain, x.e, to = false, second.index, to.list[0]
	} else if !plain {
		x.e = d.unused()
	}
	first, err := d.destination(to, p1)
	if err != nil {
		return err
	}
	in.d = first.index
	if !plain {
		in.fn, x.fn = combine, fn
	} else if t.class != float {
		in.x = nil
	}
	d.emit(in)
	return nil
}

func (d *decoder) set() error {
	if len(d.mods) < 2 || len(d.stmt.args) < 3 {
		return d.unknown()
	}
	t, err := d.typ()
	if err != nil {
		return err
	}
	to, err := d.typ()
	if err != nil || to.bits != 32 {
		return d.unknown()
	}
	fn, x, err := d.comparison(t)
	if err != nil {
		return err
	}
	x.fn, x.e = fn, d.unused()
	in := inst{fn: setResult, x: x, imm: 1<<32 - 1}
	if to.class == float {
		in.imm = 0x3f800000
	}
	if in.d, err = d.dst(to); err != nil {
		return err
	}
	if in.a, err = d.src(1, t); err != nil {
		return err
	}
	if in.b, err = d.src(2, t); err != nil {
		return err
	}
	if err := d.combination(3, &in); err != nil {
		return err
	}
	d.emit(in)
	return nil
}

func (d *decoder) selp() error {
	t, err := d.typ()
	if err != nil || t.bits < 16 {
		return d.unknown()
	}
	return d.simple(inst{fn: selectPred}, t, t, t, p1)
}

func (d *decoder) slct() error {
	c, err := d.typ()
	if err != nil || c.bits != 32 || c.class != signed && c.class != float {
		return d.unknown()
	}
	t, err := d.typ()
	if err != nil || t.bits < 16 {
		return d.unknown()
	}
	return d.simple(inst{fn: selectSign, x: &extra{typ: c, ftz: c == f32 && d.take("ftz")}}, t, t, t, c)
}

// mov decodes mov, which also packs and unpacks the parts of a register.
func (d *decoder) mov() error {
	t, err := d.typ()
	if err != nil || t.bits == 8 {
		return d.unknown()
	}
	if err := d.args(2); err != nil {
		return err
	}
	to, from := d.stmt.args[0], d.stmt.args[1]
	if to.kind == operandList || from.kind == operandList {
		return d.pack(t, to, from)
	}
	if bits, ok := clocks[from.name]; ok {
		reg, err := d.dst(t)
		if err == nil {
			d.emit(inst{kind: kindClock, d: reg, imm: int64(mask(bits))})
		}
		return err
	}
	if v := d.variable(from.name); from.kind == operandName && v != nil && v.space == spaceLocal &&
		d.register(from.name) == nil {
		if t.bits == 32 {
			return d.errorf("the address of %s, in local memory, has 64 bits", from.name)
		}
	}
	return d.uniform(inst{kind: kindMov}, t, 1)
}

// pack decodes mov.b64 d, {a,b} and mov.b64 {a,b}, d: the first of the parts is the lowest.
func (d *decoder) pack(t typ, to, from operand) error {
	parts := to.list
	if from.kind == operandList {
		parts = from.list
	}
	if to.kind == from.kind || t.class == pred || len(parts) != 2 && len(parts) != 4 || int(t.bits)/len(parts) < 8 {
		return d.unknown()
	}
	part := typ{untyped, t.bits / uint8(len(parts))}
	x := &extra{typ: part}
	in := inst{fn: packParts, x: x}
	if to.kind == operandList {
		var err error
		in.fn = unpackParts
		if in.a, err = d.src(1, t); err != nil {
			return err
		}
		for _, p := range parts {
			r, err := d.destination(p, part)
			if err != nil {
				return err
			}
			x.lanes = append(x.lanes, r.index)
		}
		d.emit(in)
		return nil
	}
	for _, p := range parts {
		r, err := d.source(p, part)
		if err != nil {
			return err
		}
		x.from = append(x.from, r)
	}
	reg, err := d.dst(t)
	if err != nil {
		return err
	}
	in.d = reg
	d.emit(in)
	return nil
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

func (d *decoder) cvt() error {
	c := conversion{}
	src, err := d.typ()
	if err != nil {
		return err
	}
	dst, err := d.typ()
	if err != nil || src.class == pred || dst.class == pred || src.class == untyped || dst.class == untyped {
		return d.unknown()
	}
	c.src, c.dst = src, dst
	if m := d.oneOf("rni", "rzi", "rmi", "rpi"); m != "" {
		c.mode, c.integral = roundings[m[:2]], true
	} else {
		c.mode = d.rounding()
	}
	c.ftz, c.sat = (src == f32 || dst == f32) && d.take("ftz"), d.take("sat")
	if err := d.args(2); err != nil {
		return err
	}
	to, err := d.destination(d.stmt.args[0], dst)
	if err != nil {
		return err
	}
	c.wide = to.typ.bits
	in := inst{d: to.index}
	narrow := src
	if src.bits == 8 { // registers have at least 16 bits
		narrow = typ{src.class, 16}
	}
	if in.a, err = d.src(1, narrow); err != nil {
		return err
	}
	switch {
	case src.class == float || dst.class == float || c.sat:
		in.fn, in.x = convert, &extra{cvt: c}
	case src.class == unsigned && (dst.class == unsigned || dst.bits > src.bits):
		in.fn, in.imm = truncate, int64(mask(min(src.bits, dst.bits)))
	default:
		in.fn, in.x = extend, &extra{cvt: c}
	}
	d.emit(in)
	return nil
}

// cvta decodes the conversion between generic addresses and those of a space.
func (d *decoder) cvta() error {
	to := d.take("to")
	sp := d.oneOf("global", "const", "shared", "local", "shared::cta", "param")
	t, err := d.typ()
	if err != nil || !t.isInt() || t.bits != 64 || sp == "" || sp == "param" {
		return d.unknown()
	}
	window := map[string]uint64{"shared": sharedWindow, "shared::cta": sharedWindow, "local": localWindow}[sp]
	if to {
		window = -window
	}
	in := inst{kind: kindAdd64, b: d.constant(window)}
	if window == 0 {
		in = inst{kind: kindMov}
	}
	return d.uniform(in, t, 1)
}

// isspacep decodes the question whether a generic address is in a space.
func (d *decoder) isspacep() error {
	sp := map[string]space{
		"global": spaceGlobal, "shared": spaceShared, "shared::cta": spaceShared, "local": spaceLocal,
	}
	name := d.oneOf("global", "shared", "shared::cta", "local")
	if name == "" {
		return d.unknown()
	}
	return d.simple(inst{fn: isSpace, imm: int64(sp[name])}, p1, b64)
}

func isSpace(r []uint64, in *inst) {
	sp, _ := fromGeneric(r[in.a])
	r[in.d] = flag(int64(sp) == in.imm)
}

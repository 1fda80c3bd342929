package ptxsim

import (
	"slices"
	"strings"
)

// spaceOf takes the state space of ld, st and atom. constant says that it is .const.
func (d *decoder) spaceOf() (sp space) {
	switch d.oneOf("param", "param::entry", "param::func", "global", "const", "shared", "shared::cta", "local") {
	case "param", "param::entry", "param::func":
		return spaceParam
	case "global", "const":
		return spaceGlobal
	case "shared", "shared::cta":
		return spaceShared
	case "local":
		return spaceLocal
	}
	return spaceGeneric
}

// hints takes what changes no result: caching, prefetching and the like.
func (d *decoder) hints() {
	d.mods = slices.DeleteFunc(d.mods, func(m string) bool {
		return strings.HasPrefix(m, "L1::") || strings.HasPrefix(m, "L2::") || strings.HasPrefix(m, "level::")
	})
	d.oneOf("ca", "cg", "cs", "lu", "cv", "wb", "wt")
}

// ordering takes the memory order and scope, and reports whether the access is strong.
func (d *decoder) ordering() bool {
	order := d.oneOf("weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio")
	if order == "acquire" || order == "release" || order == "acq_rel" {
		d.code.effects.fence = true
	}
	d.oneOf("cta", "cluster", "gpu", "sys", "gl")
	return order != "" && order != "weak"
}

// access decodes what ld and st have in common; operand mem is the address, operand reg the value.
func (d *decoder) access(k kind, mem, reg int) (in inst, t typ, err error) {
	if err := d.args(2); err != nil {
		return in, t, err
	}
	in = inst{kind: k, lanes: 1}
	if t, err = d.typ(); err != nil || t.class == pred {
		return in, t, d.unknown()
	}
	in.space = d.spaceOf()
	in.strong = d.ordering()
	d.take("nc")
	d.hints()
	in.size = uint8(t.size())
	switch d.oneOf("v2", "v4", "v8") {
	case "v2":
		in.lanes = 2
	case "v4":
		in.lanes = 4
	case "v8":
		in.lanes = 8
	}
	if a := d.stmt.args[reg]; in.lanes > 1 && (a.kind != operandList || len(a.list) != int(in.lanes)) {
		return in, t, d.errorf("%s of %d elements needs as many registers in braces", d.stmt.name, in.lanes)
	}
	return in, t, d.memory(&in, d.stmt.args[mem])
}

// memory decodes an address: a register or a symbol, and an offset.
func (d *decoder) memory(in *inst, a operand) error {
	if a.kind != operandMemory {
		return d.errorf("%s needs an address in brackets", d.stmt.name)
	}
	in.imm = a.offset
	if a.name == "" {
		in.a = d.constant(0)
		return nil
	}
	if r := d.register(a.name); r != nil {
		if !r.typ.isInt() || r.typ.bits < 32 {
			return d.errorf("register %s of type %s is not an address", a.name, r.typ)
		}
		in.a, in.narrow = r.index, r.typ.bits == 32
		return nil
	}
	v := d.variable(a.name)
	switch {
	case v == nil:
		return d.errorf("there is no %s", a.name)
	case in.space == spaceGeneric:
		in.space = v.space
	case in.space != v.space:
		return d.errorf("%s is in another state space", a.name)
	}
	var err error
	in.a, err = d.address(v, 0, 64)
	return err
}

func (d *decoder) load() error {
	in, t, err := d.access(kindLoad, 1, 0)
	if err != nil {
		return err
	}
	targets := d.stmt.args[:1]
	if in.lanes > 1 {
		targets = targets[0].list
	}
	x := &extra{mask: ^uint64(0)}
	for _, a := range targets {
		r, err := d.destination(a, t)
		if err != nil {
			return err
		}
		x.lanes = append(x.lanes, r.index)
		if t.class == signed && r.typ.bits > t.bits {
			x.sext, x.mask = t.bits, mask(r.typ.bits)
		}
	}
	in.x = x
	if len(x.lanes) == 1 && x.sext == 0 {
		in.d, in.x = x.lanes[0], nil
	}
	d.emit(in)
	return nil
}

func (d *decoder) store() error {
	in, t, err := d.access(kindStore, 0, 1)
	if err != nil {
		return err
	}
	if t.bits == 8 { // registers have at least 16 bits; a number may have more than 8
		t.bits = 16
	}
	sources := d.stmt.args[1:]
	if in.lanes > 1 {
		sources = sources[0].list
	}
	x := &extra{}
	for _, a := range sources {
		r, err := d.source(a, t)
		if err != nil {
			return err
		}
		x.lanes = append(x.lanes, r)
	}
	in.x = x
	if len(x.lanes) == 1 {
		in.d, in.x = x.lanes[0], nil
	}
	d.emit(in)
	return nil
}

// atom decodes atom and red.
func (d *decoder) atom() error {
	t, err := d.typ()
	if err != nil || t.class == pred || t.bits < 32 {
		return d.unknown()
	}
	in := inst{kind: kindAtomic, size: uint8(t.size()), lanes: 1, space: d.spaceOf(), strong: true}
	d.ordering()
	d.hints()
	op := d.oneOf("add", "min", "max", "exch", "cas", "and", "or", "xor", "inc", "dec")
	x := &extra{atom: atomicOps(op, t), text: op + t.String()}
	if x.atom == nil || in.space == spaceParam || in.space == spaceLocal {
		return d.unknown()
	}
	if op == "add" && t == f32 && in.space != spaceShared {
		x.atom = atomicAddFlush
	}
	x.commutes = t.class != float && slices.Contains([]string{"add", "min", "max", "and", "or", "xor"}, op)
	in.x = x
	n := 2
	if op == "cas" {
		n = 3
	}
	args := d.stmt.args
	if d.stmt.name == "red" {
		in.d = d.unused()
		if op == "exch" || op == "cas" {
			return d.unknown()
		}
		args = append([]operand{{name: "_"}}, args...)
	}
	if len(args) != n+1 {
		return d.errorf("%s.%s has %d operands, not %d", d.stmt.name, op, len(args), n+1)
	}
	to, err := d.destination(args[0], t)
	if err != nil {
		return err
	}
	in.d = to.index
	if in.b, err = d.source(args[2], t); err != nil {
		return err
	}
	if n == 3 {
		if in.c, err = d.source(args[3], t); err != nil {
			return err
		}
	}
	if err := d.memory(&in, args[1]); err != nil {
		return err
	}
	d.emit(in)
	return nil
}

// fence decodes memory fences. One for the threads of a block alone orders no more than that.
func (d *decoder) fence() error {
	if !slices.Contains(d.mods, "cta") {
		d.code.effects.fence = true
	}
	return d.nothing()
}

// nothing decodes instructions that have no effect here: blocks run one thread after another, and
// memory is always up to date.
func (d *decoder) nothing() error {
	d.mods = nil
	return nil
}

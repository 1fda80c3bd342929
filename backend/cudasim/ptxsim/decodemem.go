package ptxsim

import (
	"slices"
	"strings"
)

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

// access decodes what ld and st have in common; operand mem is the address. values are the
// registers of the elements.
func (d *decoder) access(k kind, mem int) (in inst, t typ, values []operand) {
	d.args(2)
	t = d.typ()
	d.require(t.class != pred)
	in = inst{kind: k, lanes: 1, size: uint8(t.size()), space: d.spaceOf(), strong: d.ordering()}
	d.take("nc")
	d.hints()
	if v := d.oneOf("v2", "v4", "v8"); v != "" {
		in.lanes = v[1] - '0'
	}
	value := d.stmt.args[1-mem]
	values = []operand{value}
	if in.lanes > 1 {
		if values = value.list; value.kind != operandList || len(values) != int(in.lanes) {
			d.refuse("%s of %d elements needs as many registers in braces", d.stmt.name, in.lanes)
		}
	}
	d.memory(&in, d.stmt.args[mem])
	return in, t, values
}

// memory decodes an address: a register or a symbol, and an offset.
func (d *decoder) memory(in *inst, a operand) {
	if a.kind != operandMemory {
		d.refuse("%s needs an address in brackets", d.stmt.name)
	}
	in.imm = a.offset
	if a.name == "" {
		in.a = d.constant(0)
		return
	}
	if r := d.register(a.name); r != nil {
		if !r.typ.isInt() || r.typ.bits < 32 {
			d.refuse("register %s of type %s is not an address", a.name, r.typ)
		}
		in.a, in.narrow = r.index, r.typ.bits == 32
		return
	}
	v := d.variable(a.name)
	switch {
	case v == nil:
		d.refuse("there is no %s", a.name)
	case in.space == spaceGeneric:
		in.space = v.space
	case in.space != v.space:
		d.refuse("%s is in another state space", a.name)
	}
	in.a = d.address(v, 0, 64)
}

func (d *decoder) load() {
	in, t, targets := d.access(kindLoad, 1)
	x := &extra{mask: ^uint64(0)}
	for _, a := range targets {
		r := d.destination(a, t)
		x.lanes = append(x.lanes, r.index)
		if t.class == signed && r.typ.bits > t.bits {
			x.sext, x.mask = t.bits, mask(r.typ.bits)
		}
	}
	in.x = x
	d.emit(in)
}

func (d *decoder) store() {
	in, t, sources := d.access(kindStore, 0)
	t.bits = max(t.bits, 16) // registers have at least 16 bits; a number may have more than 8
	x := &extra{}
	for _, a := range sources {
		x.lanes = append(x.lanes, d.source(a, t))
	}
	in.x = x
	d.emit(in)
}

// atom decodes atom and red.
func (d *decoder) atom() {
	t := d.typ()
	d.require(t.class != pred && t.bits >= 32)
	in := inst{kind: kindAtomic, size: uint8(t.size()), lanes: 1, space: d.spaceOf(), strong: true}
	d.ordering()
	d.hints()
	op := d.oneOf("add", "min", "max", "exch", "cas", "and", "or", "xor", "inc", "dec")
	in.x = &extra{atom: atomics[t][op], text: op + t.String()}
	d.require(in.x.atom != nil && in.space != spaceParam && in.space != spaceLocal)
	if op == "add" && t == f32 && in.space != spaceShared {
		in.x.atom = atomicAddFlush
	}
	in.x.commutes = t.class != float && slices.Contains([]string{"add", "min", "max", "and", "or", "xor"}, op)
	args := d.stmt.args
	if d.stmt.name == "red" {
		d.require(op != "exch" && op != "cas")
		args = append([]operand{{name: "_"}}, args...)
	}
	n := 3
	if op == "cas" {
		n = 4
	}
	if len(args) != n {
		d.refuse("%s.%s has %d operands, not %d", d.stmt.name, op, len(args), n)
	}
	in.d, in.b = d.destination(args[0], t).index, d.source(args[2], t)
	if op == "cas" {
		in.c = d.source(args[3], t)
	}
	d.memory(&in, args[1])
	d.emit(in)
}

// fence decodes memory fences. One for the threads of a block alone orders no more than that.
func (d *decoder) fence() {
	if !slices.Contains(d.mods, "cta") {
		d.code.effects.fence = true
	}
	d.nothing()
}

// nothing decodes instructions that have no effect here: blocks run one thread after another, and
// memory is always up to date.
func (d *decoder) nothing() { d.mods = nil }

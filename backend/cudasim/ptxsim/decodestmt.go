package ptxsim

import (
	"slices"
	"strings"
)

// decoders is how instructions are decoded, by name.
var decoders map[string]func(*decoder)

func init() { // a map literal would refer to itself through statement
	decoders = map[string]func(*decoder){
		"add": (*decoder).arithmetic, "sub": (*decoder).arithmetic, "mul": (*decoder).arithmetic,
		"mad": (*decoder).arithmetic, "div": (*decoder).arithmetic, "neg": (*decoder).arithmetic,
		"abs": (*decoder).arithmetic, "min": (*decoder).arithmetic, "max": (*decoder).arithmetic,
		"addc": (*decoder).carrying, "subc": (*decoder).carrying, "madc": (*decoder).carrying,
		"rem": (*decoder).integer, "sad": (*decoder).integer, "shl": (*decoder).integer, "shr": (*decoder).integer,
		"popc": (*decoder).integer, "clz": (*decoder).integer, "brev": (*decoder).integer,
		"bfind": (*decoder).integer, "bfe": (*decoder).integer, "bfi": (*decoder).integer,
		"and": (*decoder).logic, "or": (*decoder).logic, "xor": (*decoder).logic, "not": (*decoder).logic,
		"shf": (*decoder).funnel, "lop3": (*decoder).lop3, "prmt": (*decoder).prmt, "dp4a": (*decoder).dot,
		"fma": (*decoder).fma, "sqrt": (*decoder).unaryFloat, "rcp": (*decoder).unaryFloat,
		"rsqrt": (*decoder).approx, "ex2": (*decoder).approx, "lg2": (*decoder).approx, "sin": (*decoder).approx,
		"cos": (*decoder).approx, "tanh": (*decoder).approx, "copysign": (*decoder).copysign,
		"setp": (*decoder).setp, "selp": (*decoder).selp, "mov": (*decoder).mov, "cvt": (*decoder).cvt,
		"cvta": (*decoder).cvta, "isspacep": (*decoder).isspacep,
		"ld": (*decoder).load, "st": (*decoder).store, "atom": (*decoder).atom, "red": (*decoder).atom,
		"membar": (*decoder).fence, "fence": (*decoder).fence, "nanosleep": (*decoder).nothing,
		"prefetch": (*decoder).nothing, "prefetchu": (*decoder).nothing,
		"bra": (*decoder).bra, "brx": (*decoder).brx, "branchtargets": (*decoder).branchTargets,
		"call": (*decoder).call, "ret": (*decoder).ret, "exit": (*decoder).exit, "trap": (*decoder).trap,
		"bar": (*decoder).bar, "barrier": (*decoder).bar, "shfl": (*decoder).warp, "vote": (*decoder).warp,
		"match": (*decoder).warp, "redux": (*decoder).warp, "activemask": (*decoder).activemask,
		"mma": (*decoder).mma, "cp": (*decoder).cp,
	}
}

func (d *decoder) statement(s *stmt) {
	d.stmt, d.mods = s, slices.Clone(s.mods)
	if s.guard != "" {
		if r := d.register(s.guard); r == nil || r.typ.class != pred {
			d.refuse("%s is not a predicate register", s.guard)
		}
	}
	f := decoders[s.name]
	d.require(f != nil)
	f(d)
	d.require(len(d.mods) == 0)
}

// refuse ends the reading of the module with an error of the current statement.
func (d *decoder) refuse(format string, args ...any) { refuse(d.stmt.line, format, args...) }

// require refuses an instruction, or a form of one, that is not simulated, where ok is false.
func (d *decoder) require(ok bool) {
	if !ok {
		name := strings.Join(append([]string{d.stmt.name}, d.stmt.mods...), ".")
		d.refuse("unknown instruction %s: the simulated device does not have this form", name)
	}
}

// needs is an error where the module is for GPUs older than those that have the instruction first.
func (d *decoder) needs(arch int) {
	if archOf(d.mod.target) < arch {
		d.refuse("%s needs .target sm_%d or higher, and the module is for %s", d.stmt.name, arch, d.mod.target)
	}
}

// take removes a modifier and reports whether it was there.
func (d *decoder) take(mod string) bool { return d.oneOf(mod) != "" }

// oneOf takes the first of the modifiers that is there; "" if none is.
func (d *decoder) oneOf(mods ...string) string {
	m := d.peek(mods...)
	if m != "" {
		i := slices.Index(d.mods, m)
		d.mods = slices.Delete(d.mods, i, i+1)
	}
	return m
}

// peek is oneOf, but leaves the modifier.
func (d *decoder) peek(mods ...string) string {
	for _, m := range mods {
		if slices.Contains(d.mods, m) {
			return m
		}
	}
	return ""
}

// typ takes the type, which is the last modifier.
func (d *decoder) typ() typ {
	d.require(len(d.mods) > 0)
	n := len(d.mods) - 1
	t, ok := types[d.mods[n]]
	d.require(ok)
	d.mods = d.mods[:n]
	return t
}

// rounding takes the rounding mode; nearest without.
func (d *decoder) rounding() rounding { return roundings[d.oneOf("rn", "rz", "rm", "rp")] }

// hasRounding reports whether there is a rounding mode.
func (d *decoder) hasRounding() bool { return d.peek("rn", "rz", "rm", "rp") != "" }

// args checks the number of operands.
func (d *decoder) args(n int) {
	if len(d.stmt.args) != n {
		d.refuse("%s has %d operands, not %d", d.stmt.name, len(d.stmt.args), n)
	}
}

// src is the register with operand i as a source of type t.
func (d *decoder) src(i int, t typ) int32 { return d.source(d.stmt.args[i], t) }

func (d *decoder) source(a operand, t typ) int32 {
	switch {
	case a.kind == operandLiteral && t.class == pred && !a.lit.isFloat:
		return d.constant(flag(a.lit.bits != 0))
	case a.kind == operandLiteral:
		v, ok := a.lit.as(t)
		if !ok {
			d.refuse("a number in the instruction is not a %s", t)
		}
		return d.constant(v)
	case a.kind != operandName || a.not:
		d.refuse("%s cannot take an operand of this kind", d.stmt.name)
	}
	if r := d.register(a.name); r != nil {
		if a.offset != 0 || !r.typ.holds(t) {
			d.refuse("register %s of type %s is not a %s", a.name, r.typ, t)
		}
		return r.index
	}
	if specials[a.name] != nil && t.class != pred {
		return d.special(a.name)
	}
	if v := d.variable(a.name); v != nil && t.isInt() && t.bits >= 32 {
		return d.address(v, a.offset, t.bits)
	}
	d.refuse("there is no %s", a.name)
	return 0
}

// address is the register with a variable's address in its space, as a source.
func (d *decoder) address(v *variable, offset int64, bits uint8) int32 {
	var base string
	switch {
	case v.space == spaceLocal:
		base = localAddr
	case v.space == spaceShared && v.decl.extern:
		base = dynamicBase
	default:
		return d.constant((v.addr + uint64(offset)) & mask(bits))
	}
	if v.addr+uint64(offset) == 0 {
		return d.special(base)
	}
	sum := d.newRegister()
	d.emit(inst{kind: kindAdd64, d: sum, a: d.special(base), b: d.constant(v.addr + uint64(offset))})
	return sum
}

// dst is the register of the first operand as a destination of type t.
func (d *decoder) dst(t typ) int32 { return d.destination(d.stmt.args[0], t).index }

func (d *decoder) destination(a operand, t typ) *register {
	if a.kind != operandName || a.not || a.offset != 0 {
		d.refuse("the destination of %s is not a register", d.stmt.name)
	}
	if a.name == "_" {
		return &register{t, d.unused()}
	}
	r := d.register(a.name)
	switch {
	case r == nil:
		d.refuse("there is no register %s", a.name)
	case !r.typ.holds(t):
		d.refuse("register %s of type %s cannot take a %s", a.name, r.typ, t)
	}
	return r
}

// holds reports whether a register of type t can have a value of type u.
func (t typ) holds(u typ) bool { return (t.class == pred) == (u.class == pred) && t.bits >= u.bits }

// simple emits an instruction with a destination and sources of the given types.
func (d *decoder) simple(in inst, to typ, from ...typ) {
	d.args(1 + len(from))
	in.d = d.dst(to)
	for i, p := range []*int32{&in.a, &in.b, &in.c}[:len(from)] {
		*p = d.src(i+1, from[i])
	}
	d.emit(in)
}

// uniform is simple for n sources of the destination's type.
func (d *decoder) uniform(in inst, t typ, n int) { d.simple(in, t, slices.Repeat([]typ{t}, n)...) }

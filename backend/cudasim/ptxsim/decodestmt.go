package ptxsim

import (
	"slices"
	"strings"
)

// decoders is how instructions are decoded, by name.
var decoders map[string]func(*decoder) error

func init() { // a map literal would refer to itself through statement
	decoders = map[string]func(*decoder) error{
		"add": (*decoder).add, "sub": (*decoder).add, "addc": (*decoder).addCarry, "subc": (*decoder).addCarry,
		"mul": (*decoder).mul, "mad": (*decoder).mad, "madc": (*decoder).mad, "fma": (*decoder).fma,
		"mul24": (*decoder).mul24,
		"mad24": (*decoder).mul24, "div": (*decoder).div, "rem": (*decoder).rem, "sad": (*decoder).sad,
		"neg": (*decoder).neg,
		"abs": (*decoder).abs, "min": (*decoder).minMax, "max": (*decoder).minMax,
		"sqrt": (*decoder).unaryFloat, "rcp": (*decoder).unaryFloat, "rsqrt": (*decoder).approx,
		"ex2": (*decoder).approx,
		"lg2": (*decoder).approx, "sin": (*decoder).approx, "cos": (*decoder).approx, "tanh": (*decoder).approx,
		"copysign": (*decoder).copysign, "testp": (*decoder).testp,
		"and": (*decoder).logic, "or": (*decoder).logic, "xor": (*decoder).logic, "not": (*decoder).not,
		"cnot": (*decoder).cnot,
		"shl":  (*decoder).shift, "shr": (*decoder).shift, "shf": (*decoder).funnel, "lop3": (*decoder).lop3,
		"prmt": (*decoder).prmt,
		"popc": (*decoder).bitCount, "clz": (*decoder).bitCount, "brev": (*decoder).brev, "bfind": (*decoder).bfind,
		"bfe": (*decoder).bfe, "bfi": (*decoder).bfi, "dp4a": (*decoder).dot, "dp2a": (*decoder).dot,
		"setp": (*decoder).setp, "set": (*decoder).set, "selp": (*decoder).selp, "slct": (*decoder).slct,
		"mov": (*decoder).mov, "cvt": (*decoder).cvt, "cvta": (*decoder).cvta, "isspacep": (*decoder).isspacep,
		"ld": (*decoder).load, "ldu": (*decoder).load, "st": (*decoder).store, "atom": (*decoder).atom,
		"red":      (*decoder).atom,
		"prefetch": (*decoder).nothing, "prefetchu": (*decoder).nothing, "applypriority": (*decoder).nothing,
		"membar": (*decoder).fence, "fence": (*decoder).fence, "nanosleep": (*decoder).nothing,
		"pmevent": (*decoder).nothing,
		"bra":     (*decoder).bra, "brx": (*decoder).brx, "branchtargets": (*decoder).branchTargets,
		"call": (*decoder).call,
		"ret":  (*decoder).ret, "exit": (*decoder).exit, "trap": (*decoder).trap, "brkpt": (*decoder).trap,
		"bar": (*decoder).bar, "barrier": (*decoder).bar,
		"shfl": (*decoder).shfl, "vote": (*decoder).vote, "match": (*decoder).match, "redux": (*decoder).redux,
		"activemask": (*decoder).activemask, "mma": (*decoder).mma, "cp": (*decoder).cp,
	}
}

func (d *decoder) statement(s *stmt) error {
	d.stmt, d.mods = s, slices.Clone(s.mods)
	if s.guard != "" {
		if r := d.register(s.guard); r == nil || r.typ.class != pred {
			return d.errorf("%s is not a predicate register", s.guard)
		}
	}
	f := decoders[s.name]
	if f == nil {
		return d.unknown()
	}
	if err := f(d); err != nil {
		return err
	}
	if len(d.mods) > 0 {
		return d.unknown()
	}
	return nil
}

func (d *decoder) errorf(format string, args ...any) error {
	return errorAt(d.stmt.line, format, args...)
}

// unknown is the error for an instruction, or a form of one, that is not simulated.
func (d *decoder) unknown() error {
	name := strings.Join(append([]string{d.stmt.name}, d.stmt.mods...), ".")
	return d.errorf("unknown instruction %s: the simulated device does not have this form", name)
}

// needs is an error where the module is for GPUs older than those that have the instruction first.
func (d *decoder) needs(arch int) error {
	if archOf(d.mod.target) < arch {
		return d.errorf("%s needs .target sm_%d or higher, and the module is for %s", d.stmt.name, arch, d.mod.target)
	}
	return nil
}

// take removes a modifier and reports whether it was there.
func (d *decoder) take(mod string) bool {
	i := slices.Index(d.mods, mod)
	if i < 0 {
		return false
	}
	d.mods = slices.Delete(d.mods, i, i+1)
	return true
}

// oneOf takes the first of the modifiers that is there; "" if none is.
func (d *decoder) oneOf(mods ...string) string {
	for _, m := range mods {
		if d.take(m) {
			return m
		}
	}
	return ""
}

// typ takes the type, which is the last modifier.
func (d *decoder) typ() (typ, error) {
	n := len(d.mods)
	if n == 0 {
		return typ{}, d.unknown()
	}
	t, ok := types[d.mods[n-1]]
	if !ok {
		return typ{}, d.unknown()
	}
	d.mods = d.mods[:n-1]
	return t, nil
}

// rounding takes the rounding mode; nearest without.
func (d *decoder) rounding() rounding { return roundings[d.oneOf("rn", "rz", "rm", "rp")] }

// args checks the number of operands.
func (d *decoder) args(n int) error {
	if len(d.stmt.args) != n {
		return d.errorf("%s has %d operands, not %d", d.stmt.name, len(d.stmt.args), n)
	}
	return nil
}

// src is the register with operand i as a source of type t.
func (d *decoder) src(i int, t typ) (int32, error) { return d.source(d.stmt.args[i], t) }

func (d *decoder) source(a operand, t typ) (int32, error) {
	switch {
	case a.kind == operandLiteral && t.class == pred && !a.lit.isFloat:
		return d.constant(flag(a.lit.bits != 0)), nil
	case a.kind == operandLiteral:
		v, ok := a.lit.as(t)
		if !ok {
			return 0, d.errorf("a number in the instruction is not a %s", t)
		}
		return d.constant(v), nil
	case a.kind != operandName || a.not:
		return 0, d.errorf("%s cannot take an operand of this kind", d.stmt.name)
	}
	if r := d.register(a.name); r != nil {
		if a.offset != 0 || (r.typ.class == pred) != (t.class == pred) || r.typ.bits < t.bits {
			return 0, d.errorf("register %s of type %s is not a %s", a.name, r.typ, t)
		}
		return r.index, nil
	}
	if s, ok := specials[a.name]; ok && t.class != pred {
		return d.special(s), nil
	}
	if v := d.variable(a.name); v != nil && t.isInt() && t.bits >= 32 {
		return d.address(v, a.offset, t.bits)
	}
	return 0, d.errorf("there is no %s", a.name)
}

// address is the register with a variable's address in its space, as a source.
func (d *decoder) address(v *variable, offset int64, bits uint8) (int32, error) {
	base := special(0)
	switch {
	case v.space == spaceLocal:
		base = localAddr
	case v.space == spaceShared && v.decl.extern:
		base = dynamicBase
	default:
		return d.constant((v.addr + uint64(offset)) & mask(bits)), nil
	}
	if v.addr+uint64(offset) == 0 {
		return d.special(base), nil
	}
	sum := d.newRegister()
	d.emit(inst{kind: kindAdd64, d: sum, a: d.special(base), b: d.constant(v.addr + uint64(offset))})
	return sum, nil
}

// dst is the register of the first operand as a destination of type t.
func (d *decoder) dst(t typ) (int32, error) {
	r, err := d.destination(d.stmt.args[0], t)
	if err != nil {
		return 0, err
	}
	return r.index, nil
}

func (d *decoder) destination(a operand, t typ) (*register, error) {
	if a.kind != operandName || a.not || a.offset != 0 {
		return nil, d.errorf("the destination of %s is not a register", d.stmt.name)
	}
	if a.name == "_" {
		return &register{t, d.unused()}, nil
	}
	r := d.register(a.name)
	if r == nil {
		return nil, d.errorf("there is no register %s", a.name)
	}
	if (r.typ.class == pred) != (t.class == pred) || r.typ.bits < t.bits {
		return nil, d.errorf("register %s of type %s cannot take a %s", a.name, r.typ, t)
	}
	return r, nil
}

// simple emits an instruction with a destination and sources of the given types.
func (d *decoder) simple(in inst, to typ, from ...typ) error {
	if err := d.args(1 + len(from)); err != nil {
		return err
	}
	var err error
	if in.d, err = d.dst(to); err != nil {
		return err
	}
	for i, p := range []*int32{&in.a, &in.b, &in.c}[:len(from)] {
		if *p, err = d.src(i+1, from[i]); err != nil {
			return err
		}
	}
	d.emit(in)
	return nil
}

// uniform is simple for n sources of the destination's type.
func (d *decoder) uniform(in inst, t typ, n int) error {
	return d.simple(in, t, slices.Repeat([]typ{t}, n)...)
}

package ptxsim

import (
	"math"
	"slices"
)

// float decodes an instruction of n operands that is rounded: plain32 and plain64 are for the form
// without .ftz, .sat and a directed rounding, make32 and make64 for the others.
func (d *decoder) float(t typ, n int, plain32, plain64 aluFunc,
	make32 func(rounding) func(a, b, c float32) float32, make64 func(rounding) func(a, b, c float64) float64,
) error {
	mode := d.rounding()
	switch t.bits {
	case 32:
		ftz, sat := d.take("ftz"), d.take("sat")
		if mode == nearest && !ftz && !sat && plain32 != nil {
			return d.uniform(inst{fn: plain32}, t, n)
		}
		return d.uniform(inst{fn: anyF32, x: &extra{f32: make32(mode), ftz: ftz, sat: sat}}, t, n)
	case 64:
		if mode == nearest && plain64 != nil {
			return d.uniform(inst{fn: plain64}, t, n)
		}
		return d.uniform(inst{fn: anyF64, x: &extra{f64: make64(mode)}}, t, n)
	}
	return d.unknown()
}

func (d *decoder) fma() error {
	t, err := d.typ()
	if err != nil || t.class != float || d.peek("rn", "rz", "rm", "rp") == "" {
		return d.unknown()
	}
	return d.fmaOf(t)
}

// fmaOf decodes fma and the mad of floats.
func (d *decoder) fmaOf(t typ) error {
	if slices.Equal(d.mods, []string{"rn"}) && t.bits >= 32 {
		d.mods = nil
		in := inst{kind: kindFMA32}
		if t.bits == 64 {
			in.kind = kindFMA64
		}
		return d.uniform(in, t, 3)
	}
	return d.float(t, 3, nil, nil, fma32, fma64)
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

// divFloat decodes div of floats. The approximate divisions give the exact quotient, rounded.
func (d *decoder) divFloat(t typ) error {
	if t == f32 {
		d.oneOf("approx", "full")
	} else if d.peek("rn", "rz", "rm", "rp") == "" {
		return d.unknown()
	}
	return d.float(t, 2, nil, nil, div32, div64)
}

// unaryFloat decodes sqrt and rcp; .approx gives the exact result, rounded.
func (d *decoder) unaryFloat() error {
	t, err := d.typ()
	if err != nil || t.class != float {
		return d.unknown()
	}
	sqrt := d.stmt.name == "sqrt"
	approx := d.take("approx")
	switch {
	case !approx && d.peek("rn", "rz", "rm", "rp") == "", t == f64 && approx && sqrt:
		return d.unknown()
	case t == f64 && approx:
		return d.seed(t, func(x float64) float64 { return 1 / x })
	case sqrt:
		return d.float(t, 1, nil, nil, sqrt32, sqrt64)
	}
	return d.float(t, 1, nil, nil, rcp32, rcp64)
}

func rcp32(mode rounding) func(a, _, _ float32) float32 {
	f := div32(mode)
	return func(a, _, _ float32) float32 { return f(1, a, 0) }
}

func rcp64(mode rounding) func(a, _, _ float64) float64 {
	f := div64(mode)
	return func(a, _, _ float64) float64 { return f(1, a, 0) }
}

func sub32(mode rounding) func(a, b, _ float32) float32 {
	f := add32(mode)
	return func(a, b, _ float32) float32 { return f(a, -b, 0) }
}

func sub64(mode rounding) func(a, b, _ float64) float64 {
	f := add64(mode)
	return func(a, b, _ float64) float64 { return f(a, -b, 0) }
}

// seed decodes the approximations in float64, which exist with .ftz only.
func (d *decoder) seed(t typ, f func(float64) float64) error {
	if !d.take("ftz") {
		return d.unknown()
	}
	return d.uniform(inst{fn: anyF64, x: &extra{f64: seed64(f)}}, t, 1)
}

// approx decodes the functions that PTX has only as approximations.
func (d *decoder) approx() error {
	t, err := d.typ()
	if err != nil || !d.take("approx") {
		return d.unknown()
	}
	f := map[string]func(float64) float64{
		"rsqrt": reciprocalRoot, "ex2": math.Exp2, "lg2": math.Log2, "sin": math.Sin, "cos": math.Cos,
		"tanh": math.Tanh,
	}[d.stmt.name]
	switch {
	case t == f64 && d.stmt.name == "rsqrt" && d.peek("ftz") != "":
		return d.seed(t, f)
	case t == f64 && d.stmt.name == "rsqrt":
		return d.uniform(inst{fn: anyF64, x: &extra{f64: func(a, _, _ float64) float64 { return f(a) }}}, t, 1)
	case t == f32:
		return d.uniform(inst{fn: anyF32, x: &extra{f32: approximate(f), ftz: d.take("ftz")}}, t, 1)
	}
	return d.unknown()
}

func (d *decoder) minMaxFloat(t typ) error {
	x := &extra{ftz: t == f32 && d.take("ftz")}
	nan := t == f32 && d.take("NaN")
	switch {
	case d.stmt.name == "min" && nan:
		x.f32 = minimum[float32]
	case d.stmt.name == "min":
		x.f32, x.f64 = minNumber[float32], minNumber[float64]
	case nan:
		x.f32 = maximum[float32]
	default:
		x.f32, x.f64 = maxNumber[float32], maxNumber[float64]
	}
	return d.uniform(inst{fn: bySize(t, nil, anyF32, anyF64), x: x}, t, 2)
}

func (d *decoder) copysign() error {
	t, err := d.typ()
	if err != nil || t.class != float || t.bits < 32 {
		return d.unknown()
	}
	return d.uniform(inst{fn: bySize(t, nil, copySignF32, copySignF64)}, t, 2)
}

func (d *decoder) testp() error {
	t, err := d.typ()
	if err != nil || t.class != float || t.bits < 32 {
		return d.unknown()
	}
	name := slices.Index(testNames, d.oneOf(testNames...))
	if name < 0 {
		return d.unknown()
	}
	return d.simple(inst{fn: testFloat, x: &extra{typ: t}, imm: int64(name)}, p1, t)
}

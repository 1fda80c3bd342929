package ptxsim

import (
	"math"
	"slices"

	"github.com/tandem-gpu/tandem/internal/host"
)

// A floatOp is an instruction whose result is rounded.
type floatOp struct {
	operands int
	near32   func(a, b, c float32) float32 // rounded to nearest
	near64   func(a, b, c float64) float64
	exact    exactFunc
	fast     map[typ]inst // to nearest and without modifiers, for speed
}

var floatOps = map[string]floatOp{
	"add":  {2, sum[float32], sum[float64], exactSum, map[typ]inst{f32: {fn: addF32}, f64: {fn: addF64}}},
	"sub":  {2, minus[float32], minus[float64], exactMinus, map[typ]inst{f32: {fn: subF32}, f64: {fn: subF64}}},
	"mul":  {2, times[float32], times[float64], exactTimes, map[typ]inst{f32: {fn: mulF32}, f64: {fn: mulF64}}},
	"fma":  {3, host.FMA32, math.FMA, exactFMA, map[typ]inst{f32: {fn: fmaF32}, f64: {kind: kindFMA64}}},
	"div":  {2, over[float32], over[float64], exactOver, nil},
	"rcp":  {1, inverse[float32], inverse[float64], exactInverse, nil},
	"sqrt": {1, squareRoot[float32], squareRoot[float64], exactRoot, nil},
}

// floatOf decodes an instruction for floats of type t.
func (d *decoder) floatOf(t typ) {
	switch d.stmt.name {
	case "neg", "abs", "min", "max":
		d.plain(t)
	case "mad":
		d.rounded("fma", t)
	case "div": // the approximate divisions give the exact quotient, rounded
		approx := t == f32 && d.oneOf("approx", "full") != ""
		d.require(approx || d.hasRounding())
		d.rounded("div", t)
	default:
		d.rounded(d.stmt.name, t)
	}
}

// rounded decodes the floatOp name.
func (d *decoder) rounded(name string, t typ) {
	op, ok := floatOps[name]
	d.require(ok && (t == f32 || t == f64))
	mode, x := d.rounding(), &extra{}
	if t == f32 {
		x.ftz, x.sat = d.take("ftz"), d.take("sat")
	}
	in := inst{fn: anyF32, x: x}
	if fast, ok := op.fast[t]; ok && mode == nearest && !x.ftz && !x.sat {
		in = fast
	} else if t == f32 {
		x.f32 = inMode(mode, op.near32, op.exact)
	} else {
		in.fn, x.f64 = anyF64, inMode(mode, op.near64, op.exact)
	}
	d.uniform(in, t, op.operands)
}

func (d *decoder) fma() {
	d.require(d.hasRounding())
	d.rounded("fma", d.typ())
}

// unaryFloat decodes sqrt and rcp; .approx gives the exact result, rounded.
func (d *decoder) unaryFloat() {
	t, approx := d.typ(), d.take("approx")
	switch {
	case t == f64 && approx:
		d.require(d.stmt.name == "rcp")
		d.seed(func(x float64) float64 { return 1 / x })
	default:
		d.require(approx || d.hasRounding())
		d.rounded(d.stmt.name, t)
	}
}

// seed decodes the approximations in float64, which exist with .ftz only.
func (d *decoder) seed(f func(float64) float64) {
	d.require(d.take("ftz"))
	d.uniform(inst{fn: anyF64, x: &extra{f64: seed64(f)}}, f64, 1)
}

// approximations are the functions that PTX has only as such.
var approximations = map[string]func(float64) float64{
	"rsqrt": reciprocalRoot, "ex2": math.Exp2, "lg2": math.Log2, "sin": math.Sin, "cos": math.Cos, "tanh": math.Tanh,
}

func (d *decoder) approx() {
	t, f := d.typ(), approximations[d.stmt.name]
	d.require(d.take("approx"))
	switch {
	case t == f32:
		d.uniform(inst{fn: anyF32, x: &extra{f32: approximate(f), ftz: d.take("ftz")}}, t, 1)
	case slices.Contains(d.mods, "ftz"):
		d.require(t == f64 && d.stmt.name == "rsqrt")
		d.seed(f)
	default:
		d.require(t == f64 && d.stmt.name == "rsqrt")
		d.uniform(inst{fn: anyF64, x: &extra{f64: func(a, _, _ float64) float64 { return f(a) }}}, t, 1)
	}
}

// A plainFloat is an instruction whose result is not rounded.
type plainFloat struct {
	operands int
	of32     func(a, b, c float32) float32
	of64     func(a, b, c float64) float64
}

var plainFloats = map[string]plainFloat{
	"neg": {1, negative[float32], negative[float64]}, "abs": {1, absolute[float32], absolute[float64]},
	"min": {2, minNumber[float32], minNumber[float64]}, "max": {2, maxNumber[float32], maxNumber[float64]},
	"min.NaN": {operands: 2, of32: minimum}, "max.NaN": {operands: 2, of32: maximum},
}

func (d *decoder) plain(t typ) {
	name := d.stmt.name
	if d.take("NaN") {
		name += ".NaN"
	}
	f := plainFloats[name]
	d.require(t == f32 && f.of32 != nil || t == f64 && f.of64 != nil)
	x := &extra{f32: f.of32, f64: f.of64, ftz: t == f32 && d.take("ftz")}
	d.uniform(inst{fn: d.either(t, anyF32, anyF64), x: x}, t, f.operands)
}

// either is one of two functions, by the type of floats.
func (d *decoder) either(t typ, of32, of64 aluFunc) aluFunc {
	d.require(t == f32 || t == f64)
	if t == f32 {
		return of32
	}
	return of64
}

func (d *decoder) copysign() {
	t := d.typ()
	d.uniform(inst{fn: d.either(t, copySignF32, copySignF64)}, t, 2)
}

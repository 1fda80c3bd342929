package ptxsim

// setp comes in two parts: a comparison, which puts 0 or 1 into d, and for the longer forms
// combine, which goes on from there.

func equal[T integer](r []uint64, in *inst)     { r[in.d] = flag(T(r[in.a]) == T(r[in.b])) }
func notEqual[T integer](r []uint64, in *inst)  { r[in.d] = flag(T(r[in.a]) != T(r[in.b])) }
func less[T integer](r []uint64, in *inst)      { r[in.d] = flag(T(r[in.a]) < T(r[in.b])) }
func lessEqual[T integer](r []uint64, in *inst) { r[in.d] = flag(T(r[in.a]) <= T(r[in.b])) }
func greater[T integer](r []uint64, in *inst)   { r[in.d] = flag(T(r[in.a]) > T(r[in.b])) }
func notLess[T integer](r []uint64, in *inst)   { r[in.d] = flag(T(r[in.a]) >= T(r[in.b])) }

func intCompare[T integer]() map[string]aluFunc {
	fs := map[string]aluFunc{
		"eq": equal[T], "ne": notEqual[T], "lt": less[T], "le": lessEqual[T], "gt": greater[T], "ge": notLess[T],
	}
	if !isSigned[T]() {
		fs["lo"], fs["ls"], fs["hi"], fs["hs"] = less[T], lessEqual[T], greater[T], notLess[T]
	}
	return fs
}

var intCompares = map[typ]map[string]aluFunc{
	{signed, 16}: intCompare[int16](), {signed, 32}: intCompare[int32](), {signed, 64}: intCompare[int64](),
	{unsigned, 16}: intCompare[uint16](), {unsigned, 32}: intCompare[uint32](), {unsigned, 64}: intCompare[uint64](),
}

// floatCompares are the comparisons of floats. The names with u are true for NaN.
var floatCompares = map[string]func(a, b float64) bool{
	"eq": func(a, b float64) bool { return a == b }, "equ": func(a, b float64) bool { return !(a < b || a > b) },
	"ne": func(a, b float64) bool { return a < b || a > b }, "neu": func(a, b float64) bool { return a != b },
	"lt": func(a, b float64) bool { return a < b }, "ltu": func(a, b float64) bool { return !(a >= b) },
	"le": func(a, b float64) bool { return a <= b }, "leu": func(a, b float64) bool { return !(a > b) },
	"gt": func(a, b float64) bool { return a > b }, "gtu": func(a, b float64) bool { return !(a <= b) },
	"ge": func(a, b float64) bool { return a >= b }, "geu": func(a, b float64) bool { return !(a < b) },
	"num": func(a, b float64) bool { return a == a && b == b },
	"nan": func(a, b float64) bool { return a != a || b != b },
}

func compareF32(r []uint64, in *inst) {
	a, b := float32At(r, in.a), float32At(r, in.b)
	if in.x.ftz {
		a, b = flush(a), flush(b)
	}
	r[in.d] = flag(in.x.compare(float64(a), float64(b)))
}

func compareF64(r []uint64, in *inst) {
	r[in.d] = flag(in.x.compare(float64At(r, in.a), float64At(r, in.b)))
}

var logics = map[string]func(a, b bool) bool{
	"and": func(a, b bool) bool { return a && b },
	"or":  func(a, b bool) bool { return a || b },
	"xor": func(a, b bool) bool { return a != b },
}

// combine runs the comparison x.fn, gives d the result and x.e the opposite, each combined with the
// predicate c if there is an operation.
func combine(r []uint64, in *inst) {
	x := in.x
	other := r[in.c] != 0 != x.not
	x.fn(r, in)
	v := r[in.d] != 0
	p, q := v, !v
	if x.logic != nil {
		p, q = x.logic(v, other), x.logic(!v, other)
	}
	r[x.e] = flag(q)
	r[in.d] = flag(p)
}

func selectPred(r []uint64, in *inst) {
	if r[in.c] != 0 {
		r[in.d] = r[in.a]
	} else {
		r[in.d] = r[in.b]
	}
}

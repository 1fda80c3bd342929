package ptxsim

import "math"

// The instructions without modifiers have functions of their own, for speed.

func addF32(r []uint64, in *inst) { r[in.d] = bits32(float32At(r, in.a) + float32At(r, in.b)) }
func subF32(r []uint64, in *inst) { r[in.d] = bits32(float32At(r, in.a) - float32At(r, in.b)) }
func mulF32(r []uint64, in *inst) { r[in.d] = bits32(float32At(r, in.a) * float32At(r, in.b)) }
func addF64(r []uint64, in *inst) { r[in.d] = bits64(float64At(r, in.a) + float64At(r, in.b)) }
func subF64(r []uint64, in *inst) { r[in.d] = bits64(float64At(r, in.a) - float64At(r, in.b)) }
func mulF64(r []uint64, in *inst) { r[in.d] = bits64(float64At(r, in.a) * float64At(r, in.b)) }

// anyF32 runs x.f32 with the modifiers .ftz and .sat.
func anyF32(r []uint64, in *inst) {
	x := in.x
	a, b, c := float32At(r, in.a), float32At(r, in.b), float32At(r, in.c)
	if x.ftz {
		a, b, c = flush(a), flush(b), flush(c)
	}
	v := x.f32(a, b, c)
	if x.ftz {
		v = flush(v)
	}
	if x.sat {
		v = saturate(v)
	}
	r[in.d] = bits32(v)
}

func anyF64(r []uint64, in *inst) {
	r[in.d] = bits64(in.x.f64(float64At(r, in.a), float64At(r, in.b), float64At(r, in.c)))
}

// The sign operations of a NaN give another one, as a GPU's do: the payload is lost.

func negative[F floating](a, _, _ F) F { return -a }
func absolute[F floating](a, _, _ F) F { return F(math.Abs(float64(a))) }

// copySignF32 is b with the sign of a.
func copySignF32(r []uint64, in *inst) { r[in.d] = r[in.b]&(1<<31-1) | r[in.a]&(1<<31) }
func copySignF64(r []uint64, in *inst) { r[in.d] = r[in.b]&(1<<63-1) | r[in.a]&(1<<63) }

// minNumber is the lesser number; -0 is less than +0, and a NaN is ignored if there is a number.
func minNumber[F floating](a, b, _ F) F {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	}
	return min(a, b) // Go's min orders the zeros too
}

func maxNumber[F floating](a, b, _ F) F {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	}
	return max(a, b)
}

// minimum and maximum are NaN if one operand is: the modifier .NaN.

func minimum(a, b, _ float32) float32 { return min(a, b) }
func maximum(a, b, _ float32) float32 { return max(a, b) }

// Approximations. The hardware's are within documented errors of the exact value; here they are
// float64 functions, rounded.

func approximate(f func(float64) float64) func(a, _, _ float32) float32 {
	return func(a, _, _ float32) float32 { return float32(f(float64(a))) }
}

func reciprocalRoot(x float64) float64 { return 1 / math.Sqrt(x) }

// seed64 is f without the lower half of its bits: what rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64
// give, to be refined by Newton's method. Subnormal operands and results are flushed.
func seed64(f func(float64) float64) func(a, _, _ float64) float64 {
	return func(a, _, _ float64) float64 {
		return flush64(math.Float64frombits(math.Float64bits(f(flush64(a))) &^ mask(32)))
	}
}

func flush64(x float64) float64 {
	if math.Float64bits(x)&(0x7ff<<52) == 0 {
		return math.Copysign(0, x)
	}
	return x
}

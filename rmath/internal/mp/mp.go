// Package mp computes elementary functions to many digits, for the generator of rmath's tables and
// for the proof of its results. It is slow and simple: reduction, then the Taylor series, all in
// big.Float.
//
// A number's precision is that of the argument; a result's relative error is below
// 2^(20-precision), unless the function says otherwise. The tests compare functions with each other
// and with other formulas.
package mp

import (
	"math"
	"math/big"
)

// A Num is a number to many digits. Functions never change their arguments.
type Num = *big.Float

// New is the number v with prec bits.
func New(prec uint, v float64) Num { return new(big.Float).SetPrec(prec).SetFloat64(v) }

// Quo64 is p/q with prec bits.
func Quo64(prec uint, p, q int64) Num { return Div(New(prec, float64(p)), New(prec, float64(q))) }

// Add is x+y.
func Add(x, y Num) Num { return new(big.Float).SetPrec(x.Prec()).Add(x, y) }

// Sub is x-y.
func Sub(x, y Num) Num { return new(big.Float).SetPrec(x.Prec()).Sub(x, y) }

// Mul is x*y.
func Mul(x, y Num) Num { return new(big.Float).SetPrec(x.Prec()).Mul(x, y) }

// Div is x/y.
func Div(x, y Num) Num { return new(big.Float).SetPrec(x.Prec()).Quo(x, y) }

// Neg is -x.
func Neg(x Num) Num { return new(big.Float).SetPrec(x.Prec()).Neg(x) }

// Sqrt is the square root of x.
func Sqrt(x Num) Num { return new(big.Float).SetPrec(x.Prec()).Sqrt(x) }

// Scale is x * 2^n.
func Scale(x Num, n int) Num { return new(big.Float).SetPrec(x.Prec()).SetMantExp(x, n) }

// times is x*n.
func times(x Num, n int) Num { return Mul(x, New(64, float64(n))) }

// over is x/n.
func over(x Num, n int) Num { return Div(x, New(64, float64(n))) }

// wider is x with n bits more.
func wider(x Num, n uint) Num { return new(big.Float).SetPrec(x.Prec() + n).Set(x) }

// as is y rounded to the precision of x.
func as(y, x Num) Num { return new(big.Float).SetPrec(x.Prec()).Set(y) }

// small tells whether the term t no longer counts in the sum s.
func small(t, s Num) bool {
	return t.Sign() == 0 || t.MantExp(nil) < s.MantExp(nil)-int(s.Prec())
}

var constants = map[string]Num{}

// constant is a constant with prec bits, computed once.
func constant(name string, prec uint, f func(one Num) Num) Num {
	c := constants[name]
	if c == nil || c.Prec() < prec {
		p := prec + 256
		c = f(New(p+32, 1)).SetPrec(p)
		constants[name] = c
	}
	return new(big.Float).SetPrec(prec).Set(c)
}

// Ln2 is the logarithm of 2, by 2 atanh(1/3). Constants are not for several goroutines, until
// [Prepare] was called.
func Ln2(prec uint) Num {
	return constant("ln2", prec, func(one Num) Num { return times(inverse(one, 3, 1), 2) })
}

// Pi is the ratio of circle and diameter, by Machin's 16 atan(1/5) - 4 atan(1/239).
func Pi(prec uint) Num {
	return constant("pi", prec, func(one Num) Num {
		return Sub(times(inverse(one, 5, -1), 16), times(inverse(one, 239, -1), 4))
	})
}

// Prepare computes the constants to prec bits, so that goroutines may share the package.
func Prepare(prec uint) {
	Ln2(prec)
	Pi(prec)
}

// inverse is the sum of sign^k / ((2k+1) n^(2k+1)): atanh(1/n), or atan(1/n) for sign -1.
func inverse(one Num, n, sign int) Num {
	p := over(one, n)
	s := as(p, one)
	for k := 1; ; k++ {
		p = over(p, sign*n*n)
		t := over(p, 2*k+1)
		if small(t, s) {
			return s
		}
		s = Add(s, t)
	}
}

// round is the integer nearest to x.
func round(x Num) *big.Int {
	half := New(x.Prec(), 0.5)
	if x.Sign() < 0 {
		half = Neg(half)
	}
	i, _ := Add(x, half).Int(nil)
	return i
}

// exponent is the number of bits before the point of x, 0 if there are none.
func exponent(x Num) uint { return uint(max(0, x.MantExp(nil))) }

// Exp is e^x: x = k ln 2 + 2^8 r, by the series of r.
func Exp(x Num) Num {
	const halvings = 8
	w := wider(x, 40+exponent(x))
	k := round(Div(w, Ln2(w.Prec())))
	n := new(big.Float).SetPrec(w.Prec()).SetInt(k)
	r := Scale(Sub(w, Mul(n, Ln2(w.Prec()))), -halvings)
	s, t := New(w.Prec(), 1), New(w.Prec(), 1)
	for i := 1; ; i++ {
		t = over(Mul(t, r), i)
		if small(t, s) {
			break
		}
		s = Add(s, t)
	}
	for range halvings {
		s = Mul(s, s)
	}
	return as(Scale(s, int(k.Int64())), x)
}

// Log is the natural logarithm of x > 0, by Newton's iteration y + 2(x-e^y)/(x+e^y), which
// trebles the digits. The error is relative to the larger of the result and 2^-40.
func Log(x Num) Num {
	w := wider(x, 80)
	m := new(big.Float).SetPrec(w.Prec())
	e := w.MantExp(m)
	f, _ := m.Float64()
	if f < math.Sqrt2/2 {
		m, e, f = Scale(m, 1), e-1, 2*f
	}
	y := New(w.Prec(), math.Log(f))
	for bits := uint(45); bits < w.Prec(); bits *= 3 {
		ey := Exp(y)
		y = Add(y, Scale(Div(Sub(m, ey), Add(m, ey)), 1))
	}
	return as(Add(y, times(Ln2(w.Prec()), e)), x)
}

// SinCos is the sine and the cosine of x, reduced by multiples of pi/2. The errors are relative to
// the results where these are above 2^-64.
func SinCos(x Num) (sin, cos Num) {
	w := wider(x, 80+exponent(x))
	half := Scale(Pi(w.Prec()), -1)
	k := round(Div(w, half))
	r := Sub(w, Mul(new(big.Float).SetPrec(w.Prec()).SetInt(k), half))
	s, c := turn(r)
	switch new(big.Int).And(k, big.NewInt(3)).Int64() {
	case 1:
		s, c = c, Neg(s)
	case 2:
		s, c = Neg(s), Neg(c)
	case 3:
		s, c = Neg(c), s
	}
	return as(s, x), as(c, x)
}

// SinCosPi is the sine and the cosine of pi x.
func SinCosPi(x Num) (sin, cos Num) {
	w := wider(x, 40+exponent(x))
	k := round(Scale(w, 1))
	r := Sub(w, Scale(new(big.Float).SetPrec(w.Prec()).SetInt(k), -1))
	s, c := turn(Mul(r, Pi(w.Prec())))
	switch new(big.Int).And(k, big.NewInt(3)).Int64() {
	case 1:
		s, c = c, Neg(s)
	case 2:
		s, c = Neg(s), Neg(c)
	case 3:
		s, c = Neg(c), s
	}
	return as(s, x), as(c, x)
}

// turn is the sine and the cosine of r by their series.
func turn(r Num) (sin, cos Num) {
	rr := Neg(Mul(r, r))
	s, t := as(r, r), as(r, r)
	for i := 2; r.Sign() != 0; i += 2 {
		t = over(Mul(t, rr), i*(i+1))
		if small(t, s) {
			break
		}
		s = Add(s, t)
	}
	c, u := New(r.Prec(), 1), New(r.Prec(), 1)
	for i := 1; ; i += 2 {
		u = over(Mul(u, rr), i*(i+1))
		if small(u, c) {
			return s, c
		}
		c = Add(c, u)
	}
}

// Atan is the arc tangent of x: the angle y that float64 gives, and the series for the rest.
func Atan(x Num) Num {
	if x.Sign() == 0 {
		return x
	}
	w := wider(x, 40)
	f, _ := w.Float64()
	y := New(w.Prec(), math.Atan(f))
	if math.Abs(f) < 1e-3 {
		y = New(w.Prec(), 0)
	}
	sin, cos := SinCos(y)
	t := Div(Sub(Mul(w, cos), sin), Add(cos, Mul(w, sin)))
	p, s := as(t, t), as(t, t)
	tt := Neg(Mul(t, t))
	for i := 3; t.Sign() != 0; i += 2 {
		p = Mul(p, tt)
		u := over(p, i)
		if small(u, s) {
			break
		}
		s = Add(s, u)
	}
	return as(Add(y, s), x)
}

// Erf is 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x, by the series x e^(-x^2) times the
// sum of (2x^2)^k / (1 3 5 ... 2k+1), all terms of which are positive. The error is relative to the
// result; Erfc is 1-Erf with as many bits more as that takes.
func Erf(x Num) Num {
	w := wider(x, 60)
	xx := Mul(w, w)
	t, s := New(w.Prec(), 1), New(w.Prec(), 1)
	for k := 1; ; k++ {
		t = over(Scale(Mul(t, xx), 1), 2*k+1)
		if small(t, s) {
			break
		}
		s = Add(s, t)
	}
	r := Mul(Mul(Mul(w, s), Exp(Neg(xx))), New(w.Prec(), 2))
	return as(Div(r, Sqrt(Pi(w.Prec()))), x)
}

// Erfc is 1 - Erf(x).
func Erfc(x Num) Num {
	f, _ := x.Float64()
	w := wider(x, 20)
	if f > 0 {
		w = wider(x, 40+uint(1.5*f*f))
	}
	return as(Sub(New(w.Prec(), 1), Erf(w)), x)
}

package mp

import (
	"math"
	"testing"
)

const prec = 200

// agree tells whether x and y agree to n bits.
func agree(x, y Num, n int) bool {
	d := Sub(x, y)
	return d.Sign() == 0 || d.MantExp(nil) <= x.MantExp(nil)-n
}

// Functions against their inverses, other formulas, and package math.
func TestFunctions(t *testing.T) {
	for _, v := range []float64{1e-30, 1e-9, 0.001, 0.3, 0.5, 0.70, 1, 1.5, 2.25, 7.75, 30, 86.5} {
		x := New(prec, v)
		check := func(name string, got, want Num, bits int) {
			t.Helper()
			if !agree(got, want, bits) {
				t.Errorf("%s(%v) = %.60g, want %.60g", name, v, got, want)
			}
		}
		native := func(name string, got Num, want float64) {
			t.Helper()
			if f, _ := got.Float64(); math.Abs(f-want) > 1e-14*math.Abs(want) {
				t.Errorf("%s(%v) = %v, package math has %v", name, v, f, want)
			}
		}
		check("exp log", Exp(Log(x)), x, prec-30)
		if v > 0.01 {
			check("log exp", Log(Exp(x)), x, prec-30)
		}
		sin, cos := SinCos(x)
		check("sin^2+cos^2", Add(Mul(sin, sin), Mul(cos, cos)), New(prec, 1), prec-10)
		if v < 1.5 {
			check("atan tan", Atan(Div(sin, cos)), x, prec-20)
			check("asin sin", Series{sin}.Asin()[0], x, prec-25)
		}
		c := Cbrt(x)
		check("cbrt^3", Mul(Mul(c, c), c), x, prec-30)
		s1, c1 := SinCosPi(x)
		s2, c2 := SinCos(Mul(wider(x, 60), Pi(prec+60)))
		check("sinpi", Add(s2, New(prec+60, 1)), Add(wider(s1, 60), New(prec, 1)), prec-60)
		check("cospi", Add(c2, New(prec+60, 1)), Add(wider(c1, 60), New(prec, 1)), prec-60)
		check("erf+erfc", Add(Erf(x), Erfc(x)), New(prec, 1), prec-10)
		native("exp", Exp(x), math.Exp(v))
		native("log", Log(x), math.Log(v))
		native("sin", sin, math.Sin(v))
		native("cos", cos, math.Cos(v))
		native("atan", Atan(x), math.Atan(v))
		native("erf", Erf(x), math.Erf(v))
		native("erfc", Erfc(x), math.Erfc(v))
	}
}

// The polynomial at a point gives the function beside it.
func TestSeries(t *testing.T) {
	const n, h = 12, 1.0 / 4096
	for name, f := range map[string]func(x Series) Series{
		"exp":  Series.Exp,
		"log":  Series.Log,
		"sqrt": Series.Sqrt,
		"cbrt": Series.Cbrt,
		"atan": Series.Atan,
		"asin": Series.Asin,
		"erf":  Series.Erf,
		"erfc": Series.Erfc,
		"tan":  func(x Series) Series { s, c := x.SinCos(); return s.Div(c) },
		"cot":  func(x Series) Series { s, c := x.SinCosPi(); return c.Div(s) },
		"more": func(x Series) Series { return x.Neg().Exp().Plus(1).Inverse().Mul(x).Sub(x.Times(x[0])) },
	} {
		x := New(prec, 0.375)
		s := f(Variable(x, n))
		p := s[n-1]
		for i := n - 2; i >= 0; i-- {
			p = Add(Mul(p, New(prec, h)), s[i])
		}
		var want Num
		if y := Add(x, New(prec, h)); name == "more" {
			e := Add(Exp(Neg(y)), New(prec, 1))
			want = Sub(Div(y, e), Mul(y, x))
		} else {
			want = f(Variable(y, 1))[0]
		}
		if !agree(p, want, 120) {
			t.Errorf("%s beside the point is %.40g, want %.40g", name, p, want)
		}
	}
}

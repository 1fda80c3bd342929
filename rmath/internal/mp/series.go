package mp

// A Series is a function near a point: the coefficients of its Taylor polynomial. Operations on
// series of n terms give n terms; with one term they are operations on numbers.
type Series []Num

// Variable is x + t, in n terms.
func Variable(x Num, n int) Series {
	s := make(Series, n)
	s[0] = x
	for i := 1; i < n; i++ {
		s[i] = New(x.Prec(), 0)
	}
	if n > 1 {
		s[1] = New(x.Prec(), 1)
	}
	return s
}

func (s Series) prec() uint { return s[0].Prec() }

// head is a series whose first term is c, the others to be set.
func (s Series) head(c Num) Series {
	r := make(Series, len(s))
	r[0] = c
	return r
}

// sum is the sum of f(j) for j from a to b.
func (s Series) sum(a, b int, f func(j int) Num) Num {
	t := New(s.prec(), 0)
	for j := a; j <= b; j++ {
		t = Add(t, f(j))
	}
	return t
}

func (s Series) each(f func(x Num) Num) Series {
	r := make(Series, len(s))
	for i := range s {
		r[i] = f(s[i])
	}
	return r
}

// Add is s + u.
func (s Series) Add(u Series) Series {
	r := make(Series, len(s))
	for i := range s {
		r[i] = Add(s[i], u[i])
	}
	return r
}

// Neg is -s.
func (s Series) Neg() Series { return s.each(Neg) }

// Sub is s - u.
func (s Series) Sub(u Series) Series { return s.Add(u.Neg()) }

// Times is s*c.
func (s Series) Times(c Num) Series { return s.each(func(x Num) Num { return Mul(x, c) }) }

// Plus is s + c.
func (s Series) Plus(c float64) Series {
	r := append(Series(nil), s...)
	r[0] = Add(r[0], New(s.prec(), c))
	return r
}

// Mul is s*u.
func (s Series) Mul(u Series) Series {
	r := make(Series, len(s))
	for k := range s {
		r[k] = s.sum(0, k, func(j int) Num { return Mul(s[j], u[k-j]) })
	}
	return r
}

// Div is s/u.
func (s Series) Div(u Series) Series {
	r := make(Series, len(s))
	for k := range s {
		r[k] = Div(Sub(s[k], s.sum(1, k, func(j int) Num { return Mul(u[j], r[k-j]) })), u[0])
	}
	return r
}

// Inverse is 1/s.
func (s Series) Inverse() Series {
	one := Variable(New(s.prec(), 1), 1)
	for range len(s) - 1 {
		one = append(one, New(s.prec(), 0))
	}
	return one.Div(s)
}

// Exp is e^s.
func (s Series) Exp() Series {
	r := s.head(Exp(s[0]))
	for k := 1; k < len(s); k++ {
		r[k] = over(s.sum(1, k, func(j int) Num { return times(Mul(s[j], r[k-j]), j) }), k)
	}
	return r
}

// Log is the logarithm of s.
func (s Series) Log() Series {
	r := s.head(Log(s[0]))
	for k := 1; k < len(s); k++ {
		t := s.sum(1, k-1, func(j int) Num { return times(Mul(r[j], s[k-j]), j) })
		r[k] = Div(Sub(s[k], over(t, k)), s[0])
	}
	return r
}

// root is s^a, where c is the first term.
func (s Series) root(c, a Num) Series {
	r := s.head(c)
	for k := 1; k < len(s); k++ {
		t := s.sum(1, k, func(j int) Num {
			return Mul(Mul(s[j], r[k-j]), Sub(times(a, j), New(s.prec(), float64(k-j))))
		})
		r[k] = over(Div(t, s[0]), k)
	}
	return r
}

// Sqrt is the square root of s.
func (s Series) Sqrt() Series { return s.root(Sqrt(s[0]), New(s.prec(), 0.5)) }

// Cbrt is the cube root of s.
func (s Series) Cbrt() Series { return s.root(Cbrt(s[0]), Quo64(s.prec(), 1, 3)) }

// Cbrt is the cube root of x.
func Cbrt(x Num) Num {
	switch {
	case x.Sign() == 0:
		return x
	case x.Sign() < 0:
		return Neg(Cbrt(Neg(x)))
	}
	w := wider(x, 80)
	return as(Exp(over(Log(w), 3)), x)
}

// SinCos is the sine and the cosine of s.
func (s Series) SinCos() (sin, cos Series) { return s.turned(SinCos(s[0])) }

// SinCosPi is the sine and the cosine of pi s.
func (s Series) SinCosPi() (sin, cos Series) {
	return s.Times(Pi(s.prec())).turned(SinCosPi(s[0]))
}

func (s Series) turned(sin0, cos0 Num) (sin, cos Series) {
	sin, cos = s.head(sin0), s.head(cos0)
	for k := 1; k < len(s); k++ {
		sin[k] = over(s.sum(1, k, func(j int) Num { return times(Mul(s[j], cos[k-j]), j) }), k)
		cos[k] = over(s.sum(1, k, func(j int) Num { return times(Mul(s[j], sin[k-j]), -j) }), k)
	}
	return sin, cos
}

// integral is the function with the first term c whose derivative by t is d times that of s.
func (s Series) integral(c Num, d Series) Series {
	r := s.head(c)
	for k := 1; k < len(s); k++ {
		r[k] = over(s.sum(1, k, func(j int) Num { return times(Mul(s[j], d[k-j]), j) }), k)
	}
	return r
}

// Atan is the arc tangent of s.
func (s Series) Atan() Series { return s.integral(Atan(s[0]), s.Mul(s).Plus(1).Inverse()) }

// Asin is the arc sine of s: that of |s| = 1 has one term only.
func (s Series) Asin() Series {
	d := s.Mul(s).Neg().Plus(1)
	if d[0].Sign() == 0 {
		return Series{times(Scale(Pi(s.prec()), -1), s[0].Sign())}
	}
	root := d.Sqrt()
	return s.integral(Atan(Div(s[0], root[0])), root.Inverse())
}

// Erf is the error function of s.
func (s Series) Erf() Series { return s.integral(Erf(s[0]), s.bell()) }

// Erfc is 1-Erf.
func (s Series) Erfc() Series { return s.integral(Erfc(s[0]), s.bell().Neg()) }

// bell is 2/sqrt(pi) exp(-s^2).
func (s Series) bell() Series {
	c := Div(New(s.prec(), 2), Sqrt(Pi(s.prec())))
	return s.Mul(s).Neg().Exp().Times(c)
}

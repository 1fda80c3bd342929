package rmath

import (
	"math"
	"testing"
)

// Each function beside package math's, over 1024 arguments; SinFar has arguments up to 1e300.
func BenchmarkFunctions(b *testing.B) {
	rsqrt := func(x float64) float64 { return 1 / math.Sqrt(x) }
	pow := func(f func(x, y float64) float64) func(float64) float64 {
		return func(x float64) float64 { return f(x, 3.7) }
	}
	for _, c := range []struct {
		name   string
		f, g   func(float64) float64
		lo, hi float64
	}{
		{"Exp", Exp, math.Exp, -20, 20},
		{"Exp2", Exp2, math.Exp2, -20, 20},
		{"Expm1", Expm1, math.Expm1, -5, 5},
		{"Log", Log, math.Log, 0, 100},
		{"Log2", Log2, math.Log2, 0, 100},
		{"Log10", Log10, math.Log10, 0, 100},
		{"Log1p", Log1p, math.Log1p, 0, 10},
		{"Sin", Sin, math.Sin, -1e5, 1e5},
		{"SinFar", Sin, math.Sin, 0, 1e300},
		{"Cos", Cos, math.Cos, -1e5, 1e5},
		{"Tan", Tan, math.Tan, -1e5, 1e5},
		{"Asin", Asin, math.Asin, -1, 1},
		{"Acos", Acos, math.Acos, -1, 1},
		{"Atan", Atan, math.Atan, -5, 5},
		{"Sinh", Sinh, math.Sinh, -20, 20},
		{"Cosh", Cosh, math.Cosh, -20, 20},
		{"Tanh", Tanh, math.Tanh, -5, 5},
		{"Asinh", Asinh, math.Asinh, -20, 20},
		{"Acosh", Acosh, math.Acosh, 1, 20},
		{"Atanh", Atanh, math.Atanh, -1, 1},
		{"Cbrt", Cbrt, math.Cbrt, 0, 100},
		{"Rsqrt", Rsqrt, rsqrt, 0, 100},
		{"Erf", Erf, math.Erf, -3, 3},
		{"Erfc", Erfc, math.Erfc, -3, 10},
		{"Pow", pow(Pow), pow(math.Pow), 0, 100},
		{"Atan2", pow(Atan2), pow(math.Atan2), -9, 9},
		{"Hypot", pow(Hypot), pow(math.Hypot), -9, 9},
	} {
		var x [1024]float64
		for i := range x {
			// a sequence that fills the interval evenly, in no order
			x[i] = c.lo + (c.hi-c.lo)*math.Mod(float64(i)*math.Phi, 1)
		}
		for _, v := range []struct {
			name string
			f    func(float64) float64
		}{{"rmath", c.f}, {"math", c.g}} {
			b.Run(c.name+"/"+v.name, func(b *testing.B) {
				for i := range b.N {
					sink = v.f(x[i%1024])
				}
			})
		}
	}
}

var sink float64

package f32

import (
	"math"
	"testing"
)

// Each function beside package math's float64 function, over 1024 arguments, by itself and in
// slices; SinFar takes arguments up to 1e30.
func BenchmarkFunctions(b *testing.B) {
	for _, c := range []struct {
		name   string
		f      func(float32) float32
		g      func(float64) float64
		lo, hi float64
	}{
		{"Exp", Exp, math.Exp, -20, 20},
		{"Exp2", Exp2, math.Exp2, -20, 20},
		{"Expm1", Expm1, math.Expm1, -5, 5},
		{"Log", Log, math.Log, 0, 100},
		{"Log2", Log2, math.Log2, 0, 100},
		{"Sin", Sin, math.Sin, -1e5, 1e5},
		{"SinFar", Sin, math.Sin, 0, 1e30},
		{"Sinh", Sinh, math.Sinh, -20, 20},
		{"Cosh", Cosh, math.Cosh, -20, 20},
		{"Tanh", Tanh, math.Tanh, -5, 5},
		{"Sigmoid", Sigmoid, nil, -20, 20},
		{"Log10", Log10, math.Log10, 0, 100},
		{"Log1p", Log1p, math.Log1p, -0.9, 10},
		{"Cos", Cos, math.Cos, -1e5, 1e5},
		{"Tan", Tan, math.Tan, -1e5, 1e5},
		{"SinPi", SinPi, nil, -100, 100},
		{"Asin", Asin, math.Asin, -1, 1},
		{"Acos", Acos, math.Acos, -1, 1},
		{"Atan", Atan, math.Atan, -20, 20},
		{"Asinh", Asinh, math.Asinh, -20, 20},
		{"Acosh", Acosh, math.Acosh, 1, 20},
		{"Atanh", Atanh, math.Atanh, -1, 1},
		{"Rsqrt", Rsqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }, 0, 100},
		{"Cbrt", Cbrt, math.Cbrt, -100, 100},
		{"Erf", Erf, math.Erf, -4, 4},
		{"Erfc", Erfc, math.Erfc, -4, 10},
		{
			"Pow", func(x float32) float32 { return Pow(x, 2.3) },
			func(x float64) float64 { return math.Pow(x, 2.3) }, 0, 100,
		},
		{
			"Atan2", func(x float32) float32 { return Atan2(x, 1.5) },
			func(x float64) float64 { return math.Atan2(x, 1.5) }, -20, 20,
		},
		{
			"Hypot", func(x float32) float32 { return Hypot(x, 1.5) },
			func(x float64) float64 { return math.Hypot(x, 1.5) }, -20, 20,
		},
	} {
		var x, z [1024]float32
		var y [1024]float64
		for i := range x {
			// a sequence that fills the interval evenly, in no order
			y[i] = c.lo + (c.hi-c.lo)*math.Mod(float64(i)*math.Phi, 1)
			x[i] = float32(y[i])
		}
		b.Run(c.name+"/f32", func(b *testing.B) {
			for i := range b.N {
				sink32 = c.f(x[i%1024])
			}
		})
		if c.g != nil {
			b.Run(c.name+"/math", func(b *testing.B) {
				for i := range b.N {
					sink64 = c.g(y[i%1024])
				}
			})
			b.Run(c.name+"/loop", func(b *testing.B) { // of float32, by package math
				for range (b.N + 1023) / 1024 {
					for i, x := range x {
						z[i] = float32(c.g(float64(x)))
					}
				}
			})
		}
		b.Run(c.name+"/slice", func(b *testing.B) {
			for range (b.N + 1023) / 1024 {
				Apply(c.f, z[:], x[:])
			}
		})
	}
}

var (
	sink32 float32
	sink64 float64
)

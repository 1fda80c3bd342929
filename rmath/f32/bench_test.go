package f32

import (
	"math"
	"testing"
)

// Each function beside package math's float64 function, over 1024 arguments; SinFar and CosFar take
// arguments up to 1e30.
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
	} {
		var x [1024]float32
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
		}
	}
}

var (
	sink32 float32
	sink64 float64
)

package gpu_test

import (
	"testing"

	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/rmath"
	"github.com/tandem-gpu/tandem/rmath/f32"
)

// The functions for generic kernels are those of packages rmath/f32 and rmath.
func TestElementary(t *testing.T) {
	for _, c := range []struct {
		name string
		x, f func(float32) float32
		y, g func(float64) float64
	}{
		{"Exp", gpu.Exp[float32], f32.Exp, gpu.Exp[float64], rmath.Exp},
		{"Exp2", gpu.Exp2[float32], f32.Exp2, gpu.Exp2[float64], rmath.Exp2},
		{"Expm1", gpu.Expm1[float32], f32.Expm1, gpu.Expm1[float64], rmath.Expm1},
		{"Log", gpu.Log[float32], f32.Log, gpu.Log[float64], rmath.Log},
		{"Log2", gpu.Log2[float32], f32.Log2, gpu.Log2[float64], rmath.Log2},
		{"Log10", gpu.Log10[float32], f32.Log10, gpu.Log10[float64], rmath.Log10},
		{"Log1p", gpu.Log1p[float32], f32.Log1p, gpu.Log1p[float64], rmath.Log1p},
		{"Sin", gpu.Sin[float32], f32.Sin, gpu.Sin[float64], rmath.Sin},
		{"Cos", gpu.Cos[float32], f32.Cos, gpu.Cos[float64], rmath.Cos},
		{"Tan", gpu.Tan[float32], f32.Tan, gpu.Tan[float64], rmath.Tan},
		{"SinPi", gpu.SinPi[float32], f32.SinPi, gpu.SinPi[float64], rmath.SinPi},
		{"CosPi", gpu.CosPi[float32], f32.CosPi, gpu.CosPi[float64], rmath.CosPi},
		{"Asin", gpu.Asin[float32], f32.Asin, gpu.Asin[float64], rmath.Asin},
		{"Acos", gpu.Acos[float32], f32.Acos, gpu.Acos[float64], rmath.Acos},
		{"Atan", gpu.Atan[float32], f32.Atan, gpu.Atan[float64], rmath.Atan},
		{"Sinh", gpu.Sinh[float32], f32.Sinh, gpu.Sinh[float64], rmath.Sinh},
		{"Cosh", gpu.Cosh[float32], f32.Cosh, gpu.Cosh[float64], rmath.Cosh},
		{"Tanh", gpu.Tanh[float32], f32.Tanh, gpu.Tanh[float64], rmath.Tanh},
		{"Asinh", gpu.Asinh[float32], f32.Asinh, gpu.Asinh[float64], rmath.Asinh},
		{"Acosh", gpu.Acosh[float32], f32.Acosh, gpu.Acosh[float64], rmath.Acosh},
		{"Atanh", gpu.Atanh[float32], f32.Atanh, gpu.Atanh[float64], rmath.Atanh},
		{"Cbrt", gpu.Cbrt[float32], f32.Cbrt, gpu.Cbrt[float64], rmath.Cbrt},
		{"Rsqrt", gpu.Rsqrt[float32], f32.Rsqrt, gpu.Rsqrt[float64], rmath.Rsqrt},
		{"Erf", gpu.Erf[float32], f32.Erf, gpu.Erf[float64], rmath.Erf},
		{"Erfc", gpu.Erfc[float32], f32.Erfc, gpu.Erfc[float64], rmath.Erfc},
		{"Sigmoid", gpu.Sigmoid[float32], f32.Sigmoid, gpu.Sigmoid[float64], rmath.Sigmoid},
		{"Floor", gpu.Floor[float32], f32.Floor, gpu.Floor[float64], rmath.Floor},
		{"Ceil", gpu.Ceil[float32], f32.Ceil, gpu.Ceil[float64], rmath.Ceil},
		{"Trunc", gpu.Trunc[float32], f32.Trunc, gpu.Trunc[float64], rmath.Trunc},
		{"Round", gpu.Round[float32], f32.Round, gpu.Round[float64], rmath.Round},
		{"RoundToEven", gpu.RoundToEven[float32], f32.RoundToEven, gpu.RoundToEven[float64], rmath.RoundToEven},
	} {
		if got, want := c.x(0.7), c.f(0.7); got != want && want == want {
			t.Errorf("%s of a float32: %v, want %v", c.name, got, want)
		}
		if got, want := c.y(0.7), c.g(0.7); got != want && want == want {
			t.Errorf("%s of a float64: %v, want %v", c.name, got, want)
		}
	}
	for _, c := range []struct {
		name string
		x, f func(x, y float32) float32
		y, g func(x, y float64) float64
	}{
		{"Pow", gpu.Pow[float32], f32.Pow, gpu.Pow[float64], rmath.Pow},
		{"Atan2", gpu.Atan2[float32], f32.Atan2, gpu.Atan2[float64], rmath.Atan2},
		{"Hypot", gpu.Hypot[float32], f32.Hypot, gpu.Hypot[float64], rmath.Hypot},
		{"Mod", gpu.Mod[float32], f32.Mod, gpu.Mod[float64], rmath.Mod},
	} {
		if got, want := c.x(2.3, 0.7), c.f(2.3, 0.7); got != want {
			t.Errorf("%s of float32: %v, want %v", c.name, got, want)
		}
		if got, want := c.y(2.3, 0.7), c.g(2.3, 0.7); got != want {
			t.Errorf("%s of float64: %v, want %v", c.name, got, want)
		}
	}
}

package rmath

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Exact functions against package math, for arguments of any bits and for small ones.
func TestExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	check := func(name string, x, y, got, want float64) {
		t.Helper()
		if differ(got, want) {
			t.Errorf("%s(%v, %v) = %v, want %v", name, x, y, got, want)
		}
	}
	for i := range 20000 {
		x, y := math.Float64frombits(r.Uint64()), math.Float64frombits(r.Uint64())
		if i%2 == 0 {
			x, y = float64(r.IntN(4001)-2000)/8, float64(r.IntN(100)-50)/4
		}
		if i%8 == 1 {
			y = x * r.Float64()
		}
		check("Mod", x, y, Mod(x, y), math.Mod(x, y))
		check("Round", x, 0, Round(x), math.Round(x))
		check("RoundToEven", x, 0, RoundToEven(x), math.RoundToEven(x))
		f, e := Frexp(x)
		g, n := math.Frexp(x)
		check("Frexp", x, float64(e), f, g)
		if e != n {
			t.Errorf("Frexp(%v) has the exponent %v, want %v", x, e, n)
		}
		n = r.IntN(4400) - 2200
		check("Ldexp", x, float64(n), Ldexp(x, n), math.Ldexp(x, n))
	}
	// package math's sum of exponents overflows on 32-bit machines
	check("Ldexp", -least, math.MinInt32, Ldexp(-least, math.MinInt32), math.Copysign(0, -1))
	check("Ldexp", -least, math.MaxInt32, Ldexp(-least, math.MaxInt32), math.Inf(-1))
}

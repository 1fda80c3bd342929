package driverkit

import (
	"math"
	"math/big"
	"slices"
	"testing"
)

// The probe's table is what exact arithmetic gives.
func TestProbeVectors(t *testing.T) {
	exact := func(a, b, c float64) *big.Float {
		f := func(x float64) *big.Float { return new(big.Float).SetPrec(4000).SetFloat64(x) }
		p := new(big.Float).SetPrec(4000).Mul(f(a), f(b))
		return p.Add(p, f(c))
	}
	finite := func(v ...float64) bool {
		return !slices.ContainsFunc(v, func(x float64) bool { return math.IsInf(x, 0) || x != x })
	}
	for _, v := range vectors32 {
		a, b, c := float64(math.Float32frombits(v[0])), float64(math.Float32frombits(v[1])),
			float64(math.Float32frombits(v[2]))
		if !finite(a, b, c) || exact(a, b, c).Sign() == 0 {
			continue
		}
		if r, _ := exact(a, b, c).Float32(); math.Float32bits(r) != v[3] {
			t.Errorf("fma(%#x, %#x, %#x) is %#x, the table says %#x", v[0], v[1], v[2], math.Float32bits(r), v[3])
		}
	}
	for _, v := range vectors64 {
		a, b, c := math.Float64frombits(v[0]), math.Float64frombits(v[1]), math.Float64frombits(v[2])
		if !finite(a, b, c) || exact(a, b, c).Sign() == 0 {
			continue
		}
		if r, _ := exact(a, b, c).Float64(); math.Float64bits(r) != want64(v)[0] {
			t.Errorf("fma(%#x, %#x, %#x) is %#x, math.FMA says %#x", v[0], v[1], v[2], math.Float64bits(r),
				want64(v)[0])
		}
	}
}

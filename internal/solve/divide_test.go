package solve

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/internal/host"
)

// bidiagonals gives each of a number of bidiagonal matrices of n rows and n+1 columns, of up to
// most rows, which divide and conquer may stumble over.
func bidiagonals(count, most int, each func(what string, d, e []float64)) {
	rng := rand.New(rand.NewPCG(43, 44))
	kinds := []struct {
		what string
		at   func(i int) float64
	}{
		{"uniform", func(int) float64 { return rng.Float64() }},
		{"normal", func(int) float64 { return rng.NormFloat64() }},
		{"ones", func(int) float64 { return 1 }},
		{"zeros and ones", func(int) float64 { return float64(rng.IntN(2)) }},
		{"mostly zeros", func(int) float64 { return float64(rng.IntN(10) / 9) }},
		{"nothing", func(int) float64 { return 0 }},
		{"wide exponents", func(int) float64 { return math.Exp2(-1000 * rng.Float64()) }},
		{"cluster", func(int) float64 { return 1 + 1e-15*rng.Float64() }},
		{"graded", func(i int) float64 { return rng.NormFloat64() * math.Exp2(float64(-i)) }},
		{"graded up", func(i int) float64 { return rng.NormFloat64() * math.Exp2(float64(i-1000)) }},
		{"of three sizes", func(int) float64 { return rng.NormFloat64() * math.Pow(10, float64(8*rng.IntN(3)-16)) }},
		{"tiny", func(int) float64 { return rng.NormFloat64() * 1e-305 }},
		{"subnormal", func(int) float64 { return rng.NormFloat64() * 1e-315 }},
	}
	for i := range count {
		n := leafRows + 1 + rng.IntN(most-leafRows)
		down, beside := kinds[i%len(kinds)], kinds[i/len(kinds)%len(kinds)]
		d, e := make([]float64, n), make([]float64, n)
		for i := range n {
			d[i], e[i] = down.at(i), beside.at(i)
		}
		if i%2 == 0 {
			e[n-1] = 0 // square
		}
		each(fmt.Sprintf("case %d, %s and %s, %d rows", i, down.what, beside.what, n), d, e)
	}
}

// The vectors of bidiagonal matrices are orthogonal and give the matrix, and the values are those
// of the iteration.
func TestDivideSingular(t *testing.T) {
	count := 10 * 13 * 13
	if testing.Short() {
		count = 2 * 13 * 13
	}
	bidiagonals(count, 150, func(what string, d, e []float64) {
		n := len(d)
		rescaleVectors(d, e)
		values := slices.Clone(d)
		ut, vt, err := divideSingular(Solver[float64]{}, true, values, slices.Clone(e))
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		defer ut.give()
		defer vt.give()
		largest := max(largestBits(d), largestBits(e))
		within := 16 * 0x1p-52 * math.Sqrt(float64(n))
		left, right := fromUnit(n, n, ut.data), fromUnit(n+1, n+1, vt.data)
		if !(max(left, right) <= within) {
			t.Fatalf("%s: vectors are off by %v, %v", what, left, right)
		}
		most := max(math.Float64frombits(largest), 0x1p-400)
		b, us := make([]float64, n*(n+1)), make([]float64, n*n)
		for i := range n {
			b[i*(n+1)+i], b[i*(n+1)+i+1] = d[i], e[i]
			for k := range n {
				us[k*n+i] = ut.data[i*n+k] * values[i]
			}
			if !(values[i] >= 0) || i > 0 && values[i] > values[i-1] {
				t.Fatalf("%s: value %d is %v after %v", what, i, values[i], values[max(i-1, 0)])
			}
		}
		host.SubMul(n, n+1, n, us, n, vt.data, n+1, b, n+1)
		for i, v := range b {
			if !(math.Abs(v) <= within*most) {
				t.Fatalf("%s: element (%d, %d) is off by %v of %v", what, i/(n+1), i%(n+1), v, most)
			}
		}
		if e[n-1] != 0 {
			return
		}
		if err := singularValues(nil, false, d, e, []part{{0, n}}); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for i, v := range values {
			if !(math.Abs(v-d[i]) <= within*most) {
				t.Fatalf("%s: value %d is %v, and should be %v", what, i, v, d[i])
			}
		}
	})
}

// fromUnit is how far X*Xᵀ is from I at most, for X of m by n.
func fromUnit(m, n int, x []float64) (off float64) {
	unit := make([]float64, m*m)
	for i := range m {
		unit[i*(m+1)] = 1
	}
	host.SubMul(m, m, n, x, n, transpose(m, n, x, n), m, unit, m)
	for _, v := range unit {
		off = max(off, math.Abs(v))
	}
	return off
}

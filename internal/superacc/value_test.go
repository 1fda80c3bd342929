package superacc

import (
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// Sums, quotients and roots are those of math/big, rounded once: of numbers of few bits and of
// many, of which some are exact, or half way between two floats.
func TestValue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 50000 {
		var w [20]int64
		sum := new(big.Int)
		for range 1 + r.IntN(3) {
			m, p := r.Uint64()>>r.IntN(64), r.IntN(400)
			if i%2 == 0 { // a square
				hi, lo := bits.Mul64(m, m)
				p &^= 1
				Add(w[:], p+64, hi, false)
				Add(w[:], p, lo, false)
				sum.Lsh(sum.Mul(new(big.Int).SetUint64(m), new(big.Int).SetUint64(m)), uint(p))
				break
			}
			Add(w[:], p, m, false)
			sum.Add(sum, new(big.Int).Lsh(new(big.Int).SetUint64(m), uint(p)))
		}
		v := Top(w[:], Place{Step: 1, N: len(w)}, -200)
		x := new(big.Rat).SetFrac(sum, new(big.Int).Lsh(big.NewInt(1), 200))
		f64, _ := x.Float64()
		f32, _ := x.Float32()
		check(t, "the number", v, f64, f32)
		n := max(1, r.Uint64()>>(1+r.IntN(63)))
		q := new(big.Rat).Quo(x, new(big.Rat).SetFrac(new(big.Int).SetUint64(n), big.NewInt(1)))
		f64, _ = q.Float64()
		f32, _ = q.Float32()
		check(t, "the quotient", v.Over(n), f64, f32)
		deviation := new(big.Float).SetPrec(1000).SetRat(q)
		deviation.Sqrt(deviation)
		f64, _ = deviation.Float64()
		f32, _ = deviation.Float32()
		checkRoot(t, "the root of the quotient", v.Over(n), f64, f32)
		root := new(big.Float).SetPrec(1000).SetRat(x)
		root.Sqrt(root)
		f64, _ = root.Float64()
		f32, _ = root.Float32()
		checkRoot(t, "the root", v, f64, f32)
	}
}

func check(t *testing.T, what string, v Value, f64 float64, f32 float32) {
	t.Helper()
	if got := math.Float64frombits(v.Bits64()); got != f64 {
		t.Fatalf("%s: %v, want %v", what, got, f64)
	}
	if got := math.Float32frombits(v.Bits32()); got != f32 {
		t.Fatalf("%s: %v as a float32, want %v", what, got, f32)
	}
}

func checkRoot(t *testing.T, what string, v Value, f64 float64, f32 float32) {
	t.Helper()
	check(t, what, v.Root(53), f64, f32)
	if got := math.Float32frombits(v.Root(24).Bits32()); got != f32 {
		t.Fatalf("%s for a float32: %v, want %v", what, got, f32)
	}
}

package host

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// AddLines has the chains of its definition for all numbers of registers, and writes y alone.
func TestAddLines(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	random := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.Float64() - 0.5
		}
		return x
	}
	for lines := range 19 {
		for _, k := range []int{0, 1, 2, 7} {
			n := lines * lineElements
			a, x, y, lda := random((k+1)*(n+3)), random(k), random(n+1), n+3
			for _, from := range [][]float64{nil, random(n), y} {
				for _, negate := range []bool{false, true} {
					want := slices.Clone(y)
					for j := range n {
						acc := 0.0
						if from != nil {
							acc = from[j]
						}
						for p, v := range x {
							if negate {
								v = -v
							}
							acc = math.FMA(a[p*lda+j], v, acc)
						}
						want[j] = 0.75 * acc
					}
					AddLines(negate, a, lda, x, from, 0.75, y[:n])
					if !slices.Equal(y, want) {
						t.Fatalf("%d rows of %d lines, from %t, negate %t: %v, want %v", k, lines, from != nil, negate,
							y, want)
					}
				}
			}
		}
	}
}

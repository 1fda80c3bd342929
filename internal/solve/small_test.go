package solve

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func BenchmarkSmall(b *testing.B) {
	for _, n := range []int{4, 8, 16, 32, 64} {
		a := matrix[float64](rand.New(rand.NewPCG(1, 2)), "random", n, n, n)
		x, w, tau := make([]float64, n*n), make([]float64, n), make([]float64, n)
		v := SingularVectors{U: make([]float64, n*n), Cols: n, LdU: n, VT: make([]float64, n*n), Rows: n, LdVT: n}
		for name, f := range map[string]func(){
			"EigSym": func() { EigSym(Solver[float64]{}, true, true, n, x, n, w) },
			"QR":     func() { (Solver[float64]{}).QR(n, n, x, n, tau) },
			"SVD":    func() { SVD(Solver[float64]{}, n, n, x, n, w, v) },
		} {
			b.Run(fmt.Sprint(name, n), func(b *testing.B) {
				for b.Loop() {
					copy(x, a)
					f()
				}
			})
		}
	}
}

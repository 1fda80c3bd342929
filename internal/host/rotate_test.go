package host

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestRotate(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	for _, n := range []int{0, 1, 2, 7, 30} {
		st, rows := make([]float64, 2*n), make([]float64, RotationColumns*(n+2))
		for i := range rows {
			rows[i] = rng.Float64() - 0.5
		}
		for i := 0; i < len(st); i += 2 {
			c := rng.Float64()
			st[i] = math.Sqrt(1 - c*c)
			st[i+1] = st[i] / (1 + c)
		}
		for _, up := range []bool{false, true} {
			first, step := 0, 1
			if up {
				first, step = n, -1
			}
			want := slices.Clone(rows)
			for k := range n {
				for i := range RotationColumns {
					r := first + k*step
					x, y := &want[RotationColumns*r+i], &want[RotationColumns*(r+step)+i]
					*x, *y = math.FMA(st[2*k], math.FMA(-st[2*k+1], *x, *y), *x), math.FMA(-st[2*k],
						math.FMA(st[2*k+1], *y, *x), *y)
				}
			}
			got, plain := slices.Clone(rows), slices.Clone(rows)
			rotateGo(st, plain, RotationColumns*first, RotationColumns*step)
			Rotate(up, st, got)
			if !slices.Equal(got, want) || !slices.Equal(plain, want) {
				t.Errorf("%d rotations differ, up: %t", n, up)
			}
		}
	}
}

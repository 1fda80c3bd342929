package host

import (
	"math"
	"math/rand/v2"
	"testing"
)

// choleskyReference is Cholesky by its definition, for the triangle whose elements at points to.
func choleskyReference[T Float](n int, at func(i, j int) *T) int {
	for i := range n {
		for j := i; j < n; j++ {
			acc := *at(i, j)
			for k := range i {
				acc = FMA(-*at(k, i), *at(k, j), acc)
			}
			switch {
			case j > i:
				acc /= *at(i, i)
			case !(acc > 0):
				return i
			default:
				acc = T(math.Sqrt(float64(acc)))
			}
			*at(i, j) = acc
		}
	}
	return -1
}

// Both ways give the bits of the definition, and write nothing but a triangle, of which the other
// one is poison. A chain that is not above 0, or NaN, ends the work in its row.
func TestCholesky(t *testing.T) {
	forceVectors(t, testCholesky[float32], testCholesky[float64])
}

func testCholesky[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	for n := range MaxTriangle + 1 {
		for _, lower := range []bool{false, true} {
			for _, bad := range []T{1, 0, -1, T(math.NaN())} {
				fail := -1
				if n > 0 && bad != 1 {
					fail = rng.IntN(n)
				}
				a := newMatrix(n, n, rng.IntN(4), func(i, j int) T {
					switch {
					case i == fail && i == j:
						return bad
					case i == j:
						return T(n) + T(rng.Float64())
					case (j < i) == lower:
						return T(rng.Float64() - 0.5)
					}
					return poison[T]()
				})
				want := a.clone()
				row, col := Steps(lower, a.ld)
				failed := choleskyReference(n, func(i, j int) *T { return &want.data[i*row+j*col] })
				if failed != fail {
					t.Fatalf("the reference fails in row %d, not %d", failed, fail)
				}
				got := a.clone()
				if f := Cholesky(n, got.data, row, col); f != failed {
					t.Fatalf("%d rows, lower %t: row %d, want %d", n, lower, f, failed)
				}
				if err := got.diff(want); err != nil {
					t.Fatalf("%d rows, lower %t, %v in row %d: %v", n, lower, bad, fail, err)
				}
			}
		}
	}
}

func TestCholeskyChecksItsArguments(t *testing.T) {
	for _, n := range []int{4, MaxTriangle + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d rows: no panic", n)
				}
			}()
			Cholesky(n, make([]float64, 15), 4, 1)
		}()
	}
}

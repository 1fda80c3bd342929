package gonumblas_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/linalg/gonumblas"
)

// trmm and trsm are what the package's documentation says of them, to the bit. A triangle of 33
// rows is split into 32 and 1, one of 100 into 64 and 36, one of 200 twice.
func TestTriangularDefinition(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	gonumblas.Use(s)
	defer gonumblas.Restore()
	rng := rand.New(rand.NewPCG(21, 22))
	const alpha = -1.5
	for _, n := range []int{1, 5, 32, 33, 64, 65, 100, 200} {
		for _, lower := range []bool{true, false} {
			a := blas64.Triangular{N: n, Stride: n, Data: make([]float64, n*n), Uplo: blas.Lower, Diag: blas.NonUnit}
			if !lower {
				a.Uplo = blas.Upper
			}
			for i := range a.Data {
				a.Data[i] = (rng.Float64() - 0.5) / float64(n)
			}
			b := make([]float64, n)
			for i := range b {
				a.Data[i*n+i] = 1 + rng.Float64()
				b[i] = rng.Float64() - 0.5
			}
			for _, solve := range []bool{false, true} {
				got, want := slices.Clone(b), slices.Clone(b)
				column := blas64.General{Rows: n, Cols: 1, Stride: 1, Data: got}
				if solve {
					blas64.Trsm(blas.Left, blas.NoTrans, alpha, a, column)
				} else {
					blas64.Trmm(blas.Left, blas.NoTrans, alpha, a, column)
				}
				definition{a, solve}.apply(alpha, want)
				for i := range want {
					if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
						t.Errorf("%d rows, lower %t, solve %t: row %d is %x, want %x",
							n, lower, solve, i, got[i], want[i])
						break
					}
				}
			}
		}
	}
}

// A definition is trmm, or with solve trsm, of one column at the right side of A.
type definition struct {
	a     blas64.Triangular
	solve bool
}

func (d definition) at(i, k int) float64 { return d.a.Data[i*d.a.Stride+k] }

func (d definition) apply(alpha float64, b []float64) {
	n, upper, old := d.a.N, d.a.Uplo == blas.Upper, slices.Clone(b)
	for r := range n {
		if !d.solve {
			first, last, acc := 0, r, 0.0
			if upper {
				first, last = r, n-1
			}
			for k := first; k <= last; k++ {
				acc = math.FMA(d.at(r, k), old[k], acc)
			}
			b[r] = alpha * acc
			continue
		}
		turn := func(i int) int { // an upper triangle is solved from its last row on
			if upper {
				return n - 1 - i
			}
			return i
		}
		i := turn(r)
		acc := alpha * b[i]
		for k := range r {
			acc = math.FMA(-d.at(i, turn(k)), b[turn(k)], acc)
		}
		b[i] = acc / d.at(i, i)
	}
}

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
				definition{a, solve}.apply(0, n, alpha, want)
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

// apply is for the rows and columns lo to hi-1 of A.
func (d definition) apply(lo, hi int, alpha float64, b []float64) {
	n := hi - lo
	if n <= 32 {
		d.block(lo, hi, alpha, b)
		return
	}
	split := lo + (n/2+31)/32*32
	type part struct{ lo, hi int }
	first, second := part{lo, split}, part{split, hi}
	if d.a.Uplo == blas.Upper {
		first, second = second, first
	}
	factor, old := alpha, 1.0
	if d.solve {
		factor, old = -1, alpha
		d.apply(first.lo, first.hi, alpha, b)
	} else {
		d.apply(second.lo, second.hi, alpha, b)
	}
	for i := second.lo; i < second.hi; i++ {
		acc := 0.0
		for k := first.lo; k < first.hi; k++ {
			acc = math.FMA(d.at(i, k), b[k], acc)
		}
		b[i] = math.FMA(factor, acc, float64(old*b[i]))
	}
	if d.solve {
		d.apply(second.lo, second.hi, 1, b)
	} else {
		d.apply(first.lo, first.hi, alpha, b)
	}
}

// block is apply for rows that are not split.
func (d definition) block(lo, hi int, alpha float64, b []float64) {
	n := hi - lo
	row := func(i int) int { // an upper triangle has its rows and columns in reverse order
		if d.a.Uplo == blas.Upper {
			return hi - 1 - i
		}
		return lo + i
	}
	if d.solve {
		for i := range n {
			acc := alpha * b[row(i)]
			for k := range i {
				acc = math.FMA(-d.at(row(i), row(k)), b[row(k)], acc)
			}
			b[row(i)] = acc / d.at(row(i), row(i))
		}
		return
	}
	for i := n - 1; i >= 0; i-- {
		acc := d.at(row(i), row(i)) * b[row(i)]
		for k := range i {
			acc = math.FMA(d.at(row(i), row(k)), b[row(k)], acc)
		}
		b[row(i)] = alpha * acc
	}
}

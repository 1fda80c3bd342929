package solve

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// blockDiagonal is a symmetric matrix of blocks of so many rows, each with numbers of its own size.
func blockDiagonal(rng *rand.Rand, rows int, sizes []float64) (n int, a []float64) {
	n = rows * len(sizes)
	a = make([]float64, n*n)
	for b, size := range sizes {
		for i := b * rows; i < (b+1)*rows; i++ {
			for j := b * rows; j <= i; j++ {
				a[i*n+j] = size * rng.NormFloat64()
				a[j*n+i] = a[i*n+j]
			}
		}
	}
	return n, a
}

// checkBlocks compares Uᵀ*diag(w)*V with a, relative to the size of each block: element (i, t) of u
// and v is of vector t.
func checkBlocks(t *testing.T, what string, rows int, sizes, a, w []float64, u, v func(i, t int) float64) {
	t.Helper()
	n := len(w)
	for b, size := range sizes {
		for i := b * rows; i < (b+1)*rows; i++ {
			for j := range n {
				x := -a[i*n+j]
				for t, value := range w {
					x += u(i, t) * value * v(j, t)
				}
				if !(math.Abs(x) <= 100*0x1p-52*size) {
					t.Fatalf("%s of blocks %v of %d rows: element (%d, %d) of block %d is off by %v",
						what, sizes, rows, i, j, b, x)
				}
			}
		}
	}
}

// Blocks that have nothing to do with each other keep their digits, however small they are beside
// others.
func TestBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 46))
	for _, rows := range []int{1, 2, 17, 40} {
		for _, sizes := range [][]float64{
			{1, 1e-14},
			{1e-20, 1},
			{1, 1e-100, 1},
			{1e-200, 1, 1e-290},
			{1e150, 1e-30, 1e-100},
			slices.Repeat([]float64{1e-20, 1, 1e-10}, 34/rows),
		} {
			n, a := blockDiagonal(rng, rows, sizes)
			if n <= leafRows {
				continue
			}
			for _, lower := range []bool{true, false} {
				z, w := slices.Clone(a), make([]float64, n)
				if ok, err := EigSym(Solver[float64]{}, true, lower, n, z, n, w); !ok || err != nil {
					t.Fatal(ok, err)
				}
				alone := make([]float64, n)
				EigSym(Solver[float64]{}, false, lower, n, slices.Clone(a), n, alone)
				if !slices.IsSorted(w) || !slices.Equal(alone, w) {
					t.Fatalf("EigSym of blocks %v of %d rows: values %v, and %v with vectors", sizes, rows, alone, w)
				}
				at := func(i, t int) float64 { return z[i*n+t] }
				checkBlocks(t, "EigSym", rows, sizes, a, w, at, at)
			}
			u, vt, values := make([]float64, n*n), make([]float64, n*n), make([]float64, n)
			vectors := SingularVectors{U: u, Cols: n, LdU: n, VT: vt, Rows: n, LdVT: n}
			if ok, err := SVD(Solver[float64]{}, n, n, slices.Clone(a), n, values, vectors); !ok || err != nil {
				t.Fatal(ok, err)
			}
			checkBlocks(t, "SVD", rows, sizes, a, values,
				func(i, t int) float64 { return u[i*n+t] }, func(i, t int) float64 { return vt[t*n+i] })
			alone := make([]float64, n)
			SVD(Solver[float64]{}, n, n, slices.Clone(a), n, alone, SingularVectors{})
			if !slices.Equal(alone, values) {
				t.Fatalf("SVD of blocks %v of %d rows: values are %v, and %v with vectors", sizes, rows, alone, values)
			}
		}
	}
}

package host

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Squares, products in one goroutine and sums of rows have the chains of plain loops, and touch
// nothing else.
func TestSquares(t *testing.T) {
	t.Run("float32", testSquares[float32])
	t.Run("float64", testSquares[float64])
}

func testSquares[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	random := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(rng.Float64() - 0.5)
		}
		return x
	}
	for _, n := range []int{1, 5, 24, 65, 100, 170} {
		for _, k := range []int{1, 7, 64, 300} {
			lda, ldc := n+3, n+2
			a, c := random(k*lda), random(n*ldc)
			b, x := random(k*ldc), random(k)
			square, whole, sums := slices.Clone(c), slices.Clone(c), slices.Clone(c[:n])
			for i := range n {
				for p := range k {
					for j := range n {
						if j >= i {
							square[i*ldc+j] = FMA(-a[p*lda+i], a[p*lda+j], square[i*ldc+j])
						}
						whole[i*ldc+j] = FMA(-a[p*lda+i], b[p*ldc+j], whole[i*ldc+j])
					}
					sums[i] = FMA(a[p*lda+i], x[p], sums[i])
				}
			}
			got := slices.Clone(c)
			if SubSquare(n, k, a, lda, got, ldc); !slices.Equal(got, square) {
				t.Errorf("the square of %dx%d differs", k, n)
			}
			got = slices.Clone(c)
			if SubMulAlone(true, n, n, k, a, lda, b, ldc, got, ldc); !slices.Equal(got, whole) {
				t.Errorf("the product of %dx%d, transposed, differs", k, n)
			}
			at := make([]T, n*k)
			Transpose(k, n, a, lda, at, k)
			got = slices.Clone(c)
			if SubMulAlone(false, n, n, k, at, k, b, ldc, got, ldc); !slices.Equal(got, whole) {
				t.Errorf("the product of %dx%d differs", n, k)
			}
			got = slices.Clone(c)
			if AddRows(k, a, lda, x, got[:n]); !slices.Equal(got[:n], sums) || !slices.Equal(got[n:], c[n:]) {
				t.Errorf("the sum of %d rows of %d differs", k, n)
			}
			got = slices.Clone(c)
			if AddColumns(at, k, x[:k], got[:n]); !slices.Equal(got[:n], sums) || !slices.Equal(got[n:], c[n:]) {
				t.Errorf("the sum of %d columns of %d differs", k, n)
			}
		}
	}
}

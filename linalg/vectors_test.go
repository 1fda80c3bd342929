package linalg_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

// Products of a transposed matrix and a vector, contiguous or not, have the bits of the definition,
// of matrices on the host and of arrays.
func TestGemmOfVectors(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		t.Run("float32", func(t *testing.T) { testGemmOfVectors[float32](t, s) })
		t.Run("float64", func(t *testing.T) { testGemmOfVectors[float64](t, s) })
		t.Run("int32", func(t *testing.T) { testGemmOfVectors[int32](t, s) })
	})
}

func testGemmOfVectors[T linalg.Element](t *testing.T, s *linalg.Session) {
	rng := rand.New(rand.NewPCG(43, 44))
	ops := []blas.Transpose{blas.NoTrans, blas.Trans}
	for i, shape := range [][3]int{{1, 1, 1}, {7, 1, 5}, {1, 7, 5}, {70, 1, 33}, {1, 70, 33}, {40, 1, 1}, {1, 40, 1}} {
		m, n, k := shape[0], shape[1], shape[2]
		for _, tA := range ops {
			for _, tB := range ops {
				a, b := stored[T](rng, tA, m, k), stored[T](rng, tB, k, n)
				c := random[T](rng, m, n, i%2)
				alpha, beta := T(3), T(i%2*2)
				want := c.Packed()
				opA, opB := opOf(tA, a), opOf(tB, b)
				host.GemmReference(m, n, k, alpha, opA.Data, opA.Stride, opB.Data, opB.Stride, beta, want.Data,
					want.Stride)
				what := fmt.Sprintf("%dx%dx%d, %c%c", m, n, k, tA, tB)
				packed := upload(t, s, c)
				if err := packed.Gemm(alpha, tA, upload(t, s, a), tB, upload(t, s, b), beta); err != nil {
					t.Fatal(what, err)
				}
				same(t, what, download(t, packed), want)
				_, da := framed(t, s, rng, a)
				_, db := framed(t, s, rng, b)
				_, dc := framed(t, s, rng, c)
				if err := dc.Gemm(alpha, tA, da, tB, db, beta); err != nil {
					t.Fatal(what, err)
				}
				same(t, what+" in a frame", download(t, dc), want)
				if err := linalg.Gemm(alpha, tA, a, tB, b, beta, c, linalg.On(s),
					linalg.WithContext(t.Context())); err != nil {
					t.Fatal(what, err)
				}
				same(t, what+" on the host", c, want)
				guarded(t, what, c)
			}
		}
	}
}

// stored is a matrix whose op is rows by cols.
func stored[T linalg.Element](rng *rand.Rand, t blas.Transpose, rows, cols int) linalg.Matrix[T] {
	if t != blas.NoTrans {
		rows, cols = cols, rows
	}
	return random[T](rng, rows, cols, 2)
}

func opOf[T linalg.Element](t blas.Transpose, m linalg.Matrix[T]) linalg.Matrix[T] {
	if t == blas.NoTrans {
		return m
	}
	r := linalg.NewMatrix[T](m.Cols, m.Rows, nil)
	for i := range m.Rows {
		for j := range m.Cols {
			r.Set(j, i, m.At(i, j))
		}
	}
	return r
}

// Products of several goroutines in one session, with operands that are transposed into spare
// memory, do not take each other's.
func TestTransposedAtOnce(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				n := 40 + 8*g
				m := linalg.NewMatrix[int32](n, n+1, nil)
				for i := range m.Data {
					m.Data[i] = int32(i * (g + 1))
				}
				want := linalg.NewMatrix[int32](n+1, n+1, nil)
				for i := range want.Rows {
					for j, v := range want.Row(i) {
						for k := range n {
							v += m.At(k, i) * m.At(k, j)
						}
						want.Set(i, j, v)
					}
				}
				a, err := linalg.Upload(s, m)
				if err != nil {
					t.Error(err)
					return
				}
				for range 10 {
					c, err := linalg.NewArray[int32](s, n+1, n+1)
					if err == nil {
						err = c.Gemm(1, blas.Trans, a, blas.NoTrans, a, 0)
					}
					if err != nil {
						t.Error(err)
						return
					}
					got, err := c.Download()
					if err != nil || !slices.Equal(got.Data, want.Data) {
						t.Errorf("%d rows: another result, error %v", n, err)
						return
					}
				}
			})
		}
		all.Wait()
	})
}

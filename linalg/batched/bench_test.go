package batched

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/linalg"
)

// measured is what BenchmarkBatches measures.
var measured = []struct{ count, n int }{{10000, 4}, {10000, 8}, {10000, 16}, {10000, 32}, {1000, 64}}

// BenchmarkBatches factors batches, and solves for one right side each, on the default device. The
// matrices stay, as they do in NumPy: the arrays that become factors are copies.
func BenchmarkBatches(b *testing.B) {
	b.Run("float32", benchmarkBatches[float32])
	b.Run("float64", benchmarkBatches[float64])
}

func benchmarkBatches[T Float](b *testing.B) {
	s, err := linalg.Default()
	if err != nil {
		b.Fatal(err)
	}
	for _, size := range measured {
		rows := size.count * size.n
		general, definite, side := batchesOf[T](size.count, size.n), definites[T](size.count, size.n), ones[T](rows)
		a, err1 := linalg.NewArray[T](s, rows, size.n)
		x, err2 := linalg.NewArray[T](s, rows, 1)
		pivots, err3 := linalg.NewArray[int32](s, size.count, size.n)
		status, err4 := linalg.NewArray[int32](s, size.count, 1)
		if err := cmp.Or(err1, err2, err3, err4); err != nil {
			b.Fatal(err)
		}
		run := func(op string, matrices linalg.Matrix[T], f func() error) {
			b.Run(fmt.Sprintf("%s/%dx%d", op, size.count, size.n), func(b *testing.B) {
				for b.Loop() {
					if err := cmp.Or(a.CopyFrom(matrices), f(), s.Wait()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("LU", general, func() error { return LU(a, pivots, status) })
		run("Solve", general, func() error {
			return cmp.Or(x.CopyFrom(side), LU(a, pivots, status), SolveLU(x, a, pivots))
		})
		run("Cholesky", definite, func() error { return Cholesky(a, status) })
		if err := cmp.Or(a.Free(), x.Free(), pivots.Free(), status.Free()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGonum is the same by a loop of gonum's.
func BenchmarkGonum(b *testing.B) {
	for _, size := range measured {
		n, general, definite := size.n, batchesOf[float64](size.count, size.n), definites[float64](size.count, size.n)
		run := func(op string, matrices linalg.Matrix[float64], f func(a []float64) error) {
			b.Run(fmt.Sprintf("%s/%dx%d", op, size.count, n), func(b *testing.B) {
				for b.Loop() {
					for q := range size.count {
						if err := f(matrices.Data[q*n*n:][:n*n]); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
		var lu mat.LU
		var chol mat.Cholesky
		side, x := mat.NewVecDense(n, ones[float64](n).Data), mat.NewVecDense(n, nil)
		run("LU", general, func(a []float64) error {
			lu.Factorize(mat.NewDense(n, n, a))
			return nil
		})
		run("Solve", general, func(a []float64) error {
			lu.Factorize(mat.NewDense(n, n, a))
			if err := lu.SolveVecTo(x, false, side); err != nil && lu.Det() == 0 {
				return err
			}
			return nil
		})
		run("Cholesky", definite, func(a []float64) error {
			chol.Factorize(mat.NewSymDense(n, a))
			return nil
		})
	}
}

// batchesOf is count matrices of n by n below each other.
func batchesOf[T Float](count, n int) linalg.Matrix[T] {
	r, m := rand.New(rand.NewPCG(3, 4)), linalg.NewMatrix[T](count*n, n, nil)
	for i := range m.Data {
		m.Data[i] = T(2*r.Float64() - 1)
	}
	return m
}

// definites is the same of matrices that are symmetric and positive definite.
func definites[T Float](count, n int) linalg.Matrix[T] {
	m := batchesOf[T](count, n)
	for q := range count {
		for i := range n {
			row := m.Row(q*n + i)
			row[i] += T(n)
			for j := range i {
				m.Set(q*n+j, i, row[j])
			}
		}
	}
	return m
}

// ones is a column of ones.
func ones[T Float](n int) linalg.Matrix[T] {
	m := linalg.NewMatrix[T](n, 1, nil)
	for i := range m.Data {
		m.Data[i] = 1
	}
	return m
}

package gonumblas

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/linalg"
)

var matSizes = []int{1, 2, 3, 10, 33, 65, 128, 200}

// gonum's mat and LAPACK give right answers on the drop-in.
func TestMat(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session, d *watched) {
		for what, options := range map[string][]Option{"device": {Crossover(0)}, "default": nil} {
			t.Run(what, func(t *testing.T) {
				use(t, s, options...)
				d.launches.Store(0)
				for _, n := range matSizes {
					if n > 65 && (racetest.Enabled || s.Info().Driver == "cudasim") {
						continue // slow
					}
					testMat(t, n)
				}
				if got := d.launches.Load() > 0; got != (what == "device") && !s.Info().GPU {
					t.Errorf("on the device: %t", got)
				}
			})
		}
	})
}

func testMat(t *testing.T, n int) {
	rng := rand.New(rand.NewPCG(21, uint64(n)))
	a, b := uniformDense(rng, n, n), uniformDense(rng, n, n/2+1)
	equal := func(what string, got, want mat.Matrix) {
		t.Helper()
		var diff mat.Dense
		diff.Sub(got, want)
		if e := mat.Norm(&diff, 1) / (1 + mat.Norm(want, 1)); !(e < 1e-11*float64(n)) {
			t.Errorf("%s of order %d: off by %g", what, n, e)
		}
	}
	times := func(x, y mat.Matrix) *mat.Dense { // without BLAS
		l, r := linalg.FromDense(mat.DenseCopyOf(x)), linalg.FromDense(mat.DenseCopyOf(y))
		z := linalg.NewMatrix[float64](l.Rows, r.Cols, nil)
		product(1, l, r, 0, z)
		return linalg.ToDense(z)
	}
	for i := range n {
		a.Set(i, i, a.At(i, i)+4)
	}
	var c mat.Dense
	c.Mul(a, b)
	equal("Mul", &c, times(a, b))
	c.Reset()
	c.Mul(b.T(), a.T())
	equal("Mul of transposes", &c, times(b.T(), a.T()))

	var lu mat.LU
	lu.Factorize(a)
	var lower, upper mat.TriDense
	lu.LTo(&lower)
	lu.UTo(&upper)
	permuted := times(&lower, &upper)
	permuted.PermuteRows(lu.RowPivots(nil), false)
	equal("LU", permuted, a)

	var x mat.Dense
	if err := x.Solve(a, b); err != nil {
		t.Errorf("Solve of order %d: %v", n, err)
	}
	equal("Solve", times(a, &x), b)

	spd := mat.NewSymDense(n, nil)
	spd.SymOuterK(1, a)
	equal("SymOuterK", spd, times(a, a.T()))
	var chol mat.Cholesky
	if !chol.Factorize(spd) {
		t.Errorf("Cholesky of order %d: not positive definite", n)
		return
	}
	chol.UTo(&upper)
	equal("Cholesky", times(upper.T(), &upper), spd)

	tall := uniformDense(rng, n+n/2, n)
	var qr mat.QR
	qr.Factorize(tall)
	var q, r mat.Dense
	qr.QTo(&q)
	qr.RTo(&r)
	equal("QR", times(&q, &r), tall)
	ones := mat.NewDiagDense(n+n/2, nil)
	for i := range n + n/2 {
		ones.SetDiag(i, 1)
	}
	equal("QᵀQ", times(q.T(), &q), ones)

	var svd mat.SVD
	if !svd.Factorize(tall, mat.SVDThin) {
		t.Errorf("SVD of order %d failed", n)
		return
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	equal("SVD", times(times(&u, mat.NewDiagDense(n, svd.Values(nil))), v.T()), tall)
}

func uniformDense(rng *rand.Rand, rows, cols int) *mat.Dense {
	return linalg.ToDense(uniform[float64](rng, rows, cols, 0))
}

// Many goroutines share operands.
func TestConcurrent(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	a, b := uniformDense(rng, 70, 50), uniformDense(rng, 50, 60)
	eachBackend(t, func(t *testing.T, s *linalg.Session, _ *watched) {
		for _, crossover := range []int{0, math.MaxInt} {
			use(t, s, Crossover(crossover))
			var want mat.Dense
			want.Mul(a, b)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 4 {
						var c mat.Dense
						if c.Mul(a, b); !mat.Equal(&c, &want) {
							t.Error("another result in a goroutine")
						}
					}
				})
			}
			wg.Wait()
		}
	})
}

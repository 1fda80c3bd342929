package gonumblas

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/linalg"
)

// withAndWithout runs f with the drop-in, on the cpu device, and without.
func withAndWithout(b *testing.B, sizes []int, f func(b *testing.B, n int)) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("%d/gonum", n), func(b *testing.B) { f(b, n) })
		b.Run(fmt.Sprintf("%d/tandem", n), func(b *testing.B) {
			s, err := linalg.Open("cpu")
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			Use(s)
			defer Restore()
			f(b, n)
		})
	}
}

func normalDense(n int) *mat.Dense {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	d := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			d.Set(i, j, rng.NormFloat64())
		}
		d.Set(i, i, d.At(i, i)+float64(n)) // well conditioned
	}
	return d
}

func BenchmarkMul(b *testing.B) {
	withAndWithout(b, []int{4, 16, 64, 128, 256, 512, 1024}, func(b *testing.B, n int) {
		x, y := normalDense(n), normalDense(n)
		var z mat.Dense
		for b.Loop() {
			z.Mul(x, y)
		}
		b.ReportMetric(2*float64(n)*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	})
}

// BenchmarkSmall is what has few elements, where the work around the arithmetic counts.
func BenchmarkSmall(b *testing.B) {
	sizes := []int{1, 2, 3, 4, 6, 8, 12, 16, 32, 64}
	data := func(n int) []float64 { return normalDense(n).RawMatrix().Data }
	type triangular func(blas.Float64, blas.Side, blas.Uplo, blas.Transpose, blas.Diag, int, int, float64, []float64,
		int, []float64, int)
	row := func(f triangular, t blas.Transpose) func(impl blas.Float64, n int, x, y, z []float64) {
		return func(impl blas.Float64, n int, x, y, z []float64) {
			copy(z, y[:n]) // z is made anew, so that it stays what it is
			f(impl, 'R', 'U', t, 'N', 1, n, 1, x, n, z, n)
		}
	}
	for name, f := range map[string]func(impl blas.Float64, n int, x, y, z []float64){
		"syrk":  func(impl blas.Float64, n int, x, _, z []float64) { impl.Dsyrk('U', 'N', n, n, 1, x, n, 0, z, n) },
		"syrkT": func(impl blas.Float64, n int, x, _, z []float64) { impl.Dsyrk('U', 'T', n, n, 1, x, n, 0, z, n) },
		"syr2k": func(impl blas.Float64, n int, x, y, z []float64) {
			impl.Dsyr2k('U', 'N', n, n, 1, x, n, y, n, 0, z,
				n)
		},
		"symm": func(impl blas.Float64, n int, x, y, z []float64) {
			impl.Dsymm('L', 'U', n, n, 1, x, n, y, n, 0, z,
				n)
		},
		"trsmRow":  row(blas.Float64.Dtrsm, 'N'),
		"trsmRowT": row(blas.Float64.Dtrsm, 'T'),
		"trmmRow":  row(blas.Float64.Dtrmm, 'N'),
		"trmmRowT": row(blas.Float64.Dtrmm, 'T'),
	} {
		b.Run(name, func(b *testing.B) {
			withAndWithout(b, sizes, func(b *testing.B, n int) {
				x, y, z := data(n), data(n+1), data(n) // y is no row of x: gonum skips zeros of the solution
				impl := blas64.Implementation()
				for b.Loop() {
					f(impl, n, x, y, z)
				}
			})
		})
	}
}

// BenchmarkSymOuterK is of n by n and of tall matrices.
func BenchmarkSymOuterK(b *testing.B) {
	for _, cols := range []int{0, 2, 4, 8, 12} {
		name := fmt.Sprintf("nx%d", cols)
		if cols == 0 {
			name = "square"
		}
		b.Run(name, func(b *testing.B) {
			withAndWithout(b, []int{2, 3, 4, 6, 8, 12, 16, 32, 64}, func(b *testing.B, n int) {
				k := cols
				if k == 0 {
					k = n
				}
				x := mat.NewDense(n, k, normalDense(max(n, k)).RawMatrix().Data[:n*k])
				var z mat.SymDense
				for b.Loop() {
					z.SymOuterK(1, x)
				}
			})
		})
	}
}

func BenchmarkFactorizations(b *testing.B) {
	for name, f := range map[string]func(a *mat.Dense){
		"LU": func(a *mat.Dense) { var f mat.LU; f.Factorize(a) },
		"QR": func(a *mat.Dense) { var f mat.QR; f.Factorize(a) },
		"QR and Q": func(a *mat.Dense) {
			var f mat.QR
			var q mat.Dense
			f.Factorize(a)
			f.QTo(&q)
		},
		"LQ":  func(a *mat.Dense) { var f mat.LQ; f.Factorize(a) },
		"SVD": func(a *mat.Dense) { var f mat.SVD; f.Factorize(a, mat.SVDThin) },
		"EigenSym": func(a *mat.Dense) {
			var f mat.EigenSym
			f.Factorize(mat.NewSymDense(a.RawMatrix().Rows, a.RawMatrix().Data), true)
		},
		"Cholesky": func(a *mat.Dense) {
			var f mat.Cholesky
			f.Factorize(mat.NewSymDense(a.RawMatrix().Rows, a.RawMatrix().Data))
		},
	} {
		b.Run(name, func(b *testing.B) {
			withAndWithout(b, []int{4, 8, 16, 32, 64, 300, 1000}, func(b *testing.B, n int) {
				x := normalDense(n)
				for b.Loop() {
					f(x)
				}
			})
		})
	}
}

// BenchmarkPath compares a product on the device, copies included, with one on the host: what a
// crossover is made of.
func BenchmarkPath(b *testing.B) {
	for _, spec := range []string{"cpu", "opencl", "cuda"} {
		b.Run(spec, func(b *testing.B) {
			s, err := linalg.Open(spec)
			backendtest.Require(b, spec, err)
			defer s.Close()
			b.Run("float32", func(b *testing.B) { benchmarkPath[float32](b, s) })
			b.Run("float64", func(b *testing.B) { benchmarkPath[float64](b, s) })
		})
	}
}

func benchmarkPath[T float](b *testing.B, s *linalg.Session) {
	for _, n := range []int{64, 256, 1024, 2048} {
		device, host := products[T](&engine{s: s}, n)
		for where, run := range map[string]func() error{"device": device, "host": host} {
			b.Run(fmt.Sprintf("%d/%s", n, where), func(b *testing.B) {
				for b.Loop() {
					if err := run(); err != nil {
						b.Fatal(err)
					}
				}
				work := 2 * float64(n) * float64(n) * float64(n) * float64(b.N)
				b.ReportMetric(work/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

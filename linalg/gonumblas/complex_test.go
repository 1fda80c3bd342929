package gonumblas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/cblas128"
	"gonum.org/v1/gonum/blas/cblas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/blas/testblas"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/linalg"
)

// gonum's own tests of complex types, of what is Tandem's.
func TestTestblasComplex(t *testing.T) {
	racetest.Skip(t, "others have its goroutines")
	s, _ := open(t, "cpu")
	use(t, s)
	impl := cblas128.Implementation()
	t.Run("gemm", func(t *testing.T) { testblas.ZgemmTest(t, impl) })
	t.Run("symm", func(t *testing.T) { testblas.ZsymmTest(t, impl) })
	t.Run("hemm", func(t *testing.T) { testblas.ZhemmTest(t, impl) })
	t.Run("syrk", func(t *testing.T) { testblas.ZsyrkTest(t, impl) })
	t.Run("herk", func(t *testing.T) { testblas.ZherkTest(t, impl) })
	t.Run("syr2k", func(t *testing.T) { testblas.Zsyr2kTest(t, impl) })
	t.Run("her2k", func(t *testing.T) { testblas.Zher2kTest(t, impl) })
	t.Run("trmm", func(t *testing.T) { testblas.ZtrmmTest(t, impl) })
	t.Run("trsm", func(t *testing.T) { testblas.ZtrsmTest(t, impl) })
}

// Complex products have the bits of the numerics contract, on the device and on the host.
func TestComplex(t *testing.T) { eachType(t, testComplex[float32], testComplex[float64]) }

var complexScalars = [][2]float64{{1, 0}, {0, 0}, {-1.5, 0}, {0.5, -2}, {0, 1}}

func testComplex[T float](t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	shapes := [][3]int{{9, 5, 17}, {33, 20, 8}, {70, 65, 0}, {66, 40, 90}}
	for n := 1; n < 20; n++ { // registers of columns, and what is left
		if testing.Short() && n%4 != 3 {
			continue
		}
		shapes = append(shapes, [3]int{1 + n%3, n, 1 + n%4})
	}
	for i, shape := range shapes {
		m, n, k := shape[0], shape[1], shape[2]
		for j := range 9 {
			tA, tB := alltrans[j/3], alltrans[j%3]
			alpha, beta := complexScalars[(i+j)%5], complexScalars[(i+2*j+1)%5]
			rows, cols := stored(tA, m, k)
			a := complexMatrix[T](rng, rows, cols, i%3)
			rows, cols = stored(tB, k, n)
			b := complexMatrix[T](rng, rows, cols, j+1)
			c := complexMatrix[T](rng, m, n, 1)
			want := clone(c)
			complexReference(k, alpha, complexOp(tA, a), complexOp(tB, b), beta, want)
			zgemm(tA, tB, m, n, k, alpha, a, b, beta, c)
			same(t, fmt.Sprintf("%dx%dx%d %c%c, alpha %v, beta %v", m, n, k, tA, tB, alpha, beta), c, want)
		}
	}
}

// complexMatrix is a matrix of complex numbers as reals.
func complexMatrix[T float](rng *rand.Rand, rows, cols, gap int) linalg.Matrix[T] {
	return random[T](rng, rows, 2*cols, 2*gap)
}

// complexOp gives the elements of op(A).
func complexOp[T float](t blas.Transpose, a linalg.Matrix[T]) func(i, j int) [2]T {
	return func(i, j int) [2]T {
		if t != blas.NoTrans {
			i, j = j, i
		}
		re, im := a.At(i, 2*j), a.At(i, 2*j+1)
		if t == blas.ConjTrans {
			im = -im
		}
		return [2]T{re, im}
	}
}

// complexReference is C = alpha*op(A)*op(B) + beta*C by the definition.
func complexReference[T float](k int, alpha [2]float64, a, b func(i, j int) [2]T, beta [2]float64, c linalg.Matrix[T]) {
	add := func(acc, x, y [2]T) [2]T {
		return [2]T{
			host.FMA(-x[1], y[1], host.FMA(x[0], y[0], acc[0])), host.FMA(x[1], y[0], host.FMA(x[0], y[1], acc[1])),
		}
	}
	al, be := [2]T{T(alpha[0]), T(alpha[1])}, [2]T{T(beta[0]), T(beta[1])}
	for i := range c.Rows {
		for j := range c.Cols / 2 {
			var acc, sum [2]T
			for p := range k {
				acc = add(acc, a(i, p), b(p, j))
			}
			for part := range 2 {
				old := T(math.Copysign(0, -1))
				if be[0] != 0 {
					old = host.Mul(be[0], c.At(i, 2*j+part))
				}
				switch {
				case k > 0 && al[0] != 0:
					sum[part] = host.FMA(al[0], acc[part], old)
				case be[0] != 0:
					sum[part] = old
				}
			}
			if k > 0 && al[1] != 0 || be[1] != 0 {
				sum = [2]T{}
				if be != [2]T{} {
					sum = add(sum, be, [2]T{c.At(i, 2*j), c.At(i, 2*j+1)})
				}
				if k > 0 && al != [2]T{} {
					sum = add(sum, al, acc)
				}
			}
			c.Set(i, 2*j, sum[0])
			c.Set(i, 2*j+1, sum[1])
		}
	}
}

// zgemm calls gonum for matrices of reals.
func zgemm[T float](tA, tB blas.Transpose, m, n, k int, alpha [2]float64, a, b linalg.Matrix[T], beta [2]float64,
	c linalg.Matrix[T],
) {
	if is32[T]() {
		x, y, z := complexes[complex64](a), complexes[complex64](b), complexes[complex64](c)
		cblas64.Implementation().Cgemm(tA, tB, m, n, k, complex64(complex(alpha[0], alpha[1])), x, a.Stride/2, y,
			b.Stride/2, complex64(complex(beta[0], beta[1])), z, c.Stride/2)
		copyReals(c, z)
		return
	}
	x, y, z := complexes[complex128](a), complexes[complex128](b), complexes[complex128](c)
	cblas128.Implementation().Zgemm(tA, tB, m, n, k, complex(alpha[0], alpha[1]), x, a.Stride/2, y, b.Stride/2,
		complex(beta[0], beta[1]), z, c.Stride/2)
	copyReals(c, z)
}

func complexes[C complex64 | complex128, T float](m linalg.Matrix[T]) []C {
	x := make([]C, len(m.Data)/2)
	for i := range x {
		x[i] = C(complex(float64(m.Data[2*i]), float64(m.Data[2*i+1])))
	}
	return x
}

func copyReals[C complex64 | complex128, T float](m linalg.Matrix[T], x []C) {
	for i, v := range x {
		m.Data[2*i], m.Data[2*i+1] = T(real(complex128(v))), T(imag(complex128(v)))
	}
}

// symm and hemm have the bits of a product with the whole matrix, and read one triangle.
func TestComplexSymm(t *testing.T) {
	s, _ := open(t, "cpu")
	use(t, s)
	rng := rand.New(rand.NewPCG(83, 84))
	impl := cblas128.Implementation()
	for i, k := range []int{1, 3, 20, 65} {
		for j, side := range sides {
			for _, ul := range uplos {
				m, n := k, 7
				if side == blas.Right {
					m, n = n, k
				}
				b := complexes[complex128](complexMatrix[float64](rng, m, n, 0))
				for _, hermitian := range []bool{false, true} {
					a := complexes[complex128](complexMatrix[float64](rng, k, k, 0))
					whole := make([]complex128, k*k)
					for r := range k {
						for c := range k {
							v := a[r*k+c]
							switch {
							case !inTriangle(ul, r, c):
								v = a[c*k+r]
								if hermitian {
									v = complex(real(v), -imag(v))
								}
							case r == c && hermitian:
								v = complex(real(v), 0)
							}
							whole[r*k+c] = v
						}
					}
					for r := range k {
						for c := range k {
							if !inTriangle(ul, r, c) {
								a[r*k+c] = complex(math.NaN(), 0)
							}
						}
						if hermitian {
							a[r*k+r] = complex(real(a[r*k+r]), math.NaN())
						}
					}
					alpha, beta := complex(1.5, float64(i%2)), complex(0, float64(j))
					got := make([]complex128, m*n)
					want := make([]complex128, m*n)
					f := impl.Zsymm
					if hermitian {
						f = impl.Zhemm
					}
					f(side, ul, m, n, alpha, a, k, b, n, beta, got, n)
					if side == blas.Left {
						impl.Zgemm('N', 'N', m, n, k, alpha, whole, k, b, n, beta, want, n)
					} else {
						impl.Zgemm('N', 'N', m, n, k, alpha, b, n, whole, k, beta, want, n)
					}
					for x := range got {
						if got[x] != want[x] {
							t.Fatalf("%c%c of order %d, Hermitian %t: %v, want %v", side, ul, k, hermitian, got[x],
								want[x])
						}
					}
				}
			}
		}
	}
}

// Bad calls panic as gonum's do.
func TestComplexPanics(t *testing.T) {
	s, _ := open(t, "cpu")
	use(t, s)
	call := func(b blas.Complex128, tA blas.Transpose, m, lda, lenA int) any {
		x := make([]complex128, 16)
		return recovered(func() { b.Zgemm(tA, 'N', m, 4, 4, 1, x[:lenA], lda, x, 4, 1, make([]complex128, 16), 4) })
	}
	theirs := gonum.Implementation{}
	for _, c := range []struct {
		tA           blas.Transpose
		m, lda, lenA int
	}{{'N', 4, 4, 16}, {'X', 4, 4, 16}, {'N', -1, 4, 16}, {'N', 4, 3, 16}, {'C', 4, 4, 15}, {'N', 0, 4, 0}} {
		got := call(cblas128.Implementation(), c.tA, c.m, c.lda, c.lenA)
		if want := call(theirs, c.tA, c.m, c.lda, c.lenA); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v: panic %v, gonum's is %v", c, got, want)
		}
	}
}

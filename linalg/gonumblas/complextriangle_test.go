package gonumblas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/cblas128"
	"gonum.org/v1/gonum/blas/cblas64"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/linalg"
)

// complexLevel3 is what follows of level 3, of complex numbers of type C.
type complexLevel3[C complex64 | complex128] struct {
	syrk, herk   func(ul blas.Uplo, t blas.Transpose, n, k int, alpha C, a []C, lda int, beta C, c []C, ldc int)
	syr2k, her2k func(ul blas.Uplo, t blas.Transpose, n, k int, alpha C, a []C, lda int, b []C, ldb int, beta C,
		c []C, ldc int)
	trmm, trsm func(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha C, a []C, lda int,
		b []C, ldb int)
}

// complexFunctions calls gonum: herk and her2k take the real parts of their real arguments.
func complexFunctions[C complex64 | complex128]() complexLevel3[C] {
	z, c := cblas128.Implementation(), cblas64.Implementation()
	var f any = complexLevel3[complex128]{
		syrk: z.Zsyrk, syr2k: z.Zsyr2k, trmm: z.Ztrmm, trsm: z.Ztrsm,
		herk: func(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex128, a []complex128, lda int,
			beta complex128, c []complex128, ldc int,
		) {
			z.Zherk(ul, t, n, k, real(alpha), a, lda, real(beta), c, ldc)
		},
		her2k: func(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex128, a []complex128, lda int,
			b []complex128, ldb int, beta complex128, c []complex128, ldc int,
		) {
			z.Zher2k(ul, t, n, k, alpha, a, lda, b, ldb, real(beta), c, ldc)
		},
	}
	if _, single := any(C(0)).(complex64); single {
		f = complexLevel3[complex64]{
			syrk: c.Csyrk, syr2k: c.Csyr2k, trmm: c.Ctrmm, trsm: c.Ctrsm,
			herk: func(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex64, a []complex64, lda int,
				beta complex64, z []complex64, ldc int,
			) {
				c.Cherk(ul, t, n, k, real(alpha), a, lda, real(beta), z, ldc)
			},
			her2k: func(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex64, a []complex64, lda int,
				b []complex64, ldb int, beta complex64, z []complex64, ldc int,
			) {
				c.Cher2k(ul, t, n, k, alpha, a, lda, b, ldb, real(beta), z, ldc)
			},
		}
	}
	return f.(complexLevel3[C])
}

// syrk, herk, syr2k and her2k have the bits of products, in one triangle, and touch nothing else.
func TestComplexSyrk(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	t.Run("complex64", testComplexSyrk[complex64, float32])
	t.Run("complex128", testComplexSyrk[complex128, float64])
}

func testComplexSyrk[C complex64 | complex128, T float](t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session, _ *watched) {
		use(t, s, Crossover(40)) // on the device where it is not tiny
		f := complexFunctions[C]()
		rng := rand.New(rand.NewPCG(85, 86))
		for i, shape := range [][2]int{{1, 1}, {2, 3}, {5, 0}, {7, 20}, {14, 3}, {65, 9}, {130, 33}} {
			n, k := shape[0], shape[1]
			for kind := range 8 {
				if n > 64 && (i+kind)%2 != 0 { // they take long
					continue
				}
				hermitian, two, ul := kind&1 != 0, kind&2 != 0, uplos[kind>>2]
				tA, tB := blas.NoTrans, blas.Trans
				if hermitian {
					tB = blas.ConjTrans
				}
				if (i+kind)%3 == 0 {
					tA, tB = tB, tA
				}
				alpha, beta := complexScalars[(i+kind)%5], complexScalars[(2*i+kind)%5]
				if hermitian {
					beta[1] = 0
					if !two {
						alpha[1] = 0
					}
				}
				rows, cols := stored(tA, n, k)
				a, b := complexMatrix[T](rng, rows, cols, i%3), complexMatrix[T](rng, rows, cols, 1)
				if !two {
					b = a
				}
				got := complexMatrix[T](rng, n, n, 2)
				for r := range n {
					for c := range n {
						if hermitian && r == c {
							got.Set(r, 2*c+1, T(math.NaN())) // never read
						}
					}
				}
				want := clone(got)
				product := func(alpha [2]float64, x, y linalg.Matrix[T], beta [2]float64) {
					z := clone(want)
					complexReference(k, alpha, complexOp(tA, x), complexOp(tB, y), beta, z)
					for r := range n {
						for c := range n {
							if !inTriangle(ul, r, c) {
								continue
							}
							want.Set(r, 2*c, z.At(r, 2*c))
							want.Set(r, 2*c+1, z.At(r, 2*c+1))
							if hermitian && r == c {
								want.Set(r, 2*c+1, 0)
							}
						}
					}
				}
				if hermitian { // what the definition does not read
					for r := range n {
						want.Set(r, 2*r+1, 0)
					}
				}
				product(alpha, a, b, beta)
				if two {
					if hermitian {
						product([2]float64{alpha[0], -alpha[1]}, b, a, [2]float64{1})
					} else {
						product(alpha, b, a, [2]float64{1})
					}
				}
				x, y, z := complexes[C](a), complexes[C](b), complexes[C](got)
				al, be := C(complex(alpha[0], alpha[1])), C(complex(beta[0], beta[1]))
				switch {
				case !two && !hermitian:
					f.syrk(ul, tA, n, k, al, x, a.Stride/2, be, z, got.Stride/2)
				case !two:
					f.herk(ul, tA, n, k, al, x, a.Stride/2, be, z, got.Stride/2)
				case !hermitian:
					f.syr2k(ul, tA, n, k, al, x, a.Stride/2, y, b.Stride/2, be, z, got.Stride/2)
				default:
					f.her2k(ul, tA, n, k, al, x, a.Stride/2, y, b.Stride/2, be, z, got.Stride/2)
				}
				copyReals(got, z)
				same(t, fmt.Sprintf("%dx%d %c%c, Hermitian %t, two %t, alpha %v, beta %v", n, k, ul, tA, hermitian, two,
					alpha, beta), got, want)
			}
		}
	})
}

// trmm and trsm are what the contract says, from both sides.
func TestComplexTriangular(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	t.Run("complex64", testComplexTriangular[complex64, float32])
	t.Run("complex128", testComplexTriangular[complex128, float64])
}

func testComplexTriangular[C complex64 | complex128, T float](t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session, _ *watched) {
		use(t, s, Crossover(40))
		f := complexFunctions[C]()
		rng := rand.New(rand.NewPCG(87, 88))
		for i, shape := range [][2]int{
			{1, 1}, {3, 2}, {5, 4}, {7, 9}, {13, 15}, {32, 7}, {6, 32}, {4, 40}, {64, 3}, {65, 30}, {150, 45},
		} {
			for kind := range 24 {
				if shape[0] >= 64 && (i+kind/2)%4 != 0 { // they take long
					continue
				}
				side, ul := sides[kind&1], uplos[kind>>1&1]
				d, tA := []blas.Diag{blas.NonUnit, blas.Unit}[kind>>2&1], alltrans[kind>>3]
				k := shape[0]
				m, n := k, shape[1]
				if side == blas.Right {
					m, n = n, m
				}
				alpha := complexScalars[(i+kind)%5]
				a, b := complexMatrix[T](rng, k, k, 1), complexMatrix[T](rng, m, n, i%3)
				for r := range k {
					for c := range k {
						switch {
						case !inTriangle(ul, r, c) || r == c && d == blas.Unit: // never read
							a.Set(r, 2*c, T(math.NaN()))
						case r == c: // of each kind of divisor
							a.Set(r, 2*c, T(r%3)-0.5)
							a.Set(r, 2*c+1, T(r%4)*0.4)
						default:
							a.Set(r, 2*c, a.At(r, 2*c)/T(k))
							a.Set(r, 2*c+1, a.At(r, 2*c+1)/T(k))
						}
					}
				}
				for _, solve := range []bool{false, true} {
					got := clone(b)
					x, z := complexes[C](a), complexes[C](got)
					al := C(complex(alpha[0], alpha[1]))
					apply := f.trmm
					if solve {
						apply = f.trsm
					}
					apply(side, ul, tA, d, m, n, al, x, a.Stride/2, z, b.Stride/2)
					copyReals(got, z)
					want := clone(b)
					triangularReference(solve, side, (ul == blas.Lower) == (tA == blas.NoTrans), d, alpha,
						complexOp(tA, a), want)
					same(t, fmt.Sprintf("%dx%d %c%c%c%c, solve %t, alpha %v", m, n, side, ul, tA, d, solve, alpha), got,
						want)
				}
			}
		}
	})
}

// triangularReference is trmm, or with solve trsm, by the definition: of each row of b, or of each
// column where op(A), given by its elements, is at the left.
func triangularReference[T float](solve bool, side blas.Side, lower bool, d blas.Diag, alpha [2]float64,
	a func(i, j int) [2]T, b linalg.Matrix[T],
) {
	n, vectors := b.Rows, b.Cols/2
	at := func(v, i int) (int, int) { return i, 2 * v }
	if side == blas.Right {
		n, vectors = vectors, n
		at = func(v, i int) (int, int) { return v, 2 * i }
		whole := a
		a, lower = func(i, j int) [2]T { return whole(j, i) }, !lower
	}
	add := func(acc, x, y [2]T) [2]T {
		return [2]T{
			host.FMA(-x[1], y[1], host.FMA(x[0], y[0], acc[0])), host.FMA(x[1], y[0], host.FMA(x[0], y[1], acc[1])),
		}
	}
	scale := func(x [2]T) [2]T {
		if alpha[1] == 0 {
			return [2]T{T(alpha[0]) * x[0], T(alpha[0]) * x[1]}
		}
		return add([2]T{}, [2]T{T(alpha[0]), T(alpha[1])}, x)
	}
	for v := range vectors {
		old := make([][2]T, n)
		for i := range old {
			r, c := at(v, i)
			old[i] = [2]T{b.At(r, c), b.At(r, c+1)}
		}
		result := make([][2]T, n)
		for r := range n {
			i := r
			if solve && !lower {
				i = n - 1 - r
			}
			var acc [2]T
			switch {
			case alpha == [2]float64{}:
			case solve:
				acc = scale(old[i])
				for s := range r {
					k := s
					if !lower {
						k = n - 1 - s
					}
					x := a(i, k)
					acc = add(acc, [2]T{-x[0], -x[1]}, result[k])
				}
				if d != blas.Unit {
					acc = quotient(acc, a(i, i))
				}
			default:
				for k := range n {
					switch {
					case k == i && d == blas.Unit:
						acc[0], acc[1] = acc[0]+old[k][0], acc[1]+old[k][1]
					case k == i || (k < i) == lower:
						acc = add(acc, a(i, k), old[k])
					}
				}
				acc = scale(acc)
			}
			result[i] = acc
		}
		for i, x := range result {
			r, c := at(v, i)
			b.Set(r, c, x[0])
			b.Set(r, c+1, x[1])
		}
	}
}

// quotient is x over y by the contract.
func quotient[T float](x, y [2]T) [2]T {
	switch {
	case y[1] == 0:
		return [2]T{x[0] / y[0], x[1] / y[0]}
	case math.Abs(float64(y[0])) >= math.Abs(float64(y[1])):
		r := y[1] / y[0]
		d := host.FMA(y[1], r, y[0])
		return [2]T{host.FMA(x[1], r, x[0]) / d, host.FMA(-x[0], r, x[1]) / d}
	}
	r := y[0] / y[1]
	d := host.FMA(y[0], r, y[1])
	return [2]T{host.FMA(x[0], r, x[1]) / d, host.FMA(x[1], r, -x[0]) / d}
}

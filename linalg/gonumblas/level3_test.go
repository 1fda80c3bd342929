package gonumblas

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/linalg"
)

// eachType runs f on every backend, on the device alone and on the host alone.
func eachType(t *testing.T, float32s, float64s func(t *testing.T)) {
	eachBackend(t, func(t *testing.T, s *linalg.Session, d *watched) {
		for what, crossover := range map[string]int{"device": 0, "host": math.MaxInt} {
			t.Run(what, func(t *testing.T) {
				use(t, s, Crossover(crossover))
				for name, f := range map[string]func(*testing.T){"float32": float32s, "float64": float64s} {
					d.launches.Store(0)
					t.Run(name, f)
					if n := d.launches.Load(); (n > 0) != (crossover == 0) {
						t.Errorf("%s: %d launches", name, n)
					}
				}
			})
		}
	})
}

func installed3[T float]() level3[T] { return level3Of[T](blas64.Implementation().(bothTypes)) }

var (
	orders   = []int{1, 2, 4, 5, 8, 31, 32, 33, 64, 65, 130}
	uplos    = []blas.Uplo{blas.Lower, blas.Upper}
	sides    = []blas.Side{blas.Left, blas.Right}
	diags    = []blas.Diag{blas.NonUnit, blas.Unit}
	alltrans = []blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans}
)

func inTriangle(ul blas.Uplo, i, j int) bool { return i == j || (i > j) == (ul == blas.Lower) }

// only gives the elements outside m's triangle the value v.
func only[T float](ul blas.Uplo, m linalg.Matrix[T], v T) {
	for i := range m.Rows {
		for j := range m.Cols {
			if !inTriangle(ul, i, j) {
				m.Set(i, j, v)
			}
		}
	}
}

func product[T float](alpha T, a, b linalg.Matrix[T], beta T, c linalg.Matrix[T]) {
	host.GemmReference(c.Rows, c.Cols, a.Cols, alpha, a.Data, a.Stride, b.Data, b.Stride, beta, c.Data, c.Stride)
}

// symm has the bits of a product with the whole matrix, and reads one triangle.
func TestSymm(t *testing.T) { eachType(t, testSymm[float32], testSymm[float64]) }

func testSymm[T float](t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for i, k := range orders {
		for j, side := range sides {
			for l := range 2 * len(uplos) {
				ul, m, n := uplos[l%2], k, 1+rng.IntN([]int{40, 4}[l/2])
				if side == blas.Right {
					m, n = n, k
				}
				alpha, beta := []T{1, -1.5, 0}[(i+j+l)%3], []T{0, 1, 2.5, -1}[(i+j*2+l)%4]
				a, b, c := random[T](rng, k, k, i%3), random[T](rng, m, n, j), random[T](rng, m, n, 2)
				for r := range k {
					for s := range r {
						a.Set(s, r, a.At(r, s))
					}
				}
				want := clone(c)
				if side == blas.Left {
					product(alpha, a, b, beta, want)
				} else {
					product(alpha, b, a, beta, want)
				}
				only(ul, a, T(math.NaN()))
				installed3[T]().symm(side, ul, m, n, alpha, a.Data, a.Stride, b.Data, b.Stride, beta, c.Data, c.Stride)
				same(t, fmt.Sprintf("%c%c %dx%d alpha %v beta %v", side, ul, m, n, alpha, beta), c, want)
			}
		}
	}
}

// syrk and syr2k have the bits of one and two products, in one triangle.
func TestSyrk(t *testing.T) {
	racetest.Skip(t, "others have its goroutines")
	eachType(t, testSyrk[float32], testSyrk[float64])
}

func testSyrk[T float](t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for i, n := range orders {
		for j, trans := range alltrans {
			for l, ul := range uplos {
				k := []int{0, 1, 40, 33, 7, 513}[(i+j+l)%6]
				alpha, beta := []T{1, -1.5, 0}[(i+j)%3], []T{0, 1, 2.5, -1}[(i+j*2+l)%4]
				rows, cols := stored(trans, n, k)
				a, b, c := random[T](rng, rows, cols, i%3), random[T](rng, rows, cols, j), random[T](rng, n, n, 2)
				what := fmt.Sprintf("%c%c n %d k %d alpha %v beta %v", ul, trans, n, k, alpha, beta)
				x, y := opOf(trans, a), opOf(trans, b)

				full := clone(c)
				product(alpha, x, transposed(x), beta, full)
				want, got := clone(c), clone(c)
				copyTriangle(ul == blas.Lower, want, full)
				installed3[T]().syrk(ul, trans, n, k, alpha, a.Data, a.Stride, beta, got.Data, got.Stride)
				same(t, "syrk "+what, got, want)

				full = clone(c)
				product(alpha, x, transposed(y), beta, full)
				product(alpha, y, transposed(x), 1, full)
				want, got = clone(c), clone(c)
				copyTriangle(ul == blas.Lower, want, full)
				installed3[T]().syr2k(ul, trans, n, k, alpha, a.Data, a.Stride, b.Data, b.Stride, beta, got.Data,
					got.Stride)
				same(t, "syr2k "+what, got, want)
			}
		}
	}
}

// digests are of all results of testTriangular: the bits that every machine and every device must
// give.
var digests = map[string]uint64{"float32": 0xb19a9093c713b7a9, "float64": 0x4f0ee165780678b5}

// trmm and trsm: right answers that undo each other, from one triangle, with the same bits
// everywhere.
func TestTriangular(t *testing.T) { eachType(t, testTriangular[float32], testTriangular[float64]) }

func testTriangular[T float](t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	digest := fnv.New64a()
	for i, k := range orders {
		for j, side := range sides {
			for _, ul := range uplos {
				for l, trans := range alltrans {
					for _, d := range diags {
						m, n := k, 1+rng.IntN(20)
						if side == blas.Right {
							m, n = n, k
						}
						alpha := []T{1, -1.5, 3}[(i+j+l)%3]
						a, b := wellTriangle[T](rng, ul, d, k, i%3), uniform[T](rng, m, n, 1+l)
						what := fmt.Sprintf("%c%c%c%c %dx%d alpha %v", side, ul, trans, d, m, n, alpha)
						plain := a.Packed() // what a stands for
						only(ul, plain, 0)
						for r := range k {
							if d == blas.Unit {
								plain.Set(r, r, 1)
							}
						}
						plain = opOf(trans, plain)

						x := clone(b)
						installed3[T]().trmm(side, ul, trans, d, m, n, alpha, a.Data, a.Stride, x.Data, x.Stride)
						near(t, "trmm "+what, x, times(side, plain, b), float64(alpha))
						y := clone(b)
						installed3[T]().trsm(side, ul, trans, d, m, n, alpha, a.Data, a.Stride, y.Data, y.Stride)
						near(t, "trsm "+what, times(side, plain, y), b, float64(alpha))
						if err := binary.Write(digest, binary.LittleEndian, append(x.Data, y.Data...)); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		}
	}
	if name := fmt.Sprintf("%T", T(0)); digest.Sum64() != digests[name] {
		t.Errorf("digest %#x, want %#x", digest.Sum64(), digests[name])
	}
}

// Each column of B has the bits that it has alone, and at the right side each row: few and many of
// them take different ways.
func TestTriangularColumns(t *testing.T) {
	s, _ := open(t, "cpu")
	use(t, s)
	testTriangularColumns[float32](t)
	testTriangularColumns[float64](t)
}

func testTriangularColumns[T float](t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	impl := installed3[T]()
	for i, k := range []int{1, 2, 3, 4, 8, 17, 32, 50} {
		for j, trans := range alltrans {
			for l, ul := range uplos {
				d, alpha, cols := diags[(i+j)%2], []T{1, -1.5}[(j+l)%2], []int{2, 5, 70}[(i+j+l)%3]
				a := wellTriangle[T](rng, ul, d, k, i%3)
				for _, side := range sides {
					for name, f := range map[string]func(m, n int, b linalg.Matrix[T]){
						"trmm": func(m, n int, b linalg.Matrix[T]) {
							impl.trmm(side, ul, trans, d, m, n, alpha, a.Data, a.Stride, b.Data, b.Stride)
						},
						"trsm": func(m, n int, b linalg.Matrix[T]) {
							impl.trsm(side, ul, trans, d, m, n, alpha, a.Data, a.Stride, b.Data, b.Stride)
						},
					} {
						what := fmt.Sprintf("%s %c%c%c%c %d, %d columns", name, side, ul, trans, d, k, cols)
						if side == blas.Left {
							b := uniform[T](rng, k, cols, 1)
							alone := clone(b)
							f(k, cols, b)
							for c := range cols {
								f(k, 1, alone.Slice(0, k, c, c+1))
							}
							same(t, what, alone, b)
						} else {
							b := uniform[T](rng, cols, k, 1)
							alone := clone(b)
							f(cols, k, b)
							for r := range cols {
								f(1, k, alone.Slice(r, r+1, 0, k))
							}
							same(t, what, alone, b)
						}
					}
				}
			}
		}
	}
}

// wellTriangle is a well-conditioned triangle, with NaN where nothing may be read.
func wellTriangle[T float](rng *rand.Rand, ul blas.Uplo, d blas.Diag, n, gap int) linalg.Matrix[T] {
	a := uniform[T](rng, n, n, gap)
	for i := range n {
		for j := range n {
			a.Set(i, j, a.At(i, j)/T(n))
		}
		a.Set(i, i, a.At(i, i)+2)
		if d == blas.Unit {
			a.Set(i, i, T(math.NaN()))
		}
	}
	only(ul, a, T(math.NaN()))
	return a
}

// times is a*b or b*a.
func times[T float](side blas.Side, a, b linalg.Matrix[T]) linalg.Matrix[T] {
	c := linalg.NewMatrix[T](b.Rows, b.Cols, nil)
	if side == blas.Left {
		product(1, a, b, 0, c)
	} else {
		product(1, b, a, 0, c)
	}
	return c
}

// near tells whether got is alpha*want but for rounding, and that the gaps are as they were.
func near[T float](t *testing.T, what string, got, want linalg.Matrix[T], alpha float64) {
	t.Helper()
	tol := 1e-13
	if is32[T]() {
		tol = 1e-4
	}
	for i := range got.Rows {
		for j, g := range got.Row(i) {
			if w := alpha * float64(want.At(i, j)); math.Abs(float64(g)-w) <= tol*math.Max(1, math.Abs(w)) {
				continue
			}
			t.Fatalf("%s: element (%d, %d) is %v, want %v times %v", what, i, j, g, alpha, want.At(i, j))
		}
	}
	for i, v := range got.Data {
		if i%got.Stride >= got.Cols && v != guard {
			t.Fatalf("%s: the gap after row %d holds %v", what, i/got.Stride, v)
		}
	}
}

func copyTriangle[T float](lower bool, dst, src linalg.Matrix[T]) {
	for i := range dst.Rows {
		if lower {
			copy(dst.Row(i)[:i+1], src.Row(i))
		} else {
			copy(dst.Row(i)[i:], src.Row(i)[i:])
		}
	}
}

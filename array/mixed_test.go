package array

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/linalg"
)

// singles is n random numbers of float32, Float16 or BFloat16.
func singles[T linalg.Single](rng *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		v := float32(rng.NormFloat64())
		switch p := any(&x[i]).(type) {
		case *float32:
			*p = v
		case *linalg.Float16:
			*p = element.ToFloat16(v)
		case *linalg.BFloat16:
			*p = element.ToBFloat16(v)
		}
	}
	return x
}

// Products of arrays of 16-bit numbers have the bits of those of matrices.
func TestMixed(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testMixed[float32, linalg.Float16, linalg.Float16](t, s)
		testMixed[linalg.BFloat16, float32, linalg.BFloat16](t, s)
		testMixed[linalg.Float16, linalg.BFloat16, float32](t, s)
	})
}

func testMixed[C, A, B linalg.Single](t *testing.T, s *linalg.Session) {
	rng := rand.New(rand.NewPCG(16, 2))
	trans := []blas.Transpose{blas.NoTrans, blas.Trans}
	for i, shape := range [][3]int{{5, 7, 23}, {1, 70, 65}, {65, 1, 33}, {34, 66, 40}, {3, 4, 0}, {0, 4, 5}} {
		m, n, k := shape[0], shape[1], shape[2]
		tA, tB := trans[i%2], trans[i/2%2]
		alpha, beta := []float32{1, -2, 1, 0.5}[i%4], []float32{0, 3, 0, 1}[i%4]
		ar, ac, br, bc := m, k, k, n
		if tA != blas.NoTrans {
			ar, ac = k, m
		}
		if tB != blas.NoTrans {
			br, bc = n, k
		}
		x, y, z := singles[A](rng, m*k), singles[B](rng, k*n), singles[C](rng, m*n)
		what := fmt.Sprintf("%T by %T into %T, %v %c%c alpha %v beta %v", x, y, z, shape, tA, tB, alpha, beta)
		a, b := upload(t, s, ar, ac, i%3 > 0, x), upload(t, s, br, bc, true, y)
		c := upload(t, s, m, n, true, z)
		if err := GemmMixed(c, alpha, tA, a, tB, b, beta); err != nil {
			t.Fatal(what, err)
		}
		want := linalg.NewMatrix(m, n, z)
		if err := linalg.GemmMixed(alpha, tA, linalg.NewMatrix(ar, ac, x), tB, linalg.NewMatrix(br, bc, y), beta, want,
			linalg.On(s), linalg.WithContext(t.Context())); err != nil {
			t.Fatal(what, err)
		}
		equal(t, what, c, want.Data)
		if alpha == 1 && beta == 0 && tA == blas.NoTrans && tB == blas.NoTrans {
			c = upload(t, s, m, n, true, singles[C](rng, m*n))
			if err := MatMulMixed(c, a, b); err != nil {
				t.Fatal(what, err)
			}
			equal(t, what+" MatMulMixed", c, want.Data)
		}
	}
}

func TestMixedErrors(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a := upload(t, s, 2, 3, false, make([]linalg.Float16, 6))
	b := upload(t, s, 2, 3, false, make([]float32, 6))
	var none *linalg.Array[linalg.Float16]
	if err := MatMulMixed(b, a, b); !errors.Is(err, linalg.ErrShape) {
		t.Errorf("shapes: %v", err)
	}
	if err := MatMulMixed(b, b, none); !errors.Is(err, backend.ErrArgument) {
		t.Errorf("a nil array: %v", err)
	}
}

// BenchmarkMixed is products of float16, large and of one row.
func BenchmarkMixed(b *testing.B) {
	for _, shape := range [][3]int{{1000, 1000, 1000}, {1, 4096, 4096}} {
		rng := rand.New(rand.NewPCG(16, 32))
		m, k, n := shape[0], shape[1], shape[2]
		s, err := linalg.Open("cpu")
		if err != nil {
			b.Fatal(err)
		}
		x := upload(b, s, m, k, false, singles[linalg.Float16](rng, m*k))
		y := upload(b, s, k, n, false, singles[linalg.Float16](rng, k*n))
		z := upload(b, s, m, n, false, make([]float32, m*n))
		b.Run(fmt.Sprintf("%dx%dx%d", m, k, n), func(b *testing.B) {
			for b.Loop() {
				if err := errors.Join(MatMulMixed(z, x, y), s.Wait()); err != nil {
					b.Fatal(err)
				}
			}
		})
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}
}

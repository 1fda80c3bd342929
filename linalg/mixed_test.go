package linalg_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/linalg"
)

// rounded is m in another type, with gaps after its rows and guards in them.
func rounded[T linalg.Single](m linalg.Matrix[float32], gap int) linalg.Matrix[T] {
	r := linalg.Matrix[T]{Rows: m.Rows, Cols: m.Cols, Stride: m.Cols + gap}
	r.Data = slices.Repeat([]T{77}, r.Rows*r.Stride)
	for i := range r.Rows {
		for j := range r.Cols {
			var x T
			switch p := any(&x).(type) {
			case *float32:
				*p = m.At(i, j)
			case *linalg.Float16:
				*p = element.ToFloat16(m.At(i, j))
			case *linalg.BFloat16:
				*p = element.ToBFloat16(m.At(i, j))
			}
			r.Set(i, j, x)
		}
	}
	return r
}

// singles is the values of m.
func singles[T linalg.Single](m linalg.Matrix[T]) linalg.Matrix[float32] {
	r := linalg.NewMatrix[float32](m.Rows, m.Cols, nil)
	for i := range m.Rows {
		for j := range m.Cols {
			switch x := any(m.At(i, j)).(type) {
			case float32:
				r.Set(i, j, x)
			case linalg.Float16:
				r.Set(i, j, x.Float32())
			case linalg.BFloat16:
				r.Set(i, j, x.Float32())
			}
		}
	}
	return r
}

// Products of numbers of 16 bits have the bits of the plain chains of their values, rounded once
// where the result is of 16 bits. Package array has those of arrays.
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
		inMemory := func(t blas.Transpose, rows, cols int) linalg.Matrix[float32] {
			if t != blas.NoTrans {
				rows, cols = cols, rows
			}
			return random[float32](rng, rows, cols, 0)
		}
		a, b := rounded[A](inMemory(tA, m, k), i%3), rounded[B](inMemory(tB, k, n), 1)
		c := rounded[C](random[float32](rng, m, n, 0), 2)
		what := fmt.Sprintf("%s by %s into %s, %c%c alpha %v beta %v", a, b, c, tA, tB, alpha, beta)
		want := singles(rounded[C](reference(alpha, tA, singles(a), tB, singles(b), beta, singles(c)), 0))

		if err := linalg.GemmMixed(alpha, tA, a, tB, b, beta, c, linalg.On(s),
			linalg.WithContext(t.Context())); err != nil {
			t.Fatal(what, err)
		}
		same(t, what, singles(c), want)
		for r := range m {
			for _, x := range c.Data[r*c.Stride+n : (r+1)*c.Stride] {
				if x != 77 {
					t.Fatal(what, "writes after a row")
				}
			}
		}
		if alpha != 1 || beta != 0 || tA != blas.NoTrans || tB != blas.NoTrans {
			continue
		}
		result, err := linalg.MatMulMixed[C](a, b, linalg.On(s), linalg.WithContext(t.Context()))
		if err != nil {
			t.Fatal(what, err)
		}
		same(t, what+" MatMulMixed", singles(result), want)
	}
}

func TestMixedErrors(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, b := linalg.NewMatrix[linalg.Float16](2, 3, nil), linalg.NewMatrix[float32](2, 3, nil)
	short := linalg.Matrix[linalg.Float16]{Rows: 3, Cols: 2, Stride: 2, Data: make([]linalg.Float16, 5)}
	for name, c := range map[string]struct{ err, is error }{
		"shapes": {second(linalg.MatMulMixed[float32](a, b, linalg.On(s),
			linalg.WithContext(t.Context()))), linalg.ErrShape},
		"short": {second(linalg.MatMulMixed[float32](a, short, linalg.On(s),
			linalg.WithContext(t.Context()))), linalg.ErrShape},
		"c is b": {
			linalg.GemmMixed(1, blas.NoTrans, linalg.NewMatrix[linalg.Float16](2, 2, nil), blas.NoTrans, b, 0, b,
				linalg.On(s), linalg.WithContext(t.Context())), linalg.ErrOverlap,
		},
	} {
		if !errors.Is(c.err, c.is) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

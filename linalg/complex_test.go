package linalg_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

// partsOf is a matrix as reals, which it shares.
func partsOf[F linalg.Float, T linalg.Complex](m linalg.Matrix[T]) linalg.Matrix[F] {
	data := unsafe.Slice((*F)(unsafe.Pointer(unsafe.SliceData(m.Data))), 2*len(m.Data))
	return linalg.Matrix[F]{Rows: m.Rows, Cols: 2 * m.Cols, Stride: 2 * m.Stride, Data: data}
}

// complexRandom is random of complex numbers.
func complexRandom[F linalg.Float, T linalg.Complex](rng *rand.Rand, rows, cols, gap int) linalg.Matrix[T] {
	m := linalg.Matrix[T]{Rows: rows, Cols: cols, Stride: cols + gap, Data: make([]T, rows*(cols+gap))}
	copy(partsOf[F](m).Data, random[F](rng, rows, 2*cols, 2*gap).Data)
	return m
}

// complexReference is alpha*op(a)*op(b) + beta*c by the definition, one element after the other.
func complexReference[F linalg.Float, T linalg.Complex](alpha T, tA blas.Transpose, a linalg.Matrix[T],
	tB blas.Transpose, b linalg.Matrix[T], beta T, c linalg.Matrix[T],
) linalg.Matrix[T] {
	type number = [2]F
	of := func(x T) number { return number{F(real(complex128(x))), F(imag(complex128(x)))} }
	at := func(t blas.Transpose, m linalg.Matrix[T], i, j int) number {
		if t == blas.NoTrans {
			return of(m.At(i, j))
		}
		x := of(m.At(j, i))
		if t == blas.ConjTrans {
			x[1] = -x[1]
		}
		return x
	}
	add := func(acc, x, y number) number {
		return number{
			host.FMA(-x[1], y[1], host.FMA(x[0], y[0], acc[0])), host.FMA(x[1], y[0], host.FMA(x[0], y[1], acc[1])),
		}
	}
	k := a.Cols
	if tA != blas.NoTrans {
		k = a.Rows
	}
	want := c.Packed()
	parts := partsOf[F](want)
	al, be := of(alpha), of(beta)
	for i := range want.Rows {
		for j := range want.Cols {
			var acc, sum number
			for p := range k {
				acc = add(acc, at(tA, a, i, p), at(tB, b, p, j))
			}
			old := of(want.At(i, j))
			if al[1] == 0 && be[1] == 0 {
				for part := range sum {
					sum[part] = finished(k, al[0], acc[part], be[0], old[part])
				}
			} else {
				if be != (number{}) {
					sum = add(sum, be, old)
				}
				if k > 0 && al != (number{}) {
					sum = add(sum, al, acc)
				}
			}
			copy(parts.Row(i)[2*j:], sum[:])
		}
	}
	return want
}

// finished is alpha*acc + beta*old, as Gemm finishes chains of k steps.
func finished[F linalg.Float](k int, alpha, acc, beta, old F) F {
	var sum F
	if beta != 0 {
		sum = host.Mul(beta, old)
	}
	switch {
	case k == 0 || alpha == 0:
		return sum
	case beta == 0:
		sum = F(math.Copysign(0, -1))
	}
	return host.FMA(alpha, acc, sum)
}

// Complex products have the bits of their chains, on every backend.
func TestComplex(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testComplex[float32, complex64](t, s)
		testComplex[float64, complex128](t, s)
	})
}

func testComplex[F linalg.Float, T linalg.Complex](t *testing.T, s *linalg.Session) {
	rng := rand.New(rand.NewPCG(71, 72))
	trans := []blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans}
	scalars := []complex128{1, 0, -1.5, complex(0.5, -2), 1i}
	for i, shape := range [][3]int{{1, 1, 1}, {9, 5, 17}, {33, 20, 8}, {7, 6, 0}, {0, 3, 2}, {34, 40, 30}} {
		m, n, k := shape[0], shape[1], shape[2]
		for j, tA := range trans {
			tB := trans[(i+j)%3]
			alpha, beta := T(scalars[(i+j)%5]), T(scalars[(i+2*j+1)%5])
			stored := func(t blas.Transpose, rows, cols, gap int) linalg.Matrix[T] {
				if t != blas.NoTrans {
					rows, cols = cols, rows
				}
				return complexRandom[F, T](rng, rows, cols, gap)
			}
			a, b, c := stored(tA, m, k, i%3), stored(tB, k, n, j), complexRandom[F, T](rng, m, n, 1)
			if i == 2 {
				partsOf[F](a).Data[1], partsOf[F](b).Data[0] = F(math.Inf(1)), F(math.NaN())
			}
			what := fmt.Sprintf("%T %v %c%c alpha %v beta %v", alpha, shape, tA, tB, alpha, beta)
			want := complexReference[F](alpha, tA, a, tB, b, beta, c)
			if beta == 0 && len(c.Data) > 0 {
				partsOf[F](c).Data[0] = F(math.NaN()) // not read
			}
			if err := linalg.GemmComplex(alpha, tA, a, tB, b, beta, c, linalg.On(s),
				linalg.WithContext(t.Context())); err != nil {
				t.Fatal(what, err)
			}
			same(t, what, partsOf[F](c), partsOf[F](want))
			guarded(t, what, partsOf[F](c))
		}
	}
	a, b := complexRandom[F, T](rng, 12, 40, 1), complexRandom[F, T](rng, 40, 9, 2)
	c, err := linalg.MatMulComplex(a, b, linalg.On(s), linalg.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	want := complexReference[F](T(1), blas.NoTrans, a, blas.NoTrans, b, 0, linalg.NewMatrix[T](12, 9, nil))
	same(t, "MatMulComplex", partsOf[F](c), partsOf[F](want))
}

func TestComplexErrors(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	a, b := linalg.NewMatrix[complex64](2, 3, nil), linalg.NewMatrix[complex64](3, 3, nil)
	gemm := func(ctx context.Context, b, c linalg.Matrix[complex64]) error {
		return linalg.GemmComplex(1, blas.NoTrans, a, blas.NoTrans, b, 0, c, linalg.On(s), linalg.WithContext(ctx))
	}
	_, err = linalg.MatMulComplex(a, a, linalg.On(s), linalg.WithContext(t.Context()))
	done, cancel := context.WithCancel(t.Context())
	cancel()
	short, c := b, linalg.NewMatrix[complex64](2, 3, nil)
	short.Data = b.Data[:8]
	for name, c := range map[string]struct{ err, is error }{
		"shapes":  {err, linalg.ErrShape},
		"into":    {gemm(t.Context(), b, b.Packed()), linalg.ErrShape},
		"short":   {gemm(t.Context(), short, c), linalg.ErrShape},
		"overlap": {gemm(t.Context(), b, b.Slice(0, 2, 0, 3)), linalg.ErrOverlap},
		"done":    {gemm(done, b, c), context.Canceled},
	} {
		if !errors.Is(c.err, c.is) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	s.Close()
	if err := gemm(t.Context(), b, c); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

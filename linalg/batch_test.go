package linalg_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// A batchCase is count products of m by k and k by n; a shared operand is a single matrix.
type batchCase struct {
	count, m, n, k   int
	tA, tB           blas.Transpose
	sharedA, sharedB bool
}

var batchCases = []batchCase{
	{3, 5, 7, 23, 'N', 'N', false, false},
	{3, 5, 7, 23, 'N', 'N', true, false},
	{3, 5, 7, 23, 'N', 'N', false, true},
	{2, 4, 3, 6, 'N', 'N', true, true},
	{4, 33, 20, 17, 'T', 'N', false, false},
	{4, 33, 20, 17, 'T', 'N', true, false},
	{4, 33, 20, 17, 'C', 'N', false, true},
	{3, 16, 32, 8, 'N', 'T', false, false},
	{3, 16, 32, 8, 'N', 'T', false, true},
	{3, 6, 10, 5, 'T', 'T', true, false},
	{5, 1, 9, 40, 'T', 'T', false, false},
	{1, 8, 9, 10, 'N', 'T', false, false},
	{40, 3, 2, 4, 'N', 'N', false, false},
	{3, 4, 5, 0, 'N', 'N', false, false},
	{3, 4, 5, 0, 'T', 'N', false, false},
	{3, 0, 5, 4, 'N', 'N', false, false},
	{3, 4, 0, 5, 'N', 'T', false, false},
	{0, 4, 5, 6, 'N', 'N', true, false},
}

func (x batchCase) String() string {
	return fmt.Sprintf("%d of %dx%dx%d %c%c shared %v %v", x.count, x.m, x.n, x.k, x.tA, x.tB, x.sharedA, x.sharedB)
}

// stackOf makes count matrices below each other, or one, that are rows by cols after t.
func stackOf[T linalg.Element](
	rng *rand.Rand, count int, shared bool, t blas.Transpose, rows, cols, gap int,
) linalg.Matrix[T] {
	if t != blas.NoTrans {
		rows, cols = cols, rows
	}
	if !shared {
		rows *= count
	}
	return random[T](rng, rows, cols, gap)
}

// part is matrix i of count in all.
func part[T linalg.Element](all linalg.Matrix[T], i, count int, shared bool) linalg.Matrix[T] {
	if shared {
		return all
	}
	rows := all.Rows / count
	return all.Slice(i*rows, (i+1)*rows, 0, all.Cols)
}

// batchReference is the products one by one, by the definition.
func batchReference[T linalg.Element](
	x batchCase, alpha T, a, b linalg.Matrix[T], beta T, c linalg.Matrix[T],
) linalg.Matrix[T] {
	want := c.Packed()
	if x.n == 0 {
		return want
	}
	for i := range x.count {
		one := reference(alpha, x.tA, part(a, i, x.count, x.sharedA), x.tB, part(b, i, x.count, x.sharedB), beta,
			part(c, i, x.count, false))
		for r := range x.m {
			copy(want.Row(i*x.m+r), one.Row(r))
		}
	}
	return want
}

func TestGemmBatched(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		t.Run("float32", func(t *testing.T) { testGemmBatched[float32](t, s, batchCases) })
		t.Run("float64", func(t *testing.T) { testGemmBatched[float64](t, s, batchCases) })
		t.Run("int32", func(t *testing.T) { testGemmBatched[int32](t, s, batchCases) })
		if driver := s.Info().Driver; !testing.Short() && driver != "cudasim" {
			large := []batchCase{
				{2, 150, 260, 300, 'N', 'N', false, false},
				{70_000, 2, 3, 2, 'N', 'N', false, false}, // more than a grid has groups in z
				{70_000, 2, 3, 2, 'T', 'T', false, false},
			}
			t.Run("large", func(t *testing.T) { testGemmBatched[float32](t, s, large) })
		}
	})
}

func testGemmBatched[T linalg.Element](t *testing.T, s *linalg.Session, cases []batchCase) {
	rng := rand.New(rand.NewPCG(21, 22))
	scalars := []T{1, 0, 3, T(0) - 2}
	for i, x := range cases {
		alpha, beta := scalars[i%5%4], scalars[(i+1)%4]
		a := stackOf[T](rng, x.count, x.sharedA, x.tA, x.m, x.k, i%3)
		b := stackOf[T](rng, x.count, x.sharedB, x.tB, x.k, x.n, (i+1)%4)
		c := random[T](rng, x.count*x.m, x.n, 2+i%3)
		what := fmt.Sprintf("%s alpha %v beta %v", x, alpha, beta)
		want := batchReference(x, alpha, a, b, beta, c)

		onHost := c
		onHost.Data = slices.Clone(c.Data)
		if err := linalg.Gemm(alpha, x.tA, a, x.tB, b, beta, onHost, linalg.Batch(x.count), linalg.On(s)); err != nil {
			t.Fatal(what, err)
		}
		same(t, what+" host", onHost, want)
		guarded(t, what+" host", onHost)

		// On the device each operand lies inside a larger array, which must not change around C.
		_, da := framed(t, s, rng, a)
		_, db := framed(t, s, rng, b)
		all, dc := framed(t, s, rng, c)
		expect := download(t, all)
		for r := range want.Rows {
			copy(expect.Row(r + 1)[3:], want.Row(r))
		}
		if err := dc.Gemm(alpha, x.tA, da, x.tB, db, beta, linalg.Batch(x.count)); err != nil {
			t.Fatal(what, err)
		}
		same(t, what+" device", download(t, all), expect)
	}
}

func TestMatMulBatched(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		rng := rand.New(rand.NewPCG(23, 24))
		for _, x := range []batchCase{
			{4, 5, 6, 7, 'N', 'N', false, false},
			{4, 5, 6, 7, 'N', 'N', false, true},
			{0, 0, 6, 7, 'N', 'N', false, true},
		} {
			a, b := stackOf[float64](rng, x.count, false, 'N', x.m, x.k, 1),
				stackOf[float64](rng, x.count, x.sharedB, 'N', x.k, x.n, 0)
			got, err := linalg.MatMul(a, b, linalg.Batch(x.count), linalg.On(s))
			if err != nil {
				t.Fatal(x, err)
			}
			same(t, x.String(), got, batchReference(x, 1, a, b, 0, linalg.NewMatrix[float64](x.count*x.m, x.n, nil)))
		}
	})
}

// NaN in C with beta == 0, and in A and B with alpha == 0, is never read.
func TestGemmBatchedReadsNothingInVain(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		filled := func(rows, cols int, v float32) *linalg.Array[float32] {
			m := linalg.NewMatrix[float32](rows, cols, nil)
			for i := range m.Data {
				m.Data[i] = v
			}
			return upload(t, s, m)
		}
		var zero float32
		nan := zero / zero
		for _, c := range []struct{ alpha, ab, beta, c, want float32 }{
			{1, 2, 0, nan, 20}, {0, nan, 2, 3, 6}, {0, nan, 1, 3, 3}, {0, nan, 0, nan, 0},
		} {
			z := filled(6, 4, c.c)
			if err := z.Gemm(c.alpha, blas.NoTrans, filled(6, 5, c.ab), blas.NoTrans, filled(10, 4, c.ab), c.beta,
				linalg.Batch(2)); err != nil {
				t.Fatal(err)
			}
			same(t, fmt.Sprintf("%+v", c), download(t, z), download(t, filled(6, 4, c.want)))
		}
	})
}

func TestGemmBatchedErrors(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		x := func(rows, cols int) *linalg.Array[float32] {
			return upload(t, s, linalg.NewMatrix[float32](rows, cols, nil))
		}
		m := func(rows, cols int) linalg.Matrix[float32] { return linalg.NewMatrix[float32](rows, cols, nil) }
		multiply := func(
			count int, tA blas.Transpose, a *linalg.Array[float32], tB blas.Transpose, b, c *linalg.Array[float32],
		) error {
			return c.Gemm(1, tA, a, tB, b, 0, linalg.Batch(count))
		}
		big := x(20, 20)
		_, matmulErr := linalg.MatMul(m(6, 4), m(8, 5), linalg.Batch(3), linalg.On(s))
		for _, c := range []struct {
			what string
			err  error
			want error
			text string
		}{
			{
				"rows of C", multiply(3, 'N', x(6, 4), 'N', x(12, 5), x(7, 5)), linalg.ErrShape,
				"3 products of 6x4 and 12x5 into 7x5",
			},
			{
				"rows of A", multiply(3, 'N', x(4, 4), 'N', x(12, 5), x(6, 5)), linalg.ErrShape,
				"3 products of 4x4 and 12x5 into 6x5",
			},
			{"rows of B", multiply(3, 'N', x(6, 4), 'N', x(8, 5), x(6, 5)), linalg.ErrShape, "6x4 and 8x5 into 6x5"},
			{
				"columns of B", multiply(3, 'N', x(6, 4), 'N', x(12, 6), x(6, 5)), linalg.ErrShape,
				"6x4 and 12x6 into 6x5",
			},
			{
				"depths of transposed ones", multiply(3, 'T', x(12, 2), 'T', x(15, 5), x(6, 5)), linalg.ErrShape,
				"12x2 (transposed) and 15x5 (transposed) into 6x5",
			},
			{
				"rows that count does not divide", multiply(3, 'T', x(4, 2), 'N', x(4, 5), x(6, 5)), linalg.ErrShape,
				"4x2 (transposed) and 4x5 into 6x5",
			},
			{"negative count", multiply(-1, 'N', x(6, 4), 'N', x(12, 5), x(6, 5)), linalg.ErrShape, "Batch(-1)"},
			{
				"no products, but rows", multiply(0, 'N', x(6, 4), 'N', x(12, 5), x(6, 5)), linalg.ErrShape,
				"0 products of 6x4 and 12x5 into 6x5",
			},
			{"wrong transposition", multiply(3, 'X', x(6, 4), 'N', x(12, 5), x(6, 5)), linalg.ErrShape, "'X'"},
			{"nil array", multiply(3, 'N', nil, 'N', x(12, 5), x(6, 5)), backend.ErrArgument, "nil"},
			{
				"C overlaps A", multiply(2, 'N', big.Slice(0, 4, 0, 4), 'N', x(8, 4), big.Slice(3, 7, 0, 4)),
				linalg.ErrOverlap, "",
			},
			{
				"C overlaps B", multiply(2, 'N', x(4, 4), 'N', big.Slice(0, 8, 0, 4), big.Slice(6, 10, 3, 7)),
				linalg.ErrOverlap, "",
			},
			{"host", matmulErr, linalg.ErrShape, "3 products of 6x4 and 8x5 into 6x5"},
		} {
			if !errors.Is(c.err, c.want) || !strings.Contains(c.err.Error(), c.text) {
				t.Errorf("%s: %v, want %v with %q", c.what, c.err, c.want, c.text)
			}
		}
		if err := multiply(2, 'N', big.Slice(0, 8, 0, 4), 'N', big.Slice(0, 8, 4, 8),
			big.Slice(0, 8, 8, 12)); err != nil {
			t.Errorf("columns of one array that lie beside each other: %v", err)
		}
	})
}

func TestGemmBatchedProgressAndCancel(t *testing.T) {
	defer linalg.SmallPieces()()
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rng := rand.New(rand.NewPCG(25, 26))
	x := batchCase{4, 5, 6, 7, 'N', 'N', false, false}
	a, b := stackOf[int32](rng, 4, false, 'N', 5, 7, 0), stackOf[int32](rng, 4, false, 'N', 7, 6, 0)
	var seen []float64
	ctx := linalg.WithProgress(context.Background(), func(f float64) { seen = append(seen, f) })
	got, err := linalg.MatMul(a, b, linalg.Batch(4), linalg.On(s), linalg.WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "in pieces", got, batchReference(x, 1, a, b, 0, linalg.NewMatrix[int32](20, 6, nil)))
	if !slices.Equal(seen, []float64{.25, .5, .75, 1}) {
		t.Errorf("progress %v, want four pieces", seen)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ctx = linalg.WithProgress(ctx, func(float64) { cancel() })
	if _, err := linalg.MatMul(a, b, linalg.Batch(4), linalg.On(s),
		linalg.WithContext(ctx)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want Canceled", err)
	}
}

package linalg_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

// bytesMatrix is rows by cols, or with trans cols by rows, with gaps after its rows: many elements
// are the ends of the type.
func bytesMatrix[E int8 | uint8](rng *rand.Rand, trans bool, rows, cols, gap int) linalg.Matrix[E] {
	if trans {
		rows, cols = cols, rows
	}
	m := linalg.Matrix[E]{Rows: rows, Cols: cols, Stride: cols + gap, Data: make([]E, rows*(cols+gap))}
	for i := range m.Data {
		m.Data[i] = E(rng.Uint32())
		if rng.IntN(2) == 0 {
			m.Data[i] = [...]E{0x7f, E(1) << 7, ^E(0)}[rng.IntN(3)]
		}
	}
	return m
}

// wrapping is rows by cols at the ends of int32, with gaps that hold a guard.
func wrapping(rng *rand.Rand, rows, cols, gap int) linalg.Matrix[int32] {
	m := linalg.Matrix[int32]{Rows: rows, Cols: cols, Stride: cols + gap}
	m.Data = slices.Repeat([]int32{77}, rows*m.Stride)
	for i := range rows {
		for j := range cols {
			m.Set(i, j, [...]int32{1<<31 - 1, -1 << 31, 5}[rng.IntN(3)])
		}
	}
	return m
}

// afterBytes is c after a product by the definition.
func afterBytes[A int8 | uint8](tA, tB bool, a linalg.Matrix[A], b linalg.Matrix[int8], add bool,
	c linalg.Matrix[int32],
) []int32 {
	k := a.Cols
	if tA {
		k = a.Rows
	}
	want := slices.Clone(c.Data)
	host.GemmBytesReference(tA, tB, c.Rows, c.Cols, k, a.Data, a.Stride, b.Data, b.Stride, add, want, c.Stride)
	return want
}

func transposes(i int) (tA, tB blas.Transpose) {
	return []blas.Transpose{blas.NoTrans, blas.Trans}[i&1], []blas.Transpose{blas.NoTrans, blas.ConjTrans}[i>>1&1]
}

// Products of bytes have the bits of the definition on every device: off every tile, with gaps and
// guards, transposed, at the ends of the types, where int32 wraps, and at long K.
func TestInt8(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		shapes := [][3]int{{5, 7, 23}, {33, 18, 40}, {1, 9, 64}, {9, 1, 64}, {2, 3, 0}, {0, 3, 4}}
		if s.Info().Driver != "cudasim" {
			shapes = append(shapes, [][3]int{{130, 70, 257}, {2, 3, 100000}, {3, 2000, 200}, {2000, 3, 200}}...)
		}
		testInt8[int8](t, s, shapes)
		testInt8[uint8](t, s, shapes)
	})
}

func testInt8[A int8 | uint8](t *testing.T, s *linalg.Session, shapes [][3]int) {
	ctx, rng := t.Context(), rand.New(rand.NewPCG(3, 4))
	for nr, shape := range shapes {
		m, n, k := shape[0], shape[1], shape[2]
		for i := range 8 {
			tA, tB := transposes(i)
			beta, gap := int32(i>>2), (i+nr)%5
			a := bytesMatrix[A](rng, tA != blas.NoTrans, m, k, gap)
			b := bytesMatrix[int8](rng, tB != blas.NoTrans, k, n, 2*gap)
			c := wrapping(rng, m, n, gap)
			want := afterBytes(tA != blas.NoTrans, tB != blas.NoTrans, a, b, beta != 0, c)
			name := fmt.Sprintf("%T %v %c %c beta %d", *new(A), shape, tA, tB, beta)
			onDevice := linalg.Matrix[int32]{Rows: m, Cols: n, Stride: c.Stride, Data: slices.Clone(c.Data)}
			if err := linalg.GemmInt8(tA, a, tB, b, beta, c, linalg.On(s), linalg.WithContext(ctx)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !slices.Equal(c.Data, want) {
				t.Fatalf("%s: wrong", name)
			}
			// slices, so that arrays have gaps and odd offsets
			x, y, z := inLarger(t, s, a, gap, 1), inLarger(t, s, b, gap, 3), inLarger(t, s, onDevice, gap, 1)
			if err := linalg.GemmInt8Arrays(tA, x, tB, y, beta, z); err != nil {
				t.Fatalf("%s: arrays: %v", name, err)
			}
			if err := z.CopyTo(onDevice); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(onDevice.Data, want) {
				t.Fatalf("%s: arrays: wrong", name)
			}
		}
	}
}

// inLarger is m as a slice of a larger array.
func inLarger[T any](t *testing.T, s *linalg.Session, m linalg.Matrix[T], rows, cols int) *linalg.Array[T] {
	t.Helper()
	if m.Rows > 1000 { // whose rows would be copied one by one
		cols = 0
	}
	all, err := linalg.NewArray[T](s, m.Rows+rows, m.Cols+2*cols)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { all.Free() })
	part := all.Slice(rows, rows+m.Rows, cols, cols+m.Cols)
	if err := part.CopyFrom(m); err != nil {
		t.Fatal(err)
	}
	return part
}

// Many products in one launch are those of each alone, also where they share an operand and where k
// is no multiple of a word.
func TestInt8Batched(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		const count, m, n, k = 3, 5, 6, 7
		rng := rand.New(rand.NewPCG(5, 6))
		for i := range 8 {
			tA, tB := transposes(i)
			sharedB := i>>2 == 1
			stacked := func(trans bool, rows, cols int) int {
				if trans {
					rows = cols
				}
				return rows
			}
			rowsA, rowsB := stacked(tA != blas.NoTrans, m, k), stacked(tB != blas.NoTrans, k, n)
			a := bytesMatrix[uint8](rng, false, count*rowsA, m+k-rowsA, 0)
			countB := count
			if sharedB {
				countB = 1
			}
			b := bytesMatrix[int8](rng, false, countB*rowsB, n+k-rowsB, 1)
			c := linalg.NewMatrix[int32](count*m, n, nil)
			want := slices.Clone(c.Data)
			for z := range count {
				part := linalg.NewMatrix[int32](m, n, nil)
				zb := z % countB
				left, right := a.Slice(z*rowsA, (z+1)*rowsA, 0, a.Cols), b.Slice(zb*rowsB, (zb+1)*rowsB, 0, b.Cols)
				copy(want[z*m*n:], afterBytes(tA != blas.NoTrans, tB != blas.NoTrans, left, right, false, part))
			}
			x, y, z := inLarger(t, s, a, 0, 0), inLarger(t, s, b, 0, 0), inLarger(t, s, c, 0, 0)
			if err := linalg.GemmInt8Arrays(tA, x, tB, y, 0, z, linalg.Batch(count)); err != nil {
				t.Fatal(err)
			}
			got, err := z.Download()
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Data, want) {
				t.Fatalf("%c %c, shared B %v: wrong", tA, tB, sharedB)
			}
		}
	})
}

// Products that several devices share, or that go through one in parts, have the same bits.
func TestSharedInt8(t *testing.T) {
	eachShared(t, func(t *testing.T, s *linalg.Session) {
		testInt8[uint8](t, s, [][3]int{{33, 21, 70}, {12, 40, 9}})
		testInt8[int8](t, s, [][3]int{{20, 21, 31}})
	})
}

func TestInt8Errors(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		ctx, no := t.Context(), blas.NoTrans
		a, b := linalg.NewMatrix[uint8](2, 3, nil), linalg.NewMatrix[int8](3, 4, nil)
		c := linalg.NewMatrix[int32](2, 4, nil)
		short := a
		short.Data = short.Data[:4]
		ended, cancel := context.WithCancel(ctx)
		cancel()
		memory := make([]int8, 64)
		shared := linalg.NewMatrix(3, 4, memory[8:20])
		over := linalg.NewMatrix(2, 4, backend.Elems[int32](backend.Bytes(memory[:32])))
		x, y, z := inLarger(t, s, a, 0, 0), inLarger(t, s, b, 0, 0), inLarger(t, s, c, 0, 0)
		for i, test := range []struct {
			want error
			got  error
		}{
			{linalg.ErrShape, linalg.GemmInt8(no, a, no, a8(a), 0, c, linalg.On(s), linalg.WithContext(ctx))},
			{linalg.ErrShape, linalg.GemmInt8(no, a, no, b, 0, linalg.NewMatrix[int32](2, 5, nil), linalg.On(s),
				linalg.WithContext(ctx))},
			{linalg.ErrShape, linalg.GemmInt8(no, short, no, b, 0, c, linalg.On(s), linalg.WithContext(ctx))},
			{linalg.ErrShape, linalg.GemmInt8('x', a, no, b, 0, c, linalg.On(s), linalg.WithContext(ctx))},
			{backend.ErrArgument, linalg.GemmInt8(no, a, no, b, 2, c, linalg.On(s), linalg.WithContext(ctx))},
			{linalg.ErrOverlap, linalg.GemmInt8(no, a, no, shared, 0, over, linalg.On(s), linalg.WithContext(ctx))},
			{context.Canceled, linalg.GemmInt8(no, a, no, b, 0, c, linalg.On(s), linalg.WithContext(ended))},
			{linalg.ErrShape, linalg.GemmInt8Arrays(no, x, blas.Trans, y, 0, z)},
			{backend.ErrArgument, linalg.GemmInt8Arrays[int8](no, nil, no, y, 0, z)},
			{backend.ErrArgument, linalg.GemmInt8Arrays(no, x, no, y, 0, nil)},
			{backend.ErrArgument, linalg.GemmInt8Arrays(no, x, no, y, -1, z)},
			{nil, linalg.GemmInt8Arrays(no, x, no, y, 0, z.Slice(0, 0, 0, 4), linalg.Batch(0))},
			{nil, linalg.GemmInt8Arrays(no, x, no, y, 0, z)},
		} {
			if !errors.Is(test.got, test.want) || test.want == nil && test.got != nil {
				t.Errorf("%d: %v, want %v", i, test.got, test.want)
			}
		}
		other, err := linalg.Open("cpu")
		if err != nil {
			t.Fatal(err)
		}
		foreign := inLarger(t, other, c, 0, 0)
		if err := linalg.GemmInt8Arrays(no, x, no, y, 0, foreign); !errors.Is(err, backend.ErrArgument) {
			t.Errorf("arrays of two sessions: %v", err)
		}
		other.Close()
		if err := linalg.GemmInt8(no, a, no, b, 0, c, linalg.On(other),
			linalg.WithContext(ctx)); !errors.Is(err, backend.ErrClosed) {
			t.Errorf("a closed session: %v", err)
		}
		if _, err := linalg.MatMulInt8(a, a8(a)); !errors.Is(err, linalg.ErrShape) {
			t.Errorf("MatMulInt8: %v", err)
		}
	})
}

// a8 is m as int8.
func a8(m linalg.Matrix[uint8]) linalg.Matrix[int8] {
	return linalg.NewMatrix(m.Rows, m.Cols, make([]int8, m.Rows*m.Cols))
}

// A product that may end is done in pieces, of the same bits, and tells how far it is.
func TestInt8Pieces(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		defer linalg.SmallPieces()()
		rng := rand.New(rand.NewPCG(7, 8))
		a, b := bytesMatrix[int8](rng, false, 600, 9, 1), bytesMatrix[int8](rng, true, 9, 4, 0)
		c := wrapping(rng, 600, 4, 2)
		want := afterBytes(false, true, a, b, true, c)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last float64
		ctx = linalg.WithProgress(ctx, func(f float64) { last = f })
		if err := linalg.GemmInt8(blas.NoTrans, a, blas.Trans, b, 1, c, linalg.On(s),
			linalg.WithContext(ctx)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(c.Data, want) || last != 1 {
			t.Errorf("wrong, or progress ended at %v", last)
		}
	})
}

package linalg_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/linalg"
)

// FuzzGemm compares Gemm with its definition, bit by bit: on host memory, and on slices of arrays
// of the device; on the cpu device, and on OpenCL where there is one. layout is the gaps after the
// rows of A, B and C and the places of the slices, op the transpositions, the element type and the
// choice of alpha and beta, seed the values.
func FuzzGemm(f *testing.F) {
	f.Add(uint8(0), uint8(0), uint8(0), uint32(0), uint8(0), uint64(1))
	f.Add(uint8(1), uint8(1), uint8(1), uint32(0x321), uint8(0x40), uint64(2))
	f.Add(uint8(33), uint8(17), uint8(9), uint32(0x321123), uint8(0x85), uint64(3))
	f.Add(uint8(64), uint8(64), uint8(64), uint32(0), uint8(0x12), uint64(4))
	f.Add(uint8(70), uint8(30), uint8(17), uint32(0x777777), uint8(0x07), uint64(5))
	f.Add(uint8(1), uint8(90), uint8(41), uint32(0x30102), uint8(0xce), uint64(6))
	f.Add(uint8(90), uint8(1), uint8(41), uint32(0x40400), uint8(0x6d), uint64(7))
	var sessions []*linalg.Session
	for _, spec := range []string{"cpu", "opencl"} {
		s, err := linalg.Open(spec)
		if err != nil && spec == "cpu" {
			f.Fatal(err)
		}
		if err == nil {
			sessions = append(sessions, s)
			f.Cleanup(func() { s.Close() })
		}
	}
	f.Fuzz(func(t *testing.T, m, n, k uint8, layout uint32, op uint8, seed uint64) {
		shape := [3]int{int(m % 100), int(n % 100), int(k % 100)}
		for _, s := range sessions {
			switch {
			case op>>2&3 == 1 && s.Info().Float64:
				fuzzGemm[float64](t, s, shape, layout, op, seed)
			case op>>2&3 == 2:
				fuzzGemm[int32](t, s, shape, layout, op, seed)
			case s.Info().Float32:
				fuzzGemm[float32](t, s, shape, layout, op, seed)
			}
		}
	})
}

func fuzzGemm[T linalg.Element](t *testing.T, s *linalg.Session, shape [3]int, layout uint32, op uint8, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	gap := func(i int) int { return int(layout >> (4 * i) & 7) }
	operand := func(i, rows, cols int, transposed bool) linalg.Matrix[T] {
		if transposed {
			rows, cols = cols, rows
		}
		return fuzzMatrix[T](rng, rows, cols, gap(i))
	}
	tA, tB := transposition(op&1 != 0), transposition(op&2 != 0)
	m, n, k := shape[0], shape[1], shape[2]
	a, b, c := operand(0, m, k, op&1 != 0), operand(1, k, n, op&2 != 0), operand(2, m, n, false)
	scalars := []T{1, 0, -5, 2, 3}
	alpha, beta := scalars[int(op>>4&3)], scalars[int(op>>6)]
	if op>>4&3 == 3 {
		alpha, beta = value[T](rng), value[T](rng)
	}
	want := reference(alpha, tA, a, tB, b, beta, c)

	host := linalg.Matrix[T]{Rows: m, Cols: n, Stride: c.Stride, Data: append([]T(nil), c.Data...)}
	if err := linalg.Gemm(alpha, tA, a, tB, b, beta, host, linalg.On(s)); err != nil {
		t.Fatal(err)
	}
	same(t, "host memory", host, want)
	guarded(t, "host memory", host)

	var parts [3]*linalg.Array[T]
	var all *linalg.Array[T]
	for i, operand := range []linalg.Matrix[T]{a, b, c} {
		all = upload(t, s, around(operand, gap(3+i)))
		defer all.Free()
		g, rows, cols := gap(3+i), operand.Rows, operand.Cols
		// a slice of a slice: its stride is not its columns
		parts[i] = all.Slice(0, 2*g+rows, 0, g+cols).Slice(g, g+rows, g, g+cols)
	}
	if err := parts[2].Gemm(alpha, tA, parts[0], tB, parts[1], beta); err != nil {
		t.Fatal(err)
	}
	got, err := all.Download()
	if err != nil {
		t.Fatal(err)
	}
	same(t, "a slice of an array, and what is around it", got, around(want, gap(5)))
}

func transposition(yes bool) blas.Transpose {
	if yes {
		return blas.Trans
	}
	return blas.NoTrans
}

// fuzzMatrix is random with infinities and NaN among the values.
func fuzzMatrix[T linalg.Element](rng *rand.Rand, rows, cols, gap int) linalg.Matrix[T] {
	m := random[T](rng, rows, cols, gap)
	if T(1)/2 == 0 || rows*cols == 0 || rng.IntN(4) > 0 {
		return m
	}
	for _, v := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		m.Set(rng.IntN(rows), rng.IntN(cols), T(v))
	}
	return m
}

// around is m with a margin of guards on each side.
func around[T linalg.Element](m linalg.Matrix[T], margin int) linalg.Matrix[T] {
	w := linalg.NewMatrix[T](m.Rows+2*margin, m.Cols+2*margin, nil)
	for i := range w.Data {
		w.Data[i] = guard
	}
	for i := range m.Rows {
		copy(w.Row(margin + i)[margin:], m.Row(i))
	}
	return w
}

// FuzzMatrixChecks: a matrix that does not fit its data is refused, whatever its numbers; nothing
// is read outside, nothing overflows.
func FuzzMatrixChecks(f *testing.F) {
	f.Add(2, 3, 3, 6)
	f.Add(-1, 3, 3, 6)
	f.Add(math.MaxInt, math.MaxInt, math.MaxInt, 6)
	f.Add(math.MaxInt32, math.MaxInt32, math.MaxInt, 6)
	f.Add(1<<31-1, 1<<31-1, 1<<31-1, 6)
	f.Add(3, 1, math.MaxInt/2+1, 6)
	f.Add(5, 2, math.MaxInt/4, 0)
	f.Add(math.MinInt, math.MinInt, math.MinInt, 1)
	s, err := linalg.Open("cpu")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	f.Fuzz(func(t *testing.T, rows, cols, stride, length int) {
		m := linalg.Matrix[float64]{
			Rows: rows, Cols: cols, Stride: stride, Data: make([]float64, min(max(length, 0), 1000)),
		}
		got, err := linalg.Scale(2, m, linalg.On(s))
		switch fits := fits(m); {
		case fits && err != nil:
			t.Errorf("%dx%d, stride %d, %d elements: %v", rows, cols, stride, len(m.Data), err)
		case fits && (got.Rows != rows || got.Cols != cols):
			t.Errorf("%dx%d, stride %d: the result is %s", rows, cols, stride, got)
		case !fits && !errors.Is(err, linalg.ErrShape):
			t.Errorf("%dx%d, stride %d, %d elements: %v, want ErrShape", rows, cols, stride, len(m.Data), err)
		}
	})
}

// fits tells by floating-point arithmetic, which does not overflow, whether m's elements lie in its
// data.
func fits(m linalg.Matrix[float64]) bool {
	const most = 1<<31 - 1
	switch {
	case m.Rows < 0 || m.Cols < 0 || m.Rows > most || m.Cols > most:
		return false
	case m.Rows == 0 || m.Cols == 0:
		return true
	}
	return m.Stride >= m.Cols && float64(m.Rows-1)*float64(m.Stride)+float64(m.Cols) <= float64(len(m.Data))
}

package host

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// eachBytesKernel calls f for each kernel for products of bytes that this processor runs.
func eachBytesKernel(t *testing.T, f func(t *testing.T)) {
	defer func() { skipBytesKernels = 0 }()
	for i, kern := range bytesKernels()[0] {
		skipBytesKernels = i
		t.Run(fmt.Sprint(kern.name, kern.width), f)
	}
}

// Products of bytes are those of the definition: for all transpositions, off every tile and block,
// with gaps and guards, at the ends of the types, and where int32 wraps.
func TestGemmBytes(t *testing.T) {
	wants := map[string][]int32{} // of the reference, the same for all kernels
	eachBytesKernel(t, func(t *testing.T) {
		testGemmBytes[int8](t, wants)
		testGemmBytes[uint8](t, wants)
	})
}

func testGemmBytes[A Byte](t *testing.T, wants map[string][]int32) {
	rng := rand.New(rand.NewPCG(1, 2))
	shapes := [][3]int{
		{1, 1, 1},
		{5, 7, 23},
		{6, 16, 2},
		{7, 17, 3},
		{12, 32, 64},
		{61, 67, 129},
		{3, 2, 2051},
		{20, 20, 0},
		{0, 3, 4},
		{3, 0, 4},
	}
	if !testing.Short() {
		shapes = append(shapes, [][3]int{
			{200, 3, 300}, {3, 200, 301}, {2, 500, 700}, {50, 60, 2051}, {3, 2, 100000}, {33, 4100, 5}, {4100, 33, 6},
		}...)
	}
	for _, shape := range shapes {
		m, n, k := shape[0], shape[1], shape[2]
		for i := range 8 {
			transA, transB, add := i&1 != 0, i&2 != 0, i&4 != 0
			a, lda := byteOperand[A](rng, transA, m, k)
			b, ldb := byteOperand[int8](rng, transB, k, n)
			ldc := n + i%3
			c := make([]int32, m*ldc+5)
			for i := range c {
				c[i] = [...]int32{1<<31 - 1, -1 << 31, 77}[rng.IntN(3)]
			}
			other := slices.Clone(c)
			name := fmt.Sprintf("%T %v trans %v %v add %v", *new(A), shape, transA, transB, add)
			want := wants[name]
			if want == nil {
				want = slices.Clone(c)
				GemmBytesReference(transA, transB, m, n, k, a, lda, b, ldb, add, want, ldc)
				wants[name] = want
			}
			GemmBytes(transA, transB, m, n, k, a, lda, b, ldb, add, c, ldc)
			if !slices.Equal(c, want) {
				t.Fatalf("%s: wrong", name)
			}
			if k == 0 || m == 0 || n == 0 {
				continue
			}
			count := (k + 3) / 4
			x, ldx := testQuads(!transA, m, k, a, lda)
			y, ldy := testQuads(transB, n, k, b, ldb)
			GemmQuads(kindOf[A]() == 1, transA, transB, m, n, count, x, ldx, y, ldy, add, other, ldc)
			if !slices.Equal(other, want) {
				t.Fatalf("%s: wrong by words of four", name)
			}
		}
	}
}

// testQuads is lines of k steps as words of four, along rows or down columns.
func testQuads[E Byte](along bool, lines, k int, x []E, ldx int) (words []int32, ld int) {
	count := (k + 3) / 4
	words = make([]int32, lines*count)
	if along {
		Quads(true, lines, k, x, ldx, words)
		return words, count
	}
	Quads(false, k, lines, x, ldx, words)
	return words, lines
}

// byteOperand is an op(M) of rows by cols, many of whose elements are the ends of the type.
func byteOperand[E Byte](rng *rand.Rand, trans bool, rows, cols int) (data []E, ld int) {
	if trans {
		rows, cols = cols, rows
	}
	ld = cols + rng.IntN(3)
	data = make([]E, rows*ld)
	for i := range data {
		data[i] = E(rng.Uint32())
		if rng.IntN(2) == 0 {
			data[i] = [...]E{0x7f, E(1) << 7, ^E(0)}[rng.IntN(3)]
		}
	}
	return data, ld
}

func BenchmarkGemmBytes(b *testing.B) {
	for _, n := range []int{64, 128, 256, 512, 1024, 2048} {
		benchmarkGemmBytes[int8](b, n)
		benchmarkGemmBytes[uint8](b, n)
		b.Run(fmt.Sprintf("%d/float32", n), func(b *testing.B) {
			x, y, c := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
			for i := range x {
				x[i], y[i] = float32(i%17), float32(i%13)
			}
			for b.Loop() {
				Gemm(n, n, n, 1, x, n, y, n, 0, c, n)
			}
			reportProducts(b, n)
		})
	}
}

func benchmarkGemmBytes[A Byte](b *testing.B, n int) {
	for _, trans := range []bool{false, true} {
		b.Run(fmt.Sprintf("%d/%T/trans%v", n, *new(A), trans), func(b *testing.B) {
			x, y, c := make([]A, n*n), make([]int8, n*n), make([]int32, n*n)
			for i := range x {
				x[i], y[i] = A(i*7), int8(i*13)
			}
			for b.Loop() {
				GemmBytes(false, trans, n, n, n, x, n, y, n, false, c, n)
			}
			reportProducts(b, n)
		})
	}
}

// reportProducts reports the rate of products of n by n.
func reportProducts(b *testing.B, n int) {
	b.ReportMetric(2*float64(n)*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GOP/s")
}

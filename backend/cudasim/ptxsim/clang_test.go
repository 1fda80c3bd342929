package ptxsim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/racetest"
)

// The kernels of package kernels, compiled by clang, against the definition of their results.

// matrix is rows by cols numbers with leading dimension ld, behind off others, with special ones
// among them.
func matrix[T element.Element](rows, cols, off, ld int, seed uint64) []T {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := make([]T, off+rows*ld)
	for i := range x {
		v := math.Ldexp(2*rng.Float64()-1, rng.IntN(12)-6)
		switch any(x[i]).(type) {
		case int32:
			v = float64(int32(rng.Uint32()))
		case float32:
			switch rng.IntN(40) {
			case 0:
				v = 0x1p-130 * rng.Float64()
			case 1:
				v = math.Copysign(0, -1)
			case 2:
				v = 0x1p-75
			}
		}
		x[i] = T(v)
	}
	return x
}

func testMatmul[T element.Element](t *testing.T, kernel, typ string, tile, block [3]int) {
	p := load(t, Config{Workers: 4}, readPTX(t, "testdata/clang/"+kernel+"."+typ+".ptx.gz"))
	for _, s := range [][3]int{{1, 1, 1}, {5, 7, 23}, {33, 65, 17}, {40, 24, 130}, {128, 128, 16}} {
		m, n, k := s[0], s[1], s[2]
		const aoff, boff, coff = 4, 8, 3
		lda, ldb, ldc := k+2, n+3, n+1
		if k == 16 { // aligned for vectors
			lda, ldb = k, n
		}
		a, b, c := matrix[T](m, k, aoff, lda, 1), matrix[T](k, n, boff, ldb, 2), matrix[T](m, n, coff, ldc, 3)
		want := slices.Clone(c)
		alpha, beta := T(1), T(0)
		args := []any{int32(m), int32(n), int32(k)}
		if kernel == "matmul" {
			alpha, beta = 3, T(m%2)
			vectors := int32(flag(k == 16))
			args = append(args, alpha, a, uint64(aoff), uint64(lda), b, uint64(boff), uint64(ldb), beta, c,
				uint64(coff), uint64(ldc), vectors)
		} else {
			args = append(args, a, uint64(aoff), uint64(lda), b, uint64(boff), uint64(ldb), c, uint64(coff),
				uint64(ldc))
		}
		host.GemmReference(m, n, k, alpha, a[aoff:], lda, b[boff:], ldb, beta, want[coff:], ldc)
		p.launch(kernel, [3]int{(n + tile[0] - 1) / tile[0], (m + tile[1] - 1) / tile[1], 1}, block, args...)
		same(p, fmt.Sprint(s), c, want)
	}
}

func TestMatmul(t *testing.T) {
	racetest.Skip(t, "others have its goroutines")
	testMatmul[float32](t, "matmul", "float32", [3]int{128, 128}, x1(256))
	testMatmul[float64](t, "matmul", "float64", [3]int{64, 64}, x1(256))
	testMatmul[int32](t, "matmul", "int32", [3]int{128, 128}, x1(256))
}

func TestMatmulTiled(t *testing.T) {
	racetest.Skip(t, "others have its goroutines")
	testMatmul[float32](t, "matmul_tiled", "float32", [3]int{16, 16}, [3]int{16, 16, 1})
	testMatmul[float64](t, "matmul_tiled", "float64", [3]int{16, 16}, [3]int{16, 16, 1})
	testMatmul[int32](t, "matmul_tiled", "int32", [3]int{16, 16}, [3]int{16, 16, 1})
}

func TestMatmulNaive(t *testing.T) {
	racetest.Skip(t, "others have its goroutines")
	testMatmul[float32](t, "matmul_naive", "float32", [3]int{16, 8}, [3]int{16, 8, 1})
	testMatmul[float64](t, "matmul_naive", "float64", [3]int{16, 8}, [3]int{16, 8, 1})
	testMatmul[int32](t, "matmul_naive", "int32", [3]int{16, 8}, [3]int{16, 8, 1})
}

func testTransposeTiled[T element.Element](t *testing.T, typ string) {
	const rows, cols, lda, ldc = 45, 20, 23, 50
	a, c := matrix[T](rows, cols, 0, lda, 1), matrix[T](cols, rows, 5, ldc, 2)
	want := slices.Clone(c)
	for i := range rows {
		for j := range cols {
			want[5+j*ldc+i] = a[i*lda+j]
		}
	}
	p := load(t, Config{}, readPTX(t, "testdata/clang/transpose_tiled."+typ+".ptx.gz"))
	p.launch("transpose_tiled", [3]int{2, 1, 1}, [3]int{16, 8, 1}, int32(rows), int32(cols), a, uint64(0), uint64(lda),
		c, uint64(5), uint64(ldc))
	same(p, typ, c, want)
}

func TestTransposeTiled(t *testing.T) {
	testTransposeTiled[float32](t, "float32")
	testTransposeTiled[float64](t, "float64")
	testTransposeTiled[int32](t, "int32")
}

// The speed that matters is instructions a second: see the metric.
func BenchmarkMatmul(b *testing.B)      { benchmark(b, "matmul", 128, x1(256)) }
func BenchmarkMatmulTiled(b *testing.B) { benchmark(b, "matmul_tiled", 16, [3]int{16, 16, 1}) }

func benchmark(b *testing.B, kernel string, tile int, block [3]int) {
	const n = 256
	d := New(Config{})
	m, err := d.Load(readPTX(b, "testdata/clang/"+kernel+".float32.ptx.gz"))
	if err != nil {
		b.Fatal(err)
	}
	f, err := m.Function(kernel)
	if err != nil {
		b.Fatal(err)
	}
	var x [3]uint64
	for i := range x {
		if x[i], err = d.Alloc(4 * n * n); err != nil {
			b.Fatal(err)
		}
		if err := d.Fill(x[i], []byte{0, 0, 0x80, 0x3f}, n*n); err != nil {
			b.Fatal(err)
		}
	}
	args := []any{
		int32(n), int32(n), int32(n), x[0], uint64(0), uint64(n), x[1], uint64(0), uint64(n), x[2], uint64(0),
		uint64(n),
	}
	if kernel == "matmul" {
		args = slices.Insert(args, 3, any(float32(1)))
		args = slices.Insert(args, 10, any(float32(0)))
		args = append(args, int32(3))
	}
	params := pack(args...)
	start := d.Steps()
	for b.Loop() {
		if err := d.Launch(f, [3]int{n / tile, n / tile, 1}, block, 0, params); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(d.Steps()-start)/b.Elapsed().Seconds()/1e6, "Minst/s")
}

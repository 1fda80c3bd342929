package opencl_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/backend/opencl"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// Where AMD's matrix instructions are the chain, products use them, and their bits are the cpu
// device's.
func TestProductsByMatrixUnits(t *testing.T) {
	d := opencl.OpenAMD(t, 4)
	if info := d.Info(); info.Platform == "Oclgrind" {
		t.Skip("takes too long")
	} else if info.Float32Unit != "mfma_f32_16x16x4f32" || info.Float64Unit != "mfma_f64_16x16x4f64" ||
		info.Int8Unit != "mfma_i32_16x16" {
		t.Fatalf("%+v", info)
	}
	compiled := map[string]bool{} // names of kernels
	s, err := linalg.NewSession(backendtest.Hook(d, &backendtest.Hooks{
		Compile: func(s *backend.Source) *backend.Source {
			compiled[kernels.PTXName(s)] = true
			return backendtest.WithMFMA(s)
		},
	}))
	ok(t, err)
	cpu, err := linalg.Open("cpu")
	ok(t, err)
	defer cpu.Close()
	testProduct(t, cpu, s, 250, 255, 21, math.Float32bits)
	testProduct(t, cpu, s, 130, 200, 21, math.Float64bits)
	testBytes[int8](t, s)
	testBytes[uint8](t, s)
	ok(t, s.Close())
	want := []string{
		"matmul_mfma_float32_bk16_bm128_bn128_ku2_tm32_tn128", "matmul_mfma_float64_bk8_bm128_bn128_ku2_tm32_tn128",
		"matmul_mfma_int32_bk16_bm64_bn64_bytes1_ku2_plain1_tm32_tn32",
		"matmul_mfma_int32_bk16_bm64_bn64_bytes2_ku2_plain1_tm32_tn32",
	}
	if got := slices.Sorted(maps.Keys(compiled)); !slices.Equal(got, want) {
		t.Errorf("kernels %q, want %q", got, want)
	}
}

// testBytes multiplies any bytes by int8 and compares with the definition.
func testBytes[E int8 | uint8](t *testing.T, s *linalg.Session) {
	const m, n, k = 70, 65, 133
	r := rand.New(rand.NewPCG(m, n))
	a, b := linalg.NewMatrix[E](m, k, nil), linalg.NewMatrix[int8](k, n, nil)
	for i := range a.Data {
		a.Data[i] = E(r.Uint32())
	}
	for i := range b.Data {
		b.Data[i] = int8(r.Uint32())
	}
	c := linalg.NewMatrix[int32](m, n, nil)
	for i := range c.Data {
		c.Data[i] = math.MaxInt32 - int32(i) // sums wrap
	}
	want := slices.Clone(c.Data)
	host.GemmBytesReference(false, false, m, n, k, a.Data, a.Stride, b.Data, b.Stride, true, want, c.Stride)
	ok(t, linalg.GemmInt8(blas.NoTrans, a, blas.NoTrans, b, 1, c, linalg.On(s), linalg.WithContext(t.Context())))
	if !slices.Equal(c.Data, want) {
		t.Errorf("%T by int8: wrong", E(0))
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func testProduct[T float32 | float64, W uint32 | uint64](t *testing.T, cpu, s *linalg.Session, m, n, k int,
	bits func(T) W,
) {
	r := rand.New(rand.NewPCG(uint64(m), uint64(n)))
	random := func(rows, cols int) linalg.Matrix[T] {
		x := linalg.NewMatrix[T](rows, cols, nil)
		for i := range x.Data {
			x.Data[i] = T(math.Ldexp(r.Float64()-0.5, r.IntN(60)))
		}
		return x
	}
	a, b, want := random(m, k), random(k, n), random(m, n)
	got := linalg.NewMatrix(m, n, slices.Clone(want.Data))
	for _, beta := range []T{2, 0} {
		ok(t, linalg.Gemm(-3, blas.NoTrans, a, blas.NoTrans, b, beta, want, linalg.On(cpu),
			linalg.WithContext(t.Context())))
		ok(t, linalg.Gemm(-3, blas.NoTrans, a, blas.NoTrans, b, beta, got, linalg.On(s),
			linalg.WithContext(t.Context())))
		for i := range want.Data {
			if bits(got.Data[i]) != bits(want.Data[i]) {
				t.Fatalf("%dx%dx%d, beta %v: element %d is %v, want %v", m, n, k, beta, i, got.Data[i], want.Data[i])
			}
		}
	}
}

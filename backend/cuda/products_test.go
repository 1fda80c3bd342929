package cuda_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/backend/cuda"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

// Each architecture uses its own instruction for products of float64, and their bits are the cpu
// device's.
func TestProductsByMatrixUnits(t *testing.T) {
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cpu, err := linalg.Open("cpu")
	ok(err)
	defer cpu.Close()
	for arch, unit := range map[int]string{75: "", 80: "m8n8k4", 90: "m16n8k4"} {
		d := cuda.OpenSimulated(t, arch)
		if got := d.Info().Float64Unit; got != unit {
			t.Errorf("sm_%d: the probe finds %q, want %q", arch, got, unit)
		}
		units := map[string]bool{} // the rows that kernels' instructions have
		s, err := linalg.NewSession(backendtest.Hook(d, &backendtest.Hooks{
			Compile: func(s *backend.Source) *backend.Source {
				units[s.Macros["UM"]] = true
				return s
			},
		}))
		ok(err)
		r := rand.New(rand.NewPCG(7, uint64(arch)))
		for _, n := range [][3]int{{250, 21, 255}, {256, 16, 256}} {
			a, b := linalg.NewMatrix[float64](n[0], n[1], nil), linalg.NewMatrix[float64](n[1], n[2], nil)
			for _, x := range [][]float64{a.Data, b.Data} {
				for i := range x {
					x[i] = math.Ldexp(r.Float64()-0.5, r.IntN(60))
				}
			}
			want := linalg.NewMatrix[float64](n[0], n[2], nil)
			ok(linalg.Gemm(-3, blas.NoTrans, a, blas.NoTrans, b, 0, want, linalg.On(cpu),
				linalg.WithContext(t.Context())))
			got := linalg.NewMatrix[float64](n[0], n[2], nil)
			ok(linalg.Gemm(-3, blas.NoTrans, a, blas.NoTrans, b, 0, got, linalg.On(s), linalg.WithContext(t.Context())))
			for i := range want.Data {
				if math.Float64bits(got.Data[i]) != math.Float64bits(want.Data[i]) {
					t.Fatalf("sm_%d, %v: element %d is %v, want %v", arch, n, i, got.Data[i], want.Data[i])
				}
			}
		}
		if rows, _, _ := strings.Cut(strings.TrimPrefix(unit, "m"), "n"); len(units) != 1 || !units[rows] {
			t.Errorf("sm_%d: kernels with instructions of %v rows", arch, units)
		}
		ok(s.Close())
	}
}

// So it is with products of bytes and of int32, of all signs, whose sums wrap many times. Before
// sm_80 the instruction of four products is used.
func TestIntegersByMatrixUnits(t *testing.T) {
	for arch, unit := range map[int]string{75: "", 80: "m16n8k32", 90: "m16n8k32"} {
		d := cuda.OpenSimulated(t, arch)
		if got := d.Info().Int8Unit; got != unit {
			t.Errorf("sm_%d: the probe finds %q, want %q", arch, got, unit)
		}
		used := map[string]int{} // products' kernels
		s, err := linalg.NewSession(backendtest.Hook(d, &backendtest.Hooks{
			Compile: func(s *backend.Source) *backend.Source {
				if strings.HasPrefix(s.Name, "matmul") {
					used[s.Name]++
				}
				return s
			},
		}))
		if err != nil {
			t.Fatal(err)
		}
		for _, shape := range [][3]int{{70, 65, 261}, {128, 128, 64}, {17, 40, 0}} {
			testBytes[int8](t, s, shape)
			testBytes[uint8](t, s, shape)
			testInt32(t, s, shape)
		}
		want := "matmul"
		if unit != "" {
			want = "matmul_unit"
		}
		if len(used) != 1 || used[want] < 3 { // of int8, uint8 and int32
			t.Errorf("sm_%d: kernels %v", arch, used)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// testBytes multiplies bytes of E by int8, into a C that is read or not, with transposes and gaps,
// and compares with the definition.
func testBytes[E int8 | uint8](t *testing.T, s *linalg.Session, shape [3]int) {
	m, n, k := shape[0], shape[1], shape[2]
	r := rand.New(rand.NewPCG(8, uint64(m)))
	a, b := randomMatrix[E](r, m, k, 3), randomMatrix[int8](r, n, k, 0) // b is transposed
	for beta := range int32(2) {
		c := randomMatrix[int32](r, m, n, 5)
		want := slices.Clone(c.Data)
		host.GemmBytesReference(false, true, m, n, k, a.Data, a.Stride, b.Data, b.Stride, beta != 0, want, c.Stride)
		err := linalg.GemmInt8(blas.NoTrans, a, blas.Trans, b, beta, c, linalg.On(s), linalg.WithContext(t.Context()))
		if err != nil || !slices.Equal(c.Data, want) {
			t.Fatalf("%T, %v, beta %d: wrong, or %v", E(0), shape, beta, err)
		}
	}
}

// testInt32 is testBytes of int32.
func testInt32(t *testing.T, s *linalg.Session, shape [3]int) {
	m, n, k := shape[0], shape[1], shape[2]
	r := rand.New(rand.NewPCG(9, uint64(m)))
	a, b := randomMatrix[int32](r, k, m, 1), randomMatrix[int32](r, k, n, 2) // a is transposed
	for beta := range int32(2) {
		c := randomMatrix[int32](r, m, n, 5)
		want := slices.Clone(c.Data)
		for i := range m {
			for j := range n {
				sum := beta * want[i*c.Stride+j]
				for p := range k {
					sum += -3 * a.Data[p*a.Stride+i] * b.Data[p*b.Stride+j]
				}
				want[i*c.Stride+j] = sum
			}
		}
		err := linalg.Gemm(-3, blas.Trans, a, blas.NoTrans, b, beta, c, linalg.On(s), linalg.WithContext(t.Context()))
		if err != nil || !slices.Equal(c.Data, want) {
			t.Fatalf("int32, %v, beta %d: wrong, or %v", shape, beta, err)
		}
	}
}

// randomMatrix is any numbers, many of them the ends of the type, with gaps after rows.
func randomMatrix[E int8 | uint8 | int32](r *rand.Rand, rows, cols, gap int) linalg.Matrix[E] {
	m := linalg.Matrix[E]{Rows: rows, Cols: cols, Stride: cols + gap, Data: make([]E, rows*(cols+gap))}
	end := E(1) << (8*unsafe.Sizeof(E(0)) - 1)
	for i := range m.Data {
		m.Data[i] = [...]E{E(r.Uint32()), E(r.Uint32()), end, end - 1, ^E(0)}[r.IntN(5)]
	}
	return m
}

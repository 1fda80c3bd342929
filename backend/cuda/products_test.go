package cuda_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/backend/cuda"
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
			ok(linalg.GemmContext(t.Context(), cpu, -3, blas.NoTrans, a, blas.NoTrans, b, 0, want))
			got := linalg.NewMatrix[float64](n[0], n[2], nil)
			ok(linalg.GemmContext(t.Context(), s, -3, blas.NoTrans, a, blas.NoTrans, b, 0, got))
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

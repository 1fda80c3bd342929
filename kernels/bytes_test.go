package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/kernels"
)

// Products of words of four bytes have the bits of the definition in every shape, also where no
// instruction is for them.
func TestMatMulBytes(t *testing.T) {
	onDevices(t, func(t *testing.T, d *device) {
		v := 32 / element.Int32.Size()
		for i, p := range []kernels.MatMulParams{
			{BM: 32, BN: 32, BK: 8, TM: 4, TN: 4, KU: 4},
			{BM: 4, BN: 16, BK: 16, TM: 2, TN: 2, KU: 16, Items: 64},
			{CPU: true, BM: 12, BN: 4 * v, BK: 16, TM: 6, TN: 2 * v, KU: 2, VW: v},
		} {
			for _, unsigned := range []bool{false, true} {
				if !p.CPU && d.info.Driver == "opencl" && unsigned != (i == 0) {
					continue // its compiler takes a second for a kernel
				}
				testBytes(t, d, p, kernels.MatMulBytes(&d.info, p, unsigned))
			}
		}
	})
}

// So it is by both forms of AMD's matrix instruction, for which the tests have a stand-in.
func TestMatMulBytesMFMA(t *testing.T) {
	const wide = "__has_builtin(__builtin_amdgcn_cvt_f32_fp8)"
	onDevices(t, func(t *testing.T, d *device) {
		if d.info.Driver != "opencl" {
			t.Skip("the stand-in is for OpenCL")
		}
		p := kernels.MatMulParams{BM: 32, BN: 32, BK: 16, TM: 32, TN: 16, KU: 2, Unit: "mfma_i32_16x16"}
		for _, unsigned := range []bool{false, true} {
			s := *kernels.MatMulBytes(&d.info, p, unsigned)
			if !strings.Contains(s.Text, wide) {
				t.Fatalf("the text has no %s", wide)
			}
			testBytes(t, d, p, &s)
			narrow := s
			narrow.Text = strings.ReplaceAll(s.Text, wide, "0")
			testBytes(t, d, p, &narrow)
		}
	})
}

func testBytes(t *testing.T, d *device, p kernels.MatMulParams, s *backend.Source) {
	if !p.Fits(&d.info, element.Int32) || !d.runs(t, s, p.CPU) {
		return
	}
	rng := rand.New(rand.NewPCG(9, 10))
	k := d.compile(t, s)
	for _, l := range d.layouts() {
		const m, n, depth = 33, 37, 19
		value := values[int32](rng, special)
		a, b := newArray(m, depth, l[0], value), newArray(depth, n, l[1], value)
		c := newArray(m, n, l[2], value)
		x, y := upload(t, d, a), upload(t, d, b)
		for beta := range int32(2) {
			out := upload(t, d, c)
			launch(t, d, fmt.Sprintf("%+v, %s, beta %d:", p, s.Defines(), beta), k, kernels.MatMulGrid(p, m, n),
				kernels.MatMulArgs(nil, m, n, depth, 1, x, y, beta, out), out.Buffer, bytesReference(s, a, b, beta, c))
		}
	}
}

package tuning

import (
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
)

// A group reads 512 bytes or more of each row of A for a tall C.
func TestTallRows(t *testing.T) {
	gpu := &backend.Info{GPU: true}
	for _, typ := range element.Types() {
		found := 0
		for _, p := range ThinMatMul(gpu, typ) {
			if p.BM < p.BN {
				continue
			}
			if found++; p.BK*typ.Size() < 512 {
				t.Errorf("%s %+v: %d bytes of a row", typ, p, p.BK*typ.Size())
			}
		}
		if found == 0 {
			t.Errorf("%s: no tile for a tall C", typ)
		}
	}
}

// Thin products get parameters of their own where the large operand is worth it; tiles of GPUs are
// not mostly empty; batches fill a GPU with larger tiles than a single product does.
func TestChooseThin(t *testing.T) {
	pocl := backend.Info{
		Driver: "opencl", ComputeUnits: 2, LocalMemory: 512 << 10, MaxGroup: 4096, VectorFloat32: 16,
		VectorFloat64: 8, VectorInt32: 16,
	}
	h200 := backend.Info{
		Driver: "cuda", GPU: true, Vendor: "NVIDIA Corporation", Arch: "sm_90",
		ComputeUnits: 132, LocalMemory: 48 << 10, MaxGroup: 1024,
	}
	small := h200
	small.LocalMemory = 9 << 10
	for _, c := range []struct {
		info           backend.Info
		typ            element.Type
		count, m, n, k int
		bm, bn, tm, tn int
	}{
		{pocl, element.Float32, 1, 4096, 1, 4096, 64, 4, 8, 4},
		{pocl, element.Float32, 1, 4096, 8, 4096, 64, 8, 8, 8},
		{pocl, element.Float32, 1, 64, 8, 4096, 16, 8, 8, 8},
		{pocl, element.Float32, 64, 64, 8, 4096, 64, 8, 8, 8},
		{pocl, element.Float32, 1, 1, 8192, 4096, 1, 1536, 1, 192},
		{pocl, element.Float32, 1, 8, 8192, 4096, 8, 1536, 8, 48},
		{pocl, element.Float64, 1, 5, 4096, 4096, 8, 768, 8, 24},
		{h200, element.Float32, 1, 4096, 3, 4096, 32, 8, 2, 1},
		{h200, element.Float64, 1, 4096, 3, 4096, 32, 8, 2, 1},
		{h200, element.Float64, 1, 3, 4096, 4096, 8, 32, 2, 1},
		{h200, element.Float32, 1, 40_000, 3, 4096, 64, 8, 2, 2},
		{h200, element.Float32, 1, 4096, 16, 4096, 32, 16, 2, 2},
		{h200, element.Float64, 1, 40_000, 9, 4096, 64, 16, 2, 2},
		{h200, element.Float32, 1, 9, 100_000, 4096, 16, 32, 2, 2},
		{h200, element.Float32, 1, 17, 100_000, 4096, 32, 64, 4, 4},
		{h200, element.Float32, 1, 128, 100_000, 4096, 128, 128, 8, 16},
		{h200, element.Float32, 1, 1024, 1024, 1024, 64, 64, 4, 4},
		{h200, element.Float32, 4, 1024, 1024, 1024, 128, 128, 8, 16},
		{h200, element.Float32, 1000, 32, 32, 32, 32, 32, 4, 4},
		{h200, element.Float32, 1000, 8, 8, 8, 32, 32, 4, 4},
		{small, element.Float64, 1, 4096, 3, 4096, 32, 32, 4, 4}, // the thin tile does not fit
	} {
		p := ChooseMatMulBatch(&c.info, c.typ, c.count, c.m, c.n, c.k)
		if p.BM != c.bm || p.BN != c.bn || p.TM != c.tm || p.TN != c.tn {
			t.Errorf("%s, %d of %dx%dx%d on %s: %+v, want tiles of %dx%d and blocks of %dx%d", c.typ, c.count, c.m, c.n,
				c.k, c.info.Driver, p, c.bm, c.bn, c.tm, c.tn)
		}
	}
}

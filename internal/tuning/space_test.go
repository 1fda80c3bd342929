package tuning

import (
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/kernels"
)

// Seeds and neighbours run on their device, and a search that follows neighbours meets many others
// of the right shape.
func TestSearchSpace(t *testing.T) {
	useFile(t, "off")
	pocl := backend.Info{
		Driver: "opencl", ComputeUnits: 2, LocalMemory: 512 << 10, MaxGroup: 4096, VectorFloat32: 16,
		VectorFloat64: 8, VectorInt32: 16,
	}
	amd := backend.Info{
		Driver: "opencl", GPU: true, Arch: "gfx90a", ComputeUnits: 104, LocalMemory: 64 << 10,
		MaxGroup: 256,
	}
	for _, info := range []*backend.Info{&pocl, &amd, &gpu} {
		for _, typ := range element.Types() {
			if p := MatMulSeeds(info, typ, 512); p[0] != ChooseMatMul(info, typ, 512, 512, 512) || len(p) < 2 {
				t.Errorf("%s on %+v: seeds %+v", typ, info, p)
			} else if n := reach(t, p,
				func(p kernels.MatMulParams) []kernels.MatMulParams { return MatMulNeighbours(info, typ, p) },
				func(p kernels.MatMulParams) bool {
					return p.Validate(typ) == nil && p.Fits(info, typ) && p.CPU != info.GPU
				}); n < 50 {
				t.Errorf("%s on %+v: a search meets %d sets of parameters", typ, info, n)
			}
			if p := TransposeSeeds(info, typ, 512); p[0] != ChooseTranspose(info, typ, 512, 512) || len(p) < 2 {
				t.Errorf("%s on %+v: seeds %+v", typ, info, p)
			} else if n := reach(t, p,
				func(p kernels.TransposeParams) []kernels.TransposeParams { return TransposeNeighbours(info, typ, p) },
				func(p kernels.TransposeParams) bool {
					return p.Validate(typ) == nil && p.Fits(info, typ) && p.CPU != info.GPU
				}); n < 4 {
				t.Errorf("%s on %+v: a search meets %d sets of parameters of transposes", typ, info, n)
			}
		}
	}
}

// reach counts what can be reached from the seeds, in three steps.
func reach[P comparable](t *testing.T, seeds []P, next func(P) []P, right func(P) bool) int {
	t.Helper()
	seen := map[P]bool{}
	front := seeds
	for range 3 {
		var beyond []P
		for _, p := range front {
			if seen[p] {
				continue
			}
			seen[p] = true
			if !right(p) {
				t.Errorf("%+v does not run there", p)
			}
			beyond = append(beyond, next(p)...)
		}
		front = beyond
	}
	return len(seen)
}

package kernels

import (
	"slices"

	"github.com/tandem-gpu/tandem/backend"
)

// TunedMatMul lists every set of parameters of the tuning data that the device of info can run in type t, whether it would be chosen
// there or not: what must give the same bits. GPUs get GPU shapes alone, since CUDA cannot compile the others; CPUs get both.
func TunedMatMul(info *backend.Info, t Type) []MatMulParams {
	return fitting(builtin.MatMul, t, func(p MatMulParams) bool { return p.Validate(t) == nil && p.Fits(info, t) && !(info.GPU && p.CPU) })
}

// TunedTranspose is [TunedMatMul] for transposes.
func TunedTranspose(info *backend.Info, t Type) []TransposeParams {
	return fitting(builtin.Transpose, t, func(p TransposeParams) bool {
		return p.Validate(t) == nil && p.Fits(info, t) && !(info.GPU && p.CPU)
	})
}

func fitting[P comparable](rules []rule[P], t Type, fit func(P) bool) (all []P) {
	for _, r := range rules {
		for _, p := range r.Params {
			if r.Type == t.String() && fit(p) && !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

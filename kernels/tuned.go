package kernels

import (
	"slices"

	"github.com/tandem-gpu/tandem/backend"
)

// TunedMatMul lists every set of parameters of the tuning data, those of the program and the user's, that the device of info can run in type t, whether it would be
// chosen there or not: what must give the same bits. GPUs get GPU shapes alone, since CUDA cannot compile the others; CPUs get both.
func TunedMatMul(info *backend.Info, t Type) []MatMulParams {
	return fitting(builtin.MatMul, tuning().of(info, t).matmul.tuned, t, func(p MatMulParams) bool { return p.runs(info, t) })
}

// OfferedMatMul lists the sets of parameters that [ChooseMatMul] chooses among for the device of info in type t: the user's, and those of the rule that matches the
// device most closely.
func OfferedMatMul(info *backend.Info, t Type) []MatMulParams {
	return offered(tuning().of(info, t).matmul)
}

// OfferedTranspose is [OfferedMatMul] for transposes.
func OfferedTranspose(info *backend.Info, t Type) []TransposeParams {
	return offered(tuning().of(info, t).transpose)
}

func offered[P comparable](o offer[P]) []P {
	all := slices.Clone(o.shipped)
	for _, u := range o.tuned {
		if !slices.Contains(all, u.Params) {
			all = append(all, u.Params)
		}
	}
	return all
}

// TunedTranspose is [TunedMatMul] for transposes.
func TunedTranspose(info *backend.Info, t Type) []TransposeParams {
	return fitting(builtin.Transpose, tuning().of(info, t).transpose.tuned, t, func(p TransposeParams) bool { return p.runs(info, t) })
}

func fitting[P comparable](rules []rule[P], users []Tuned[P], t Type, fit func(P) bool) (all []P) {
	add := func(p P) {
		if fit(p) && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	for _, r := range rules {
		for _, p := range r.Params {
			if r.Type == t.String() {
				add(p)
			}
		}
	}
	for _, w := range users {
		add(w.Params)
	}
	return all
}

package tuning

import (
	"slices"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/kernels"
)

// TunedMatMul lists every set of parameters of the tuning data, those of the program and the
// user's, that the device of info can run in type t, whether it would be chosen there or not: what
// must give the same bits. GPUs get GPU shapes alone, since CUDA cannot compile the others; CPUs
// get both.
func TunedMatMul(info *backend.Info, t element.Type) []kernels.MatMulParams {
	return distinct(append(ruledMatMul(info, t), choiceOf(info, t).matmul.all()...))
}

// ruledMatMul is ruled of products: what multiplies words multiplies those of bytes.
func ruledMatMul(info *backend.Info, t element.Type) []kernels.MatMulParams {
	list := ruled(builtin.MatMul, info, t)
	if t == element.Int8 {
		list = append(list, ruled(builtin.MatMul, info, element.Int32)...)
	}
	return list
}

// TunedTranspose is [TunedMatMul] for transposes.
func TunedTranspose(info *backend.Info, t element.Type) []kernels.TransposeParams {
	return distinct(append(ruled(builtin.Transpose, info, t), choiceOf(info, t).transpose.all()...))
}

// OfferedMatMul lists the sets of parameters that [ChooseMatMul] chooses among for the device of
// info in type t, but for thin products: the user's, and those of the rule that matches the device
// most closely.
func OfferedMatMul(info *backend.Info, t element.Type) []kernels.MatMulParams {
	return distinct(choiceOf(info, t).matmul.all())
}

// ThinMatMul is [OfferedMatMul] for thin products.
func ThinMatMul(info *backend.Info, t element.Type) (list []kernels.MatMulParams) {
	c := choiceOf(info, t)
	for n := range c.tall {
		list = slices.Concat(list, c.tall[n], c.wide[n])
	}
	return distinct(list)
}

// OfferedTranspose is [OfferedMatMul] for transposes.
func OfferedTranspose(info *backend.Info, t element.Type) []kernels.TransposeParams {
	return distinct(choiceOf(info, t).transpose.all())
}

// all is the parameters of an offer.
func (o *offer[P]) all() []P {
	list := slices.Clone(o.shipped)
	for i := range o.tuned {
		list = append(list, o.tuned[i].Params)
	}
	return list
}

// ruled is the parameters of all rules, as far as the device can run them.
func ruled[P params](rules []rule[P], info *backend.Info, t element.Type) (list []P) {
	for i := range rules {
		for _, p := range rules[i].Params {
			if rules[i].has(t) && p.Runs(info, t) {
				list = append(list, p)
			}
		}
	}
	return list
}

// distinct leaves out what is in the list before.
func distinct[P comparable](list []P) (once []P) {
	for _, p := range list {
		if !slices.Contains(once, p) {
			once = append(once, p)
		}
	}
	return once
}

// PTXSources is the kernels that come with PTX, by the names of it: every kernel for every
// type, with every parameter set that the tuning data have for GPUs. An NVIDIA GPU gets no others;
// those that the data name AMD for are there for tests. What has no PTX needs NVRTC.
func PTXSources() map[string]*backend.Source {
	all := map[string]*backend.Source{}
	add := func(s *backend.Source) { all[kernels.PTXName(s)] = s }
	gpu := &backend.Info{GPU: true, Int8Unit: "m16n8k32"}
	for _, t := range element.Types() {
		for _, o := range kernels.Elementwises() {
			add(o.Source(t))
		}
		add(kernels.MatMulNaive(t))
		add(kernels.MatMulTiled(t))
		add(kernels.TransposeNaive(t))
		add(kernels.TransposeTiled(t))
		for _, gpu.Float64Unit = range []string{"", "m8n8k4", "m16n8k4"} {
			for _, p := range ruled(builtin.MatMul, gpu, t) {
				add(kernels.MatMul(t, p))
			}
		}
		for _, p := range ruled(builtin.Transpose, gpu, t) {
			add(kernels.Transpose(t, p))
		}
	}
	for _, p := range ruledMatMul(gpu, element.Int8) {
		add(kernels.MatMulBytes(gpu, p, false))
		add(kernels.MatMulBytes(gpu, p, true))
	}
	return all
}

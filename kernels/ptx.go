package kernels

import (
	"embed"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
)

//go:generate go run ./internal/ptxgen

//go:embed ptx
var ptxFiles embed.FS

// PTXSources is the kernels that come with PTX, by the names of its files: every kernel for every type, with every parameter set that the tuning
// data have for GPUs. An NVIDIA GPU gets no others; those that the data name AMD for are there for tests. What has no PTX needs NVRTC.
func PTXSources() map[string]*backend.Source {
	all := map[string]*backend.Source{}
	for _, t := range Types() {
		add := func(s *backend.Source) { all[ptxFile(s, t)] = s }
		add(Scale(t))
		add(Add(t))
		add(MatMulNaive(t))
		add(MatMulTiled(t))
		add(TransposeNaive(t))
		add(TransposeTiled(t))
		for _, p := range forGPU(builtin.MatMul, t) {
			add(MatMul(t, p))
		}
		add(MatMul(t, thinGPU[t].tall))
		add(MatMul(t, thinGPU[t].wide))
		for _, p := range forGPU(builtin.Transpose, t) {
			add(Transpose(t, p))
		}
	}
	return all
}

// forGPU is the parameters that rules have for type t on GPUs.
func forGPU[P any](rules []rule[P], t Type) (params []P) {
	for _, r := range rules {
		if r.Kind == "gpu" && r.Type == t.String() {
			params = append(params, r.Params...)
		}
	}
	return params
}

// ptxFile is the name of the file of a kernel's PTX: the kernel, its type and all its other macros, so that parameters without PTX get none.
func ptxFile(s *backend.Source, t Type) string {
	parts := []string{s.Name, t.String()}
	for _, d := range s.Defines() {
		if macro, value, _ := strings.Cut(d, "="); macro != types[t].macro {
			parts = append(parts, strings.ToLower(macro)+value)
		}
	}
	return strings.Join(parts, "_") + ".ptx"
}

// prebuilt is the PTX of a kernel; nil where there is none.
func prebuilt(s *backend.Source, t Type) []byte {
	ptx, err := ptxFiles.ReadFile("ptx/" + ptxFile(s, t))
	if err != nil {
		return nil // the only error: no such file
	}
	return ptx
}

package kernels_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/kernels"
)

// A built is a Source with a name for messages.
type built struct {
	name string
	typ  element.Type
	src  *backend.Source
}

// everySource is every kernel for every type, with the given parameters of the fast ones.
func everySource(matmul func(element.Type) []kernels.MatMulParams,
	transpose func(element.Type) []kernels.TransposeParams,
) (all []built) {
	for _, t := range element.Types() {
		add := func(name string, s *backend.Source) { all = append(all, built{t.String() + "/" + name, t, s}) }
		for _, o := range kernels.Elementwises() {
			add(o.Name, o.Source(t))
		}
		add("matmul_naive", kernels.MatMulNaive(t))
		add("matmul_tiled", kernels.MatMulTiled(t))
		add("transpose_naive", kernels.TransposeNaive(t))
		for _, p := range matmul(t) {
			add("matmul/"+strings.Join(kernels.MatMul(t, p).Defines(), ","), kernels.MatMul(t, p))
		}
		for _, p := range transpose(t) {
			add("transpose/"+strings.Join(kernels.Transpose(t, p).Defines(), ","), kernels.Transpose(t, p))
		}
	}
	return all
}

// allSources is every kernel with every parameter set of the tuning data.
func allSources() []built {
	device := &backend.Info{} // of unknown limits
	return everySource(func(t element.Type) []kernels.MatMulParams { return tuning.TunedMatMul(device, t) },
		func(t element.Type) []kernels.TransposeParams { return tuning.TunedTranspose(device, t) })
}

// A driver that reads the parameters from the text must find what the Source declares.
func TestSourcesDeclareWhatTheirTextSays(t *testing.T) {
	for _, b := range allSources() {
		if b.src.Macros == nil {
			continue // written in Go
		}
		text := *b.src
		text.Params, text.Group = nil, [3]int{}
		text.Macros = maps.Clone(text.Macros)
		// The dialect's names, which the driver's prelude defines.
		for _, v := range []string{"make_float4", "make_uint4", "make_double2", "restrict"} {
			text.Macros[v] = v
		}
		params, group, err := driverkit.ParseParams(&text)
		if err != nil {
			t.Errorf("%s: %v", b.name, err)
			continue
		}
		if group != b.src.Group {
			t.Errorf("%s: group size %v, the text says %v", b.name, b.src.Group, group)
		}
		if len(params) != len(b.src.Params) {
			t.Errorf("%s: declares %v, the text says %v", b.name, b.src.Params, params)
			continue
		}
		for i, p := range b.src.Params {
			got := params[i]
			got.Type = strings.ReplaceAll(got.Type, "uint", "int") // int32 is computed as uint
			if got != p {
				t.Errorf("%s: parameter %d is declared as %+v, the text says %+v", b.name, i, p, params[i])
			}
		}
	}
}

package kernels

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/gpu/support"
)

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile -launch=false -pack
//go:generate go run ./internal/ptxgen

// The PTX of the kernels in OpenCL C. That of those in Go lies in kernels_tandem.zip.
//
//go:embed opencl_tandem.zip
var openclFile string

var openclPTX = support.PTX(openclFile)

// PTXName is the name of a kernel's PTX: the kernel, its type and all its other macros, so that
// parameters without PTX get none.
func PTXName(s *backend.Source) string {
	if s.Macros == nil {
		return s.Name // written in Go
	}
	parts := []string{s.Name, ""}
	types := element.Types()
	for _, d := range s.Defines() {
		name, value, _ := strings.Cut(d, "=")
		if i := slices.IndexFunc(types, func(t Type) bool { return macro(t) == name }); i >= 0 {
			parts[1] = types[i].String()
		} else {
			parts = append(parts, strings.ToLower(name)+value)
		}
	}
	return strings.Join(parts, "_")
}

package kernels

import (
	"embed"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
)

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile -launch=false
//go:generate go run ./internal/ptxgen

//go:embed ptx
var ptxFiles embed.FS

// PTXFile is the name of the file of a kernel's PTX: the kernel, its type and all its other macros,
// so that parameters without PTX get none. That of a kernel in Go lies with its text, and has no
// file.
func PTXFile(s *backend.Source) string {
	if s.Macros == nil {
		return s.Name + ".ptx"
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
	return strings.Join(parts, "_") + ".ptx"
}

// prebuilt is the PTX of a kernel; nil where there is none.
func prebuilt(s *backend.Source) []byte {
	ptx, err := ptxFiles.ReadFile("ptx/" + PTXFile(s))
	if err != nil {
		return nil // the only error: no such file
	}
	return ptx
}

package kernels

import (
	"embed"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
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
	for _, d := range s.Defines() {
		macro, value, _ := strings.Cut(d, "=")
		if t := slices.IndexFunc(Types(), func(t Type) bool { return types[t].macro == macro }); t >= 0 {
			parts[1] = types[t].name
		} else {
			parts = append(parts, strings.ToLower(macro)+value)
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

package compiler

import (
	"os/exec"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/ptxgen"
)

// Clang is Options.PTX where clang is installed, nil elsewhere.
func Clang() func(root, name, text string) ([]byte, error) {
	if _, err := exec.LookPath(ptxgen.Clang); err != nil {
		return nil
	}
	return func(root, name, text string) ([]byte, error) {
		s := &backend.Source{Name: name, Text: text}
		return ptxgen.CompileIn(root, s, "gpu/compile")
	}
}

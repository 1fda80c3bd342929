// Ptxgen writes the PTX of the suite's kernels into the folder ptx of package backendtest: run go
// generate there.
package main

import (
	"errors"
	"log"
	"os"
	"path/filepath"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/ptxgen"
)

func main() {
	files, err := compile(".")
	for name, ptx := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join("ptx", name), ptx, 0o644))
	}
	if err != nil {
		log.Fatal(err)
	}
}

// compile is what the folder ptx in dir, the package's, should hold: the kernels of one text and
// one set of macros in each file.
func compile(dir string) (map[string][]byte, error) {
	sources := map[string]*backend.Source{
		"kernels.ptx":       {Name: "ids", File: "kernels.cl"},
		"kernels_step3.ptx": {Name: "affine", File: "kernels.cl", Macros: map[string]string{"STEP": "3"}},
		"float64.ptx":       {Name: "ops_f64", File: "float64.cl"},
	}
	for _, s := range sources {
		text, err := os.ReadFile(filepath.Join(dir, s.File))
		if err != nil {
			return nil, err
		}
		s.Text = string(text)
	}
	return ptxgen.CompileAll(sources, "backend/backendtest/internal/ptxgen")
}

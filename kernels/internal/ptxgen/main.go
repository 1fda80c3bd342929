// Ptxgen writes the PTX of the built-in kernels into the folder ptx of package kernels: run go
// generate there.
package main

import (
	"log"
	"maps"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/ptxgen"
	"github.com/tandem-gpu/tandem/kernels/tuning"
)

func main() {
	files, err := compile()
	if err == nil {
		err = ptxgen.Write("ptx", files)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// compile is what the folder should hold.
func compile() (map[string][]byte, error) {
	sources := tuning.PTXSources()
	maps.DeleteFunc(sources, func(_ string, s *backend.Source) bool { return s.Macros == nil }) // written in Go
	return ptxgen.CompileAll(sources, "kernels/internal/ptxgen")
}

// Ptxgen writes the PTX of the built-in kernels into the folder ptx of package kernels: run go
// generate there.
package main

import (
	"bytes"
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
	files, err := ptxgen.CompileAll(sources, "kernels/internal/ptxgen")
	for name, text := range files {
		if sources[name].Name == "matmul_thin" {
			files[name] = bytes.Replace(text, []byte(groupSize), []byte(groupSize+twoGroups), 1)
		}
	}
	return files, err
}

// The work-items of matmul_thin that multiply are few, and must read local memory early. Unless
// told that two groups on a multiprocessor are enough, which leaves 128 registers for a work-item,
// ptxas reads late, to save registers.
const (
	groupSize = ".reqntid 256, 1, 1\n"
	twoGroups = ".minnctapersm 2\n"
)

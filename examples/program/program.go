// Package program has the main function of most examples.
package program

import (
	"flag"
	"io"
	"log"
	"os"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cudasim" // for -backend cudasim; nothing else needs it
)

// Main calls run with the device that -backend names.
func Main(run func(w io.Writer, spec string) error) {
	spec := flag.String("backend", "",
		"device: cpu, opencl, opencl:1, ...; by default what "+backend.EnvBackend+" says, or the best")
	Parse()
	if err := run(os.Stdout, *spec); err != nil {
		log.Fatal(err)
	}
}

// Parse reads flags, and ends the program where there are other arguments.
func Parse() {
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("there are no arguments but flags: %q", flag.Args())
	}
}

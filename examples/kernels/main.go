// Command kernels has kernels that people know, written in Go: one to a file, each with a function
// that launches it. It runs them on the device that TANDEM_BACKEND or -backend names, all or those
// that are named.
//
//	go run ./examples/kernels
//	go run ./examples/kernels -backend opencl sort sha256
//	go run ./examples/kernels -png set.png mandelbrot
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	_ "github.com/tandem-gpu/tandem/backend/cudasim" // for -backend cudasim; nothing else needs it
	"github.com/tandem-gpu/tandem/linalg"
)

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile

func main() {
	spec := flag.String("backend", "", "device: cpu, opencl, opencl:1, ...; by default what TANDEM_BACKEND says")
	png := flag.String("png", "", "write the picture of mandelbrot to this file")
	flag.Parse()
	if err := run(os.Stdout, *spec, *png, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// run shows the kernels of these names, all if there are none.
func run(w io.Writer, spec, png string, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(demos, func(d demo) bool { return d.name == name }) {
			return fmt.Errorf("there is no kernel %s", name)
		}
	}
	s, err := linalg.Open(spec)
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintln(w, "device:", s.Info().Name)
	for _, d := range demos {
		if len(names) > 0 && !slices.Contains(names, d.name) {
			continue
		}
		if err := d.show(&stage{w, s, png}); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	return nil
}

// Command compile compiles the kernels of a package that are written in Go.
//
//	go run github.com/tandem-gpu/tandem/gpu/compile [-check] [-launch=false] [-ptx=false] [folder]
//
// It writes kernels_tandem.go beside them, which holds text for OpenCL and CUDA, PTX where clang-19
// is installed, Go for the cpu device, and for each kernel a function that launches it. Packages
// name it in a //go:generate line. What keeps a kernel from some devices is a warning. -check
// writes nothing, and fails where the file is stale. docs/kernels.md says what a kernel may
// contain.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/tandem-gpu/tandem/internal/compiler"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail where the generated file is stale")
	launch := flag.Bool("launch", true, "write launch functions, which need package linalg")
	ptx := flag.Bool("ptx", true, "write PTX, where clang-19 is installed")
	flag.Parse()
	dir := "."
	if flag.NArg() > 0 {
		dir = flag.Arg(0)
	}
	o := compiler.Options{NoLaunch: !*launch, NoPTX: !*ptx, PTX: compiler.Clang()}
	o.Warn = func(p compiler.Problem) { fmt.Fprintln(os.Stderr, p) }
	run := compiler.Write
	if *check {
		run = compiler.Check
	}
	if err := run(dir, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Command compile compiles the kernels of a package that are written in Go.
//
//	go run github.com/tandem-gpu/tandem/gpu/compile [-check] [-launch=false] [-ptx=false] [folder]
//	go run github.com/tandem-gpu/tandem/gpu/compile -show kernel [folder]
//
// It writes kernels_tandem.go beside them, which holds text for OpenCL and CUDA, Go for the cpu
// device, and for each kernel a function that launches it, and kernels_tandem.zip, which holds PTX
// where clang-19 is installed, and which -show prints. Packages name it in a //go:generate line.
// What keeps a kernel from some devices is a warning. -check writes nothing, and fails where a file
// is stale; it needs no clang. docs/kernels.md says what a kernel may contain.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/tandem-gpu/tandem/internal/compiler"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail where a generated file is stale")
	launch := flag.Bool("launch", true, "write launch functions, which need package linalg")
	ptx := flag.Bool("ptx", true, "write PTX, where clang-19 is installed")
	show := flag.String("show", "", "write nothing; print the PTX of a kernel")
	flag.Parse()
	dir := "."
	if flag.NArg() > 0 {
		dir = flag.Arg(0)
	}
	o := compiler.Options{NoLaunch: !*launch, NoPTX: !*ptx, Log: os.Stderr}
	var err error
	switch {
	case *show != "":
		err = compiler.Show(os.Stdout, dir, *show)
	case *check:
		err = compiler.Check(dir, o)
	default:
		o.PTX = compiler.Clang()
		err = compiler.Write(dir, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

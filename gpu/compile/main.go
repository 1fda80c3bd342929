// Command compile compiles the kernels of a package that are written in Go.
//
//	go run github.com/tandem-gpu/tandem/gpu/compile [-check] [-explain] [-launch=false] [-ptx=false]
//		[-native=false] [-pack] [folder]
//	go run github.com/tandem-gpu/tandem/gpu/compile -show kernel [folder]
//
// It writes kernels_tandem.go beside them, which holds text for OpenCL and CUDA, Go for the cpu
// device, and for each kernel a function that launches it. Where clang-19 is installed it writes
// also kernels_tandem.zip, which holds PTX, and which -show prints, and the folder nativecode,
// which holds machine code for the cpu device; -explain tells why a kernel has none. With -pack the
// texts lie in kernels_tandem.zip, too: -show NAME.cl prints one. Packages name the command in a
// line for go generate. What keeps a kernel from some devices is a warning. -check writes nothing,
// and fails where a file is stale; PTX and machine code it compares where clang-19 is installed and
// of the version that made them. docs/kernels.md says what a kernel may contain.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/tandem-gpu/tandem/gpu/compiler"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail where a generated file is stale")
	launch := flag.Bool("launch", true, "write launch functions, which need package linalg")
	ptx := flag.Bool("ptx", true, "write PTX, where clang-19 is installed")
	native := flag.Bool("native", true, "write machine code for the cpu device, where clang-19 is installed")
	pack := flag.Bool("pack", false, "keep the texts in kernels_tandem.zip; for packages with many kernels")
	explain := flag.Bool("explain", false, "tell why a kernel has no machine code")
	show := flag.String("show", "", "write nothing; print the PTX of a kernel")
	flag.Parse()
	dir := "."
	if flag.NArg() > 0 {
		dir = flag.Arg(0)
	}
	o := compiler.Options{
		NoLaunch: !*launch, NoPTX: !*ptx, NoNative: !*native, Log: os.Stderr, Explain: *explain, Pack: *pack,
	}
	var err error
	switch {
	case *pack && !*ptx:
		err = errors.New("-pack keeps texts beside the PTX: leave -ptx=false or -pack out")
	case *show != "":
		err = compiler.Show(os.Stdout, dir, *show)
	case *check:
		err = compiler.CheckBytes(dir, o)
	default:
		o.PTX, o.Native = compiler.Clang(), compiler.Machine()
		err = compiler.Write(dir, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

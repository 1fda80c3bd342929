// Command mistakes runs kernels with mistakes in them, which docs/finding-mistakes.md finds.
//
//	go run ./examples/mistakes -backend cpu rise
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/linalg"
)

func main() {
	log.SetFlags(0)
	runtime.LockOSThread() // oclgrind looks for what is not initialised by thread
	spec := flag.String("backend", "", "device: cpu, opencl, opencl:1, ...; by default what TANDEM_BACKEND says")
	flag.Parse()
	if err := run(os.Stdout, *spec, strings.Join(flag.Args(), " ")); err != nil {
		log.Fatal(err)
	}
}

// run runs a kernel on the numbers 0 to 127.
func run(w io.Writer, spec, kernel string) error {
	s, err := linalg.Open(spec)
	if err != nil {
		return err
	}
	defer s.Close()
	x, out := make([]int32, 128), make([]int32, 128)
	for i := range x {
		x[i] = int32(i)
	}
	launch := launchRise[[]int32, []int32]
	switch kernel {
	case "rise":
	case "reverse":
		launch = launchReverse[[]int32, []int32]
	default:
		return fmt.Errorf("there are the kernels rise and reverse, not %q", kernel)
	}
	if err := launch(s, backend.Grid1(2, 64), out, x); err != nil {
		return err
	}
	fmt.Fprintln(w, out[0], out[1], "...", out[127])
	return nil
}

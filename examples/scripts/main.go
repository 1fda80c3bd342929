// Command scripts has eight scripts as NumPy's users write them, on arrays: each does what the
// Python file beside it does, and has the same bits on every device.
//
//	go run ./examples/scripts                           # all, with their usual sizes
//	go run ./examples/scripts -plot loss.svg network    # and the network's loss by step
//	go run ./examples/scripts -n 1000 -backend opencl kmeans
package main

import (
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"slices"

	_ "github.com/tandem-gpu/tandem/backend/cudasim" // for -backend cudasim; nothing else needs it
	"github.com/tandem-gpu/tandem/linalg"
)

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile -pack

// A script computes on a session with a size n, prints what a person wants to know, and gives its
// result as an array, which carries the error where there was one. Calls that return an error, such
// as those that fill an array that is there, are checked.
type script struct {
	name string
	n    int // its usual size
	run  func(w io.Writer, s *linalg.Session, n int) result
}

type result interface{ WriteRaw(w io.Writer) error }

var scripts = []script{
	{"kmeans", 100_000, kmeans},
	{"logistic", 100_000, logistic},
	{"network", 1500, network},
	{"pagerank", 2000, pagerank},
	{"heat", 1000, heat},
	{"montecarlo", 10_000_000, montecarlo},
	{"blur", 2000, blur},
	{"nearest", 20_000, nearest},
}

var plotFile = flag.String("plot", "", "file for a plot of the network's loss: .svg, .png or .pdf")

func main() {
	spec := flag.String("backend", "",
		"device: cpu, opencl, opencl:1, ...; by default what TANDEM_BACKEND says, or the best")
	n := flag.Int("n", 0, "size; by default the script's usual one")
	flag.Parse()
	if err := run(os.Stdout, *spec, *n, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// run runs the scripts of these names, or all, with size n, or, where it is 0, the usual ones.
func run(w io.Writer, spec string, n int, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(scripts, func(x script) bool { return x.name == name }) {
			return fmt.Errorf("there is no script %s", name)
		}
	}
	s, err := linalg.Open(spec)
	if err != nil {
		return err
	}
	defer s.Close() // frees the arrays, too
	for _, x := range scripts {
		if len(names) == 0 || slices.Contains(names, x.name) {
			if err := x.report(w, s, cmp.Or(n, x.n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// report runs the script, and prints the digest of its result, too.
func (x script) report(w io.Writer, s *linalg.Session, n int) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case runtime.Error:
			panic(r)
		case error: // of check, or of a Slice where n is too small
			err = fmt.Errorf("%s of %d: %w", x.name, n, r)
		}
	}()
	fmt.Fprintf(w, "%s of %d, ", x.name, n)
	h := sha256.New()
	if err := x.run(w, s, n).WriteRaw(h); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "digest: %x\n", h.Sum(nil))
	return err
}

// check ends a script at the first error, which report returns.
func check(errs ...error) {
	if err := cmp.Or(errs...); err != nil {
		panic(err)
	}
}

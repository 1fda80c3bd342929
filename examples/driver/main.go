// Command driver brings a driver of its own, and linalg computes with it.
//
//	go run ./examples/driver
//	go run ./examples/driver -backend counting:0
//
// counting.go is the driver: it lets the cpu driver work, and counts the launches of every kernel.
// Its test is one call of backendtest.Run, the suite that every driver passes.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"slices"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cudasim" // for -backend cudasim; nothing else needs it
	"github.com/tandem-gpu/tandem/examples/program"
	"github.com/tandem-gpu/tandem/linalg"
)

var driver = &counting{launches: map[string]int{}}

// From here on TANDEM_BACKEND=counting chooses the driver.
func init() { backend.Register(driver) }

func main() {
	spec := flag.String("backend", driver.Name(), "device: counting, cpu, opencl, ...")
	program.Parse()
	if err := run(os.Stdout, *spec); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer, spec string) error {
	s, err := linalg.Open(spec)
	if err != nil {
		return err
	}
	defer s.Close()
	a, err := linalg.Upload(s, linalg.NewMatrix(2, 2, []float32{1, 1, 1, 0}))
	if err != nil {
		return err
	}
	b, err := linalg.NewArray[float32](s, 2, 2)
	if err != nil {
		return err
	}
	for range 3 { // a product and a sum a step
		if err := b.Mul(a, a); err != nil {
			return err
		}
		if err := a.Add(a, b); err != nil {
			return err
		}
	}
	h, err := a.Download()
	if err != nil {
		return err
	}
	fmt.Fprintln(w, h.Row(0), h.Row(1))
	launches := driver.Launches()
	for _, name := range slices.Sorted(maps.Keys(launches)) {
		fmt.Fprintf(w, "%s: %d launches\n", name, launches[name])
	}
	return nil
}

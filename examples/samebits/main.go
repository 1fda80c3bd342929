// Command samebits computes the same products on every device of every driver, and prints a digest
// of each result: they are equal. Where they are not, it fails.
//
//	go run ./examples/samebits
//	go run ./examples/samebits -backend cpu
//
// Every element of a product is one chain of fused multiply-adds in a fixed order, so its bits
// depend on the operands alone.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/examples/program"
	"github.com/tandem-gpu/tandem/linalg"
)

func main() {
	spec := flag.String("backend", "", "device: cpu, opencl, opencl:1, ...; by default all there are")
	program.Parse()
	if err := run(os.Stdout, *spec); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer, spec string) error {
	specs := []string{spec}
	if spec == "" {
		specs = devices(w)
	}
	all := results{}
	for _, spec := range specs {
		if err := all.products(w, spec); err != nil {
			return fmt.Errorf("%s: %w", spec, err)
		}
	}
	h := sha256.New()
	for _, what := range slices.Sorted(maps.Keys(all)) {
		h.Write(all[what])
	}
	fmt.Fprintf(w, "devices: %d, one digest: %x\n", len(specs), h.Sum(nil))
	return nil
}

// results is the digest of every product, by its operands.
type results map[string][]byte

// devices lists every device of every driver as linalg.Open takes it, and prints why a driver has
// none.
func devices(w io.Writer) (specs []string) {
	for _, d := range backend.Drivers() {
		infos, err := d.Devices()
		if err != nil {
			fmt.Fprintf(w, "%s: %v\n", d.Name(), err)
		}
		for _, info := range infos {
			specs = append(specs, fmt.Sprintf("%s:%d", info.Driver, info.Index))
		}
	}
	return specs
}

// products prints a digest of a product in each element type that the device supports, and compares
// it with those of other devices.
func (all results) products(w io.Writer, spec string) error {
	s, err := linalg.Open(spec)
	if err != nil {
		return err
	}
	defer s.Close()
	info := s.Info()
	fmt.Fprintf(w, "%s:%d %s\n", info.Driver, info.Index, info.Name)
	if info.Float32 {
		err = product[float32](w, s, all)
	}
	if info.Float64 && err == nil {
		err = product[float64](w, s, all)
	}
	if err == nil {
		err = product[int32](w, s, all)
	}
	return err
}

func product[T linalg.Element](w io.Writer, s *linalg.Session, all results) error {
	rng := rand.New(rand.NewPCG(2, 3))
	a, b := random[T](rng, 301, 257), random[T](rng, 257, 129)
	c, err := linalg.MatMul(a, b, linalg.On(s))
	if err != nil {
		return err
	}
	h := sha256.New()
	if err := binary.Write(h, binary.LittleEndian, c.Data); err != nil {
		return err
	}
	what, digest := fmt.Sprintf("%s times %s", a, b), h.Sum(nil)
	fmt.Fprintf(w, "  %s: %x\n", what, digest)
	if first, ok := all[what]; ok && !bytes.Equal(first, digest) {
		return fmt.Errorf("%s has other bits than on the devices before: %x", what, first)
	}
	all[what] = digest
	return nil
}

// random is a matrix of numbers from -1000 to 1000.
func random[T linalg.Element](rng *rand.Rand, rows, cols int) linalg.Matrix[T] {
	m := linalg.NewMatrix[T](rows, cols, nil)
	for i := range m.Data {
		m.Data[i] = T((rng.Float64() - 0.5) * 2000)
	}
	return m
}

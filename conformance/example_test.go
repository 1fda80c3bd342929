package conformance_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cpu"
	"github.com/tandem-gpu/tandem/conformance"
	"github.com/tandem-gpu/tandem/kernels"
)

// A device gives the contract's bits if every digest is the golden one. Here a few cases run; with
// the zero Options all do.
func ExampleRun() {
	dev, err := backend.Open("cpu")
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	r, err := conformance.Run(context.Background(), dev, conformance.Options{
		Quick: true,
		Match: func(c *conformance.Case) bool { return c.Kernel == "add" && c.Type == kernels.Float32 },
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Cases > 0, r.Passed(), r.Failures)
	// Output: true true []
}

// Two results with the same digest have the same bits.
func ExampleDigest() {
	fmt.Println(conformance.Digest([]float32{1, 2, 3})[:16])
	// Output: 8e628779e6a74ee0
}

// The operands of every case are documented, so that other programs can compute it: here plain Go.
func ExampleOperands() {
	golden := conformance.Golden()
	for _, c := range conformance.Cases() {
		if c.Kernel != "add" || c.Type != kernels.Float32 {
			continue
		}
		_, a, b, _, _ := conformance.Operands[float32](c)
		for i := range a {
			a[i] += b[i]
		}
		if conformance.Digest(a) != golden[c.Name()] {
			fmt.Println(c.Name(), "has other bits")
		}
	}
	fmt.Println("compared")
	// Output: compared
}

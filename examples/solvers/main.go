// Command solvers shows what factorizations are for, each timed beside gonum's: the curve through
// many points by least squares, the principal components of handwritten digits by singular values,
// and a truss, which bends under a load and swings.
//
//	go run ./examples/solvers
//	go run ./examples/solvers -backend opencl
package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/tandem-gpu/tandem/examples/program"
	"github.com/tandem-gpu/tandem/linalg"
)

func main() { program.Main(run) }

func run(w io.Writer, spec string) error {
	s, err := linalg.Open(spec)
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintln(w, "device:", s.Info().Name)
	ctx := context.Background()
	for _, example := range []func(context.Context, io.Writer, *linalg.Session) error{curve, components, truss} {
		if err := example(ctx, w, s); err != nil {
			return err
		}
	}
	return nil
}

// timed is how long f takes.
func timed(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start).Round(time.Microsecond), err
}

// digest is that of the bits of some numbers.
func digest(x []float64) (string, error) {
	h := sha256.New()
	err := binary.Write(h, binary.LittleEndian, x)
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), err
}

// Command resident keeps matrices on the device: it uploads once, computes in several steps, and
// downloads once.
//
//	go run ./examples/resident
//	go run ./examples/resident -backend opencl
//
// The receiver of every operation is its destination, as in gonum. Operations return when they are
// enqueued; Download waits for them.
package main

import (
	"errors"
	"fmt"
	"io"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/examples/program"
	"github.com/tandem-gpu/tandem/linalg"
)

func main() { program.Main(run) }

func run(w io.Writer, spec string) error {
	s, err := linalg.Open(spec)
	if err != nil {
		return err
	}
	defer s.Close() // frees the arrays, too

	a, err := linalg.Upload(s, linalg.NewMatrix(2, 3, []float32{1, 2, 3, 4, 5, 6}))
	if err != nil {
		return err
	}
	b, errB := linalg.NewArray[float32](s, 3, 2)
	c, errC := linalg.NewArray[float32](s, 2, 2)
	if err := errors.Join(errB, errC); err != nil {
		return err
	}

	if err := b.Transpose(a); err != nil { // b = a'
		return err
	}
	if err := c.Mul(a, b); err != nil { // c = a*a'
		return err
	}
	if err := c.Add(c, c); err != nil { // c = c + c
		return err
	}
	if err := c.Scale(0.5, c); err != nil { // c = c/2
		return err
	}
	if err := c.Gemm(-1, blas.NoTrans, a, blas.Trans, a, 2); err != nil { // c = 2*c - a*a'
		return err
	}

	h, err := c.Download()
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "device:", s.Info().Name)
	for i := range h.Rows {
		fmt.Fprintln(w, h.Row(i))
	}
	return nil
}

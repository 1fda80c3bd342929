// Command matmul multiplies two matrices: from host memory to host memory, on the best device there
// is.
//
//	go run ./examples/matmul
//	go run ./examples/matmul -backend opencl
//
// It shows linalg.MatMul on matrices of Tandem's own, and on gonum's, which share their memory with
// it.
package main

import (
	"fmt"
	"io"
	"os"

	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/examples/program"
	"github.com/tandem-gpu/tandem/linalg"
)

func main() { program.Main(run) }

func run(w io.Writer, spec string) error {
	if spec != "" {
		os.Setenv(backend.EnvBackend, spec) // linalg.MatMul reads it when it is first called
	}
	a := linalg.NewMatrix(2, 3, []float32{1, 2, 3, 4, 5, 6})
	b := linalg.NewMatrix(3, 2, []float32{7, 8, 9, 10, 11, 12})
	c, err := linalg.MatMul(a, b)
	if err != nil {
		return err
	}
	for i := range c.Rows {
		fmt.Fprintln(w, c.Row(i))
	}

	x := mat.NewDense(2, 2, []float64{1, 1, 1, 0})
	y, err := linalg.MatMul(linalg.FromDense(x), linalg.FromDense(x))
	if err != nil {
		return err
	}
	fmt.Fprintln(w, mat.Formatted(linalg.ToDense(y)))

	s, err := linalg.Default() // the session that MatMul used
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "device:", s.Info().Name)
	return s.Close()
}

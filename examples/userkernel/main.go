// Command userkernel runs kernels of one's own, which kernels.cl holds, on slices in host memory
// and on arrays on the device.
//
//	go run ./examples/userkernel
//	go run ./examples/userkernel -backend opencl
//
// A launch is kernel[grid, block](arguments): so many groups, of so many work-items each. The text
// is in the portable dialect that docs/kernels.md describes; kernels.go gives the cpu device the
// same in Go.
package main

import (
	"fmt"
	"io"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/examples/program"
	"github.com/tandem-gpu/tandem/linalg"
)

func main() { program.Main(run) }

func run(w io.Writer, spec string) error {
	s, err := linalg.Open(spec)
	if err != nil {
		return err
	}
	defer s.Close() // releases kernels and arrays, too
	fmt.Fprintln(w, "device:", s.Info().Name)
	if err := onSlices(w, s); err != nil {
		return err
	}
	return onArrays(w, s)
}

// onSlices launches saxpy straight on slices: they are copied to the device and back, or used in
// place where it shares the host's memory.
func onSlices(w io.Writer, s *linalg.Session) error {
	k, err := s.CompileSource(saxpy)
	if err != nil {
		return err
	}
	x := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	y := []float32{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}
	// 2 groups of 3 work-items: fewer than elements. The kernel strides over the rest.
	if err := s.Launch(k, backend.Grid1(2, 3), int32(len(x)), float32(2), x, y); err != nil {
		return err
	}
	fmt.Fprintln(w, "saxpy:", y)
	return nil
}

// onArrays heats the top edge of a plate and takes 500 Jacobi steps on the device, from one array
// to another and back.
func onArrays(w io.Writer, s *linalg.Session) error {
	k, err := s.CompileSource(jacobi)
	if err != nil {
		return err
	}
	const rows, cols, block = 60, 100, 16
	plate := linalg.NewMatrix[float32](rows, cols, nil)
	for j := range cols {
		plate.Set(0, j, 100)
	}
	old, err := linalg.Upload(s, plate)
	if err != nil {
		return err
	}
	next, err := linalg.Upload(s, plate)
	if err != nil {
		return err
	}
	grid := backend.Grid2((cols+block-1)/block, (rows+block-1)/block, block, block)
	for range 500 {
		if err := s.Launch(k, grid, int32(rows), int32(cols), old, next); err != nil {
			return err
		}
		old, next = next, old
	}
	if err := old.CopyTo(plate); err != nil {
		return err
	}
	for i := 0; i < rows; i += 12 {
		fmt.Fprintf(w, "jacobi: row %2d, middle %.6f\n", i, plate.At(i, cols/2))
	}
	return nil
}

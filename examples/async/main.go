// Command async copies and computes at the same time: with two queues, events that order them, and
// pinned host memory.
//
//	go run ./examples/async
//	go run ./examples/async -backend opencl
//
// A vector is doubled on the device, piece by piece: while one queue computes a piece, the other
// uploads the next.
package main

import (
	"fmt"
	"io"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/examples/program"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

func main() { program.Main(run) }

const (
	pieces = 8
	length = 1 << 18    // elements of a piece
	size   = 4 * length // its bytes
)

func run(w io.Writer, spec string) error {
	s, err := linalg.Open(spec)
	if err != nil {
		return err
	}
	defer s.Close() // ends queues, buffers, kernels and events, too
	fmt.Fprintln(w, "device:", s.Info().Name)

	// Pinned memory: the device copies from it and to it while the program goes on. It is the
	// memory of a slice.
	memory, err := s.Device().AllocHost(pieces * size)
	if err != nil {
		return err
	}
	vector := backend.Elems[float32](memory.Bytes())
	for i := range vector {
		vector[i] = float32(i % 1000)
	}

	p, err := newPipeline(s)
	if err != nil {
		return err
	}
	start, err := p.compute.Record()
	if err != nil {
		return err
	}
	for i := range pieces {
		if err := p.double(memory, i); err != nil {
			return err
		}
	}
	end, err := p.compute.Record()
	if err != nil {
		return err
	}
	elapsed, err := end.Since(start) // waits for both
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "time on the device:", time.Duration(elapsed))
	if err := p.compute.Wait(); err != nil { // reports what failed on the way
		return err
	}

	for i, v := range vector {
		if v != 2*float32(i%1000) {
			return fmt.Errorf("element %d is %v, want %v", i, v, 2*float32(i%1000))
		}
	}
	fmt.Fprintf(w, "%d elements doubled in %d pieces\n", len(vector), pieces)
	return nil
}

// pipeline is two queues that work in turn on two buffers.
type pipeline struct {
	upload, compute *backend.Queue
	kernel          *backend.Kernel
	grid            backend.Grid
	buffers         [2]*backend.Buffer
	done            [2]*backend.Event // when the last piece in a buffer was read back; nil before the first
}

func newPipeline(s *linalg.Session) (*pipeline, error) {
	info := s.Info()
	p := &pipeline{compute: s.Queue(), grid: kernels.ElementwiseGrid(&info, 1, length)}
	var err error
	if p.upload, err = s.Device().NewQueue(); err != nil {
		return nil, err
	}
	if p.kernel, err = s.CompileSource(kernels.Scale.Source(kernels.Float32)); err != nil {
		return nil, err
	}
	for i := range p.buffers {
		if p.buffers[i], err = s.Device().Alloc(size); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// double enqueues piece i: its upload on one queue; its doubling, and the copy back, on the other.
func (p *pipeline) double(memory *backend.Buffer, i int) error {
	slot := i % 2
	if p.done[slot] != nil { // the buffer must have been read before it is overwritten
		if err := p.upload.WaitEvent(p.done[slot]); err != nil {
			return err
		}
	}
	if err := p.upload.WriteAsync(p.buffers[slot], 0, memory, int64(i*size), size); err != nil {
		return err
	}
	uploaded, err := p.upload.Record()
	if err != nil {
		return err
	}
	if err := p.compute.WaitEvent(uploaded); err != nil {
		return err
	}
	x := kernels.Operand{Buffer: p.buffers[slot], Stride: length}
	args := kernels.Scale.Args(nil, kernels.Scalar(float32(2)), 1, length, x, x)
	if err := p.compute.Launch(p.kernel, p.grid, args...); err != nil {
		return err
	}
	if err := p.compute.ReadAsync(memory, int64(i*size), p.buffers[slot], 0, size); err != nil {
		return err
	}
	p.done[slot], err = p.compute.Record()
	return err
}

// Command zerocopy lets the device work on Go slices themselves, without a copy, and times the
// first call of a kernel and the second.
//
//	go run ./examples/zerocopy -backend opencl
//	go run ./examples/zerocopy -backend cpu
//
// It needs a device that shares the host's memory: a CPU, or a GPU within one. Elsewhere
// linalg.Register says so, and a program uses linalg.Upload instead.
package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/examples/program"
	"github.com/tandem-gpu/tandem/linalg"
)

func main() { program.Main(run) }

const n = 256

func run(w io.Writer, spec string) error {
	s, err := linalg.Open(spec)
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintln(w, "device:", s.Info().Name)

	a, b, c := random(1), random(2), linalg.NewMatrix[float32](n, n, nil)
	x, errX := linalg.Register(s, a)
	y, errY := linalg.Register(s, b)
	z, errZ := linalg.Register(s, c)
	if err := errors.Join(errX, errY, errZ); errors.Is(err, backend.ErrUnsupported) {
		fmt.Fprintln(w, "cannot reach the host's memory; use Upload")
		return nil
	} else if err != nil {
		return err
	}

	// the first one compiles the kernel, or finds it on disk
	for _, call := range []string{"first call: ", "second call:"} {
		start := time.Now()
		if err := z.Mul(x, y); err != nil {
			return err
		}
		if err := s.Wait(); err != nil { // from here on c may be read
			return err
		}
		fmt.Fprintln(w, call, time.Since(start))
	}
	fmt.Fprintln(w, "c[0,0] =", c.At(0, 0))

	a.Set(0, 0, a.At(0, 0)+1) // what the host writes, the next call reads
	if err := errors.Join(z.Mul(x, y), s.Wait()); err != nil {
		return err
	}
	fmt.Fprintln(w, "c[0,0] =", c.At(0, 0))
	return errors.Join(x.Free(), y.Free(), z.Free()) // the slices are the program's own again
}

func random(seed uint64) linalg.Matrix[float32] {
	rng := rand.New(rand.NewPCG(seed, 0))
	m := linalg.NewMatrix[float32](n, n, nil)
	for i := range m.Data {
		m.Data[i] = rng.Float32()
	}
	return m
}

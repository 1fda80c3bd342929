// Command linear is a small neural network: two linear layers, y = relu(x*W + b), with a kernel of
// its own for what comes after the product.
//
//	go run ./examples/linear
//	go run ./examples/linear -backend opencl
//
// Everything stays on the device from the first layer to the last. relu.cl is the kernel in the
// portable dialect; biasReLU says the same in Go, for the cpu device.
package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/examples/program"
	"github.com/tandem-gpu/tandem/linalg"
)

func main() { program.Main(run) }

//go:embed relu.cl
var text string

var source = &backend.Source{Name: "bias_relu", File: "relu.cl", Text: text, Go: biasReLU}

// biasReLU runs the work-items of the groups lo to hi-1, as the kernel does.
func biasReLU(g backend.Grid, lo, hi int, args []backend.Arg) error {
	rows, cols := int(args[0].Int32()), int(args[1].Int32())
	bias, y := backend.Mem[float32](args[2]), backend.Mem[float32](args[3])
	for id := lo * g.Local[0]; id < hi*g.Local[0]; id++ {
		for i := id; i < rows*cols; i += g.Groups[0] * g.Local[0] {
			v := y[i] + bias[i%cols]
			if !(v > 0) {
				v = 0
			}
			y[i] = v
		}
	}
	return nil
}

// batch rows of samples go through the layers at once.
const batch = 64

var widths = []int{100, 50, 10}

func run(w io.Writer, spec string) error {
	s, err := linalg.Open(spec)
	if err != nil {
		return err
	}
	defer s.Close() // frees kernels and arrays, too
	fmt.Fprintln(w, "device:", s.Info().Name)

	relu, err := s.CompileSource(source)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(4, 5))
	x, err := linalg.Upload(s, random(rng, batch, widths[0]))
	if err != nil {
		return err
	}
	for i := range len(widths) - 1 {
		l, err := newLayer(s, rng, widths[i], widths[i+1])
		if err != nil {
			return err
		}
		if x, err = l.forward(s, relu, x); err != nil {
			return err
		}
	}
	return summarize(w, x)
}

// A layer is the weights and the bias of y = relu(x*W + b).
type layer struct{ weights, bias *linalg.Array[float32] }

func newLayer(s *linalg.Session, rng *rand.Rand, in, out int) (l layer, err error) {
	if l.weights, err = linalg.Upload(s, random(rng, in, out)); err != nil {
		return l, err
	}
	l.bias, err = linalg.Upload(s, random(rng, 1, out))
	return l, err
}

// forward is relu(x*W + b) for every row x of a batch. It returns when the work is enqueued.
func (l layer) forward(
	s *linalg.Session, relu *backend.Kernel, x *linalg.Array[float32],
) (*linalg.Array[float32], error) {
	rows, _ := x.Dims()
	_, cols := l.weights.Dims()
	y, err := linalg.NewArray[float32](s, rows, cols)
	if err != nil {
		return nil, err
	}
	if err := y.Mul(x, l.weights); err != nil {
		return nil, err
	}
	return y, s.Launch(relu, backend.Grid1(8, 64), int32(rows), int32(cols), l.bias, y)
}

// summarize prints the first row of the result and a digest of all of it.
func summarize(w io.Writer, x *linalg.Array[float32]) error {
	y, err := x.Download()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "first sample: %.4f\n", y.Row(0))
	h := sha256.New()
	if err := binary.Write(h, binary.LittleEndian, y.Data); err != nil {
		return err
	}
	fmt.Fprintf(w, "digest of all %d: %x\n", y.Rows, h.Sum(nil))
	return nil
}

// random is a matrix of numbers from -1 to 1.
func random(rng *rand.Rand, rows, cols int) linalg.Matrix[float32] {
	m := linalg.NewMatrix[float32](rows, cols, nil)
	for i := range m.Data {
		m.Data[i] = 2*rng.Float32() - 1
	}
	return m
}

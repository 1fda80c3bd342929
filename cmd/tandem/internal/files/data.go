// Package files reads the files that commands compute of, and writes those that they make, whole or
// not at all.
package files

import (
	"fmt"
	"io"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/screen"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/linalg"
)

// A Result is an array to write.
type Result struct {
	npy.Header
	Data any // []float32, []float64 or []int32: the elements, row by row
	Text any // what of it is printed
}

// ResultOf is m as an array of a shape.
func ResultOf[T linalg.Element](m linalg.Matrix[T], shape ...int) Result {
	r := Result{npy.Header{Type: element.TypeOf[T](), Shape: shape}, m.Packed().Data, m}
	if m.Rows*m.Cols == 1 {
		r.Text = m.At(0, 0)
	}
	return r
}

// arrays is what is done with elements of one type.
type arrays struct {
	read  func(r io.Reader, h *npy.Header) (any, error)
	write func(w io.Writer, h *npy.Header, data any) error
	zeros func(n int) any
	bytes func(data any) []byte
}

func arraysOf[T linalg.Element]() arrays {
	return arrays{
		read:  func(r io.Reader, h *npy.Header) (any, error) { return npy.Read[T](r, h) },
		write: func(w io.Writer, h *npy.Header, data any) error { return npy.Write(w, h, data.([]T)) },
		zeros: func(n int) any { return make([]T, n) },
		bytes: func(data any) []byte { return backend.Bytes(data.([]T)) },
	}
}

// InType is what there is for a type: the one place where the program chooses by it.
func InType[F any](t element.Type, single, double, integer F) F {
	return element.ByType(t, single, double, integer)
}

func arraysIn(t element.Type) arrays {
	return InType(t, arraysOf[float32], arraysOf[float64], arraysOf[int32])()
}

// Zeros is an array of zeros in memory.
func Zeros(t element.Type, shape []int) (Operand, error) {
	o := Operand{Header: &npy.Header{Type: t, Shape: shape}}
	if err := FitsHost(float64(o.Size())); err != nil {
		return o, err
	}
	rows, cols := o.Dims()
	o.Data = arraysIn(t).zeros(rows * cols)
	return o, nil
}

// Bytes is the memory of the elements.
func (o Operand) Bytes() []byte { return arraysIn(o.Type).bytes(o.Data) }

// FitsHost refuses what this machine's memory does not hold, before the attempt ends the program.
func FitsHost(size float64) error {
	memory := backend.HostInfo().Memory
	if memory <= 0 || size <= float64(memory) {
		return nil
	}
	return &backend.Error{
		Op: "host memory", Err: backend.ErrOutOfMemory,
		Detail: fmt.Sprintf("%s are needed, the machine has %s", screen.Bytes(int64(min(size, maxSize))),
			screen.Bytes(memory)),
	}
}

// maxSize is more than there is, and fits an int64.
const maxSize = 1 << 62

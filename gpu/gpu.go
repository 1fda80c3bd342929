// Package gpu is what a kernel written in Go uses: its place in the grid, barriers, memory that a
// group shares, and the few operations that Go has no operator for.
//
//	// saxpy is y = a*x + y.
//	//
//	//tandem:kernel float32 float64
//	func saxpy[T gpu.Float](it gpu.Item, a T, x, y []T) {
//		for i := it.Global(0); i < len(x); i += it.GlobalSize(0) {
//			y[i] = gpu.FMA(a, x[i], y[i])
//		}
//	}
//
// A kernel is an ordinary function whose first parameter is an [Item]. The compiler, gpu/compile,
// makes of it text for OpenCL and CUDA, PTX, Go for the cpu device, and a function that launches
// it; docs/kernels.md says what a kernel may contain. A kernel is also plain Go: [Run] calls
// it for every work-item, each a goroutine, so that a test, the race detector and a debugger see it
// as it is written.
package gpu

import (
	"fmt"
	"unsafe"

	"github.com/tandem-gpu/tandem/internal/host"
)

// Signed is the signed integers. In a kernel int is 64 bits wide.
type Signed interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64
}

// Unsigned is the unsigned integers. In a kernel uint is 64 bits wide.
type Unsigned interface {
	~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Integer is the integers.
type Integer interface{ Signed | Unsigned }

// Float is the floating-point numbers.
type Float interface{ ~float32 | ~float64 }

// Number is what kernels compute with.
type Number interface{ Integer | Float }

// FMA is a*b + c. A float is rounded once, to nearest even with subnormals kept; integers wrap.
func FMA[T Number](a, b, c T) T {
	switch {
	case T(1)/T(2) == 0:
		return a*b + c
	case unsafe.Sizeof(a) == 4:
		return T(host.FMA32(float32(a), float32(b), float32(c)))
	}
	return T(host.FMA(float64(a), float64(b), float64(c)))
}

// A Matrix is a row-major matrix in device memory: element (i, j) is Data[i*Stride+j].
type Matrix[T any] struct {
	Data       []T
	Rows, Cols int
	Stride     int // elements from one row to the next
}

// At is element (i, j). In plain Go it panics outside the matrix.
func (m Matrix[T]) At(i, j int) T { return *m.at(i, j) }

// Set makes v element (i, j). In plain Go it panics outside the matrix.
func (m Matrix[T]) Set(i, j int, v T) { *m.at(i, j) = v }

func (m Matrix[T]) at(i, j int) *T {
	if uint(i) >= uint(m.Rows) || uint(j) >= uint(m.Cols) {
		panic(fmt.Sprintf("element (%d, %d) outside a matrix of %dx%d", i, j, m.Rows, m.Cols))
	}
	return &m.Data[i*m.Stride+j]
}

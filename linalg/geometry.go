package linalg

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/strided"
	"github.com/tandem-gpu/tandem/kernels"
)

// elements is rows*cols, if that fits in an int and the kernels' indices can hold each dimension.
func elements(rows, cols int) (int, error) {
	if rows < 0 || cols < 0 {
		return 0, fmt.Errorf("%w: %dx%d has a negative dimension", ErrShape, rows, cols)
	}
	if rows > kernels.MaxDim || cols > kernels.MaxDim {
		return 0, fmt.Errorf("%w: %dx%d has a dimension beyond %d", ErrShape, rows, cols, kernels.MaxDim)
	}
	hi, lo := bits.Mul64(uint64(rows), uint64(cols))
	if hi != 0 || lo > math.MaxInt {
		return 0, fmt.Errorf("%w: %dx%d has too many elements", ErrShape, rows, cols)
	}
	return int(lo), nil
}

// byteSize is n elements of type t in bytes. The error matches backend.ErrOutOfMemory.
func byteSize(n int, t reflect.Type) (int64, error) {
	size := int64(t.Size())
	if int64(n) > math.MaxInt64/size {
		return 0, fmt.Errorf("linalg: %d elements of %v: %w", n, t, backend.ErrOutOfMemory)
	}
	return int64(n) * size, nil
}

// Check says what is wrong with a matrix that was made by hand: a negative dimension, a stride
// below the columns, too few elements. The error matches [ErrShape].
func (m Matrix[T]) Check() error { return m.check("matrix") }

// check says what is wrong with m by itself; name is its name in the call.
func (m Matrix[T]) check(name string) error { return m.untyped().check(name) }

// A matrix is a Matrix without its elements, as an array is an Array.
type matrix struct {
	rows, cols, stride int
	len                int // of its data
	elem               reflect.Type
}

func (m Matrix[T]) untyped() matrix {
	return matrix{m.Rows, m.Cols, m.Stride, len(m.Data), reflect.TypeFor[T]()}
}

func (m matrix) String() string { return fmt.Sprintf("%dx%d %v", m.rows, m.cols, m.elem) }

func (m matrix) check(name string) error {
	if _, err := elements(m.rows, m.cols); err != nil {
		return fmt.Errorf("%w (%s)", err, name)
	}
	if m.rows == 0 || m.cols == 0 {
		return nil
	}
	if m.stride < m.cols {
		return fmt.Errorf("%w: %s is %s with stride %d, which is less than its columns", ErrShape, name, m, m.stride)
	}
	hi, lo := bits.Mul64(uint64(m.rows-1), uint64(m.stride))
	if hi != 0 || lo > math.MaxInt-uint64(m.cols) {
		return fmt.Errorf("%w: %s is %s with stride %d: too large", ErrShape, name, m, m.stride)
	}
	if need := int(lo) + m.cols; m.len < need {
		return fmt.Errorf("%w: %s is %s with stride %d and needs %d values; it has %d", ErrShape, name, m, m.stride,
			need, m.len)
	}
	return nil
}

// memory is the elements from the first to the last.
func (m Matrix[T]) memory() []T { return m.Data[:strided.Span(m.Rows, m.Cols, m.Stride)] }

// bytes is the same memory as bytes.
func (m Matrix[T]) bytes() []byte { return backend.Bytes(m.memory()) }

func (m Matrix[T]) elem() string { return elementName(reflect.TypeFor[T]()) }

// bytesOverlap tells whether two slices share memory.
func bytesOverlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	a0, b0 := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return a0 < b0+uintptr(len(b)) && b0 < a0+uintptr(len(a))
}

// distance is how many elements b starts after a.
func distance[T any](a, b []T) int {
	var t T
	a0, b0 := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return int(b0-a0) / int(unsafe.Sizeof(t))
}

// shareElements tells whether two matrices in host memory have an element in common.
func shareElements[T any](x, y Matrix[T]) bool {
	return bytesOverlap(x.bytes(), y.bytes()) && strided.Overlap(x.Rows, x.Cols, x.Stride,
		distance(x.memory(), y.memory()), y.Rows, y.Cols, y.Stride)
}

// union is the memory from the first element of two overlapping slices to the last.
func union[T Element](a, b []T) []T {
	d := distance(a, b)
	if d < 0 {
		a, b, d = b, a, -d
	}
	return unsafe.Slice(unsafe.SliceData(a), max(len(a), d+len(b)))
}

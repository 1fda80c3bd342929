package linalg

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/kernels"
)

var (
	// ErrShape: the dimensions, the stride or the data of a matrix do not fit, by themselves or to each other.
	ErrShape = errors.New("linalg: shape")
	// ErrOverlap: the destination shares elements with a source, and the result would depend on the order of the work.
	ErrOverlap = errors.New("linalg: destination overlaps a source")
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

// span is the number of elements from the first to the last of a matrix, both included.
func span(rows, cols, stride int) int {
	if rows == 0 || cols == 0 {
		return 0
	}
	return (rows-1)*stride + cols
}

// check says what is wrong with m by itself; name is its name in the call.
func (m Matrix[T]) check(name string) error {
	if _, err := elements(m.Rows, m.Cols); err != nil {
		return fmt.Errorf("%w (%s)", err, name)
	}
	if m.Rows == 0 || m.Cols == 0 {
		return nil
	}
	if m.Stride < m.Cols {
		return fmt.Errorf("%w: %s is %s with stride %d, which is less than its columns", ErrShape, name, m, m.Stride)
	}
	hi, lo := bits.Mul64(uint64(m.Rows-1), uint64(m.Stride))
	if hi != 0 || lo > math.MaxInt-uint64(m.Cols) {
		return fmt.Errorf("%w: %s is %s with stride %d: too large", ErrShape, name, m, m.Stride)
	}
	if need := int(lo) + m.Cols; len(m.Data) < need {
		return fmt.Errorf("%w: %s is %s with stride %d and needs %d values; it has %d", ErrShape, name, m, m.Stride, need, len(m.Data))
	}
	return nil
}

// byteSize is n elements of T in bytes. The error matches backend.ErrOutOfMemory.
func byteSize[T Element](n int) (int64, error) {
	var t T
	size := int64(unsafe.Sizeof(t))
	if int64(n) > math.MaxInt64/size {
		return 0, fmt.Errorf("linalg: %d elements of %T: %w", n, t, backend.ErrOutOfMemory)
	}
	return int64(n) * size, nil
}

func errClosed(what string) error {
	return &backend.Error{Op: "linalg", Err: backend.ErrClosed, Detail: what}
}

// overlap tells whether two matrices of one memory share an element: off is the distance in elements from the first element of x to that of
// y. With different strides it may say yes where the rows interleave without touching.
func overlap(xRows, xCols, xStride, off, yRows, yCols, yStride int) bool {
	xn, yn := span(xRows, xCols, xStride), span(yRows, yCols, yStride)
	if xn == 0 || yn == 0 || off >= xn || -off >= yn {
		return false
	}
	if xStride != yStride || xRows == 1 && yRows == 1 {
		return true
	}
	// Rectangles of one array: y starts r rows below x's first and d columns to its right, and may wrap into the next row.
	r, d := off/xStride, off%xStride
	if d < 0 {
		r, d = r-1, d+xStride
	}
	return d < xCols && r < xRows && r+yRows > 0 || d+yCols > xStride && r+1 < xRows && r+1+yRows > 0
}

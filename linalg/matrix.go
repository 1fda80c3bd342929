package linalg

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"unsafe"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/hugepage"
	"github.com/tandem-gpu/tandem/internal/strided"
	"github.com/tandem-gpu/tandem/kernels"
)

// Element lists the types of elements that there is arithmetic in: float32, float64 or int32.
type Element = element.Element

// Float lists the types of elements of factorizations.
type Float interface{ float32 | float64 }

// Float16 and BFloat16 are numbers of 16 bits, which are only stored.
type (
	Float16  = element.Float16
	BFloat16 = element.BFloat16
)

// Matrix is a dense row-major matrix in host memory: element (i, j) is Data[i*Stride+j]. Rows and
// Cols may be 0. The elements between Cols and Stride belong to nobody: they are neither read nor
// written. Functions that compute take an [Element]; arrays on devices and kernels written in Go
// have elements of any type without pointers.
type Matrix[T any] struct {
	Rows, Cols int
	Stride     int // elements from one row to the next, at least Cols
	Data       []T
}

// NewMatrix makes a packed rows by cols matrix of data, which it shares; nil stands for zeros. It
// panics when a dimension is negative or len(data) is not rows*cols, as gonum's mat.NewDense does.
func NewMatrix[T any](rows, cols int, data []T) Matrix[T] {
	n, err := elements(rows, cols)
	if err != nil {
		panic(err)
	}
	if data == nil {
		data = make([]T, n)
	}
	if len(data) != n {
		panic(fmt.Errorf("%w: %d values for a %dx%d matrix", ErrShape, len(data), rows, cols))
	}
	return Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: data}
}

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

// dirty is where results come from. Tests poison it.
var dirty = hugepage.Dirty

// newResult is a packed matrix of any values, all of which are to be written. T has no pointers.
func newResult[T any](rows, cols int) Matrix[T] {
	var t T
	return NewMatrix(rows, cols, backend.Elems[T](dirty(rows*cols*int(unsafe.Sizeof(t)))))
}

// newResultOn is newResult of a call on s, or an error where there is not room for it.
func newResultOn[T any](s *Session, rows, cols int) (Matrix[T], error) {
	if err := s.canHold(rows, cols, reflect.TypeFor[T]()); err != nil {
		return Matrix[T]{}, err
	}
	return newResult[T](rows, cols), nil
}

// At is element (i, j). It panics outside the matrix.
func (m Matrix[T]) At(i, j int) T { return m.Data[m.index(i, j)] }

// Set makes v element (i, j). It panics outside the matrix.
func (m Matrix[T]) Set(i, j int, v T) { m.Data[m.index(i, j)] = v }

func (m Matrix[T]) index(i, j int) int {
	if uint(i) >= uint(m.Rows) || uint(j) >= uint(m.Cols) {
		panic(fmt.Errorf("%w: element (%d, %d) of a %dx%d matrix", ErrShape, i, j, m.Rows, m.Cols))
	}
	return i*m.Stride + j
}

// Row is row i. It shares memory with m.
func (m Matrix[T]) Row(i int) []T {
	if uint(i) >= uint(m.Rows) {
		panic(fmt.Errorf("%w: row %d of a %dx%d matrix", ErrShape, i, m.Rows, m.Cols))
	}
	if m.Cols == 0 { // whatever the stride, there need not be data
		return nil
	}
	return m.Data[i*m.Stride : i*m.Stride+m.Cols : i*m.Stride+m.Cols]
}

// Slice is the part of rows i to k-1 and columns j to l-1. It shares memory with m. It panics
// unless 0 <= i <= k <= Rows and 0 <= j <= l <= Cols.
func (m Matrix[T]) Slice(i, k, j, l int) Matrix[T] {
	checkSlice(i, k, j, l, m.Rows, m.Cols)
	part := Matrix[T]{Rows: k - i, Cols: l - j, Stride: m.Stride}
	if n := strided.Span(part.Rows, part.Cols, part.Stride); n > 0 {
		part.Data = m.Data[i*m.Stride+j:][:n]
	}
	return part
}

func checkSlice(i, k, j, l, rows, cols int) {
	if i < 0 || k < i || rows < k || j < 0 || l < j || cols < l {
		panic(fmt.Errorf("%w: rows %d to %d and columns %d to %d of a %dx%d matrix", ErrShape, i, k, j, l, rows, cols))
	}
}

// Packed is a copy of m without gaps between its rows.
func (m Matrix[T]) Packed() Matrix[T] {
	p := NewMatrix[T](m.Rows, m.Cols, nil)
	for i := range m.Rows {
		copy(p.Row(i), m.Row(i))
	}
	return p
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

// copyElements copies src to dst, which has its shape.
func copyElements[T Element](dst, src Matrix[T]) {
	host.CopyMatrix(src.Rows, src.Cols, src.Data, src.Stride, dst.Data, dst.Stride)
}

// FromDense is d as a Matrix. They share memory.
func FromDense(d *mat.Dense) Matrix[float64] {
	g := d.RawMatrix()
	return Matrix[float64]{Rows: g.Rows, Cols: g.Cols, Stride: g.Stride, Data: g.Data}
}

// ToDense is m as gonum's Dense. They share memory. A matrix without elements gives an empty Dense,
// since gonum has no others.
func ToDense(m Matrix[float64]) *mat.Dense {
	var d mat.Dense
	if m.Rows > 0 && m.Cols > 0 {
		d.SetRawMatrix(blas64.General{Rows: m.Rows, Cols: m.Cols, Stride: m.Stride, Data: m.Data})
	}
	return &d
}

// FromGeneral is g as a Matrix. They share memory.
func FromGeneral(g blas32.General) Matrix[float32] {
	return Matrix[float32]{Rows: g.Rows, Cols: g.Cols, Stride: g.Stride, Data: g.Data}
}

// ToGeneral is m as gonum's float32 matrix. They share memory.
func ToGeneral(m Matrix[float32]) blas32.General {
	return blas32.General{Rows: m.Rows, Cols: m.Cols, Stride: m.Stride, Data: m.Data}
}

package linalg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/strided"
	"github.com/tandem-gpu/tandem/kernels"
)

// An Array is a dense row-major matrix on the device of its session: element (i, j) lies Offset +
// i*Stride + j elements into its buffer.
//
// Elements are of any type without pointers, as kernels written in Go have them: numbers of every
// size, complex ones too, bool, [Float16] and [BFloat16], and structs and arrays of these, as Go
// lays them out. NewArray and the like are backend.ErrArgument for others. Methods that compute
// take the [Element] types, and are backend.ErrUnsupported for others.
//
// Methods that compute make the receiver the destination; they enqueue the work and return. Those
// that copy from or to host memory block. Commands of one session run in the order of the calls.
// The arrays of one call belong to one session.
type Array[T any] struct{ array }

// An array is an Array whose type of elements is a value. Its methods are compiled once, here;
// those of Array are compiled by every package that uses it, for each type.
type array struct {
	s                  *Session
	buf                *backend.Buffer
	rows, cols, stride int
	off                int // elements
	view               bool
	elem               reflect.Type
}

// untyped is the array of a, nil of nil.
func (a *Array[T]) untyped() *array {
	if a == nil {
		return nil
	}
	return &a.array
}

// NewArray makes a packed rows by cols array of zeros: Numba's device_array, with the contents
// defined.
func NewArray[T any](s *Session, rows, cols int) (*Array[T], error) {
	a, err := newArray(s, rows, cols, reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	return &Array[T]{a}, nil
}

func newArray(s *Session, rows, cols int, elem reflect.Type) (a array, err error) {
	buf, err := newBuffer(s, rows, cols, elem)
	return array{s: s, buf: buf, rows: rows, cols: cols, stride: cols, elem: elem}, err
}

// newBuffer is memory for rows by cols elements.
func newBuffer(s *Session, rows, cols int, elem reflect.Type) (*backend.Buffer, error) {
	size, err := arraySize(s, rows, cols, elem)
	if err != nil {
		return nil, err
	}
	return s.device.Alloc(size)
}

// arraySize is the bytes of an array of s that can be.
func arraySize(s *Session, rows, cols int, elem reflect.Type) (int64, error) {
	if err := s.open(); err != nil {
		return 0, err
	}
	if err := storable(elem); err != nil {
		return 0, err
	}
	n, err := elements(rows, cols)
	if err != nil {
		return 0, err
	}
	return byteSize(n, elem)
}

// byteSize is n elements of type t in bytes. The error matches backend.ErrOutOfMemory.
func byteSize(n int, t reflect.Type) (int64, error) {
	size := int64(t.Size())
	if int64(n) > math.MaxInt64/size {
		return 0, fmt.Errorf("linalg: %d elements of %v: %w", n, t, backend.ErrOutOfMemory)
	}
	return int64(n) * size, nil
}

// Upload copies m to the device: Numba's to_device. The array is packed, whatever m's stride.
func Upload[T any](s *Session, m Matrix[T]) (*Array[T], error) {
	if err := m.check("the matrix"); err != nil {
		return nil, err
	}
	a, err := NewArray[T](s, m.Rows, m.Cols)
	if err != nil {
		return nil, err
	}
	if err := a.CopyFrom(m); err != nil {
		a.Free()
		return nil, err
	}
	return a, nil
}

// Register makes an array of m's own memory, without a copy, where the device can reach the host's
// memory, and is backend.ErrUnsupported elsewhere: Numba's roc.register. On a GPU with memory of
// its own each access crosses the bus. While the array lives, the host may touch m only after Wait,
// and before it enqueues more. Free ends it. The memory of two registered matrices must not
// overlap, nor share a page on CUDA.
func Register[T any](s *Session, m Matrix[T]) (*Array[T], error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	if err := storable(reflect.TypeFor[T]()); err != nil {
		return nil, err
	}
	if err := m.check("the matrix"); err != nil {
		return nil, err
	}
	mem := m.bytes()
	if len(mem) == 0 {
		return NewArray[T](s, m.Rows, m.Cols)
	}
	buf, err := s.device.Register(mem)
	if err != nil {
		return nil, err
	}
	stride := min(m.Stride, len(m.Data)) // that of a single row may be anything
	return &Array[T]{array{
		s: s, buf: buf, rows: m.Rows, cols: m.Cols, stride: stride, elem: reflect.TypeFor[T](),
	}}, nil
}

// Err is why the array could not be made, for those of package array/np, which returns arrays and
// no errors; nil of one that was made. It does not wait: what happens on the device later is an
// error of [Session.Wait], and of copies to the host.
func (a *Array[T]) Err() error { return a.failure() }

// failure is why there is no array, nil where there is one.
func (a *array) failure() error {
	if a.s == nil {
		return errArgument("an Array that nothing has made")
	}
	return a.s.failed
}

// Dims is the number of rows and columns.
func (a *Array[T]) Dims() (rows, cols int) { return a.rows, a.cols }

// Stride is the distance in elements from one row to the next.
func (a *Array[T]) Stride() int { return a.stride }

// Offset is the position in elements of element (0, 0) in the buffer. It is 0 but for a Slice.
func (a *Array[T]) Offset() int { return a.off }

// Buffer is the memory of the array, from the start of the array that it is a Slice of. A kernel
// that takes it of a Slice needs Offset as an argument of its own.
func (a *Array[T]) Buffer() *backend.Buffer { return a.buf }

// asOperand is the array as the argument helpers of package kernels take it.
func (a *array) asOperand() kernels.Operand {
	return kernels.Operand{Buffer: a.buf, Offset: int64(a.off), Stride: int64(a.stride)}
}

// Session is the session that the array belongs to.
func (a *Array[T]) Session() *Session { return a.s }

// Slice is the part of rows i to k-1 and columns j to l-1, without a copy. It ends with the array
// that it is a part of. It panics unless 0 <= i <= k <= rows and 0 <= j <= l <= cols, as gonum's
// Dense.Slice does. As an argument of a kernel of the user's own its first element must lie at a
// multiple of Info.OffsetAlign bytes; every method takes any.
func (a *Array[T]) Slice(i, k, j, l int) *Array[T] { return &Array[T]{a.slice(i, k, j, l)} }

func (a *array) slice(i, k, j, l int) array {
	if a.failure() != nil {
		return *a
	}
	checkSlice(i, k, j, l, a.rows, a.cols)
	part := *a
	part.rows, part.cols, part.off, part.view = k-i, l-j, a.off+i*a.stride+j, true
	return part
}

// Reshape is the array with its elements in rows by cols, in the order that they have by rows,
// without a copy. It ends with the array that it is of. Where the stride is more than the columns,
// or the numbers of elements differ, it is ErrShape.
func (a *Array[T]) Reshape(rows, cols int) (*Array[T], error) {
	r, err := a.reshape(rows, cols)
	if err != nil {
		return nil, err
	}
	return &Array[T]{r}, nil
}

func (a *array) reshape(rows, cols int) (r array, err error) {
	n, err := elements(rows, cols)
	if err = cmp.Or(a.failure(), err); err != nil {
		return r, err
	}
	if n != a.rows*a.cols || a.rows > 1 && a.stride != a.cols {
		return r, fmt.Errorf("%w: %s with stride %d as %dx%d: the array must be packed, and have as many elements",
			ErrShape, a.describe(), a.stride, rows, cols)
	}
	r = *a
	r.rows, r.cols, r.stride, r.view = rows, cols, cols, true
	return r, nil
}

// Free releases the memory, once the commands that use it are done. It is idempotent, and does
// nothing for a Slice.
func (a *Array[T]) Free() error {
	if a.view || a.buf == nil {
		return nil
	}
	return a.buf.Free()
}

// describe is the shape, type and place, for messages.
func (a *array) describe() string {
	return fmt.Sprintf("%dx%d %v on %s", a.rows, a.cols, a.elem, a.s.info.Name)
}

// arg passes the address of the array's first element.
func (a *array) arg(s *Session) (backend.Arg, error) {
	switch {
	case a == nil || a.s == nil:
		return backend.Arg{}, fmt.Errorf("%w: it is a nil array", backend.ErrArgument)
	case a.s != s:
		err := fmt.Errorf("%w: %s belongs to another session", backend.ErrArgument, a.describe())
		return backend.Arg{}, cmp.Or(a.s.failed, err)
	}
	return backend.Arg{Buffer: a.buf, Offset: a.bytes(a.off), Type: elementName(a.elem)}, nil
}

func (a *array) bytes(elements int) int64 { return int64(elements) * int64(a.elem.Size()) }

// CopyFrom copies m, of the same shape, into the array. It blocks until m may be reused.
func (a *Array[T]) CopyFrom(m Matrix[T]) error {
	if err := a.checkCopy(m.untyped(), "the source"); err != nil {
		return err
	}
	return a.copyBytesFrom(context.Background(), m.byRows())
}

// CopyTo copies the array into m, of the same shape, after the commands enqueued before. It blocks
// until m is filled. Elements of m.Data beyond its columns stay as they are.
func (a *Array[T]) CopyTo(m Matrix[T]) error {
	if err := a.checkCopy(m.untyped(), "the destination"); err != nil {
		return err
	}
	return a.copyBytesTo(context.Background(), m.byRows())
}

// Download copies the array to a new matrix in host memory, after the commands enqueued before:
// Numba's copy_to_host.
func (a *Array[T]) Download() (Matrix[T], error) {
	m, err := newResultOn[T](a.s, a.rows, a.cols)
	if err == nil {
		err = a.CopyTo(m)
	}
	if err != nil {
		return Matrix[T]{}, err
	}
	return m, nil
}

// At is element (i, j), after the commands enqueued before. It blocks, for as long as a Download
// takes to begin. It panics outside the array.
func (a *Array[T]) At(i, j int) (v T, err error) {
	m := NewMatrix[T](1, 1, nil)
	err = a.Slice(i, i+1, j, j+1).CopyTo(m)
	return m.Data[0], err
}

// Set makes v element (i, j), after the commands enqueued before. It blocks until v is copied. It
// panics outside the array.
func (a *Array[T]) Set(i, j int, v T) error {
	return a.Slice(i, i+1, j, j+1).CopyFrom(NewMatrix(1, 1, []T{v}))
}

// chunkBytes is how much one copy moves at most, so that a copy can be cancelled and staging memory
// stays small. Tests make it small.
var chunkBytes int64 = 32 << 20

// A rowsOfBytes is a matrix in the host's memory, as bytes.
type rowsOfBytes struct {
	data          []byte
	width, stride int
}

func (m rowsOfBytes) row(i int) []byte { return m.data[i*m.stride:][:m.width:m.width] }

// part is rows i to k-1, of which there is one at least.
func (m rowsOfBytes) part(i, k int) []byte { return m.data[i*m.stride : (k-1)*m.stride+m.width] }

// byRows is m as bytes.
func (m Matrix[T]) byRows() rowsOfBytes {
	size := int(unsafe.Sizeof(*new(T)))
	return rowsOfBytes{m.bytes(), m.Cols * size, m.Stride * size}
}

func (a *array) copyBytesFrom(ctx context.Context, m rowsOfBytes) error {
	var staging []byte
	return a.chunks(ctx, func(i, k int) error {
		if a.stride != a.cols && k-i > 1 {
			return a.writeRows(i, k, m)
		}
		part := m.part(i, k)
		if m.stride != m.width {
			if staging == nil {
				staging = make([]byte, (k-i)*m.width)
			}
			part = staging[:(k-i)*m.width]
			for r := i; r < k; r++ {
				copy(part[(r-i)*m.width:], m.row(r))
			}
		}
		return a.s.queue.Write(a.buf, a.bytes(a.off+i*a.stride), part)
	})
}

// rowBytes is what a device moves, other than cpu, in the time that a copy takes to begin: it may
// as well move that much more.
const rowBytes = 32 << 10

// writeRows copies rows i to k-1 of m, with the gaps between them left alone. Many rows of words
// are one copy to memory of their own, and a kernel that moves them.
func (a *array) writeRows(i, k int, m rowsOfBytes) error {
	if k-i >= 16 && a.bytes(a.cols) < rowBytes && a.bytes(1)%4 == 0 && !a.s.info.Host {
		packed, err := newArray(a.s, k-i, a.cols, a.elem)
		if err == nil {
			defer packed.buf.Free()
			rows := rowsOfBytes{m.part(i, k), m.width, m.stride}
			if err := packed.copyBytesFrom(context.Background(), rows); err != nil {
				return err
			}
			to := a.slice(i, k, 0, a.cols)
			return to.words().elementwise(kernels.Scale, 1, packed.words())
		}
		if !errors.Is(err, backend.ErrOutOfMemory) {
			return err
		}
	}
	for r := i; r < k; r++ {
		if err := a.s.queue.Write(a.buf, a.bytes(a.off+r*a.stride), m.row(r)); err != nil {
			return err
		}
	}
	return nil
}

// words is the array with its elements as 32-bit integers, of which they must be whole numbers.
func (a *array) words() *array {
	w, n := *a, int(a.bytes(1)/4)
	w.cols, w.stride, w.off, w.elem = a.cols*n, a.stride*n, a.off*n, reflect.TypeFor[int32]()
	return &w
}

func (a *array) copyBytesTo(ctx context.Context, m rowsOfBytes) error {
	most := int64(rowBytes) // of a gap that is copied with its row
	if a.s.info.Host {
		most = a.bytes(a.cols)
	}
	var staging []byte
	return a.chunks(ctx, func(i, k int) error {
		at := a.bytes(a.off + i*a.stride)
		switch {
		case a.bytes(a.stride-a.cols) > most && k-i > 1:
			for r := i; r < k; r++ {
				if err := a.s.queue.Read(m.row(r), a.buf, a.bytes(a.off+r*a.stride)); err != nil {
					return err
				}
			}
			return nil
		case a.stride == a.cols && m.stride == m.width:
			return a.s.queue.Read(m.part(i, k), a.buf, at)
		}
		stride := int(a.bytes(a.stride))
		if staging == nil {
			staging = make([]byte, a.bytes(strided.Span(k-i, a.cols, a.stride)))
		}
		rows := rowsOfBytes{staging, m.width, stride}
		if err := a.s.queue.Read(rows.part(0, k-i), a.buf, at); err != nil {
			return err
		}
		for r := i; r < k; r++ {
			copy(m.row(r), rows.row(r-i))
		}
		return nil
	})
}

func (a *array) checkCopy(m matrix, name string) error {
	if err := a.s.open(); err != nil {
		return err
	}
	if err := m.check(name); err != nil {
		return err
	}
	if m.rows != a.rows || m.cols != a.cols {
		return fmt.Errorf("%w: %s is %s, the array %s", ErrShape, name, m, a.describe())
	}
	return nil
}

// chunks calls f with ranges of rows of bounded size, and looks at ctx between them.
func (a *array) chunks(ctx context.Context, f func(i, k int) error) error {
	if a.rows == 0 || a.cols == 0 {
		return context.Cause(ctx)
	}
	step := max(1, int(chunkBytes/a.bytes(a.stride)))
	for i := 0; i < a.rows; i += step {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := f(i, min(a.rows, i+step)); err != nil {
			return err
		}
	}
	return nil
}

// checkOperands checks that the arrays exist, belong to one open session, and have a type that the
// device keeps the contract in, which it gives.
func (c *array) checkOperands(op string, operands ...*array) (t element.Type, err error) {
	for _, a := range operands {
		if a == nil || a.s == nil || c.s == nil {
			return 0, nilArray(op)
		}
		if a.s != c.s {
			return 0, cmp.Or(c.s.failed, a.s.failed, errArgument(
				op+": the arrays belong to different sessions; Download and Upload move one"))
		}
	}
	if err := c.s.open(); err != nil {
		return 0, err
	}
	if t, err = arithmetic(op, c.elem); err != nil {
		return 0, err
	}
	return t, c.s.supports(t)
}

// arithmetic is the type of an operation on arrays of elements of type t. The error matches
// backend.ErrUnsupported.
func arithmetic(op string, t reflect.Type) (element.Type, error) {
	n, ok := element.NumberOf(t)
	if !ok {
		return 0, backend.Failure("", "linalg", backend.ErrUnsupported,
			"%s of arrays of %v: only %v have arithmetic; other elements are for kernels of one's own", op, t,
			element.Types())
	}
	return n, nil
}

func nilArray(op string) error {
	return errArgument(op + " of a nil array")
}

func (c *array) overlaps(a *array) bool {
	return c.buf == a.buf && strided.Overlap(c.rows, c.cols, c.stride, a.off-c.off, a.rows, a.cols, a.stride)
}

package linalg

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/internal/strided"
)

// ErrNPY: what is read is not a .npy file, is damaged or cut off, or holds something else than a
// matrix of the type that is asked for.
var ErrNPY = npy.Err

// streamBytes is how much of a stream is in host memory at a time. Tests make it small.
var streamBytes int64 = 4 << 20

// ReadNPY makes an array on the device of the .npy file that r begins with, as numpy.save writes
// it. It takes numbers ('f4', 'f2', 'i1', 'u8', 'c16' and so on) and bool ('b1'), each only as what
// it is, in both byte orders; of bool every byte but 0 is true. An array of one dimension becomes a
// single row, one of none a single element. Data in Fortran order are transposed on the device,
// which needs memory for both until that is done, or on the host where there is no arithmetic in
// the type.
//
// The data go through a few megabytes of host memory, and r is read up to their end and no further,
// so that another array may follow. The device's memory grows with what arrives: at most 16 times
// as much is taken as has come, and copies on the way take a 16th more. A header that asks for more
// than the device's largest buffer is backend.ErrOutOfMemory before any data are read.
//
// It blocks until everything is on the device. The error matches ErrNPY, io.ErrUnexpectedEOF as
// well where the file is cut off, or is r's or the device's own. After an error nothing stays on
// the device.
func ReadNPY[T any](s *Session, r io.Reader) (a *Array[T], err error) {
	unchanged := npy.Watch(r)
	defer func() {
		if e := npy.Named(unchanged()); err == nil && e != nil {
			a, err = nil, cmp.Or(e, a.Free())
		}
	}()
	h, err := npy.ReadAnyHeader(r)
	if err == nil {
		err = checkType[T](h)
	}
	if err != nil {
		return nil, npy.Named(err)
	}
	rows, cols := h.Dims()
	if h.Fortran && rows > 1 && cols > 1 {
		a, err := readNew[T](s, r, cols, rows, h.Order())
		if err != nil {
			return nil, err
		}
		return transposeNew(a)
	}
	return readNew[T](s, r, rows, cols, h.Order())
}

// checkType refuses a file of another type.
func checkType[T any](h *npy.Header) error {
	want, err := numPyType[T]()
	if err != nil {
		return err
	}
	return h.CheckType(want)
}

// numPyType is the type of T, which NumPy has as well, or an error that matches ErrUnsupported.
func numPyType[T any]() (element.Type, error) {
	t, ok := element.Of[T]()
	if !ok || t.NumPy() == "" {
		return 0, backend.Failure("", "linalg", backend.ErrUnsupported,
			"NumPy's files have no elements of type %T: give a type with a size, as int32 or int64", *new(T))
	}
	return t, nil
}

// readNew makes an array of what r holds.
func readNew[T any](s *Session, r io.Reader, rows, cols int, order binary.ByteOrder) (*Array[T], error) {
	size, err := arraySize(s, rows, cols, reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	if size > s.info.MaxAlloc {
		return nil, backend.Failure(s.info.Driver, "linalg", backend.ErrOutOfMemory,
			"an array of %dx%d %v: %s takes at most %d bytes in one buffer", rows, cols, reflect.TypeFor[T](),
			s.info.Name, s.info.MaxAlloc)
	}
	a, err := NewArray[T](s, 0, 0)
	if err != nil {
		return nil, err
	}
	a.rows, a.cols, a.stride = rows, cols, cols
	if err := a.read(r, order); err != nil {
		a.Free()
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: the file is cut off: %w", ErrNPY, err)
		}
		return nil, err
	}
	return a, nil
}

// hold makes room in a packed array for its first n elements, which have come.
func (a *array) hold(n int) error {
	have := a.buf.Len()
	if a.bytes(n) <= have {
		return nil
	}
	buf, err := a.s.device.Alloc(a.bytes(npy.Room(n, a.rows*a.cols)))
	if err != nil {
		return err
	}
	err = a.s.queue.Copy(buf, 0, a.buf, 0, have)
	err = cmp.Or(err, a.buf.Free())
	a.buf = buf
	return err
}

// transposeNew is the transpose of a, in whose place it comes.
func transposeNew[T any](a *Array[T]) (*Array[T], error) {
	t, err := NewArray[T](a.s, a.cols, a.rows)
	if err == nil {
		err = t.transposeAny(a)
	}
	if err == nil {
		err = a.s.Wait()
	}
	err = cmp.Or(err, a.Free())
	if err != nil && t != nil {
		t.Free()
		t = nil
	}
	return t, err
}

// transposeAny is Transpose, on the host where the device has no kernel for the type.
func (c *Array[T]) transposeAny(a *Array[T]) error {
	if _, err := arithmetic("Transpose", c.elem); err == nil {
		return c.Transpose(a)
	}
	from, err := a.Download()
	if err != nil {
		return err
	}
	to := NewMatrix[T](c.rows, c.cols, nil)
	for i := range to.Rows {
		for j := range to.Row(i) {
			to.Data[i*to.Stride+j] = from.Data[j*from.Stride+i]
		}
	}
	return c.CopyFrom(to)
}

// WriteNPY writes the array to w as a .npy file of two dimensions: byte for byte what numpy.save
// writes for a C-ordered, little-endian array. The data go through a few megabytes of host memory.
// It blocks until everything is written; the error is w's or the device's own, or io.ErrShortWrite.
func (a *Array[T]) WriteNPY(w io.Writer) error {
	if err := a.s.open(); err != nil {
		return err
	}
	t, err := numPyType[T]()
	if err != nil {
		return err
	}
	if err := npy.WriteHeader(w, &npy.Header{Type: t, Shape: []int{a.rows, a.cols}}); err != nil {
		return err
	}
	return a.WriteRaw(w)
}

// ReadRaw fills the array with the elements that r begins with: row after row without gaps,
// little-endian, and of bool every byte but 0 as true. It reads as many bytes as they have, through
// a few megabytes of host memory, and blocks until all are on the device. Where r ends before, the
// error matches io.ErrUnexpectedEOF. After an error the array's elements are undefined. Where the
// array is a Slice, what lies between its rows stays as it is.
func (a *Array[T]) ReadRaw(r io.Reader) error { return a.read(r, binary.LittleEndian) }

// WriteRaw writes the array's elements to w as ReadRaw reads them. It blocks until everything is
// written; the error is w's or the device's own, or io.ErrShortWrite.
func (a *Array[T]) WriteRaw(w io.Writer) error {
	return a.write(w, func(data []byte) { npy.Reorder(backend.Elems[T](data), binary.LittleEndian) })
}

// write is WriteRaw, where reorder swaps what has to be.
func (a *array) write(w io.Writer, reorder func(data []byte)) error {
	var memory []byte
	return a.pieces(func(part *array) error {
		m := room(&memory, part)
		if err := part.copyBytesTo(context.Background(), m); err != nil {
			return err
		}
		reorder(m.data)
		return npy.WriteFull(w, m.data)
	})
}

// read is ReadRaw of elements in any byte order. The memory of a packed array grows with what
// comes.
func (a *Array[T]) read(r io.Reader, order binary.ByteOrder) error {
	return a.readInOrder(r, func(data []byte) { npy.Reorder(backend.Elems[T](data), order) })
}

// readInOrder is read, where reorder swaps what has to be.
func (a *array) readInOrder(r io.Reader, reorder func(data []byte)) error {
	var memory []byte
	var done int64
	return a.pieces(func(part *array) error {
		m := room(&memory, part)
		n, err := io.ReadFull(r, m.data)
		done += int64(n)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return fmt.Errorf("linalg: %d bytes of data for %s, which has %d: %w", done, a.describe(),
				a.bytes(a.rows*a.cols), io.ErrUnexpectedEOF)
		}
		if err != nil {
			return err
		}
		reorder(m.data)
		if a.elem.Kind() == reflect.Bool { // Go and the kernels know 0 and 1 alone
			for i, b := range m.data {
				m.data[i] = min(b, 1)
			}
		}
		if err := a.hold(part.off + strided.Span(part.rows, part.cols, part.stride)); err != nil {
			return err
		}
		part.buf = a.buf
		return part.copyBytesFrom(context.Background(), m)
	})
}

// room is memory for a part of an array: the first part is the largest.
func room(memory *[]byte, part *array) rowsOfBytes {
	width := int(part.bytes(part.cols))
	if *memory == nil {
		*memory = make([]byte, part.rows*width)
	}
	return rowsOfBytes{(*memory)[:part.rows*width], width, width}
}

// pieces calls f for parts of bounded size, in the order of the elements. The first is the largest.
func (a *array) pieces(f func(part *array) error) error {
	if err := a.s.open(); err != nil {
		return err
	}
	if _, ok := element.OfReflected(a.elem); !ok {
		return backend.Failure("", "linalg", backend.ErrUnsupported,
			"a stream of %v: only numbers of a fixed size and bool are the same everywhere", a.elem)
	}
	if a.rows == 0 || a.cols == 0 {
		return nil
	}
	most := int(streamBytes / a.bytes(1))
	rows, cols := max(1, most/a.cols), min(a.cols, most)
	for i := 0; i < a.rows; i += rows {
		for j := 0; j < a.cols; j += cols {
			part := a.slice(i, min(a.rows, i+rows), j, min(a.cols, j+cols))
			if err := f(&part); err != nil {
				return err
			}
		}
	}
	return nil
}

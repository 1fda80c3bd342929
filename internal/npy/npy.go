// Package npy reads and writes NumPy's .npy files: arrays of float32, float64 and int32, of up to
// two dimensions; headers and byte orders of all types that NumPy shares with Go, and of float16.
// It reads both byte orders, C and Fortran order, from files and from streams, and makes room for
// what has come, not for what a header claims. What it writes is, byte for byte, what numpy.save
// does.
package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
)

// Room is how many elements a reader makes room for when need of all have come: at most 16 times as
// many, so that a header which promises what does not come costs little. The steps end with all, so
// that the last copy, and the memory for both, is of a 16th at most.
func Room(need, all int) int {
	room := all
	for room/16 >= max(1, need) {
		room /= 16
	}
	return room
}

// Watch notes what a regular file is before it is read. unchanged gives an error that matches
// ErrFormat where the file has another size or time of change then, and so what was read may be a
// mixture. Of all that is no such file it gives none.
func Watch(r any) (unchanged func() error) {
	f, ok := r.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return func() error { return nil }
	}
	before, err := f.Stat()
	return func() error {
		if err != nil || !before.Mode().IsRegular() {
			return err
		}
		now, err := f.Stat()
		if err == nil && (now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime())) {
			err = errorf("%s has changed while it was read", before.Name())
		}
		return err
	}
}

// piece is how many elements are read or written at a time.
const piece = 256 << 10

// Read reads the rest of r, whose header was read and has the type of T: the elements row by row.
// Those of float16 are read as float32, which has them all. The error matches ErrFormat where r
// holds less or more than the header says, or is r's own.
func Read[T element.Element](r io.Reader, h *Header) ([]T, error) {
	rows, cols := h.Dims()
	data := []T{}
	for n := rows * cols; len(data) < n; {
		have := len(data)
		if have == cap(data) {
			data = append(make([]T, 0, Room(have+1, n)), data...)
		}
		data = data[:min(cap(data), have+piece)]
		got, err := io.ReadFull(r, raw(data[have:], h))
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil, errorf("it is truncated: its header promises %d bytes of data and it has %d", h.Size(),
				have*h.Type.Size()+got)
		}
		if err != nil {
			return nil, err
		}
		settle(data[have:], h)
	}
	switch _, err := io.ReadFull(r, make([]byte, 1)); {
	case err == nil:
		return nil, errMore(h)
	case err != io.EOF:
		return nil, err
	}
	if h.columns() {
		data = transposed(data, cols, rows)
	}
	return data, nil
}

func errMore(h *Header) error {
	return errorf("more follows after the %d bytes of data that its header promises", h.Size())
}

// Write writes a file of the elements of data, which come row by row: in the order and the byte
// order of h. The type of h is that of data, its shape has as many elements. The error is w's own,
// or io.ErrShortWrite.
func Write[T element.Element](w io.Writer, h *Header, data []T) error {
	if err := WriteHeader(w, h); err != nil {
		return err
	}
	if h.columns() {
		rows, cols := h.Dims()
		data = transposed(data, rows, cols)
	}
	var buf []T
	for part := range slices.Chunk(data, piece) {
		buf = append(buf[:0], part...)
		Reorder(buf, h.Order())
		if err := WriteFull(w, backend.Bytes(buf)); err != nil {
			return err
		}
	}
	return nil
}

// WriteFull writes all of b. A writer that takes less without an error has the error
// io.ErrShortWrite.
func WriteFull(w io.Writer, b []byte) error {
	_, err := bytes.NewReader(b).WriteTo(w)
	return err
}

// Reorder brings elements, which are numbers, from a byte order into the machine's own, or back.
func Reorder[T any](x []T, order binary.ByteOrder) {
	if order.Uint16([]byte{1, 2}) == binary.NativeEndian.Uint16([]byte{1, 2}) {
		return
	}
	size := int(unsafe.Sizeof(*new(T)))
	switch any(*new(T)).(type) {
	case complex64, complex128: // two numbers
		size /= 2
	}
	for e := range slices.Chunk(backend.Bytes(x), size) {
		slices.Reverse(e)
	}
}

// raw is the bytes that elements have in a file of h, at the beginning of their own.
func raw[T element.Element](x []T, h *Header) []byte {
	return backend.Bytes(x)[:len(x)*h.Type.Size()]
}

// settle makes x the elements whose bytes in a file of h were read into raw.
func settle[T element.Element](x []T, h *Header) {
	numbers, ok := any(x).([]float32)
	if !ok || h.Type != element.Half {
		Reorder(x, h.Order())
		return
	}
	halves := backend.Elems[element.Float16](raw(x, h))
	Reorder(halves, h.Order())
	for i := len(x) - 1; i >= 0; i-- { // the last first, as it goes where no other lies
		numbers[i] = halves[i].Float32()
	}
}

// transposed is the transpose of a packed rows by cols matrix.
func transposed[T element.Element](src []T, rows, cols int) []T {
	dst := make([]T, len(src))
	host.Transpose(rows, cols, src, cols, dst, rows)
	return dst
}

// Target is the file that writing to path would write: symbolic links are followed, those as well
// whose end is not there yet.
func Target(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path // a link to a pipe, as in /proc, or a ring of links
	}
	for {
		target, err := os.Readlink(path)
		if err != nil {
			return path
		}
		if !filepath.IsAbs(target) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return path
			}
			target = filepath.Join(dir, target)
		}
		path = target
	}
}

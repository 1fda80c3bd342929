// Package npy reads and writes matrices as NumPy's .npy files: float32, float64 and int32, of one or two dimensions.
//
// Files are read with github.com/kshedden/gonpy, which knows both byte orders and gives the header's fields and the data as a plain slice. (Its
// neighbour github.com/sbinet/npyio fills up a truncated file with zeros in silence, reads one element at a time, and cannot write a two-dimensional
// slice.) Since gonpy trusts its input, package header looks at a header first: gonpy panics on some damaged ones, takes a short read of the header for
// a whole one, does not know format 3.0, and allocates what the shape claims. Writing is done here: gonpy ends a header without the newline that the
// format asks for, and aligns the data to 16 bytes, not 64. What this package writes is, byte for byte, what numpy.save does.
package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kshedden/gonpy"

	"github.com/tandem-gpu/tandem/internal/npy/header"
	"github.com/tandem-gpu/tandem/linalg"
)

// What a file may be that cannot be read: see package header.
var (
	ErrFormat = header.ErrFormat
	ErrType   = header.ErrType
	ErrDims   = header.ErrDims
)

// An Array is what a file holds.
type Array struct {
	// Shape is the shape in the file: one or two dimensions.
	Shape []int
	// Matrix is a linalg.Matrix[float32], [float64] or [int32], packed. An array of one dimension is a single row.
	Matrix any
}

// Type is NumPy's name of the element type: "float32", "float64" or "int32".
func (a *Array) Type() string {
	switch a.Matrix.(type) {
	case linalg.Matrix[float32]:
		return "float32"
	case linalg.Matrix[float64]:
		return "float64"
	}
	return "int32"
}

// ReadFile reads a file. The error names it.
func ReadFile(path string) (*Array, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int64(-1)
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	a, err := Read(f, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// Read reads all of r, which holds size bytes, or an unknown number where size is negative. Only what r really holds is allocated,
// whatever the header claims. The error matches ErrFormat, ErrType or ErrDims, or is r's own.
func Read(r io.Reader, size int64) (*Array, error) {
	h, err := header.Read(r)
	if err != nil {
		return nil, err
	}
	need, err := h.Size()
	if err != nil {
		return nil, err
	}
	if r, err = holding(r, need, size-int64(len(h.Raw))); err != nil {
		return nil, err
	}
	a := &Array{Shape: h.Shape}
	g, err := gonpy.NewReader(io.MultiReader(bytes.NewReader(h.Raw), r))
	if err != nil {
		return nil, header.Errorf("%s", strings.TrimSpace(err.Error()))
	}
	switch h.Type {
	case "f4":
		a.Matrix, err = matrix(g, g.GetFloat32)
	case "f8":
		a.Matrix, err = matrix(g, g.GetFloat64)
	default:
		a.Matrix, err = matrix(g, g.GetInt32)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// holding checks that r holds need more bytes and nothing else; have is how many it holds, if that is known. Of an r of unknown length it reads
// all, in steps that end with it.
func holding(r io.Reader, need, have int64) (io.Reader, error) {
	if have < 0 {
		var data bytes.Buffer
		n, err := data.ReadFrom(io.LimitReader(r, need))
		if err != nil {
			return nil, err
		}
		have = n
		if n == need {
			extra, err := io.CopyN(io.Discard, r, 1)
			if err != nil && err != io.EOF {
				return nil, err
			}
			have += extra
		}
		r = &data
	}
	switch {
	case have < need:
		return nil, header.Errorf("it is truncated: its header promises %d bytes of data and it has %d", need, have)
	case have > need:
		return nil, header.Errorf("more follows after the %d bytes of data that its header promises", need)
	}
	return r, nil
}

// matrix is the data as get reads them, in row-major order.
func matrix[T linalg.Element](g *gonpy.NpyReader, get func() ([]T, error)) (linalg.Matrix[T], error) {
	rows, cols := 1, g.Shape[len(g.Shape)-1]
	if len(g.Shape) == 2 {
		rows = g.Shape[0]
	}
	data, err := get()
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) && rows != 0 && cols != 0 {
		return linalg.Matrix[T]{}, header.Errorf("it became shorter while it was read")
	}
	if err != nil && err != io.EOF {
		return linalg.Matrix[T]{}, err
	}
	if g.ColumnMajor && rows > 1 && cols > 1 {
		data = transposed(data, cols, rows)
	}
	return linalg.Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: data}, nil
}

// transposed is the transpose of a packed rows by cols matrix, made in squares that fit the cache.
func transposed[T linalg.Element](src []T, rows, cols int) []T {
	const side = 32
	dst := make([]T, len(src))
	for i0 := 0; i0 < rows; i0 += side {
		for j0 := 0; j0 < cols; j0 += side {
			for j := j0; j < min(cols, j0+side); j++ {
				for i := i0; i < min(rows, i0+side); i++ {
					dst[j*rows+i] = src[i*cols+j]
				}
			}
		}
	}
	return dst
}

// Write writes m as an array of the given shape, whose product is the number of m's elements: little-endian, in C order.
func Write[T linalg.Element](w io.Writer, shape []int, m linalg.Matrix[T]) error {
	if _, err := w.Write(header.Bytes(dtype[T](), shape)); err != nil {
		return err
	}
	if m.Stride != m.Cols {
		m = m.Packed()
	}
	const chunk = 256 << 10 // elements
	var buf []byte
	for data := m.Data[:m.Rows*m.Cols]; len(data) > 0; {
		n := min(chunk, len(data))
		var err error
		if buf, err = binary.Append(buf[:0], binary.LittleEndian, data[:n]); err != nil {
			return err
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func dtype[T linalg.Element]() string {
	var t T
	switch any(t).(type) {
	case float32:
		return "f4"
	case float64:
		return "f8"
	}
	return "i4"
}

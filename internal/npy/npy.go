// Package npy reads and writes matrices as NumPy's .npy files: float32, float64 and int32, of one or two dimensions.
//
// Files are read with github.com/kshedden/gonpy, which knows both byte orders and gives the header's fields and the data as a plain slice. (Its
// neighbour github.com/sbinet/npyio fills up a truncated file with zeros in silence, reads one element at a time, and cannot write a two-dimensional
// slice.) Since gonpy trusts its input, this package looks at a header first: gonpy panics on some damaged ones, takes a short read of the header for
// a whole one, does not know format 3.0, and allocates what the shape claims. Writing is done here: gonpy ends a header without the newline that the
// format asks for, and aligns the data to 16 bytes, not 64. What this package writes is, byte for byte, what numpy.save does.
package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"regexp"
	"strings"

	"github.com/kshedden/gonpy"

	"github.com/tandem-gpu/tandem/linalg"
)

var (
	// ErrFormat: the file is not a NumPy file, or it is damaged.
	ErrFormat = errors.New("not a whole .npy file")
	// ErrType: the elements are of a type that is not float32, float64 or int32.
	ErrType = errors.New("element type not supported")
	// ErrDims: the array has no dimensions, or more than two.
	ErrDims = errors.New("number of dimensions not supported")
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
	header, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	g, err := gonpy.NewReader(bytes.NewReader(header))
	if err != nil {
		return nil, headerError(err)
	}
	width, ok := map[string]int64{"f4": 4, "f8": 8, "i4": 4}[g.Dtype]
	if !ok {
		return nil, fmt.Errorf("%w: it is %q; there are float32 ('f4'), float64 ('f8') and int32 ('i4'): convert with numpy's astype", ErrType, g.Dtype)
	}
	if n := len(g.Shape); n != 1 && n != 2 {
		return nil, dimsError(n)
	}
	need, err := dataBytes(g.Shape, width)
	if err != nil {
		return nil, err
	}
	if r, err = holding(r, need, size-int64(len(header))); err != nil {
		return nil, err
	}
	a := &Array{Shape: g.Shape}
	// A second reader for the same header, in front of the data.
	if g, err = gonpy.NewReader(io.MultiReader(bytes.NewReader(header), r)); err != nil {
		return nil, headerError(err)
	}
	switch g.Dtype {
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

func formatError(format string, v ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, v...))
}

func headerError(err error) error { return formatError("%s", strings.TrimSpace(err.Error())) }

func dimsError(n int) error {
	if n == 0 {
		return fmt.Errorf("%w: the array is 0-dimensional, a single number; give it a shape with numpy's reshape(1, 1)", ErrDims)
	}
	return fmt.Errorf("%w: the array has %d dimensions; matrices have 2, vectors 1: reshape it", ErrDims, n)
}

// maxHeader is more than NumPy itself reads (10,000 bytes), and few enough to allocate on a damaged file's word.
const maxHeader = 64 << 10

const magic = "\x93NUMPY"

// readHeader reads the header, and returns it in a form that gonpy reads without failing: format 1.0 or 2.0, with the three fields that NumPy writes.
func readHeader(r io.Reader) ([]byte, error) {
	h := make([]byte, 10, 256)
	n, err := io.ReadFull(r, h)
	switch short := err == io.EOF || err == io.ErrUnexpectedEOF; {
	case err != nil && !short:
		return nil, err
	case !strings.HasPrefix(magic, string(h[:min(n, len(magic))])):
		return nil, formatError("it does not begin as one")
	case short:
		return nil, formatError("it ends within the header, after %d bytes", n)
	}
	major, minor := h[6], h[7]
	n = int(binary.LittleEndian.Uint16(h[8:]))
	switch {
	case major < 1 || major > 3 || minor != 0:
		return nil, formatError("format %d.%d is unknown; there are 1.0, 2.0 and 3.0", major, minor)
	case major > 1:
		h = append(h, 0, 0)
		if err := fill(r, h[10:]); err != nil {
			return nil, err
		}
		h[6] = 2 // 3.0 differs in the header's character set alone, and what is accepted below is ASCII
		if n32 := binary.LittleEndian.Uint32(h[8:]); n32 <= maxHeader {
			n = int(n32)
		} else {
			return nil, formatError("its header claims %d bytes", n32)
		}
	}
	start := len(h)
	h = append(h, make([]byte, n)...)
	if err := fill(r, h[start:]); err != nil {
		return nil, err
	}
	return h, checkFields(h[start:])
}

func fill(r io.Reader, b []byte) error {
	switch n, err := io.ReadFull(r, b); err {
	case nil:
		return nil
	case io.EOF, io.ErrUnexpectedEOF:
		return formatError("it ends within the header, %d bytes too early", len(b)-n)
	default:
		return err
	}
}

var (
	field  = `\s*(?:'descr':\s*'[<>=|][a-zA-Z0-9]+'|'fortran_order':\s*(?:True|False)|'shape':\s*\( *(?:[0-9]{1,18} *, *)*(?:[0-9]{1,18} *)?\))\s*`
	fields = regexp.MustCompile(`^\{` + field + `,` + field + `,` + field + `,?\s*\}\s*$`)
	other  = regexp.MustCompile(`^\{.*'descr':\s*(\[|'[<>=|][a-zA-Z0-9]+\[|\()`)
)

// checkFields lets pass what NumPy writes for an array of numbers.
func checkFields(text []byte) error {
	switch {
	case fields.Match(text):
		return nil
	case other.Match(text):
		return fmt.Errorf("%w: the array has a structured type or one of dates; save one field of it, or convert it with numpy's astype", ErrType)
	}
	return formatError("its header is not what NumPy writes: %.100q", bytes.TrimSpace(text))
}

// dataBytes is the size of the data. It fails where no machine could hold them.
func dataBytes(shape []int, width int64) (int64, error) {
	n := uint64(width)
	for _, d := range shape {
		if d == 0 {
			return 0, nil
		}
	}
	for _, d := range shape {
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > math.MaxInt64 {
			return 0, formatError("it claims the shape %s, which no memory holds", formatShape(shape))
		}
		n = lo
	}
	return int64(n), nil
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
		return nil, formatError("it is truncated: its header promises %d bytes of data and it has %d", need, have)
	case have > need:
		return nil, formatError("more follows after the %d bytes of data that its header promises", need)
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
		return linalg.Matrix[T]{}, formatError("it became shorter while it was read")
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
	if _, err := w.Write(header[T](shape)); err != nil {
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

// header is a header as numpy.save writes it: format 1.0, padded with spaces so that the data begin at a multiple of 64 bytes.
func header[T linalg.Element](shape []int) []byte {
	var t T
	dtype := "i4"
	switch any(t).(type) {
	case float32:
		dtype = "f4"
	case float64:
		dtype = "f8"
	}
	text := fmt.Sprintf("{'descr': '<%s', 'fortran_order': False, 'shape': %s, }", dtype, formatShape(shape))
	if len(shape) > 0 { // NumPy leaves room for the first dimension to grow to 21 digits
		text += strings.Repeat(" ", max(0, 21-len(fmt.Sprint(shape[0]))))
	}
	const before = len(magic) + 4 // version and length
	n := (before+len(text)+1+63)/64*64 - before
	h := append([]byte(magic), 1, 0)
	h = binary.LittleEndian.AppendUint16(h, uint16(n))
	return fmt.Appendf(h, "%-*s\n", n-1, text)
}

// formatShape is the shape as Python writes it: "(3, 4)", "(3,)", "()".
func formatShape(shape []int) string {
	s := strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ")
	if len(shape) == 1 {
		s += ","
	}
	return "(" + s + ")"
}

// Package header reads and writes the header of NumPy's .npy files, and says which arrays are matrices that Tandem has: float32, float64 and int32, of
// one or two dimensions.
package header

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
)

var (
	// ErrFormat: the file is not a NumPy file, or it is damaged.
	ErrFormat = errors.New("not a whole .npy file")
	// ErrType: the elements are of a type that is not float32, float64 or int32.
	ErrType = errors.New("element type not supported")
	// ErrDims: the array has no dimensions, or more than two.
	ErrDims = errors.New("number of dimensions not supported")
)

// A Header is what a header tells about the data that follow it.
type Header struct {
	// Type is NumPy's short name of the element type: "f4", "f8" or "i4".
	Type string
	// BigEndian tells the byte order of an element.
	BigEndian bool
	// Fortran tells that the data lie column by column.
	Fortran bool
	// Shape is one or two dimensions.
	Shape []int
	// Raw is the header's own bytes, in format 1.0 or 2.0.
	Raw []byte
}

// Bytes is the size of an element.
func (h *Header) Bytes() int { return int(h.Type[1] - '0') }

// Dims is the shape as a matrix: an array of one dimension is a single row.
func (h *Header) Dims() (rows, cols int) {
	if len(h.Shape) == 1 {
		return 1, h.Shape[0]
	}
	return h.Shape[0], h.Shape[1]
}

// Size is the number of bytes of the data. It fails with ErrFormat where no machine could hold them.
func (h *Header) Size() (int64, error) { return dataBytes(h.Shape, int64(h.Bytes())) }

// Read reads a header from r, and nothing behind it. The error matches ErrFormat, ErrType or ErrDims, or is r's own.
func Read(r io.Reader) (*Header, error) {
	raw, err := readRaw(r)
	if err != nil {
		return nil, err
	}
	text := raw[10:]
	if raw[6] == 2 {
		text = raw[12:]
	}
	h := &Header{Raw: raw, Fortran: bytes.Contains(text, []byte("True"))}
	descr := string(descrValue.FindSubmatch(text)[1])
	h.Type, h.BigEndian = descr[1:], descr[0] == '>'
	for _, d := range digits.FindAllString(string(shapeValue.FindSubmatch(text)[1]), -1) {
		n, err := strconv.Atoi(d)
		if err != nil {
			return nil, Errorf("it claims a dimension of %s", d)
		}
		h.Shape = append(h.Shape, n)
	}
	if h.Type != "f4" && h.Type != "f8" && h.Type != "i4" {
		return nil, fmt.Errorf("%w: it is %q; there are float32 ('f4'), float64 ('f8') and int32 ('i4'): convert with numpy's astype", ErrType, h.Type)
	}
	if n := len(h.Shape); n != 1 && n != 2 {
		return nil, dimsError(n)
	}
	return h, nil
}

var (
	descrValue = regexp.MustCompile(`'descr':\s*'([^']*)'`)
	shapeValue = regexp.MustCompile(`'shape':\s*\(([^)]*)\)`)
	digits     = regexp.MustCompile(`[0-9]+`)
)

// Errorf is an error that matches ErrFormat.
func Errorf(format string, v ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, v...))
}

func dimsError(n int) error {
	if n == 0 {
		return fmt.Errorf("%w: the array is 0-dimensional, a single number; give it a shape with numpy's reshape(1, 1)", ErrDims)
	}
	return fmt.Errorf("%w: the array has %d dimensions; matrices have 2, vectors 1: reshape it", ErrDims, n)
}

// maxHeader is more than NumPy itself reads (10,000 bytes), and few enough to allocate on a damaged file's word.
const maxHeader = 64 << 10

// Magic is how every file begins.
const Magic = "\x93NUMPY"

// readRaw reads the header, and returns it in a form that gonpy reads without failing: format 1.0 or 2.0, with the three fields that NumPy writes.
func readRaw(r io.Reader) ([]byte, error) {
	h := make([]byte, 10, 256)
	n, err := io.ReadFull(r, h)
	switch short := err == io.EOF || err == io.ErrUnexpectedEOF; {
	case err != nil && !short:
		return nil, err
	case !strings.HasPrefix(Magic, string(h[:min(n, len(Magic))])):
		return nil, Errorf("it does not begin as one")
	case short:
		return nil, Errorf("it ends within the header, after %d bytes", n)
	}
	major, minor := h[6], h[7]
	n = int(binary.LittleEndian.Uint16(h[8:]))
	switch {
	case major < 1 || major > 3 || minor != 0:
		return nil, Errorf("format %d.%d is unknown; there are 1.0, 2.0 and 3.0", major, minor)
	case major > 1:
		h = append(h, 0, 0)
		if err := fill(r, h[10:]); err != nil {
			return nil, err
		}
		h[6] = 2 // 3.0 differs in the header's character set alone, and what is accepted below is ASCII
		if n32 := binary.LittleEndian.Uint32(h[8:]); n32 <= maxHeader {
			n = int(n32)
		} else {
			return nil, Errorf("its header claims %d bytes", n32)
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
		return Errorf("it ends within the header, %d bytes too early", len(b)-n)
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
	return Errorf("its header is not what NumPy writes: %.100q", bytes.TrimSpace(text))
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
			return 0, Errorf("it claims the shape %s, which no memory holds", formatShape(shape))
		}
		n = lo
	}
	return int64(n), nil
}

// Bytes is a header as numpy.save writes it, for little-endian data in C order: format 1.0, padded with spaces so that the data begin at a multiple of
// 64 bytes. dtype is "f4", "f8" or "i4".
func Bytes(dtype string, shape []int) []byte {
	text := fmt.Sprintf("{'descr': '<%s', 'fortran_order': False, 'shape': %s, }", dtype, formatShape(shape))
	if len(shape) > 0 { // NumPy leaves room for the first dimension to grow to 21 digits
		text += strings.Repeat(" ", max(0, 21-len(fmt.Sprint(shape[0]))))
	}
	const before = len(Magic) + 4 // version and length
	n := (before+len(text)+1+63)/64*64 - before
	h := append([]byte(Magic), 1, 0)
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

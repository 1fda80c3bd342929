package npy

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

	"github.com/tandem-gpu/tandem/element"
)

// Err is what linalg calls the errors below.
var Err = errors.New("linalg: .npy")

var (
	// ErrFormat: the file is not a NumPy file, or it is damaged.
	ErrFormat = errors.New("not a whole .npy file")
	// ErrType: the elements are of a type that is not float32, float64 or int32.
	ErrType = errors.New("element type not supported")
	// ErrDims: the array has more than two dimensions.
	ErrDims = errors.New("number of dimensions not supported")
)

// Named makes an error about what a file holds match Err.
func Named(err error) error {
	if errors.Is(err, ErrFormat) || errors.Is(err, ErrType) || errors.Is(err, ErrDims) {
		return fmt.Errorf("%w: %w", Err, err)
	}
	return err
}

// CheckType is an error that matches Err where the file holds another type.
func (h *Header) CheckType(want element.Type) error {
	if h.Type == want {
		return nil
	}
	return fmt.Errorf("%w: the file holds %s, not %s: read it as that, or convert it with numpy's astype('%s')",
		Err, h.Type, want, strings.ToLower(want.String()))
}

// A Header is what a file tells about the data that follow it.
type Header struct {
	Type element.Type
	// BigEndian tells the byte order of an element.
	BigEndian bool
	// Fortran tells that the data lie column by column.
	Fortran bool
	// Shape is up to two dimensions: of a matrix two, of a vector one, of a number none.
	Shape []int
}

// Dims is the shape as a matrix: a vector is a single row, a number a single element.
func (h *Header) Dims() (rows, cols int) {
	switch len(h.Shape) {
	case 0:
		return 1, 1
	case 1:
		return 1, h.Shape[0]
	}
	return h.Shape[0], h.Shape[1]
}

// Size is the number of bytes of the data, or the most that there can be where they are more.
func (h *Header) Size() int64 {
	rows, cols := h.Dims()
	if float64(rows)*float64(cols)*float64(h.Type.Size()) >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(rows) * int64(cols) * int64(h.Type.Size())
}

// Order is the byte order of the data.
func (h *Header) Order() binary.ByteOrder {
	if h.BigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// columns tells whether the order of the elements differs from that of the rows.
func (h *Header) columns() bool {
	rows, cols := h.Dims()
	return h.Fortran && rows > 1 && cols > 1
}

const (
	magic = "\x93NUMPY"
	// maxHeader is more than NumPy itself reads (10,000 bytes), and few enough to allocate on a
	// damaged file's word.
	maxHeader = 64 << 10
)

// ReadHeader reads a header from r, and nothing behind it. The error matches ErrFormat, ErrType or
// ErrDims, or is r's own.
func ReadHeader(r io.Reader) (*Header, error) { return readHeader(r, element.ParseType) }

// ReadSingleHeader is ReadHeader that takes float16, too, which is read as float32.
func ReadSingleHeader(r io.Reader) (*Header, error) {
	return readHeader(r, func(name string) (element.Type, error) {
		if name == element.Half.NumPy() {
			return element.Half, nil
		}
		return element.ParseType(name)
	})
}

// ReadAnyHeader is ReadHeader that takes types which are only stored, too.
func ReadAnyHeader(r io.Reader) (*Header, error) { return readHeader(r, element.ParseNumPy) }

func readHeader(r io.Reader, typ func(name string) (element.Type, error)) (*Header, error) {
	var start [12]byte // magic, version, length
	n, err := io.ReadFull(r, start[:10])
	switch short := err == io.EOF || err == io.ErrUnexpectedEOF; {
	case err != nil && !short:
		return nil, err
	case strings.HasPrefix(string(start[:n]), "PK\x03\x04"):
		return nil, errorf("it is an archive, as .npz files are: save one array of it, " +
			"as in numpy.save('x.npy', numpy.load('xs.npz')['x'])")
	case !strings.HasPrefix(magic, string(start[:min(n, len(magic))])):
		return nil, errorf("it does not begin as one")
	case short:
		return nil, errorf("it ends within the header, after %d bytes", n)
	}
	size := int(binary.LittleEndian.Uint16(start[8:]))
	switch major, minor := start[6], start[7]; {
	case major < 1 || major > 3 || minor != 0:
		return nil, errorf("format %d.%d is unknown; there are 1.0, 2.0 and 3.0", major, minor)
	case major > 1: // a longer length; 3.0 has another character set, whose ASCII is all that is accepted here
		if err := fill(r, start[10:]); err != nil {
			return nil, err
		}
		long := binary.LittleEndian.Uint32(start[8:])
		if long > maxHeader {
			return nil, errorf("its header claims %d bytes", long)
		}
		size = int(long)
	}
	text := make([]byte, size)
	if err := fill(r, text); err != nil {
		return nil, err
	}
	return parse(text, typ)
}

func fill(r io.Reader, b []byte) error {
	switch n, err := io.ReadFull(r, b); err {
	case nil:
		return nil
	case io.EOF, io.ErrUnexpectedEOF:
		return errorf("it ends within the header, %d bytes too early", len(b)-n)
	default:
		return err
	}
}

// What NumPy writes for an array of numbers, a dictionary of Python: three fields, of which each
// comes once. Python 2 wrote its long integers as 2L. Other programs put spaces elsewhere.
var (
	descr   = `'descr'\s*:\s*'([<>=|])([a-zA-Z0-9]+)'`
	fortran = `'fortran_order'\s*:\s*(True|False)`
	shape   = `'shape'\s*:\s*\(( *(?:(?:[0-9]{1,18}L? *, *)+(?:[0-9]{1,18}L? *)?)?)\)`
	field   = `\s*(?:` + descr + `|` + fortran + `|` + shape + `)\s*`

	descrField   = regexp.MustCompile(descr)
	fortranField = regexp.MustCompile(fortran)
	shapeField   = regexp.MustCompile(shape)
	fields       = regexp.MustCompile(`^\{` + field + `,` + field + `,` + field + `,?\s*\}\s*$`)
	otherTypes   = regexp.MustCompile(`^\{.*'descr'\s*:\s*(\[|'[<>=|][a-zA-Z0-9]+\[|\()`)
	digits       = regexp.MustCompile(`[0-9]+`)
)

func parse(text []byte, parseType func(name string) (element.Type, error)) (*Header, error) {
	text = bytes.ReplaceAll(text, []byte{'"'}, []byte{'\''}) // both quote strings in Python
	typ, order, dims := descrField.FindSubmatch(text), fortranField.FindSubmatch(text), shapeField.FindSubmatch(text)
	switch {
	case otherTypes.Match(text):
		return nil, fmt.Errorf("%w: the array has a structured type or one of dates; save one field of it, or "+
			"convert it with numpy's astype", ErrType)
	case !fields.Match(text), typ == nil, order == nil, dims == nil:
		return nil, errorf("its header is not what NumPy writes: %.100q", bytes.TrimSpace(text))
	}
	h := &Header{BigEndian: typ[1][0] == '>', Fortran: string(order[1]) == "True"}
	for _, d := range digits.FindAllString(string(dims[1]), -1) {
		n, err := strconv.Atoi(d)
		if err != nil {
			return nil, errorf("it claims a dimension of %s", d)
		}
		h.Shape = append(h.Shape, n)
	}
	name := string(typ[2])
	var err error
	if h.Type, err = parseType(name); err != nil {
		return nil, fmt.Errorf("%w: %w: convert with numpy's astype", ErrType, err)
	}
	if n := len(h.Shape); n > 2 {
		return nil, fmt.Errorf("%w: the array has %d dimensions; matrices have 2, vectors 1: reshape it", ErrDims, n)
	}
	if !addressable(h.Shape, h.Type.Size()) {
		return nil, errorf("it claims the shape %s, which no memory holds", formatShape(h.Shape))
	}
	return h, nil
}

// addressable tells whether a machine could hold an array of this shape.
func addressable(shape []int, width int) bool {
	n := uint64(width)
	for _, d := range shape {
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > math.MaxInt {
			return false
		}
		n = lo
	}
	return true
}

// errorf is an error that matches ErrFormat.
func errorf(format string, v ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, v...))
}

// WriteHeader writes h as numpy.save does: in format 1.0, padded with spaces so that the data begin
// at a multiple of 64 bytes.
func WriteHeader(w io.Writer, h *Header) error {
	order, grows := byte('<'), 0 // the dimension that may grow, for which NumPy leaves 21 digits of room
	switch {
	case h.Type.Size() == 1:
		order = '|'
	case h.BigEndian:
		order = '>'
	}
	if h.columns() {
		grows = len(h.Shape) - 1
	}
	text := fmt.Sprintf("{'descr': '%c%s', 'fortran_order': %s, 'shape': %s, }", order, h.Type.NumPy(),
		map[bool]string{true: "True", false: "False"}[h.columns()], formatShape(h.Shape))
	if len(h.Shape) > 0 {
		text += strings.Repeat(" ", max(0, 21-len(strconv.Itoa(h.Shape[grows]))))
	}
	const before = len(magic) + 4 // version and length
	n := (before+len(text)+1+63)/64*64 - before
	b := append([]byte(magic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(n))
	return WriteFull(w, fmt.Appendf(b, "%-*s\n", n-1, text))
}

// formatShape is the shape as Python writes it: "(3, 4)", "(3,)", "()".
func formatShape(shape []int) string {
	s := strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ")
	if len(shape) == 1 {
		s += ","
	}
	return "(" + s + ")"
}

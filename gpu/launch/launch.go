// Package launch is what the launch functions are made of that gpu/compile generates. Generated
// code alone calls it: programs call the launch functions.
package launch

import (
	"fmt"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/arglist"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/internal/strided"
	"github.com/tandem-gpu/tandem/linalg"
)

// KernelArg is what the launch function of a kernel takes for a slice or a matrix of T: memory of
// the host, which is copied to the device and back (or used in place), or an array on the device.
// As a matrix, a slice is one row; as a slice, a matrix or an array must be packed.
type KernelArg[T any] interface {
	[]T | linalg.Matrix[T] | *linalg.Array[T]
}

// MapArg is what the launch function of a map takes for an input of elements T: a matrix of the
// result's shape, or a row, a column or a single element, which is repeated.
type MapArg[T any] interface {
	[]T | linalg.Matrix[T] | *linalg.Array[T] | Const[T]
}

// Const stands for an array of any shape whose elements are all Value, as an input of a map.
type Const[T any] struct{ Value T }

// A Call is one launch of a kernel written in Go. An error of one step is returned by Launch.
type Call struct {
	s      *linalg.Session
	src    *backend.Source
	kernel *backend.Kernel
	grid   backend.Grid
	list   *arglist.List
	host   []hostMemory
	some   *backend.Buffer // of an array among the arguments
	name   string          // of a map, "array.add"
	err    error
}

// hostMemory is memory of the host that takes the place of argument at.
type hostMemory struct {
	at  int
	mem []byte
}

// New begins a launch of src, which is compiled once in a session; nil stands for a kernel that is
// not compiled for the types of the call.
func New(s *linalg.Session, src *backend.Source, g backend.Grid) Call {
	c := Call{s: s, src: src, grid: g, list: arglist.Take()}
	switch {
	case src == nil:
		c.err = fmt.Errorf("launch: %w: the kernel is not compiled for these types", backend.ErrLaunch)
	case s == nil:
		c.err = fmt.Errorf("launch: kernel %s: %w: the session, or destination, is nil", src.Name, backend.ErrArgument)
	default:
		c.kernel, c.err = inside.Kernel(s, src)
	}
	return c
}

// Scalar adds a number.
func (c *Call) Scalar(a backend.Arg) { c.list.Args = append(c.list.Args, a) }

// Slice adds x as a slice: its buffer, offset and length.
func Slice[T any, A KernelArg[T]](c *Call, name string, x A) {
	if o, ok := operandOf[T](c, len(c.list.Args), name, x); ok {
		if o.stride != o.cols && o.rows > 1 {
			c.fail(name, fmt.Errorf("%w: a kernel's slice takes a packed matrix, and the stride is %d",
				linalg.ErrShape, o.stride))
		}
		c.add(&o, o.rows*o.cols)
	}
}

// Matrix adds x as a matrix: its buffer, offset, rows, columns and stride.
func Matrix[T any, A KernelArg[T]](c *Call, name string, x A) {
	if o, ok := operandOf[T](c, len(c.list.Args), name, x); ok {
		c.add(&o, o.rows, o.cols, o.stride)
	}
}

// Launch runs the kernel. Like [linalg.Session.Launch] it blocks only where host memory is among
// the arguments.
func (c *Call) Launch() error {
	if c.err == nil {
		if len(c.host) == 0 {
			c.err = inside.Launch(c.s, c.kernel, c.grid, c.list.Args)
		} else {
			c.err = c.s.Launch(c.kernel, c.grid, c.withHost()...)
		}
	}
	c.list.Give()
	return c.err
}

// withHost is the arguments, with host memory in its places.
func (c *Call) withHost() (list []any) {
	from := 0
	for _, h := range c.host {
		list = append(list, c.list.Args[from:h.at], h.mem)
		from = h.at + 1
	}
	return append(list, c.list.Args[from:])
}

// An operand is an argument as a kernel sees it.
type operand struct {
	place
	host []byte // where there is no buffer
}

// A place is where the elements of an operand lie. Equal ones have the same elements.
type place struct {
	buf                *backend.Buffer
	mem                *byte // of the host, where there is no buffer
	off                int   // elements
	rows, cols, stride int
}

func (c *Call) add(o *operand, sizes ...int) {
	if o.buf == nil {
		c.host = append(c.host, hostMemory{len(c.list.Args), o.host})
	}
	list := append(c.list.Args, backend.Buf(o.buf), integer(o.off))
	for _, n := range sizes {
		list = append(list, integer(n))
	}
	c.list.Args = list
}

// integer is n as an argument whose type is not looked at: it is generated with the kernel.
func integer(n int) backend.Arg { return backend.Arg{Bits: uint64(n), Size: 8} }

func (c *Call) fail(name string, err error) {
	switch {
	case c.err != nil:
	case c.name != "":
		c.err = fmt.Errorf("%s: %s: %w", c.name, name, err)
	default:
		c.err = fmt.Errorf("launch: argument %s of kernel %s: %w", name, c.src.Name, err)
	}
}

// checkElement refuses elements for parameter n that lie in the host's memory otherwise than in the
// kernel's: there an int has 64 bits, and structs are as on 64-bit machines.
func (c *Call) checkElement(n, size int) error {
	if n < len(c.src.Params) && c.src.Params[n].Size != size {
		return fmt.Errorf("%w: an element has %d bytes on this machine and %d in the kernel; use types of the same "+
			"size on every machine, such as int64, and write the gaps of a struct as fields",
			backend.ErrLaunch, size, c.src.Params[n].Size)
	}
	return nil
}

// operandOf finds the memory of x, which is parameter n, unless the call has failed.
func operandOf[T any](c *Call, n int, name string, x any) (o operand, ok bool) {
	if c.err != nil {
		return o, false
	}
	if err := c.checkElement(n, int(unsafe.Sizeof(*new(T)))); err != nil {
		c.fail(name, err)
		return o, false
	}
	var err error
	switch x := x.(type) {
	case []T:
		o.host = backend.Bytes(x)
		o.place = place{rows: 1, cols: len(x), stride: len(x)}
	case linalg.Matrix[T]:
		if err = x.Check(); err == nil {
			o.host = backend.Bytes(x.Data[:strided.Span(x.Rows, x.Cols, x.Stride)])
			o.place = place{rows: x.Rows, cols: x.Cols, stride: x.Stride}
		}
	case *linalg.Array[T]:
		switch {
		case x == nil || x.Session() == nil:
			err = fmt.Errorf("%w: it is a nil array", backend.ErrArgument)
		case x.Err() != nil:
			err = x.Err()
		case x.Session() != c.s:
			err = fmt.Errorf("%w: %s belongs to another session", backend.ErrArgument, x)
		default:
			rows, cols := x.Dims()
			o.place = place{buf: x.Buffer(), off: x.Offset(), rows: rows, cols: cols, stride: x.Stride()}
			c.some = o.buf
		}
	}
	if err != nil {
		c.fail(name, err)
	}
	switch {
	case o.buf != nil:
	case len(o.host) == 0:
		o.buf = c.some // no elements need no memory of their own
	default:
		o.mem = unsafe.SliceData(o.host)
	}
	return o, err == nil
}

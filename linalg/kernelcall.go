package linalg

import (
	"fmt"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
)

// KernelArg is what the launch function of a kernel written in Go takes for a slice or a matrix of
// T: memory of the host, which is copied to the device and back (or used in place), or an array on
// the device. As a matrix, a slice is one row; as a slice, a matrix or an array must be packed.
type KernelArg[T any] interface {
	[]T | Matrix[T] | *Array[T]
}

// A KernelCall is one launch of a kernel written in Go. The launch functions that gpu/compile
// generates fill it in; an error of one step is returned by Launch.
type KernelCall struct {
	s      *Session
	src    *backend.Source
	kernel *backend.Kernel
	grid   backend.Grid
	list   *argList
	host   launch
	some   *backend.Buffer // of an array among the arguments
	err    error
}

// NewKernelCall begins a launch of src, which is compiled once in a session; nil stands for a
// kernel that is not compiled for the types of the call.
func NewKernelCall(s *Session, src *backend.Source, g backend.Grid) KernelCall {
	c := KernelCall{s: s, src: src, grid: g, list: takeArgs()}
	switch {
	case src == nil:
		c.err = fmt.Errorf("linalg: %w: the kernel is not compiled for these types", backend.ErrLaunch)
	case s == nil:
		c.err = fmt.Errorf("linalg: launch of kernel %s: %w: the session is nil", src.Name, backend.ErrLaunch)
	default:
		if c.err = fresh(src); c.err == nil { // a variable that it uses may have changed since the last launch
			c.kernel, c.err = s.kernel(kernelKey{src, s.checked.Load()})
		}
	}
	return c
}

// Scalar adds a number.
func (c *KernelCall) Scalar(a backend.Arg) { c.list.args = append(c.list.args, a) }

// KernelSlice adds x as a slice: its buffer, offset and length.
func KernelSlice[T any, A KernelArg[T]](c *KernelCall, name string, x A) {
	if o, ok := operandOf[T](c, len(c.list.args), name, x); ok {
		if o.stride != o.cols && o.rows > 1 {
			c.fail(name, fmt.Errorf("%w: a kernel's slice takes a packed matrix, and the stride is %d",
				ErrShape, o.stride))
		}
		c.add(o, o.rows*o.cols)
	}
}

// KernelMatrix adds x as a matrix: its buffer, offset, rows, columns and stride.
func KernelMatrix[T any, A KernelArg[T]](c *KernelCall, name string, x A) {
	if o, ok := operandOf[T](c, len(c.list.args), name, x); ok {
		c.add(o, o.rows, o.cols, o.stride)
	}
}

// Launch runs the kernel. Like [Session.Launch] it blocks only where host memory is among the
// arguments.
func (c *KernelCall) Launch() (err error) {
	if c.err == nil {
		c.err = c.s.launchKernel(c.kernel, c.grid, c.list.args)
		c.list.giveBack()
	}
	if c.err == nil {
		c.err = c.host.finish(c.s)
	}
	if e := c.host.free(); c.err == nil {
		c.err = e
	}
	return c.err
}

// A kernelOperand is an argument as a kernel sees it.
type kernelOperand struct {
	buf                *backend.Buffer
	off                int // elements
	rows, cols, stride int
}

func (c *KernelCall) add(o kernelOperand, sizes ...int) {
	c.Scalar(backend.Buf(o.buf))
	c.Scalar(backend.Int64(int64(o.off)))
	for _, n := range sizes {
		c.Scalar(backend.Int64(int64(n)))
	}
}

func (c *KernelCall) fail(name string, err error) {
	if c.err == nil {
		c.err = fmt.Errorf("linalg: argument %s of kernel %s: %w", name, c.src.Name, err)
	}
}

// checkElement refuses elements for parameter n that lie in the host's memory otherwise than in the
// kernel's: there an int has 64 bits, and structs are as on 64-bit machines.
func (c *KernelCall) checkElement(n, size int) error {
	if n < len(c.src.Params) && c.src.Params[n].Size != size {
		return fmt.Errorf("%w: an element has %d bytes on this machine and %d in the kernel; use types of the same "+
			"size on every machine, such as int64, and write the gaps of a struct as fields",
			backend.ErrLaunch, size, c.src.Params[n].Size)
	}
	return nil
}

// operandOf finds the memory of x, which is parameter n, unless the call has failed.
func operandOf[T any, A KernelArg[T]](c *KernelCall, n int, name string, x A) (o kernelOperand, ok bool) {
	if c.err != nil {
		return o, false
	}
	if err := c.checkElement(n, int(unsafe.Sizeof(*new(T)))); err != nil {
		c.fail(name, err)
		return o, false
	}
	var mem []byte
	var err error
	switch x := any(x).(type) {
	case []T:
		o, mem = kernelOperand{rows: 1, cols: len(x), stride: len(x)}, backend.Bytes(x)
	case Matrix[T]:
		if err = x.check("matrix"); err == nil {
			o, mem = kernelOperand{rows: x.Rows, cols: x.Cols, stride: x.Stride}, x.bytes()
		}
	case *Array[T]:
		if _, err = x.launchArg(c.s); err == nil {
			o = kernelOperand{x.buf, x.off, x.rows, x.cols, x.stride}
			c.some = x.buf
		}
	}
	if err == nil && len(mem) == 0 && o.buf == nil {
		o.buf = c.some // no elements need no memory of their own
	}
	if err == nil && o.buf == nil {
		var arg backend.Arg
		readOnly := n < len(c.src.Params) && c.src.Params[n].ReadOnly
		arg, err = c.host.host(c.s, mem, "", readOnly)
		o.buf = arg.Buffer
	}
	if err != nil {
		c.fail(name, err)
	}
	return o, err == nil
}

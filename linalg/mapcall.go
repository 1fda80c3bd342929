package linalg

import (
	"fmt"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/kernels"
)

// Const stands for an array of any shape whose elements are all Value, as an input of a map.
type Const[T any] struct{ Value T }

// MapArg is what the launch function of a map takes for an input of elements T: a matrix of the
// result's shape, or a row, a column or a single element, which is repeated.
type MapArg[T any] interface {
	[]T | Matrix[T] | *Array[T] | Const[T]
}

// maxMapInputs is how many inputs a map has at most.
const maxMapInputs = 4

// A MapCall is one launch of a map, a function under //tandem:map. The launch functions that
// gpu/compile generates fill it in: the result first, which may be one of the inputs that have its
// shape, and shares elements with no other.
type MapCall struct {
	KernelCall
	operands [1 + maxMapInputs]mapOperand // the result, then the inputs
	n        int
}

// A mapOperand is a matrix, or a number where buf is nil.
type mapOperand struct {
	kernelOperand
	number backend.Arg
}

// NewMapCall begins a launch of the map's kernel src, as [NewKernelCall] does.
func NewMapCall(s *Session, src *backend.Source) MapCall {
	return MapCall{KernelCall: NewKernelCall(s, src, backend.Grid{})}
}

// MapResult is the first step: where the results go.
func MapResult[T any, A KernelArg[T]](c *MapCall, z A) {
	c.operands[0].kernelOperand, _ = operandOf[T](&c.KernelCall, 0, "the result", z)
	c.n = 1
}

var mapInputs = [maxMapInputs]string{"input 1", "input 2", "input 3", "input 4"}

// MapInput adds an input.
func MapInput[T any, A MapArg[T]](c *MapCall, x A) {
	o, name := &c.operands[c.n], mapInputs[c.n-1]
	at := 5 + 6*(c.n-1)          // a matrix takes five arguments, an input a number more
	switch x := any(&x).(type) { // a pointer, as a number in an interface takes memory
	case *Const[T]:
		o.number = numberArg(x.Value)
	case *[]T:
		o.kernelOperand, _ = operandOf[T](&c.KernelCall, at, name, *x)
	case *Matrix[T]:
		o.kernelOperand, _ = operandOf[T](&c.KernelCall, at, name, *x)
	case **Array[T]:
		o.kernelOperand, _ = operandOf[T](&c.KernelCall, at, name, *x)
	}
	c.n++
}

// numberArg is x, of at most 8 bytes, as an argument of a kernel.
func numberArg[T any](x T) backend.Arg {
	a := backend.Arg{Size: 4}
	switch p := unsafe.Pointer(&x); unsafe.Sizeof(x) {
	case 1:
		a.Bits = uint64(*(*uint8)(p))
	case 2:
		a.Bits = uint64(*(*uint16)(p))
	case 4:
		a.Bits = uint64(*(*uint32)(p))
	default:
		a.Bits, a.Size = *(*uint64)(p), 8
	}
	return a
}

// Launch runs the map. It blocks only where host memory is among the arguments.
func (c *MapCall) Launch() error {
	if c.err == nil {
		c.err = c.place()
	}
	return c.KernelCall.Launch()
}

// place checks the shapes, and adds the grid and the arguments.
func (c *MapCall) place() error {
	z := &c.operands[0]
	inputs := c.operands[1:c.n]
	for i := range inputs {
		if err := c.check(z, &inputs[i], mapInputs[i]); err != nil {
			return err
		}
	}
	c.collapse()
	c.grid = kernels.ElementwiseGrid(&c.s.info, int64(z.rows), int64(z.cols))
	c.add(z.kernelOperand, z.rows, z.cols, z.stride)
	for i := range inputs {
		x := &inputs[i]
		switch {
		case x.buf == nil: // a matrix without rows, in some memory
			c.add(kernelOperand{buf: z.buf}, 0, 0, 0)
			c.Scalar(x.number)
			continue
		case x.rows == 1: // repeated
			c.add(x.kernelOperand, z.rows, x.cols, 0)
		default:
			c.add(x.kernelOperand, x.rows, x.cols, x.stride)
		}
		c.Scalar(backend.Arg{Size: c.src.Params[len(c.list.args)].Size})
	}
	return nil
}

// check says whether x can be repeated to the shape of z, and whether they share elements.
func (c *MapCall) check(z, x *mapOperand, name string) error {
	if x.buf == nil {
		return nil
	}
	if (x.rows != z.rows && x.rows != 1) || (x.cols != z.cols && x.cols != 1) {
		return fmt.Errorf("%w: map %s of %dx%d (%s) into %dx%d: an input has the result's shape, or is a row, a "+
			"column or one element", ErrShape, c.src.Name, x.rows, x.cols, name, z.rows, z.cols)
	}
	same := x.kernelOperand == z.kernelOperand
	if x.buf == z.buf && !same && overlap(z.rows, z.cols, z.stride, x.off-z.off, x.rows, x.cols, x.stride) {
		return fmt.Errorf("%w: map %s, %s, and they are not the same array", ErrOverlap, c.src.Name, name)
	}
	return nil
}

// collapse makes one long row of operands that are packed, and of one shape but for numbers.
func (c *MapCall) collapse() {
	rows, cols := c.operands[0].rows, c.operands[0].cols
	for _, o := range c.operands[:c.n] {
		if o.buf != nil && (o.rows != rows || o.cols != cols || o.stride != cols && rows > 1) {
			return
		}
	}
	for i := range c.operands[:c.n] {
		if o := &c.operands[i]; o.buf != nil {
			o.rows, o.cols, o.stride = min(rows, 1), rows*cols, rows*cols
		}
	}
}

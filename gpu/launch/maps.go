package launch

import (
	"fmt"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/strided"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// maxInputs is how many inputs a map has at most.
const maxInputs = 4

// A Map is one launch of a map, a function under //tandem:map: the result first, which may be one
// of the inputs that have its shape, and shares elements with no other.
type Map struct {
	Call
	operands [1 + maxInputs]mapOperand // the result, then the inputs
	n        int
}

// A mapOperand is a matrix, or a number.
type mapOperand struct {
	operand
	isNumber bool
	number   backend.Arg
}

// NewMap begins a launch of the map's kernel src, as [New] does. Errors begin with the map's name.
func NewMap(s *linalg.Session, src *backend.Source, name string) Map {
	c := Map{Call: New(s, src, backend.Grid{})}
	c.name = name
	if c.err != nil {
		c.err = fmt.Errorf("%s: %w", name, c.err)
	}
	return c
}

// Result is the first step: where the results go.
func Result[T any, A KernelArg[T]](c *Map, z A) {
	c.operands[0].operand, _ = operandOf[T](&c.Call, 0, "the result", z)
	c.n = 1
}

var inputNames = [maxInputs]string{"input 1", "input 2", "input 3", "input 4"}

// Input adds an input.
func Input[T any, A MapArg[T]](c *Map, x A) {
	o, name := &c.operands[c.n], inputNames[c.n-1]
	at := 5 + 6*(c.n-1)                   // a matrix takes five arguments, an input a number more
	if n, ok := any(&x).(*Const[T]); ok { // a pointer, as a number in an interface takes memory
		o.isNumber, o.number = true, numberArg(n.Value)
	} else {
		o.operand, _ = operandOf[T](&c.Call, at, name, x)
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
func (c *Map) Launch() error {
	if c.err == nil {
		c.place()
	}
	return c.Call.Launch()
}

// place checks the shapes, and adds the grid and the arguments.
func (c *Map) place() {
	z := &c.operands[0]
	inputs := c.operands[1:c.n]
	for i := range inputs {
		if err := check(z, &inputs[i]); err != nil {
			c.fail(inputNames[i], err)
			return
		}
	}
	c.collapse()
	info := c.s.Info()
	c.grid = kernels.MapGrid(&info, c.src.Params, int64(z.rows), int64(z.cols))
	c.add(&z.operand, z.rows, z.cols, z.stride)
	for i := range inputs {
		x := &inputs[i]
		switch {
		case x.isNumber: // a matrix without rows, in the result's memory
			c.add(&operand{place: place{buf: z.buf}, host: z.host}, 0, 0, 0)
			c.Scalar(x.number)
			continue
		case x.rows == 1: // repeated
			c.add(&x.operand, z.rows, x.cols, 0)
		default:
			c.add(&x.operand, x.rows, x.cols, x.stride)
		}
		c.Scalar(backend.Arg{Size: c.src.Params[len(c.list.Args)].Size})
	}
}

// check says whether x can be repeated to the shape of z, and whether they share elements.
func check(z, x *mapOperand) error {
	if x.isNumber {
		return nil
	}
	if (x.rows != z.rows && x.rows != 1) || (x.cols != z.cols && x.cols != 1) {
		return fmt.Errorf("%w: it is %dx%d and the result %dx%d; an input has the result's shape, or is a row, a "+
			"column or one element", linalg.ErrShape, x.rows, x.cols, z.rows, z.cols)
	}
	one := x.buf == z.buf && x.mem == z.mem // memory
	if one && x.place != z.place && strided.Overlap(z.rows, z.cols, z.stride, x.off-z.off, x.rows, x.cols, x.stride) {
		return fmt.Errorf("%w, and they are not the same array", linalg.ErrOverlap)
	}
	return nil
}

// collapse makes one long row of operands that are packed, and of one shape but for numbers and
// single elements.
func (c *Map) collapse() {
	rows, cols := c.operands[0].rows, c.operands[0].cols
	for i := range c.operands[:c.n] {
		if o := &c.operands[i]; !o.single() && (o.rows != rows || o.cols != cols || o.stride != cols && rows > 1) {
			return
		}
	}
	for i := range c.operands[:c.n] {
		if o := &c.operands[i]; i == 0 || !o.single() {
			o.rows, o.cols, o.stride = min(rows, 1), rows*cols, rows*cols
		}
	}
}

// single tells whether o is one element, which is repeated.
func (o *mapOperand) single() bool { return o.isNumber || o.rows == 1 && o.cols == 1 }

package linalg

import (
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/kernels"
)

// The elementwise operations of arrays.
var (
	add   = elementwise(kernels.Add)
	scale = elementwise(kernels.Scale)
)

func elementwise(source func(kernels.Type) *backend.Source) *operation {
	return &operation{func(key planKey, info *backend.Info) (*backend.Source, backend.Grid) {
		return source(key.typ), kernels.ElementwiseGrid(info, int64(key.m), int64(key.n))
	}}
}

// Add makes the receiver the sum of a and b, which have its shape. The receiver may be a or b.
func (c *Array[T]) Add(a, b *Array[T]) error {
	if err := c.checkElementwise("Add", a, b); err != nil || c.rows == 0 || c.cols == 0 {
		return err
	}
	var o [3]kernels.Operand
	rows, cols := collapse(o[:], a, b, c)
	p, err := c.s.plan(planKey{op: add, typ: kernels.TypeOf[T](), m: rows, n: cols})
	if err != nil {
		return err
	}
	l := takeArgs()
	l.args = kernels.AddArgs(l.args, int64(rows), int64(cols), o[0], o[1], o[2])
	return c.s.launch(p, l)
}

// Scale makes the receiver alpha*a, which has its shape. The receiver may be a.
func (c *Array[T]) Scale(alpha T, a *Array[T]) error {
	if err := c.checkElementwise("Scale", a); err != nil || c.rows == 0 || c.cols == 0 {
		return err
	}
	var o [2]kernels.Operand
	rows, cols := collapse(o[:], a, c)
	p, err := c.s.plan(planKey{op: scale, typ: kernels.TypeOf[T](), m: rows, n: cols})
	if err != nil {
		return err
	}
	l := takeArgs()
	l.args = kernels.ScaleArgs(l.args, int64(rows), int64(cols), alpha, o[0], o[1])
	return c.s.launch(p, l)
}

// collapse fills in the operands as the elementwise kernels see them, and returns their shape:
// packed arrays are one long row.
func collapse[T Element](operands []kernels.Operand, arrays ...*Array[T]) (rows, cols int) {
	rows, cols = arrays[0].rows, arrays[0].cols
	packed := true
	for i, a := range arrays {
		operands[i] = a.Operand()
		packed = packed && (a.stride == a.cols || a.rows == 1)
	}
	if packed {
		rows, cols = 1, rows*cols
		for i := range operands {
			operands[i].Stride = int64(cols)
		}
	}
	return rows, cols
}

func (c *Array[T]) checkElementwise(op string, operands ...*Array[T]) error {
	if err := c.checkOperands(op, operands...); err != nil {
		return err
	}
	for _, a := range operands {
		if a.rows != c.rows || a.cols != c.cols {
			return fmt.Errorf("%w: %s of %s into %s", ErrShape, op, a.String(), c.String())
		}
		if same := a.buf == c.buf && a.off == c.off && a.stride == c.stride; !same && c.overlaps(a) {
			return fmt.Errorf("%w: %s, and they are not the same array", ErrOverlap, op)
		}
	}
	return nil
}

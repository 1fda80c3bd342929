package linalg

import (
	"fmt"

	"github.com/tandem-gpu/tandem/internal/arglist"
	"github.com/tandem-gpu/tandem/kernels"
)

// Transpose makes the receiver the transpose of a, with which it must not share elements.
func (c *Array[T]) Transpose(a *Array[T]) error { return c.transpose(a.untyped()) }

func (c *array) transpose(a *array) error {
	typ, err := c.checkOperands("Transpose", a)
	if err != nil {
		return err
	}
	if c.rows != a.cols || c.cols != a.rows {
		return fmt.Errorf("%w: Transpose of %s into %s", ErrShape, a.describe(), c.describe())
	}
	if c.overlaps(a) {
		return fmt.Errorf("%w: Transpose", ErrOverlap)
	}
	if c.rows == 0 || c.cols == 0 {
		return nil
	}
	if (a.rows == 1 || a.stride == 1) && (c.rows == 1 || c.stride == 1) { // a row and a column, both packed
		return c.s.queue.Copy(c.buf, c.bytes(c.off), a.buf, a.bytes(a.off), a.bytes(a.rows*a.cols))
	}
	p, err := c.s.plan(planKey{op: transposeKernel{}, typ: typ, m: a.rows, n: a.cols})
	if err != nil {
		return err
	}
	l := arglist.Take()
	l.Args = kernels.TransposeArgs(l.Args, a.rows, a.cols, a.asOperand(), c.asOperand())
	return c.s.launch(p, l)
}

package linalg

import (
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/arglist"
	"github.com/tandem-gpu/tandem/internal/outofcore"
	"github.com/tandem-gpu/tandem/internal/tiles"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/kernels"
)

// Transpose is the transpose of a: packed and new.
func Transpose[T Element](a Matrix[T], opts ...Option) (Matrix[T], error) {
	o, err := settingsOf("Transpose", onHost, opts)
	if err != nil {
		return Matrix[T]{}, err
	}
	return compute(o, &request[T]{
		kernel: transposeKernel{}, makesC: true, n: 2, matrices: [3]Matrix[T]{{Rows: a.Cols, Cols: a.Rows}, a},
	})
}

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

// transposed is the transpose of a in spare memory.
func transposed(a *array) (*array, error) {
	buf, err := a.s.scratch(a.bytes(a.rows * a.cols))
	if err != nil {
		return nil, err
	}
	t := &array{s: a.s, buf: buf, rows: a.cols, cols: a.rows, stride: a.rows, elem: a.elem}
	if err := t.transpose(a); err != nil {
		t.spare(&err)
		return nil, err
	}
	return t, nil
}

// transposition is A'.
type transposition[T Element] struct{ plainOperation[T] }

type transposeKernel struct{}

func (transposeKernel) choose(key planKey, info *backend.Info) (*backend.Source, backend.Grid) {
	p := tuning.ChooseTranspose(info, key.typ, key.m, key.n)
	return kernels.Transpose(key.typ, p), kernels.TransposeGrid(p, key.m, key.n)
}

func (transposition[T]) region(i int, c tiles.Tile, k, l int) tiles.Tile {
	return outofcore.TransposeRegion(i, c, k, l)
}

func (transposition[T]) step(_ *call[T], _ int, c, a, _ *array) error { return c.transpose(a) }

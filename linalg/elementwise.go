package linalg

import (
	"cmp"
	"fmt"
	"reflect"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/arglist"
	"github.com/tandem-gpu/tandem/internal/outofcore"
	"github.com/tandem-gpu/tandem/internal/tiles"
	"github.com/tandem-gpu/tandem/kernels"
)

// Add is the sum of a and b, which have one shape: packed and new.
func Add[T Element](a, b Matrix[T], opts ...Option) (Matrix[T], error) {
	return applied("Add", kernels.Add, 0, opts, a, b)
}

// Add makes the receiver the sum of a and b, which have its shape. The receiver may be a or b.
func (c *Array[T]) Add(a, b *Array[T]) error {
	return c.elementwise(kernels.Add, 0, a.untyped(), b.untyped())
}

// Sub is a - b, which have one shape: packed and new.
func Sub[T Element](a, b Matrix[T], opts ...Option) (Matrix[T], error) {
	return applied("Sub", kernels.Sub, 0, opts, a, b)
}

// Sub makes the receiver a - b, which have its shape. The receiver may be a or b.
func (c *Array[T]) Sub(a, b *Array[T]) error {
	return c.elementwise(kernels.Sub, 0, a.untyped(), b.untyped())
}

// Scale is alpha*a: packed and new.
func Scale[T Element](alpha T, a Matrix[T], opts ...Option) (Matrix[T], error) {
	return applied("Scale", kernels.Scale, alpha, opts, a)
}

// Scale makes the receiver alpha*a, which has its shape. The receiver may be a.
func (c *Array[T]) Scale(alpha T, a *Array[T]) error { return c.Elementwise(kernels.Scale, alpha, a) }

// Elementwise is what an operation of package kernels' table gives of matrices of one shape: packed
// and new. alpha counts where the operation has it.
func Elementwise[T Element](op *kernels.Elementwise, alpha T, in []Matrix[T], opts ...Option) (Matrix[T], error) {
	return applied("Elementwise", op, alpha, opts, in...)
}

// applied is what op gives of matrices, with the options of the function called name.
func applied[T Element](name string, op *kernels.Elementwise, alpha T, opts []Option, in ...Matrix[T]) (
	Matrix[T], error,
) {
	o, err := settingsOf(name, onHost, opts)
	if err := cmp.Or(err, checkInputs(op, reflect.TypeFor[T](), len(in))); err != nil {
		return Matrix[T]{}, err
	}
	x := request[T]{kernel: elementwiseKernel{op}, update: scaledBy(alpha, 0), makesC: true, n: 1 + len(in)}
	x.matrices[0] = Matrix[T]{Rows: in[0].Rows, Cols: in[0].Cols}
	for i, m := range in {
		if m.Rows != in[0].Rows || m.Cols != in[0].Cols {
			return Matrix[T]{}, fmt.Errorf("%w: %s of %s and %s", ErrShape, op.Name, in[0], m)
		}
		x.matrices[i+1] = m
	}
	return compute(o, &x)
}

// fewElements are done by plain Go in less time than a launch takes.
const fewElements = 1024

// applyToFew makes c, which is packed, what op gives, by plain Go. It is false where op is another.
func applyToFew[T Element](op *kernels.Elementwise, alpha T, c, a, b Matrix[T]) bool {
	for i := range c.Rows {
		z, x := c.Row(i), a.Row(i)
		switch op {
		case kernels.Add:
			y := b.Row(i)[:len(z)]
			for j, v := range x[:len(z)] {
				z[j] = v + y[j]
			}
		case kernels.Sub:
			y := b.Row(i)[:len(z)]
			for j, v := range x[:len(z)] {
				z[j] = v - y[j]
			}
		case kernels.Scale:
			for j, v := range x[:len(z)] {
				z[j] = alpha * v
			}
		default:
			return false
		}
	}
	return true
}

// checkInputs says whether op takes n matrices of elements of type t.
func checkInputs(op *kernels.Elementwise, t reflect.Type, n int) error {
	if op == nil {
		return errArgument("the operation is nil")
	}
	if n != op.Inputs {
		return fmt.Errorf("%w: %s takes %d matrices, not %d", ErrShape, op.Name, op.Inputs, n)
	}
	if t, ok := element.NumberOf(t); ok && op.Source(t) == nil {
		return fmt.Errorf("linalg: %s of %s: %w: it is for floating-point numbers", op.Name, t, backend.ErrUnsupported)
	}
	return nil
}

// Elementwise makes the receiver what an operation of package kernels' table gives of arrays of its
// shape, of which it may be one. alpha counts where the operation has it.
func (c *Array[T]) Elementwise(op *kernels.Elementwise, alpha T, in ...*Array[T]) error {
	x, _, _ := element.Number(alpha)
	var few [2]*array // as many as kernels have
	arrays := few[:0]
	for _, a := range in {
		arrays = append(arrays, a.untyped())
	}
	return c.elementwise(op, x, arrays...)
}

func (c *array) elementwise(op *kernels.Elementwise, alpha float64, in ...*array) error {
	if err := checkInputs(op, c.elem, len(in)); err != nil {
		return err
	}
	typ, err := c.checkElementwise(op.Name, in...)
	if err != nil || c.rows == 0 || c.cols == 0 {
		return err
	}
	var operands [3]kernels.Operand
	o := operands[:len(in)+1]
	rows, cols := collapse(o, c, in...)
	p, err := c.s.plan(planKey{op: elementwiseKernel{op}, typ: typ, m: rows, n: cols})
	if err != nil {
		return err
	}
	l := arglist.Take()
	l.Args = op.Args(l.Args, kernels.Number(typ, alpha), int64(rows), int64(cols), o...)
	return c.s.launch(p, l)
}

// collapse fills in the operands as the elementwise kernels see them, c as the last, and returns
// their shape: packed arrays are one long row.
func collapse(operands []kernels.Operand, c *array, in ...*array) (rows, cols int) {
	packed := func(a *array) bool { return a.stride == a.cols || a.rows == 1 }
	row := packed(c)
	for i, a := range in {
		operands[i] = a.asOperand()
		row = row && packed(a)
	}
	operands[len(in)] = c.asOperand()
	if !row {
		return c.rows, c.cols
	}
	for i := range operands {
		operands[i].Stride = int64(c.rows * c.cols)
	}
	return 1, c.rows * c.cols
}

func (c *array) checkElementwise(op string, operands ...*array) (element.Type, error) {
	t, err := c.checkOperands(op, operands...)
	if err != nil {
		return 0, err
	}
	for _, a := range operands {
		if a.rows != c.rows || a.cols != c.cols {
			return 0, fmt.Errorf("%w: %s of %s into %s", ErrShape, op, a.describe(), c.describe())
		}
		if same := a.buf == c.buf && a.off == c.off && a.stride == c.stride; !same && c.overlaps(a) {
			return 0, fmt.Errorf("%w: %s, and they are not the same array", ErrOverlap, op)
		}
	}
	return t, nil
}

// elementwise is the operation of an elementwiseKernel.
type elementwise[T Element] struct {
	plainOperation[T]
	elementwiseKernel
}

// An elementwiseKernel is a row of package kernels' table.
type elementwiseKernel struct{ row *kernels.Elementwise }

func (o elementwiseKernel) choose(key planKey, info *backend.Info) (*backend.Source, backend.Grid) {
	src := o.row.Source(key.typ)
	return src, kernels.MapGrid(info, src.Params, int64(key.m), int64(key.n))
}

func (elementwise[T]) region(i int, c tiles.Tile, k, l int) tiles.Tile {
	return outofcore.SameRegion(i, c, k, l)
}

func (o elementwise[T]) step(x *call[T], _ int, c, a, b *array) error {
	return o.apply(x.alpha, c, a, b)
}

// apply makes c what the operation gives of a, and of b if it has two inputs.
func (o elementwiseKernel) apply(alpha float64, c, a, b *array) error {
	if o.row.Inputs == 1 {
		return c.elementwise(o.row, alpha, a)
	}
	return c.elementwise(o.row, alpha, a, b)
}

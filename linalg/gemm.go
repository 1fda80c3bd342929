package linalg

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/arglist"
	"github.com/tandem-gpu/tandem/kernels"
)

// An update is what products make of C: alpha*A*B + beta*C, or C + alpha*A*B in one chain that
// starts from C. With chain alpha is 1 or -1, and beta is 1.
type update struct {
	alpha, beta float64 // numbers of any element type
	chain       bool

	transA, transB bool // the kernel reads operands that are transposed in memory

	bytes byteKind // elements of A and B are words of four bytes
}

// addMul and subMul are the updates of AddMul and SubMul.
var (
	addMul = update{alpha: 1, beta: 1, chain: true}
	subMul = update{alpha: -1, beta: 1, chain: true}
)

// scaledBy is the update of Gemm.
func scaledBy[T any](alpha, beta T) (u update) {
	u.alpha, _, _ = element.Number(alpha)
	u.beta, _, _ = element.Number(beta)
	return u
}

// gemm is count products, in pieces that a cancelled ctx ends between. AddMul and SubMul are
// updates of their own.
func (c *array) gemm(ctx context.Context, count int, tA blas.Transpose, a *array, tB blas.Transpose, b *array,
	u update,
) (err error) {
	typ, err := c.checkOperands("Gemm", a, b)
	if err != nil {
		return err
	}
	x, err := newBatch(count, tA, dims{a.rows, a.cols}, tB, dims{b.rows, b.cols}, dims{c.rows, c.cols})
	if err != nil {
		return err
	}
	if c.overlaps(a) || c.overlaps(b) {
		return fmt.Errorf("%w: Gemm", ErrOverlap)
	}
	switch {
	case c.rows == 0 || c.cols == 0:
		return nil
	case x.k == 0 || u.alpha == 0:
		return c.scaleBy(ctx, typ, u.beta, a, b)
	case x.sharedB && !x.sharedA && tA == blas.NoTrans: // one tall product
		x.count, x.m = 1, c.rows
	}
	if x.count == 1 && u.bytes != uint8Bytes { // whose A is no B
		c, tA, a, tB, b = turnVectors(c, tA, a, tB, b)
		x.m, x.n = c.rows, c.cols
	}
	u.transA, u.transB = tA != blas.NoTrans && c.s.direct, tB != blas.NoTrans && c.s.direct
	if tA != blas.NoTrans && !u.transA {
		if a, err = transposed(a); err != nil {
			return err
		}
		defer a.spare(&err)
	}
	if tB != blas.NoTrans && !u.transB {
		if b, err = transposed(b); err != nil {
			return err
		}
		defer b.spare(&err)
	}
	steps := kernels.Batch{StrideC: int64(x.m) * int64(c.stride)}
	if !x.sharedA {
		steps.StrideA = step(tA, u.transA, x.m, x.k, a.stride)
	}
	if !x.sharedB {
		steps.StrideB = step(tB, u.transB, x.k, x.n, b.stride)
	}
	return c.multiply(ctx, typ, x, steps, a.asOperand(), b.asOperand(), u)
}

// scaleBy makes C beta*C: what is left of a product where K or alpha is 0. beta == 0 gives +0 and
// reads nothing: the product with K = 0 does that. a and b only stand for its operands.
func (c *array) scaleBy(ctx context.Context, typ element.Type, beta float64, a, b *array) error {
	switch beta {
	case 0:
		x := batch{count: 1, m: c.rows, n: c.cols}
		return c.multiply(ctx, typ, x, kernels.Batch{}, a.asOperand(), b.asOperand(), update{alpha: 1})
	case 1:
		return nil
	}
	return c.elementwise(kernels.Scale, beta, c)
}

// turnVectors gives the transposed product, which has the same bits, where a matrix that is to be
// transposed meets a vector: c = Aᵀ*b is cᵀ = bᵀ*A.
func turnVectors(c *array, tA blas.Transpose, a *array, tB blas.Transpose, b *array) (
	*array, blas.Transpose, *array, blas.Transpose, *array,
) {
	switch {
	case c.cols == 1 && tA != blas.NoTrans:
		turned, row := c.turned(), b
		if tB == blas.NoTrans {
			row = b.turned()
		}
		if turned != nil && row != nil {
			return turned, blas.NoTrans, row, blas.NoTrans, a
		}
	case c.rows == 1 && tB != blas.NoTrans:
		turned, column := c.turned(), a
		if tA == blas.NoTrans {
			column = a.turned()
		}
		if turned != nil && column != nil {
			return turned, blas.NoTrans, b, blas.NoTrans, column
		}
	}
	return c, tA, a, tB, b
}

// turned is a row as a column, or a contiguous column as a row, over the same elements; nil for
// others.
func (a *array) turned() *array {
	t := *a
	t.view = true
	switch {
	case a.rows == 1:
		t.rows, t.cols, t.stride = a.cols, 1, 1
	case a.cols == 1 && a.stride == 1:
		t.rows, t.cols, t.stride = 1, a.rows, a.rows
	default:
		return nil
	}
	return &t
}

// spare keeps the memory of what an operation made for itself. Its error is the operation's where
// that has none.
func (a *array) spare(err *error) {
	if e := a.s.spares.give(a.buf); *err == nil {
		*err = e
	}
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

// multiply enqueues the products: with as few launches as possible, or, where ctx can be cancelled
// or wants to know the progress, in pieces, waiting for one after the other. A piece is some of the
// products, or some rows of a single one. The split changes no bits.
func (c *array) multiply(ctx context.Context, typ element.Type, x batch, steps kernels.Batch, a, b kernels.Operand,
	u update,
) error {
	to, next := c.asOperand(), steps
	all, most := x.count, min(x.count, kernels.MaxBatch)
	if x.count == 1 {
		all, most = x.m, x.m
		steps, next = kernels.Batch{}, kernels.Batch{StrideA: a.Stride, StrideC: to.Stride}
		if u.transA {
			next.StrideA = 1
		}
	}
	report := progress(ctx)
	inPieces := ctx.Done() != nil || report != nil
	if inPieces {
		most = min(most, x.piece(&c.s.info))
	}
	for i := 0; i < all; i += most {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n := min(most, all-i)
		key := planKey{op: productKernel{u.bytes}, typ: typ, m: x.m, n: x.n, k: x.k, count: most}
		if x.count == 1 {
			key.m, key.count = n, 1
		}
		p, err := c.s.plan(key)
		if err != nil {
			return err
		}
		if x.count > 1 {
			p.grid.Groups[2] = n
		}
		l := arglist.Take()
		l.Args = u.args(l.Args, key, steps, a, b, to)
		if err := c.s.launch(p, l); err != nil {
			return err
		}
		a.Offset += int64(n) * next.StrideA
		b.Offset += int64(n) * next.StrideB
		to.Offset += int64(n) * next.StrideC
		if !inPieces {
			continue
		}
		if err := c.s.queue.Wait(); err != nil {
			return err
		}
		if report != nil {
			report(float64(i+n) / float64(all))
		}
	}
	return nil
}

// args appends the arguments of products.
func (u update) args(args []backend.Arg, key planKey, steps kernels.Batch, a, b, c kernels.Operand) []backend.Arg {
	negate := u.alpha < 0
	if u.chain {
		u.alpha, u.beta = 1, 0
	}
	alpha, beta := kernels.Number(key.typ, u.alpha), kernels.Number(key.typ, u.beta)
	args = kernels.MatMulNumbersArgs(args, steps, key.m, key.n, key.k, alpha, a, b, beta, c)
	if u.chain {
		args = kernels.Continue(args, negate)
	}
	if u.transA || u.transB {
		args = kernels.Transposed(args, u.transA, u.transB)
	}
	return args
}

type progressKey struct{}

// WithProgress makes calls that get ctx by [WithContext] call f with the finished fraction of a
// product, from 0 to 1, as the work goes on. f is called from the goroutine that called them.
func WithProgress(ctx context.Context, f func(fraction float64)) context.Context {
	return context.WithValue(ctx, progressKey{}, f)
}

// progress is the function that WithProgress gave, or nil.
func progress(ctx context.Context) func(float64) {
	f, _ := ctx.Value(progressKey{}).(func(float64))
	return f
}

// stage is ctx for a part of a call's work, which goes from one finished fraction to another.
func stage(ctx context.Context, from, to float64) context.Context {
	report := progress(ctx)
	if report == nil {
		return ctx
	}
	return WithProgress(ctx, func(fraction float64) { report(from + fraction*(to-from)) })
}

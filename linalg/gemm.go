package linalg

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/kernels"
)

// gemm is Gemm, in pieces that a cancelled ctx ends between.
func (c *Array[T]) gemm(ctx context.Context, alpha T, tA blas.Transpose, a *Array[T], tB blas.Transpose, b *Array[T], beta T) error {
	if err := c.checkOperands("Gemm", a, b); err != nil {
		return err
	}
	m, k, err := opDims(tA, a)
	if err != nil {
		return err
	}
	kb, n, err := opDims(tB, b)
	if err != nil {
		return err
	}
	if k != kb || c.rows != m || c.cols != n {
		return fmt.Errorf("%w: product of %dx%d and %dx%d into %dx%d (op(A), op(B), C)", ErrShape, m, k, kb, n, c.rows, c.cols)
	}
	if c.overlaps(a) || c.overlaps(b) {
		return fmt.Errorf("%w: Gemm", ErrOverlap)
	}
	switch {
	case m == 0 || n == 0:
		return nil
	case k == 0 || alpha == 0:
		return c.scaleBy(beta, a, b)
	}
	if tA != blas.NoTrans {
		if a, err = transposed(a); err != nil {
			return err
		}
		defer a.Free()
	}
	if tB != blas.NoTrans {
		if b, err = transposed(b); err != nil {
			return err
		}
		defer b.Free()
	}
	return c.multiply(ctx, alpha, a, b, beta)
}

// scaleBy makes C beta*C: what is left of a product where K or alpha is 0. beta == 0 gives +0 and reads nothing: the product
// with K = 0 does that. a and b only stand for its operands.
func (c *Array[T]) scaleBy(beta T, a, b *Array[T]) error {
	switch beta {
	case 0:
		return c.launchMatMul(1, 0, a, b, 0)
	case 1:
		return nil
	}
	return c.Scale(beta, c)
}

// opDims is the shape of op(a).
func opDims[T Element](t blas.Transpose, a *Array[T]) (rows, cols int, err error) {
	switch t {
	case blas.NoTrans:
		return a.rows, a.cols, nil
	case blas.Trans, blas.ConjTrans:
		return a.cols, a.rows, nil
	}
	return 0, 0, fmt.Errorf("%w: %q is no transposition: use blas.NoTrans or blas.Trans", ErrShape, byte(t))
}

// transposed is the transpose of a in memory of its own.
func transposed[T Element](a *Array[T]) (*Array[T], error) {
	t, err := NewArray[T](a.s, a.cols, a.rows)
	if err != nil {
		return nil, err
	}
	if err := t.Transpose(a); err != nil {
		t.Free()
		return nil, err
	}
	return t, nil
}

// pieceRows divides the rows of a piece, so that tiles are not cut.
const pieceRows = 256

// pieceWork is about how many multiply-adds one launch does where the work may be cancelled: some milliseconds. Tests make it small.
var pieceWork, pieceWorkGPU = float64(1 << 30), float64(64 << 30)

// multiply enqueues the product: at once, or, where ctx can be cancelled or wants to know the progress, in pieces of some rows each, waiting for one after the
// other. The split changes no bits.
func (c *Array[T]) multiply(ctx context.Context, alpha T, a, b *Array[T], beta T) error {
	report := progress(ctx)
	if ctx.Done() == nil && report == nil {
		return c.launchMatMul(alpha, a.cols, a, b, beta)
	}
	work := pieceWork
	if c.s.info.GPU {
		work = pieceWorkGPU
	}
	rows := max(pieceRows, int(work/(float64(a.cols)*float64(c.cols)))/pieceRows*pieceRows)
	for i := 0; i < c.rows; i += rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := min(c.rows, i+rows)
		part := c.Slice(i, k, 0, c.cols)
		if err := part.launchMatMul(alpha, a.cols, a.Slice(i, k, 0, a.cols), b, beta); err != nil {
			return err
		}
		if err := c.s.queue.Wait(); err != nil {
			return err
		}
		if report != nil {
			report(float64(k) / float64(c.rows))
		}
	}
	return nil
}

func (c *Array[T]) launchMatMul(alpha T, k int, a, b *Array[T], beta T) error {
	t := kernels.TypeOf[T]()
	p, err := c.s.plan(planKey{op: matmul, typ: t, m: c.rows, n: c.cols, k: k}, func(info *backend.Info) (*backend.Source, backend.Grid) {
		p := kernels.ChooseMatMul(info, t, c.rows, c.cols, k)
		return kernels.MatMul(t, p), kernels.MatMulGrid(p, c.rows, c.cols)
	})
	if err != nil {
		return err
	}
	return c.s.enqueue(p, func(args []backend.Arg) []backend.Arg {
		return kernels.MatMulArgs(args, c.rows, c.cols, k, alpha, a.Operand(), b.Operand(), beta, c.Operand())
	})
}

type progressKey struct{}

// WithProgress makes the Context variants call f with the finished fraction of a product, from 0 to 1, as the work goes on. f is called from
// the goroutine that called them.
func WithProgress(ctx context.Context, f func(fraction float64)) context.Context {
	return context.WithValue(ctx, progressKey{}, f)
}

func progress(ctx context.Context) func(float64) {
	f, _ := ctx.Value(progressKey{}).(func(float64))
	return f
}

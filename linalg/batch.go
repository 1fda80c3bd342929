package linalg

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/kernels"
)

// GemmBatched makes the receiver count products of one shape, C = alpha*op(A)*op(B) + beta*C each, where op is the matrix or, with blas.Trans or
// blas.ConjTrans, its transpose. Each has the bits that Gemm gives, and all of them cost about one launch.
//
// The matrices of an operand lie below each other in its array, at any stride: the C, of m by n, are an array of count*m by n, the A, of m by k, one of count*m
// by k or, where they are transposed, of count*k by m, and so on for B. A or B may also be a single matrix, which all products share. Where A is
// transposed and B is not, two arrays of the same number of rows are taken for two that hold count matrices.
//
// C must not share elements with A or B. Transposed operands are transposed into temporary memory first. With count == 0 C has no rows, and nothing
// is done.
func (c *Array[T]) GemmBatched(count int, alpha T, tA blas.Transpose, a *Array[T], tB blas.Transpose, b *Array[T], beta T) error {
	return c.gemmBatched(context.Background(), count, alpha, tA, a, tB, b, beta)
}

// MatMulBatched is the products of count matrices A and B of one shape, on the default device. A holds count matrices of m by k below each other, B as many of
// k by n, or one that all products share; the result, which is packed and new, holds count matrices of m by n. [GemmBatched] does the same for one A and
// many B.
func MatMulBatched[T Element](count int, a, b Matrix[T]) (Matrix[T], error) {
	return MatMulBatchedContext(context.Background(), nil, count, a, b)
}

// MatMulBatchedContext is MatMulBatched on session s, or on the default device where s is nil. It returns ctx's error soon after ctx is done.
func MatMulBatchedContext[T Element](ctx context.Context, s *Session, count int, a, b Matrix[T]) (Matrix[T], error) {
	c := Matrix[T]{Rows: a.Rows, Cols: b.Cols}
	if _, err := newBatch(count, blas.NoTrans, dims{a.Rows, a.Cols}, blas.NoTrans, dims{b.Rows, b.Cols}, dims{c.Rows, c.Cols}); err != nil {
		return Matrix[T]{}, err
	}
	return compute(ctx, s, c.Rows, c.Cols, []Matrix[T]{a, b}, func(c *Array[T], in []*Array[T]) error {
		return c.gemmBatched(ctx, count, 1, blas.NoTrans, in[0], blas.NoTrans, in[1], 0)
	})
}

// GemmBatched makes c count products of one shape, C = alpha*op(A)*op(B) + beta*C each, on the default device. How the matrices lie in a, b and c is
// told at [Array.GemmBatched]. c must not share elements with a or b. After an error the elements of c are undefined.
func GemmBatched[T Element](count int, alpha T, tA blas.Transpose, a Matrix[T], tB blas.Transpose, b Matrix[T], beta T, c Matrix[T]) error {
	return GemmBatchedContext(context.Background(), nil, count, alpha, tA, a, tB, b, beta, c)
}

// GemmBatchedContext is GemmBatched on session s, or on the default device where s is nil. It returns ctx's error soon after ctx is done; the elements
// of c are undefined then.
func GemmBatchedContext[T Element](
	ctx context.Context, s *Session, count int, alpha T, tA blas.Transpose, a Matrix[T], tB blas.Transpose, b Matrix[T], beta T, c Matrix[T],
) error {
	return into(ctx, s, c, beta != 0, []Matrix[T]{a, b}, func(dst *Array[T], in []*Array[T]) error {
		return dst.gemmBatched(ctx, count, alpha, tA, in[0], tB, in[1], beta)
	})
}

// gemmBatched is GemmBatched, in pieces that a cancelled ctx ends between.
func (c *Array[T]) gemmBatched(ctx context.Context, count int, alpha T, tA blas.Transpose, a *Array[T], tB blas.Transpose, b *Array[T], beta T) error {
	if err := c.checkOperands("GemmBatched", a, b); err != nil {
		return err
	}
	x, err := newBatch(count, tA, dims{a.rows, a.cols}, tB, dims{b.rows, b.cols}, dims{c.rows, c.cols})
	if err != nil {
		return err
	}
	if c.overlaps(a) || c.overlaps(b) {
		return fmt.Errorf("%w: GemmBatched", ErrOverlap)
	}
	switch {
	case c.rows == 0 || c.cols == 0:
		return nil
	case x.k == 0 || alpha == 0:
		return c.scaleBy(beta, a, b)
	case count == 1 || x.sharedB && !x.sharedA && tA == blas.NoTrans: // one tall product
		return c.gemm(ctx, alpha, tA, a, tB, b, beta)
	}
	steps := kernels.Batch{StrideA: step(tA, a, count, x.sharedA), StrideB: step(tB, b, count, x.sharedB), StrideC: int64(x.m) * int64(c.stride)}
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
	return c.multiplyBatch(ctx, x, steps, alpha, a.Operand(), b.Operand(), beta)
}

// dims is the rows and columns of an operand.
type dims [2]int

func (d dims) String() string { return fmt.Sprintf("%dx%d", d[0], d[1]) }

// A batch is the shape of count products: every C is m by n, every op(A) m by k, every op(B) k by n.
type batch struct {
	count, m, n, k   int
	sharedA, sharedB bool
}

// newBatch finds out the shape from the arrays that hold A, B and C.
func newBatch(count int, tA blas.Transpose, a dims, tB blas.Transpose, b, c dims) (batch, error) {
	for _, t := range []blas.Transpose{tA, tB} {
		if t != blas.NoTrans && t != blas.Trans && t != blas.ConjTrans {
			return batch{}, fmt.Errorf("%w: %q is no transposition: use blas.NoTrans or blas.Trans", ErrShape, byte(t))
		}
	}
	if count < 0 {
		return batch{}, fmt.Errorf("%w: %d products", ErrShape, count)
	}
	if count == 0 && c[0] == 0 {
		return batch{}, nil
	}
	x := batch{count: count, n: c[1]}
	fits := count > 0 && c[0]%count == 0
	if fits {
		x.m = c[0] / count
		x.k = batchDepth(count, tA != blas.NoTrans, a, tB != blas.NoTrans, b)
		var fitsA, fitsB bool
		x.sharedA, fitsA = sharedBy(count, a, oriented(tA, x.m, x.k))
		x.sharedB, fitsB = sharedBy(count, b, oriented(tB, x.k, x.n))
		fits = fitsA && fitsB
	}
	if !fits {
		return batch{}, fmt.Errorf("%w: %d products of %s%s and %s%s into %s (all of A, of B, and of C)", ErrShape, count, a, note(tA), b, note(tB), c)
	}
	return x, nil
}

// batchDepth is k, where the operands fit together at all.
func batchDepth(count int, tA bool, a dims, tB bool, b dims) int {
	switch {
	case !tA:
		return a[1]
	case tB:
		return b[1]
	case a[0] == b[0]:
		return a[0] / count
	}
	return min(a[0], b[0])
}

// oriented is the shape in memory of a matrix that is rows by cols after t.
func oriented(t blas.Transpose, rows, cols int) dims {
	if t == blas.NoTrans {
		return dims{rows, cols}
	}
	return dims{cols, rows}
}

// sharedBy tells whether all is a single matrix of shape one, and whether it is that or count of them.
func sharedBy(count int, all, one dims) (shared, fits bool) {
	switch {
	case all[1] != one[1]:
		return false, false
	case all[0]%count == 0 && all[0]/count == one[0]:
		return false, true
	}
	return true, all == one
}

func note(t blas.Transpose) string {
	if t == blas.NoTrans {
		return ""
	}
	return " (transposed)"
}

// step is the distance in elements from one op(A) to the next. The transposes of matrices below each other, which are made at once, lie beside each other.
func step[T Element](t blas.Transpose, a *Array[T], count int, shared bool) int64 {
	switch rows := int64(a.rows / count); {
	case shared:
		return 0
	case t == blas.NoTrans:
		return rows * int64(a.stride)
	default:
		return rows
	}
}

// multiplyBatch enqueues the products: with as few launches as possible, or, where ctx can be cancelled or wants to know the progress, with some of them each,
// waiting for one after the other.
func (c *Array[T]) multiplyBatch(ctx context.Context, x batch, steps kernels.Batch, alpha T, a, b kernels.Operand, beta T) error {
	report := progress(ctx)
	wait := ctx.Done() != nil || report != nil
	most := kernels.MaxBatch
	if wait {
		work := pieceWork
		if c.s.info.GPU {
			work = pieceWorkGPU
		}
		most = min(most, max(1, int(work/(float64(x.m)*float64(x.n)*float64(x.k)))))
	}
	t, to := kernels.TypeOf[T](), c.Operand()
	most = min(most, x.count)
	p, err := c.s.plan(planKey{op: matmul, typ: t, m: x.m, n: x.n, k: x.k, count: most}, func(info *backend.Info) (*backend.Source, backend.Grid) {
		p := kernels.ChooseMatMulBatch(info, t, most, x.m, x.n, x.k)
		return kernels.MatMul(t, p), kernels.MatMulBatchGrid(p, most, x.m, x.n)
	})
	if err != nil {
		return err
	}
	for i := 0; i < x.count; i += most {
		if err := ctx.Err(); err != nil {
			return err
		}
		count := min(x.count-i, most)
		p.grid.Groups[2] = count
		if err := c.s.enqueue(p, func(args []backend.Arg) []backend.Arg {
			return kernels.MatMulBatchArgs(args, steps, x.m, x.n, x.k, alpha, a, b, beta, to)
		}); err != nil {
			return err
		}
		a.Offset, b.Offset, to.Offset = a.Offset+int64(count)*steps.StrideA, b.Offset+int64(count)*steps.StrideB, to.Offset+int64(count)*steps.StrideC
		if !wait {
			continue
		}
		if err := c.s.queue.Wait(); err != nil {
			return err
		}
		if report != nil {
			report(float64(i+count) / float64(x.count))
		}
	}
	return nil
}

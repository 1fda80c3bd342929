package linalg

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
)

// GemmBatched makes the receiver count products of one shape, C = alpha*op(A)*op(B) + beta*C each,
// where op is the matrix or, with blas.Trans or blas.ConjTrans, its transpose. Each has the bits
// that Gemm gives, and all of them cost about one launch.
//
// The matrices of an operand lie below each other in its array, at any stride: the C, of m by n,
// are an array of count*m by n, the A, of m by k, one of count*m by k or, where they are
// transposed, of count*k by m, and so on for B. A or B may also be a single matrix, which all
// products share. Where A is transposed and B is not, two arrays of the same number of rows are
// taken for two that hold count matrices.
//
// C must not share elements with A or B. But on the cpu device, transposed operands are transposed
// into temporary memory first. With count == 0 C has no rows, and nothing is done.
func (c *Array[T]) GemmBatched(count int, alpha T, tA blas.Transpose, a *Array[T], tB blas.Transpose, b *Array[T],
	beta T,
) error {
	return c.gemm(context.Background(), count, tA, a.untyped(), tB, b.untyped(), scaledBy(alpha, beta))
}

// AddMulBatched is [Array.AddMul] of count matrices of one shape each, which lie in their arrays as
// [Array.GemmBatched] says: A or B may be a single matrix that all share. All of them cost about
// one launch.
func (c *Array[T]) AddMulBatched(count int, a, b *Array[T]) error {
	return c.gemm(context.Background(), count, blas.NoTrans, a.untyped(), blas.NoTrans, b.untyped(), addMul)
}

// SubMulBatched is [Array.SubMul] as [Array.AddMulBatched] is AddMul.
func (c *Array[T]) SubMulBatched(count int, a, b *Array[T]) error {
	return c.gemm(context.Background(), count, blas.NoTrans, a.untyped(), blas.NoTrans, b.untyped(), subMul)
}

// MatMulBatched is the products of count matrices A and B of one shape, on the default device. A
// holds count matrices of m by k below each other, B as many of k by n, or one that all products
// share; the result, which is packed and new, holds count matrices of m by n. [GemmBatched] does
// the same for one A and many B.
func MatMulBatched[T Element](count int, a, b Matrix[T]) (Matrix[T], error) {
	return MatMulBatchedContext(context.Background(), nil, count, a, b)
}

// MatMulBatchedContext is MatMulBatched on session s, or on the default device where s is nil. It
// returns ctx's error soon after ctx is done.
func MatMulBatchedContext[T Element](ctx context.Context, s *Session, count int, a, b Matrix[T]) (Matrix[T], error) {
	c := Matrix[T]{Rows: a.Rows, Cols: b.Cols}
	if _, err := newBatch(count, blas.NoTrans, dims{a.Rows, a.Cols}, blas.NoTrans, dims{b.Rows, b.Cols},
		dims{c.Rows, c.Cols}); err != nil {
		return Matrix[T]{}, err
	}
	return compute(ctx, s, &request[T]{
		kernel: productKernel{}, count: count, tA: blas.NoTrans, tB: blas.NoTrans, update: update{alpha: 1},
		makesC: true, n: 3, matrices: [3]Matrix[T]{c, a, b},
	})
}

// GemmBatched makes c count products of one shape, C = alpha*op(A)*op(B) + beta*C each, on the
// default device. How the matrices lie in a, b and c is told at [Array.GemmBatched]. c must not
// share elements with a or b. After an error the elements of c are undefined.
func GemmBatched[T Element](count int, alpha T, tA blas.Transpose, a Matrix[T], tB blas.Transpose, b Matrix[T], beta T,
	c Matrix[T],
) error {
	return GemmBatchedContext(context.Background(), nil, count, alpha, tA, a, tB, b, beta, c)
}

// GemmBatchedContext is GemmBatched on session s, or on the default device where s is nil. It
// returns ctx's error soon after ctx is done; the elements of c are undefined then.
func GemmBatchedContext[T Element](
	ctx context.Context, s *Session, count int, alpha T, tA blas.Transpose, a Matrix[T], tB blas.Transpose, b Matrix[T],
	beta T, c Matrix[T],
) error {
	_, err := compute(ctx, s, &request[T]{
		kernel: productKernel{}, count: count, tA: tA, tB: tB, update: scaledBy(alpha, beta), n: 3,
		matrices: [3]Matrix[T]{c, a, b},
	})
	return err
}

// dims is the rows and columns of an operand.
type dims [2]int

func (d dims) String() string { return fmt.Sprintf("%dx%d", d[0], d[1]) }

// A batch is the shape of count products: every C is m by n, every op(A) m by k, every op(B) k by
// n.
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
	if !fits && count == 1 {
		return batch{}, fmt.Errorf("%w: product of %s%s and %s%s into %s", ErrShape, a, note(tA), b, note(tB), c)
	}
	if !fits {
		return batch{}, fmt.Errorf("%w: %d products of %s%s and %s%s into %s (all of A, of B, and of C)", ErrShape,
			count, a, note(tA), b, note(tB), c)
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

// sharedBy tells whether all is a single matrix of shape one, and whether it is that or count of
// them.
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

// step is the distance in elements from one op(A) of rows by cols to the next. The transposes of
// matrices below each other, which are made at once, lie beside each other; inKernel tells that the
// kernel reads the matrices themselves.
func step(t blas.Transpose, inKernel bool, rows, cols, stride int) int64 {
	switch {
	case t == blas.NoTrans:
		return int64(rows) * int64(stride)
	case inKernel:
		return int64(cols) * int64(stride)
	}
	return int64(cols)
}

// pieceRows divides the rows of a piece, so that tiles are not cut. Where a device has the largest
// ones openCLRows does: PoCL hands half of all groups to one core, which should not be the large
// ones of two rows of tiles.
const pieceRows, openCLRows = 256, 512

// pieceWork is about how many multiply-adds one launch does where the work may be cancelled: some
// milliseconds. A processor with OpenCL gets more, some 100 ms with two cores: each launch brings
// all of B into its caches, and ends with cores that wait. Tests make it small.
var pieceWork, pieceWorkOpenCL, pieceWorkGPU = float64(1 << 30), float64(1 << 33), float64(64 << 30)

// piece is how many products, or rows of a single one, make up that work on the device of info.
func (x batch) piece(info *backend.Info) int {
	work := pieceWork
	switch {
	case info.GPU:
		work = pieceWorkGPU
	case !info.Host:
		work = pieceWorkOpenCL
	}
	row := float64(x.n) * float64(max(x.k, 1))
	if x.count > 1 {
		return max(1, int(work/(row*float64(x.m))))
	}
	rows := int(work / row)
	if !info.Host && rows >= openCLRows {
		return rows / openCLRows * openCLRows
	}
	return max(pieceRows, rows/pieceRows*pieceRows)
}

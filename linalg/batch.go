package linalg

import (
	"fmt"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
)

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
		return batch{}, fmt.Errorf("%w: Batch(%d): the number of products is negative", ErrShape, count)
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

package batched

import (
	"cmp"
	"fmt"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/linalg"
)

// MaxOrder is the most rows and columns that a matrix of a batch has. Beyond it a call is
// linalg.ErrShape: such matrices go one by one to [linalg.FactorLU] or [linalg.FactorCholesky],
// which put all cores to each.
const MaxOrder = 64

// Float lists the types of elements.
type Float = linalg.Float

// Array is linalg.Array.
type Array[T any] = linalg.Array[T]

// LU factors each matrix of a, P*A = L*U, where P swaps rows, L has a unit diagonal and U is upper
// triangular. a becomes L below the diagonals, without its own, and U above. Row q of pivots, of
// count by n, becomes the row that each row of matrix q changed places with, the first at first,
// counted from 0. Element q of status, of count by 1, becomes the first column of matrix q whose
// pivot is 0, -1 where none is, or -2 where numbers of U are beyond the type, though the matrix is
// finite: [LUError] reads it.
//
// A singular matrix is factored as well, and so is one with NaN, which comes through to L and U.
func LU[T Float](a *Array[T], pivots, status *Array[int32]) error {
	x, err := newBatch("LU", a, status)
	if err == nil {
		err = cmp.Or(x.check("pivots", pivots, x.n), x.check("status", status, 1))
	}
	if err == nil && inside.Overlap(pivots, status) {
		err = fmt.Errorf("%w: LU: pivots and status", linalg.ErrOverlap)
	}
	if err != nil || x.count == 0 {
		return err
	}
	return withScratch(x, 0, func(t *Array[T]) error {
		return launchLu[T](x.s, x.grid(), a, pivots, status, t, x.n, x.ld)
	})
}

// Cholesky factors each symmetric positive definite matrix of a, A = L*Lᵀ, of which it reads the
// lower triangle alone. a becomes L, with zeros above the diagonals. Element q of status, of count
// by 1, becomes the first row of matrix q where the root is not of a positive number, or -1:
// [CholeskyError] reads it.
//
// L of a matrix that is not positive definite goes on by the same formulas, with what the root of
// such a number, and a division by it, give.
func Cholesky[T Float](a *Array[T], status *Array[int32]) error {
	x, err := newBatch("Cholesky", a, status)
	if err == nil {
		err = x.check("status", status, 1)
	}
	if err != nil || x.count == 0 {
		return err
	}
	return withScratch(x, 0, func(t *Array[T]) error {
		return launchCholesky[T](x.s, x.grid(), a, status, t, x.n, x.ld)
	})
}

// SolveLU makes each right side in b, of n by m, the solution X of A*X = B, by what LU has left in
// a and pivots. That of a singular matrix has infinities or NaN, and so has one with numbers beyond
// the type. A pivot that is no row swaps nothing.
func SolveLU[T Float](b, a *Array[T], pivots *Array[int32]) error {
	x, err := newBatch("SolveLU", a, pivots)
	if err == nil {
		err = cmp.Or(x.check("pivots", pivots, x.n), checkSides(x, b, a))
	}
	if err != nil || empty(b) {
		return err
	}
	return withScratch(x, x.n*sides, func(t *Array[T]) error {
		return launchSolveLU[T](x.s, x.grid(), b, a, pivots, t, x.n, x.ld)
	})
}

// SolveCholesky makes each right side in b, of n by m, the solution X of A*X = B, by what Cholesky
// has left in a. A solution with numbers beyond the type has infinities or NaN.
func SolveCholesky[T Float](b, a *Array[T]) error {
	x, err := newBatch[T, T]("SolveCholesky", a, nil)
	if err == nil {
		err = checkSides(x, b, a)
	}
	if err != nil || empty(b) {
		return err
	}
	return withScratch(x, x.n*sides, func(t *Array[T]) error {
		return launchSolveCholesky[T](x.s, x.grid(), b, a, t, x.count, x.n, x.ld)
	})
}

// LUError is linalg.ErrSingular, with the matrix and its column, or linalg.ErrOverflow, of the
// first matrix that LU could not factor, else nil. It waits for status, which LU has written.
func LUError(status *Array[int32]) error {
	return first(status, linalg.ErrSingular, "pivot %d of matrix %d is 0")
}

// CholeskyError is linalg.ErrNotPositiveDefinite, with the first such matrix and its row, where
// Cholesky has met one, else nil. It waits for status, which Cholesky has written.
func CholeskyError(status *Array[int32]) error {
	return first(status, linalg.ErrNotPositiveDefinite, "row %d of matrix %d")
}

// first is the error of the first matrix that was not factored.
func first(status *Array[int32], kind error, detail string) error {
	if status == nil {
		return fmt.Errorf("%w: status is nil", linalg.ErrShape)
	}
	m, err := status.Download()
	if err != nil {
		return err
	}
	for q, state := range m.Data {
		switch {
		case state >= 0:
			return fmt.Errorf("%w: "+detail, kind, state, q)
		case state == beyond:
			return fmt.Errorf("%w: numbers of U of matrix %d are beyond its type; scale it", linalg.ErrOverflow, q)
		}
	}
	return nil
}

// A batch is count matrices of n by n.
type batch struct {
	op           string
	s            *linalg.Session
	count, n     int
	ld           int // elements of a row in scratch memory
	groups, wide int // work-items of a group
}

// checkMade says why there is no array.
func checkMade[T any](op, name string, a *Array[T]) error {
	if a == nil {
		return fmt.Errorf("%w: %s: %s is nil", linalg.ErrShape, op, name)
	}
	return a.Err()
}

// newBatch checks a, of as many matrices as c has rows, or, where that is nil, as a has room for.
func newBatch[T Float, C any](op string, a *Array[T], c *Array[C]) (batch, error) {
	if err := checkMade(op, "a", a); err != nil {
		return batch{}, err
	}
	rows, n := a.Dims()
	x := batch{op: op, s: a.Session(), count: rows / max(1, n), n: n}
	if c != nil {
		if err := c.Err(); err != nil {
			return batch{}, err
		}
		x.count, _ = c.Dims()
	}
	if rows != x.count*n {
		return batch{}, fmt.Errorf("%w: %s: a is %s, and %d square matrices below each other are %dx%d",
			linalg.ErrShape, op, a, x.count, x.count*n, n)
	}
	if n > MaxOrder {
		return batch{}, fmt.Errorf("%w: %s of %d matrices of %dx%d; %dx%d are the largest, others are for "+
			"linalg.FactorLU or linalg.FactorCholesky, one by one", linalg.ErrShape, op, x.count, n, n, MaxOrder,
			MaxOrder)
	}
	x.layOut(int(unsafe.Sizeof(*new(T))))
	return x, nil
}

// layOut chooses a grid: on processors strips of work-items that fill vectors, which machine code
// takes together, and few groups, so that their scratch memory stays in the caches; on GPUs warps,
// as many as may run at once.
func (x *batch) layOut(size int) {
	info := x.s.Info()
	x.wide, x.groups = 64/size, 4*info.ComputeUnits
	if info.GPU {
		x.wide, x.groups = 32, 32*info.ComputeUnits
	}
	x.groups = min(x.groups, (x.count+x.wide-1)/x.wide)
	if x.ld = x.n; x.n >= 16 {
		x.ld |= 1 // so that the elements of a column lie in different sets of a cache
	}
}

func (x *batch) grid() backend.Grid { return backend.Grid1(x.groups, x.wide) }

// check checks an array with a row of cols elements for each matrix.
func (x *batch) check(name string, c *Array[int32], cols int) error {
	if err := checkMade(x.op, name, c); err != nil {
		return err
	}
	if rows, n := c.Dims(); rows != x.count || n != cols {
		return fmt.Errorf("%w: %s of %d matrices of %dx%d: %s is %s, and must be %dx%d", linalg.ErrShape, x.op,
			x.count, x.n, x.n, name, c, x.count, cols)
	}
	return nil
}

// checkSides checks right sides.
func checkSides[T Float](x batch, b, a *Array[T]) error {
	if err := checkMade(x.op, "b", b); err != nil {
		return err
	}
	if rows, _ := b.Dims(); rows != x.count*x.n {
		return fmt.Errorf("%w: %s of %d matrices of %dx%d: b is %s, and must have %d rows", linalg.ErrShape, x.op,
			x.count, x.n, x.n, b, x.count*x.n)
	}
	if inside.Overlap(b, a) {
		return fmt.Errorf("%w: %s: b and a", linalg.ErrOverlap, x.op)
	}
	return nil
}

// withScratch calls f with memory for a matrix of each work-item, and rest elements more.
func withScratch[T Float](x batch, rest int, f func(*Array[T]) error) error {
	return inside.WithScratch(x.s, x.groups*(x.n*x.ld+rest), x.wide, f)
}

func empty[T any](a *Array[T]) bool {
	rows, cols := a.Dims()
	return rows == 0 || cols == 0
}

package np

import (
	"fmt"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/linalg"
)

func turned(rows, cols int) (int, int) { return cols, rows }

// T is a, transposed: a copy.
func T[E array.Element](a *Array[E]) *Array[E] { return transposed(a) }

func transposed[E array.Element](a *Array[E]) *Array[E] {
	return of(a, turned, func(c *Array[E]) error { return c.Transpose(a) })
}

// Reshape is [array.Reshape], a view.
func Reshape[T any](a *Array[T], rows, cols int) *Array[T] {
	if err := check(a); err != nil {
		return failed[T](err)
	}
	return or(a.Reshape(rows, cols))
}

// Rows is rows i to k-1 of a, a view, which panics as [linalg.Array.Slice] does.
func Rows[T any](a *Array[T], i, k int) *Array[T] {
	_, cols := a.Dims()
	return a.Slice(i, k, 0, cols)
}

// Cols is columns j to l-1 of a, a view, which panics as [linalg.Array.Slice] does.
func Cols[T any](a *Array[T], j, l int) *Array[T] {
	rows, _ := a.Dims()
	return a.Slice(0, rows, j, l)
}

// Concat is [array.Concat]: the parts above each other with axis 0, beside each other with axis 1.
func Concat[T array.Stored](axis int, parts ...*Array[T]) *Array[T] {
	switch {
	case len(parts) == 0:
		return failed[T](fmt.Errorf("%w: np: Concat of nothing", linalg.ErrShape))
	case axis != 0 && axis != 1:
		return failed[T](argument("Concat: axis is %d, and must be 0 or 1", axis))
	}
	if err := Err(parts...); err != nil {
		return failed[T](err)
	}
	rows, cols := parts[0].Dims()
	for _, p := range parts[1:] {
		m, n := p.Dims()
		if axis == 0 {
			rows += m
		} else {
			cols += n
		}
	}
	return made(parts[0].Session(), rows, cols, func(c *Array[T]) error { return array.Concat(c, parts...) })
}

// Pad is [array.Pad]: so many rows above and below a, and columns left and right of it, of v.
func Pad[T array.Stored](a *Array[T], above, below, left, right int, v T) *Array[T] {
	if min(above, below, left, right) < 0 {
		return failed[T](argument("Pad: a number of rows or columns is below 0: %v", []int{above, below, left, right}))
	}
	shape := func(rows, cols int) (int, int) { return above + rows + below, left + cols + right }
	return of(a, shape, func(c *Array[T]) error { return array.Pad(c, a, above, left, v) })
}

// Roll is [array.Roll].
func Roll[T array.Stored](a *Array[T], rows, cols int) *Array[T] {
	return unary(a, func(c, a *Array[T]) error { return array.Roll(c, a, rows, cols) })
}

// Flip is [array.Flip].
func Flip[T array.Stored](a *Array[T], rows, cols bool) *Array[T] {
	return unary(a, func(c, a *Array[T]) error { return array.Flip(c, a, rows, cols) })
}

// Diag is [array.Diag]: the diagonal of a as a row, or the square matrix whose diagonal a, a row or
// a column, is.
func Diag[T array.Stored](a *Array[T]) *Array[T] {
	shape := func(rows, cols int) (int, int) {
		if n := max(rows, cols); min(rows, cols) == 1 {
			return n, n
		}
		return 1, min(rows, cols)
	}
	return of(a, shape, func(c *Array[T]) error { return array.Diag(c, a) })
}

// Tril is [array.Tril].
func Tril[T array.Element](a *Array[T], k int) *Array[T] {
	return unary(a, func(c, a *Array[T]) error { return array.Tril(c, a, k) })
}

// Triu is [array.Triu].
func Triu[T array.Element](a *Array[T], k int) *Array[T] {
	return unary(a, func(c, a *Array[T]) error { return array.Triu(c, a, k) })
}

// Diff is [array.Diff], along the rows, or, with axis 0, down the columns.
func Diff[T array.Element](a *Array[T], axis ...int) *Array[T] {
	shape := func(rows, cols int) (int, int) { return rows, max(cols-1, 0) }
	switch {
	case len(axis) == 1 && axis[0] == 0:
		shape = func(rows, cols int) (int, int) { return max(rows-1, 0), cols }
	case len(axis) > 1 || len(axis) == 1 && axis[0] != 1:
		return failed[T](errAxis(axis))
	}
	return of(a, shape, func(c *Array[T]) error { return array.Diff(c, a) })
}

// index is a new array of count(index) rows or columns of a.
func byIndex[T any](a *Array[T], index *Array[int32], shape func(rows, cols, n int) (int, int),
	f func(c, a *Array[T], index *Array[int32]) error,
) *Array[T] {
	if err := check(index); err != nil {
		return failed[T](err)
	}
	m, n := index.Dims()
	return of(a, func(rows, cols int) (int, int) { return shape(rows, cols, m*n) },
		func(c *Array[T]) error { return f(c, a, index) })
}

// TakeRows is [array.TakeRows].
func TakeRows[T array.Stored](a *Array[T], index *Array[int32]) *Array[T] {
	return byIndex(a, index, func(_, cols, n int) (int, int) { return n, cols }, array.TakeRows[T])
}

// TakeCols is [array.TakeCols].
func TakeCols[T array.Stored](a *Array[T], index *Array[int32]) *Array[T] {
	return byIndex(a, index, func(rows, _, n int) (int, int) { return rows, n }, array.TakeCols[T])
}

// TakeAlong is [array.TakeAlong].
func TakeAlong[T array.Stored](a *Array[T], index *Array[int32]) *Array[T] {
	if err := check(a); err != nil {
		return failed[T](err)
	}
	return of(index, nil, func(c *Array[T]) error { return array.TakeAlong(c, a, index) })
}

// Shuffle is [array.Shuffle].
func Shuffle[T array.Stored](r *array.Stream, a *Array[T]) *Array[T] {
	return unary(a, func(c, a *Array[T]) error { return array.Shuffle(r, c, a) })
}

// Compress is [array.Compress], a row.
func Compress[T array.Stored](a *Array[T], mask *Array[bool]) *Array[T] {
	if err := check(mask); err != nil {
		return failed[T](err)
	}
	n := 0
	all := of(a, flat, func(c *Array[T]) (err error) {
		n, err = array.Compress(c, a, mask)
		return err
	})
	return head(all, n)
}

// head is the first n elements of the row a, in memory of their own.
func head[T array.Stored](a *Array[T], n int) *Array[T] {
	if _, cols := a.Dims(); n == cols {
		return a
	}
	defer a.Free()
	return Copy(a.Slice(0, 1, 0, n))
}

func flat(rows, cols int) (int, int) { return 1, rows * cols }

// Nonzero is [array.Nonzero], a row.
func Nonzero(mask *Array[bool]) *Array[int32] {
	n := 0
	all := of(mask, flat, func(c *Array[int32]) (err error) {
		n, err = array.Nonzero(c, mask)
		return err
	})
	return head(all, n)
}

// Unique is [array.Unique], rows: the different elements, and how often there is each.
func Unique[T array.Element](a *Array[T]) (elements *Array[T], counts *Array[int32]) {
	n := 0
	counts = of(a, flat, func(*Array[int32]) error { return nil })
	elements = of(a, flat, func(c *Array[T]) (err error) {
		n, err = array.Unique(c, counts, a)
		return err
	})
	return head(elements, n), head(with(elements, counts), n)
}

// UniqueInverse is [array.UniqueInverse]: the different elements, a row, and the number that each
// element of a has there.
func UniqueInverse[T array.Element](a *Array[T]) (elements *Array[T], inverse *Array[int32]) {
	n := 0
	inverse = of(a, nil, func(*Array[int32]) error { return nil })
	elements = of(a, flat, func(c *Array[T]) (err error) {
		n, err = array.UniqueInverse(c, inverse, a)
		return err
	})
	return head(elements, n), with(elements, inverse)
}

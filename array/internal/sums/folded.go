package sums

import (
	"math"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// An Order says which element is the largest.
type Order struct {
	Least bool // the smallest is
	Abs   bool // of floats, magnitudes count
}

// flip and mask are what makes keys in the order o.
func (o Order) flip() int64 {
	if o.Least {
		return -1
	}
	return 0
}

func (o Order) mask(abs int64) int64 {
	if o.Abs {
		return abs
	}
	return -1
}

// Most makes c the largest elements of x, in order o: over all, over the rows where c is a row,
// over the columns where it is a column. There must be some.
func Most[T linalg.Element](c, x *linalg.Array[T], o Order) error {
	switch c := any(c).(type) {
	case *linalg.Array[float32]:
		x := any(x).(*linalg.Array[float32])
		return fold[float32, float32](c, x, most32{}, value32{}, o.mask(math.MaxInt32), o.flip())
	case *linalg.Array[float64]:
		x := any(x).(*linalg.Array[float64])
		return fold[float64, float64](c, x, most64{}, value64{}, o.mask(math.MaxInt64), o.flip())
	case *linalg.Array[int32]:
		return fold[int32, int32](c, any(x).(*linalg.Array[int32]), mostInt{}, valueInt{}, 0, o.flip())
	}
	return nil
}

// Index makes c the first indices of what Most gives.
func Index[T linalg.Element](c *linalg.Array[int32], x *linalg.Array[T], o Order) error {
	switch x := any(x).(type) {
	case *linalg.Array[float32]:
		return fold[float32, int32](c, x, most32{}, index{}, o.mask(math.MaxInt32), o.flip())
	case *linalg.Array[float64]:
		return fold[float64, int32](c, x, most64{}, index{}, o.mask(math.MaxInt64), o.flip())
	case *linalg.Array[int32]:
		return fold[int32, int32](c, x, mostInt{}, index{}, 0, o.flip())
	}
	return nil
}

// Total makes c the sums of x, which wrap around.
func Total(c, x *linalg.Array[int32]) error { return fold[int32, int32](c, x, add32{}, total{}, 0, 0) }

// Count makes c how many elements of x are true.
func Count(c *linalg.Array[int32], x *linalg.Array[bool]) error {
	return fold[bool, int32](c, x, count{}, total{}, 0, 0)
}

// AtLeast makes c whether n elements of x or more are true.
func AtLeast(c, x *linalg.Array[bool], n int) error {
	return fold[bool, bool](c, x, count{}, reached{}, 0, int64(n))
}

// folders are what fold takes.
type folders interface {
	most32 | most64 | mostInt | add32 | count
	sum() bool
}

func fold[T, D float32 | float64 | int32 | bool, F folders, R value32 | value64 | valueInt | index | total | reached](
	c *linalg.Array[D], x *linalg.Array[T], f F, r R, mask, flip int64,
) error {
	s := c.Session()
	rows, cols := c.Dims()
	outputs := rows * cols
	if outputs == 0 {
		return nil
	}
	if outputs == 1 {
		x, _ = flat(x, x)
	}
	if xr, _ := x.Dims(); few(s.Info(), x, rows, cols) && (cols > 1 || xr == rows) {
		return LaunchFoldFew[T, D](s, gridOf(s.Info(), outputs), f, r, c, x, cols > 1, mask, flip)
	}
	l := newShape(s.Info(), x, rows, cols)
	return linalg.WithScratch(s, 1, 2*outputs*l.parts, func(parts *linalg.Array[int64]) error {
		if err := enqueueFold(parts, x, rows, cols, l, f, mask, flip); err != nil {
			return err
		}
		return LaunchFinish[D](s, backend.GridFor(outputs), r, c, parts, l.parts, f.sum(), flip)
	})
}

// enqueueFold folds into parts of rows by cols outputs.
func enqueueFold[T float32 | float64 | int32 | bool, F folders](parts *linalg.Array[int64], x *linalg.Array[T],
	rows, cols int, l shape, f F, mask, flip int64,
) error {
	s := x.Session()
	xr, xc := x.Dims()
	if cols > 1 {
		grid := backend.Grid2((cols+l.lanes-1)/l.lanes, l.parts, l.lanes, 1)
		return LaunchFoldAcross[T](s, grid, f, parts, x, mask, flip)
	}
	grid := backend.Grid2(l.parts, min(rows, maxGroups), l.lanes, 1)
	return LaunchFoldAlong[T](s, grid, f, parts, x, rows, xr/rows, xc, mask, flip)
}

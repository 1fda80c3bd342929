package sums

import (
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/linalg"
)

// An Order says which element Most gives, and Index but for Magnitude.
type Order int64

// Folders take -1 as the complement of keys, which turns their order round.
const (
	Smallest  Order = -1
	Largest   Order = 0
	Magnitude Order = 1 // of floats, the largest one
)

// As in sum.go.
var (
	mostFloat32  = fold[float32, float32, int32, ends32, value32]
	mostFloat64  = fold[float64, float64, int64, ends64, value64]
	mostInt32    = fold[int32, int32, int32, endsInt, valueInt]
	indexFloat32 = fold[float32, int32, int32, first32, index]
	indexFloat64 = fold[float64, int32, int64, first64, index]
	indexInt32   = fold[int32, int32, int32, firstInt, index]
)

// Most makes c the elements of x that are most in order o: over all, over the rows where c is a
// row, over the columns where it is a column. There must be some.
func Most[T linalg.Element](c, x *linalg.Array[T], o Order) error {
	switch c := any(c).(type) {
	case *linalg.Array[float32]:
		return mostFloat32(c, any(x).(*linalg.Array[float32]), ends32{}, value32{}, o)
	case *linalg.Array[float64]:
		return mostFloat64(c, any(x).(*linalg.Array[float64]), ends64{}, value64{}, o)
	case *linalg.Array[int32]:
		return mostInt32(c, any(x).(*linalg.Array[int32]), endsInt{}, valueInt{}, o)
	}
	return nil
}

// Index makes c the first indices of what Most gives.
func Index[T linalg.Element](c *linalg.Array[int32], x *linalg.Array[T], o Order) error {
	switch x := any(x).(type) {
	case *linalg.Array[float32]:
		return indexFloat32(c, x, first32{}, index{}, o)
	case *linalg.Array[float64]:
		return indexFloat64(c, x, first64{}, index{}, o)
	case *linalg.Array[int32]:
		return indexInt32(c, x, firstInt{}, index{}, o)
	}
	return nil
}

// Total makes c the sums of x, which wrap around.
func Total(c, x *linalg.Array[int32]) error {
	return fold[int32, int32, int32](c, x, add32{}, total{}, Largest)
}

// Count makes c how many elements of x are true.
func Count(c *linalg.Array[int32], x *linalg.Array[bool]) error {
	return fold[bool, int32, int32](c, x, count{}, total{}, Largest)
}

// Truth makes c whether an element of x is true, which is the Largest one, or all are.
func Truth(c, x *linalg.Array[bool], o Order) error {
	return fold[bool, bool, int32](c, x, endsBool{}, truth{}, o)
}

// folders and results are what fold takes.
type (
	folders interface {
		ends32 | ends64 | endsInt | endsBool | first32 | first64 | firstInt | add32 | count
		kind() int
	}
	results interface {
		value32 | value64 | valueInt | truth | index | total
	}
)

// isEach tells whether FoldEach is faster than FoldAlong, whose groups fold an output together.
func isEach[T any](info backend.Info, x *linalg.Array[T], rows, cols int) bool {
	xr, xc := x.Dims()
	most := [3]int{4096, 128, 32} // terms of a column, of a row, and of all
	switch {
	case !info.Host && !info.GPU && rows*cols >= lanesFor(info): // where a barrier is a loop over work-items
		return xr*xc <= 2048*rows*cols
	case !info.Host:
		return xr*xc <= 64*rows*cols
	case cols > 1:
		return xr <= most[0]
	case rows > 1:
		return xc <= most[1]
	}
	return xr*xc <= most[2]
}

func fold[T, D float32 | float64 | int32 | bool, K int32 | int64, F folders, R results](c *linalg.Array[D],
	x *linalg.Array[T], f F, r R, o Order,
) error {
	s := c.Session()
	rows, cols := c.Dims()
	outputs := rows * cols
	if outputs == 0 {
		return nil
	}
	if outputs == 1 {
		x, _ = Flat(x, x)
	}
	if xr, _ := x.Dims(); isEach(s.Info(), x, rows, cols) && (cols > 1 || xr == rows) {
		grid := gridOf(s.Info(), outputs)
		return LaunchFoldEach[T, D, K](s, grid, f, r, c, []int64(nil), x, cols > 1, K(o))
	}
	l := newShape(s.Info(), x, rows, cols)
	if l.parts == 1 {
		return enqueueFold[T, D, K](c, []int64(nil), x, rows, cols, l, f, r, o)
	}
	return inside.WithScratch(s, 1, 2*outputs*l.parts, func(parts *linalg.Array[int64]) error {
		if err := enqueueFold[T, D, K](c, parts, x, rows, cols, l, f, r, o); err != nil {
			return err
		}
		return finishFold(c, parts, l.parts, f.kind(), r, o)
	})
}

// enqueueFold folds into parts of rows by cols outputs, or where these are nil into c.
func enqueueFold[T, D float32 | float64 | int32 | bool, K int32 | int64, F folders, R results,
	P []int64 | *linalg.Array[int64]](c *linalg.Array[D], parts P, x *linalg.Array[T], rows, cols int, l shape,
	f F, r R, o Order,
) error {
	s := x.Session()
	xr, xc := x.Dims()
	if cols > 1 {
		grid := backend.Grid2((cols+l.lanes-1)/l.lanes, l.parts, l.lanes, 1)
		return LaunchFoldEach[T, D, K](s, grid, f, r, c, parts, x, true, K(o))
	}
	grid := backend.Grid2(l.parts, min(rows, maxGroups), l.lanes, 1)
	return LaunchFoldAlong[T, D, K](s, grid, f, r, c, parts, x, rows, xr/rows, xc, K(o))
}

// finishFold makes c of the parts of its elements.
func finishFold[D float32 | float64 | int32 | bool, R results](c *linalg.Array[D], parts *linalg.Array[int64],
	count, kind int, r R, o Order,
) error {
	s := c.Session()
	rows, cols := c.Dims()
	return LaunchFinish[D](s, endGrid(s.Info(), rows*cols, count), r, c, parts, count, kind, int64(o))
}

package sums

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// A Sum says what is added up into each element of C: the elements of X over all, over the rows
// where C is a row, over the columns where it is a column; or, where Y is not nil, their products
// with those of Y, which is X where C is a row.
type Sum[T linalg.Element] struct {
	C, X, Y *linalg.Array[T]
	Shift   *linalg.Array[T] // as many elements as C: subtracted from both factors; or nil
	Abs     bool             // magnitudes, without Y
	Over    uint64           // what the sum is divided by
	Root    bool             // the square root of that
}

// Enqueue enqueues a sum. Those of int32 have neither products nor what follows them.
func Enqueue[T linalg.Element](j Sum[T]) error {
	switch j := any(j).(type) {
	case Sum[float32]:
		if j.Y != nil { // the products are float64, exactly
			return enqueuePair(j, single{}, double{}, pair{})
		}
		return enqueueSingle(j, single{}, single{}, one{})
	case Sum[float64]:
		if j.Y != nil {
			return enqueueTwo(j, double{}, double{}, two{})
		}
		return enqueueDouble(j, double{}, double{}, one{})
	case Sum[int32]:
		return Total(j.C, j.X)
	}
	return nil
}

// Reductions of one type, as variables: generic functions that are called by name from generic ones
// are compiled by every package that calls those, for programs through package array, too.
var (
	enqueueSingle = enqueue[float32, float32, int32, single, single, one]
	enqueueDouble = enqueue[float64, float64, int64, double, double, one]
	enqueuePair   = enqueue[float32, float64, int64, single, double, pair]
	enqueueTwo    = enqueue[float64, float64, int64, double, double, two]
)

// Flat is x and y, of one shape, as rows where both are packed.
func Flat[X, Y any](x *linalg.Array[X], y *linalg.Array[Y]) (*linalg.Array[X], *linalg.Array[Y]) {
	rows, cols := x.Dims()
	if rows == 1 { // without new memory
		return x, y
	}
	u, err := x.Reshape(1, rows*cols)
	if err != nil {
		return x, y
	}
	v, err := y.Reshape(1, rows*cols)
	if err != nil {
		return x, y
	}
	return u, v
}

// maxScratch is the bytes that partial sums take at most: outputs beyond wait for the next launch.
const maxScratch = 32 << 20

// An accumulator is a format that numbers are added up in.
type accumulator interface {
	single | double
	words() int
	bottom() int
}

// enqueue adds up in format f, and rounds to that of r.
func enqueue[S, T float32 | float64, I int32 | int64, R single | double, F accumulator, P one | pair | two](
	j Sum[S], r R, f F, p P,
) error {
	s := j.C.Session()
	rows, cols := j.C.Dims()
	if rows*cols == 0 {
		return nil
	}
	if j.Y == nil {
		j.Y = j.X
	}
	if rows*cols == 1 {
		j.X, j.Y = Flat(j.X, j.Y)
	}
	const short = 128 // what Across takes for a column, before and after its terms
	xr, _ := j.X.Dims()
	small := few(s.Info(), j.X, rows, cols) && (cols == 1 || xr <= short)
	l := shapeOf(s.Info(), j.X, rows, cols)
	switch whole := cols == 1 && l.parts == 1; { // no array for a shift that is not there: small calls need no memory
	case small && j.Shift == nil:
		return enqueueFew[S, T, I](j, r, f, p, []S(nil))
	case small:
		return enqueueFew[S, T, I](j, r, f, p, j.Shift)
	case whole && j.Shift == nil:
		return enqueueWhole[S, T, I](j, r, f, p, l, []S(nil))
	case whole:
		return enqueueWhole[S, T, I](j, r, f, p, l, j.Shift)
	case j.Shift == nil:
		j.Shift = j.X.Slice(0, 0, 0, 0)
	}
	n := min(rows*cols, max(1, maxScratch/(8*Words*l.parts)))
	return linalg.WithScratch(s, 1, n*l.parts*Words, func(parts *linalg.Array[int64]) error {
		for i := 0; i < rows*cols; i += n {
			err := enqueuePart[S, T, I](j.part(i, min(i+n, rows*cols)), r, f, p, l, parts)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// few tells whether Few or FoldFew is faster than Along and the like, whose groups add up an output
// together.
func few[T any](info backend.Info, x *linalg.Array[T], rows, cols int) bool {
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

func enqueueFew[S, T float32 | float64, I int32 | int64, R single | double, F accumulator, P one | pair | two,
	A linalg.KernelArg[S],
](j Sum[S], r R, f F, p P, shift A) error {
	s := j.C.Session()
	rows, cols := j.C.Dims()
	height, width := j.X.Dims()
	switch {
	case cols > 1:
		width, j.Y = 1, j.X
	case rows > 1:
		height = 1
	}
	return LaunchFew[S, T, I](s, gridOf(s.Info(), rows*cols), f, p, r, j.C, j.X, j.Y, shift, height, width,
		cols > 1, j.Over, j.Root, maskOf[I](j.Abs))
}

// enqueueWhole is enqueue of sums over all, or over columns, by one group each.
func enqueueWhole[S, T float32 | float64, I int32 | int64, R single | double, F accumulator, P one | pair | two,
	A linalg.KernelArg[S],
](j Sum[S], r R, f F, p P, l shape, shift A) error {
	rows, _ := j.C.Dims()
	height, width := j.X.Dims()
	if rows > 1 {
		height = 1
	}
	grid := backend.Grid2(1, min(rows, maxGroups), l.lanes, 1)
	short := height*width <= maxShort
	return LaunchAlong[S, T, I](j.C.Session(), grid, f, p, r, j.C, j.X, j.Y, []int64(nil), shift, rows, height, width,
		l.turns, j.Over, j.Root, short, maskOf[I](j.Abs))
}

// maskOf is the bits of numbers that count: all but the sign of magnitudes.
func maskOf[I int32 | int64](abs bool) I {
	if abs {
		return ^(I(1) << (8*unsafe.Sizeof(I(0)) - 1))
	}
	return -1
}

// part is the sum of outputs i to k-1.
func (j Sum[T]) part(i, k int) Sum[T] {
	rows, cols := j.C.Dims()
	xr, xc := j.X.Dims()
	_, n := j.Shift.Dims()
	switch {
	case cols > 1:
		j.C, j.X = j.C.Slice(0, 1, i, k), j.X.Slice(0, xr, i, k)
		if n > 0 {
			j.Shift = j.Shift.Slice(0, 1, i, k)
		}
	case rows > 1:
		j.C, j.X, j.Y = j.C.Slice(i, k, 0, 1), j.X.Slice(i, k, 0, xc), j.Y.Slice(i, k, 0, xc)
		if n > 0 {
			j.Shift = j.Shift.Slice(i, k, 0, 1)
		}
	}
	return j
}

func enqueuePart[S, T float32 | float64, I int32 | int64, R single | double, F accumulator, P one | pair | two](
	j Sum[S], r R, f F, p P, l shape, parts *linalg.Array[int64],
) error {
	rows, cols := j.C.Dims()
	xr, xc := j.X.Dims()
	short := xr*xc/(rows*cols) <= maxShort
	whole := cols > 1 && l.parts == 1
	c := j.C
	if !whole {
		c = j.X.Slice(0, 0, 0, 0)
	}
	err := enqueueTerms[S, T, I](j, rows, cols, r, f, p, l, short, c, parts)
	if err != nil || whole {
		return err
	}
	return round(j.C.Session(), backend.GridFor(rows*cols), r, j.C, parts, l.parts, f, j.Over, j.Root)
}

// enqueueTerms adds up into parts of rows by cols outputs, or into c where this has elements.
func enqueueTerms[S, T float32 | float64, I int32 | int64, R single | double, F accumulator, P one | pair | two](
	j Sum[S], rows, cols int, r R, f F, p P, l shape, short bool, c *linalg.Array[S], parts *linalg.Array[int64],
) error {
	s := j.X.Session()
	xr, xc := j.X.Dims()
	mask := maskOf[I](j.Abs)
	if cols > 1 {
		grid := backend.Grid2((cols+l.lanes-1)/l.lanes, l.parts, l.lanes, 1)
		return LaunchAcross[S, T, I](s, grid, f, p, r, c, parts, j.X, j.Shift, l.turns, j.Over, j.Root,
			short, mask)
	}
	height := 1
	if rows == 1 {
		height = xr
	}
	grid := backend.Grid2(l.parts, min(rows, maxGroups), l.lanes, 1)
	return LaunchAlong[S, T, I](s, grid, f, p, r, c, j.X, j.Y, parts, j.Shift, rows, height, xc, l.turns, 1, false,
		short, mask)
}

// A shape is how a sum is cut into work-items, which changes no bit.
type shape struct {
	lanes int // work-items of a group
	turns int // numbers of a block for each
	parts int // of an output
}

// maxGroups is the groups of a grid in y at most.
const maxGroups = 65535

// newShape chooses the shape of a reduction of x to rows by cols.
func newShape[T any](info backend.Info, x *linalg.Array[T], rows, cols int) shape {
	xr, xc := x.Dims()
	const perUnit, least, most = 1 << 17, 4, 16 // numbers of a group, and groups of a core
	groups := max(1, info.ComputeUnits) * least
	if cols == 1 { // a core that begins late has a share, too
		groups = max(groups, min(max(1, info.ComputeUnits)*most, xr*xc/perUnit))
	}
	l := shape{lanes: 16, turns: MaxTurns} // a strip of the cpu device
	if unsafe.Sizeof(*new(T)) == 8 {
		l.lanes = 8
	}
	if !info.Host {
		l = shape{lanes: 64, turns: 32}
	}
	blocks := 0
	if cols > 1 {
		if l.turns = 64; info.Host {
			for l.lanes = 16; l.lanes < min(cols, 256); { // few sizes: PoCL compiles a kernel for each
				l.lanes *= 2
			}
		}
		blocks = (xr + l.turns - 1) / l.turns
	} else {
		blocks = (xr/rows*xc + l.lanes*l.turns - 1) / (l.lanes * l.turns)
	}
	if cols > 1 {
		groups /= (cols + l.lanes - 1) / l.lanes
	} else {
		groups /= rows
	}
	l.parts = max(1, min(groups, blocks))
	return l
}

// shapeOf is newShape for Across and Along. On the cpu device a group of Across is a strip.
func shapeOf[T any](info backend.Info, x *linalg.Array[T], rows, cols int) shape {
	l := newShape(info, x, rows, cols)
	if cols > 1 && info.Host {
		l.lanes, l.turns = 64/int(unsafe.Sizeof(*new(T))), MaxTurns
		if xr, _ := x.Dims(); xr <= 4096 {
			l.parts = 1
		}
	}
	return l
}

package sums

import (
	"cmp"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu/launch"
	"github.com/tandem-gpu/tandem/internal/inside"
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
		if j.Y != nil {
			return enqueueProducts32(j, single{}, product{})
		}
		if !j.C.Session().Info().Float64 {
			return enqueueBare(j)
		}
		return enqueueNumbers32(j, single{}, plain{})
	case Sum[float64]:
		if j.Y != nil {
			return enqueueProducts64(j, double{}, product{})
		}
		return enqueueNumbers64(j, double{}, plain{})
	case Sum[int32]:
		return Total(j.C, j.X)
	}
	return nil
}

// Reductions of one type, as variables: generic functions that are called by name from generic ones
// are compiled by every package that calls those, for programs through package array, too.
var (
	enqueueNumbers32  = enqueue[float32, single, plain]
	enqueueNumbers64  = enqueue[float64, double, plain]
	enqueueProducts32 = enqueue[float32, single, product]
	enqueueProducts64 = enqueue[float64, double, product]
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

// formats and kinds are what enqueue takes.
type (
	formats interface {
		single | double
		words() int
	}
	kinds     interface{ plain | product }
	lineKinds interface{ plain | product | bare }
)

func enqueue[S float32 | float64, F formats, P kinds](j Sum[S], f F, p P) error {
	s := j.C.Session()
	rows, cols := j.C.Dims()
	if rows*cols == 0 {
		return nil
	}
	j = j.completed()
	l := shapeOf(s.Info(), j.X, rows, cols)
	if rows*cols == 1 && j.X == j.Y && isFasterDown(j.X) {
		l = columnShape(s.Info(), j.X)
	}
	switch {
	case l.each:
		return enqueueLines(j, f, p, l)
	case l.parts > 1:
		return enqueueAndRound(j, f, p, l, enqueueParts)
	case j.Shift == nil: // small calls need no memory
		return enqueueAlong(j, rows, f, p, l, []int64(nil), []S(nil))
	}
	return enqueueAlong(j, rows, f, p, l, []int64(nil), j.Shift)
}

// enqueueBare is enqueue on a device without float64.
func enqueueBare(j Sum[float32]) error {
	rows, cols := j.C.Dims()
	if rows*cols == 0 {
		return nil
	}
	j = j.completed()
	return enqueueLines(j, single{}, bare{}, lineShape(j.C.Session().Info(), j.X, rows, cols))
}

// completed is j with Y, and with a row where all is added up.
func (j Sum[T]) completed() Sum[T] {
	if j.Y == nil {
		j.Y = j.X
	}
	if rows, cols := j.C.Dims(); rows*cols == 1 {
		j.X, j.Y = Flat(j.X, j.Y)
	}
	return j
}

// enqueueLines adds up by Each.
func enqueueLines[S float32 | float64, F formats, P lineKinds](j Sum[S], f F, p P, l shape) error {
	rows, cols := j.C.Dims()
	switch {
	case rows*cols == 1 && l.lines > mostLines:
		return enqueueTall(j, f, p)
	case l.parts > 1 || l.lines != rows*cols:
		return enqueueAndRound(j, f, p, l, enqueueEach)
	}
	grid := eachGrid(j.C.Session().Info(), l)
	return withSums(j.C.Session(), f, grid.Items()*grid.Count(), func(words *linalg.Array[int64]) error {
		return enqueueEach(j, f, p, l, words)
	})
}

// enqueueAndRound adds up by a function that leaves parts of lines of x.
func enqueueAndRound[S float32 | float64, F formats, P any](j Sum[S], f F, p P, l shape,
	add func(j Sum[S], f F, p P, l shape, words *linalg.Array[int64]) error,
) error {
	rows, cols := j.C.Dims()
	return withSums(j.C.Session(), f, l.lines*l.parts, func(words *linalg.Array[int64]) error {
		c := j.C
		j.C = j.X.Slice(0, 0, 0, 0)
		if err := add(j, f, p, l, words); err != nil {
			return err
		}
		return round(c, words, f, l.lines*l.parts/(rows*cols), quotient{j.Over, j.Root})
	})
}

// mostLines is the lines of a whole matrix that are added up at once, at most: their sums take
// maxScratch.
const mostLines = maxScratch / 8 / maxWords

// enqueueTall adds up a whole matrix by Each, so many of its lines at a time.
func enqueueTall[S float32 | float64, F formats, P lineKinds](j Sum[S], f F, p P) (err error) {
	s, c, x, y := j.C.Session(), j.C, j.X, j.Y
	sum, err := linalg.NewArray[int64](s, 1, f.words()+1)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, sum.Free()) }()
	rows, cols := x.Dims()
	j.C = x.Slice(0, 0, 0, 0)
	for from := 0; from < rows; from += mostLines {
		end := min(from+mostLines, rows)
		j.X, j.Y = x.Slice(from, end, 0, cols), y.Slice(from, end, 0, cols)
		if err := addParts(j, sum, 0, 1, f, p, lineShape(s.Info(), j.X, 1, 1), enqueueEach); err != nil {
			return err
		}
	}
	return round(c, sum, f, 1, quotient{j.Over, j.Root})
}

// addParts adds to so many sums, from the first on, what a function leaves of parts of lines of x.
func addParts[S float32 | float64, F formats, P any](j Sum[S], sums *linalg.Array[int64], first, outputs int, f F,
	p P, l shape,
	add func(j Sum[S], f F, p P, l shape, words *linalg.Array[int64]) error,
) error {
	s := sums.Session()
	l.spread = true
	return withSums(s, f, l.lines*l.parts, func(words *linalg.Array[int64]) error {
		if err := add(j, f, p, l, words); err != nil {
			return err
		}
		height := f.words() + 1
		return LaunchGather(s, backend.GridFor(height*outputs), sums, words, first, outputs, l.lines*l.parts/outputs,
			height)
	})
}

// withSums calls do with room for n sums.
func withSums[F formats](s *linalg.Session, f F, n int, do func(words *linalg.Array[int64]) error) error {
	return inside.WithScratch(s, 1, n*(f.words()+1), do)
}

// enqueueParts adds up into parts as the shape has it.
func enqueueParts[S float32 | float64, F formats, P kinds](j Sum[S], f F, p P, l shape, words *linalg.Array[int64],
) error {
	if l.each {
		return enqueueEach(j, f, p, l, words)
	}
	if j.Shift == nil {
		j.Shift = j.X.Slice(0, 0, 0, 0)
	}
	return enqueueAlong(j, l.lines, f, p, l, words, j.Shift)
}

func enqueueEach[S float32 | float64, F formats, P lineKinds](j Sum[S], f F, p P, l shape, words *linalg.Array[int64],
) error {
	if j.Shift == nil {
		j.Shift = j.X.Slice(0, 0, 0, 0)
	}
	s := j.X.Session()
	return LaunchEach[S](s, eachGrid(s.Info(), l), f, p, j.C, j.X, j.Y, words, j.Shift, l.down, l.spread, l.turns,
		quotient{j.Over, j.Root}, maskOf(j.Abs))
}

func enqueueAlong[S float32 | float64, F formats, P kinds, W launch.KernelArg[int64], A launch.KernelArg[S]](
	j Sum[S], outputs int, f F, p P, l shape, words W, shift A,
) error {
	xr, xc := j.X.Dims()
	grid := backend.Grid2(l.parts, min(outputs, maxGroups), l.lanes, 1)
	return LaunchAlong[S](j.X.Session(), grid, f, p, j.C, j.X, j.Y, words, shift,
		rows{outputs, xr / outputs, xc, l.turns, l.spread, j.X.Session().Info().GPU},
		quotient{j.Over, j.Root}, maskOf(j.Abs))
}

// round makes c of the parts of its sums.
func round[S float32 | float64, F formats](c *linalg.Array[S], words *linalg.Array[int64], f F, parts int, q quotient,
) error {
	s := c.Session()
	rows, cols := c.Dims()
	return LaunchRound[S](s, endGrid(s.Info(), rows*cols, min(parts, f.words())), f, c, words, parts, q)
}

// endGrid is a group for each output, of which work-items share so many numbers.
func endGrid(info backend.Info, outputs, numbers int) backend.Grid {
	lanes := lanesFor(info)
	for info.GPU && lanes < min(numbers, groupOf(info)) {
		lanes *= 2
	}
	return backend.Grid2(min(outputs, maxGroups), 1, lanes, 1)
}

// maskOf is the bits of numbers that count: all but the sign of magnitudes.
func maskOf(abs bool) int64 {
	if abs {
		return 1<<63 - 1
	}
	return -1
}

// A shape is how a sum is cut into work-items, which changes no bit.
type shape struct {
	lanes int  // work-items of a group
	turns int  // numbers of a block for each
	parts int  // of a line
	lines int  // which are added up one by one: a line for each output, or several for a whole matrix
	each  bool // a work-item a line, not a group
	down  bool // lines are columns

	spread bool // parts are left as words, for Gather
}

// maxGroups is the groups of a grid in one dimension at most.
const maxGroups = 65535

// newShape chooses the shape of a reduction of x to rows by cols.
func newShape[T any](info backend.Info, x *linalg.Array[T], rows, cols int) shape {
	xr, xc := x.Dims()
	const perUnit, least, most = 1 << 17, 4, 16 // numbers of a group, and groups of a core
	groups := max(1, info.ComputeUnits) * least
	if cols == 1 { // a core that begins late has a share, too
		groups = max(groups, min(max(1, info.ComputeUnits)*most, xr*xc/perUnit))
	}
	l := shape{lanes: stripOf[T](), turns: maxTurns}
	share := 256 // numbers of a work-item, at least
	switch {
	case info.GPU && cols == 1:
		l.lanes, share = groupOf(info), 8
	case !info.Host:
		l.lanes, share = 64, 32
	}
	shares := 0
	if cols > 1 {
		if share = 64; info.Host {
			for l.lanes = 16; l.lanes < min(cols, 256); { // few sizes: PoCL compiles a kernel for each
				l.lanes *= 2
			}
		}
		shares = (xr + share - 1) / share
		groups /= (cols + l.lanes - 1) / l.lanes
	} else {
		shares = (xr/rows*xc + l.lanes*share - 1) / (l.lanes * share)
		groups /= rows
	}
	l.parts = max(1, min(groups, shares))
	if info.GPU && cols == 1 {
		l.fit(max(1, info.ComputeUnits), rows, xr/rows*xc)
	}
	return l
}

// fit gives short lines on a GPU smaller groups, where there are enough of them, and parts of long
// ones blocks of one size.
func (l *shape) fit(units, lines, terms int) {
	for l.lanes > 32 && lines*l.lanes > 512*units {
		l.lanes /= 2
	}
	each := (terms + l.parts*l.lanes - 1) / (l.parts * l.lanes) // terms of a work-item
	blocks := max(1, (each+maxTurns-1)/maxTurns)
	l.turns = min(maxTurns, ((each+blocks-1)/blocks+7)&^7)
}

// groupOf is the work-items of a group on a GPU.
func groupOf(info backend.Info) int {
	n := maxLanes
	for n > max(info.MaxGroup, lanesFor(info)) {
		n /= 2
	}
	return n
}

// stripOf is the work-items of a strip of the cpu device.
func stripOf[T any]() int { return 64 / int(min(8, max(4, unsafe.Sizeof(*new(T))))) }

// shapeOf is newShape for sums. Groups add up lines where work-items of a group run at once, and
// lines are not short. PoCL ends the process where it is to compile Along.
func shapeOf[T any](info backend.Info, x *linalg.Array[T], rows, cols int) shape {
	xr, xc := x.Dims()
	most := fewQuick // terms of a row for a work-item
	if info.Host {
		most = mostGuessed
	}
	few := rows > 1 && xr == rows && xc <= most
	if cols > 1 || few || !info.Host && !info.GPU && xr > 0 {
		return lineShape(info, x, rows, cols)
	}
	l := newShape(info, x, rows, cols)
	l.lines = rows
	return l
}

// maxParts is how many parts of sums by Each leave, all in all, at most.
const maxParts = 1 << 16

// lineShape is the shape of a sum by Each. On the cpu device a group is a strip.
func lineShape[T any](info backend.Info, x *linalg.Array[T], rows, cols int) shape {
	if cols > 1 {
		return columnShape(info, x)
	}
	const share = 256 // terms of a work-item, at least
	xr, xc := x.Dims()
	l := newShape(info, x, rows, cols)
	l.each, l.lines, l.lanes = true, max(1, xr), lanesFor(info)
	l.parts = max(1, min(workItems(info)/l.lines, xc/share))
	return l
}

// columnShape is that of columns, a line each.
func columnShape[T any](info backend.Info, x *linalg.Array[T]) shape {
	xr, xc := x.Dims()
	l := newShape(info, x, 1, max(2, xc))
	l.each, l.down, l.lines = true, true, xc
	if info.Host {
		l.lanes = stripOf[T]()
	}
	if info.Host && xr <= 4096 {
		l.parts = 1
	}
	if info.GPU { // enough work-items to hide what memory takes
		const least, perUnit = 16, 1024
		warps := (xc + 31) / 32 * 32
		l.parts = max(1, min(max(1, info.ComputeUnits)*perUnit/warps, xr/least, maxParts/xc))
	}
	return l
}

// FewColumns are too few for a row to be a group's work.
const FewColumns = 8

// IsNarrow tells whether x is a few columns of a wider array on the cpu device, which has less to
// do down them, or in a packed copy, than along its rows.
func IsNarrow[T any](x *linalg.Array[T]) bool {
	rows, cols := x.Dims()
	const leastRows = 64
	return cols <= FewColumns && rows >= leastRows && cols > 0 && x.Stride() != cols && x.Session().Info().Host
}

// isFasterDown tells whether the sum of all of x is faster by columns: where these are few, but not
// of few rows, nor one alone, which a single work-item would have, unless it is beyond caches.
func isFasterDown[T any](x *linalg.Array[T]) bool {
	const leastRows, caches = 256, 1 << 23
	rows, cols := x.Dims()
	alone := cols == 1 && rows*x.Stride() <= caches/int(unsafe.Sizeof(*new(T)))
	return IsNarrow(x) && rows >= leastRows && !alone
}

// eachGrid is the grid of Each.
func eachGrid(info backend.Info, l shape) backend.Grid {
	lanes := min(l.lines, l.lanes)
	groups := (l.lines + lanes - 1) / lanes
	if l.parts == 1 {
		groups = min(groups, max(1, workItems(info)/lanes))
	}
	return backend.Grid2(groups, l.parts, lanes, 1)
}

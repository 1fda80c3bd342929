package array

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tandem-gpu/tandem/array/internal/sums"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/internal/parallel"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/linalg/files"
)

// A Reduction is a function of this package that makes one element of many, for matrices in host
// memory and in files, of any size: [ReduceContext] and [ReduceNPY].
type Reduction struct {
	Name, Formula string
	Index         bool // the results are indices, which are int32
	Floats        bool // it is of floats alone
	kind          sums.Kind
}

var reductions = []*Reduction{
	{Name: "sum", Formula: "the exact sum"},
	{Name: "mean", Formula: "the exact sum over the number of elements", Floats: true, kind: sums.Kind{Mean: true}},
	{Name: "min", Formula: "the smallest element", kind: sums.Kind{Most: true, Order: sums.Smallest}},
	{Name: "max", Formula: "the largest element", kind: sums.Kind{Most: true}},
	{
		Name: "argmin", Formula: "the first index of the smallest element", Index: true,
		kind: sums.Kind{Most: true, Index: true, Order: sums.Smallest},
	},
	{
		Name: "argmax", Formula: "the first index of the largest element", Index: true,
		kind: sums.Kind{Most: true, Index: true},
	},
	{
		Name: "norm", Formula: "the square root of the exact sum of squares", Floats: true,
		kind: sums.Kind{Squares: true},
	},
}

// Reductions are the reductions by name, with the bits of Sum, Mean, Min, Max, ArgMin, ArgMax, and
// Norm of kind 2.
func Reductions() []*Reduction { return append([]*Reduction(nil), reductions...) }

// ReductionOf is the reduction of this name, as "sum". Where there is none it is nil, which is an
// error of what takes it.
func ReductionOf(name string) *Reduction {
	for _, r := range reductions {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// Over is what a reduction goes over.
type Over int

// The result of a reduction of M by N elements is 1x1 over all, 1xN over the rows, Mx1 over the
// columns.
const (
	OverAll Over = iota
	OverRows
	OverColumns
)

// Dims is the shape of the result for rows by cols elements.
func (o Over) Dims(rows, cols int) (m, n int) {
	switch o {
	case OverRows:
		return 1, cols
	case OverColumns:
		return rows, 1
	}
	return 1, 1
}

// overOf is what a reduction of a, ar by ac, to c, rows by cols, goes over.
func overOf(op string, c, a fmt.Formatter, rows, cols, ar, ac int) (Over, error) {
	switch {
	case rows == 1 && cols == 1:
		return OverAll, nil
	case rows == 1 && cols == ac:
		return OverRows, nil
	case rows == ar && cols == 1:
		return OverColumns, nil
	}
	return 0, fmt.Errorf("%w: %s of %s into %s: the result is 1x1, 1x%d (over the rows) or %dx1 (over the columns)",
		linalg.ErrShape, op, a, c, ac, ar)
}

// terms is the number of elements that make one of the result.
func (o Over) terms(rows, cols int) int {
	switch o {
	case OverRows:
		return rows
	case OverColumns:
		return cols
	}
	return rows * cols
}

var errNoReduction = fmt.Errorf("array: %w: the reduction is nil", backend.ErrArgument)

// ReduceContext makes c what a reduction gives of a, on session s, or on the default device where s
// is nil. As in Sum the shape of c says over what, and c shares no elements with a. D is T, or
// int32 for indices. Parts of a go to all devices of the session, one after the other: a may be
// larger than their memory, and the bits are those of one device. It returns ctx's error soon after
// ctx is done; after an error c is undefined.
func ReduceContext[D, T Element](ctx context.Context, s *linalg.Session, op *Reduction, c linalg.Matrix[D],
	a linalg.Matrix[T],
) error {
	if op == nil {
		return errNoReduction
	}
	if err := cmp.Or(checkMatrix(op, "the destination", c), checkMatrix(op, "the operand", a)); err != nil {
		return err
	}
	over, err := overOf(op.Name, c, a, c.Rows, c.Cols, a.Rows, a.Cols)
	if err != nil {
		return err
	}
	r := reducer[T]{op: op, over: over, rows: a.Rows, cols: a.Cols}
	r.read = tilesOf(a)
	return reduceTo(ctx, s, &r, 0, func(part linalg.Matrix[D], row, col int) error {
		for i := range part.Rows {
			copy(c.Row(row + i)[col:], part.Row(i))
		}
		return nil
	})
}

// ReduceNPY writes what a reduction gives of a .npy file to another, on session s, or on the
// default device where s is nil, as [files.MatMul] works: neither needs to fit in memory. The
// result has two dimensions, and the type of the file, or int32 for indices. A file of one
// dimension is a row.
func ReduceNPY[T Element](ctx context.Context, s *linalg.Session, op *Reduction, over Over, c io.WriterAt,
	a io.ReaderAt, o files.Options,
) error {
	if op == nil {
		return errNoReduction
	}
	if op.Index {
		return reduceNPY[int32, T](ctx, s, op, over, c, a, o)
	}
	return reduceNPY[T, T](ctx, s, op, over, c, a, o)
}

func reduceNPY[D, T Element](ctx context.Context, s *linalg.Session, op *Reduction, over Over, c io.WriterAt,
	a io.ReaderAt, o files.Options,
) error {
	if err := inside.CheckFiles(c, a); err != nil {
		return err
	}
	in, err := files.Open[T](a)
	if err != nil {
		return err
	}
	if o.Memory, err = inside.HostLimit(o.Memory); err != nil {
		return err
	}
	r := reducer[T]{op: op, over: over}
	r.rows, r.cols = in.Dims()
	if err := r.check(); err != nil {
		return err
	}
	rows, cols := over.Dims(r.rows, r.cols)
	out, err := files.Create[D](c, rows, cols, o.Fortran)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	r.read = func(ctx context.Context, memory *[]T, t tile) (linalg.Matrix[T], error) {
		if *memory == nil {
			*memory = make([]T, r.height*r.width)
		}
		m := linalg.NewMatrix(t.rows, t.cols, (*memory)[:t.rows*t.cols])
		mu.Lock()
		defer mu.Unlock()
		return m, in.ReadPart(ctx, m, t.row, t.col)
	}
	return reduceTo(ctx, s, &r, o.Memory, func(part linalg.Matrix[D], row, col int) error {
		return out.WritePart(ctx, part, row, col)
	})
}

// checkMatrix says what is wrong with a matrix.
func checkMatrix[T Element](op *Reduction, name string, m linalg.Matrix[T]) error {
	n := len(m.Data)
	if m.Rows < 0 || m.Cols < 0 || m.Stride < m.Cols ||
		m.Rows > 0 && m.Cols > 0 && (n < m.Cols || (n-m.Cols)/m.Stride < m.Rows-1) {
		return fmt.Errorf("%w: %s: %s is %s with stride %d and %d values", linalg.ErrShape, op.Name, name, m,
			m.Stride, n)
	}
	return nil
}

// A tile is a part of a matrix.
type tile struct{ row, col, rows, cols int }

// A reducer is a reduction of a matrix by tiles.
type reducer[T Element] struct {
	op         *Reduction
	over       Over
	rows, cols int
	read       func(ctx context.Context, memory *[]T, t tile) (linalg.Matrix[T], error) // into memory, if need be

	share func(row, col int) (int, int) // where elements of a share lie in the matrix; nil for a whole one
	block int                           // so many rows and columns of a share lie side by side

	devices       []*linalg.Session // that have not failed
	width, height int               // of a tile
	outputs       int               // at a time, at most
	all, finished int               // elements
}

// tilesOf reads tiles of a matrix in host memory.
func tilesOf[T Element](m linalg.Matrix[T]) func(context.Context, *[]T, tile) (linalg.Matrix[T], error) {
	return func(_ context.Context, _ *[]T, t tile) (linalg.Matrix[T], error) {
		return m.Slice(t.row, t.row+t.rows, t.col, t.col+t.cols), nil
	}
}

// check says what does not fit together.
func (r *reducer[T]) check() error {
	_, isInt := any(*new(T)).(int32)
	terms := r.over.terms(r.rows, r.cols)
	switch m, n := r.over.Dims(r.rows, r.cols); {
	case r.over < OverAll || r.over > OverColumns:
		return argument(r.op.Name, fmt.Sprintf("there is no Over(%d)", r.over))
	case r.op.Floats && isInt:
		return fmt.Errorf("array: %s of int32: %w: it is for floating-point numbers", r.op.Name, backend.ErrUnsupported)
	case r.op.kind.Most && terms == 0 && m*n > 0:
		return fmt.Errorf("%w: %s of a %dx%d matrix: there is none of no elements", linalg.ErrShape, r.op.Name,
			r.rows, r.cols)
	case r.op.Index && terms > math.MaxInt32:
		return fmt.Errorf("%w: %s of a %dx%d matrix: an int32 has no index for %d elements", linalg.ErrShape, r.op.Name,
			r.rows, r.cols, terms)
	}
	return nil
}

// The most outputs that are reduced at a time, and bytes of a tile.
const mostOutputs = 1 << 14

var mostTile = 32 << 20

// cut chooses the tiles: of the host's memory they take a quarter at most, of each device's a
// quarter, as the outputs do.
func (r *reducer[T]) cut(memory int64) {
	bytes, states := int64(mostTile), mostOutputs*sums.StateBytes[T](r.op.kind)
	for _, d := range r.devices {
		quarter := inside.Sharer(d).Budget() / 4
		bytes, states = min(bytes, quarter), min(states, quarter)
	}
	r.outputs = max(1, int(states/sums.StateBytes[T](r.op.kind)))
	if memory > 0 {
		bytes = min(bytes, memory/4/int64(len(r.devices)))
	}
	room := max(1, int(bytes/int64(unsafe.Sizeof(*new(T)))))
	r.width = max(1, min(r.cols, room))
	if r.over == OverRows {
		r.width = min(r.width, r.outputs)
	}
	r.height = max(1, min(r.rows, room/r.width))
	if r.over == OverColumns {
		r.height = min(r.height, r.outputs)
	}
	if r.share != nil && r.op.Index { // an index counts from where a tile begins, which lies in one block
		r.width, r.height = divisor(r.block, r.width), divisor(r.block, r.height)
	}
}

// divisor is the largest divisor of n that is not above most.
func divisor(n, most int) int {
	d := min(n, most)
	for n%d != 0 {
		d--
	}
	return d
}

// checkResult says whether D is what a reduction gives of T.
func checkResult[D, T Element](op *Reduction) error {
	is, must := element.TypeOf[D](), element.TypeOf[T]()
	if op.Index {
		must = element.Int32
	}
	if is != must {
		return argument(op.Name, fmt.Sprintf("the result is of %s, and must be of %s", is, must))
	}
	return nil
}

// begin checks the reduction, and chooses tiles for s, or for the default device.
func (r *reducer[T]) begin(s *linalg.Session, memory int64) error {
	if err := r.check(); err != nil {
		return err
	}
	if s == nil {
		var err error
		if s, err = linalg.Default(); err != nil {
			return err
		}
	}
	r.devices = s.Sessions()
	r.cut(memory)
	return nil
}

// reduceTo reduces on s, or on the default device, and gives the result to write, part by part.
func reduceTo[D, T Element](ctx context.Context, s *linalg.Session, r *reducer[T], memory int64,
	write func(part linalg.Matrix[D], row, col int) error,
) error {
	err := cmp.Or(checkResult[D, T](r.op), r.begin(s, memory))
	if err != nil {
		return err
	}
	r.all = r.rows * r.cols
	rows, cols := r.over.Dims(r.rows, r.cols)
	switch r.over {
	case OverRows:
		for j := 0; j < cols && err == nil; j += r.width {
			region := tile{0, j, r.rows, min(r.width, cols-j)}
			err = reduceRegion(ctx, r, region, 1, region.cols, write)
		}
	case OverColumns:
		for i := 0; i < rows && err == nil; i += r.outputs {
			region := tile{i, 0, min(r.outputs, rows-i), r.cols}
			err = reduceRegion(ctx, r, region, region.rows, 1, write)
		}
	default:
		err = reduceRegion(ctx, r, tile{0, 0, r.rows, r.cols}, 1, 1, write)
	}
	return err
}

// reduceRegion reduces a region, which has all terms of rows by cols outputs.
func reduceRegion[D, T Element](ctx context.Context, r *reducer[T], region tile, rows, cols int,
	write func(part linalg.Matrix[D], row, col int) error,
) error {
	states, err := r.states(ctx, region, rows*cols)
	if err != nil {
		return err
	}
	m, err := result[D](r, rows, cols, states)
	if err != nil {
		return err
	}
	return write(m, region.row, region.col)
}

// result is what states come to, by the first device that does not fail.
func result[D, T Element](r *reducer[T], rows, cols int, states []int64) (m linalg.Matrix[D], err error) {
	var failed []error
	for _, s := range r.devices {
		if m, err = resultBy[D](r, s, rows, cols, states); err == nil {
			return m, nil
		}
		inside.Sharer(s).Account(0, err)
		failed = append(failed, err)
	}
	return m, errors.Join(failed...)
}

func resultBy[D, T Element](r *reducer[T], s *linalg.Session, rows, cols int, states []int64,
) (m linalg.Matrix[D], err error) {
	c, err := linalg.NewArray[D](s, rows, cols)
	if err != nil {
		return m, err
	}
	defer func() { err = cmp.Or(err, c.Free()) }()
	if err := sums.ResultOf[D, T](c, r.over.terms(r.rows, r.cols), r.op.kind, states); err != nil {
		return m, err
	}
	return c.Download()
}

// states reduces a region to outputs: what the tiles of each device come to, one after the other.
// Those of a device that fails go to the others, which are all that is left for what follows.
func (r *reducer[T]) states(ctx context.Context, region tile, outputs int) (states []int64, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var failed []error
	todo := r.tiles(region)
	for done := false; !done || len(todo) > 0; {
		x := sharing[T]{reducer: r, stop: stop, region: region, outputs: outputs, tiles: todo}
		turns := x.run(ctx)
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		todo = todo[min(int(x.next.Load()), len(todo)):]
		devices := r.devices
		r.devices = nil
		for i, t := range turns {
			if t.err != nil {
				failed, todo = append(failed, t.err), append(todo, t.tiles...)
				r.finished -= t.elements
				continue
			}
			done, states, r.devices = true, append(states, t.state...), append(r.devices, devices[i])
		}
		if len(r.devices) == 0 {
			return nil, errors.Join(failed...)
		}
	}
	return states, nil
}

// tiles are those of a region.
func (r *reducer[T]) tiles(region tile) (tiles []tile) {
	for i := 0; i < region.rows && region.cols > 0; i += r.height {
		for j := 0; j < region.cols; j += r.width {
			tiles = append(tiles, tile{
				region.row + i, region.col + j, min(r.height, region.rows-i), min(r.width, region.cols-j),
			})
		}
	}
	return tiles
}

// A sharing is of tiles of a region by the devices.
type sharing[T Element] struct {
	*reducer[T]
	stop    context.CancelCauseFunc // ends the work of all
	region  tile
	outputs int
	tiles   []tile
	next    atomic.Int64
}

// A turn is what a device does of them.
type turn struct {
	tiles    []tile // that it has taken
	elements int    // of those that are done
	state    []int64
	err      error
}

// run waits for the devices, and reports progress meanwhile.
func (x *sharing[T]) run(ctx context.Context) []turn {
	const end = -1
	report, turns := inside.Progress(ctx), make([]turn, len(x.devices))
	finished := make(chan int, len(x.tiles)+len(turns)) // elements
	var workers parallel.Group
	for i, s := range x.devices {
		workers.Go(func() {
			returned := false
			defer func() {
				if !returned {
					x.stop(nil) // after a panic the others stop, too
				}
				finished <- end
			}()
			t := &turns[i]
			if t.err = x.work(ctx, s, t, finished); t.err != nil {
				inside.Sharer(s).Account(0, t.err)
			} else {
				inside.Sharer(s).Account(t.elements, nil)
			}
			returned = true
		})
	}
	for running := len(turns); running > 0; {
		n := <-finished
		if n == end {
			running--
			continue
		}
		x.finished += n
		if report != nil {
			report(float64(x.finished) / float64(x.all))
		}
	}
	workers.Wait()
	return turns
}

// work adds up the tiles that come next, on device s.
func (x *sharing[T]) work(ctx context.Context, s *linalg.Session, t *turn, finished chan<- int) (err error) {
	p, err := sums.NewPartial[T](s, x.op.kind, x.outputs)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, p.Free()) }()
	a, err := linalg.NewArray[T](s, 1, x.height*x.width)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, a.Free()) }()
	var memory []T
	for ctx.Err() == nil {
		k := x.next.Add(1) - 1
		if k >= int64(len(x.tiles)) {
			t.state, err = p.State()
			return cmp.Or(s.Wait(), err)
		}
		next := x.tiles[k]
		t.tiles = append(t.tiles, next)
		m, err := x.read(ctx, &memory, next)
		if err != nil {
			x.stop(err) // which is no device's
			return nil
		}
		n := next.rows * next.cols
		part, err := a.Slice(0, 1, 0, n).Reshape(next.rows, next.cols)
		if err != nil {
			return err
		}
		if err := cmp.Or(part.CopyFrom(m), p.Add(x.part(part, x.region, next))); err != nil {
			return err
		}
		t.elements += n
		finished <- n
	}
	return nil
}

// part is what tile t of a region adds to its outputs; x has its elements.
func (r *reducer[T]) part(x *Array[T], region, t tile) sums.Part[T] {
	row, col := t.row, t.col
	if r.share != nil {
		row, col = r.share(row, col)
	}
	switch r.over {
	case OverRows:
		first := t.col - region.col
		return sums.Part[T]{X: x, Rows: 1, Cols: t.cols, First: first, Base: row, Width: 1, Pitch: 1}
	case OverColumns:
		return sums.Part[T]{X: x, Rows: t.rows, Cols: 1, First: t.row - region.row, Base: col, Width: t.cols}
	}
	return sums.Part[T]{X: flat(x), Rows: 1, Cols: 1, Base: row*r.cols + col, Width: t.cols, Pitch: r.cols}
}

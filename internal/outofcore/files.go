package outofcore

import (
	"context"
	"runtime"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/internal/parallel"
	"github.com/tandem-gpu/tandem/internal/tiles"
)

// Files is an operation from .npy files to one: blocks of the result are computed one after the
// other, from regions of the inputs that are read where they lie, the next ones during the work on
// those before.
type Files[T element.Element] struct {
	Shape
	In      []*npy.Blocks[T]
	Out     *npy.Blocks[T]
	Memory  int64 // bytes of the host's that all may take
	MaxDim  int   // the most rows, columns and steps of a block
	Devices []*Device
	// Compute makes a block of the result, operand 0, of regions of the inputs, for the steps from
	// k on, which continue what is there if k is not 0. All are packed. It reports the finished
	// fraction, if report is not nil.
	Compute func(ctx context.Context, report func(fraction float64), k int, operands [3]Block[T]) error
}

// A Block is a packed matrix in the host's memory.
type Block[T element.Element] struct {
	Rows, Cols int
	Data       []T
}

// resize gives the block another shape. Its memory grows if need be, and keeps nothing then.
func (b *Block[T]) resize(rows, cols int) {
	if b.Data == nil || cap(b.Data) < rows*cols {
		b.Data = make([]T, rows*cols)
	}
	b.Rows, b.Cols, b.Data = rows, cols, b.Data[:rows*cols]
}

// Run computes the result. Where report is not nil, it learns the finished fraction.
func (f *Files[T]) Run(ctx context.Context, report func(fraction float64)) error {
	if f.Rows == 0 || f.Cols == 0 {
		return nil
	}
	room := f.budget()
	cut, ok := f.cut(room)
	if !ok {
		return backend.Failure("", "linalg", backend.ErrOutOfMemory,
			"no block of the result fits in the %d bytes that Options.Memory or %s allows", f.Memory, EnvHostMemory)
	}
	w := fileWork[T]{Files: f, cut: cut, report: report, copied: room.copies > 1}
	w.all = float64(f.Rows) * float64(f.Cols) * float64(max(1, f.Steps))
	return w.run(ctx)
}

// A source is an input, of which two regions are in memory: that of the present work, and that of
// the next.
type source[T element.Element] struct {
	*npy.Blocks[T]
	blocks [2]Block[T]
	has    [2]tiles.Tile
	latest int
}

// read is a region of the file. It stays as it is until another one was read, and one after that is
// asked for.
func (s *source[T]) read(ctx context.Context, t tiles.Tile) (Block[T], error) {
	if s.has[s.latest] == t && s.blocks[s.latest].Data != nil {
		return s.blocks[s.latest], nil
	}
	s.latest = 1 - s.latest
	b := &s.blocks[s.latest]
	b.resize(t.Rows, t.Cols)
	s.has[s.latest] = t
	return *b, s.Move(ctx, t.Row, t.Col, t.Rows, t.Cols, b.Data, t.Cols)
}

// fileWork is an operation on files, under way.
type fileWork[T element.Element] struct {
	*Files[T]
	cut       cut
	report    func(fraction float64)
	done, all float64  // elements times steps
	c         Block[T] // of the result
	copied    bool     // devices compute parts of blocks in copies that Go has to collect
	garbage   int      // bytes of these
}

// minGarbage is how many bytes of copies are worth the milliseconds of a collection.
const minGarbage = 16 << 20

// loaded is a part with what it needs of the files.
type loaded[T element.Element] struct {
	part
	in  [2]Block[T]
	err error
}

// run computes the parts one after the other, reads what the next one needs meanwhile, and writes
// the blocks.
func (w *fileWork[T]) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	next := make(chan loaded[T]) // a send ends when the work before has ended: its memory is free then
	var reader parallel.Group
	defer reader.Wait()
	defer cancel()
	reader.Go(func() { w.load(ctx, next) })
	w.c.resize(w.cut.rows, w.cut.cols)
	for r := range next {
		if r.err != nil {
			return r.err
		}
		if err := w.part(ctx, r); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// load sends all parts.
func (w *fileWork[T]) load(ctx context.Context, next chan<- loaded[T]) {
	defer close(next)
	var sources [2]source[T]
	for p := range w.parts(w.cut) {
		r := loaded[T]{part: p}
		for i, in := range w.In {
			if sources[i].Blocks = in; r.err == nil {
				r.in[i], r.err = sources[i].read(ctx, w.Region(i+1, p.c, p.k, p.l))
			}
		}
		select {
		case next <- r:
		case <-ctx.Done():
			return
		}
		if r.err != nil {
			return
		}
	}
}

// part computes a part, writes the block after its last step, and says how far all is.
func (w *fileWork[T]) part(ctx context.Context, r loaded[T]) error {
	c := &w.c
	c.resize(r.c.Rows, r.c.Cols)
	work := float64(len(c.Data)) * float64(max(1, r.l-r.k))
	var report func(float64)
	if w.report != nil {
		report = func(fraction float64) { w.report((w.done + fraction*work) / w.all) }
	}
	if err := w.Compute(ctx, report, r.k, [3]Block[T]{*c, r.in[0], r.in[1]}); err != nil {
		return err
	}
	if w.garbage += len(c.Data) * w.Out.Type.Size(); w.copied && w.garbage > minGarbage {
		runtime.GC()
		w.garbage = 0
	}
	if r.l == w.Steps {
		if err := w.Out.Move(ctx, r.c.Row, r.c.Col, c.Rows, c.Cols, c.Data, c.Cols); err != nil {
			return err
		}
	}
	if w.done += work; w.report != nil {
		w.report(w.done / w.all)
	}
	return nil
}

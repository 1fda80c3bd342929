package linalg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/internal/tiles"
	"github.com/tandem-gpu/tandem/kernels"
)

// EnvHostMemory is the environment variable that limits the host's memory in functions from files
// to files, such as [MatMulNPY]: as [EnvMemory] has it, of the machine's memory.
const EnvHostMemory = "TANDEM_HOST_MEMORY"

// HostMemory is how many bytes of the host's memory functions from files to files use at most: what
// EnvHostMemory says, or else three quarters of the machine's memory.
func HostMemory() (int64, error) {
	limit, err := readMemoryLimit(EnvHostMemory)
	return limit.of(hostMemory()), err
}

// FileOptions are how [MatMulNPY] and the like work and write. The zero value is a good one.
type FileOptions struct {
	// Memory is how many bytes of the host's memory the program is to use at most; 0 stands for
	// what HostMemory says. 192 MiB of it, or half, and 64 MiB for each device with memory of its
	// own, are left to all that is no matrix.
	Memory int64
	// Fortran: the result is written column by column.
	Fortran bool
}

// MatMulNPY writes the product of two .npy files to a third, on session s, or on the default device
// where s is nil. None of them needs to fit in memory: blocks of C are computed one after the
// other, from panels of A and B that are read where they lie, the next ones during the work on
// those before. The chains are those of MatMul, and so are the bits.
//
// The files hold elements of type T, in either byte order, in C or Fortran order. Those of one
// dimension are vectors, as in NumPy's matmul: A is a row, B a column, and that dimension is
// missing in the result. c, another file than a and b, becomes what numpy.save writes, but not from
// front to back; after an error what is in it is of no use. Each may be an *os.File. What is to be
// there whole or not at all is written under another name, and renamed.
//
// Progress is reported as WithProgress says, and ctx's error comes soon after ctx is done. The
// error matches ErrNPY where a file is damaged, holds something else, or changes before the end, as
// far as its Stat tells; ErrShape; backend.ErrOutOfMemory where o.Memory has no room for a block;
// or it is the files' or a device's own.
func MatMulNPY[T Element](ctx context.Context, s *Session, c io.WriterAt, a, b io.ReaderAt, o FileOptions) error {
	x := call[T]{op: product[T]{}, count: 1, tA: blas.NoTrans, tB: blas.NoTrans, update: update[T]{alpha: 1}}
	return onFiles(ctx, s, x, o, c, a, b)
}

// TransposeNPY writes the transpose of a .npy file to another, as MatMulNPY works. A file of one
// dimension stays as it is.
func TransposeNPY[T Element](ctx context.Context, s *Session, c io.WriterAt, a io.ReaderAt, o FileOptions) error {
	return onFiles(ctx, s, call[T]{op: transposition[T]{}}, o, c, a)
}

// A fileJob is a call whose matrices are files.
type fileJob[T Element] struct {
	call[T]
	s       *Session
	in      []*source[T] // A and B
	out     *npy.Blocks[T]
	m, n, k int // C is m by n, with k steps of a product, else 1

	blocking
	copied bool // devices compute parts of blocks in copies that Go has to collect
}

// A blocking is how C is cut into blocks, whose panels have some steps of k.
type blocking struct {
	rows, cols, depth int
	down              bool // the block below comes next, not the one beside
}

func onFiles[T Element](ctx context.Context, s *Session, x call[T], o FileOptions, c io.WriterAt, in ...io.ReaderAt,
) (err error) {
	if s == nil {
		if s, err = Default(); err != nil {
			return err
		}
	}
	if o.Memory == 0 {
		if o.Memory, err = HostMemory(); err != nil {
			return err
		}
	}
	x.n = 1 + len(in)
	f := fileJob[T]{call: x, s: s, k: 1}
	for _, r := range in {
		unchanged, in := watch(r), new(source[T])
		if in.Blocks, err = npy.OpenBlocks[T](r); err == nil {
			err = checkType[T](in.Header)
		}
		if err != nil {
			return errNPY(err)
		}
		f.in = append(f.in, in)
		defer func() {
			if err == nil || errors.Is(err, ErrNPY) { // where the file was cut, its name says more
				err = cmp.Or(unchanged(), err)
			}
		}()
	}
	shape, err := f.op.shape(&f)
	if err != nil {
		return err
	}
	h := &npy.Header{Type: element.TypeOf[T](), Shape: shape, Fortran: o.Fortran}
	if f.out, err = npy.CreateBlocks[T](c, h); err != nil || f.m == 0 || f.n == 0 {
		return err
	}
	f.out.Rows, f.out.Cols = f.m, f.n
	if err := f.cut(o.Memory); err != nil {
		return err
	}
	return errNPY(f.compute(ctx))
}

// watch gives a function that returns an error where r is not what it was, as far as its Stat
// tells.
func watch(r io.ReaderAt) (unchanged func() error) {
	f, ok := r.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return func() error { return nil }
	}
	before, err := f.Stat()
	return func() error {
		if err != nil {
			return err
		}
		now, err := f.Stat()
		if err == nil && (now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime())) {
			err = fmt.Errorf("%w: %s has changed while it was read", ErrNPY, before.Name())
		}
		return err
	}
}

// A part is some steps of k of a block of C.
type part struct {
	c    tiles.Tile
	k, l int
}

// region is what a part needs of file i.
func (f *fileJob[T]) region(i int, p part) tiles.Tile { return f.op.region(i+1, p.c, p.k, p.l) }

// parts are all parts in their order. It turns at the edges, where what was read last is of use
// again.
func (f *fileJob[T]) parts() iter.Seq[part] {
	rows, cols := ceil(f.m, f.rows), ceil(f.n, f.cols)
	return func(yield func(part) bool) {
		for p := range rows * cols {
			i, j := p/cols, p%cols
			if f.down {
				i, j = p%rows, p/rows
			}
			if f.down && j%2 == 1 {
				i = rows - 1 - i
			} else if !f.down && i%2 == 1 {
				j = cols - 1 - j
			}
			c := tiles.Tile{Row: i * f.rows, Col: j * f.cols}
			c.Rows, c.Cols = min(f.rows, f.m-c.Row), min(f.cols, f.n-c.Col)
			for k, l := 0, -1; l < f.k; k = l {
				l = min(k+f.depth, f.k)
				if !yield(part{c, k, l}) {
					return
				}
			}
		}
	}
}

// runCost is how many bytes are read in the time that it takes to begin elsewhere in a file.
const runCost = 32 << 10

// cut chooses the blocks and the panels that fit in so much memory at the least cost. Two panels of
// each operand are there at a time.
func (f *fileJob[T]) cut(memory int64) error {
	room, copies, stepCost := f.room(memory)
	least := math.Inf(1)
	for rows := range lengths(f.m) {
		for cols := range lengths(f.n) {
			depth, ok := f.depthIn(room-copies*rows*cols, rows, cols)
			if !ok {
				continue
			}
			for _, down := range []bool{false, true} {
				b := blocking{rows, cols, depth, down}
				if cost := f.cost(b, stepCost); cost < least {
					least, f.blocking = cost, b
				}
			}
		}
	}
	if f.rows == 0 {
		return &backend.Error{
			Op: "linalg", Err: backend.ErrOutOfMemory,
			Detail: fmt.Sprintf("no block of the result fits in the %d bytes that %s allows", memory, EnvHostMemory),
		}
	}
	return nil
}

// lengths are n cut into 1, 2 and more even parts, down to length 1.
func lengths(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 1; ; i += 1 + i/8 {
			if length := ceil(n, i); !yield(length) || length == 1 {
				return
			}
		}
	}
}

// depthIn is how many steps of k the panels of a block of rows by cols can have, where they have
// room for so many elements; false if there is no room.
func (f *fileJob[T]) depthIn(room, rows, cols int) (depth int, ok bool) {
	depth = 1
	if f.reuses() {
		depth = min(f.k, kernels.MaxDim, room/(2*(rows+cols)))
		if f.k > 0 && depth > 0 {
			depth = ceil(f.k, ceil(f.k, depth))
		}
	} else {
		room -= 2 * len(f.in) * rows * cols
	}
	return depth, room >= 0 && (depth >= 1 || f.k == 0) && max(rows, cols) <= kernels.MaxDim
}

// cost is what it takes to read and write the files by such blocks, in bytes of a file; a step's
// cost is that of room.
func (f *fileJob[T]) cost(b blocking, stepCost float64) float64 {
	cost := passCost(f.out, b.rows, b.cols)
	if b.depth > 0 {
		size := float64(f.out.Type.Size())
		cost += stepCost * size * float64(f.m) * float64(f.n) * float64(ceil(f.k, b.depth)-1)
	}
	block := part{tiles.Tile{Rows: b.rows, Cols: b.cols}, 0, b.depth}
	for i, in := range f.in {
		if r := f.region(i, block); r.Rows > 0 && r.Cols > 0 {
			cost += f.passes(i, b) * passCost(in.Blocks, r.Rows, r.Cols)
		}
	}
	return cost
}

// passes is how often file i is read.
func (f *fileJob[T]) passes(i int, b blocking) float64 {
	onRows, onCols := dependsOn(f.op, i+1)
	switch {
	case !onCols && (b.down || b.depth < f.k): // one region for all blocks beside each other
		return float64(ceil(f.n, b.cols))
	case !onRows && (!b.down || b.depth < f.k):
		return float64(ceil(f.m, b.rows))
	}
	return 1
}

// passCost is the cost to go once through a file by regions of r by c, in bytes.
func passCost[T Element](b *npy.Blocks[T], r, c int) float64 {
	rows, cols := b.Rows, b.Cols
	if b.Fortran() {
		rows, cols, r, c = cols, rows, c, r
	}
	runs := float64(ceil(rows, r))
	if c < cols {
		runs = float64(rows) * float64(ceil(cols, c))
	}
	return float64(b.Type.Size())*float64(rows)*float64(cols) + runCost*runs
}

// room is how many elements the matrices may have at a time, how often C counts, and what it costs
// to continue the chains of a byte of C, in bytes of a file. What devices need for themselves of
// the host's memory is left to them.
func (f *fileJob[T]) room(memory int64) (elements, copies int, stepCost float64) {
	devices := f.s.devices()
	program, copies, stepCost := int64(programMemory), 1, 0.25
	for _, d := range devices {
		switch {
		case !d.sharesMemory():
			program += int64(2 * stagingBuffers * stagingBytes)
			stepCost = 2
		case len(devices) > 1:
			copies, f.copied = 2, true
		}
	}
	return int((memory - min(memory/2, program)) / int64(f.out.Type.Size())), copies, stepCost
}

// minGarbage is how many bytes of copies are worth the milliseconds of a collection.
const minGarbage = 16 << 20

// programMemory is what a program takes beside the matrices: itself, PoCL's compiler, buffers.
const programMemory = 192 << 20

func ceil(n, by int) int { return (n + by - 1) / by }

// A source is an operand, of which two panels are in memory: that of the present work, and that of
// the next.
type source[T Element] struct {
	*npy.Blocks[T]
	panels [2]Matrix[T]
	has    [2]tiles.Tile
	latest int
}

// read is a region of the file. It stays as it is until another one was read, and one after that is
// asked for.
func (s *source[T]) read(ctx context.Context, t tiles.Tile) (Matrix[T], error) {
	if s.has[s.latest] == t && s.panels[s.latest].Data != nil {
		return s.panels[s.latest], nil
	}
	s.latest = 1 - s.latest
	p := &s.panels[s.latest]
	if p.Data == nil || cap(p.Data) < t.Rows*t.Cols {
		p.Data = make([]T, t.Rows*t.Cols)
	}
	*p = NewMatrix(t.Rows, t.Cols, p.Data[:t.Rows*t.Cols])
	s.has[s.latest] = t
	return *p, s.Read(ctx, t.Row, t.Col, t.Rows, t.Cols, p.Data, p.Stride)
}

// compute computes the parts one after the other, reads those of the next meanwhile, and writes the
// blocks.
func (f *fileJob[T]) compute(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	type loaded struct {
		part
		in  [2]Matrix[T]
		err error
	}
	next := make(chan loaded) // a send ends when the work before has ended: its panels are free then
	var reader sync.WaitGroup
	defer reader.Wait()
	defer cancel()
	reader.Go(func() {
		defer close(next)
		for p := range f.parts() {
			r := loaded{part: p}
			for i, in := range f.in {
				if r.err == nil {
					r.in[i], r.err = in.read(ctx, f.region(i, p))
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
	})
	memory, copied := make([]T, f.rows*f.cols), 0
	report, done, all := progress(ctx), 0.0, float64(f.m)*float64(f.n)*float64(max(1, f.k))
	for r := range next {
		if r.err != nil {
			return r.err
		}
		c, x := NewMatrix(r.c.Rows, r.c.Cols, memory[:r.c.Rows*r.c.Cols]), f.call
		x.matrices = [3]Matrix[T]{c, r.in[0], r.in[1]}
		if r.k > 0 {
			x.update = addMul[T]()
		}
		work, inner := float64(len(c.Data))*float64(max(1, r.l-r.k)), ctx
		if report != nil {
			inner = WithProgress(ctx, func(part float64) { report((done + part*work) / all) })
		}
		if _, err := x.run(inner, f.s); err != nil {
			return err
		}
		if copied += len(c.Data) * int(f.out.Type.Size()); f.copied && copied > minGarbage {
			runtime.GC()
			copied = 0
		}
		if r.l == f.k {
			if err := f.out.Write(ctx, r.c.Row, r.c.Col, c.Rows, c.Cols, c.Data, c.Stride); err != nil {
				return err
			}
		}
		if done += work; report != nil {
			report(done / all)
		}
	}
	return ctx.Err()
}

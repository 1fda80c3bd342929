package cluster

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// A Matrix is a dense matrix that the ranks of a grid hold together: each has the blocks that are
// dealt to it, in host memory. Its devices get copies while they compute.
type Matrix[T linalg.Element] struct {
	g          *Grid
	rows, cols int
	local      linalg.Matrix[T] // packed
}

// New makes a matrix of zeros. The error matches backend.ErrOutOfMemory where a rank's machine has
// no room for its part.
func New[T linalg.Element](g *Grid, rows, cols int) (*Matrix[T], error) {
	if err := g.check("New"); err != nil {
		return nil, err
	}
	hi, n := bits.Mul64(uint64(rows), uint64(cols))
	if rows < 0 || cols < 0 || rows > kernels.MaxDim || cols > kernels.MaxDim || hi != 0 || n > math.MaxInt/8 {
		return nil, g.c.alike("%w", shapeError("a matrix of %dx%d", rows, cols))
	}
	m := &Matrix[T]{g: g, rows: rows, cols: cols}
	r, c := m.part(g.c.rank)
	if err := m.room("New", "a part", r, c); err != nil {
		return nil, err
	}
	m.local = linalg.NewMatrix[T](r, c, nil)
	return m, nil
}

// room is an error where this machine has none for so much of m.
func (m *Matrix[T]) room(op, what string, rows, cols int) error {
	size, limit := uint64(rows)*uint64(cols)*uint64(element.TypeOf[T]().Size()), hostMemory()
	if limit == 0 || size <= uint64(limit) {
		return nil
	}
	return m.g.c.fail(backend.Failure("", "cluster."+op, backend.ErrOutOfMemory,
		"%d bytes are needed for %s of %s; this machine has %d", size, what, m, limit))
}

// hostMemory is the largest buffer of this machine in bytes, 0 where that is not known: Go does not
// return from a make that is too large.
var hostMemory = sync.OnceValue(func() int64 { return backend.HostInfo().MaxAlloc })

// part is how many rows and columns a rank has of m.
func (m *Matrix[T]) part(rank int) (rows, cols int) {
	row, col := m.g.place(rank)
	return owned(m.rows, m.g.block, row, m.g.rows), owned(m.cols, m.g.block, col, m.g.cols)
}

// largest is the number of bytes of the largest part.
func (m *Matrix[T]) largest() int {
	rows, cols := m.part(0)
	return rows * cols * element.TypeOf[T]().Size()
}

// Dims is the number of rows and columns of the whole matrix.
func (m *Matrix[T]) Dims() (rows, cols int) { return m.rows, m.cols }

// Grid is the grid whose ranks hold the matrix.
func (m *Matrix[T]) Grid() *Grid { return m.g }

// String is the shape and type, and the ranks, for messages.
func (m *Matrix[T]) String() string {
	return fmt.Sprintf("%dx%d %s on %dx%d ranks", m.rows, m.cols, element.TypeOf[T](), m.g.rows, m.g.cols)
}

// Local is what this rank holds: the rows and columns that are dealt to it, side by side. It shares
// memory with the matrix.
func (m *Matrix[T]) Local() linalg.Matrix[T] { return m.local }

// rowSpans and colSpans are the blocks that a rank has.
func (m *Matrix[T]) rowSpans(rank int) func(func(span) bool) {
	row, _ := m.g.place(rank)
	return spans(m.rows, m.g.block, row, m.g.rows)
}

func (m *Matrix[T]) colSpans(rank int) func(func(span) bool) {
	_, col := m.g.place(rank)
	return spans(m.cols, m.g.block, col, m.g.cols)
}

// Scatter deals out the matrix that one rank has; what the others give counts for its shape alone,
// so that they give linalg.Matrix[T]{Rows: rows, Cols: cols}.
func Scatter[T linalg.Element](ctx context.Context, g *Grid, from int, whole linalg.Matrix[T]) (*Matrix[T], error) {
	m, err := New[T](g, whole.Rows, whole.Cols)
	if err != nil {
		return nil, err
	}
	c := g.c
	if from < 0 || from >= c.size {
		return nil, c.alike("%w", shapeError("Scatter from rank %d of %d", from, c.size))
	}
	if err := m.begin(ctx, "Scatter", from); err != nil {
		return nil, err
	}
	if c.rank == from && !host.Fits(whole.Rows, whole.Cols, whole.Stride, len(whole.Data)) {
		err = shapeError("%s with stride %d and %d values", whole, whole.Stride, len(whole.Data))
	}
	if err := c.Agree(ctx, err); err != nil {
		return nil, err
	}
	memory, err := c.memory(m.largest())
	if err != nil {
		return nil, c.fail(err)
	}
	if c.rank != from {
		part := memory[:len(backend.Bytes(m.local.Data))]
		if err := c.wait(ctx, c.receive(from, part)...); err != nil {
			return nil, err
		}
		copy(backend.Bytes(m.local.Data), part)
		c.free(memory)
		return m, nil
	}
	for to := range c.size {
		part := m.local
		if to != from {
			part = m.view(memory, to)
		}
		m.eachBlock(to, func(r, c span) {
			copyMatrix(part.Slice(r.local, r.local+r.n, c.local, c.local+c.n),
				whole.Slice(r.from, r.from+r.n, c.from, c.from+c.n))
		})
		if to == from {
			continue
		}
		if err := c.wait(ctx, c.send(to, backend.Bytes(part.Data))...); err != nil {
			return nil, err
		}
	}
	c.free(memory)
	return m, nil
}

// Gather gives one rank the whole matrix. The others get one without elements. The error matches
// backend.ErrOutOfMemory where that rank's machine has no room for it.
func (m *Matrix[T]) Gather(ctx context.Context, to int) (linalg.Matrix[T], error) {
	var none linalg.Matrix[T]
	if err := m.check("Gather"); err != nil {
		return none, err
	}
	c := m.g.c
	if to < 0 || to >= c.size {
		return none, c.alike("%w", shapeError("Gather on rank %d of %d", to, c.size))
	}
	if err := m.begin(ctx, "Gather", to); err != nil {
		return none, err
	}
	if c.rank == to {
		if err := m.room("Gather", "the whole", m.rows, m.cols); err != nil {
			return none, err
		}
	}
	memory, err := c.memory(m.largest())
	if err != nil {
		return none, c.fail(err)
	}
	if c.rank != to {
		part := memory[:len(backend.Bytes(m.local.Data))]
		copy(part, backend.Bytes(m.local.Data))
		if err := c.wait(ctx, c.send(to, part)...); err != nil {
			return none, err
		}
		c.free(memory)
		return none, nil
	}
	whole := linalg.NewMatrix[T](m.rows, m.cols, nil)
	for from := range c.size {
		part := m.local
		if from != to {
			part = m.view(memory, from)
			if err := c.wait(ctx, c.receive(from, backend.Bytes(part.Data))...); err != nil {
				return none, err
			}
		}
		m.eachBlock(from, func(r, c span) {
			copyMatrix(whole.Slice(r.from, r.from+r.n, c.from, c.from+c.n),
				part.Slice(r.local, r.local+r.n, c.local, c.local+c.n))
		})
	}
	c.free(memory)
	return whole, nil
}

// begin makes sure that all ranks call op with the same arguments on matrices of the same shapes.
func (m *Matrix[T]) begin(ctx context.Context, op string, arguments ...any) error {
	return m.g.agree(ctx, op, append(arguments, m.rows, m.cols, m.g.rows, m.g.block, element.TypeOf[T]())...)
}

// view is a rank's part of m in memory.
func (m *Matrix[T]) view(memory []byte, rank int) linalg.Matrix[T] {
	rows, cols := m.part(rank)
	return linalg.NewMatrix(rows, cols, backend.Elems[T](memory)[:rows*cols])
}

// eachBlock calls f for the blocks that a rank has, row after row.
func (m *Matrix[T]) eachBlock(rank int, f func(rows, cols span)) {
	for r := range m.rowSpans(rank) {
		for c := range m.colSpans(rank) {
			f(r, c)
		}
	}
}

// copyMatrix copies src to dst, of the same shape.
func copyMatrix[T linalg.Element](dst, src linalg.Matrix[T]) {
	host.CopyMatrix(src.Rows, src.Cols, src.Data, src.Stride, dst.Data, dst.Stride)
}

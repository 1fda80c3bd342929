package cluster

import (
	"context"
	"fmt"
	"iter"

	"github.com/tandem-gpu/tandem/cluster/internal/mpi"
	"github.com/tandem-gpu/tandem/kernels"
)

// DefaultBlock is the number of rows and of columns of a matrix's blocks, where none is asked for.
const DefaultBlock = 256

// A Grid is the ranks in rows and columns, rank after rank along the rows, and the size of the
// blocks that its matrices are cut into. The matrices of one call have one grid.
type Grid struct {
	c          *Comm
	rows, cols int
	block      int
	row, col   int        // of this rank
	along      mpi.Handle // the ranks of this row, by their column
	down       mpi.Handle // the ranks of this column, by their row
}

// Grid makes a grid of that many rows, which must divide the number of ranks, for blocks of block
// by block elements. 0 rows are as many as make the grid nearest to a square, with no more rows
// than columns; a block of 0 is DefaultBlock, and none is larger than kernels.MaxDim.
func (c *Comm) Grid(ctx context.Context, rows, block int) (*Grid, error) {
	if rows < 0 || block < 0 || block > kernels.MaxDim || rows > 0 && c.size%rows != 0 {
		return nil, c.alike("%w", shapeError("a grid of %d ranks in %d rows, with blocks of %d", c.size, rows, block))
	}
	g := c.square
	if rows > 0 && rows != g.rows {
		g = Grid{c: c, rows: rows}
	}
	g.block = block
	if block == 0 {
		g.block = DefaultBlock
	}
	if err := g.agree(ctx, "Grid", g.rows, g.block); err != nil {
		return nil, err
	}
	if g.cols == 0 {
		if err := g.split(); err != nil {
			return nil, c.fail(err)
		}
	}
	return &g, nil
}

// nearSquare is the number of rows of the grid nearest to a square.
func nearSquare(size int) (rows int) {
	for r := 1; r*r <= size; r++ {
		if size%r == 0 {
			rows = r
		}
	}
	return rows
}

// split makes the communicators of a grid whose rows are known. MPI has no way to do that without
// blocking.
func (g *Grid) split() error {
	c := g.c
	g.cols = c.size / g.rows
	g.row, g.col = g.place(c.rank)
	err := c.blocking("MPI_Comm_split", func() int32 {
		return c.lib.CommSplit(c.lib.World, int32(g.row), int32(g.col), &g.along)
	})
	if err != nil {
		return err
	}
	return c.blocking("MPI_Comm_split", func() int32 {
		return c.lib.CommSplit(c.lib.World, int32(g.col), int32(g.row), &g.down)
	})
}

// Comm is the job that the grid is made of.
func (g *Grid) Comm() *Comm { return g.c }

// Dims is the number of rows and columns of ranks.
func (g *Grid) Dims() (rows, cols int) { return g.rows, g.cols }

// Block is the number of rows and of columns of a block.
func (g *Grid) Block() int { return g.block }

// agree is an error on all ranks unless all call the same operation with the same arguments.
func (g *Grid) agree(ctx context.Context, op string, arguments ...any) error {
	return g.c.Same(ctx, otherCall, fmt.Appendf(nil, "%s %#v", op, arguments))
}

// place is the place of a rank.
func (g *Grid) place(rank int) (row, col int) { return rank / g.cols, rank % g.cols }

// owned is how many of n rows or columns, in blocks dealt to parts in turn, the part at has.
func owned(n, block, at, parts int) int {
	full := n / block
	mine := full / parts * block
	switch left := full % parts; {
	case at < left:
		mine += block
	case at == left:
		mine += n % block
	}
	return mine
}

// A span is a block of the rows or columns that a part has.
type span struct{ from, local, n int } // where it begins in the matrix, where among the part's own, its length

// spans are the blocks that a part has, in their order.
func spans(n, block, at, parts int) iter.Seq[span] {
	return func(yield func(span) bool) {
		local := 0
		for from := at * block; from < n; from += parts * block {
			s := span{from, local, min(block, n-from)}
			local += s.n
			if !yield(s) {
				return
			}
		}
	}
}

package cluster

import (
	"context"
	"encoding/binary"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// mostResults is how many results are reduced at a time: their exact sums take a kilobyte each.
// Tests make it small.
var mostResults = 1 << 11

// Reduce makes what a reduction of package array gives of a, on a's grid, with the bits of
// [array.ReduceContext] of the whole matrix: of M by N elements a 1x1 matrix over all, 1xN over the
// rows, Mx1 over the columns. D is T, or int32 for indices. Each rank reduces its own blocks; what
// they come to, exact sums or the largest elements, meets on the ranks that hold the result, where
// it is rounded once. s is the rank's device.
func Reduce[D, T linalg.Element](ctx context.Context, s *linalg.Session, op *array.Reduction, over array.Over,
	a *Matrix[T],
) (*Matrix[D], error) {
	if op == nil {
		return nil, alike(errArgument("the reduction is nil"), a)
	}
	if err := check(op.Name, s, a); err != nil {
		return nil, err
	}
	row, col := a.g.place(a.g.c.rank)
	m := group{a.g, 1, every(a.g.c.size, 0, 1)}
	switch over {
	case array.OverRows: // results lie on the first row of ranks
		m.size, m.members = a.local.Cols, every(a.g.rows, col, a.g.cols)
	case array.OverColumns:
		m.size, m.members = a.local.Rows, every(a.g.cols, row*a.g.cols, 1)
	}
	rows, cols := over.Dims(a.rows, a.cols)
	c, err := New[D](a.g, rows, cols)
	if err != nil {
		return nil, err
	}
	if err := a.begin(ctx, "Reduce", op.Name, over); err != nil {
		return nil, err
	}
	share := array.Share[T]{Rows: a.rows, Cols: a.cols, Local: a.local, Block: a.g.block, Place: a.place}
	// what is wrong on all ranks is said before one of them waits
	if err := a.g.c.Agree(ctx, array.MergeShares[D](s, op, over, share, nil, nil)); err != nil {
		return nil, err
	}
	for lo := 0; lo < m.size; lo += mostResults {
		hi := min(lo+mostResults, m.size)
		states, err := array.ReduceShare(ctx, s, op, over, share, lo, hi)
		if err != nil {
			return nil, a.g.c.fail(err)
		}
		states, here, err := m.meet(ctx, states)
		if err != nil {
			return nil, err
		}
		if here {
			if err := array.MergeShares(s, op, over, share, states, c.local.Data[lo:hi]); err != nil {
				return nil, a.g.c.fail(err)
			}
		}
	}
	return c, a.g.c.Agree(ctx, nil)
}

// place is where an element of this rank's part lies in the matrix.
func (m *Matrix[T]) place(row, col int) (int, int) {
	g := m.g
	atRow, atCol := g.place(g.c.rank)
	return (row/g.block*g.rows+atRow)*g.block + row%g.block, (col/g.block*g.cols+atCol)*g.block + col%g.block
}

// A group is ranks that reduce to the same results, of which the first holds them.
type group struct {
	g       *Grid
	size    int // results
	members []int
}

// every is n ranks: first, first+step and so on.
func every(n, first, step int) (ranks []int) {
	for i := range n {
		ranks = append(ranks, first+i*step)
	}
	return ranks
}

// meet gives the first member what all have, and tells whether this rank is it.
func (m *group) meet(ctx context.Context, states []int64) (all []int64, here bool, err error) {
	c := m.g.c
	if c.rank != m.members[0] {
		return nil, false, m.hand(ctx, states)
	}
	for _, from := range m.members[1:] {
		theirs, err := m.take(ctx, from)
		if err != nil {
			return nil, true, err
		}
		states = append(states, theirs...)
	}
	return states, true, nil
}

// hand sends states to the first member, after their number: it depends on a rank's devices.
func (m *group) hand(ctx context.Context, states []int64) error {
	c := m.g.c
	memory, err := c.memory(8 + 8*len(states))
	if err != nil {
		return c.fail(err)
	}
	binary.LittleEndian.PutUint64(memory, uint64(len(states)))
	copy(memory[8:], backend.Bytes(states))
	requests := append(c.send(m.members[0], memory[:8]), c.send(m.members[0], memory[8:])...)
	if err := c.wait(ctx, requests...); err != nil {
		return err
	}
	c.free(memory)
	return nil
}

// take receives what from hands.
func (m *group) take(ctx context.Context, from int) ([]int64, error) {
	c := m.g.c
	head, err := m.receive(ctx, from, 8)
	if err != nil {
		return nil, err
	}
	states := make([]int64, binary.LittleEndian.Uint64(head))
	c.free(head)
	body, err := m.receive(ctx, from, 8*len(states))
	if err != nil {
		return nil, err
	}
	copy(backend.Bytes(states), body)
	c.free(body)
	return states, nil
}

func (m *group) receive(ctx context.Context, from, n int) ([]byte, error) {
	c := m.g.c
	memory, err := c.memory(n)
	if err != nil {
		return nil, c.fail(err)
	}
	return memory, c.wait(ctx, c.receive(from, memory)...)
}

package array

import (
	"cmp"
	"context"
	"fmt"

	"github.com/tandem-gpu/tandem/linalg"
)

// A Share is what one of several processes has of a matrix: blocks of Block rows and columns, or of
// less at the matrix's ends, which lie side by side in Local. A reduction of the whole begins with
// the [ReduceShare] of each, and ends with one [MergeShares].
type Share[T Element] struct {
	Rows, Cols int // of the whole
	Local      linalg.Matrix[T]
	Block      int
	Place      func(row, col int) (int, int) // where an element of Local lies in the whole
}

// reducer reduces a share, or what shares come to.
func (p Share[T]) reducer(op *Reduction, over Over) reducer[T] {
	return reducer[T]{
		op: op, over: over, rows: p.Rows, cols: p.Cols, share: p.Place, block: p.Block, read: tilesOf(p.Local),
	}
}

// ReduceShare reduces the elements of a share that belong to results lo to hi-1 of those that Local
// has terms of: its columns where over is OverRows, its rows where it is OverColumns, one over all.
// What it gives is for MergeShares alone. It works on session s, or on the default device where s
// is nil.
func ReduceShare[T Element](ctx context.Context, s *linalg.Session, op *Reduction, over Over, p Share[T], lo, hi int,
) (states []int64, err error) {
	if op == nil {
		return nil, errNoReduction
	}
	r := p.reducer(op, over)
	if err := cmp.Or(checkMatrix(op, "the share", p.Local), r.begin(s, 0)); err != nil {
		return nil, err
	}
	if m, n := over.Dims(p.Local.Rows, p.Local.Cols); lo < 0 || hi < lo || hi > m*n || p.Block < 1 {
		return nil, argument(op.Name, fmt.Sprintf("results %d to %d of %s in blocks of %d", lo, hi, p.Local, p.Block))
	}
	region := tile{0, 0, p.Local.Rows, p.Local.Cols}
	switch over {
	case OverRows:
		region.col, region.cols = lo, hi-lo
	case OverColumns:
		region.row, region.rows = lo, hi-lo
	}
	r.all = region.rows * region.cols
	return r.states(ctx, region, hi-lo)
}

// MergeShares makes c the results that shares of the whole come to: states has what [ReduceShare]
// gave of all of them for these results, one after the other, in any order. Of p the dimensions of
// the whole count alone. It works on session s, or on the default device where s is nil.
func MergeShares[D, T Element](s *linalg.Session, op *Reduction, over Over, p Share[T], states []int64, c []D) error {
	if op == nil {
		return errNoReduction
	}
	r := p.reducer(op, over)
	if err := cmp.Or(checkResult[D, T](op), r.begin(s, 0)); err != nil || len(c) == 0 {
		return err
	}
	m, err := result[D](&r, 1, len(c), states)
	copy(c, m.Data)
	return err
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/linalg"
)

// Reductions of matrices on ranks have the bits of one process, on all grids.
func TestReduce(t *testing.T) {
	defer func(was int) { mostResults = was }(mostResults)
	mostResults = 7
	onGrids(t, [][2]int{{2, 1}, {3, 3}, {6, 2}}, 4, func(ctx context.Context, g *Grid, s *linalg.Session) error {
		for _, x := range [][2]int{{5, 0}, {1, 40}, {17, 19}} {
			a := random[float32](x[0], x[1], 1)
			if len(a.Data) > 9 {
				a.Data[4], a.Data[9] = 1e30, -1e30
			}
			if len(a.Data) > 100 {
				a.Data[100] = float32(math.NaN())
			}
			da, err := Scatter(ctx, g, 0, only(g.Comm(), a))
			if err != nil {
				return err
			}
			for _, op := range array.Reductions() {
				for over := array.OverAll; over <= array.OverColumns; over++ {
					if op.Index {
						err = compareReduced[int32](ctx, s, op, over, a, da)
					} else {
						err = compareReduced[float32](ctx, s, op, over, a, da)
					}
					if err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

func compareReduced[D linalg.Element](ctx context.Context, s *linalg.Session, op *array.Reduction, over array.Over,
	a linalg.Matrix[float32], da *Matrix[float32],
) error {
	rows, cols := over.Dims(a.Rows, a.Cols)
	want := linalg.NewMatrix[D](rows, cols, nil)
	what := fmt.Sprintf("%s of %s over %d", op.Name, a, over)
	errHere := array.ReduceContext(ctx, s, op, want, a)
	if errHere != nil { // as for the largest of nothing: an error of all, which ends the job
		return nil
	}
	got, err := Reduce[D](ctx, s, op, over, da)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return compare(ctx, got, want, what)
}

// What cannot be reduced is an error on all ranks.
func TestReduceErrors(t *testing.T) {
	sum, most := array.ReductionOf("sum"), array.ReductionOf("max")
	for name, reduce := range map[string]func(ctx context.Context, s *linalg.Session, g *Grid) error{
		"type": func(ctx context.Context, s *linalg.Session, g *Grid) error {
			m, _ := New[float32](g, 5, 5)
			_, err := Reduce[int32](ctx, s, sum, array.OverAll, m)
			return err
		},
		"nothing": func(ctx context.Context, s *linalg.Session, g *Grid) error {
			m, _ := New[float32](g, 0, 5)
			_, err := Reduce[float32](ctx, s, most, array.OverRows, m)
			return err
		},
		"another": func(ctx context.Context, s *linalg.Session, g *Grid) error {
			m, _ := New[float32](g, 5, 5)
			op := []*array.Reduction{sum, most}[min(g.c.rank, 1)]
			_, err := Reduce[float32](ctx, s, op, array.OverRows, m)
			return err
		},
	} {
		work := func(ctx context.Context, c *Comm) error {
			s := openCPU(t, c)
			defer s.Close()
			g, err := c.Grid(ctx, 0, 3)
			if err != nil {
				return err
			}
			return reduce(ctx, s, g)
		}
		for rank, err := range newFake(2).job(t.Context(), nil, work) {
			if e := new(*Error); !errors.As(err, e) {
				t.Errorf("%s, rank %d: %v", name, rank, err)
			}
		}
	}
}

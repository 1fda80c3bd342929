package cluster

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/exact"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// shapes are rows, columns and the steps of a chain: smaller than any grid, empty, and with blocks
// that are not whole.
var shapes = [][3]int{{1, 1, 1}, {0, 5, 3}, {5, 0, 3}, {5, 4, 0}, {3, 2, 9}, {1, 40, 7}, {33, 29, 41}}

// grids are numbers of ranks and of rows.
var grids = [][2]int{{1, 0}, {2, 0}, {2, 2}, {3, 1}, {3, 3}, {4, 0}, {4, 1}, {4, 4}, {6, 0}, {6, 3}, {6, 6}}

// random makes a matrix whose products depend on their order, with subnormal numbers.
func random[T linalg.Element](rows, cols int, seed uint64) linalg.Matrix[T] {
	r := rand.New(rand.NewPCG(seed, 1))
	m := linalg.NewMatrix[T](rows, cols, nil)
	for i := range m.Data {
		v := (r.Float64() - 0.5) * 1e4
		if r.IntN(8) == 0 {
			v *= 1e-40 // subnormal in float32
		}
		m.Data[i] = T(v)
	}
	return m
}

// openCPU opens the rank's device.
func openCPU(t *testing.T, c *Comm) *linalg.Session {
	s, err := c.Open("cpu")
	if err != nil {
		t.Error(err)
		panic(err)
	}
	return s
}

// only is m on rank 0, and its shape elsewhere.
func only[T linalg.Element](c *Comm, m linalg.Matrix[T]) linalg.Matrix[T] {
	if c.Rank() > 0 {
		m.Data = nil
	}
	return m
}

// compare gathers m on the last rank and compares its bits.
func compare[T linalg.Element](ctx context.Context, m *Matrix[T], want linalg.Matrix[T], what string) error {
	c := m.Grid().Comm()
	got, err := m.Gather(ctx, c.Size()-1)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if c.Rank() < c.Size()-1 {
		return nil
	}
	same := bytes.Equal(backend.Bytes(got.Data), backend.Bytes(want.Data))
	if got.Rows != want.Rows || got.Cols != want.Cols || !same {
		return fmt.Errorf("%s: the bits differ", what)
	}
	return nil
}

// onGrids runs work on grids of so many ranks in so many rows.
func onGrids(
	t *testing.T, grids [][2]int, block int, work func(ctx context.Context, g *Grid, s *linalg.Session) error,
) {
	for _, x := range grids {
		onRanks(t, x[0], func(ctx context.Context, c *Comm) error {
			s := openCPU(t, c)
			defer s.Close()
			g, err := c.Grid(ctx, x[1], block)
			if err != nil {
				return err
			}
			if err := work(ctx, g, s); err != nil {
				return fmt.Errorf("%d ranks in %d rows, blocks of %d: %w", x[0], x[1], block, err)
			}
			return nil
		})
	}
}

// Every rank has what all gave, in their order; another length on one rank is an error with its
// number.
func TestAllGather(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 2, 3, 6} {
		onRanks(t, size, func(ctx context.Context, c *Comm) error {
			for _, n := range []int{0, 1, 5} {
				whole := random[float64](size, n, uint64(n))
				got, err := AllGather(ctx, c, whole.Row(c.Rank()))
				if err != nil || !slices.Equal(got, whole.Data) {
					return fmt.Errorf("%d of %d ranks gave %v, not %v: %w", n, size, got, whole.Data, err)
				}
			}
			var sum, total exact.Acc
			sum.Add(0x1p60 / float64(c.Rank()+1))
			part, _ := sum.MarshalBinary()
			all, err := AllGather(ctx, c, part)
			for one := range slices.Chunk(all, len(part)) {
				err = cmp.Or(err, sum.UnmarshalBinary(one))
				total.Merge(&sum)
			}
			for rank := range size {
				total.Add(-0x1p60 / float64(rank+1))
			}
			if err != nil || total.Float64() != 0 {
				return fmt.Errorf("%d ranks: %v is left: %w", size, total.Float64(), err)
			}
			return nil
		})
	}
	for rank, err := range newFake(3).job(t.Context(), nil, func(ctx context.Context, c *Comm) error {
		_, err := AllGather(ctx, c, make([]int32, 4+c.Rank()/2))
		return err
	}) {
		if err == nil || !strings.Contains(err.Error(), "rank 2: it has another call of package cluster") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

func testProducts[T linalg.Element](t *testing.T) {
	t.Parallel()
	for _, block := range []int{3, 16} {
		onGrids(t, grids, block, func(ctx context.Context, g *Grid, s *linalg.Session) error {
			c := g.Comm()
			for i, x := range shapes {
				m, n, k := x[0], x[1], x[2]
				a, b := random[T](m, k, uint64(i)), random[T](k, n, uint64(i+100))
				want, err := linalg.MatMul(a, b, linalg.On(s), linalg.WithContext(ctx))
				if err != nil {
					return err
				}
				da, err := Scatter(ctx, g, 0, only(c, a))
				if err != nil {
					return err
				}
				db, err := Scatter(ctx, g, 0, only(c, b))
				if err != nil {
					return err
				}
				p, err := MatMul(ctx, s, da, db)
				if err != nil {
					return err
				}
				what := fmt.Sprintf("%T product of %dx%d by %d", want.Data, m, n, k)
				if err := compare(ctx, p, want, what); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func TestProducts(t *testing.T) {
	t.Run("float32", testProducts[float32])
	t.Run("float64", testProducts[float64])
	t.Run("int32", testProducts[int32])
}

// Gemm has the bits of linalg's, for every alpha, beta and op.
func TestGemm(t *testing.T) {
	t.Parallel()
	onGrids(t, [][2]int{{1, 0}, {4, 0}, {6, 3}}, 4, func(ctx context.Context, g *Grid, s *linalg.Session) error {
		for _, x := range [][3]int{{0, 5, 3}, {5, 4, 0}, {13, 9, 11}} {
			for _, alpha := range []float64{0, 1, -1.3} {
				for _, beta := range []float64{0, 1, 0.7} {
					for op := range 4 {
						if err := checkGemm(ctx, g, s, x, alpha, beta, op&1 != 0, op&2 != 0); err != nil {
							return err
						}
					}
				}
			}
		}
		return nil
	})
}

func checkGemm(ctx context.Context, g *Grid, s *linalg.Session, x [3]int, alpha, beta float64, tA, tB bool) error {
	operand := func(rows, cols int, transposed bool, seed uint64) (linalg.Matrix[float64], blas.Transpose) {
		if transposed {
			return random[float64](cols, rows, seed), blas.Trans
		}
		return random[float64](rows, cols, seed), blas.NoTrans
	}
	a, opA := operand(x[0], x[2], tA, 1)
	b, opB := operand(x[2], x[1], tB, 2)
	want := random[float64](x[0], x[1], 3)
	var d [3]*Matrix[float64]
	for i, m := range []linalg.Matrix[float64]{a, b, want} {
		var err error
		if d[i], err = Scatter(ctx, g, 0, only(g.Comm(), m)); err != nil {
			return err
		}
	}
	if err := linalg.Gemm(alpha, opA, a, opB, b, beta, want, linalg.On(s), linalg.WithContext(ctx)); err != nil {
		return err
	}
	local := d[2].Local()
	if err := Gemm(ctx, s, alpha, opA, d[0], opB, d[1], beta, d[2]); err != nil {
		return err
	}
	what := fmt.Sprintf("Gemm of %v, alpha %v, beta %v, %c %c", x, alpha, beta, opA, opB)
	if !bytes.Equal(backend.Bytes(local.Data), backend.Bytes(d[2].Local().Data)) {
		return fmt.Errorf("%s: Local does not see it", what)
	}
	return compare(ctx, d[2], want, what)
}

func TestElementwise(t *testing.T) {
	t.Parallel()
	onGrids(t, grids, 4, func(ctx context.Context, g *Grid, s *linalg.Session) error {
		for _, x := range shapes {
			a, b := random[float32](x[0], x[1], 1), random[float32](x[0], x[1], 2)
			da, err := Scatter(ctx, g, 0, only(g.Comm(), a))
			if err != nil {
				return err
			}
			db, err := Scatter(ctx, g, 0, only(g.Comm(), b))
			if err != nil {
				return err
			}
			type operation struct {
				name string
				here func() (linalg.Matrix[float32], error)
				all  func() (*Matrix[float32], error)
			}
			var rows []operation
			for _, op := range kernels.Elementwises() {
				rows = append(rows, operation{
					op.Name, func() (linalg.Matrix[float32], error) {
						return linalg.Elementwise(op, 0.3, []linalg.Matrix[float32]{a, b}[:op.Inputs], linalg.On(s),
							linalg.WithContext(ctx))
					},
					func() (*Matrix[float32], error) {
						return Elementwise(ctx, s, op, 0.3, []*Matrix[float32]{da, db}[:op.Inputs]...)
					},
				})
			}
			for _, op := range append(rows, []operation{
				{
					"Add", func() (linalg.Matrix[float32], error) {
						return linalg.Add(a, b, linalg.On(s), linalg.WithContext(ctx))
					},
					func() (*Matrix[float32], error) { return Add(ctx, s, da, db) },
				},
				{
					"Scale", func() (linalg.Matrix[float32], error) {
						return linalg.Scale(0.3, a, linalg.On(s), linalg.WithContext(ctx))
					},
					func() (*Matrix[float32], error) { return Scale(ctx, s, 0.3, da) },
				},
				{
					"Transpose", func() (linalg.Matrix[float32], error) {
						return linalg.Transpose(a, linalg.On(s), linalg.WithContext(ctx))
					},
					func() (*Matrix[float32], error) { return Transpose(ctx, da) },
				},
			}...) {
				want, err := op.here()
				if err != nil {
					return err
				}
				got, err := op.all()
				if err != nil {
					return err
				}
				if err := compare(ctx, got, want, fmt.Sprintf("%s of %dx%d", op.name, x[0], x[1])); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

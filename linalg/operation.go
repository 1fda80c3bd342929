package linalg

import (
	"context"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/outofcore"
	"github.com/tandem-gpu/tandem/internal/tiles"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/kernels"
)

// An operation is what a call computes: C of A, and of B where there is one. All ways to compute it
// follow from these methods: at once, by tiles on several devices, in a pipeline through a device
// smaller than the matrices, and, in package files, between files. C is computed by regions, from
// step k to step l-1 of the chains at a time; what has no chains has one step.
type operation[T Element] interface {
	operationKernel
	// region is what region c of the result needs of operand i, A or B, which are 1 and 2.
	region(i int, c tiles.Tile, k, l int) tiles.Tile
	// transposed tells whether operand i lies in memory as the transpose of what region speaks of.
	transposed(x *call[T], i int) bool
	// step enqueues the steps from k on, of which a and b are the regions.
	step(x *call[T], k int, c, a, b *array) error
	// finish makes dst, some rows of C, of what steps have computed.
	finish(x *call[T], dst, from Matrix[T])
	// readsC tells whether the result depends on what C was.
	readsC(x *call[T]) bool
}

// operationOf is the operation that has kernel k.
func operationOf[T Element](k operationKernel) operation[T] {
	switch k := k.(type) {
	case transposeKernel:
		return transposition[T]{}
	case elementwiseKernel:
		return elementwise[T]{elementwiseKernel: k}
	case productKernel:
		return product[T]{k}
	}
	panic("unreachable")
}

// An operationKernel gives the kernel of an operation and its grid, for the shape of key on a
// device.
type operationKernel interface {
	choose(key planKey, info *backend.Info) (*backend.Source, backend.Grid)
}

// A dividedOperation is an operation that is shared out in a way of its own, in some cases.
type dividedOperation[T Element] interface {
	// divide computes all of j's call, which is done then, or prepares j.
	divide(ctx context.Context, j *job[T], s *Session) (done bool, err error)
}

// product is alpha*op(A)*op(B) + beta*C, or C + alpha*A*B in chains from C.
type product[T Element] struct{ productKernel }

type productKernel struct{ bytes byteKind }

func (o productKernel) choose(key planKey, info *backend.Info) (*backend.Source, backend.Grid) {
	t := key.typ
	if o.bytes != noBytes {
		t = element.Int8
	}
	p := tuning.ChooseMatMulBatch(info, t, key.count, key.m, key.n, key.k)
	grid := kernels.MatMulBatchGrid(p, key.count, key.m, key.n)
	if o.bytes != noBytes {
		return kernels.MatMulBytes(info, p, o.bytes == uint8Bytes), grid
	}
	return kernels.MatMul(t, p), grid
}

func (product[T]) region(i int, c tiles.Tile, k, l int) tiles.Tile {
	return outofcore.ProductRegion(i, c, k, l)
}

func (product[T]) transposed(x *call[T], i int) bool {
	return i == 1 && x.tA != blas.NoTrans || i == 2 && x.tB != blas.NoTrans
}

func (product[T]) step(x *call[T], k int, c, a, b *array) error {
	u := update{alpha: 1}
	switch {
	case x.chain && x.alpha < 0:
		u = subMul
	case x.chain || k > 0:
		u = addMul
	}
	u.bytes = x.bytes
	return c.gemm(context.Background(), 1, blas.NoTrans, a, blas.NoTrans, b, u)
}

func (product[T]) finish(x *call[T], dst, from Matrix[T]) {
	if x.chain || x.alpha == 1 && x.beta == 0 {
		copyElements(dst, from)
		return
	}
	host.Finish(dst.Rows, dst.Cols, T(x.alpha), from.Data, from.Stride, T(x.beta), dst.Data, dst.Stride)
}

func (product[T]) readsC(x *call[T]) bool { return x.beta != 0 }

// divide shares out many products, and what is no product at all: K or alpha is 0.
func (product[T]) divide(ctx context.Context, j *job[T], s *Session) (done bool, err error) {
	x := &j.call
	c, a, b := x.matrices[0], x.matrices[1], x.matrices[2]
	shape, err := newBatch(x.count, x.tA, dims{a.Rows, a.Cols}, x.tB, dims{b.Rows, b.Cols}, dims{c.Rows, c.Cols})
	if err != nil {
		return true, err
	}
	switch {
	case c.Rows == 0 || c.Cols == 0:
		return true, nil
	case shape.k == 0 || x.alpha == 0:
		return true, x.shareBeta(ctx, s)
	case shape.sharedB && !shape.sharedA && x.tA == blas.NoTrans: // one tall product
	case x.count > 1:
		return true, x.shareBatch(ctx, s, shape)
	}
	j.steps, j.count = shape.k, 1
	return false, nil
}

// transposition is A'.
type transposition[T Element] struct {
	plainOperation[T]
	transposeKernel
}

type transposeKernel struct{}

func (transposeKernel) choose(key planKey, info *backend.Info) (*backend.Source, backend.Grid) {
	p := tuning.ChooseTranspose(info, key.typ, key.m, key.n)
	return kernels.Transpose(key.typ, p), kernels.TransposeGrid(p, key.m, key.n)
}

func (transposition[T]) region(i int, c tiles.Tile, k, l int) tiles.Tile {
	return outofcore.TransposeRegion(i, c, k, l)
}

func (transposition[T]) step(_ *call[T], _ int, c, a, _ *array) error { return c.transpose(a) }

// elementwise is a row of package kernels' table.
type elementwise[T Element] struct {
	plainOperation[T]
	elementwiseKernel
}

type elementwiseKernel struct{ row *kernels.Elementwise }

func (o elementwiseKernel) choose(key planKey, info *backend.Info) (*backend.Source, backend.Grid) {
	src := o.row.Source(key.typ)
	return src, kernels.MapGrid(info, src.Params, int64(key.m), int64(key.n))
}

func (elementwise[T]) region(i int, c tiles.Tile, k, l int) tiles.Tile {
	return outofcore.SameRegion(i, c, k, l)
}

func (o elementwise[T]) step(x *call[T], _ int, c, a, b *array) error {
	return o.apply(x.alpha, c, a, b)
}

// apply makes c what the operation gives of a, and of b if it has two inputs.
func (o elementwise[T]) apply(alpha float64, c, a, b *array) error {
	if o.row.Inputs == 1 {
		return c.elementwise(o.row, alpha, a)
	}
	return c.elementwise(o.row, alpha, a, b)
}

// plainOperation is what operations without chains have in common.
type plainOperation[T Element] struct{}

func (plainOperation[T]) transposed(*call[T], int) bool          { return false }
func (plainOperation[T]) finish(_ *call[T], dst, from Matrix[T]) { copyElements(dst, from) }
func (plainOperation[T]) readsC(*call[T]) bool                   { return false }

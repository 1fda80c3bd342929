package linalg

import (
	"context"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/outofcore"
	"github.com/tandem-gpu/tandem/internal/tiles"
	"github.com/tandem-gpu/tandem/kernels"
)

// product is alpha*op(A)*op(B) + beta*C, or C + alpha*A*B in chains from C.
type product[T Element] struct{}

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
	return c.gemm(context.Background(), "Gemm", 1, blas.NoTrans, a, blas.NoTrans, b, u)
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

// shareBeta makes C beta*C.
func (x call[T]) shareBeta(ctx context.Context, s *Session) error {
	c := x.matrices[0]
	switch x.beta {
	case 0:
		for i := range c.Rows {
			clear(c.Row(i))
		}
		return nil
	case 1:
		return nil
	}
	r := request[T]{
		kernel: elementwiseKernel{kernels.Scale}, update: update{alpha: x.beta}, n: 2, matrices: [3]Matrix[T]{c, c},
	}
	return newJob(call[T]{request: r}).run(ctx, s)
}

// shareBatch shares out many products: some at a time to each device, or, where they are few or
// too large, one after the other, each to all devices.
func (x call[T]) shareBatch(ctx context.Context, s *Session, shape batch) error {
	part := func(z, n int) call[T] {
		p, rows := x, [3]int{shape.m, oriented(x.tA, shape.m, shape.k)[0], oriented(x.tB, shape.k, shape.n)[0]}
		p.count = n
		for i, shared := range []bool{false, shape.sharedA, shape.sharedB} {
			if !shared {
				m := x.matrices[i]
				p.matrices[i] = m.Slice(z*rows[i], (z+n)*rows[i], 0, m.Cols)
			}
		}
		return p
	}
	devices, most := s.devices(), x.count
	for _, d := range devices {
		if d.sharer.TakesCopies(x.largest()) { // half of its products are in the device's memory at a time
			one := int64(shape.m*shape.k+shape.k*shape.n+shape.m*shape.n) * int64(element.TypeOf[T]().Size())
			most = min(most, int(min(d.sharer.Budget(), d.info.MaxAlloc)/max(one, 1)/4))
		}
	}
	g := outofcore.Granularity
	if most == 0 || x.count < 4*len(devices) && shape.m*shape.n > 16*g*g {
		report := progress(ctx)
		for z := range x.count {
			p := part(z, 1)
			if err := p.share(WithProgress(ctx, nil), s); err != nil {
				return err
			}
			if report != nil {
				report(float64(z+1) / float64(x.count))
			}
		}
		return nil
	}
	j := newJob(x)
	j.part, j.most = part, most
	return j.run(ctx, s)
}

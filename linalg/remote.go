package linalg

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/kernels"
)

// A remote is a matrix in the memory of a session's device that blocks of reflectors are applied
// to, as package solve asks. Copies of blocks and panels go on beside the work, in a queue of their
// own.
type remote[T Float] struct {
	ctx          context.Context
	advance      func(work float64) // tells of multiplications
	work, copies *callQueue
	a            array    // the matrix
	blocks       [2]array // one is sent while the device may be at work with the other
	sent         int
	v, s         array // of the last block
	vt           array // the transpose of V
	x, y         array // VᵀC of each piece of rows, one below the other, and S times their sum
	ones         array // a row as long as there are pieces
	panel        array // transposed columns, on their way to the host
}

// roomFor is the elements that there are beside a matrix of m by n.
func roomFor(m, n int) int {
	pieces := solve.Pieces(m)
	return solve.Panel*(2*(m+solve.Panel)+2*m+n*pieces+n) + pieces
}

// onRemote is the Remote of a solver.
func onRemote[T Float](ctx context.Context, s *Session, advance func(float64), m, n int,
	f func(r solve.Remote[T]) error,
) (done bool, err error) {
	r := &remote[T]{ctx: ctx, advance: advance}
	reserve := func(cq *callQueue) ([]*backend.Buffer, error) {
		r.work = cq
		return r.reserve(m, n)
	}
	return s.onDevice(reserve, func() (err error) {
		if r.copies, err = s.takeCallQueue(); err != nil {
			return err
		}
		defer func() { err = s.leave(r.copies, nil, false, err) }()
		ones := slices.Repeat([]T{1}, r.ones.cols)
		if err := r.ones.copyBytesFrom(ctx, part(1, len(ones), ones, len(ones)).byRows()); err != nil {
			return err
		}
		return f(r)
	})
}

// onDevice calls f once all memory is there: where the device has less than it said, it is false,
// and the host is to do the work.
func (s *Session) onDevice(reserve func(cq *callQueue) ([]*backend.Buffer, error), f func() error) (
	done bool, err error,
) {
	cq, err := s.takeCallQueue()
	if err != nil {
		return false, err
	}
	var buffers []*backend.Buffer
	waited := false
	defer func() { err = s.leave(cq, buffers, waited, err) }()
	buffers, err = reserve(cq)
	if errors.Is(err, backend.ErrOutOfMemory) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err = f(); err == nil {
		err = cq.s.queue.Wait()
	}
	waited = err == nil
	return true, err
}

// reserve makes r's arrays, in memory that it returns.
func (r *remote[T]) reserve(m, n int) (buffers []*backend.Buffer, err error) {
	if r.a, err = newArray(r.work.s, m, n, reflect.TypeFor[T]()); err != nil {
		return nil, err
	}
	buffers = append(buffers, r.a.buf)
	room, err := newArray(r.work.s, 1, roomFor(m, n), r.a.elem)
	if err != nil {
		return buffers, err
	}
	buffers = append(buffers, room.buf)
	at := 0
	take := func(elements int) array {
		at += elements
		return room.slice(0, 1, at-elements, at)
	}
	const panel = solve.Panel
	pieces := solve.Pieces(m)
	r.blocks = [2]array{take((m + panel) * panel), take((m + panel) * panel)}
	r.vt, r.panel, r.y = take(m*panel), take(m*panel), take(n*panel)
	r.x, r.ones = take(n*panel*pieces), take(pieces)
	return buffers, nil
}

// packed is rows by cols elements from a's first on.
func (a *array) packed(rows, cols int) array {
	p := *a
	p.rows, p.cols, p.stride = rows, cols, cols
	return p
}

func (r *remote[T]) Upload(a []T, lda int) error {
	return r.a.copyBytesFrom(r.ctx, part(r.a.rows, r.a.cols, a, lda).byRows())
}

func (r *remote[T]) Download(a []T, lda int) error {
	return r.a.copyBytesTo(r.ctx, part(r.a.rows, r.a.cols, a, lda).byRows())
}

func (r *remote[T]) Send(rows, w int, block []T) error {
	to := r.blocks[r.sent%2]
	r.sent++
	if err := r.copies.s.queue.Write(to.buf, to.bytes(to.off), backend.Bytes(block)); err != nil {
		return err
	}
	// The next block comes to the place of the one before this, whose work is in the queue by now.
	if err := cmp.Or(after(r.copies, r.work), after(r.work, r.copies)); err != nil {
		return err
	}
	r.v, r.vt = to.packed(rows, w), r.vt.packed(w, rows)
	to.off += rows * w
	r.s = to.packed(w, w)
	return r.vt.transpose(&r.v)
}

// after makes commands that are to come to one queue wait for those that are in another.
func after(later, earlier *callQueue) error {
	e, err := earlier.s.queue.Record()
	if err != nil {
		return err
	}
	return cmp.Or(later.s.queue.WaitEvent(e), e.Release())
}

func (r *remote[T]) Apply(lo, hi int) error {
	if err := context.Cause(r.ctx); err != nil || lo == hi {
		return err
	}
	rows, w, n := r.v.rows, r.v.cols, hi-lo
	c, x, y := r.a.slice(r.a.rows-rows, r.a.rows, lo, hi), r.x.packed(w, n), r.y.packed(w, n)
	if err := r.cross(&c); err != nil {
		return err
	}
	if err := y.product(&r.s, &x, update{alpha: 1}); err != nil {
		return err
	}
	if err := c.product(&r.v, &y, subMul); err != nil {
		return err
	}
	r.advance(2 * float64(rows) * float64(w) * float64(n))
	return nil
}

// cross makes x VᵀC: its pieces are a batch, but for a last one with fewer rows, and a product with
// ones adds them in order.
func (r *remote[T]) cross(c *array) error {
	w, n, whole := r.v.cols, c.cols, c.rows/solve.PieceRows
	if end := whole * solve.PieceRows; end < c.rows {
		vt, last, x := r.vt.slice(0, w, end, c.rows), c.slice(end, c.rows, 0, n), r.x.packed(w, n)
		x.off += whole * w * n
		if err := x.product(&vt, &last, update{alpha: 1}); err != nil {
			return err
		}
	}
	if whole > 0 {
		b := batch{count: whole, m: w, n: n, k: solve.PieceRows}
		strides := kernels.Batch{
			StrideA: solve.PieceRows, StrideB: int64(solve.PieceRows * c.stride), StrideC: int64(w * n),
		}
		x := r.x.packed(whole*w, n)
		err := x.multiply(context.Background(), element.TypeOf[T](), b, strides, r.vt.asOperand(), c.asOperand(),
			update{alpha: 1})
		if err != nil {
			return err
		}
	}
	more := solve.Pieces(c.rows) - 1
	if more == 0 {
		return nil
	}
	ones, sum, others := r.ones.packed(1, more), r.x.packed(1, w*n), r.x.packed(more, w*n)
	others.off += w * n
	return sum.product(&ones, &others, addMul)
}

// product enqueues a*b as what u makes of c.
func (c *array) product(a, b *array, u update) error {
	return c.gemm(context.Background(), "Gemm", 1, blas.NoTrans, a, blas.NoTrans, b, u)
}

func (r *remote[T]) Fetch(lo, hi int) error {
	columns := r.a.slice(0, r.a.rows, lo, hi)
	r.panel = r.panel.packed(hi-lo, r.a.rows)
	if err := r.panel.transpose(&columns); err != nil {
		return err
	}
	return after(r.copies, r.work)
}

func (r *remote[T]) Fetched(x []T) error {
	return r.copies.s.queue.Read(backend.Bytes(x), r.panel.buf, r.panel.bytes(r.panel.off))
}

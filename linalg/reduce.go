package linalg

import (
	"context"
	"reflect"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/panels"
	"github.com/tandem-gpu/tandem/internal/solve"
)

// reduceFrom is the elements of a matrix from which a GPU multiplies it by a vector sooner than the
// host, with both vectors' ways: 2048 by 2048, modelled and not measured. Tests make it small.
var reduceFrom = 1 << 22

// A reduction is a matrix in the memory of a session's device that is reduced to few diagonals, as
// package solve asks.
type reduction struct {
	ctx       context.Context
	advance   func(work float64) // tells of multiplications
	symmetric bool
	queue     *callQueue // whose staging memory vectors go through
	a         array      // what is left of the matrix
	l, r      array      // what is subtracted, or fetched
	y         array      // a product with a vector
}

// roomToReduce is the elements that there are beside a matrix of m by n.
func roomToReduce(m, n int) int { return 2 * solve.Panel * (m + n) }

// run calls f with r as a copy of a, unless the device has no room for it.
func (r *reduction) run(s *Session, a Matrix[float64], f func(r solve.Reduction) error) (done bool, err error) {
	reserve := func(cq *callQueue) ([]*backend.Buffer, error) {
		r.queue = cq
		return r.reserve(a.Rows, a.Cols)
	}
	return s.onDevice(reserve, func() error {
		if err := r.a.copyBytesFrom(r.ctx, a.byRows()); err != nil {
			return err
		}
		return f(r)
	})
}

// reserve makes r's arrays, in memory that it returns.
func (r *reduction) reserve(m, n int) (buffers []*backend.Buffer, err error) {
	s := r.queue.s
	if r.a, err = newArray(s, m, n, reflect.TypeFor[float64]()); err != nil {
		return nil, err
	}
	buffers = append(buffers, r.a.buf)
	room, err := newArray(s, 1, roomToReduce(m, n), r.a.elem)
	if err != nil {
		return buffers, err
	}
	r.l, r.r = room.slice(0, 1, 0, 2*solve.Panel*m), room.slice(0, 1, 2*solve.Panel*m, room.cols)
	return append(buffers, room.buf), r.queue.reserve(r.a.bytes(m + n + lineElements))
}

func (r *reduction) Fetch(w int, columns, rows []float64, ldr int) error {
	from, to := r.a.slice(0, r.a.rows, 0, w), r.l.packed(w, r.a.rows)
	if err := to.transpose(&from); err != nil {
		return err
	}
	if err := r.queue.s.queue.Read(backend.Bytes(columns), to.buf, to.bytes(to.off)); err != nil || rows == nil {
		return err
	}
	from = r.a.slice(0, w, 0, r.a.cols)
	return from.copyBytesTo(r.ctx, part(w, r.a.cols, rows, ldr).byRows())
}

// Multiply computes x*A, where A is symmetric, too: work-items side by side read a row together.
func (r *reduction) Multiply(trans bool, x []float64) error {
	if err := context.Cause(r.ctx); err != nil {
		return err
	}
	cq, q, n, trans := r.queue, r.queue.s.queue, r.a.cols, trans || r.symmetric
	if trans {
		n = r.a.rows
	}
	err := cq.host.Use(func(mem []byte) {
		staged := backend.Elems[float64](mem)
		clear(staged[:n-len(x)])
		copy(staged[n-len(x):n], x)
	})
	if err != nil {
		return err
	}
	if cq.apart() {
		if err := q.WriteAsync(cq.device, 0, cq.host, 0, r.a.bytes(n)); err != nil {
			return err
		}
	}
	v := array{s: r.a.s, buf: cq.device, elem: r.a.elem, view: true}
	r.y = v
	r.y.off = wholeLines(n)
	if trans {
		v, r.y = v.packed(1, n), r.y.packed(1, r.a.cols)
		err = r.y.product(&v, &r.a, update{alpha: 1})
	} else {
		v, r.y = v.packed(n, 1), r.y.packed(r.a.rows, 1)
		err = r.y.product(&r.a, &v, update{alpha: 1})
	}
	if at := r.y.bytes(r.y.off); err == nil && cq.apart() {
		err = q.ReadAsync(cq.host, at, cq.device, at, r.y.bytes(r.y.rows*r.y.cols))
	}
	return err
}

func (r *reduction) Multiplied(y []float64) error {
	if err := r.queue.s.queue.Wait(); err != nil {
		return err
	}
	end := r.y.off + r.y.rows*r.y.cols
	return r.queue.host.Use(func(mem []byte) { copy(y, backend.Elems[float64](mem)[end-len(y):end]) })
}

func (r *reduction) Subtract(w int, left, right []float64, ldr int) error {
	k := 2 * w
	r.a = r.a.slice(w, r.a.rows, w, r.a.cols)
	l, u := r.l.packed(r.a.rows, k), r.r.packed(k, r.a.cols)
	if err := l.copyBytesFrom(r.ctx, part(l.rows, k, left, k).byRows()); err != nil {
		return err
	}
	if err := u.copyBytesFrom(r.ctx, part(k, u.cols, right, ldr).byRows()); err != nil {
		return err
	}
	if err := r.a.product(&l, &u, subMul); err != nil {
		return err
	}
	work := float64(r.a.rows) * float64(k) * float64(r.a.cols)
	if r.symmetric {
		work /= 2 // what the host would have done
		if err := r.mirror(); err != nil {
			return err
		}
	}
	r.advance(work)
	return nil
}

func (r *reduction) mirror() error {
	k, err := r.a.s.kernel(kernelKey{src: panels.Mirror()})
	if err != nil {
		return err
	}
	const side = 8 // which any device takes
	groups := (r.a.rows + side - 1) / side
	return r.a.s.queue.Launch(k, backend.Grid2(groups, groups, side, side), r.a.asMatrix()...)
}

package linalg

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/panels"
)

// Factorizations in the memory of a device: right-looking, as LAPACK's getrf and potrf are. A panel
// of a few columns is factored, the block row or column beside it follows, and what is left of the
// matrix loses their product. All of it runs on the device, one command after the other, so that
// the matrix crosses the bus once in each direction, and the host waits only at the end.

// The columns of a panel: few for LU, where one group of work-items factors it, but enough for a
// product to be worth a pass over the matrix. They are modelled, not measured. Tests make them
// small.
var luWidth, choleskyWidth = 32, 64

// A panel is columns j to j+w-1 of a matrix that is factored on a device.
type panel struct {
	a     *array // the whole matrix
	notes *array // integers about it, which a factorization leaves beside
	typ   element.Type
	j, w  int
}

// isForDevice tells whether the session's device is to keep a matrix of m by n of which k columns
// are factored, or to which k reflectors are applied: there is but one, which has room for it and
// some elements beside, and takes the product of half the columns.
func isForDevice[T Float](s *Session, m, n, k, beside int) bool {
	half := (k + 1) / 2
	return hasRoom[T](s, m, n, beside) &&
		isLarge(float64(solverCrossover(crossover[T](s))), m-half, max(n-half, n/2), half)
}

// hasRoom tells whether the session has but one device, which has room for a matrix of m by n and
// some elements beside.
func hasRoom[T Float](s *Session, m, n, beside int) bool {
	size := (int64(m)*int64(n) + int64(beside)) * int64(element.TypeOf[T]().Size())
	return len(s.others) == 0 && size <= s.sharer.Budget() && size <= s.info.MaxAlloc
}

// A factoring is how a matrix is factored on a device.
type factoring struct {
	width     int
	step      func(p panel) error // enqueues what a panel of so many columns asks for
	meanwhile func()              // is the host's part
}

// factorOnDevice makes dst what a factoring leaves of src, and notes the integers that it leaves
// beside. It is false where the device has less room than it said: the host is to factor src then.
func factorOnDevice[T Float](ctx context.Context, s *Session, src, dst Matrix[T], notes []int32, how factoring) (
	done bool, err error,
) {
	shape := array{rows: src.Rows, cols: src.Cols, elem: reflect.TypeFor[T]()}
	p := panel{a: &shape, typ: element.TypeOf[T](), w: how.width}
	done, err = p.factor(ctx, s, src.byRows(), dst.byRows(), notes, how)
	return (done || err != nil) && !errors.Is(err, backend.ErrOutOfMemory), err
}

// factor is factorOnDevice for a matrix of p.a's shape.
func (p panel) factor(ctx context.Context, s *Session, src, dst rowsOfBytes, notes []int32, how factoring) (
	done bool, err error,
) {
	var a, beside array
	reserve := func(cq *callQueue) (_ []*backend.Buffer, err error) {
		if a, err = newArray(cq.s, p.a.rows, p.a.cols, p.a.elem); err == nil {
			beside, err = newArray(cq.s, 1, len(notes), reflect.TypeFor[int32]())
		}
		return []*backend.Buffer{a.buf, beside.buf}, err
	}
	return s.onDevice(reserve, func() error {
		if err := a.copyBytesFrom(ctx, src); err != nil {
			return err
		}
		p.a, p.notes = &a, &beside
		if err := p.each(ctx, how.step); err != nil {
			return err
		}
		how.meanwhile()
		if err := a.copyBytesTo(ctx, dst); err != nil {
			return err
		}
		return a.s.queue.Read(backend.Bytes(notes), beside.buf, 0)
	})
}

// each enqueues step for each panel. Where ctx may end, or wants to know the progress, it waits for
// one after the other.
func (p panel) each(ctx context.Context, step func(p panel) error) error {
	report, n := progress(ctx), min(p.a.rows, p.a.cols)
	for ; p.j < n; p.j += p.w {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		p.w = min(p.w, n-p.j)
		if err := step(p); err != nil {
			return err
		}
		if ctx.Done() == nil && report == nil {
			continue
		}
		if err := p.a.s.queue.Wait(); err != nil {
			return err
		}
		if report != nil {
			left := 1 - float64(p.j+p.w)/float64(n)
			report(1 - left*left*left) // of the multiplications, where the matrix is square
		}
	}
	return nil
}

// lu is a step of LU. The notes become the pivots, and then 1 more than the first column whose
// pivot is 0.
func (p panel) lu() (err error) {
	a, j, h := p.a, p.j, p.j+p.w
	own := a.slice(j, a.rows, j, h)
	t, err := transposed(&own)
	if err != nil {
		return err
	}
	defer t.spare(&err)
	group := panels.Group(a.rows-j, a.s.info.MaxGroup)
	if err := p.launch(panels.LU, 1, group, t.asMatrix(), p.notes.asSlice(), integers(j)); err != nil {
		return err
	}
	if err := own.transpose(t); err != nil {
		return err
	}
	rest := a.slice(j, a.rows, 0, a.cols)
	err = p.launch(panels.LURows, groupsFor(a.cols), side, rest.asMatrix(), p.notes.asSlice(), integers(j, p.w))
	if err != nil || h == a.rows || h == a.cols {
		return err
	}
	return p.subtract(h, a.cols, a.slice(j, h, h, a.cols))
}

// cholesky is a step of Cholesky in the lower triangle. The note becomes 1 more than the first row
// whose root is not of a positive number.
func (p panel) cholesky() (err error) {
	a, j, h, n := p.a, p.j, p.j+p.w, p.a.rows
	own := a.slice(j, n, j, h)
	t, err := transposed(&own)
	if err != nil {
		return err
	}
	defer t.spare(&err)
	group := panels.Group(p.w, side)
	if err := p.launch(panels.Cholesky, 1, group, t.asMatrix(), p.notes.asSlice(), integers(j)); err != nil {
		return err
	}
	if h < n {
		if err := p.launch(panels.CholeskyRows, groupsFor(n-h), side, t.asMatrix()); err != nil {
			return err
		}
	}
	if err := own.transpose(t); err != nil {
		return err
	}
	// Four blocks of columns from the diagonal on: more of the square than its lower triangle, in
	// few products.
	wide := max((n-h)/4/p.w*p.w+p.w, blockColumns)
	for c := h; c < n; c += wide {
		end := min(c+wide, n)
		if err := p.subtract(c, end, t.slice(0, p.w, c-j, end-j)); err != nil {
			return err
		}
	}
	return nil
}

// blockColumns is the fewest columns of a block of Cholesky's product.
const blockColumns = 256

// subtract subtracts the panel times b from columns c to end-1, from row c on: from what LU and
// Cholesky leave to later panels.
func (p panel) subtract(c, end int, b array) error {
	rest, own := p.a.slice(c, p.a.rows, c, end), p.a.slice(c, p.a.rows, p.j, p.j+p.w)
	return rest.product(&own, &b, subMul)
}

// side is the work-items of a group of those that have a row or column beside a panel each: few, so
// that many multiprocessors take part.
const side = 32

func groupsFor(n int) int { return (n + side - 1) / side }

// launch enqueues a kernel of package panels.
func (p panel) launch(kernel func(element.Type) *backend.Source, groups, items int, args ...[]backend.Arg) error {
	k, err := p.a.s.kernel(kernelKey{src: kernel(p.typ)})
	if err != nil {
		return err
	}
	return p.a.s.queue.Launch(k, backend.Grid1(groups, items), slices.Concat(args...)...)
}

// asMatrix is the array as kernels in Go take a matrix.
func (a *array) asMatrix() []backend.Arg {
	return append([]backend.Arg{backend.Buf(a.buf)}, integers(a.off, a.rows, a.cols, a.stride)...)
}

// asSlice is a packed array as they take a slice.
func (a *array) asSlice() []backend.Arg {
	return append([]backend.Arg{backend.Buf(a.buf)}, integers(a.off, a.rows*a.cols)...)
}

func integers(list ...int) (args []backend.Arg) {
	for _, n := range list {
		args = append(args, backend.Int64(int64(n)))
	}
	return args
}

package linalg

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
)

// A request is what is to be computed from host memory to host memory, or from files to files.
type request[T any] struct {
	kernel operationKernel // productKernel, transposeKernel or an elementwiseKernel
	count  int             // of products
	tA, tB blas.Transpose
	update

	matrices [3]Matrix[T] // C, A, and B where there is one
	n        int          // of them
	makesC   bool         // C is only a shape at first
}

// A call is a request with all that it needs, so that it costs no memory but that of a new result.
type call[T Element] struct {
	request[T]
	op     operation[T]
	isTile bool // of a call that devices share: checked, and for one device

	place   place
	arrays  [3]array           // the matrices on the device
	buffers [3]*backend.Buffer // to be freed
}

// A place is where the device computes.
type place uint8

const (
	inStaging place = iota // on copies in staging memory
	inPlace                // on the matrices themselves
	inArrays               // on copies in memory of the device
)

var operandNames = [...]string{"the destination", "operand A", "operand B"}

// compute does what r asks for, as o says, and returns C. With computeFiles it is where the
// functions of the package meet code of their element type, which is compiled here: of generic
// functions each package that calls them has a copy of its own, and of all that they call, which is
// most of the package. Functions of one type that were put in the place of their calls would bring
// that back.
func compute[T Element](o settings, r *request[T]) (c Matrix[T], err error) {
	switch r := any(r).(type) {
	case *request[float32]:
		err = computeFloat32(o.ctx, o.s, r)
	case *request[float64]:
		err = computeFloat64(o.ctx, o.s, r)
	case *request[int32]:
		err = computeInt32(o.ctx, o.s, r)
	}
	if err != nil {
		return c, err
	}
	return r.matrices[0], nil
}

//go:noinline
func computeFloat32(ctx context.Context, s *Session, r *request[float32]) error {
	return runRequest(ctx, s, r)
}

//go:noinline
func computeFloat64(ctx context.Context, s *Session, r *request[float64]) error {
	return runRequest(ctx, s, r)
}

//go:noinline
func computeInt32(ctx context.Context, s *Session, r *request[int32]) error {
	return runRequest(ctx, s, r)
}

// runRequest does what r asks for, on the default device where s is nil, and makes C the result.
func runRequest[T Element](ctx context.Context, s *Session, r *request[T]) error {
	s, err := r.prepare(ctx, s)
	if err != nil {
		return err
	}
	return runChecked(ctx, s, r, false)
}

// prepare checks the matrices, and makes C where that is only a shape. It gives the session.
func (r *request[T]) prepare(ctx context.Context, s *Session) (*Session, error) {
	if err := cmp.Or(context.Cause(ctx), checkMatrices(r)); err != nil {
		return nil, err
	}
	s, err := orDefault(s)
	if err != nil || !r.makesC {
		return s, err
	}
	t, _ := element.Of[T]()
	rows, cols := r.matrices[0].Rows, r.matrices[0].Cols
	if err := s.canHold(rows, cols, t); err != nil {
		return nil, err
	}
	r.matrices[0] = newResult[T](rows, cols)
	return s, nil
}

// runChecked does what r asks for, whose C there is. isTile says that it is a tile of a call that
// devices share, for one device.
func runChecked[T Element](ctx context.Context, s *Session, r *request[T], isTile bool) error {
	if done, err := direct(ctx, s, r); done || err != nil {
		return err
	}
	x := call[T]{request: *r, op: operationOf[T](r.kernel), isTile: isTile}
	return x.run(ctx, s)
}

// run computes on s.
func (x *call[T]) run(ctx context.Context, s *Session) (err error) {
	if x.shares(s) {
		return x.share(ctx, s)
	}
	cq, err := s.takeCallQueue()
	if err != nil {
		return err
	}
	waited := false
	defer func() { err = s.leave(cq, x.buffers[:], waited, err) }()
	if err := x.send(ctx, cq); err != nil {
		return err
	}
	dst, a, b := &x.arrays[0], &x.arrays[1], &x.arrays[2]
	switch op := x.op.(type) { // by type, so that x stays off the heap
	case product[T]:
		err = dst.gemm(ctx, x.count, x.tA, a, x.tB, b, x.update)
	case transposition[T]:
		err = dst.transpose(a)
	case elementwise[T]:
		err = op.apply(x.alpha, dst, a, b)
	}
	if err == nil {
		err = x.receive(ctx, cq)
	}
	waited = err == nil
	return err
}

// direct computes where the matrices are, if s is this processor alone: what a launch would do,
// which takes longer than a small operation. It is false where there is more to a call.
func direct[T Element](ctx context.Context, s *Session, r *request[T]) (done bool, err error) {
	if !s.direct || progress(ctx) != nil {
		return false, nil
	}
	if err := cmp.Or(s.open(), s.device.Err()); err != nil {
		return false, err
	}
	c, a, b := &r.matrices[0], &r.matrices[1], &r.matrices[2]
	switch k := r.kernel.(type) {
	case productKernel:
		if r.count == 1 {
			return directProduct(ctx, s, r, c, a, b)
		}
	case transposeKernel:
		host.Transpose(a.Rows, a.Cols, a.Data, a.Stride, c.Data, c.Stride)
		return true, nil
	case elementwiseKernel:
		return c.Rows*c.Cols <= fewElements && applyToFew(k.row, T(r.alpha), *c, *a, *b), nil
	}
	return false, nil
}

func directProduct[T Element](ctx context.Context, s *Session, r *request[T], c, a, b *Matrix[T]) (
	done bool, err error,
) {
	p, err := newBatch(1, r.tA, dims{a.Rows, a.Cols}, r.tB, dims{b.Rows, b.Cols}, dims{c.Rows, c.Cols})
	if err != nil || p.k == 0 || r.alpha == 0 {
		return false, err
	}
	if ctx.Done() != nil && p.m > p.piece(&s.info) { // it may end before the product does
		return false, nil
	}
	if r.bytes != noBytes {
		quadsProduct(p, any(r).(*request[int32]))
	} else if r.chain {
		host.Update(r.alpha < 0, p.m, p.n, p.k, a.Data, a.Stride, b.Data, b.Stride, c.Data, c.Stride)
	} else {
		host.GemmTrans(r.tA != blas.NoTrans, r.tB != blas.NoTrans, p.m, p.n, p.k, T(r.alpha), a.Data, a.Stride,
			b.Data, b.Stride, T(r.beta), c.Data, c.Stride)
	}
	return true, nil
}

// checkMatrices says what is wrong with them.
func checkMatrices[T any](r *request[T]) error {
	for i, m := range r.matrices[:r.n] {
		if i == 0 && r.makesC {
			continue
		}
		if err := m.check(operandNames[i]); err != nil {
			return err
		}
		if i > 0 && !r.makesC && shareElements(r.matrices[0], m) {
			return fmt.Errorf("%w: the destination and %s share elements", ErrOverlap, operandNames[i])
		}
	}
	return nil
}

// send brings the matrices to the device: where it is a processor that works on the host's memory,
// by telling it of that, unless copies take less time.
func (x *call[T]) send(ctx context.Context, cq *callQueue) error {
	for i, m := range x.matrices[:x.n] {
		x.arrays[i] = array{s: cq.s, rows: m.Rows, cols: m.Cols, stride: m.Cols, view: true, elem: reflect.TypeFor[T]()}
	}
	small := smallBytes
	if cq.s.sharesMemory() {
		small = smallShared
	}
	switch {
	case x.hasAtMost(small) && !cq.s.registersFreely():
		x.place = inStaging
		return x.sendSmall(cq)
	case cq.s.sharesMemory():
		x.place = inPlace
		return x.register(cq.s)
	}
	x.place = inArrays
	for i := 1; i <= x.n; i++ { // C is the last
		i := i % x.n
		m, a := x.matrices[i], &x.arrays[i]
		var err error
		if a.buf, err = newBuffer(cq.s, m.Rows, m.Cols, a.elem); err != nil {
			return err
		}
		x.buffers[i] = a.buf
		if i > 0 || x.beta != 0 {
			if err := a.copyBytesFrom(ctx, m.byRows()); err != nil {
				return err
			}
		}
	}
	return nil
}

// receive makes C what the device computed.
func (x *call[T]) receive(ctx context.Context, cq *callQueue) error {
	switch x.place {
	case inStaging:
		return x.receiveSmall(cq)
	case inArrays:
		if err := x.arrays[0].copyBytesTo(ctx, x.matrices[0].byRows()); err != nil {
			return err
		}
	}
	return cq.s.queue.Wait()
}

// leave releases what a call has used, its queue and buffers. It returns err, or else what goes
// wrong here.
func (s *Session) leave(cq *callQueue, buffers []*backend.Buffer, waited bool, err error) error {
	// the call may have failed, or panicked, with work in the queue on memory of the caller's
	idle := waited || cq.s.queue.Wait() == nil
	for _, b := range buffers {
		if b == nil {
			continue
		}
		if e := b.Free(); err == nil {
			err = e
		}
	}
	if e := cq.s.spares.close(); err == nil { // not kept, as the queue may be: there may be many
		err = e
	}
	if idle {
		s.keepCallQueue(cq)
	} else {
		cq.close()
	}
	return err
}

// register makes arrays of the matrices' own memory. Matrices may share memory: what is connected
// is registered once.
func (x *call[T]) register(s *Session) (err error) {
	pieces := x.pieces()
	for i, piece := range pieces {
		if len(piece) == 0 {
			continue
		}
		if x.buffers[i], err = s.device.Register(backend.Bytes(piece)); err != nil {
			return err
		}
	}
	for i, m := range x.matrices[:x.n] {
		a, mem := &x.arrays[i], m.memory()
		if len(mem) == 0 {
			if a.buf, err = newBuffer(s, 0, 0, a.elem); err != nil {
				return err
			}
			x.buffers[i] = a.buf
			continue
		}
		for j, piece := range pieces {
			if bytesOverlap(backend.Bytes(piece), backend.Bytes(mem)) {
				a.buf, a.off, a.stride = x.buffers[j], distance(piece, mem), m.Stride
			}
		}
	}
	return nil
}

// pieces is the memory of the matrices, where parts that overlap are one.
func (x *call[T]) pieces() (pieces [3][]T) {
	for i, m := range x.matrices[:x.n] {
		piece := m.memory()
		for j, p := range pieces[:i] {
			if bytesOverlap(backend.Bytes(p), backend.Bytes(piece)) {
				piece, pieces[j] = union(p, piece), nil
			}
		}
		pieces[i] = piece
	}
	return pieces
}

// union is the memory from the first element of two overlapping slices to the last.
func union[T Element](a, b []T) []T {
	d := distance(a, b)
	if d < 0 {
		a, b, d = b, a, -d
	}
	return unsafe.Slice(unsafe.SliceData(a), max(len(a), d+len(b)))
}

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

// A request is what is to be computed from host memory to host memory.
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
	isTile bool // of a call that devices share

	place   place
	arrays  [3]array           // the matrices on the device
	buffers [3]*backend.Buffer // to be freed
}

// A place is where the device computes.
type place uint8

const (
	inTiles   place = iota // a part of C after the other, on as many devices as there are
	inStaging              // on copies in staging memory
	inPlace                // on the matrices themselves
	inArrays               // on copies in memory of the device
)

var operandNames = [...]string{"the destination", "operand A", "operand B"}

// compute does what r asks for, as o says, and returns C. Here the functions of the package meet
// code of their element type, which is compiled in this package: of generic functions each package
// that calls them has a copy of its own, and of all that they call, which is most of this one.
// Functions of one type that were put in the place of their calls would bring that back.
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
	return runPrepared(ctx, s, r, false)
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
	c := &r.matrices[0]
	*c, err = newResultOn[T](s, c.Rows, c.Cols)
	return s, err
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

// runPrepared does what r asks for, which prepare has seen. isTile says that it is a tile of a call
// that devices share, for one device.
func runPrepared[T Element](ctx context.Context, s *Session, r *request[T], isTile bool) error {
	if done, err := direct(ctx, s, r); done || err != nil {
		return err
	}
	x := call[T]{request: *r, isTile: isTile}
	return x.run(ctx, s)
}

// direct computes where the matrices are, if s is this processor alone: what a launch would do,
// which takes longer than a small operation. It is false where there is more to a call.
func direct[T Element](ctx context.Context, s *Session, r *request[T]) (done bool, err error) {
	if !s.direct || progress(ctx) != nil {
		return false, nil
	}
	if err := s.device.Err(); err != nil {
		return false, err
	}
	c, a, b := &r.matrices[0], &r.matrices[1], &r.matrices[2]
	switch k := r.kernel.(type) {
	case productKernel:
		return directProduct(ctx, s, r)
	case transposeKernel:
		host.Transpose(a.Rows, a.Cols, a.Data, a.Stride, c.Data, c.Stride)
		return true, nil
	case elementwiseKernel:
		return c.Rows*c.Cols <= fewElements && applyToFew(k.row, T(r.alpha), *c, *a, *b), nil
	}
	return false, nil
}

// run computes on s, by a queue of the call's own.
func (x *call[T]) run(ctx context.Context, s *Session) (err error) {
	if x.place = x.placeOn(s); x.place == inTiles {
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
	switch k := x.kernel.(type) { // by type, so that x stays off the heap
	case productKernel:
		err = dst.gemm(ctx, "Gemm", x.count, x.tA, a, x.tB, b, x.update)
	case transposeKernel:
		err = dst.transpose(a)
	case elementwiseKernel:
		err = k.apply(x.alpha, dst, a, b)
	}
	if err == nil {
		err = x.receive(ctx, cq)
	}
	waited = err == nil
	return err
}

// smallBytes is the most that the operands of a call may have in all to go through staging memory
// of a device with memory of its own, and smallShared where it shares the host's, as PoCL does:
// about where copying begins to take longer than registering. Tests make them small.
var smallBytes, smallShared = 1 << 20, 1 << 16

// placeOn is the place where x takes the least time on s.
func (x *call[T]) placeOn(s *Session) place {
	small := smallBytes
	if s.sharesMemory() {
		small = smallShared
	}
	switch {
	case x.needsTiles(s):
		return inTiles
	case x.hasAtMost(small) && !s.registersFreely():
		return inStaging
	case s.sharesMemory():
		return inPlace
	}
	return inArrays
}

// needsTiles tells whether x is cut into tiles of C: by several devices, which share them, and on a
// device that the matrices are copied to, where copies and work go on at the same time, and which
// may be smaller than the matrices. What is small is not, nor are many products that fit.
func (x *call[T]) needsTiles(s *Session) bool {
	if x.isTile || len(s.others) == 0 && (!s.sharer.TakesCopies(x.largest()) || x.count > 1 && x.fits(s)) {
		return false
	}
	return !x.hasAtMost(smallBytes) || s.sharer.Budget() < int64(smallBytes)
}

// largest is the bytes of the largest matrix, with the gaps between its rows.
func (x *call[T]) largest() (n int64) {
	for _, m := range x.matrices[:x.n] {
		n = max(n, int64(len(m.bytes())))
	}
	return n
}

// fits tells whether copies of all matrices have room on the device at once.
func (x *call[T]) fits(s *Session) bool {
	all := int64(0)
	for _, m := range x.matrices[:x.n] {
		all += int64(m.Rows*m.Cols) * int64(element.TypeOf[T]().Size())
	}
	return x.largest() <= s.info.MaxAlloc && all <= s.sharer.Budget()
}

// hasAtMost tells whether the matrices have at most so many bytes in all.
func (x *call[T]) hasAtMost(bytes int) bool {
	var t T
	left := bytes / int(unsafe.Sizeof(t))
	for _, m := range x.matrices[:x.n] {
		left -= min(m.Rows*m.Cols+lineElements, left+1)
	}
	return left >= 0
}

// send brings the matrices to x's place on the device.
func (x *call[T]) send(ctx context.Context, cq *callQueue) error {
	for i, m := range x.matrices[:x.n] {
		x.arrays[i] = array{s: cq.s, rows: m.Rows, cols: m.Cols, stride: m.Cols, view: true, elem: reflect.TypeFor[T]()}
	}
	switch x.place {
	case inStaging:
		return x.sendSmall(cq)
	case inPlace:
		return x.register(cq.s)
	}
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

// lineElements of every type are a multiple of a cache line, so that operands do not share one.
const lineElements = 16

// wholeLines is so many elements and those up to the end of their last line.
func wholeLines(n int) int { return (n + lineElements - 1) / lineElements * lineElements }

// sendSmall copies small matrices to staging memory, C first, and sends them all at once. C only
// has its place there where it is not read.
func (x *call[T]) sendSmall(cq *callQueue) error {
	first, n := 0, 0 // elements
	for i := range x.arrays[:x.n] {
		a := &x.arrays[i]
		a.off = n
		n += wholeLines(a.rows * a.cols)
		if i == 0 && x.beta == 0 {
			first = n
		}
	}
	c := &x.arrays[0]
	if err := cq.reserve(c.bytes(n)); err != nil {
		return err
	}
	err := cq.host.Use(func(mem []byte) {
		for i, m := range x.matrices[:x.n] {
			a := &x.arrays[i]
			a.buf = cq.device
			if i > 0 || x.beta != 0 {
				copyElements(packedIn(a, backend.Elems[T](mem)), m)
			}
		}
	})
	if err != nil || !cq.apart() {
		return err
	}
	return cq.s.queue.WriteAsync(cq.device, c.bytes(first), cq.host, c.bytes(first), c.bytes(n-first))
}

// receiveSmall copies C from staging memory.
func (x *call[T]) receiveSmall(cq *callQueue) error {
	c, q := &x.arrays[0], cq.s.queue
	if cq.apart() {
		if err := q.ReadAsync(cq.host, 0, cq.device, 0, c.bytes(c.rows*c.cols)); err != nil {
			return err
		}
	}
	if err := q.Wait(); err != nil {
		return err
	}
	return cq.host.Use(func(mem []byte) { copyElements(x.matrices[0], packedIn(c, backend.Elems[T](mem))) })
}

// packedIn is an array as a matrix, where mem is the memory of its buffer.
func packedIn[T Element](a *array, mem []T) Matrix[T] {
	return NewMatrix(a.rows, a.cols, mem[a.off:][:a.rows*a.cols:a.rows*a.cols])
}

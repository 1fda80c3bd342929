package linalg

import (
	"context"
	"fmt"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/kernels"
)

// MatMul is the product of a and b, on the default device. The shapes are a: m x k, b: k x n, and the result, which is packed and new: m x n.
// Each element is one chain of fused multiply-adds, as the package says. Where k is 0 the result is zero.
func MatMul[T Element](a, b Matrix[T]) (Matrix[T], error) {
	return MatMulContext(context.Background(), nil, a, b)
}

// Transpose is the transpose of a, on the default device: packed and new.
func Transpose[T Element](a Matrix[T]) (Matrix[T], error) {
	return TransposeContext(context.Background(), nil, a)
}

// Add is the sum of a and b, which have one shape, on the default device: packed and new.
func Add[T Element](a, b Matrix[T]) (Matrix[T], error) {
	return AddContext(context.Background(), nil, a, b)
}

// Scale is alpha*a, on the default device: packed and new.
func Scale[T Element](alpha T, a Matrix[T]) (Matrix[T], error) {
	return ScaleContext(context.Background(), nil, alpha, a)
}

// Gemm makes c = alpha*op(a)*op(b) + beta*c, on the default device, where op is the matrix or, with blas.Trans or blas.ConjTrans, its
// transpose. c must not share memory with a or b. After an error the elements of c are undefined.
func Gemm[T Element](alpha T, tA blas.Transpose, a Matrix[T], tB blas.Transpose, b Matrix[T], beta T, c Matrix[T]) error {
	return GemmContext(context.Background(), nil, alpha, tA, a, tB, b, beta, c)
}

// MatMulContext is MatMul on session s, or on the default device where s is nil. It returns ctx's error soon after ctx is done.
func MatMulContext[T Element](ctx context.Context, s *Session, a, b Matrix[T]) (Matrix[T], error) {
	if a.Cols != b.Rows {
		return Matrix[T]{}, fmt.Errorf("%w: product of %s and %s: the columns of the first are not the rows of the second", ErrShape, a, b)
	}
	return compute(ctx, s, a.Rows, b.Cols, []Matrix[T]{a, b}, func(c *Array[T], in []*Array[T]) error {
		return c.gemm(ctx, 1, blas.NoTrans, in[0], blas.NoTrans, in[1], 0)
	})
}

// TransposeContext is Transpose on session s, or on the default device where s is nil. It returns ctx's error soon after ctx is done.
func TransposeContext[T Element](ctx context.Context, s *Session, a Matrix[T]) (Matrix[T], error) {
	return compute(ctx, s, a.Cols, a.Rows, []Matrix[T]{a}, func(c *Array[T], in []*Array[T]) error {
		return c.Transpose(in[0])
	})
}

// AddContext is Add on session s, or on the default device where s is nil. It returns ctx's error soon after ctx is done.
func AddContext[T Element](ctx context.Context, s *Session, a, b Matrix[T]) (Matrix[T], error) {
	if a.Rows != b.Rows || a.Cols != b.Cols {
		return Matrix[T]{}, fmt.Errorf("%w: sum of %s and %s", ErrShape, a, b)
	}
	return compute(ctx, s, a.Rows, a.Cols, []Matrix[T]{a, b}, func(c *Array[T], in []*Array[T]) error {
		return c.Add(in[0], in[1])
	})
}

// ScaleContext is Scale on session s, or on the default device where s is nil. It returns ctx's error soon after ctx is done.
func ScaleContext[T Element](ctx context.Context, s *Session, alpha T, a Matrix[T]) (Matrix[T], error) {
	return compute(ctx, s, a.Rows, a.Cols, []Matrix[T]{a}, func(c *Array[T], in []*Array[T]) error {
		return c.Scale(alpha, in[0])
	})
}

// GemmContext is Gemm on session s, or on the default device where s is nil. It returns ctx's error soon after ctx is done; the elements of c
// are undefined then.
func GemmContext[T Element](ctx context.Context, s *Session, alpha T, tA blas.Transpose, a Matrix[T], tB blas.Transpose, b Matrix[T], beta T, c Matrix[T]) error {
	return into(ctx, s, c, beta != 0, []Matrix[T]{a, b}, func(dst *Array[T], in []*Array[T]) error {
		return dst.gemm(ctx, alpha, tA, in[0], tB, in[1], beta)
	})
}

// compute runs f over copies of in on the device, and gives back its rows by cols result.
func compute[T Element](ctx context.Context, s *Session, rows, cols int, in []Matrix[T], f func(out *Array[T], in []*Array[T]) error) (Matrix[T], error) {
	for i, m := range in {
		if err := m.check(operandName(i)); err != nil {
			return Matrix[T]{}, err
		}
	}
	if s == nil {
		var err error
		if s, err = Default(); err != nil {
			return Matrix[T]{}, err
		}
	}
	if err := s.canHold(rows, cols, kernels.TypeOf[T]()); err != nil {
		return Matrix[T]{}, err
	}
	out := NewMatrix[T](rows, cols, nil)
	if err := into(ctx, s, out, false, in, f); err != nil {
		return Matrix[T]{}, err
	}
	return out, nil
}

// canHold says whether a result of rows by cols can be one buffer of the device, before the host makes room for it: Go does not
// return from a make that is too large.
func (s *Session) canHold(rows, cols int, t kernels.Type) error {
	n, err := elements(rows, cols)
	if err != nil {
		return err
	}
	if limit := s.info.MaxAlloc; limit > 0 && int64(n) > limit/int64(t.Size()) {
		return &backend.Error{
			Driver: s.info.Driver, Op: "linalg", Err: backend.ErrOutOfMemory,
			Detail: fmt.Sprintf("a result of %dx%d %s; the largest buffer of %s has %d bytes", rows, cols, t, s.info.Name, limit),
		}
	}
	return nil
}

// operandName is the name of an operand in errors.
func operandName(i int) string { return [...]string{"operand A", "operand B"}[i] }

// into runs f over in and out on the device and leaves the result in out; keep tells that f reads out. Where the device is a processor that shares the
// host's memory, it works on that, unless copies take less time; elsewhere on copies.
func into[T Element](ctx context.Context, s *Session, out Matrix[T], keep bool, in []Matrix[T], f func(out *Array[T], in []*Array[T]) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s == nil {
		if s, err = Default(); err != nil {
			return err
		}
	}
	if err := out.check("the destination"); err != nil {
		return err
	}
	for i, m := range in {
		if err := m.check(operandName(i)); err != nil {
			return err
		}
		if shareElements(out, m) {
			return fmt.Errorf("%w: the destination and %s share elements", ErrOverlap, operandName(i))
		}
	}
	return s.withLane(func(l *lane) error {
		switch all := append(in[:len(in):len(in)], out); {
		case areSmall(all) && !s.registersForNothing():
			return onScratch(l, out, keep, in, f)
		case s.sharesMemory():
			return inPlace(l.s, out, in, f)
		}
		return onCopies(ctx, l.s, out, keep, in, f)
	})
}

// registersForNothing tells whether the device reaches any memory of the host without being told of it: the cpu device does.
func (s *Session) registersForNothing() bool { return s.info.Driver == "cpu" && s.sharesMemory() }

// sharesMemory tells whether the device is a processor that works on the host's memory as the host does. Integrated GPUs share it as well, but
// operands of concurrent calls may overlap, which registered memory must not do there.
func (s *Session) sharesMemory() bool { return s.info.UnifiedMemory && !s.info.GPU }

func onCopies[T Element](ctx context.Context, s *Session, out Matrix[T], keep bool, in []Matrix[T], f func(out *Array[T], in []*Array[T]) error) (err error) {
	var arrays []*Array[T]
	defer func() { err = freeAll(arrays, err) }()
	for i, m := range append(in[:len(in):len(in)], out) {
		a, err := NewArray[T](s, m.Rows, m.Cols)
		if err != nil {
			return err
		}
		arrays = append(arrays, a)
		if i < len(in) || keep {
			if err := a.copyFrom(ctx, m); err != nil {
				return err
			}
		}
	}
	c := arrays[len(in)]
	if err := f(c, arrays[:len(in)]); err != nil {
		return err
	}
	if err := c.copyTo(ctx, out); err != nil {
		return err
	}
	return s.queue.Wait()
}

// inPlace registers the matrices' own memory. Operands may share memory: each connected piece is registered once.
func inPlace[T Element](s *Session, out Matrix[T], in []Matrix[T], f func(out *Array[T], in []*Array[T]) error) (err error) {
	all := append(in[:len(in):len(in)], out)
	pieces := connected(all)
	buffers := make([]backend.Buffer, 0, len(all))
	defer func() { err = freeAll(buffers, err) }()
	for _, p := range pieces {
		b, err := s.device.Register(backend.Bytes(p))
		if err != nil {
			return err
		}
		buffers = append(buffers, b)
	}
	arrays := make([]*Array[T], len(all))
	for i, m := range all {
		if arrays[i] = locate(s, m, pieces, buffers); arrays[i] != nil {
			continue
		}
		if arrays[i], err = NewArray[T](s, m.Rows, m.Cols); err != nil {
			return err
		}
		buffers = append(buffers, arrays[i].buf)
	}
	if err := f(arrays[len(in)], arrays[:len(in)]); err != nil {
		s.queue.Wait() // nothing of the caller's may be in use when it gets it back
		return err
	}
	return s.queue.Wait()
}

// connected is the memory of the matrices, where pieces that overlap are one.
func connected[T Element](matrices []Matrix[T]) [][]T {
	pieces := make([][]T, 0, len(matrices))
	for _, m := range matrices {
		piece := m.Data[:span(m.Rows, m.Cols, m.Stride)]
		if len(piece) == 0 {
			continue
		}
		rest := pieces[:0]
		for _, p := range pieces {
			if bytesOverlap(backend.Bytes(p), backend.Bytes(piece)) {
				piece = union(p, piece)
			} else {
				rest = append(rest, p)
			}
		}
		pieces = append(rest, piece)
	}
	return pieces
}

// shareElements tells whether two matrices in host memory have an element in common.
func shareElements[T Element](x, y Matrix[T]) bool {
	a, b := x.Data[:span(x.Rows, x.Cols, x.Stride)], y.Data[:span(y.Rows, y.Cols, y.Stride)]
	return bytesOverlap(backend.Bytes(a), backend.Bytes(b)) && overlap(x.Rows, x.Cols, x.Stride, distance(a, b), y.Rows, y.Cols, y.Stride)
}

// union is the memory from the first element of two overlapping slices to the last.
func union[T Element](a, b []T) []T {
	d := distance(a, b)
	if d < 0 {
		a, b, d = b, a, -d
	}
	return unsafe.Slice(unsafe.SliceData(a), max(len(a), d+len(b)))
}

// distance is how many elements b starts after a.
func distance[T Element](a, b []T) int {
	var t T
	return (int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) - int(uintptr(unsafe.Pointer(unsafe.SliceData(a))))) / int(unsafe.Sizeof(t))
}

// locate finds m in the piece of registered memory that holds it; nil for a matrix without elements.
func locate[T Element](s *Session, m Matrix[T], pieces [][]T, buffers []backend.Buffer) *Array[T] {
	mem := m.Data[:span(m.Rows, m.Cols, m.Stride)]
	for i, p := range pieces {
		if bytesOverlap(backend.Bytes(p), backend.Bytes(mem)) {
			return &Array[T]{s: s, buf: buffers[i], rows: m.Rows, cols: m.Cols, stride: m.Stride, off: distance(p, mem), view: true}
		}
	}
	return nil
}

// freeAll frees what a call made. It returns err, or else the first error of a Free.
func freeAll[F interface{ Free() error }](list []F, err error) error {
	for _, f := range list {
		if e := f.Free(); err == nil {
			err = e
		}
	}
	return err
}

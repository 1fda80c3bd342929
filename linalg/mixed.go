package linalg

import (
	"context"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
)

// Single is what mixed products take: float32, and numbers of 16 bits, each of which is a float32.
type Single interface{ float32 | Float16 | BFloat16 }

// MatMulMixed is the product of a and b, on the default device, where either may be of numbers of
// 16 bits, such as weights: [MatMul] of their values as float32. Of 16 bits the result is that
// rounded once, to nearest with ties to even. In the brackets stands the type of the result:
// MatMulMixed[float32](a, b).
//
// Operands of 16 bits are copied to float32 in the host's memory first, which takes four bytes for
// each element.
func MatMulMixed[C, A, B Single](a Matrix[A], b Matrix[B]) (Matrix[C], error) {
	return MatMulMixedContext[C](context.Background(), nil, a, b)
}

// GemmMixed makes c = alpha*op(a)*op(b) + beta*c, on the default device: [Gemm] of the values as
// float32, rounded once where c is of 16 bits. The rest is as for [MatMulMixed]. Where c is of
// float32 it must not share memory with a or b.
func GemmMixed[C, A, B Single](alpha float32, tA blas.Transpose, a Matrix[A], tB blas.Transpose, b Matrix[B],
	beta float32, c Matrix[C],
) error {
	return GemmMixedContext(context.Background(), nil, alpha, tA, a, tB, b, beta, c)
}

// MatMulMixedContext is MatMulMixed on session s, or on the default device where s is nil. It
// returns ctx's error soon after ctx is done.
func MatMulMixedContext[C, A, B Single](ctx context.Context, s *Session, a Matrix[A], b Matrix[B]) (Matrix[C], error) {
	return newProduct(s, a, b, func(s *Session, c Matrix[C]) error {
		return GemmMixedContext(ctx, s, 1, blas.NoTrans, a, blas.NoTrans, b, 0, c)
	})
}

// newProduct is the product of a and b that f computes on s, or on the default device where s is
// nil: packed and new.
func newProduct[C, A, B any](s *Session, a Matrix[A], b Matrix[B], f func(s *Session, c Matrix[C]) error) (
	none Matrix[C], err error,
) {
	if a.Cols != b.Rows {
		return none, errProduct(a, b)
	}
	if s == nil {
		if s, err = Default(); err != nil {
			return none, err
		}
	}
	t, _ := element.Of[C]()
	if err := s.canHold(a.Rows, b.Cols, t); err != nil {
		return none, err
	}
	c := newResult[C](a.Rows, b.Cols)
	if err := f(s, c); err != nil {
		return none, err
	}
	return c, nil
}

// GemmMixedContext is GemmMixed on session s, or on the default device where s is nil. It returns
// ctx's error soon after ctx is done. After an error a c of 16 bits is as it was, and one of
// float32 undefined.
func GemmMixedContext[C, A, B Single](ctx context.Context, s *Session, alpha float32, tA blas.Transpose, a Matrix[A],
	tB blas.Transpose, b Matrix[B], beta float32, c Matrix[C],
) error {
	if _, err := newBatch(1, tA, dims{a.Rows, a.Cols}, tB, dims{b.Rows, b.Cols}, dims{c.Rows, c.Cols}); err != nil {
		return err
	}
	z, zMemory, err := widened(operandNames[0], c, beta != 0)
	defer zMemory.Give()
	if err != nil {
		return err
	}
	x, xMemory, err := widened(operandNames[1], a, true)
	defer xMemory.Give()
	if err != nil {
		return err
	}
	y, yMemory, err := widened(operandNames[2], b, true)
	defer yMemory.Give()
	if err != nil {
		return err
	}
	if err := GemmContext(ctx, s, alpha, tA, x, tB, y, beta, z); err != nil {
		return err
	}
	switch c := any(c).(type) {
	case Matrix[Float16]:
		host.Narrow(c.Rows, c.Cols, z.Data, z.Stride, c.Data, c.Stride)
	case Matrix[BFloat16]:
		host.Narrow(c.Rows, c.Cols, z.Data, z.Stride, c.Data, c.Stride)
	}
	return nil
}

// widened is m as float32: itself, or a matrix of its shape in memory to be given back, which has
// its elements where they are read.
func widened[T Single](name string, m Matrix[T], read bool) (w Matrix[float32], memory *host.Scratch, err error) {
	if err := m.check(name); err != nil {
		return w, nil, err
	}
	if w, ok := any(m).(Matrix[float32]); ok {
		return w, nil, nil
	}
	memory, w.Data = host.Take[float32](m.Rows * m.Cols)
	w.Rows, w.Cols, w.Stride = m.Rows, m.Cols, m.Cols
	if !read {
		return w, memory, nil
	}
	switch m := any(m).(type) {
	case Matrix[Float16]:
		host.Widen(m.Rows, m.Cols, m.Data, m.Stride, w.Data, w.Stride)
	case Matrix[BFloat16]:
		host.Widen(m.Rows, m.Cols, m.Data, m.Stride, w.Data, w.Stride)
	}
	return w, memory, nil
}

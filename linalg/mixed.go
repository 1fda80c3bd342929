package linalg

import (
	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
)

// Single is what mixed products take: float32, and numbers of 16 bits, each of which is a float32.
type Single interface{ float32 | Float16 | BFloat16 }

// MatMulMixed is the product of a and b, where either may be of numbers of
// 16 bits, such as weights: [MatMul] of their values as float32. Of 16 bits the result is that
// rounded once, to nearest with ties to even. In the brackets stands the type of the result:
// MatMulMixed[float32](a, b).
//
// Operands of 16 bits are copied to float32 in the host's memory first, which takes four bytes for
// each element.
func MatMulMixed[C, A, B Single](a Matrix[A], b Matrix[B], opts ...Option) (Matrix[C], error) {
	return newProduct("MatMulMixed", a, b, opts, func(c Matrix[C], o settings) error {
		return gemmMixed(o, 1, blas.NoTrans, a, blas.NoTrans, b, 0, c)
	})
}

// GemmMixed makes c = alpha*op(a)*op(b) + beta*c: [Gemm] of the values as float32, rounded once
// where c is of 16 bits. The rest is as for [MatMulMixed]. Where c is of float32 it must not share
// memory with a or b. After an error a c of 16 bits is as it was, and one of float32 undefined.
func GemmMixed[C, A, B Single](alpha float32, tA blas.Transpose, a Matrix[A], tB blas.Transpose, b Matrix[B],
	beta float32, c Matrix[C], opts ...Option,
) error {
	o, err := settingsOf("GemmMixed", onHost, opts)
	if err != nil {
		return err
	}
	return gemmMixed(o, alpha, tA, a, tB, b, beta, c)
}

// gemmMixed is GemmMixed as o says.
func gemmMixed[C, A, B Single](o settings, alpha float32, tA blas.Transpose, a Matrix[A], tB blas.Transpose,
	b Matrix[B], beta float32, c Matrix[C],
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
	if err := Gemm(alpha, tA, x, tB, y, beta, z, On(o.s), WithContext(o.ctx)); err != nil {
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

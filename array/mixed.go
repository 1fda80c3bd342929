package array

import (
	"cmp"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/linalg"
)

// Single is what mixed products take: float32, and numbers of 16 bits, each of which is a float32.
type Single = linalg.Single

// MatMulMixed makes c the product of a and b, of which any may be of numbers of 16 bits, such as
// weights: the product of their values as float32, as linalg's [linalg.Array.Mul] has it. Where c
// is of 16 bits it is that, rounded once, to nearest with ties to even.
//
// Operands of 16 bits are copied to float32 first, in temporary memory of the device: four bytes
// for each element, until the product is done.
func MatMulMixed[C, A, B Single](c *Array[C], a *Array[A], b *Array[B]) error {
	return GemmMixed(c, 1, blas.NoTrans, a, blas.NoTrans, b, 0)
}

// GemmMixed makes c alpha*op(A)*op(B) + beta*c, where op is the matrix or, with blas.Trans or
// blas.ConjTrans, its transpose: [linalg.Array.Gemm] of the values as float32, rounded once where c
// is of 16 bits. The rest is as for [MatMulMixed]. A c of float32 must not share elements with a or
// b.
func GemmMixed[C, A, B Single](c *Array[C], alpha float32, tA blas.Transpose, a *Array[A], tB blas.Transpose,
	b *Array[B], beta float32,
) (err error) {
	const op = "GemmMixed"
	if err := check(op, "c", c, nil); err != nil {
		return err
	}
	x, err := widened(op, "a", a, c.Session(), true)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, x.Free()) }()
	y, err := widened(op, "b", b, c.Session(), true)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, y.Free()) }()
	if single, ok := any(c).(*Array[float32]); ok {
		return single.Gemm(alpha, tA, x, tB, y, beta)
	}
	z, err := widened(op, "c", c, c.Session(), beta != 0)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, z.Free()) }()
	if err := z.Gemm(alpha, tA, x, tB, y, beta); err != nil {
		return err
	}
	return convert(halfConversions.Of(*new(C), float32(0)), c, z)
}

// widened is a as float32: a view of it, or an array of its shape to be freed, which has its
// elements where they are read.
func widened[T Single](op, name string, a *Array[T], s *linalg.Session, read bool) (*Array[float32], error) {
	if err := check(op, name, a, s); err != nil {
		return nil, err
	}
	rows, cols := a.Dims()
	if a, ok := any(a).(*Array[float32]); ok {
		return a.Slice(0, rows, 0, cols), nil
	}
	w, err := linalg.NewArray[float32](s, rows, cols)
	if err != nil || !read {
		return w, err
	}
	if err := convert(halfConversions.Of(float32(0), *new(T)), w, a); err != nil {
		w.Free()
		return nil, err
	}
	return w, nil
}

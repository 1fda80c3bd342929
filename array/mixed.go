package array

import (
	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/inside"
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
) error {
	const op = "GemmMixed"
	if err := check(op, "c", c, nil); err != nil {
		return err
	}
	s := c.Session()
	return widened(op, "a", a, s, true, func(x *Array[float32]) error {
		return widened(op, "b", b, s, true, func(y *Array[float32]) error {
			return widened(op, "c", c, s, beta != 0, func(z *Array[float32]) error {
				if err := z.Gemm(alpha, tA, x, tB, y, beta); err != nil {
					return err
				}
				if _, single := any(c).(*Array[float32]); single {
					return nil
				}
				return convert(halfConversions.Of(*new(C), float32(0)), c, z)
			})
		})
	})
}

// widened calls f with a as float32, or with a scratch array of its shape, which has its elements
// where they are read.
func widened[T Single](op, name string, a *Array[T], s *linalg.Session, read bool, f func(w *Array[float32]) error,
) error {
	if err := check(op, name, a, s); err != nil {
		return err
	}
	if a, single := any(a).(*Array[float32]); single {
		return f(a)
	}
	rows, cols := a.Dims()
	return inside.WithScratch(s, rows, cols, func(w *Array[float32]) error {
		if read {
			if err := convert(halfConversions.Of(float32(0), *new(T)), w, a); err != nil {
				return err
			}
		}
		return f(w)
	})
}

package np

import (
	"cmp"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/array"
)

// MatMul is the product of the matrices a and b: [linalg.Array.Mul].
func MatMul[T array.Element](a, b *Array[T]) *Array[T] {
	return pair(a, b, func(m, _, _, q int) (int, int) { return m, q }, func(c, a, b *Array[T]) error {
		return c.Mul(a, b)
	})
}

// TMatMul is MatMul(T(a), b), without a copy of a where the device needs none.
func TMatMul[T array.Element](a, b *Array[T]) *Array[T] {
	return pair(a, b, func(_, n, _, q int) (int, int) { return n, q }, func(c, a, b *Array[T]) error {
		return c.Gemm(1, blas.Trans, a, blas.NoTrans, b, 0)
	})
}

// MatMulT is MatMul(a, T(b)), without a copy of b where the device needs none.
func MatMulT[T array.Element](a, b *Array[T]) *Array[T] {
	return pair(a, b, func(m, _, p, _ int) (int, int) { return m, p }, func(c, a, b *Array[T]) error {
		return c.Gemm(1, blas.NoTrans, a, blas.Trans, b, 0)
	})
}

// FMA is [array.FMA]: a*b + d, rounded once.
func FMA[T array.Element, B, D Operand[T]](a *Array[T], b B, d D) *Array[T] {
	x, v, err := operand[T](b)
	y, w, other := operand[T](d)
	if err := cmp.Or(err, other); err != nil {
		return failed[T](err)
	}
	return of(a, together(x, y), func(c *Array[T]) error {
		switch {
		case x == nil && y == nil:
			return array.FMA[T](c, a, v, w)
		case x == nil:
			return array.FMA[T](c, a, v, y)
		case y == nil:
			return array.FMA[T](c, a, x, w)
		}
		return array.FMA[T](c, a, x, y)
	})
}

// Where is [array.Where]: a where mask is true, else b. Numbers alone are made of the 1 and 0 that
// [Convert] makes of the mask: Mul(Convert[float32](mask), 255).
func Where[T array.Stored, B Operand[T]](mask *Array[bool], a *Array[T], b B) *Array[T] {
	other, v, err := operand[T](b)
	if err := cmp.Or(err, check(a), check(mask)); err != nil {
		return failed[T](err)
	}
	rows, cols := together(a, other)(mask.Dims())
	return made(mask.Session(), rows, cols, func(c *Array[T]) error {
		if other == nil {
			return array.Where[T](c, mask, a, v)
		}
		return array.Where[T](c, mask, a, other)
	})
}

// IsClose is [array.IsClose].
func IsClose[T array.Float](a, b *Array[T], rtol, atol T) *Array[bool] {
	if err := check(b); err != nil {
		return failed[bool](err)
	}
	return of(a, together(b), func(c *Array[bool]) error { return array.IsClose(c, a, b, rtol, atol) })
}

// Clip is [array.Clip].
func Clip[T array.Element](a *Array[T], lo, hi T) *Array[T] {
	return unary(a, func(c, a *Array[T]) error { return array.Clip(c, a, array.Value(lo), array.Value(hi)) })
}

// LayerNorm is [array.LayerNorm].
func LayerNorm[T array.Float](a, gain, bias *Array[T], eps T) *Array[T] {
	if err := Err(gain, bias); err != nil {
		return failed[T](err)
	}
	return unary(a, func(c, a *Array[T]) error { return array.LayerNorm(c, a, gain, bias, eps) })
}

// RMSNorm is [array.RMSNorm].
func RMSNorm[T array.Float](a, gain *Array[T], eps T) *Array[T] {
	return unary(a, func(c, a *Array[T]) error { return array.RMSNorm(c, a, gain, eps) })
}

// Outer is [array.Outer].
func Outer[T array.Element](a, b *Array[T]) *Array[T] {
	return pair(a, b, func(m, n, p, q int) (int, int) { return m * n, p * q }, array.Outer[T])
}

// Kron is [array.Kron].
func Kron[T array.Element](a, b *Array[T]) *Array[T] {
	return pair(a, b, func(m, n, p, q int) (int, int) { return m * p, n * q }, array.Kron[T])
}

// pair is a new array of a shape that those of a, m by n, and of b, p by q, say.
func pair[T any](a, b *Array[T], shape func(m, n, p, q int) (int, int), f func(c, a, b *Array[T]) error) *Array[T] {
	if err := check(b); err != nil {
		return failed[T](err)
	}
	p, q := b.Dims()
	return of(a, func(m, n int) (int, int) { return shape(m, n, p, q) },
		func(c *Array[T]) error { return f(c, a, b) })
}

func square(rows, _ int) (int, int) { return rows, rows }

// Cov is [array.Cov].
func Cov[T array.Float](a *Array[T], ddof int) *Array[T] {
	return of(a, square, func(c *Array[T]) error { return array.Cov(c, a, ddof) })
}

// Corr is [array.Corr].
func Corr[T array.Float](a *Array[T]) *Array[T] {
	return of(a, square, func(c *Array[T]) error { return array.Corr(c, a) })
}

// Quantile is [array.Quantile]: with axis 1 the columns of the quantiles of the rows, with axis 0
// the rows of those of the columns. No p at all is an error.
func Quantile[T array.Float](a *Array[T], axis int, p ...float64) *Array[T] {
	if len(p) == 0 {
		return failed[T](argument("Quantile: no p behind axis %d", axis))
	}
	switch axis {
	case 0:
		return transposed(Quantile(transposed(a), 1, p...))
	case 1:
		shape := func(rows, _ int) (int, int) { return rows, len(p) }
		return of(a, shape, func(c *Array[T]) error { return array.Quantile(c, a, p...) })
	}
	return failed[T](errAxis(axis))
}

// TopK is [array.TopK]: the k largest elements of each row, and their columns, or, with axis 0, of
// each column, and their rows.
func TopK[T array.Element](a *Array[T], k int, axis ...int) (elements *Array[T], index *Array[int32]) {
	if k < 0 {
		err := argument("TopK: k is %d, below 0", k)
		return failed[T](err), failed[int32](err)
	}
	shape := func(rows, _ int) (int, int) { return rows, k }
	if len(axis) == 1 && axis[0] == 0 {
		shape = func(_, cols int) (int, int) { return k, cols }
	}
	index = of(a, shape, func(*Array[int32]) error { return nil })
	if err := index.Err(); err != nil {
		return failed[T](err), index
	}
	elements = of(a, shape, func(c *Array[T]) error { return array.TopK(c, index, a, axis...) })
	return elements, with(elements, index)
}

// IsIn is [array.IsIn].
func IsIn[T array.Element](a, set *Array[T]) *Array[bool] {
	return unary(a, func(c *Array[bool], a *Array[T]) error { return array.IsIn(c, a, set) })
}

// SearchSorted is [array.SearchSorted].
func SearchSorted[T array.Element](sorted, a *Array[T]) *Array[int32] {
	return unary(a, func(c *Array[int32], a *Array[T]) error { return array.SearchSorted(c, sorted, a) })
}

// SearchSortedRight is [array.SearchSortedRight].
func SearchSortedRight[T array.Element](sorted, a *Array[T]) *Array[int32] {
	return unary(a, func(c *Array[int32], a *Array[T]) error { return array.SearchSortedRight(c, sorted, a) })
}

// Histogram is [array.Histogram], a row.
func Histogram[T array.Element](edges, a *Array[T]) *Array[int32] {
	shape := func(rows, cols int) (int, int) { return 1, max(rows*cols-1, 0) }
	return of(edges, shape, func(c *Array[int32]) error { return array.Histogram(c, edges, a) })
}

// Solve is [array.Solve].
func Solve[T array.Float](a, b *Array[T]) *Array[T] {
	return unary(b, func(c, b *Array[T]) error { return array.Solve(c, a, b) })
}

// Inv is [array.Inv].
func Inv[T array.Float](a *Array[T]) *Array[T] { return unary(a, array.Inv[T]) }

// Pinv is [array.Pinv].
func Pinv[T array.Float](a *Array[T], relative T) *Array[T] {
	return of(a, turned, func(c *Array[T]) error { return array.Pinv(c, a, relative) })
}

// EigenvaluesSym is [array.EigenvaluesSym], a row.
func EigenvaluesSym[T array.Float](a *Array[T]) *Array[T] {
	shape := func(rows, _ int) (int, int) { return 1, rows }
	return of(a, shape, func(c *Array[T]) error { return array.EigenvaluesSym(c, a) })
}

// SingularValues is [array.SingularValues], a row.
func SingularValues[T array.Float](a *Array[T]) *Array[T] {
	shape := func(rows, cols int) (int, int) { return 1, min(rows, cols) }
	return of(a, shape, func(c *Array[T]) error { return array.SingularValues(c, a) })
}

package np

import (
	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/linalg"
)

// or is a, or what carries err.
func or[T any](a *Array[T], err error) *Array[T] {
	if err != nil {
		return failed[T](err)
	}
	return a
}

// FromSlice is [array.FromSlice]: a row.
func FromSlice[T any](s *linalg.Session, x []T) *Array[T] { return or(array.FromSlice(s, x)) }

// FromColumn is [array.FromColumn].
func FromColumn[T any](s *linalg.Session, x []T) *Array[T] { return or(array.FromColumn(s, x)) }

// FromRows is [array.FromRows].
func FromRows[T any](s *linalg.Session, rows [][]T) *Array[T] { return or(array.FromRows(s, rows)) }

// Upload is [linalg.Upload].
func Upload[T any](s *linalg.Session, m linalg.Matrix[T]) *Array[T] { return or(linalg.Upload(s, m)) }

// Zeros is [array.Zeros].
func Zeros[T any](s *linalg.Session, rows, cols int) *Array[T] {
	return or(array.Zeros[T](s, rows, cols))
}

// Ones is [array.Ones].
func Ones[T array.Element](s *linalg.Session, rows, cols int) *Array[T] {
	return or(array.Ones[T](s, rows, cols))
}

// Full is [array.Full].
func Full[T array.Stored](s *linalg.Session, rows, cols int, v T) *Array[T] {
	return or(array.Full(s, rows, cols, v))
}

// Eye is [array.Eye] of n rows and columns.
func Eye[T array.Element](s *linalg.Session, n int) *Array[T] { return made(s, n, n, array.Eye[T]) }

// Range is [array.Range], a row of n elements: start, start+step, ...
func Range[T array.Element](s *linalg.Session, n int, start, step T) *Array[T] {
	return made(s, 1, n, func(c *Array[T]) error { return array.Range(c, start, step) })
}

// Linspace is [array.Linspace], a row of n elements.
func Linspace[T array.Float](s *linalg.Session, n int, start, stop T) *Array[T] {
	return made(s, 1, n, func(c *Array[T]) error { return array.Linspace(c, start, stop) })
}

// Uniform is [array.Uniform].
func Uniform[T array.Float](s *linalg.Session, r *array.Stream, rows, cols int) *Array[T] {
	return made(s, rows, cols, func(c *Array[T]) error { return array.Uniform(r, c) })
}

// Normal is [array.Normal].
func Normal[T array.Float](s *linalg.Session, r *array.Stream, rows, cols int) *Array[T] {
	return made(s, rows, cols, func(c *Array[T]) error { return array.Normal(r, c) })
}

// Integers is [array.Integers].
func Integers(s *linalg.Session, r *array.Stream, rows, cols int, lo, hi int32) *Array[int32] {
	return made(s, rows, cols, func(c *Array[int32]) error { return array.Integers(r, c, lo, hi) })
}

// Choice is [array.Choice], a row of n numbers of elements of weights.
func Choice[T array.Float](r *array.Stream, weights *Array[T], n int) *Array[int32] {
	return of(weights, func(_, _ int) (int, int) { return 1, n },
		func(c *Array[int32]) error { return array.Choice(r, c, weights) })
}

// Permutation is [array.Permutation], a row of n elements.
func Permutation(s *linalg.Session, r *array.Stream, n int) *Array[int32] {
	return made(s, 1, n, func(c *Array[int32]) error { return array.Permutation(r, c) })
}

// Convert is [array.Convert].
func Convert[D, S array.Stored](a *Array[S]) *Array[D] { return unary(a, array.Convert[D, S]) }

// Copy is [array.Copy] on the array's own session.
func Copy[T array.Stored](a *Array[T]) *Array[T] { return unary(a, array.Copy[T, *Array[T]]) }

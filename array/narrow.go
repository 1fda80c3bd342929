package array

import (
	"github.com/tandem-gpu/tandem/array/internal/sums"
	"github.com/tandem-gpu/tandem/internal/inside"
)

// A few columns of a wider array take the cpu device ten times as long as packed ones, where all
// elements go one after the other: then it works on a packed copy, which takes less time.

// isNarrowNumber tells whether a, of so many columns at most, is better reduced to c, which is a
// number then, from a packed copy.
func isNarrowNumber[T, D any](c *Array[D], a *Array[T], most int) bool {
	rows, cols := c.Dims()
	_, k := a.Dims()
	return rows*cols == 1 && k <= most && sums.IsNarrow(a)
}

// fromPacked calls f with a packed copy of a.
func fromPacked[T Stored](a *Array[T], f func(a *Array[T]) error) error {
	rows, cols := a.Dims()
	return inside.WithScratch(a.Session(), rows, cols, func(x *Array[T]) error {
		if err := Copy(x, a); err != nil {
			return err
		}
		return f(x)
	})
}

// toPacked calls f with a packed array, and makes c that.
func toPacked[T Stored](c *Array[T], f func(c *Array[T]) error) error {
	rows, cols := c.Dims()
	return inside.WithScratch(c.Session(), rows, cols, func(x *Array[T]) error {
		if err := f(x); err != nil {
			return err
		}
		return Copy(c, x)
	})
}

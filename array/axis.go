package array

import (
	"fmt"

	"github.com/tandem-gpu/tandem/internal/inside"
)

// columns tells whether axis, the last argument of functions that go along an axis, is NumPy's 0:
// down the columns. 1, along the rows, is also what goes without saying.
func columns(op string, axis []int) (bool, error) {
	switch {
	case len(axis) == 0:
		return false, nil
	case len(axis) == 1 && (axis[0] == 0 || axis[0] == 1):
		return axis[0] == 0, nil
	}
	return false, argument(op, fmt.Sprintf("axis is %v: it is 0, down the columns, or 1, along the rows", axis))
}

// along is rows of c and a, or, where axis says so, of what they are transposed.
func along[T, U Element](op string, axis []int, c *Array[T], a *Array[U],
	rows func(c *Array[T], a *Array[U]) error,
) error {
	down, err := columns(op, axis)
	switch {
	case err != nil:
		return err
	case !down || c == nil || a == nil: // which rows refuses
		return rows(c, a)
	}
	if _, _, _, err := sameDims(op, "a", a, "the destination", c); err != nil {
		return err
	}
	return transposed(a, func(a *Array[U]) error {
		return transposing(c, func(c *Array[T]) error { return rows(c, a) })
	})
}

// transposed calls f with a scratch array that is a, transposed.
func transposed[T Element](a *Array[T], f func(a *Array[T]) error) error {
	rows, cols := a.Dims()
	return inside.WithScratch(a.Session(), cols, rows, func(t *Array[T]) error {
		if err := t.Transpose(a); err != nil {
			return err
		}
		return f(t)
	})
}

// transposing makes c, transposed, what f makes of a scratch array.
func transposing[T Element](c *Array[T], f func(c *Array[T]) error) error {
	rows, cols := c.Dims()
	return inside.WithScratch(c.Session(), cols, rows, func(t *Array[T]) error {
		if err := f(t); err != nil {
			return err
		}
		return c.Transpose(t)
	})
}

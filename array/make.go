package array

import (
	"cmp"
	"fmt"

	"github.com/tandem-gpu/tandem/linalg"
)

// Zeros makes an array of zeros, or of false: [linalg.NewArray].
func Zeros[T any](s *linalg.Session, rows, cols int) (*Array[T], error) {
	return linalg.NewArray[T](s, rows, cols)
}

// Ones makes an array of ones.
func Ones[T Element](s *linalg.Session, rows, cols int) (*Array[T], error) {
	return Full[T](s, rows, cols, 1)
}

// Full makes an array whose elements are all v.
func Full[T Stored](s *linalg.Session, rows, cols int, v T) (*Array[T], error) {
	c, err := linalg.NewArray[T](s, rows, cols)
	if err != nil {
		return nil, err
	}
	if err := Fill(c, v); err != nil {
		c.Free()
		return nil, err
	}
	return c, nil
}

// FromSlice makes a row of the elements of x, which are copied. Elements of several rows in one
// slice are [linalg.Upload] of a [linalg.NewMatrix].
func FromSlice[T any](s *linalg.Session, x []T) (*Array[T], error) {
	return linalg.Upload(s, linalg.NewMatrix(1, len(x), x))
}

// FromColumn makes a column of the elements of x, which are copied.
func FromColumn[T any](s *linalg.Session, x []T) (*Array[T], error) {
	return linalg.Upload(s, linalg.NewMatrix(len(x), 1, x))
}

// FromRows makes an array of rows, which are copied. Where one has another length than the first it
// is ErrShape.
func FromRows[T any](s *linalg.Session, rows [][]T) (*Array[T], error) {
	if len(rows) == 0 {
		return linalg.NewArray[T](s, 0, 0)
	}
	m := linalg.NewMatrix[T](len(rows), len(rows[0]), nil)
	for i, row := range rows {
		if len(row) != m.Cols {
			return nil, fmt.Errorf("%w: FromRows: row %d has %d elements, and row 0 has %d", linalg.ErrShape, i,
				len(row), m.Cols)
		}
		copy(m.Row(i), row)
	}
	return linalg.Upload(s, m)
}

// Linspace makes element k of the n of c, counted along its rows, fma(k, step, start), where k is
// rounded to T and step is (stop-start)/(n-1), each step rounded; where stop-start overflows, both
// are halved, and the elements doubled. The last one is stop; of one element it is start.
func Linspace[T Float](c *Array[T], start, stop T) error {
	_, rows, cols, err := dims("Linspace", "c", c)
	if err != nil {
		return err
	}
	n := rows * cols
	if n <= 1 {
		return Fill(c, start)
	}
	if isFinite(start) && isFinite(stop) && !isFinite(stop-start) {
		err = cmp.Or(Range(c, start/2, (stop/2-start/2)/T(n-1)), c.Scale(2, c))
	} else {
		err = Range(c, start, (stop-start)/T(n-1))
	}
	return cmp.Or(err, Fill(c.Slice(rows-1, rows, cols-1, cols), stop))
}

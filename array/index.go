package array

import (
	"fmt"
	"math"

	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/linalg"
)

// TakeAlong makes element (i, j) of c element (i, index[i,j]) of a: what [ArgSort] and [TopK] give
// brings the elements of each row into their order, and those of another array, too. index has the
// shape of c, and a as many rows. TakeAlong waits; where an index is no column of a it is
// backend.ErrArgument that names it, and nothing is written. c shares elements with neither.
func TakeAlong[T Stored](c, a *Array[T], index *Array[int32]) error {
	rows, cols, err := pair("TakeAlong", c, a)
	if err != nil {
		return err
	}
	m, n := a.Dims()
	if m != rows {
		return fmt.Errorf("%w: TakeAlong: c is %s, and must have the rows of a, %s", linalg.ErrShape, c, a)
	}
	if err := checkShape("TakeAlong", "index", index, c.Session(), rows, cols); err != nil {
		return err
	}
	return byPlace("TakeAlong", c, index, "a", n, func(bad *Array[int32]) error {
		return asBits(c, a, moving{what: fromAlong, index: index, bad: bad})
	})
}

// PutAlong makes element (i, index[i,j]) of c element (i, j) of a, and leaves the others as they
// are. Where a row of index has a column several times the last of them counts. index has the shape
// of a, and c as many rows. PutAlong waits; where an index is no column of c it is
// backend.ErrArgument that names it, and nothing is written. c shares elements with neither.
func PutAlong[T Stored](c, a *Array[T], index *Array[int32]) error {
	rows, n, err := pair("PutAlong", c, a)
	if err != nil {
		return err
	}
	m, cols := a.Dims()
	if m != rows {
		return fmt.Errorf("%w: PutAlong: a is %s, and must have the rows of c, %s", linalg.ErrShape, a, c)
	}
	if err := checkShape("PutAlong", "index", index, c.Session(), rows, cols); err != nil {
		return err
	}
	return byPlace("PutAlong", c, index, "c", n, func(bad *Array[int32]) error {
		return asBits(c, a, moving{what: toAlong, index: index, bad: bad})
	})
}

// byPlace is byIndex of an index of any shape, whose elements are counted by rows.
func byPlace[T Stored](op string, c *Array[T], index *Array[int32], of string, cols int,
	move func(bad *Array[int32]) error,
) error {
	rows, n := index.Dims()
	if rows > math.MaxInt32/max(1, n) {
		return fmt.Errorf("%w: %s: index is %s, of more elements than an int32 counts", linalg.ErrShape, op, index)
	}
	if overlap(index, c) {
		return fmt.Errorf("%w: %s: index and c", linalg.ErrOverlap, op)
	}
	row, err := index.Reshape(1, rows*n)
	if err == nil {
		return byIndex(op, c, row, of, "columns", cols, 0, move)
	}
	return fromPacked(index, func(index *Array[int32]) error { // it is part of another array
		return byIndex(op, c, flat(index), of, "columns", cols, 0, move)
	})
}

// UniqueInverse is [Unique] that makes each element of inverse, which has the shape of a, the
// number that the element of a has in c. c may not share elements with a.
func UniqueInverse[T Element](c *Array[T], inverse *Array[int32], a *Array[T]) (n int, err error) {
	s, _, _, err := sameDims("UniqueInverse", "a", a, "inverse", inverse)
	if err == nil {
		_, err = checkVector("UniqueInverse", "c", c, s, 0)
	}
	switch {
	case err != nil:
		return 0, err
	case inside.Overlap(c, a):
		return 0, fmt.Errorf("%w: UniqueInverse: c and a", linalg.ErrOverlap)
	case overlap(inverse, c):
		return 0, fmt.Errorf("%w: UniqueInverse: inverse and c", linalg.ErrOverlap)
	case overlap(inverse, a):
		return 0, fmt.Errorf("%w: UniqueInverse: inverse and a", linalg.ErrOverlap)
	}
	if n, err = Unique(c, nil, a); err != nil || n == 0 {
		return n, err
	}
	return n, search(inverse, head(c, n), a, before)
}

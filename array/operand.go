package array

import (
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/linalg"
)

// check says what is wrong with an operand by itself; s is the session of another, nil where a is
// the first.
func check[T any](op, name string, a *Array[T], s *linalg.Session) error {
	switch {
	case a == nil || a.Session() == nil:
		return argument(op, name+" is nil, or an Array that nothing has made")
	case a.Err() != nil:
		return a.Err()
	case s != nil && a.Session() != s:
		return argument(op, name+" belongs to another session; Copy brings one to this")
	}
	return nil
}

// checkShape is check of an operand that must be rows by cols.
func checkShape[T any](op, name string, a *Array[T], s *linalg.Session, rows, cols int) error {
	if err := check(op, name, a, s); err != nil {
		return err
	}
	if r, c := a.Dims(); r != rows || c != cols {
		return fmt.Errorf("%w: %s: %s is %s, and must be %dx%d", linalg.ErrShape, op, name, a, rows, cols)
	}
	return nil
}

// checkVector is check of a row or a column of at least n elements, whose number it gives.
func checkVector[T any](op, name string, a *Array[T], s *linalg.Session, n int) (int, error) {
	if err := check(op, name, a, s); err != nil {
		return 0, err
	}
	rows, cols := a.Dims()
	if rows != 1 && cols != 1 || rows*cols < n {
		return 0, fmt.Errorf("%w: %s: %s is %s, and must be a row or a column of %d elements or more",
			linalg.ErrShape, op, name, a, n)
	}
	return rows * cols, nil
}

// checkLength is check of a row or a column of n elements.
func checkLength[T any](op, name string, a *Array[T], s *linalg.Session, n int) error {
	if have, err := checkVector(op, name, a, s, n); err != nil || have == n {
		return err
	}
	return fmt.Errorf("%w: %s: %s is %s, and must have %d elements", linalg.ErrShape, op, name, a, n)
}

// pair is check of a destination c, whose shape it gives, and an a that shares no elements with it.
func pair[T any](op string, c, a *Array[T]) (rows, cols int, err error) {
	s, rows, cols, err := dims(op, "c", c)
	if err == nil {
		err = check(op, "a", a, s)
	}
	if err == nil && inside.Overlap(c, a) {
		err = fmt.Errorf("%w: %s: c and a", linalg.ErrOverlap, op)
	}
	return rows, cols, err
}

// samePair is pair of arrays of one shape.
func samePair[T any](op string, c, a *Array[T]) (rows, cols int, err error) {
	if rows, cols, err = pair(op, c, a); err == nil {
		err = checkShape(op, "a", a, c.Session(), rows, cols)
	}
	return rows, cols, err
}

// sameOrApart is what is wrong with a destination c and an a of its shape that share elements, and
// are not the same array.
func sameOrApart[T any](op string, c, a *Array[T]) error {
	if same := c.Offset() == a.Offset() && c.Stride() == a.Stride(); same || !inside.Overlap(c, a) {
		return nil
	}
	return fmt.Errorf("%w: %s: c and a, and they are not the same array", linalg.ErrOverlap, op)
}

func argument(op, detail string) error {
	return &backend.Error{Op: "array", Err: backend.ErrArgument, Detail: op + ": " + detail}
}

// flat is a as one row where it is packed, else a.
func flat[T any](a *Array[T]) *Array[T] {
	rows, cols := a.Dims()
	if row, err := a.Reshape(1, rows*cols); err == nil {
		return row
	}
	return a
}

// head is the first n elements of a row or a column.
func head[T any](a *Array[T], n int) *Array[T] {
	if rows, _ := a.Dims(); rows == 1 {
		return a.Slice(0, 1, 0, n)
	}
	return a.Slice(0, n, 0, 1)
}

// dims is check of the first operand, with its session and shape.
func dims[T any](op, name string, a *Array[T]) (s *linalg.Session, rows, cols int, err error) {
	if err := check(op, name, a, nil); err != nil {
		return nil, 0, 0, err
	}
	rows, cols = a.Dims()
	return a.Session(), rows, cols, nil
}

// sameDims is dims of an operand, and check of another, which has its shape.
func sameDims[T, U any](op, name string, a *Array[T], other string, b *Array[U]) (
	s *linalg.Session, rows, cols int, err error,
) {
	if s, rows, cols, err = dims(op, name, a); err == nil {
		err = checkShape(op, other, b, s, rows, cols)
	}
	return s, rows, cols, err
}

// overlap tells whether the arrays share elements, which arrays of different types do not.
func overlap[T, U any](a *Array[T], b *Array[U]) bool {
	x, ok := any(b).(*Array[T])
	return ok && inside.Overlap(a, x)
}

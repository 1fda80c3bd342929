package np

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/linalg"
)

// An Array is linalg's.
type Array[T any] = linalg.Array[T]

// Operand is what goes with an array of T: an array of T, or a number, which becomes the nearest T.
// A number that is no int32 is an error beside an array of these.
type Operand[T any] interface {
	*linalg.Array[T] | int | int32 | float32 | float64
}

// Err is the first error that one of the arrays carries.
func Err[T any](arrays ...*Array[T]) error {
	for _, a := range arrays {
		if err := check(a); err != nil {
			return err
		}
	}
	return nil
}

func check[T any](a *Array[T]) error {
	if a == nil || a.Session() == nil {
		return argument("an array is nil, or an Array that nothing has made")
	}
	return a.Err()
}

func argument(format string, v ...any) error {
	return fmt.Errorf("np: %w: %s", backend.ErrArgument, fmt.Sprintf(format, v...))
}

// package np's functions begin with this, for runtime.Frames.
const self = "github.com/tandem-gpu/tandem/array/np."

// failed is an array that carries err and the place of the call of this package that met it, unless
// err has come with an operand.
func failed[R any](err error) *Array[R] {
	var before *located
	if errors.As(err, &before) {
		return inside.Failed[R](err)
	}
	pc := make([]uintptr, 16)
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc)])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, self) || !more {
			return inside.Failed[R](&located{fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line), err})
		}
	}
}

// A located error has come up at a line of the program.
type located struct {
	at  string
	err error
}

func (e *located) Error() string { return e.at + ": " + e.err.Error() }
func (e *located) Unwrap() error { return e.err }

// made is a new array that fill has filled.
func made[R any](s *linalg.Session, rows, cols int, fill func(c *Array[R]) error) *Array[R] {
	c, err := linalg.NewArray[R](s, rows, cols)
	if err != nil {
		return failed[R](err)
	}
	if err := fill(c); err != nil {
		c.Free()
		return failed[R](err)
	}
	return c
}

// with is b, or what carries the error that a, made by the same call, has.
func with[A, B any](a *Array[A], b *Array[B]) *Array[B] {
	if err := a.Err(); err != nil {
		return failed[B](err)
	}
	return b
}

// of is a new array of as many rows and columns as shape says of those of a.
func of[R, T any](a *Array[T], shape func(rows, cols int) (int, int), fill func(c *Array[R]) error) *Array[R] {
	if err := check(a); err != nil {
		return failed[R](err)
	}
	rows, cols := a.Dims()
	if shape != nil {
		rows, cols = shape(rows, cols)
	}
	return made(a.Session(), rows, cols, fill)
}

// unary is a new array of the shape of a.
func unary[R, T any](a *Array[T], f func(c *Array[R], a *Array[T]) error) *Array[R] {
	return of(a, nil, func(c *Array[R]) error { return f(c, a) })
}

// binary is a new array of the shape that a and b, repeated, have together: by arrays of two
// arrays, by number of an array and a number.
func binary[R, T any, B Operand[T]](a *Array[T], b B, arrays func(c *Array[R], a, b *Array[T]) error,
	number func(c *Array[R], a *Array[T], b array.Const[T]) error,
) *Array[R] {
	other, v, err := operand[T](b)
	switch {
	case err != nil:
		return failed[R](err)
	case other == nil:
		return unary(a, func(c *Array[R], a *Array[T]) error { return number(c, a, v) })
	}
	return of(a, together(other), func(c *Array[R]) error { return arrays(c, a, other) })
}

// together is the shape of an array and others, where those of one row, column or element are
// repeated.
func together[T any](others ...*Array[T]) func(rows, cols int) (int, int) {
	return func(rows, cols int) (int, int) {
		for _, b := range others {
			if b == nil { // a number in its place
				continue
			}
			m, n := b.Dims()
			if rows == 1 {
				rows = m
			}
			if cols == 1 {
				cols = n
			}
		}
		return rows, cols
	}
}

// operand is b: an array, or nil and a number.
func operand[T any](b any) (a *Array[T], number array.Const[T], err error) {
	if a, ok := b.(*Array[T]); ok {
		return a, number, check(a)
	}
	number.Value, err = value[T](b)
	return nil, number, err
}

// value is the number b as a T.
func value[T any](b any) (v T, err error) {
	var x float64
	var single float32
	switch b := b.(type) {
	case int:
		x, single = float64(b), float32(b)
	case int32:
		x, single = float64(b), float32(b)
	case float32:
		x, single = float64(b), b
	case float64:
		x, single = b, float32(b)
	}
	switch p := any(&v).(type) {
	case *float32:
		*p = single
	case *float64:
		*p = x
	case *int32:
		if x != math.Trunc(x) || x < math.MinInt32 || x > math.MaxInt32 {
			return v, argument("%v is no int32, of which the array is", b)
		}
		*p = int32(x)
	default:
		return v, argument("the number %v goes with arrays of float32, float64 and int32, and not of %T", b, v)
	}
	return v, nil
}

func errAxis(axis any) error {
	return argument("axis is %v: it is 0, over the rows, or 1, over the columns", axis)
}

// reduce is a new array of what f makes over all of a, or over an axis.
func reduce[R, T any](a *Array[T], axis []int, f func(c *Array[R], a *Array[T]) error) *Array[R] {
	shape := func(_, _ int) (int, int) { return 1, 1 }
	switch {
	case len(axis) == 0:
	case len(axis) == 1 && axis[0] == 0:
		shape = func(_, cols int) (int, int) { return 1, cols }
	case len(axis) == 1 && axis[0] == 1:
		shape = func(rows, _ int) (int, int) { return rows, 1 }
	default:
		return failed[R](errAxis(axis))
	}
	return of(a, shape, func(c *Array[R]) error { return f(c, a) })
}

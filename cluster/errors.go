package cluster

import (
	"errors"
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// An Error is what went wrong on a rank. Every rank has it, so that one of them should print it:
// rank 0.
type Error struct {
	Rank int   // where it went wrong
	Here int   // the rank that has this value
	Err  error // on other ranks than Rank it has the text alone

	several bool // ranks
	agreed  bool // every rank has it at the same call, and goes on from there
	astray  bool // agreed, but for that the calls were different ones
}

func (e *Error) Error() string {
	if !e.several {
		return e.Err.Error()
	}
	return fmt.Sprintf("rank %d: %v", e.Rank, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// errorOf makes an Error of what rank has reported.
func (c *Comm) errorOf(rank int, err error, agreed bool) *Error {
	return &Error{Rank: rank, Here: c.rank, Err: err, several: c.size > 1, agreed: agreed}
}

// alike is an error that every rank finds by itself, as it is about the arguments of a call.
func (c *Comm) alike(format string, v ...any) error {
	return c.errorOf(c.rank, fmt.Errorf(format, v...), true)
}

// check says what a call lacks: one of its matrices, which are a, b and c, or the session.
func check[T linalg.Element](op string, s *linalg.Session, matrices ...*Matrix[T]) error {
	for i, m := range matrices {
		if !m.exists() {
			return alike(shapeError("%s: %c is nil", op, 'a'+i), matrices...)
		}
	}
	if s == nil || *s == (linalg.Session{}) {
		return alike(errArgument(op+": there is no session; Comm.Open makes one"), matrices...)
	}
	return nil
}

// alike makes err an error that every rank finds by itself, if one of the matrices tells of them.
func alike[T linalg.Element](err error, matrices ...*Matrix[T]) error {
	for _, m := range matrices {
		if m.exists() {
			return m.g.c.alike("%w", err)
		}
	}
	return err
}

func (m *Matrix[T]) exists() bool { return m != nil && m.g != nil }

// check says whether there is a matrix, for a call that needs no session.
func (m *Matrix[T]) check(op string) error {
	if !m.exists() {
		return shapeError("%s: the matrix is nil", op)
	}
	return nil
}

// check says whether there is a grid.
func (g *Grid) check(op string) error {
	if g == nil || g.c == nil {
		return errArgument(op + ": the grid is nil")
	}
	return nil
}

func errArgument(detail string) error {
	return &backend.Error{Op: "cluster", Err: backend.ErrArgument, Detail: detail}
}

func shapeError(format string, v ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{linalg.ErrShape}, v...)...)
}

// isAgreed tells whether every rank has returned err from the same call.
func isAgreed(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.agreed
}

// isAstray tells whether err is that the ranks met at different calls.
func isAstray(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.astray
}

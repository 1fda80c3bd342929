// Package usage has the error of wrong flags or arguments, as against work that failed.
package usage

import "fmt"

// An Error is about wrong flags or arguments.
type Error struct{ error }

// Unwrap is what is wrong.
func (e Error) Unwrap() error { return e.error }

// Wrap makes err an Error.
func Wrap(err error) error { return Error{err} }

// Errorf makes an Error as fmt.Errorf does.
func Errorf(format string, v ...any) error { return Error{fmt.Errorf(format, v...)} }

// Package inside is what linalg does for packages beside it, and no program calls.
package inside

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/inside/hooks"
	"github.com/tandem-gpu/tandem/internal/outofcore"
	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/internal/strided"
	"github.com/tandem-gpu/tandem/linalg"
)

// Progress is the function that [linalg.WithProgress] gave, or nil.
func Progress(ctx context.Context) func(fraction float64) { return hooks.Progress(ctx) }

// Sharer is the session's first device: how much of its memory calls on host matrices use, and what
// [linalg.Session.Devices] says of it.
func Sharer(s *linalg.Session) *outofcore.Device { return hooks.Sharer(s) }

// Kernel is src compiled, once in a session, for sources that are launched again and again. The
// kernel is the session's and must not be released. It is an error that matches backend.ErrBuild
// where the text of src was made from other Go than the program has.
func Kernel(s *linalg.Session, src *backend.Source) (*backend.Kernel, error) {
	return hooks.Kernel(s, src)
}

// Solver is the solver of calls on the session, which keeps large matrices in a device's memory.
// Its errors are the device's, and leave undefined what was to be overwritten.
func Solver(s *linalg.Session) solve.Solver[float64] { return hooks.Solver(s) }

// Launch is [linalg.Session.Launch] of arguments as they are.
func Launch(s *linalg.Session, k *backend.Kernel, g backend.Grid, args []backend.Arg) error {
	return hooks.Launch(s, k, g, args)
}

// DeviceTime is the time, by the device's own clock, from the end of the commands that were
// enqueued before f to the end of those that f enqueues on the session's queue. It waits for them.
func DeviceTime(s *linalg.Session, f func() error) (d time.Duration, err error) {
	begin, err := s.Queue().Record()
	if err != nil {
		return 0, err
	}
	defer func() { err = cmp.Or(err, begin.Release()) }()
	if err := f(); err != nil {
		return 0, err
	}
	end, err := s.Queue().Record()
	if err != nil {
		return 0, err
	}
	defer func() { err = cmp.Or(err, end.Release()) }()
	if err := s.Wait(); err != nil {
		return 0, err
	}
	ns, err := end.Since(begin)
	return time.Duration(ns), err
}

// WithScratch calls f with a packed rows by cols array of any values, which ends with f: what an
// operation of several launches needs for itself. f enqueues its commands on the session's queue.
// The session keeps the memory for later operations; linalg.Session says how much.
func WithScratch[T any](s *linalg.Session, rows, cols int, f func(x *linalg.Array[T]) error) error {
	x := new(linalg.Array[T])
	return hooks.Scratch(s, rows, cols, reflect.TypeFor[T](), x, func() error { return f(x) })
}

// Failed is an array that could not be made because of err, for functions that return an array and
// no error. It has no elements and belongs to no session. Calls that take it, and methods of it,
// are err; a Slice of it, whatever its bounds, is such an array, too.
func Failed[T any](err error) *linalg.Array[T] {
	x := new(linalg.Array[T])
	hooks.Fail(x, reflect.TypeFor[T](), err)
	return x
}

// Overlap tells whether arrays share elements.
func Overlap[T any](a, b *linalg.Array[T]) bool {
	rows, cols := a.Dims()
	m, n := b.Dims()
	return a.Buffer() == b.Buffer() &&
		strided.Overlap(rows, cols, a.Stride(), b.Offset()-a.Offset(), m, n, b.Stride())
}

// HostLimit is how many bytes of the host's memory a call may use whose files.Options.Memory is
// asked.
func HostLimit(asked int64) (int64, error) { return outofcore.HostLimit(asked) }

// CheckFiles refuses c as the result of r where they are files of the system, and the same one.
func CheckFiles(c io.WriterAt, r io.ReaderAt) error {
	type file interface{ Stat() (fs.FileInfo, error) }
	x, ok := c.(file)
	y, also := r.(file)
	if !ok || !also {
		return nil
	}
	a, err := x.Stat()
	b, errB := y.Stat()
	if err == nil && errB == nil && os.SameFile(a, b) {
		return fmt.Errorf("%w: the file of the result is the file of an operand", linalg.ErrOverlap)
	}
	return nil
}

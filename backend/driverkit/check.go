package driverkit

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
)

// Failure is the error of a check that stands before the library's call.
func Failure(driver, op string, kind error, format string, v ...any) *backend.Error {
	return &backend.Error{Driver: driver, Op: op, Err: kind, Detail: fmt.Sprintf(format, v...)}
}

// A Signature is what launches of a kernel are checked against.
type Signature struct {
	Name     string // the kernel's
	Params   []backend.Param
	Group    [3]int // the group size that it was compiled for, zero where it takes any
	MaxGroup int    // work-items a group, where its registers allow fewer than the device does; 0 otherwise
}

// Check checks a grid and arguments against the kernel's parameters and a device's limits, as every
// driver does before it calls its library. The error matches ErrLaunch. Whether the buffers belong
// to the device is the driver's own check.
func (s *Signature) Check(info *backend.Info, g backend.Grid, args []backend.Arg) error {
	bad := func(format string, v ...any) error {
		return Failure(info.Driver, "Queue.Launch", backend.ErrLaunch, "kernel %s: %s",
			s.Name, fmt.Sprintf(format, v...))
	}
	if len(args) != len(s.Params) {
		return bad("takes %d arguments (%s), not %d", len(s.Params), formatParams(s.Params), len(args))
	}
	for i, p := range s.Params {
		a := &args[i]
		switch {
		case a.Size == 0 && IsNil(a.Buffer):
			return bad("argument %d (%s) is nil", i, p)
		case p.Buffer != (a.Buffer != nil):
			return bad("argument %d is %s, not %s", i, p, a)
		case p.Buffer && (a.Offset < 0 || a.Offset > a.Buffer.Len()):
			return bad("argument %d (%s): offset %d is outside its buffer of %d bytes", i, p, a.Offset, a.Buffer.Len())
		case p.Buffer && info.OffsetAlign > 1 && a.Offset%int64(info.OffsetAlign) != 0:
			return bad("argument %d (%s): offset %d is not a multiple of the device's %d bytes; pass it as a "+
				"separate argument instead",
				i, p, a.Offset, info.OffsetAlign)
		case !fits(&p, a):
			return bad("argument %d (%s) %s", i, p, misfit(&p, a))
		case !p.Buffer && p.Size != 0 && p.Size != a.Size:
			return bad("argument %d is %s, not %s", i, p, a)
		}
	}
	return s.checkGrid(info, g, bad)
}

func (s *Signature) checkGrid(info *backend.Info, g backend.Grid, bad func(string, ...any) error) error {
	items := 1
	for d, axis := range [3]string{"x", "y", "z"} {
		n, l := g.Groups[d], g.Local[d]
		if n < 0 || l <= 0 {
			return bad("grid of %s: groups must not be negative, and work-items a group must be at least 1", g)
		}
		if limit := info.MaxGroups[d]; limit > 0 && n > limit {
			return bad("grid of %s: the device takes at most %d groups in %s", g, limit, axis)
		}
		if limit := info.MaxGroupDims[d]; limit > 0 && l > limit {
			return bad("grid of %s: the device takes at most %d work-items a group in %s", g, limit, axis)
		}
		if l > math.MaxInt32/items {
			return bad("grid of %s: too many work-items a group", g)
		}
		if n > math.MaxInt/l {
			return bad("grid of %s: too many work-items in %s", g, axis)
		}
		items *= l
	}
	if info.MaxGroup > 0 && items > info.MaxGroup {
		return bad("grid of %s: %d work-items a group, the device takes at most %d", g, items, info.MaxGroup)
	}
	if s.Group != [3]int{} && g.Local != s.Group {
		_, group, _ := strings.Cut(backend.Grid{Local: s.Group}.String(), " of ")
		return bad("grid of %s: the kernel is compiled for groups of %s", g, group)
	}
	if !g.Empty() && (g.Groups[1] > math.MaxInt/g.Groups[0] || g.Groups[2] > math.MaxInt/(g.Groups[0]*g.Groups[1])) {
		return bad("grid of %s: too many groups", g)
	}
	if s.MaxGroup > 0 && items > s.MaxGroup {
		return bad("grid of %s: %d work-items a group; this kernel runs with at most %d on %s",
			g, items, s.MaxGroup, info.Name)
	}
	return nil
}

// ArgumentError is the error of a buffer that argument i cannot be, err of Memory: it names kernel
// and argument, and a wrong buffer is a wrong launch.
func (s *Signature) ArgumentError(i int, err error) error {
	e := err.(*backend.Error)
	if e.Err == backend.ErrArgument {
		e.Err = backend.ErrLaunch
	}
	e.Detail = fmt.Sprintf("kernel %s: argument %d (%s): %s", s.Name, i, s.Params[i], e.Detail)
	return e
}

// IsNil tells whether b is nil, or a nil pointer of some driver's type, which has no methods to
// call.
func IsNil(b backend.Buffer) bool {
	if b == nil {
		return true
	}
	v := reflect.ValueOf(b)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// CheckRange checks that n bytes at off lie within a buffer of size bytes. The error matches
// ErrArgument.
func CheckRange(driver, op string, off, n, size int64) error {
	if off < 0 || n < 0 || off > size || n > size-off {
		return Failure(driver, op, backend.ErrArgument, "%d bytes at offset %d are outside a buffer of %d bytes",
			n, off, size)
	}
	return nil
}

// CheckOverlap checks that n bytes at dstOff and at srcOff of one buffer have no byte in common.
// The error matches ErrArgument.
func CheckOverlap(driver, op string, dstOff, srcOff, n int64) error {
	if n > 0 && dstOff < srcOff+n && srcOff < dstOff+n {
		return Failure(driver, op, backend.ErrArgument, "%d bytes at offsets %d and %d of one buffer overlap",
			n, srcOff, dstOff)
	}
	return nil
}

func formatParams(params []backend.Param) string {
	s := make([]string, len(params))
	for i, p := range params {
		s[i] = p.String()
	}
	return strings.Join(s, ", ")
}

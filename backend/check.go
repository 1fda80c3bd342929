package backend

import (
	"fmt"
	"math"
	"strings"
)

// A Signature is what launches of a kernel are checked against.
type Signature struct {
	Name     string // the kernel's
	Params   []Param
	Group    [3]int // the group size that it was compiled for, zero where it takes any
	MaxGroup int    // work-items a group, where its registers allow fewer than the device does; 0 otherwise
}

// Check checks a grid and arguments against the kernel's parameters and a device's limits. The
// error matches ErrLaunch. To which device the buffers belong is not its matter.
func (s *Signature) Check(info *Info, g Grid, args []Arg) error {
	bad := func(format string, v ...any) error {
		return Failure(info.Driver, "Queue.Launch", ErrLaunch, "kernel %s: %s",
			s.Name, fmt.Sprintf(format, v...))
	}
	if len(args) != len(s.Params) {
		return bad("takes %d arguments (%s), not %d", len(s.Params), join(s.Params, ", "), len(args))
	}
	for i := range s.Params {
		p, a := &s.Params[i], &args[i]
		switch {
		case a.Size == 0 && a.Buffer == nil:
			return bad("argument %d (%s) is nil", i, p)
		case p.Buffer != (a.Buffer != nil):
			return bad("argument %d is %s, not %s", i, p, a)
		case p.Buffer && (a.Offset < 0 || a.Offset > a.Buffer.Len()):
			return bad("argument %d (%s): offset %d is outside its buffer of %d bytes", i, p, a.Offset, a.Buffer.Len())
		case p.Buffer && info.OffsetAlign > 1 && a.Offset%int64(info.OffsetAlign) != 0:
			return bad("argument %d (%s): offset %d is not a multiple of the device's %d bytes; pass it as a "+
				"separate argument instead",
				i, p, a.Offset, info.OffsetAlign)
		case !fits(p, a):
			return bad("argument %d (%s) %s", i, p, misfit(p, a))
		case !p.Buffer && p.Size != 0 && p.Size != a.Size:
			return bad("argument %d is %s, not %s", i, p, a)
		}
	}
	return s.checkGrid(info, g, bad)
}

func (s *Signature) checkGrid(info *Info, g Grid, bad func(string, ...any) error) error {
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
		_, group, _ := strings.Cut(Grid{Local: s.Group}.String(), " of ")
		return bad("grid of %s: the kernel is compiled for groups of %s", g, group)
	}
	const most = math.MaxInt / 8 // so that a driver can count beyond the end
	if x, y := g.Groups[0], g.Groups[1]; !g.Empty() && (x > most || y > most/x || g.Groups[2] > most/(x*y)) {
		return bad("grid of %s: too many groups", g)
	}
	if s.MaxGroup > 0 && items > s.MaxGroup {
		return bad("grid of %s: %d work-items a group; this kernel runs with at most %d on %s",
			g, items, s.MaxGroup, info.Name)
	}
	return nil
}

// argumentError is the error of a buffer that argument i cannot be, err of ownBuffer: it names
// kernel and argument, and a wrong buffer is a wrong launch.
func (s *Signature) argumentError(i int, err error) error {
	e := err.(*Error)
	if e.Err == ErrArgument {
		e.Err = ErrLaunch
	}
	e.Detail = fmt.Sprintf("kernel %s: argument %d (%s): %s", s.Name, i, s.Params[i], e.Detail)
	return e
}

// checkRange checks that n bytes at off lie within a buffer of size bytes. The error matches
// ErrArgument.
func (d *device) checkRange(op string, off, n, size int64) error {
	if off < 0 || n < 0 || off > size || n > size-off {
		return d.failure(op, ErrArgument, "%d bytes at offset %d are outside a buffer of %d bytes", n, off, size)
	}
	return nil
}

// join is all of a list, with the separator between them.
func join[T fmt.Stringer](list []T, separator string) string {
	s := make([]string, len(list))
	for i, v := range list {
		s[i] = v.String()
	}
	return strings.Join(s, separator)
}

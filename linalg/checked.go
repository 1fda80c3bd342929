package linalg

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"weak"

	"github.com/tandem-gpu/tandem/backend"
)

// EnvCheck is the environment variable that switches the checked mode of sessions on, if it is 1. 0
// or nothing leaves it off, and anything else is an error of Open.
const EnvCheck = "TANDEM_CHECK"

// SetChecked switches the checked mode on or off for the kernels written in Go that are launched or
// compiled from now on. In it an index out of range, an element outside a matrix, the bounds of a
// slice that are none and an integer division by 0 are errors of the launch. They match
// backend.ErrLaunch and name the kernel's file and line, the numbers and the work-item; the session
// goes on. What the kernel has written before stays written, but on the cpu device nothing is. A
// checked launch blocks. It takes a compiler: on an NVIDIA GPU that is NVRTC. On the cpu device the
// kernel runs twice: on copies of its buffers each work-item is a goroutine that runs the Go as it
// is written, which finds barriers that not all of them come to as well; if that finds nothing, the
// compiled kernel computes the results.
//
// A session begins with what [EnvCheck] says.
func (s *Session) SetChecked(on bool) { s.checked.Store(on) }

// checks is what there is to a kernel whose launches check.
type checks struct {
	files []string
	// unchecked computes the results where the kernel that checks is plain Go: that may convert a
	// float which an integer type does not have to another number. It needs no release.
	unchecked *backend.Kernel
}

// compileChecked compiles src so that its launches check.
func (s *core) compileChecked(src *backend.Source) (*backend.Kernel, error) {
	k, err := s.device.Compile(checkedSource(src))
	if err != nil {
		return nil, fmt.Errorf("linalg: the checked mode compiles kernel %s anew: %w", src.Name, err)
	}
	c := &checks{files: src.Checks.Files}
	if s.info.Host {
		if c.unchecked, err = s.device.Compile(src); err != nil {
			return nil, errors.Join(err, k.Release())
		}
	}
	key := weak.Make(k)
	s.checks.Store(key, c)
	s.checking.Store(true)
	runtime.AddCleanup(k, func(key weak.Pointer[backend.Kernel]) { s.checks.Delete(key) }, key)
	return k, nil
}

// checkedSource is src with its checks on.
func checkedSource(src *backend.Source) *backend.Source {
	src = src.Unpacked()
	c := *src
	c.Macros = maps.Clone(src.Macros)
	if c.Macros == nil {
		c.Macros = map[string]string{}
	}
	c.Macros["TANDEM_CHECKED"] = "1"
	c.Params = append(c.Params[:len(c.Params):len(c.Params)],
		backend.Param{Name: "record", Type: "ulong*", Buffer: true})
	c.PTX, c.Packed, c.Native, c.Go = nil, nil, nil, src.Checks.Go
	c.Text = lined(src)
	return &c
}

// placeLines is how the compiler of kernels joins the number of a file and that of a line.
const placeLines = 1e6

// lined is the text of src with directives by which compilers, and what finds mistakes beyond those
// that are recorded, name the kernel's own lines where it accesses memory.
func lined(src *backend.Source) string {
	var b strings.Builder
	for i, line := range strings.Split(src.Text, "\n") {
		at := placeIn(line)
		if file := at / placeLines; at > 0 && file < len(src.Checks.Files) {
			fmt.Fprintf(&b, "#line %d %q\n%s\n", at%placeLines, src.Checks.Files[file], line)
			fmt.Fprintf(&b, "#line %d %q\n", i+2, src.FileName())
			continue
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// checkRE begins the checks of an index, whose last argument is its place.
var checkRE = regexp.MustCompile(`\b(AT|ROW|COLUMN|CUT)\(`)

// placeIn is the place of the first check in a line of text, 0 where it has none.
func placeIn(line string) int {
	found := checkRE.FindStringIndex(line)
	if found == nil || strings.HasPrefix(line, "#") {
		return 0
	}
	depth, comma := 1, 0
	for i := found[1]; i < len(line); i++ {
		switch line[i] {
		case '(':
			depth++
		case ',':
			if depth == 1 {
				comma = i
			}
		case ')':
			if depth--; depth == 0 {
				at, _ := strconv.Atoi(strings.TrimSpace(line[comma+1 : i]))
				return at
			}
		}
	}
	return 0
}

// launchArgs is [Session.Launch] of arguments that are all on the device. It takes no memory. In
// the checked mode it waits for the kernel and reports what it has found.
func (s *Session) launchArgs(k *backend.Kernel, g backend.Grid, args []backend.Arg) (err error) {
	var c *checks
	if s.checking.Load() {
		found, _ := s.checks.Load(weak.Make(k))
		c, _ = found.(*checks)
	}
	if c == nil {
		return s.queue.Launch(k, g, args...)
	}
	if c.unchecked == nil {
		return s.launchRecorded(k, c, g, args)
	}
	if err := s.tryOnCopies(k, c, g, args); err != nil {
		return err
	}
	return s.queue.Launch(c.unchecked, g, args...)
}

// tryOnCopies is a launch that checks and writes nothing.
func (s *Session) tryOnCopies(k *backend.Kernel, c *checks, g backend.Grid, args []backend.Arg) (err error) {
	copies := map[*backend.Buffer]*backend.Buffer{}
	defer func() {
		for _, b := range copies {
			err = cmp.Or(err, b.Free())
		}
	}()
	args = slices.Clone(args)
	for i, a := range args {
		if a.Buffer == nil {
			continue
		}
		b := copies[a.Buffer]
		if b == nil {
			if b, err = s.device.Alloc(a.Buffer.Len()); err != nil {
				return fmt.Errorf("linalg: the checked mode copies the buffers of kernel %s: %w", k.Name(), err)
			}
			copies[a.Buffer] = b
			if err := s.queue.Copy(b, 0, a.Buffer, 0, b.Len()); err != nil {
				return err
			}
		}
		args[i].Buffer = b
	}
	return s.launchRecorded(k, c, g, args)
}

// launchRecorded waits for the kernel and reports what it has recorded.
func (s *Session) launchRecorded(k *backend.Kernel, c *checks, g backend.Grid, args []backend.Arg) (err error) {
	var record [8]uint64
	mem := backend.Bytes(record[:])
	buf, err := s.device.Alloc(int64(len(mem)))
	if err != nil {
		return err
	}
	defer func() {
		err = cmp.Or(err, buf.Free())
	}()
	if err := s.queue.Write(buf, 0, mem); err != nil {
		return err
	}
	if err := s.queue.Launch(k, g, append(args[:len(args):len(args)], backend.Buf(buf))...); err != nil {
		return err
	}
	if err := s.queue.Read(mem, buf, 0); err != nil {
		return err
	}
	if record[0] == 0 {
		return nil
	}
	return backend.Failure(s.info.Driver, "Queue.Launch", backend.ErrLaunch, "kernel %s: %s", k.Name(),
		c.mistake(&record))
}

// mistake says what a work-item has recorded.
func (c *checks) mistake(record *[8]uint64) string {
	file, line := record[1]/placeLines, record[1]%placeLines
	i, n := int64(record[2]), int64(record[3])
	what := ""
	switch record[0] {
	case 1:
		what = fmt.Sprintf("index %d out of range of length %d", i, n)
	case 2:
		what = fmt.Sprintf("row %d of a matrix of %d rows", i, n)
	case 3:
		what = fmt.Sprintf("column %d of a matrix of %d columns", i, n)
	case 4:
		what = fmt.Sprintf("slice bound %d out of range, which ends at %d", i, n)
	default:
		what = "integer division by 0"
	}
	return fmt.Sprintf("%s:%d: %s in work-item %d", c.files[file], line, what, record[4:7])
}

package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/tandem-gpu/tandem/cmd/tandem/internal/screen"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/usage"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/wait"
	"github.com/tandem-gpu/tandem/internal/npy"
)

// A Target is where a result is to go: the flag that names the file, what it holds, where that is
// not what the command is for, and its path.
type Target struct{ Flag, Holds, Path string }

// Flag is what names the file that a command is for.
const Flag = "-o"

// TargetsOf are the values of -o.
func TargetsOf(paths []string) (list []Target) {
	for _, p := range paths {
		list = append(list, Target{Flag: Flag, Path: p})
	}
	return list
}

// fileOf is one name for all paths that lead to a file.
func fileOf(path string) string {
	if abs, err := filepath.Abs(npy.Target(path)); err == nil {
		return abs
	}
	return path
}

// CheckTargets checks where results are to go before any work: want values of -o, and all
// different.
func CheckTargets(list []Target, want int) error {
	taken, given := map[string]string{}, 0
	for _, t := range list {
		file := fileOf(t.Path)
		switch other := taken[file]; {
		case t.Path == "" && t.Flag == Flag:
			return usage.Errorf("-o needs a file name")
		case t.Path == "":
			return usage.Errorf("no file for %s: give %s FILE.npy", t.Holds, t.Flag)
		case t.Path == "-" && t.Flag != Flag:
			return usage.Errorf("%s -: only -o may be standard output: give %[1]s FILE.npy", t.Flag)
		case other == t.Flag:
			return usage.Errorf("%s %s is given twice", t.Flag, t.Path)
		case other != "":
			return usage.Errorf("%s %s is the file of %s", t.Flag, t.Path, other)
		case t.Flag == Flag:
			given++
		}
		taken[file] = t.Flag
	}
	switch {
	case given == 0:
		return usage.Errorf("no output file: give -o FILE.npy")
	case given != want:
		return usage.Errorf("%d files for %d results: give one -o for each, in their order", given, want)
	}
	return nil
}

// An Output is a file in the making: whole under its name after Commit, or not there at all. Until
// then it has another name in the same folder. A device, a pipe and standard output are written
// directly.
type Output struct {
	io.Writer
	Target
	Stdout  bool     // it is standard output
	Fortran bool     // the order of a matrix in it
	Text    bool     // it takes elements as text
	name    string   // where Commit puts it: Path, or what it links to
	f       *os.File // nil after Commit and Abort, and for standard output
	temp    string   // "" for what is written directly
}

// Create begins an output, so that a wrong path fails before the work. Abort ends it.
func Create(ctx context.Context, t Target) (*Output, error) {
	o := &Output{Target: t, name: npy.Target(t.Path)}
	info, err := os.Stat(o.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = o.createTemp(0o666) // as any program makes files, their permissions left to the umask
	case err != nil:
	case info.IsDir():
		err = errors.New("is a directory; name a file")
	case info.Mode().IsRegular():
		if err = o.createTemp(0o600); err == nil {
			err = o.f.Chmod(info.Mode().Perm())
		}
	default: // of a pipe, it waits for a reader
		o.f, err = wait.For(ctx, 0, func() (*os.File, error) { return os.OpenFile(o.name, os.O_WRONLY, 0) })
	}
	var e *fs.PathError
	if errors.As(err, &e) {
		err = fmt.Errorf("cannot create a file there: %w", e.Err)
	}
	if err != nil {
		o.Abort()
		return nil, o.failed(err)
	}
	o.Writer = o.f
	return o, nil
}

// failed is err with the output that it is about.
func (o *Output) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", o.Flag, o.Path, err)
}

// createTemp makes the file.
func (o *Output) createTemp(mode fs.FileMode) (err error) {
	dir, _ := filepath.Split(o.name)
	for range 100 {
		temp := fmt.Sprintf("%s.tandem-%08x.tmp", dir, rand.Uint32())
		o.f, err = os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err == nil {
			o.temp = temp
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return err
}

// InParts tells whether the file can be written in parts, in any order.
func (o *Output) InParts() bool { return o.temp != "" }

// WriteAt writes a part of such a file.
func (o *Output) WriteAt(b []byte, at int64) (int, error) {
	n, err := o.f.WriteAt(b, at)
	var e *fs.PathError
	if errors.As(err, &e) {
		err = e.Err
	}
	return n, o.failed(err)
}

// Reserve makes room for the array of h on the disk, where that is possible, or says that it is
// full.
func (o *Output) Reserve(h *npy.Header) error {
	if err := reserve(o.f, h.Size()); err != nil {
		return o.failed(fmt.Errorf("%s: %w", screen.Bytes(h.Size()), err))
	}
	return nil
}

// Size is that of a file that was written in parts.
func (o *Output) Size() (int64, error) {
	info, err := o.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Put writes an array, until ctx is done, and gives the size of the file.
func (o *Output) Put(ctx context.Context, bar *screen.Progress, r Result) (size int64, err error) {
	if o.Text {
		bar.Close()
		_, err := fmt.Fprintln(o, r.Text)
		return 0, err
	}
	r.Fortran = o.Fortran
	w := &watched{ctx: ctx, w: o, size: r.Size(), bar: bar}
	bar.Begin("writing " + o.Path)
	return wait.For(ctx, 0, func() (int64, error) {
		err := arraysIn(r.Type).write(w, &r.Header, r.Data)
		return w.done, o.failed(err)
	})
}

// finish makes the content durable; commit can hardly fail after it.
func (o *Output) finish() error {
	f := o.f
	if f == nil {
		return nil
	}
	o.f = nil
	var err error
	if o.temp != "" {
		err = f.Sync()
	}
	err = cmp.Or(err, f.Close())
	return o.failed(err)
}

// commit gives a finished output its name.
func (o *Output) commit() error {
	if o.temp == "" {
		return nil
	}
	if err := os.Rename(o.temp, o.name); err != nil {
		return o.failed(err)
	}
	o.temp = ""
	return nil
}

// Abort removes what was not committed. After Commit it does nothing.
func (o *Output) Abort() {
	if o.f != nil {
		o.f.Close()
		o.f = nil
	}
	if o.temp != "" {
		os.Remove(o.temp)
		o.temp = ""
	}
}

// Outputs are the files of one command. All are whole before the first gets its name.
type Outputs []*Output

// CreateAll begins outputs, of which one may be stdout.
func CreateAll(ctx context.Context, list []Target, stdout io.Writer, fortran bool) (o Outputs, err error) {
	for _, t := range list {
		var one *Output
		switch toStdout := t.Path == "-" || IsSame(t.Path, stdout); {
		case !toStdout:
			one, err = Create(ctx, t)
		case screen.IsTerminal(stdout):
			err = usage.Errorf("%s %s: standard output is a terminal; name a file, or use a pipe", t.Flag, t.Path)
		case o.OnStdout():
			err = usage.Errorf("%s %s: standard output is given twice", t.Flag, t.Path)
		default:
			one = &Output{Writer: stdout, Target: t, Stdout: true}
		}
		if err != nil {
			o.Abort()
			return nil, err
		}
		one.Fortran = fortran
		o = append(o, one)
	}
	return o, nil
}

// IsSame tells whether path is the file or pipe behind w, as /dev/stdout is, which the report must
// not follow the data to. /dev/null and the like take both.
func IsSame(path string, w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	other, otherErr := os.Stat(path)
	return err == nil && otherErr == nil && os.SameFile(info, other) &&
		(info.Mode()&fs.ModeDevice == 0 || screen.IsTerminal(w))
}

// OnStdout tells whether standard output is one of the outputs.
func (o Outputs) OnStdout() bool {
	return slices.ContainsFunc(o, func(one *Output) bool { return one.Stdout })
}

// Abort aborts all.
func (o Outputs) Abort() {
	for _, one := range o {
		one.Abort()
	}
}

// Commit finishes all outputs before it names the first.
func (o Outputs) Commit() error {
	for _, step := range []func(*Output) error{(*Output).finish, (*Output).commit} {
		for _, one := range o {
			if err := step(one); err != nil {
				return err
			}
		}
	}
	return nil
}

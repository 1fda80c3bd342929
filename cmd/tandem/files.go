package main

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

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/linalg"
)

// An operand is a file that was read.
type operand struct {
	path string
	*npy.Header
	data any      // []float32, []float64 or []int32: the elements, row by row
	file *os.File // where they lie, if data is nil
}

func (o operand) String() string { return describe(o.path, o.Type.String(), o.Shape) }

// number is the type that the operand is computed with: float32 for numbers of 16 bits.
func (o operand) number() element.Type {
	if o.Type == element.Half {
		return element.Float32
	}
	return o.Type
}

// matrix is the operand as a matrix of its type.
func matrix[T linalg.Element](o operand) linalg.Matrix[T] {
	rows, cols := o.Dims()
	data, _ := o.data.([]T)
	return linalg.Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: data}
}

// open opens a file, or standard input for "-". size is negative where it is not known.
func (a *app) open(path string) (r io.ReadCloser, size int64, err error) {
	if path == "-" {
		return io.NopCloser(a.stdin), -1, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	switch info, err := f.Stat(); {
	case err != nil:
		f.Close()
		return nil, 0, err
	case info.IsDir():
		f.Close()
		return nil, 0, fmt.Errorf("%s: is a directory, not a file", path)
	case info.Mode().IsRegular():
		return f, info.Size(), nil
	}
	return f, -1, nil
}

// A headerReader reads the header of a .npy file: ReadHeader and others of package npy.
type headerReader func(io.Reader) (*npy.Header, error)

// load reads a .npy file, until ctx is done.
func (a *app) load(ctx context.Context, path string, p *progress, header headerReader) (operand, error) {
	p.begin("reading " + filepath.Base(path))
	return await(ctx, 0, func() (operand, error) {
		f, size, err := a.open(path)
		if err != nil {
			return operand{}, err
		}
		defer f.Close()
		unchanged := npy.Watch(f)
		r := &watchedReader{ctx: ctx, r: f, p: p}
		h, err := header(r)
		if err == nil {
			r.size = h.Size()
			if size < 0 || size > r.size { // a shorter file will say so itself
				size = r.size
			}
			err = fitsHost(size)
		}
		var data any
		if err == nil {
			data, err = operationsIn(operand{Header: h}.number()).read(r, h)
		}
		if err == nil || errors.Is(err, npy.ErrFormat) { // where the file was cut, its name says more
			err = cmp.Or(unchanged(), err)
		}
		if err != nil {
			return operand{}, fmt.Errorf("%s: %w", path, err)
		}
		return operand{path: path, Header: h, data: data}, nil
	})
}

// loadAll reads files of one type.
func (a *app) loadAll(ctx context.Context, paths []string, p *progress, header headerReader) ([]operand, error) {
	in := make([]operand, len(paths))
	for i, path := range paths {
		var err error
		if in[i], err = a.load(ctx, path, p, header); err != nil {
			return nil, err
		}
		if err := sameType(in[0], in[i]); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// openOperands opens files without reading their data. It is for whole, regular files of one type;
// for others it gives nil: load says what is wrong with them, if anything is.
func openOperands(paths []string, header headerReader) (in []operand) {
	for _, path := range paths {
		o := operand{path: path}
		info, err := os.Stat(path)
		whole := err == nil && path != "-" && info.Mode().IsRegular()
		if whole {
			o.file, err = os.Open(path)
		}
		if whole = whole && err == nil; whole {
			in = append(in, o)
			o.Header, err = header(o.file)
			at, _ := o.file.Seek(0, io.SeekCurrent)
			whole = err == nil && at+o.Size() == info.Size()
		}
		if !whole || len(in) > 1 && o.number() != in[0].number() {
			closeOperands(in)
			return nil
		}
		in[len(in)-1] = o
	}
	return in
}

func closeOperands(in []operand) {
	for _, o := range in {
		if o.file != nil {
			o.file.Close()
		}
	}
}

// maxSource is more than any kernel's source has.
const maxSource = 16 << 20

// loadText reads a source file, until ctx is done.
func (a *app) loadText(ctx context.Context, path string) (string, error) {
	return await(ctx, 0, func() (string, error) {
		f, _, err := a.open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		text, err := io.ReadAll(&watchedReader{ctx: ctx, r: io.LimitReader(f, maxSource+1)})
		if err == nil && len(text) > maxSource {
			err = fmt.Errorf("%s: more than %s are no kernel's source", path, formatBytes(maxSource))
		}
		return string(text), err
	})
}

// fitsHost refuses what this machine's memory does not hold, before the attempt ends the program.
func fitsHost(size int64) error {
	memory := backend.HostInfo().Memory
	if memory <= 0 || size <= memory {
		return nil
	}
	return &backend.Error{
		Op: "host memory", Err: backend.ErrOutOfMemory,
		Detail: fmt.Sprintf("%s are needed, the machine has %s", formatBytes(size), formatBytes(memory)),
	}
}

// A watchedReader reads in pieces, between which it looks at ctx and reports the progress.
type watchedReader struct {
	ctx        context.Context
	r          io.Reader
	size, done int64
	p          *progress
}

const readPiece = 8 << 20

func (w *watchedReader) Read(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.r.Read(b[:min(len(b), readPiece)])
	w.done += int64(n)
	if w.size > 0 {
		w.p.at(min(1, float64(w.done)/float64(w.size)))
	}
	return n, err
}

// A watchedWriter is the same for writing.
type watchedWriter struct {
	ctx        context.Context
	w          io.Writer
	size, done int64
	p          *progress
}

func (w *watchedWriter) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.w.Write(b)
	w.done += int64(n)
	w.p.at(min(1, float64(w.done)/float64(w.size)))
	return n, err
}

// An output is a file in the making: whole under its name after commit, or not there at all. Until
// then it has another name in the same folder. A device, a pipe and standard output are written
// directly.
type output struct {
	io.Writer
	flag    string   // that names it: "-o"
	path    string   // as the user gave it
	name    string   // where commit puts it: path, or what it links to
	f       *os.File // nil after commit and abort, and for standard output
	temp    string   // "" for what is written directly
	stdout  bool     // it is standard output
	fortran bool     // the order of a matrix in it
	text    bool     // it takes elements as text
}

// createOutput begins an output, so that a wrong path fails before the work. abort ends it.
func createOutput(ctx context.Context, flag, path string) (*output, error) {
	o := &output{flag: flag, path: path, name: npy.Target(path)}
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
		o.f, err = await(ctx, 0, func() (*os.File, error) { return os.OpenFile(o.name, os.O_WRONLY, 0) })
	}
	var e *fs.PathError
	if errors.As(err, &e) {
		err = fmt.Errorf("cannot create a file there: %w", e.Err)
	}
	if err != nil {
		o.abort()
		return nil, fmt.Errorf("%s %s: %w", flag, path, err)
	}
	o.Writer = o.f
	return o, nil
}

// createTemp makes the file.
func (o *output) createTemp(mode fs.FileMode) (err error) {
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

// WriteAt writes a part of a file that has another name until commit.
func (o *output) WriteAt(b []byte, at int64) (int, error) {
	n, err := o.f.WriteAt(b, at)
	var e *fs.PathError
	if errors.As(err, &e) {
		err = e.Err
	}
	if err != nil {
		err = fmt.Errorf("%s %s: %w", o.flag, o.path, err)
	}
	return n, err
}

// finish makes the content durable; commit can hardly fail after it.
func (o *output) finish() error {
	f := o.f
	if f == nil {
		return nil
	}
	o.f = nil
	var err error
	if o.temp != "" {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", o.flag, o.path, err)
	}
	return nil
}

// commit gives a finished output its name.
func (o *output) commit() error {
	if o.temp == "" {
		return nil
	}
	if err := os.Rename(o.temp, o.name); err != nil {
		return fmt.Errorf("%s %s: %w", o.flag, o.path, err)
	}
	o.temp = ""
	return nil
}

// abort removes what was not committed. After commit it does nothing.
func (o *output) abort() {
	if o.f != nil {
		o.f.Close()
		o.f = nil
	}
	if o.temp != "" {
		os.Remove(o.temp)
		o.temp = ""
	}
}

// outputs are the files of one command. All are whole before the first gets its name.
type outputs []*output

// createOutputs begins the files of -o, of which "-" is standard output.
func (a *app) createOutputs(ctx context.Context, paths []string) (o outputs, err error) {
	for _, path := range paths {
		if path == "-" || isSame(path, a.stdout) {
			if err := a.checkStdout(path, o); err != nil {
				o.abort()
				return nil, err
			}
			o = append(o, &output{Writer: a.stdout, path: path, stdout: true, fortran: a.fortran})
			continue
		}
		one, err := createOutput(ctx, "-o", path)
		if err != nil {
			o.abort()
			return nil, err
		}
		one.fortran = a.fortran
		o = append(o, one)
	}
	return o, nil
}

// isSame tells whether path is the file or pipe behind w, as /dev/stdout is, which the report must
// not follow the data to. /dev/null and the like take both.
func isSame(path string, w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	other, otherErr := os.Stat(path)
	return err == nil && otherErr == nil && os.SameFile(info, other) &&
		(info.Mode()&fs.ModeDevice == 0 || isTerminal(w))
}

// checkStdout refuses to write an output to a terminal, or a second one behind another.
func (a *app) checkStdout(path string, before outputs) error {
	if isTerminal(a.stdout) {
		return usagef("-o %s: standard output is a terminal; name a file, or use a pipe", path)
	}
	if before.onStdout() {
		return usagef("-o %s: standard output is given twice", path)
	}
	return nil
}

// onStdout tells whether standard output is one of the outputs.
func (o outputs) onStdout() bool {
	return slices.ContainsFunc(o, func(one *output) bool { return one.stdout })
}

func (o outputs) abort() {
	for _, one := range o {
		one.abort()
	}
}

// commit finishes all outputs before it names the first.
func (o outputs) commit() error {
	for _, one := range o {
		if err := one.finish(); err != nil {
			return err
		}
	}
	for _, one := range o {
		if err := one.commit(); err != nil {
			return err
		}
	}
	return nil
}

// checkInputs checks the names of inputs: "-", standard input, is there once.
func checkInputs(paths []string) error {
	if i := slices.Index(paths, "-"); i >= 0 && slices.Contains(paths[i+1:], "-") {
		return usagef("-, standard input, is given twice")
	}
	return nil
}

// fileOf is one name for all paths that lead to a file.
func fileOf(path string) string {
	if abs, err := filepath.Abs(npy.Target(path)); err == nil {
		return abs
	}
	return path
}

// checkOutputs checks the values of -o before any work: want of them, all different.
func checkOutputs(paths []string, want int) error {
	seen := map[string]bool{}
	for _, p := range paths {
		switch file := fileOf(p); {
		case p == "":
			return usagef("-o needs a file name")
		case seen[file]:
			return usagef("-o %s is given twice", p)
		default:
			seen[file] = true
		}
	}
	switch {
	case len(paths) == 0:
		return usagef("no output file: give -o FILE.npy")
	case len(paths) != want:
		return usagef("%d files for %d results: give one -o for each, in their order", len(paths), want)
	}
	return nil
}

package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/tandem-gpu/tandem/cmd/tandem/internal/screen"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/usage"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/wait"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/linalg"
)

// An Operand is a file that was read.
type Operand struct {
	Path string
	*npy.Header
	Data any      // []float32, []float64 or []int32: the elements, row by row
	File *os.File // where they lie, if Data is nil
}

// String is what a person should know of the file: "a.npy (float32 64x48)".
func (o Operand) String() string { return Describe(o.Path, o.Type.String(), o.Shape) }

// Describe is String of what is known of a file.
func Describe(path, dtype string, shape []int) string {
	return fmt.Sprintf("%s (%s %s)", path, dtype, screen.Shape(shape))
}

// Number is the type that the operand is computed with: float32 for numbers of 16 bits.
func (o Operand) Number() element.Type {
	if o.Type == element.Half {
		return element.Float32
	}
	return o.Type
}

// Matrix is the operand as a matrix of its type.
func Matrix[T linalg.Element](o Operand) linalg.Matrix[T] {
	rows, cols := o.Dims()
	data, _ := o.Data.([]T)
	return linalg.Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: data}
}

// SameType refuses files of different types.
func SameType(a, b Operand) error {
	if a.Number() == b.Number() {
		return nil
	}
	return fmt.Errorf("%s and %s: both must hold one type; convert one with numpy, as in x.astype('%s')", a, b, a.Type)
}

// A Reader reads files, until a context is done.
type Reader struct {
	Stdin  io.Reader // what "-" stands for
	Bar    *screen.Progress
	Header func(io.Reader) (*npy.Header, error) // ReadHeader or others of package npy
}

// open opens a file. size is negative where it is not known.
func (r *Reader) open(path string) (f io.ReadCloser, size int64, err error) {
	if path == "-" {
		return io.NopCloser(r.Stdin), -1, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s: is a directory, not a file", path)
	}
	switch {
	case err != nil:
		file.Close()
		return nil, 0, err
	case info.Mode().IsRegular():
		return file, info.Size(), nil
	}
	return file, -1, nil
}

// Load reads a .npy file.
func (r *Reader) Load(ctx context.Context, path string) (Operand, error) {
	r.Bar.Begin("reading " + filepath.Base(path))
	return wait.For(ctx, 0, func() (Operand, error) {
		f, size, err := r.open(path)
		if err != nil {
			return Operand{}, err
		}
		defer f.Close()
		unchanged := npy.Watch(f)
		w := &watched{ctx: ctx, r: f, bar: r.Bar}
		o := Operand{Path: path}
		if o.Header, err = r.Header(w); err == nil {
			w.size = o.Size()
			if size < 0 || size > w.size { // a shorter file will say so itself
				size = w.size
			}
			err = FitsHost(float64(size))
		}
		if err == nil {
			o.Data, err = arraysIn(o.Number()).read(w, o.Header)
		}
		if err == nil || errors.Is(err, npy.ErrFormat) { // where the file was cut, its name says more
			err = cmp.Or(unchanged(), err)
		}
		if err != nil {
			return Operand{}, fmt.Errorf("%s: %w", path, err)
		}
		return o, nil
	})
}

// LoadAll reads files of one type.
func (r *Reader) LoadAll(ctx context.Context, paths []string) (in []Operand, err error) {
	for _, path := range paths {
		o, err := r.Load(ctx, path)
		if err != nil {
			return nil, err
		}
		if in = append(in, o); o.Number() != in[0].Number() {
			return nil, SameType(in[0], o)
		}
	}
	return in, nil
}

// Leave opens files without reading their data. It is for whole, regular files of one type; for
// others it gives nil: Load says what is wrong with them, if anything is.
func (r *Reader) Leave(paths []string) (in []Operand) {
	for _, path := range paths {
		o, err := r.leave(path)
		if err != nil || len(in) > 0 && o.Number() != in[0].Number() {
			CloseAll(append(in, o))
			return nil
		}
		in = append(in, o)
	}
	return in
}

// leave is Leave for a file. What it has opened is in o, beside an error, too.
func (r *Reader) leave(path string) (o Operand, err error) {
	o.Path = path
	info, err := os.Stat(path)
	if err != nil || path == "-" || !info.Mode().IsRegular() {
		return o, cmp.Or(err, npy.ErrFormat)
	}
	if o.File, err = os.Open(path); err != nil {
		return o, err
	}
	if o.Header, err = r.Header(o.File); err != nil {
		return o, err
	}
	at, err := o.File.Seek(0, io.SeekCurrent)
	if at+o.Size() != info.Size() {
		err = npy.ErrFormat
	}
	return o, err
}

// CloseAll closes what Leave has opened.
func CloseAll(in []Operand) {
	for _, o := range in {
		if o.File != nil {
			o.File.Close()
		}
	}
}

// maxSource is more than any kernel's source has.
const maxSource = 16 << 20

// Source reads the source of a kernel.
func (r *Reader) Source(ctx context.Context, path string) (string, error) {
	return wait.For(ctx, 0, func() (string, error) {
		f, _, err := r.open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		text, err := io.ReadAll(&watched{ctx: ctx, r: io.LimitReader(f, maxSource+1)})
		if err == nil && len(text) > maxSource {
			err = fmt.Errorf("%s: more than %s are no kernel's source", path, screen.Bytes(maxSource))
		}
		return string(text), err
	})
}

// A watched reader or writer reads or writes in pieces, between which it looks at ctx and reports
// the progress.
type watched struct {
	ctx        context.Context
	r          io.Reader
	w          io.Writer
	size, done int64
	bar        *screen.Progress
}

const readPiece = 8 << 20

func (w *watched) Read(b []byte) (int, error) { return w.move(w.r.Read, b[:min(len(b), readPiece)]) }

func (w *watched) Write(b []byte) (int, error) { return w.move(w.w.Write, b) }

func (w *watched) move(f func([]byte) (int, error), b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := f(b)
	w.done += int64(n)
	if w.size > 0 {
		w.bar.At(min(1, float64(w.done)/float64(w.size)))
	}
	return n, err
}

// CheckInputs checks the names of inputs: "-", standard input, is there once.
func CheckInputs(paths []string) error {
	if i := slices.Index(paths, "-"); i >= 0 && slices.Contains(paths[i+1:], "-") {
		return usage.Errorf("-, standard input, is given twice")
	}
	return nil
}

package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/linalg"
)

// A File is what a .npy file holds.
type File struct {
	Type  element.Type
	Shape []int
}

// Stat says what a .npy file holds, which every rank opens by the same name. It is an error where
// one rank cannot, or has another file there: one of another length, with another header, or other
// bytes in some of 64 places. A copy that differs elsewhere is not noticed. The error matches
// linalg.ErrNPY where the file is damaged or holds something else.
func Stat(ctx context.Context, c *Comm, path string) (File, error) {
	in, err := c.open(ctx, path)
	if err != nil {
		return File{}, err
	}
	in.f.Close()
	return File{in.h.Type, in.h.Shape}, nil
}

// An input is an open .npy file, the same on every rank.
type input struct {
	f         *os.File
	h         *npy.Header
	start     int64 // of the data
	unchanged func() error
}

// open opens a file on every rank, or on none.
func (c *Comm) open(ctx context.Context, path string) (*input, error) {
	in, sample, err := openInput(path)
	if err = c.Agree(ctx, err); err == nil {
		err = c.Same(ctx, "another file at "+path, sample)
	}
	if err != nil {
		if in != nil {
			in.f.Close()
		}
		return nil, err
	}
	return in, nil
}

func (g *Grid) open(ctx context.Context, path string) (*input, error) {
	if err := g.check("ReadNPY"); err != nil {
		return nil, err
	}
	return g.c.open(ctx, path)
}

// The samples by which files are compared.
const (
	samples    = 64
	sampleSize = 4 << 10
)

// openInput opens a file, and gives its header and some of its data, to be compared.
func openInput(path string) (in *input, sample []byte, err error) {
	// what a pipe is told of before it is opened, which waits for the other end
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file, of which every rank could read its part", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
			in, err = nil, fmt.Errorf("%s: %w", path, npy.Named(err))
		}
	}()
	unchanged := npy.Watch(f)
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	var header bytes.Buffer
	h, err := npy.ReadHeader(io.TeeReader(f, &header))
	if err != nil {
		return nil, nil, err
	}
	in = &input{f, h, int64(header.Len()), unchanged}
	if want := in.start + h.Size(); info.Size() != want {
		return nil, nil, fmt.Errorf("%w: it has %d bytes, and its header promises %d", npy.ErrFormat, info.Size(), want)
	}
	for i := range int64(samples) {
		part := make([]byte, min(sampleSize, h.Size()))
		at := (h.Size() - int64(len(part))) * i / (samples - 1)
		if _, err := f.ReadAt(part, in.start+at); err != nil {
			return nil, nil, err
		}
		header.Write(part)
	}
	return in, header.Bytes(), nil
}

// ReadNPY reads a matrix from a .npy file, of which every rank reads its own part. All must see the
// same file by the same name: see [Stat], whose errors it has. A file of one dimension is a single
// row.
func ReadNPY[T linalg.Element](ctx context.Context, g *Grid, path string) (*Matrix[T], error) {
	in, err := g.open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer in.f.Close()
	rows, cols := in.h.Dims()
	return read[T](ctx, g, in, rows, cols)
}

// ReadNPYColumn is ReadNPY of a file of one dimension, as a single column.
func ReadNPYColumn[T linalg.Element](ctx context.Context, g *Grid, path string) (*Matrix[T], error) {
	in, err := g.open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer in.f.Close()
	rows, cols := in.h.Dims()
	if rows != 1 {
		return nil, g.c.alike("%w", shapeError("%s holds a matrix of %dx%d, not a vector", path, rows, cols))
	}
	return read[T](ctx, g, in, cols, 1)
}

// read reads the rank's part of a rows by cols matrix.
func read[T linalg.Element](ctx context.Context, g *Grid, in *input, rows, cols int) (*Matrix[T], error) {
	if err := in.h.CheckType(element.TypeOf[T]()); err != nil {
		return nil, g.c.alike("%s: %w", in.f.Name(), err)
	}
	m, err := New[T](g, rows, cols)
	if err != nil {
		return nil, err
	}
	if err := m.begin(ctx, "ReadNPY"); err != nil {
		return nil, err
	}
	err = m.runs(ctx, in.h.Fortran && rows > 1 && cols > 1, func(at int64, run []T) error {
		if _, err := in.f.ReadAt(backend.Bytes(run), in.start+at); err == io.EOF {
			return fmt.Errorf("%s: %w: it was truncated while it was read", in.f.Name(), npy.ErrFormat)
		} else if err != nil {
			return err // which names the file
		}
		npy.Reorder(run, in.h.Order())
		return nil
	})
	if err := g.c.Agree(ctx, npy.Named(cmp.Or(err, in.unchanged()))); err != nil {
		return nil, err
	}
	return m, nil
}

// runs calls f for the pieces of the rank's part that lie side by side in a file, with their offset
// among the data in bytes. What f does with a run happens to the matrix.
func (m *Matrix[T]) runs(ctx context.Context, fortran bool, f func(at int64, run []T) error) error {
	size, rank := int64(element.TypeOf[T]().Size()), m.g.c.rank
	if !fortran {
		for r := range m.rowSpans(rank) {
			for i := range r.n {
				if err := context.Cause(ctx); err != nil {
					return err
				}
				for c := range m.colSpans(rank) {
					at := int64(r.from+i)*int64(m.cols) + int64(c.from)
					if err := f(at*size, m.local.Row(r.local + i)[c.local:][:c.n]); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	// A column of the file is a row of the transpose, a block of columns at a time.
	memory := make([]T, m.local.Rows*min(m.g.block, m.local.Cols))
	for c := range m.colSpans(rank) {
		if m.local.Rows == 0 {
			break
		}
		block, columns := m.local.Slice(0, m.local.Rows, c.local, c.local+c.n), memory[:c.n*m.local.Rows]
		host.Transpose(block.Rows, block.Cols, block.Data, block.Stride, columns, block.Rows)
		for j := range c.n {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			for r := range m.rowSpans(rank) {
				at := int64(c.from+j)*int64(m.rows) + int64(r.from)
				if err := f(at*size, columns[j*block.Rows+r.local:][:r.n]); err != nil {
					return err
				}
			}
		}
		host.Transpose(block.Cols, block.Rows, columns, block.Rows, block.Data, block.Stride)
	}
	return nil
}

// A Layout is how a matrix lies in a file.
type Layout struct {
	Shape   []int // nil for rows and columns; a matrix of one row or column may be a vector
	Fortran bool  // column by column
}

// WriteNPY writes the matrix to a .npy file, of which every rank writes its own part, in a folder
// that all ranks must share: byte for byte what numpy.save writes. The file is there whole or not
// at all: it has another name, in the same folder, until every rank has written. It keeps the
// permissions of a file that it replaces. A process that is killed may leave the other name behind.
func (m *Matrix[T]) WriteNPY(ctx context.Context, path string, l Layout) error {
	if err := m.check("WriteNPY"); err != nil {
		return err
	}
	h := &npy.Header{Type: element.TypeOf[T](), Shape: l.Shape, Fortran: l.Fortran}
	if l.Shape == nil {
		h.Shape = []int{m.rows, m.cols}
	}
	rows, cols := h.Dims() // the first two
	same := rows == m.rows && cols == m.cols
	vector := len(h.Shape) < 2 && rows*cols == m.rows*m.cols && (m.rows == 1 || m.cols == 1)
	if len(h.Shape) > 2 || !same && !vector {
		return m.g.c.alike("%w", shapeError("a file of shape %v for a matrix of %dx%d", h.Shape, m.rows, m.cols))
	}
	if err := m.begin(ctx, "WriteNPY", path, h.Shape, h.Fortran); err != nil {
		return err
	}
	c := m.g.c
	c.files++
	o := &outputFile{path: path, first: c.rank == 0, id: c.job + uint64(c.files)}
	defer o.abort()
	var start int64
	var err error
	if o.first {
		start, err = o.create(h)
	}
	if err := c.Agree(ctx, err); err != nil {
		return err
	}
	if !o.first {
		start, err = o.join(h)
	}
	if err := c.Agree(ctx, err); err != nil {
		return err
	}
	// A vector lies in the file as its row or column does.
	var memory []T
	err = m.runs(ctx, h.Fortran && m.rows > 1 && m.cols > 1, func(at int64, run []T) error {
		memory = append(memory[:0], run...)
		npy.Reorder(memory, h.Order())
		_, err := o.f.WriteAt(backend.Bytes(memory), start+at)
		return err
	})
	if err == nil {
		err = o.finish()
	}
	if err := c.Agree(ctx, o.explain(err)); err != nil {
		return err
	}
	if o.first {
		err = o.commit()
	}
	return c.Agree(ctx, o.explain(err))
}

// An outputFile is a file in the making.
type outputFile struct {
	path  string      // as the user gave it
	name  string      // where it goes: path, or what it links to
	temp  string      // where it is; "" before it is there, and after commit
	first bool        // this rank makes it, names it, and takes it away
	mode  fs.FileMode // of the file that it replaces, 0 where there is none
	id    uint64      // that no other output has
	f     *os.File
}

// locate finds out where the file goes.
func (o *outputFile) locate() string {
	o.name = npy.Target(o.path)
	dir, _ := filepath.Split(o.name)
	return fmt.Sprintf("%s.tandem-%016x.tmp", dir, o.id)
}

// create makes the file, with the header and room for the data, which begin at start.
func (o *outputFile) create(h *npy.Header) (start int64, err error) {
	defer func() { err = o.explain(err) }()
	temp, mode := o.locate(), fs.FileMode(0o666)
	switch info, err := os.Stat(o.name); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return 0, err
	case !info.Mode().IsRegular():
		return 0, errors.New("is not a regular file, of which every rank could write its part")
	default:
		o.mode = info.Mode().Perm()
		mode = o.mode | 0o200 // which the other ranks open
	}
	if o.f, err = os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode); err != nil {
		return 0, err
	}
	o.temp = temp
	if err = npy.WriteHeader(o.f, h); err == nil {
		start, err = o.f.Seek(0, io.SeekCurrent)
	}
	return start, cmp.Or(err, o.f.Truncate(start+h.Size()))
}

// join opens the file that rank 0 has made.
func (o *outputFile) join(h *npy.Header) (start int64, err error) {
	o.f, err = os.OpenFile(o.locate(), os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("the folder is not the one that rank 0 has; all ranks must share it")
	}
	if err != nil {
		return 0, o.explain(err)
	}
	info, err := o.f.Stat()
	if err != nil {
		return 0, o.explain(err)
	}
	return info.Size() - h.Size(), nil
}

func (o *outputFile) explain(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		err = e.Err
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", o.path, err)
}

// finish makes what this rank has written durable.
func (o *outputFile) finish() error {
	f := o.f
	o.f = nil
	return cmp.Or(f.Sync(), f.Close())
}

// commit gives the file its name.
func (o *outputFile) commit() error {
	if o.mode != 0 { // of which the umask has left something alone
		if err := os.Chmod(o.temp, o.mode); err != nil {
			return err
		}
	}
	if err := os.Rename(o.temp, o.name); err != nil {
		return err
	}
	o.temp = ""
	return nil
}

// abort takes away what was not committed.
func (o *outputFile) abort() {
	if o.f != nil {
		o.f.Close()
	}
	if o.temp != "" {
		os.Remove(o.temp)
	}
}

package files

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/linalg"
)

// A Matrix is a matrix in a .npy file, which is read or written in parts: it need not fit in
// memory. One goroutine uses it at a time.
type Matrix[T linalg.Element] struct {
	blocks    *npy.Blocks[T]
	unchanged func() error // nil where the file is written
}

// Open reads the header of a .npy file of elements T, in either byte order, in C or Fortran order.
// A file of one dimension is a row. The error matches linalg.ErrNPY where the file is damaged or
// holds something else.
func Open[T linalg.Element](r io.ReaderAt) (*Matrix[T], error) {
	f := &Matrix[T]{unchanged: npy.Watch(r)}
	var err error
	if f.blocks, err = npy.OpenBlocks[T](r); err == nil {
		err = f.blocks.CheckType(element.TypeOf[T]())
	}
	if err != nil {
		return nil, npy.Named(err)
	}
	return f, nil
}

// Create writes the header of a .npy file of rows by cols elements, in Fortran order if asked.
// The error is linalg.ErrShape where there can be no such file, or w's own.
func Create[T linalg.Element](w io.WriterAt, rows, cols int, fortran bool) (*Matrix[T], error) {
	if err := checkDims(rows, cols); err != nil {
		return nil, err
	}
	h := &npy.Header{Type: element.TypeOf[T](), Shape: []int{rows, cols}, Fortran: fortran}
	b, err := npy.CreateBlocks[T](w, h)
	if err != nil {
		return nil, err
	}
	return &Matrix[T]{blocks: b}, nil
}

// Dims is the number of rows and columns.
func (f *Matrix[T]) Dims() (rows, cols int) { return f.blocks.Rows, f.blocks.Cols }

// ReadPart fills m with the elements from (row, col) on. It ends with ctx's error soon after ctx is
// done. The error matches linalg.ErrShape where the file does not have them all,
// backend.ErrArgument where Create has made the file, and linalg.ErrNPY where it is damaged or, as
// far as its Stat tells, has changed since it was opened.
func (f *Matrix[T]) ReadPart(ctx context.Context, m linalg.Matrix[T], row, col int) error {
	if err := f.checkPart(false, m, row, col); err != nil {
		return err
	}
	err := f.blocks.Move(ctx, row, col, m.Rows, m.Cols, m.Data, m.Stride)
	return cmp.Or(npy.Named(f.unchanged()), npy.Named(err))
}

// WritePart writes m as the elements from (row, col) on. The error matches linalg.ErrShape where
// the file has no such place, backend.ErrArgument where Open has opened it, or is the file's own.
func (f *Matrix[T]) WritePart(ctx context.Context, m linalg.Matrix[T], row, col int) error {
	if err := f.checkPart(true, m, row, col); err != nil {
		return err
	}
	return f.blocks.Move(ctx, row, col, m.Rows, m.Cols, m.Data, m.Stride)
}

// checkPart checks a part that is to be read or written.
func (f *Matrix[T]) checkPart(write bool, m linalg.Matrix[T], row, col int) error {
	rows, cols := f.Dims()
	switch err := m.Check(); {
	case err != nil:
		return err
	case write != (f.unchanged == nil):
		return backend.Failure("", "files", backend.ErrArgument,
			"a file that Open opens is read, one that Create makes is written")
	case row < 0 || col < 0 || row > rows-m.Rows || col > cols-m.Cols:
		return fmt.Errorf("%w: %s from (%d, %d) on of a file of %dx%d", linalg.ErrShape, m, row, col, rows, cols)
	}
	return nil
}

// checkDims says whether there can be a file of rows by cols elements.
func checkDims(rows, cols int) error {
	if rows < 0 || cols < 0 || cols > 0 && int64(rows) > math.MaxInt64/16/int64(cols) {
		return fmt.Errorf("%w: a file of %dx%d elements", linalg.ErrShape, rows, cols)
	}
	return nil
}

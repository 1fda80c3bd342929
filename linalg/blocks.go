package linalg

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
)

// A FileMatrix is a matrix in a .npy file, which is read or written in parts: it need not fit in
// memory. One goroutine uses it at a time.
type FileMatrix[T Element] struct {
	blocks    *npy.Blocks[T]
	unchanged func() error // nil where the file is written
}

// OpenNPY reads the header of a .npy file of elements T, in either byte order, in C or Fortran
// order. A file of one dimension is a row. The error matches ErrNPY where the file is damaged or
// holds something else.
func OpenNPY[T Element](r io.ReaderAt) (*FileMatrix[T], error) {
	f := &FileMatrix[T]{unchanged: watch(r)}
	var err error
	if f.blocks, err = npy.OpenBlocks[T](r); err == nil {
		err = checkType[T](f.blocks.Header)
	}
	if err != nil {
		return nil, errNPY(err)
	}
	return f, nil
}

// CreateNPY writes the header of a .npy file of rows by cols elements, in Fortran order if asked.
// The error is ErrShape where there can be no such file, or w's own.
func CreateNPY[T Element](w io.WriterAt, rows, cols int, fortran bool) (*FileMatrix[T], error) {
	if rows < 0 || cols < 0 || cols > 0 && int64(rows) > math.MaxInt64/16/int64(cols) {
		return nil, fmt.Errorf("%w: a file of %dx%d elements", ErrShape, rows, cols)
	}
	h := &npy.Header{Type: element.TypeOf[T](), Shape: []int{rows, cols}, Fortran: fortran}
	b, err := npy.CreateBlocks[T](w, h)
	if err != nil {
		return nil, err
	}
	return &FileMatrix[T]{blocks: b}, nil
}

// Dims is the number of rows and columns.
func (f *FileMatrix[T]) Dims() (rows, cols int) { return f.blocks.Rows, f.blocks.Cols }

// ReadPart fills m with the elements from (row, col) on. It ends with ctx's error soon after ctx is
// done. The error matches ErrShape where the file does not have them all, backend.ErrArgument where
// CreateNPY has made the file, and ErrNPY where it is damaged or, as far as its Stat tells, has
// changed since it was opened.
func (f *FileMatrix[T]) ReadPart(ctx context.Context, m Matrix[T], row, col int) error {
	if err := f.checkPart(false, m, row, col); err != nil {
		return err
	}
	err := f.blocks.Read(ctx, row, col, m.Rows, m.Cols, m.Data, m.Stride)
	return cmp.Or(f.unchanged(), errNPY(err))
}

// WritePart writes m as the elements from (row, col) on. The error matches ErrShape where the file
// has no such place, backend.ErrArgument where OpenNPY has opened it, or is the file's own.
func (f *FileMatrix[T]) WritePart(ctx context.Context, m Matrix[T], row, col int) error {
	if err := f.checkPart(true, m, row, col); err != nil {
		return err
	}
	return f.blocks.Write(ctx, row, col, m.Rows, m.Cols, m.Data, m.Stride)
}

// checkPart checks a part that is to be read or written.
func (f *FileMatrix[T]) checkPart(write bool, m Matrix[T], row, col int) error {
	rows, cols := f.Dims()
	switch err := m.check("the part"); {
	case err != nil:
		return err
	case write != (f.unchanged == nil):
		return errArgument("a file that OpenNPY opens is read, one that CreateNPY makes is written")
	case row < 0 || col < 0 || row > rows-m.Rows || col > cols-m.Cols:
		return fmt.Errorf("%w: %s from (%d, %d) on of a file of %dx%d", ErrShape, m, row, col, rows, cols)
	}
	return nil
}

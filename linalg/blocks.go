package linalg

import (
	"cmp"
	"context"
	"io"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
)

// A FileMatrix is a matrix in a .npy file, which is read or written in parts: it need not fit in
// memory. One goroutine uses it at a time.
type FileMatrix[T Element] struct {
	blocks    *npy.Blocks[T]
	unchanged func() error
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
func CreateNPY[T Element](w io.WriterAt, rows, cols int, fortran bool) (*FileMatrix[T], error) {
	h := &npy.Header{Type: element.TypeOf[T](), Shape: []int{rows, cols}, Fortran: fortran}
	b, err := npy.CreateBlocks[T](w, h)
	if err != nil {
		return nil, err
	}
	return &FileMatrix[T]{blocks: b, unchanged: func() error { return nil }}, nil
}

// Dims is the number of rows and columns.
func (f *FileMatrix[T]) Dims() (rows, cols int) { return f.blocks.Rows, f.blocks.Cols }

// ReadPart fills m with the elements from (row, col) on, which the file must have. It ends with
// ctx's error soon after ctx is done. The error matches ErrNPY where the file is damaged or, as far
// as its Stat tells, has changed since it was opened.
func (f *FileMatrix[T]) ReadPart(ctx context.Context, m Matrix[T], row, col int) error {
	err := f.blocks.Read(ctx, row, col, m.Rows, m.Cols, m.Data, m.Stride)
	return cmp.Or(f.unchanged(), errNPY(err))
}

// WritePart writes m as the elements from (row, col) on, which the file must have.
func (f *FileMatrix[T]) WritePart(ctx context.Context, m Matrix[T], row, col int) error {
	return f.blocks.Write(ctx, row, col, m.Rows, m.Cols, m.Data, m.Stride)
}

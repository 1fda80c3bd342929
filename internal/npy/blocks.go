package npy

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"sync/atomic"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/parallel"
)

// Blocks are the parts of a .npy file, read or written where they lie. One goroutine uses it.
type Blocks[T element.Element] struct {
	*Header
	Rows, Cols int   // as Dims has them. A vector's may be exchanged: it lies as its column does
	start      int64 // of the data
	r          io.ReaderAt
	w          io.WriterAt
	memory     [streams][]T
}

// streams is how many pieces are read or written at once: a disk answers several questions faster
// than one after the other.
const streams = 4

// OpenBlocks reads the header of a file, which is to hold elements of type T, or of float16 where
// that is float32: that is the caller's to look at. The error matches ErrFormat, also where r holds
// less or more than the header says, ErrType or ErrDims, or is r's own.
func OpenBlocks[T element.Element](r io.ReaderAt) (*Blocks[T], error) {
	r = whole{r}
	section := io.NewSectionReader(r, 0, math.MaxInt64)
	h, err := ReadSingleHeader(section)
	if err != nil {
		return nil, err
	}
	b := &Blocks[T]{Header: h, r: r}
	b.Rows, b.Cols = h.Dims()
	b.start, _ = section.Seek(0, io.SeekCurrent)
	one := make([]byte, 1)
	if h.Size() > 0 {
		if err := b.at(one, h.Size()-1); err != nil {
			return nil, err
		}
	}
	switch n, err := r.ReadAt(one, b.start+h.Size()); {
	case n > 0:
		return nil, errMore(h)
	case err != io.EOF:
		return nil, err
	}
	return b, nil
}

// whole is a ReaderAt that keeps what io.ReaderAt promises: where it gives less than asked for it
// says why.
type whole struct{ r io.ReaderAt }

func (w whole) ReadAt(p []byte, at int64) (int, error) {
	n, err := w.r.ReadAt(p, at)
	if n < len(p) && err == nil {
		err = fmt.Errorf("ReadAt gave %d of %d bytes, and no error: %w", n, len(p), io.ErrNoProgress)
	}
	return n, err
}

// CreateBlocks writes the header of a file.
func CreateBlocks[T element.Element](w io.WriterAt, h *Header) (*Blocks[T], error) {
	b := &Blocks[T]{Header: h, w: w}
	b.Rows, b.Cols = h.Dims()
	o := io.NewOffsetWriter(w, 0)
	if err := WriteHeader(o, h); err != nil {
		return nil, err
	}
	b.start, _ = o.Seek(0, io.SeekCurrent)
	return b, nil
}

// Fortran tells whether the elements lie column by column, and differently for it.
func (b *Blocks[T]) Fortran() bool { return b.Header.Fortran && b.Rows > 1 && b.Cols > 1 }

// Move reads rows by cols elements from (row, col) on into data, where a row follows stride
// elements after the one before; it writes them to a file that CreateBlocks made. It ends with
// ctx's error soon after that is done.
//
// It goes by pieces of a number of lines, or parts of lines: rows of the file, or columns where it
// is in Fortran order.
func (b *Blocks[T]) Move(ctx context.Context, row, col, rows, cols int, data []T, stride int) error {
	if rows == 0 || cols == 0 {
		return nil
	}
	length, fortran := b.Cols, b.Fortran()
	if fortran {
		length, row, col, rows, cols = b.Rows, col, row, cols, rows
	}
	width := min(cols, piece/16)
	height := min(rows, max(1, piece/width))
	across := (cols + width - 1) / width
	pieces := (rows + height - 1) / height * across
	var next atomic.Int64
	var errs [streams]error
	var group parallel.Group // as r and w are the caller's
	for s := range min(streams, pieces) {
		group.Go(func() {
			defer next.Store(int64(pieces)) // after an error or a panic the others stop, too
			for {
				p := int(next.Add(1)) - 1
				if p >= pieces {
					return
				}
				i, j := p/across*height, p%across*width
				n, l := min(height, rows-i), min(width, cols-j)
				at := i*stride + j
				if fortran {
					at = j*stride + i
				}
				err := context.Cause(ctx)
				if err == nil {
					err = b.piece(s, int64(row+i)*int64(length)+int64(col+j), n, l, length, data[at:], stride)
				}
				if err != nil {
					errs[s] = err
					return
				}
			}
		})
	}
	group.Wait()
	return cmp.Or(errs[:]...)
}

// piece moves parts of n lines, l elements each, which begin first elements after the data do, and
// lie length elements apart.
func (b *Blocks[T]) piece(s int, first int64, n, l, length int, data []T, stride int) error {
	if len(b.memory[s]) < n*l {
		b.memory[s] = make([]T, n*l)
	}
	mem := b.memory[s][:n*l]
	fortran := b.Fortran()
	if b.w != nil {
		if fortran {
			host.Transpose(l, n, data, stride, mem, l)
		} else {
			host.CopyMatrix(n, l, data, stride, mem, l)
		}
		Reorder(mem, b.Order())
	}
	bytes, size, run := raw(mem, b.Header), int64(b.Type.Size()), l
	if l == length { // whole lines lie side by side
		run = n * l
	}
	for at := 0; at < len(mem); at += run {
		if err := b.at(bytes[int64(at)*size:int64(at+run)*size], (first+int64(at/l)*int64(length))*size); err != nil {
			return err
		}
	}
	if b.r != nil {
		settle(mem, b.Header)
		if fortran {
			host.Transpose(n, l, mem, l, data, stride)
		} else {
			host.CopyMatrix(n, l, mem, l, data, stride)
		}
	}
	return nil
}

// at reads or writes bytes of the data.
func (b *Blocks[T]) at(p []byte, at int64) error {
	if b.w != nil {
		n, err := b.w.WriteAt(p, b.start+at)
		if err == nil && n < len(p) {
			err = io.ErrShortWrite
		}
		return err
	}
	n, err := b.r.ReadAt(p, b.start+at)
	switch {
	case n == len(p):
		return nil
	case err == io.EOF:
		return errorf("it ends within its %d bytes of data", b.Size())
	}
	return err
}

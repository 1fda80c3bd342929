package linalg

import (
	"cmp"
	"context"
	"errors"
	"io"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/internal/outofcore"
	"github.com/tandem-gpu/tandem/kernels"
)

// EnvHostMemory is the environment variable that limits the host's memory in functions from files
// to files, such as [MatMulNPY]: as [EnvMemory] has it, of the machine's memory.
const EnvHostMemory = outofcore.EnvHostMemory

// HostMemory is how many bytes of the host's memory functions from files to files use at most: what
// EnvHostMemory says, or else three quarters of the machine's memory.
func HostMemory() (int64, error) { return outofcore.Limit(EnvHostMemory, hostMemory()) }

// FileOptions are how [MatMulNPY] and the like work and write. The zero value is a good one.
type FileOptions struct {
	// Memory is how many bytes of the host's memory the program is to use at most; 0 stands for
	// what HostMemory says. 192 MiB of it, or half, and 64 MiB for each device with memory of its
	// own, are left to all that is no matrix.
	Memory int64
	// Fortran: the result is written column by column.
	Fortran bool
}

// MatMulNPY writes the product of two .npy files to a third, on session s, or on the default device
// where s is nil. None of them needs to fit in memory: blocks of C are computed one after the
// other, from panels of A and B that are read where they lie, the next ones during the work on
// those before. The chains are those of MatMul, and so are the bits.
//
// The files hold elements of type T, in either byte order, in C or Fortran order; where that is
// float32, A and B may hold float16, whose numbers are taken as float32. Those of one dimension are
// vectors, as in NumPy's matmul: A is a row, B a column, and that dimension is missing in the
// result. c, another file than a and b, becomes what numpy.save writes, but not from front to back;
// after an error what is in it is of no use. Each may be an *os.File. What is to be there whole or
// not at all is written under another name, and renamed.
//
// Progress is reported as WithProgress says, and ctx's error comes soon after ctx is done. The
// error matches ErrNPY where a file is damaged, holds something else, or changes before the end, as
// far as its Stat tells; ErrShape; backend.ErrOutOfMemory where o.Memory has no room for a block;
// or it is the files' or a device's own.
func MatMulNPY[T Element](ctx context.Context, s *Session, c io.WriterAt, a, b io.ReaderAt, o FileOptions) error {
	x := request[T]{kernel: productKernel{}, count: 1, tA: blas.NoTrans, tB: blas.NoTrans, update: update{alpha: 1}}
	return computeFiles(ctx, s, &x, o, c, a, b)
}

// TransposeNPY writes the transpose of a .npy file to another, as MatMulNPY works. A file of one
// dimension stays as it is.
func TransposeNPY[T Element](ctx context.Context, s *Session, c io.WriterAt, a io.ReaderAt, o FileOptions) error {
	return computeFiles(ctx, s, &request[T]{kernel: transposeKernel{}}, o, c, a)
}

// computeFiles does what r asks for from files to a file, as compute does from memory to memory.
func computeFiles[T Element](ctx context.Context, s *Session, r *request[T], o FileOptions, c io.WriterAt,
	in ...io.ReaderAt,
) (err error) {
	switch r := any(r).(type) {
	case *request[float32]:
		err = computeFilesFloat32(ctx, s, r, o, c, in)
	case *request[float64]:
		err = computeFilesFloat64(ctx, s, r, o, c, in)
	case *request[int32]:
		err = computeFilesInt32(ctx, s, r, o, c, in)
	}
	return err
}

//go:noinline
func computeFilesFloat32(ctx context.Context, s *Session, r *request[float32], o FileOptions, c io.WriterAt,
	in []io.ReaderAt,
) error {
	return onFiles(ctx, s, r, o, c, in)
}

//go:noinline
func computeFilesFloat64(ctx context.Context, s *Session, r *request[float64], o FileOptions, c io.WriterAt,
	in []io.ReaderAt,
) error {
	return onFiles(ctx, s, r, o, c, in)
}

//go:noinline
func computeFilesInt32(ctx context.Context, s *Session, r *request[int32], o FileOptions, c io.WriterAt,
	in []io.ReaderAt,
) error {
	return onFiles(ctx, s, r, o, c, in)
}

func onFiles[T Element](ctx context.Context, s *Session, r *request[T], o FileOptions, c io.WriterAt, in []io.ReaderAt,
) (err error) {
	x := call[T]{request: *r, op: operationOf[T](r.kernel)}
	if s == nil {
		if s, err = Default(); err != nil {
			return err
		}
	}
	if o.Memory == 0 {
		if o.Memory, err = HostMemory(); err != nil {
			return err
		}
	}
	_, multiplies := x.op.(product[T])
	widens := multiplies && element.TypeOf[T]() == element.Float32
	f := outofcore.Files[T]{Memory: o.Memory, MaxDim: kernels.MaxDim}
	for _, d := range s.devices() {
		f.Devices = append(f.Devices, d.sharer)
	}
	for _, r := range in {
		unchanged := watch(r)
		var b *npy.Blocks[T]
		if b, err = npy.OpenBlocks[T](r); err == nil && !(widens && b.Type == element.Half) {
			err = checkType[T](b.Header)
		}
		if err != nil {
			return errNPY(err)
		}
		f.In = append(f.In, b)
		defer func() {
			if err == nil || errors.Is(err, ErrNPY) { // where the file was cut, its name says more
				err = cmp.Or(unchanged(), err)
			}
		}()
	}
	shape, err := x.op.shape(&f)
	if err != nil {
		return err
	}
	x.n = 1 + len(in)
	f.Inputs, f.Region = len(in), x.op.region
	h := &npy.Header{Type: element.TypeOf[T](), Shape: shape, Fortran: o.Fortran}
	if f.Out, err = npy.CreateBlocks[T](c, h); err != nil {
		return err
	}
	f.Out.Rows, f.Out.Cols = f.Rows, f.Cols
	f.Compute = func(ctx context.Context, report func(float64), k int, operands [3]outofcore.Block[T]) error {
		return x.runBlocks(WithProgress(ctx, report), s, k, operands)
	}
	return errNPY(f.Run(ctx, progress(ctx)))
}

// runBlocks computes on blocks of the matrices; from the second step on it continues the chains.
func (x call[T]) runBlocks(ctx context.Context, s *Session, k int, operands [3]outofcore.Block[T]) error {
	for i, b := range operands[:x.n] {
		x.matrices[i] = NewMatrix(b.Rows, b.Cols, b.Data)
	}
	if k > 0 {
		x.update = addMul
	}
	return runRequest(ctx, s, &x.request)
}

// watch is npy.Watch with the errors of this package.
func watch(r any) (unchanged func() error) {
	check := npy.Watch(r)
	return func() error { return errNPY(check()) }
}

// Package files computes from .npy files to a file, none of which needs to fit in memory, and reads
// and writes parts of them. Results have the bits that package linalg gives in memory.
//
// Operations run on session s, or on the default device where s is nil. The result is computed
// block by block, of regions of the operands that are read where they lie, the next ones during the
// work on those before. Files hold elements of type T, in either byte order, in C or Fortran order;
// each may be an *os.File. c, the result, is another file than the operands, else the error is
// [linalg.ErrOverlap], and empty: what it has beyond the result's end would stay. It becomes what
// numpy.save writes, but not from front to back; after an error what is in it is of no use. What is
// to be there whole or not at all is written under another name, and renamed.
//
// Progress is reported as [linalg.WithProgress] says, and ctx's error comes soon after ctx is done.
// The error matches [linalg.ErrNPY] where a file is damaged, holds something else, or changes
// before the end, as far as its Stat tells; [linalg.ErrShape]; backend.ErrOutOfMemory where
// o.Memory has no room for a block; or it is the files' or a device's own.
package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/internal/inside/hooks"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/internal/outofcore"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// EnvHostMemory is the environment variable that limits the host's memory in operations of this
// package: as [linalg.EnvMemory] has it, of the machine's memory, and 64KiB at least.
const EnvHostMemory = outofcore.EnvHostMemory

// HostMemory is how many bytes of the host's memory operations of this package use at most: what
// EnvHostMemory says, or else three quarters of the machine's memory.
func HostMemory() (int64, error) { return outofcore.HostLimit(0) }

// Options are how operations work and write. The zero value is a good one.
type Options struct {
	// Memory is how many bytes of the host's memory the program is to use at most; 0 stands for
	// what HostMemory says, and fewer are backend.ErrArgument. 192 MiB of it, or half, and 64 MiB
	// for each device with memory of its own, are left to all that is no matrix.
	Memory int64
	// Fortran: the result is written column by column.
	Fortran bool
}

// MatMul writes the product of two files to a third: the chains of [linalg.MatMul]. Where T is
// float32, A and B may hold float16, whose numbers are taken as float32. Those of one dimension are
// vectors, as in NumPy's matmul: A is a row, B a column, and that dimension is missing in the
// result.
func MatMul[T linalg.Element](ctx context.Context, s *linalg.Session, c io.WriterAt, a, b io.ReaderAt, o Options,
) error {
	x := operation[T]{shape: productShape[T], region: outofcore.ProductRegion}
	x.widens = element.TypeOf[T]() == element.Float32
	x.compute = func(ctx context.Context, s *linalg.Session, k int, m [3]linalg.Matrix[T]) error {
		if k > 0 { // it continues the chains
			return linalg.AddMul(m[1], m[2], m[0], linalg.On(s), linalg.WithContext(ctx))
		}
		return linalg.Gemm(1, blas.NoTrans, m[1], blas.NoTrans, m[2], 0, m[0], linalg.On(s), linalg.WithContext(ctx))
	}
	return x.run(ctx, s, c, o, a, b)
}

func productShape[T linalg.Element](f *outofcore.Files[T]) ([]int, error) {
	a, b := f.In[0], f.In[1]
	if len(b.Shape) == 1 { // a column
		b.Rows, b.Cols = b.Cols, b.Rows
	}
	if len(a.Shape) == 0 || len(b.Shape) == 0 || a.Cols != b.Rows {
		return nil, fmt.Errorf("%w: product of files of shapes %v and %v", linalg.ErrShape, a.Shape, b.Shape)
	}
	f.Rows, f.Cols, f.Steps = a.Rows, b.Cols, a.Cols
	return slices.Concat(a.Shape[:len(a.Shape)-1], b.Shape[1:]), checkDims(f.Rows, f.Cols)
}

// Transpose writes the transpose of a file to another. A file of one dimension stays as it is.
func Transpose[T linalg.Element](ctx context.Context, s *linalg.Session, c io.WriterAt, a io.ReaderAt, o Options,
) error {
	x := operation[T]{shape: transposeShape[T], region: outofcore.TransposeRegion}
	x.compute = func(ctx context.Context, s *linalg.Session, _ int, m [3]linalg.Matrix[T]) error {
		return hooks.Into(ctx, s, nil, 0, &m)
	}
	return x.run(ctx, s, c, o, a)
}

func transposeShape[T linalg.Element](f *outofcore.Files[T]) ([]int, error) {
	a, shape := f.In[0], slices.Clone(f.In[0].Shape)
	if len(shape) == 1 { // a row that stays one
		a.Rows, a.Cols = a.Cols, a.Rows
	}
	f.Rows, f.Cols, f.Steps = a.Cols, a.Rows, 1
	slices.Reverse(shape)
	return shape, nil
}

// Add writes the sum of two files, which have one shape, to a third.
func Add[T linalg.Element](ctx context.Context, s *linalg.Session, c io.WriterAt, a, b io.ReaderAt, o Options) error {
	return Elementwise[T](ctx, s, kernels.Add, 0, c, o, a, b)
}

// Sub writes a - b of two files, which have one shape, to a third.
func Sub[T linalg.Element](ctx context.Context, s *linalg.Session, c io.WriterAt, a, b io.ReaderAt, o Options) error {
	return Elementwise[T](ctx, s, kernels.Sub, 0, c, o, a, b)
}

// Scale writes alpha times a file to another.
func Scale[T linalg.Element](ctx context.Context, s *linalg.Session, alpha T, c io.WriterAt, a io.ReaderAt, o Options,
) error {
	return Elementwise(ctx, s, kernels.Scale, alpha, c, o, a)
}

// Elementwise writes what an operation of package kernels' table gives of files of one shape to
// another. alpha counts where the operation has it.
func Elementwise[T linalg.Element](ctx context.Context, s *linalg.Session, op *kernels.Elementwise, alpha T,
	c io.WriterAt, o Options, in ...io.ReaderAt,
) error {
	if err := hooks.CheckInputs(op, reflect.TypeFor[T](), len(in)); err != nil {
		return err
	}
	number, _, _ := element.Number(alpha)
	x := operation[T]{region: outofcore.SameRegion}
	x.shape = func(f *outofcore.Files[T]) ([]int, error) {
		a := f.In[0]
		f.Rows, f.Cols, f.Steps = a.Rows, a.Cols, 1
		for _, b := range f.In[1:] {
			if !slices.Equal(a.Shape, b.Shape) {
				return nil, fmt.Errorf("%w: %s of files of shapes %v and %v", linalg.ErrShape, op.Name, a.Shape,
					b.Shape)
			}
		}
		return a.Shape, nil
	}
	x.compute = func(ctx context.Context, s *linalg.Session, _ int, m [3]linalg.Matrix[T]) error {
		return hooks.Into(ctx, s, op, number, &m)
	}
	return x.run(ctx, s, c, o, in...)
}

// An operation is how a result is computed of files.
type operation[T linalg.Element] struct {
	// shape sets the shape of the result, and the steps. It gives the shape as NumPy has it.
	shape  func(f *outofcore.Files[T]) ([]int, error)
	region outofcore.Region
	widens bool // inputs may hold float16
	// compute makes m[0] what the operation gives of the other blocks, for the steps from k on.
	compute func(ctx context.Context, s *linalg.Session, k int, m [3]linalg.Matrix[T]) error
}

// run computes c of the inputs.
func (x operation[T]) run(ctx context.Context, s *linalg.Session, c io.WriterAt, o Options, in ...io.ReaderAt,
) (err error) {
	if s == nil {
		if s, err = linalg.Default(); err != nil {
			return err
		}
	}
	if o.Memory, err = outofcore.HostLimit(o.Memory); err != nil {
		return err
	}
	f := outofcore.Files[T]{Memory: o.Memory, MaxDim: kernels.MaxDim}
	for _, d := range s.Sessions() {
		f.Devices = append(f.Devices, inside.Sharer(d))
	}
	for _, r := range in {
		if err := inside.CheckFiles(c, r); err != nil {
			return err
		}
		unchanged := npy.Watch(r)
		var b *npy.Blocks[T]
		if b, err = npy.OpenBlocks[T](r); err == nil && !(x.widens && b.Type == element.Half) {
			err = b.CheckType(element.TypeOf[T]())
		}
		if err != nil {
			return npy.Named(err)
		}
		f.In = append(f.In, b)
		defer func() {
			if err == nil || errors.Is(err, linalg.ErrNPY) { // where the file was cut, its name says more
				err = cmp.Or(npy.Named(unchanged()), err)
			}
		}()
	}
	shape, err := x.shape(&f)
	if err != nil {
		return err
	}
	f.Inputs, f.Region = len(in), x.region
	h := &npy.Header{Type: element.TypeOf[T](), Shape: shape, Fortran: o.Fortran}
	if f.Out, err = npy.CreateBlocks[T](c, h); err != nil {
		return err
	}
	f.Out.Rows, f.Out.Cols = f.Rows, f.Cols
	f.Compute = func(ctx context.Context, report func(float64), k int, operands [3]outofcore.Block[T]) error {
		var m [3]linalg.Matrix[T]
		for i, b := range operands[:1+len(in)] {
			m[i] = linalg.NewMatrix(b.Rows, b.Cols, b.Data)
		}
		return x.compute(linalg.WithProgress(ctx, report), s, k, m)
	}
	return npy.Named(f.Run(ctx, inside.Progress(ctx)))
}

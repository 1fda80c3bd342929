// Package operation is what the commands compute of matrices in files, in each element type.
package operation

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/files"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/usage"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
	npyfiles "github.com/tandem-gpu/tandem/linalg/files"
)

// An Operation checks files of one type, and plans what it computes of them.
type Operation func(in []files.Operand) (*Plan, error)

// A Plan is a computation: checked, and not yet done.
type Plan struct {
	Flops   float64 // operations, for what is bound by arithmetic; 0 for what is bound by memory
	Bytes   float64 // that it reads and writes at least; 0 where nobody asks
	Compute func(ctx context.Context, s *linalg.Session) ([]files.Result, error)

	// InParts computes from files to a file, whose header is Header, in little memory; nil where
	// that is not possible.
	InParts func(ctx context.Context, s *linalg.Session, c io.WriterAt, o npyfiles.Options) error
	Header  npy.Header
}

// in chooses the operation in the type of the files.
func in(single, double, integer Operation) Operation {
	return func(in []files.Operand) (*Plan, error) {
		return files.InType(in[0].Number(), single, double, integer)(in)
	}
}

// The operations on matrices.
var (
	MatMul    = in(matMul[float32], matMul[float64], matMul[int32])
	Transpose = in(transpose[float32], transpose[float64], transpose[int32])
	Sort      = in(sort[float32], sort[float64], sort[int32])
)

// Elementwise is an operation of package kernels' table; by is the number that it may have.
func Elementwise(op *kernels.Elementwise, by string) Operation {
	return in(elementwise[float32](op, by), elementwise[float64](op, by), elementwise[int32](op, by))
}

// Reduce is a reduction of package array's table.
func Reduce(op *array.Reduction, over array.Over) Operation {
	if op.Index {
		return in(reduce[int32, float32](op, over), reduce[int32, float64](op, over), reduce[int32, int32](op, over))
	}
	return in(reduce[float32, float32](op, over), reduce[float64, float64](op, over), reduce[int32, int32](op, over))
}

// newPlan is the plan of one result.
func newPlan[T linalg.Element](in []files.Operand, shape []int,
	compute func(ctx context.Context, s *linalg.Session) (linalg.Matrix[T], error),
) *Plan {
	p := &Plan{Header: npy.Header{Type: element.TypeOf[T](), Shape: shape}}
	p.Bytes = float64(p.Header.Size())
	for _, o := range in {
		p.Bytes += float64((&npy.Header{Type: o.Number(), Shape: o.Shape}).Size())
	}
	p.Compute = func(ctx context.Context, s *linalg.Session) ([]files.Result, error) {
		m, err := compute(ctx, s)
		if err != nil {
			return nil, err
		}
		return []files.Result{files.ResultOf(m, shape...)}, nil
	}
	return p
}

// column is a vector, which a file holds as a row, as a column.
func column[T linalg.Element](o files.Operand) linalg.Matrix[T] {
	m := files.Matrix[T](o)
	if len(o.Shape) == 1 {
		m.Rows, m.Cols, m.Stride = m.Cols, 1, 1
	}
	return m
}

func matMul[T linalg.Element](in []files.Operand) (*Plan, error) {
	shape, err := ProductShape(in[0], in[1])
	if err != nil {
		return nil, err
	}
	a, b := files.Matrix[T](in[0]), column[T](in[1])
	p := newPlan(in, shape, func(ctx context.Context, s *linalg.Session) (linalg.Matrix[T], error) {
		return linalg.MatMul(a, b, linalg.On(s), linalg.WithContext(ctx))
	})
	p.Flops = 2 * float64(a.Rows) * float64(a.Cols) * float64(b.Cols)
	p.InParts = func(ctx context.Context, s *linalg.Session, c io.WriterAt, o npyfiles.Options) error {
		return npyfiles.MatMul[T](ctx, s, c, in[0].File, in[1].File, o)
	}
	return p, nil
}

// ProductShape is the shape of the product of two files, as NumPy's matmul has it.
func ProductShape(a, b files.Operand) ([]int, error) {
	for _, o := range []files.Operand{a, b} {
		if len(o.Shape) == 0 {
			return nil, fmt.Errorf("%s is no matrix: 'tandem scale' multiplies by a number", o)
		}
	}
	m, k := a.Dims()
	rows, n := b.Dims()
	shape := []int{m, n}
	if len(b.Shape) == 1 {
		rows, shape = n, shape[:1]
	}
	if len(a.Shape) == 1 {
		shape = shape[1:]
	}
	if k != rows {
		return nil, fmt.Errorf("%s times %s: the columns of the first (%d) are not the rows of the second (%d)", a, b,
			k, rows)
	}
	return shape, nil
}

func transpose[T linalg.Element](in []files.Operand) (*Plan, error) {
	a := column[T](in[0]) // the transpose of a vector is itself: a row that stays one
	shape := slices.Clone(in[0].Shape)
	slices.Reverse(shape)
	p := newPlan(in, shape, func(ctx context.Context, s *linalg.Session) (linalg.Matrix[T], error) {
		return linalg.Transpose(a, linalg.On(s), linalg.WithContext(ctx))
	})
	p.InParts = func(ctx context.Context, s *linalg.Session, c io.WriterAt, o npyfiles.Options) error {
		return npyfiles.Transpose[T](ctx, s, c, in[0].File, o)
	}
	return p, nil
}

func elementwise[T linalg.Element](op *kernels.Elementwise, by string) Operation {
	return func(in []files.Operand) (*Plan, error) {
		var alpha T
		var err error
		if op.Alpha {
			if alpha, err = parseNumber[T](by); err != nil {
				return nil, usage.Errorf("--by %s: %v, as the elements of %s are", by, err, in[0])
			}
		}
		var matrices []linalg.Matrix[T]
		var readers []io.ReaderAt
		for _, o := range in {
			if !slices.Equal(in[0].Shape, o.Shape) {
				return nil, fmt.Errorf("%s of %s and %s: the shapes differ, and nothing is broadcast", op.Name, in[0],
					o)
			}
			matrices, readers = append(matrices, files.Matrix[T](o)), append(readers, o.File)
		}
		p := newPlan(in, in[0].Shape, func(ctx context.Context, s *linalg.Session) (linalg.Matrix[T], error) {
			return linalg.Elementwise(op, alpha, matrices, linalg.On(s), linalg.WithContext(ctx))
		})
		p.InParts = func(ctx context.Context, s *linalg.Session, c io.WriterAt, o npyfiles.Options) error {
			return npyfiles.Elementwise(ctx, s, op, alpha, c, o, readers...)
		}
		return p, nil
	}
}

// parseNumber reads a number of type T.
func parseNumber[T linalg.Element](text string) (T, error) {
	t := element.TypeOf[T]()
	size := 8 * t.Size()
	if t.Integer() {
		v, err := strconv.ParseInt(text, 10, size)
		if err != nil {
			most := int64(math.MaxInt64) >> (64 - size)
			return 0, fmt.Errorf("not a whole number from %d to %d (%s)", -most-1, most, t)
		}
		return T(v), nil
	}
	v, err := strconv.ParseFloat(text, size)
	if err != nil {
		return 0, fmt.Errorf("not a %s", t)
	}
	return T(v), nil
}

// sort sorts each row.
func sort[T linalg.Element](in []files.Operand) (*Plan, error) {
	a := files.Matrix[T](in[0])
	return newPlan(in, in[0].Shape, func(_ context.Context, s *linalg.Session) (m linalg.Matrix[T], err error) {
		x, err := linalg.Upload(s, a)
		if err != nil {
			return m, err
		}
		defer func() { err = cmp.Or(err, x.Free()) }()
		if err := array.Sort(x, x); err != nil {
			return m, err
		}
		return x.Download()
	}), nil
}

// reduce is of elements T to elements D.
func reduce[D, T linalg.Element](op *array.Reduction, over array.Over) Operation {
	return func(in []files.Operand) (*Plan, error) {
		a := files.Matrix[T](in[0])
		rows, cols := over.Dims(a.Rows, a.Cols)
		p := newPlan(in, []int{rows, cols}, func(ctx context.Context, s *linalg.Session) (linalg.Matrix[D], error) {
			c := linalg.NewMatrix[D](rows, cols, nil)
			return c, array.ReduceContext(ctx, s, op, c, a)
		})
		p.InParts = func(ctx context.Context, s *linalg.Session, c io.WriterAt, o npyfiles.Options) error {
			return array.ReduceNPY[T](ctx, s, op, over, c, in[0].File, o)
		}
		return p, nil
	}
}

// Random makes random numbers, float32 or float64, of no files.
func Random(t element.Type, normal bool, seed uint64, rows, cols int) Operation {
	if t == element.Float32 {
		return random[float32](normal, seed, rows, cols)
	}
	return random[float64](normal, seed, rows, cols)
}

func random[T array.Float](normal bool, seed uint64, rows, cols int) Operation {
	fill := array.Uniform[T]
	if normal {
		fill = array.Normal
	}
	return func([]files.Operand) (*Plan, error) {
		shape := []int{rows, cols}
		return newPlan(nil, shape, func(_ context.Context, s *linalg.Session) (m linalg.Matrix[T], err error) {
			c, err := linalg.NewArray[T](s, rows, cols)
			if err != nil {
				return m, err
			}
			if err := fill(&array.Stream{Seed: seed}, c); err != nil {
				return m, err
			}
			return c.Download()
		}), nil
	}
}

package operation

import (
	"context"
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/files"
	"github.com/tandem-gpu/tandem/linalg"
)

// The factorizations, each of a matrix of floating-point numbers, and the solution of equations.
// Results are in the order in which the commands name their files.
var (
	LU       = inFloat(lu[float32], lu[float64])
	Cholesky = inFloat(cholesky[float32], cholesky[float64])
	QR       = inFloat(qr[float32], qr[float64])
	EigSym   = inFloat(eigSym[float32], eigSym[float64])
	SVD      = inFloat(svd[float32], svd[float64])
	Solve    = inFloat(solve[float32], solve[float64])
)

// inFloat chooses the operation in the type of the files, the first of which must be a matrix.
func inFloat(single, double Operation) Operation {
	return func(in []files.Operand) (*Plan, error) {
		switch f := files.InType(in[0].Type, single, double, nil); {
		case f == nil:
			return nil, fmt.Errorf("%s: %w: factorizations are of float32 and float64; convert it with numpy, as in "+
				"x.astype('f8')", in[0], backend.ErrUnsupported)
		case len(in[0].Shape) != 2:
			return nil, fmt.Errorf("%s is no matrix", in[0])
		default:
			return f(in)
		}
	}
}

// whole is a result of m's own shape.
func whole[T linalg.Element](m linalg.Matrix[T]) files.Result {
	return files.ResultOf(m, m.Rows, m.Cols)
}

// vector is a result of one dimension.
func vector[T linalg.Element](v []T) files.Result {
	return files.ResultOf(linalg.NewMatrix(1, len(v), v), len(v))
}

// luFlops is the operations of an LU factorization.
func luFlops(rows, cols int) float64 {
	m, n, k := float64(rows), float64(cols), float64(min(rows, cols))
	return 2 * k * (m*n - (m+n)*k/2 + k*k/3)
}

// factored is the plan of a factorization of the file, of which results are written.
func factored[T linalg.Float, F any](in []files.Operand, flops float64,
	factor func(linalg.Matrix[T], ...linalg.Option) (F, error), results func(F) []files.Result,
) (*Plan, error) {
	compute := func(ctx context.Context, s *linalg.Session) ([]files.Result, error) {
		f, err := factor(files.Matrix[T](in[0]), linalg.On(s), linalg.WithContext(ctx))
		if err != nil {
			return nil, err
		}
		return results(f), nil
	}
	return &Plan{Flops: flops, Compute: compute}, nil
}

func lu[T linalg.Float](in []files.Operand) (*Plan, error) {
	return factored(in, luFlops(in[0].Dims()), linalg.FactorLU[T], func(f *linalg.LU[T]) []files.Result {
		pivots := make([]int32, len(f.Pivots()))
		for i, p := range f.Pivots() {
			pivots[i] = int32(p)
		}
		return []files.Result{whole(f.Packed()), vector(pivots)}
	})
}

func cholesky[T linalg.Float](in []files.Operand) (*Plan, error) {
	rows, _ := in[0].Dims()
	n := float64(rows)
	return factored(in, n*n*n/3, linalg.FactorCholesky[T], func(f *linalg.Cholesky[T]) []files.Result {
		return []files.Result{whole(f.L())}
	})
}

func qr[T linalg.Float](in []files.Operand) (*Plan, error) {
	a := files.Matrix[T](in[0])
	compute := func(ctx context.Context, s *linalg.Session) ([]files.Result, error) {
		f, err := linalg.FactorQR(a, linalg.On(s), linalg.WithContext(ctx))
		if err != nil {
			return nil, err
		}
		q, err := f.Q(linalg.WithContext(ctx))
		if err != nil {
			return nil, err
		}
		return []files.Result{whole(q), whole(f.R())}, nil
	}
	m, k := float64(a.Rows), float64(min(a.Rows, a.Cols))
	return &Plan{Flops: 2*luFlops(a.Rows, a.Cols) + 2*k*k*(m-k/3), Compute: compute}, nil
}

func eigSym[T linalg.Float](in []files.Operand) (*Plan, error) {
	rows, _ := in[0].Dims()
	n := float64(rows)
	return factored(in, n*n*n*14/3, linalg.FactorEigSym[T], func(f *linalg.EigSym[T]) []files.Result {
		return []files.Result{vector(f.Values()), whole(f.Vectors())}
	})
}

func svd[T linalg.Float](in []files.Operand) (*Plan, error) {
	rows, cols := in[0].Dims()
	small, large := float64(min(rows, cols)), float64(max(rows, cols))
	return factored(in, 12*small*small*large, linalg.FactorSVD[T], func(f *linalg.SVD[T]) []files.Result {
		return []files.Result{vector(f.Values()), whole(f.U()), whole(f.VT())}
	})
}

func solve[T linalg.Float](in []files.Operand) (*Plan, error) {
	a, b := files.Matrix[T](in[0]), column[T](in[1])
	if a.Rows != a.Cols || a.Rows != b.Rows {
		return nil, fmt.Errorf("%s and %s: the first is to be square, with the rows of the second", in[0], in[1])
	}
	compute := func(ctx context.Context, s *linalg.Session) ([]files.Result, error) {
		f, err := linalg.FactorLU(a, linalg.On(s), linalg.WithContext(ctx))
		if err != nil {
			return nil, err
		}
		x, err := f.Solve(b, linalg.WithContext(ctx))
		if err != nil {
			return nil, err
		}
		return []files.Result{files.ResultOf(x, in[1].Shape...)}, nil
	}
	n := float64(a.Rows)
	return &Plan{Flops: luFlops(a.Rows, a.Rows) + 2*n*n*float64(b.Cols), Compute: compute}, nil
}

package linalg

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas"
)

// MatMul is the product of a and b, on the default device. The shapes are a: m x k, b: k x n, and
// the result, which is packed and new: m x n. Each element is one chain of fused multiply-adds, as
// the package says. Where k is 0 the result is zero.
func MatMul[T Element](a, b Matrix[T]) (Matrix[T], error) {
	return MatMulContext(context.Background(), nil, a, b)
}

// Transpose is the transpose of a, on the default device: packed and new.
func Transpose[T Element](a Matrix[T]) (Matrix[T], error) {
	return TransposeContext(context.Background(), nil, a)
}

// Gemm makes c = alpha*op(a)*op(b) + beta*c, on the default device, where op is the matrix or, with
// blas.Trans or blas.ConjTrans, its transpose. c must not share memory with a or b. After an error
// the elements of c are undefined.
func Gemm[T Element](
	alpha T, tA blas.Transpose, a Matrix[T], tB blas.Transpose, b Matrix[T], beta T, c Matrix[T],
) error {
	return GemmContext(context.Background(), nil, alpha, tA, a, tB, b, beta, c)
}

// AddMul adds the product of a and b to c, on the default device, in chains that start from c's
// elements, as [Array.AddMul] says. c must not share memory with a or b. After an error the
// elements of c are undefined.
func AddMul[T Element](a, b, c Matrix[T]) error {
	return AddMulContext(context.Background(), nil, a, b, c)
}

// SubMul subtracts the product of a and b from c, on the default device, as [Array.SubMul] says.
// The rest is as for [AddMul].
func SubMul[T Element](a, b, c Matrix[T]) error {
	return SubMulContext(context.Background(), nil, a, b, c)
}

// MatMulContext is MatMul on session s, or on the default device where s is nil. It returns ctx's
// error soon after ctx is done.
func MatMulContext[T Element](ctx context.Context, s *Session, a, b Matrix[T]) (Matrix[T], error) {
	if a.Cols != b.Rows {
		return Matrix[T]{}, errProduct(a, b)
	}
	return compute(ctx, s, &request[T]{
		kernel: productKernel{}, count: 1, tA: blas.NoTrans, tB: blas.NoTrans, update: update{alpha: 1}, makesC: true,
		n: 3, matrices: [3]Matrix[T]{{Rows: a.Rows, Cols: b.Cols}, a, b},
	})
}

// errProduct is the error of a product of matrices that do not fit.
func errProduct[A, B any](a Matrix[A], b Matrix[B]) error {
	return fmt.Errorf("%w: product of %s and %s: the columns of the first are not the rows of the second", ErrShape,
		a, b)
}

// TransposeContext is Transpose on session s, or on the default device where s is nil. It returns
// ctx's error soon after ctx is done.
func TransposeContext[T Element](ctx context.Context, s *Session, a Matrix[T]) (Matrix[T], error) {
	return compute(ctx, s, &request[T]{
		kernel: transposeKernel{}, makesC: true, n: 2, matrices: [3]Matrix[T]{{Rows: a.Cols, Cols: a.Rows}, a},
	})
}

// GemmContext is Gemm on session s, or on the default device where s is nil. It returns ctx's error
// soon after ctx is done; the elements of c are undefined then.
func GemmContext[T Element](ctx context.Context, s *Session, alpha T, tA blas.Transpose, a Matrix[T], tB blas.Transpose,
	b Matrix[T], beta T, c Matrix[T],
) error {
	_, err := compute(ctx, s, &request[T]{
		kernel: productKernel{}, count: 1, tA: tA, tB: tB, update: scaledBy(alpha, beta),
		n: 3, matrices: [3]Matrix[T]{c, a, b},
	})
	return err
}

// AddMulContext is AddMul on session s, or on the default device where s is nil. It returns ctx's
// error soon after ctx is done; the elements of c are undefined then.
func AddMulContext[T Element](ctx context.Context, s *Session, a, b, c Matrix[T]) error {
	return updateMatrix(ctx, s, a, b, c, addMul)
}

// SubMulContext is SubMul as AddMulContext is AddMul.
func SubMulContext[T Element](ctx context.Context, s *Session, a, b, c Matrix[T]) error {
	return updateMatrix(ctx, s, a, b, c, subMul)
}

func updateMatrix[T Element](ctx context.Context, s *Session, a, b, c Matrix[T], u update) error {
	_, err := compute(ctx, s, &request[T]{
		kernel: productKernel{}, count: 1, tA: blas.NoTrans, tB: blas.NoTrans, update: u,
		n: 3, matrices: [3]Matrix[T]{c, a, b},
	})
	return err
}

package linalg

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
)

// onHost is the options of operations on matrices in host memory; products take Batch, too.
const onHost = onSession | withContext

// MatMul is the product of a and b. The shapes are a: m x k, b: k x n, and the result, which is
// packed and new: m x n. Each element is one chain of fused multiply-adds, as the package says.
// Where k is 0 the result is zero.
func MatMul[T Element](a, b Matrix[T], opts ...Option) (Matrix[T], error) {
	o, err := settingsOf("MatMul", onHost|batched, opts)
	if err != nil {
		return Matrix[T]{}, err
	}
	if err := checkProduct(o.count, dims{a.Rows, a.Cols}, dims{b.Rows, b.Cols}); err != nil {
		return Matrix[T]{}, err
	}
	return compute(o, &request[T]{
		kernel: productKernel{}, count: o.count, tA: blas.NoTrans, tB: blas.NoTrans, update: update{alpha: 1},
		makesC: true, n: 3, matrices: [3]Matrix[T]{{Rows: a.Rows, Cols: b.Cols}, a, b},
	})
}

// checkProduct says whether there are count products of a and b, whose rows are those of the
// result.
func checkProduct(count int, a, b dims) error {
	if count != 1 {
		_, err := newBatch(count, blas.NoTrans, a, blas.NoTrans, b, dims{a[0], b[1]})
		return err
	}
	if a[1] != b[0] {
		return fmt.Errorf("%w: product of %s and %s: the columns of the first are not the rows of the second", ErrShape,
			a, b)
	}
	return nil
}

// Transpose is the transpose of a: packed and new.
func Transpose[T Element](a Matrix[T], opts ...Option) (Matrix[T], error) {
	o, err := settingsOf("Transpose", onHost, opts)
	if err != nil {
		return Matrix[T]{}, err
	}
	return compute(o, &request[T]{
		kernel: transposeKernel{}, makesC: true, n: 2, matrices: [3]Matrix[T]{{Rows: a.Cols, Cols: a.Rows}, a},
	})
}

// Gemm makes c = alpha*op(a)*op(b) + beta*c, where op is the matrix or, with blas.Trans or
// blas.ConjTrans, its transpose. c must not share memory with a or b. After an error the elements
// of c are undefined.
func Gemm[T Element](alpha T, tA blas.Transpose, a Matrix[T], tB blas.Transpose, b Matrix[T], beta T, c Matrix[T],
	opts ...Option,
) error {
	o, err := settingsOf("Gemm", onHost|batched, opts)
	if err != nil {
		return err
	}
	_, err = compute(o, &request[T]{
		kernel: productKernel{}, count: o.count, tA: tA, tB: tB, update: scaledBy(alpha, beta),
		n: 3, matrices: [3]Matrix[T]{c, a, b},
	})
	return err
}

// AddMul adds the product of a and b to c, in chains that start from c's elements, as
// [Array.AddMul] says. c must not share memory with a or b. After an error the elements of c are
// undefined.
func AddMul[T Element](a, b, c Matrix[T], opts ...Option) error {
	return updateMatrix("AddMul", addMul, a, b, c, opts)
}

// SubMul subtracts the product of a and b from c, as [Array.SubMul] says. The rest is as for
// [AddMul].
func SubMul[T Element](a, b, c Matrix[T], opts ...Option) error {
	return updateMatrix("SubMul", subMul, a, b, c, opts)
}

func updateMatrix[T Element](op string, u update, a, b, c Matrix[T], opts []Option) error {
	o, err := settingsOf(op, onHost|batched, opts)
	if err != nil {
		return err
	}
	_, err = compute(o, &request[T]{
		kernel: productKernel{}, count: o.count, tA: blas.NoTrans, tB: blas.NoTrans, update: u,
		n: 3, matrices: [3]Matrix[T]{c, a, b},
	})
	return err
}

package gonumblas

import (
	"fmt"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/linalg"
)

// triangular is trmm, B = alpha*op(A)*B or alpha*B*op(A), or with solution trsm, which makes B the
// solution X of op(A)*X = alpha*B or of X*op(A) = alpha*B. As gemmStored it tells whether the
// arguments are valid.
func triangular[T float](e *engine, solution bool, s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int,
	alpha T, a []T, lda int, b []T, ldb int,
) (valid bool) {
	if !validTriangular(s, ul, tA, d, m, n, len(a), lda, len(b), ldb) {
		return false
	}
	left, k := s == blas.Left, order(s, m, n)
	if alpha == 0 { // A is not read
		host.Gemm(m, n, 0, alpha, nil, 0, nil, n, 0, b, ldb)
		return true
	}
	t := triangle(ul, tA, d, k, a, lda)
	if solution {
		must(solver[T](e).Solve(t, left, alpha, m, n, b, ldb))
	} else {
		must(solver[T](e).Multiply(t, left, alpha, m, n, b, ldb))
	}
	return true
}

// triangle is op(A) for a triangular matrix A of n by n.
func triangle[T float](ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []T, lda int) solve.Triangle[T] {
	return solve.Triangle[T]{
		N: n, Data: a, Stride: lda, Upper: ul == blas.Upper, Trans: tA != blas.NoTrans, Unit: d == blas.Unit,
	}
}

// solver solves with products on the device where that pays.
func solver[T float](e *engine) (s solve.Solver[T]) {
	if e.fixed != nil || !e.info.Host {
		s.Update = func(negate bool, m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int) error {
			update(e, negate, matrix(m, k, a, lda), matrix(k, n, b, ldb), matrix(m, n, c, ldc))
			return nil
		}
		// the parts of a product that is too small for the device are, too
		s.AtOnce = func(m, n, k int) (bool, error) { return !toDevice[T](e, m, n, k), nil }
	}
	return s
}

// update is C = C + A*B, or with negate C - A*B, in chains that start from C.
func update[T float](e *engine, negate bool, a, b, c linalg.Matrix[T]) {
	m, n, k := c.Rows, c.Cols, a.Cols
	if toDevice[T](e, m, n, k) {
		err := deviceUpdate(e, negate, a, b, c)
		if err == nil {
			return
		}
		e.report(fmt.Sprintf("a product of %dx%d by %dx%d (%T) was", m, k, k, n, c.Data[0]), err)
	}
	host.Update(negate, m, n, k, a.Data, a.Stride, b.Data, b.Stride, c.Data, c.Stride)
}

// deviceUpdate is update on the device. One that fails leaves C as it was.
func deviceUpdate[T float](e *engine, negate bool, a, b, c linalg.Matrix[T]) error {
	result, memory := scratch[T](c.Rows, c.Cols)
	defer memory.Give()
	copyMatrix(result, c)
	f := linalg.AddMul[T]
	if negate {
		f = linalg.SubMul[T]
	}
	if err := f(cut(a), cut(b), result, linalg.On(e.s)); err != nil {
		return err
	}
	copyMatrix(c, result)
	return nil
}

// cut is m without what follows its last element.
func cut[T float](m linalg.Matrix[T]) linalg.Matrix[T] { return m.Slice(0, m.Rows, 0, m.Cols) }

// must is for a solver whose updates never fail: what a device fails at is done on the host.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

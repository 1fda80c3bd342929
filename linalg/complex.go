package linalg

import (
	"context"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
)

// Complex is the complex numbers.
type Complex interface{ complex64 | complex128 }

// MatMulComplex is the product of a and b. The shapes are those of [MatMul]. Real and imaginary
// part of each element are one chain each, as the contract has it: fma(ar, br, acc) and then
// fma(-ai, bi, acc), fma(ar, bi, acc) and then fma(ai, br, acc), for k = 0, 1, ... K-1, from +0.
// They are those of gonumblas, and are computed as one product of real matrices of m by 2k and 2k
// by 2n, which are made in the host's memory.
func MatMulComplex[T Complex](a, b Matrix[T], opts ...Option) (Matrix[T], error) {
	return newProduct("MatMulComplex", a, b, opts, func(c Matrix[T], o settings) error {
		return gemmComplex(o, 1, blas.NoTrans, a, blas.NoTrans, b, 0, c)
	})
}

// GemmComplex makes c = alpha*op(a)*op(b) + beta*c, where op is the matrix or, with blas.Trans, its
// transpose, with blas.ConjTrans its conjugated transpose. Where alpha and beta are real, both
// parts are finished as in [Gemm]; else both are complex products, from +0: the chains of beta*c,
// unless beta is 0, go on with alpha times the parts. c must not share memory with a or b. After an
// error the elements of c are undefined.
func GemmComplex[T Complex](alpha T, tA blas.Transpose, a Matrix[T], tB blas.Transpose, b Matrix[T], beta T,
	c Matrix[T], opts ...Option,
) error {
	o, err := settingsOf("GemmComplex", onHost, opts)
	if err != nil {
		return err
	}
	return gemmComplex(o, alpha, tA, a, tB, b, beta, c)
}

// gemmComplex is GemmComplex as o says.
func gemmComplex[T Complex](o settings, alpha T, tA blas.Transpose, a Matrix[T], tB blas.Transpose, b Matrix[T], beta T,
	c Matrix[T],
) error {
	s, err := (&request[T]{n: 3, matrices: [3]Matrix[T]{c, a, b}}).prepare(o.ctx, o.s)
	if err != nil {
		return err
	}
	x, err := newBatch(1, tA, dims{a.Rows, a.Cols}, tB, dims{b.Rows, b.Cols}, dims{c.Rows, c.Cols})
	if err != nil {
		return err
	}
	if _, single := any(alpha).(complex64); single {
		return multiplyComplex[float32](o.ctx, s, x, alpha, tA, a, tB, b, beta, c)
	}
	return multiplyComplex[float64](o.ctx, s, x, alpha, tA, a, tB, b, beta, c)
}

// multiplyComplex is gemmComplex of numbers whose parts are of F.
func multiplyComplex[F Float, T Complex](ctx context.Context, s *Session, x batch, alpha T, tA blas.Transpose,
	a Matrix[T], tB blas.Transpose, b Matrix[T], beta T, c Matrix[T],
) error {
	p := host.ComplexProduct[F]{
		M: x.m, N: x.n, K: x.k, Alpha: parts[F](alpha), Beta: parts[F](beta),
		A: complexMatrix[F](tA, a), B: complexMatrix[F](tB, b), C: reals[F](c.Data), StrideC: c.Stride,
	}
	if s.direct && p.IsSmall() {
		p.ComputeRows()
		return nil
	}
	return p.Compute(func(m, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int) error {
		return Gemm(alpha, blas.NoTrans, part(m, k, a, lda), blas.NoTrans, part(k, n, b, ldb), beta, part(m, n, c, ldc),
			On(s), WithContext(ctx))
	})
}

// complexMatrix is op(m), with parts of F.
func complexMatrix[F Float, T Complex](t blas.Transpose, m Matrix[T]) host.ComplexMatrix[F] {
	return host.ComplexMatrix[F]{
		Data: reals[F](m.Data), Stride: m.Stride, Trans: t != blas.NoTrans, Conj: t == blas.ConjTrans,
	}
}

// parts is the real and the imaginary part of x.
func parts[F Float, T Complex](x T) [2]F { return [2]F{F(real(complex128(x))), F(imag(complex128(x)))} }

// reals is the elements of x as reals: real and imaginary part of one after the other.
func reals[F Float, T Complex](x []T) []F {
	return unsafe.Slice((*F)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

package host

import "math"

// A complex product is one real product of m by 2n by 2k, of matrices whose elements lie as real
// and imaginary part: each row of conj(A) as reals, by two rows for each of B, the row and -i times
// it. What follows makes these. Complex matrices are given as reals here, with their leading
// dimension in complex elements.

// ComplexGemm is C = alpha*op(A)*op(B) + beta*C for complex numbers alpha and beta, their real part
// first, with A of m by k and B of k by n, transposed and conjugated as complexLeft has it.
// onHost allows plain loops where these are the fastest. Else product makes z, of m by 2n with
// leading dimension ldz, s*X*Y + t*z, for packed X of m by 2k and Y of 2k by 2n; its error leaves C
// undefined.
func ComplexGemm[T Float](transA, conjA, transB, conjB bool, m, n, k int, alpha [2]T, a []T, lda int, b []T, ldb int,
	beta [2]T, c []T, ldc int, onHost bool, product func(s T, x, y []T, t T, z []T, ldz int) error,
) error {
	plain := alpha[1] == 0 && beta[1] == 0
	switch {
	case m == 0 || n == 0:
		return nil
	case alpha == [2]T{} || k == 0:
		if plain {
			Gemm(m, 2*n, 0, 0, nil, 0, nil, 2*n, beta[0], c, 2*ldc)
		} else {
			complexFinish(m, n, alpha, nil, beta, c, ldc)
		}
		return nil
	case plain && onHost &&
		smallComplexGemm(transA, conjA, transB, conjB, m, n, k, alpha[0], a, lda, b, ldb, beta[0], c, ldc):
		return nil
	}
	leftMemory, left := Take[T](2 * m * k)
	defer leftMemory.Give()
	complexLeft(transA, conjA, m, k, a, lda, left)
	rightMemory, right := Take[T](4 * k * n)
	defer rightMemory.Give()
	complexRight(transB, conjB, k, n, b, ldb, right)
	if plain {
		return product(alpha[0], left, right, beta[0], c, 2*ldc)
	}
	memory, p := Take[T](2 * m * n)
	defer memory.Give()
	if err := product(1, left, right, 0, p, 2*n); err != nil {
		return err
	}
	complexFinish(m, n, alpha, p, beta, c, ldc)
	return nil
}

// complexBlock is the rows of a transposed matrix that are read at a time: a cache line or two.
const complexBlock = 8

// complexLeft makes dst, packed of m by 2k, the left factor for op(A): A is m by k in memory, with
// trans k by m, and with conj it is conjugated as well.
func complexLeft[T Float](trans, conj bool, m, k int, a []T, lda int, dst []T) {
	bands[T](m, 2*k, complexBlock, func(lo, hi int) {
		for i := lo; i < hi; i += complexBlock {
			rows := min(complexBlock, hi-i)
			to := dst[i*2*k:]
			if trans {
				transposeComplex(conj, rows, k, a[2*i:], lda, to, 2*k)
				continue
			}
			for r := range rows {
				x, y := a[2*(i+r)*lda:][:2*k], to[r*2*k:][:2*k]
				for j := 0; j < len(y); j += 2 {
					y[j], y[j+1] = x[j], -x[j+1]
				}
			}
		}
	})
}

// transposeComplex makes dst, whose rows are ldd reals apart, the transpose of x of cols by rows,
// conjugated unless conj is set.
func transposeComplex[T Float](conj bool, rows, cols int, x []T, ldx int, dst []T, ldd int) {
	sign := T(-1)
	if conj {
		sign = 1
	}
	for p := range cols {
		from := x[2*p*ldx:][:2*rows]
		for r := range rows {
			dst[r*ldd+2*p], dst[r*ldd+2*p+1] = from[2*r], sign*from[2*r+1]
		}
	}
}

// complexRight makes dst, packed of 2k by 2n, the right factor for op(B): B is k by n in memory,
// with trans n by k, and with conj it is conjugated as well.
func complexRight[T Float](trans, conj bool, k, n int, b []T, ldb int, dst []T) {
	bands[T](k, 4*n, complexBlock, func(lo, hi int) {
		for p := lo; p < hi; p += complexBlock {
			rows := min(complexBlock, hi-p)
			if trans {
				transposeComplex(!conj, rows, n, b[2*p:], ldb, dst[4*p*n:], 4*n)
			}
			for r := p; r < p+rows; r++ {
				y, z := dst[4*r*n:][:2*n], dst[(4*r+2)*n:][:2*n]
				if !trans {
					copy(y, b[2*r*ldb:])
				}
				for j := 0; j < len(z); j += 2 {
					z[j], z[j+1] = y[j+1], -y[j]
				}
			}
		}
	})
}

// complexFinish is C = alpha*P + beta*C for complex numbers alpha and beta, their real part first,
// where the chains of a product have ended in P, packed of m by n; without P the sum is beta*C.
// beta*C is the chain of two products for each part, from +0 as all, and the result goes on with
// alpha*P; where beta is 0 C is not read.
func complexFinish[T Float](m, n int, alpha [2]T, p []T, beta [2]T, c []T, ldc int) {
	bands[T](m, 2*n, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := c[2*i*ldc:][:2*n]
			for j := 0; j < len(row); j += 2 {
				var re, im T
				if beta != [2]T{} {
					re, im = addComplexProduct(beta, row[j], row[j+1], 0, 0)
				}
				if p != nil {
					re, im = addComplexProduct(alpha, p[2*i*n+j], p[2*i*n+j+1], re, im)
				}
				row[j], row[j+1] = re, im
			}
		}
	})
}

// addComplexProduct goes on with the chains of a complex number by s*(xr+i*xi).
func addComplexProduct[T Float](s [2]T, xr, xi, re, im T) (T, T) {
	return FMA(-s[1], xi, FMA(s[0], xr, re)), FMA(s[1], xr, FMA(s[0], xi, im))
}

// ComplexMirror makes whole, packed, the symmetric or, with conj, Hermitian matrix of n by n whose
// lower or upper triangle a has; the imaginary parts of a Hermitian diagonal are 0 and not read.
func ComplexMirror[T Float](lower, conj bool, n int, a []T, lda int, whole []T) {
	sign := T(1)
	if conj {
		sign = -1
	}
	for i := range n {
		lo, hi := triangleRow(lower, i, n)
		for j := lo; j < hi; j++ {
			re, im := a[2*(i*lda+j)], a[2*(i*lda+j)+1]
			if i == j && conj {
				im = 0
			}
			whole[2*(j*n+i)], whole[2*(j*n+i)+1] = re, sign*im
			whole[2*(i*n+j)], whole[2*(i*n+j)+1] = re, im
		}
	}
}

// smallComplex is the products of complex numbers that plain loops compute, at most.
const smallComplex = 96

// smallComplexGemm is C = alpha*op(A)*op(B) + beta*C for real alpha and beta, where A and B are
// transposed and conjugated as complexLeft has it. It computes that, and tells so, where plain
// loops are the fastest.
func smallComplexGemm[T Float](transA, conjA, transB, conjB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int,
	beta T, c []T, ldc int,
) bool {
	if !isFloat64[T]() || m*n*k > smallComplex {
		return false
	}
	x, y, z := float64s(a), float64s(b), float64s(c)
	aRow, aCol := steps(transA, lda)
	bRow, bCol := steps(transB, ldb)
	signA, signB := 1.0, 1.0
	if conjA {
		signA = -1
	}
	if conjB {
		signB = -1
	}
	for i := range m {
		for j := range n {
			var re, im float64
			at, bt := 2*i*aRow, 2*j*bCol
			for range k {
				ar, ai, br, bi := x[at], signA*x[at+1], y[bt], signB*y[bt+1]
				re, im = math.FMA(-ai, bi, math.FMA(ar, br, re)), math.FMA(ai, br, math.FMA(ar, bi, im))
				at, bt = at+2*aCol, bt+2*bRow
			}
			to := z[2*(i*ldc+j):][:2]
			to[0] = finish(float64(alpha), re, float64(beta), to[0])
			to[1] = finish(float64(alpha), im, float64(beta), to[1])
		}
	}
	return true
}

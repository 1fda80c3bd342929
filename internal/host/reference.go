package host

import "github.com/tandem-gpu/tandem/element"

// GemmReference computes what [Gemm] does by the definition: three plain loops in one goroutine.
func GemmReference[T element.Element](m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	for i := range m {
		for j := range n {
			var old T // beta*C
			if beta != 0 {
				old = Mul(beta, c[i*ldc+j])
			}
			if alpha == 0 || k == 0 {
				c[i*ldc+j] = old
				continue
			}
			if beta == 0 {
				old = negZero[T]() // x + -0 is x, for -0 as well
			}
			var acc T
			for p := range k {
				acc = FMA(a[i*lda+p], b[p*ldb+j], acc)
			}
			c[i*ldc+j] = FMA(alpha, acc, old)
		}
	}
}

// AddMulReference computes what [AddMul], or with negate [SubMul], does by the definition.
func AddMulReference[T element.Element](negate bool, m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int) {
	for i := range m {
		for j := range n {
			acc := c[i*ldc+j]
			for p := range k {
				x := a[i*lda+p]
				if negate {
					x = -x
				}
				acc = FMA(x, b[p*ldb+j], acc)
			}
			c[i*ldc+j] = acc
		}
	}
}

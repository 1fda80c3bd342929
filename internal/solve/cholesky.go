package solve

import "github.com/tandem-gpu/tandem/internal/host"

// Cholesky factors A = L*Lᵀ, for the symmetric matrix A of n by n that its lower or upper triangle
// gives, and leaves L there, or Lᵀ; nothing else is read or written. l[i,j] is the chain of
// fma(-l[i,k], l[j,k], .) from a[i,j] for k = 0 ... j-1, divided by l[j,j], which is the square
// root of its own chain. It returns the first row whose chain is not above 0, or -1.
func (s Solver[T]) Cholesky(lower bool, n int, a []T, lda int) (row int, err error) {
	if n <= base {
		row, col := host.Steps(lower, lda)
		return host.Cholesky(n, a, row, col), nil
	}
	if !lower {
		return s.cholesky(n, a, lda)
	}
	memory, u := host.Take[T](n * n)
	defer memory.Give()
	transposeTriangle(true, n, a, lda, u, n)
	row, err = s.cholesky(n, u, n)
	transposeTriangle(false, n, u, n, a, lda)
	return row, err
}

// LowerCholesky makes L, of n by n, the factor that [Solver.Cholesky] leaves of A's lower triangle,
// with zeros above. It returns the same.
func (s Solver[T]) LowerCholesky(n int, a []T, lda int, l []T, ldl int) (row int, err error) {
	transposeTriangle(true, n, a, lda, l, ldl)
	if row, err = s.cholesky(n, l, ldl); row >= 0 || err != nil {
		return row, err
	}
	transposeTriangle(false, n, l, ldl, l, ldl)
	for i := range n {
		clear(l[i*ldl:][i+1 : n])
	}
	return -1, nil
}

// few is the rows of a triangle that is transposed element by element.
const few = 8

// transposeTriangle makes a triangle of y the transpose of the lower or upper one of x. y may be x.
func transposeTriangle[T host.Float](lower bool, n int, x []T, ldx int, y []T, ldy int) {
	if n <= few {
		for i := range n {
			lo, hi := i, n
			if lower {
				lo, hi = 0, i+1
			}
			for j := lo; j < hi; j++ {
				y[j*ldy+i] = x[i*ldx+j]
			}
		}
		return
	}
	h := Half(n, few)
	transposeTriangle(lower, h, x, ldx, y, ldy)
	if lower {
		host.Transpose(n-h, h, x[h*ldx:], ldx, y[h:], ldy)
	} else {
		host.Transpose(h, n-h, x[h:], ldx, y[h*ldy:], ldy)
	}
	transposeTriangle(lower, n-h, x[h*(ldx+1):], ldx, y[h*(ldy+1):], ldy)
}

// cholesky is [Solver.Cholesky] for the upper triangle.
func (s Solver[T]) cholesky(n int, a []T, lda int) (int, error) {
	if n <= base {
		return host.Cholesky(n, a, lda, 1), nil
	}
	h := Half(n, base)
	if row, err := s.cholesky(h, a, lda); row >= 0 || err != nil {
		return row, err
	}
	e := Triangle[T]{N: h, Data: a, Stride: lda, Upper: true, Trans: true}
	if err := s.Solve(e, true, 1, h, n-h, a[h:], lda); err != nil {
		return -1, err
	}
	if err := s.subtractSquare(n-h, h, a[h:], lda, a[h*(lda+1):], lda); err != nil {
		return -1, err
	}
	row, err := s.cholesky(n-h, a[h*(lda+1):], lda)
	if row >= 0 {
		row += h
	}
	return row, err
}

// squareBlock is the rows of a diagonal block that is computed at once.
const squareBlock = 64

// subtractSquare is the upper triangle of C = C - Bᵀ*B for B of k by n.
func (s Solver[T]) subtractSquare(n, k int, b []T, ldb int, c []T, ldc int) error {
	once, err := s.atOnce(n, n, k)
	if err != nil {
		return err
	}
	if once || n <= squareBlock {
		host.SubSquare(n, k, b, ldb, c, ldc)
		return nil
	}
	h := Half(n, squareBlock)
	memory, bt := host.Take[T](h * k)
	defer memory.Give()
	host.Transpose(k, h, b, ldb, bt, k)
	if err := s.update(true, h, n-h, k, bt, k, b[h:], ldb, c[h:], ldc); err != nil {
		return err
	}
	if err := s.subtractSquare(h, k, b, ldb, c, ldc); err != nil {
		return err
	}
	return s.subtractSquare(n-h, k, b[h:], ldb, c[h*(ldc+1):], ldc)
}

package solve

import "github.com/tandem-gpu/tandem/internal/host"

// SolveLU makes B, of n by cols, the solution X of A*X = B, or with trans of Aᵀ*X = B, for A of n
// by n as [Solver.LU] left it.
func (s Solver[T]) SolveLU(trans bool, n, cols int, a []T, lda int, piv []int, b []T, ldb int) error {
	t := Triangle[T]{N: n, Data: a, Stride: lda, Upper: trans, Trans: trans, Unit: !trans} // L, or Uᵀ
	if !trans {
		SwapRows(false, piv, 0, len(piv), b, ldb, cols)
	}
	if err := s.apply(true, &t, true, 1, n, cols, b, ldb); err != nil {
		return err
	}
	t.Upper, t.Unit = !trans, trans // U, or Lᵀ
	if err := s.apply(true, &t, true, 1, n, cols, b, ldb); err != nil {
		return err
	}
	if trans {
		SwapRows(true, piv, 0, len(piv), b, ldb, cols)
	}
	return nil
}

// SolveCholesky makes B, of n by cols, the solution X of A*X = B for A of n by n as
// [Solver.Cholesky] left it.
func (s Solver[T]) SolveCholesky(lower bool, n, cols int, a []T, lda int, b []T, ldb int) error {
	l := Triangle[T]{N: n, Data: a, Stride: lda, Upper: !lower, Trans: !lower}
	if err := s.apply(true, &l, true, 1, n, cols, b, ldb); err != nil {
		return err
	}
	l.Trans = lower
	return s.apply(true, &l, true, 1, n, cols, b, ldb)
}

// InvertLU makes A, of n by n as [Solver.LU] left it, the inverse: the solution X of A*X = I.
func (s Solver[T]) InvertLU(n int, a []T, lda int, piv []int) error {
	memory, x := identity[T](n)
	defer memory.Give()
	if err := s.SolveLU(false, n, n, a, lda, piv, x, n); err != nil {
		return err
	}
	host.CopyMatrix(n, n, x, n, a, lda)
	return nil
}

// InvertCholesky makes the triangle of A, of n by n as [Solver.Cholesky] left it, that of the
// inverse: the solution X of A*X = I. Nothing else of A is written.
func (s Solver[T]) InvertCholesky(lower bool, n int, a []T, lda int) error {
	memory, x := identity[T](n)
	defer memory.Give()
	if err := s.SolveCholesky(lower, n, n, a, lda, x, n); err != nil {
		return err
	}
	copyTriangle(lower, false, n, x, n, a, lda)
	return nil
}

// InvertTriangle makes the triangle of A, of n by n, that of the inverse: the solution X of A*X =
// I. Nothing else of A is read or written, and with unit not the diagonal either.
func (s Solver[T]) InvertTriangle(upper, unit bool, n int, a []T, lda int) error {
	memory, x := identity[T](n)
	defer memory.Give()
	t := Triangle[T]{N: n, Data: a, Stride: lda, Upper: upper, Unit: unit}
	if err := s.apply(true, &t, true, 1, n, n, x, n); err != nil {
		return err
	}
	copyTriangle(!upper, unit, n, x, n, a, lda)
	return nil
}

// identity is the identity of n by n, in memory to be given back.
func identity[T host.Float](n int) (*host.Scratch, []T) {
	memory, x := host.Take[T](n * n)
	clear(x)
	for i := range n {
		x[i*(n+1)] = 1
	}
	return memory, x
}

// copyTriangle copies the lower or upper triangle, with unit without its diagonal.
func copyTriangle[T host.Float](lower, unit bool, n int, src []T, lds int, dst []T, ldd int) {
	skip := 0
	if unit {
		skip = 1
	}
	for i := range n {
		lo, hi := i+skip, n
		if lower {
			lo, hi = 0, i+1-skip
		}
		if lo < hi {
			copy(dst[i*ldd:][lo:hi], src[i*lds:][lo:hi])
		}
	}
}

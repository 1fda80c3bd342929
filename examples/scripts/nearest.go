package main

import (
	"fmt"
	"io"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/linalg"
)

// nearest finds the ten of n points that are nearest to each of a hundred others: those with the
// largest -|q-x|² = 2q·x - |q|² - |x|².
func nearest(w io.Writer, s *linalg.Session, n int) result {
	const d, queries, k = 32, 100, 10
	x, squares, norms := floats(s, n, d), floats(s, n, d), floats(s, n, 1)
	q, qSquares, qNorms := floats(s, queries, d), floats(s, queries, d), floats(s, queries, 1)
	near, best, index := floats(s, queries, n), floats(s, queries, k), ints(s, queries, k)
	r := &array.Stream{Seed: 8}
	check(array.Normal(r, x), array.Mul(squares, x, x), array.Sum(norms, squares))
	check(array.Normal(r, q), array.Mul(qSquares, q, q), array.Sum(qNorms, qSquares))
	check(near.Gemm(2, blas.NoTrans, q, blas.Trans, x, 0))
	check(array.Sub(near, near, qNorms), array.Sub(near, near, reshape(norms, 1, n)))
	check(array.TopK(best, index, near), array.Neg(best, best), array.Sqrt(best, best))
	fmt.Fprintf(w, "nearest: %v at %.4f\n", rows(index, 0, 1), rows(best, 0, 1))
	return index
}

package main

import (
	"fmt"
	"io"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/array/np"
	"github.com/tandem-gpu/tandem/linalg"
)

// nearest finds the ten of n points that are nearest to each of a hundred others: those with the
// largest -|q-x|² = 2q·x - |q|² - |x|².
func nearest(w io.Writer, s *linalg.Session, n int) result {
	const d, queries, k = 32, 100, 10
	r := &array.Stream{Seed: 8}
	x, q := np.Normal[float32](s, r, n, d), np.Normal[float32](s, r, queries, d)
	norm := func(x *np.Array[float32]) *np.Array[float32] { return np.Sum(np.Mul(x, x), 1) }
	near := np.Sub(np.Sub(np.MatMulT(np.Mul(q, 2), x), norm(q)), np.T(norm(x)))
	best, index := np.TopK(near, k)
	fmt.Fprintf(w, "nearest: %v at %.4f\n", np.Rows(index, 0, 1), np.Sqrt(np.Neg(np.Rows(best, 0, 1))))
	return index
}

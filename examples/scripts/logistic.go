package main

import (
	"fmt"
	"io"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/array/np"
	"github.com/tandem-gpu/tandem/linalg"
)

// logistic fits a logistic regression by a hundred steps along the gradient.
func logistic(w io.Writer, s *linalg.Session, n int) result {
	const d = 20
	r := &array.Stream{Seed: 2}
	x, truth := np.Normal[float32](s, r, n, d), np.Normal[float32](s, r, d, 1)
	class := np.Greater(np.Add(np.MatMul(x, truth), np.Normal[float32](s, r, n, 1)), 0)
	y, weights := np.Convert[float32](class), np.Zeros[float32](s, d, 1)
	for range 100 {
		residual := np.Sub(y, np.Sigmoid(np.MatMul(x, weights)))
		weights = np.FMA(np.TMatMul(x, residual), 1/float64(n), weights)
	}
	guess := np.Greater(np.MatMul(x, weights), 0)
	fmt.Fprintf(w, "wrong: %v of %d\n", np.Count(np.Xor(guess, class)), n)
	return weights
}

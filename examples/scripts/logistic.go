package main

import (
	"fmt"
	"io"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// logistic fits a logistic regression by a hundred steps along the gradient.
func logistic(w io.Writer, s *linalg.Session, n int) result {
	const d = 20
	x, truth, weights, gradient := floats(s, n, d), floats(s, d, 1), floats(s, d, 1), floats(s, 1, d)
	y, z, class, guess, wrong := floats(s, n, 1), floats(s, n, 1), bools(s, n, 1), bools(s, n, 1), ints(s, 1, 1)
	r := &array.Stream{Seed: 2}
	check(array.Normal(r, x), array.Normal(r, truth), array.Normal(r, z), z.AddMul(x, truth))
	check(array.Greater(class, z, number(0)), array.Where(y, class, number(1), number(0)))
	for range 100 {
		check(z.Mul(x, weights), launchResidual(s, z, z, y), gradient.Mul(reshape(z, 1, n), x))
		check(array.FMA(weights, reshape(gradient, d, 1), number(1/float32(n)), weights))
	}
	check(z.Mul(x, weights), array.Greater(guess, z, number(0)))
	check(array.Xor(guess, guess, class), array.Count(wrong, guess))
	fmt.Fprintf(w, "wrong: %v of %d\n", wrong, n)
	return weights
}

// residual is what a sample of class y, 0 or 1, has beyond its probability.
//
//tandem:map
func residual(z, y float32) float32 { return y - gpu.Sigmoid(z) }

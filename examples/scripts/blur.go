package main

import (
	"fmt"
	"io"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// blur softens an image of n by n points: each becomes a weighted mean of seven rows, and then of
// seven columns.
func blur(w io.Writer, s *linalg.Session, n int) result {
	image, padded, rows, out := floats(s, n, n), floats(s, n+6, n+6), floats(s, n, n+6), floats(s, n, n)
	weights, sum, before, after := floats(s, 1, 7), floats(s, 1, 1), floats(s, 1, 1), floats(s, 1, 1)
	check(array.Uniform(&array.Stream{Seed: 7}, image), array.Pad(padded, image, 3, 3, 0))
	check(array.Range(weights, -3, 1), launchBell(s, weights, weights))
	check(array.Sum(sum, weights), array.Div(weights, weights, sum))
	for i := range 7 {
		check(array.FMA(rows, padded.Slice(i, i+n, 0, n+6), weights.Slice(0, 1, i, i+1), rows))
	}
	for i := range 7 {
		check(array.FMA(out, rows.Slice(0, n, i, i+n), weights.Slice(0, 1, i, i+1), out))
	}
	check(array.Std(before, image, 0), array.Std(after, out, 0))
	fmt.Fprintf(w, "deviation: %.4f %.4f\n", before, after)
	return out
}

// bell is the shape of the normal distribution of variance 2.
//
//tandem:map
func bell(x float32) float32 { return gpu.Exp(-x * x / 4) }

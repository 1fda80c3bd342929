package main

import (
	"fmt"
	"io"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/array/np"
	"github.com/tandem-gpu/tandem/linalg"
)

// blur softens an image of n by n points: each becomes a weighted mean of seven rows, and then of
// seven columns.
func blur(w io.Writer, s *linalg.Session, n int) result {
	image, places := np.Uniform[float32](s, &array.Stream{Seed: 7}, n, n), np.Range[float32](s, 7, -3, 1)
	weights := np.Exp(np.Div(np.Mul(places, places), -4))
	weights = np.Div(weights, np.Sum(weights))
	padded, rows, out := np.Pad(image, 3, 3, 3, 3, 0), np.Zeros[float32](s, n, n+6), np.Zeros[float32](s, n, n)
	for i := range 7 {
		check(array.FMA(rows, np.Rows(padded, i, i+n), np.Cols(weights, i, i+1), rows))
	}
	for i := range 7 {
		check(array.FMA(out, np.Cols(rows, i, i+n), np.Cols(weights, i, i+1), out))
	}
	fmt.Fprintf(w, "deviation: %.4f %.4f\n", np.Std(image, 0), np.Std(out, 0))
	return out
}

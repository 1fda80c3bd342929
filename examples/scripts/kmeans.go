package main

import (
	"fmt"
	"io"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/array/np"
	"github.com/tandem-gpu/tandem/linalg"
)

// kmeans finds the centres of clusters around the corners of a cube by ten of Lloyd's steps. The
// points of each cluster are summed by a product with the matrix that says which are in it.
func kmeans(w io.Writer, s *linalg.Session, n int) result {
	const k, d = 16, 4
	r := &array.Stream{Seed: 1}
	corners := np.RoundToEven(np.Uniform[float32](s, r, n, d))
	x := np.FMA(corners, 8, np.Normal[float32](s, r, n, d))
	centres, clusters, sizes := np.Rows(x, 0, k), np.Range[int32](s, k, 0, 1), np.Zeros[float32](s, 1, k)
	for range 10 {
		norms := np.Sum(np.Mul(centres, centres), 1)
		distances := np.Sub(np.T(norms), np.MatMulT(x, np.Mul(centres, 2)))
		member := np.Convert[float32](np.Equal(np.ArgMin(distances, 1), clusters))
		sizes = np.Maximum(np.Sum(member, 0), 1)
		centres = np.Div(np.TMatMul(member, x), np.T(sizes))
	}
	fmt.Fprintf(w, "points by cluster, or 1: %.0f\n", sizes)
	return centres
}

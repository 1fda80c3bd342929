package main

import (
	"fmt"
	"io"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/linalg"
)

// kmeans finds the centres of clusters around the corners of a cube by ten of Lloyd's steps. The
// points of each cluster are summed by a product with the matrix that says which are in it.
func kmeans(w io.Writer, s *linalg.Session, n int) result {
	const k, d = 16, 4
	x, corners, distances := floats(s, n, d), floats(s, n, d), floats(s, n, k)
	is, member, nearest, clusters := bools(s, n, k), floats(s, n, k), ints(s, n, 1), ints(s, 1, k)
	centres, squares, norms := floats(s, k, d), floats(s, k, d), floats(s, k, 1)
	counts, sizes := ints(s, 1, k), floats(s, 1, k)
	r := &array.Stream{Seed: 1}
	check(array.Uniform(r, corners), array.RoundToEven(corners, corners))
	check(array.Normal(r, x), array.FMA(x, corners, number(8), x))
	check(array.Copy(centres, x.Slice(0, k, 0, d)), array.Range(clusters, 0, 1))
	for range 10 {
		check(array.Mul(squares, centres, centres), array.Sum(norms, squares))
		check(distances.Gemm(-2, blas.NoTrans, x, blas.Trans, centres, 0))
		check(array.Add(distances, distances, reshape(norms, 1, k)), array.ArgMin(nearest, distances))
		check(array.Equal(is, nearest, clusters), array.Where(member, is, number(1), number(0)))
		check(array.Count(counts, is), array.Convert(sizes, counts))
		check(array.Maximum(sizes, sizes, number(1)))
		check(centres.Gemm(1, blas.Trans, member, blas.NoTrans, x, 0))
		check(array.Div(centres, centres, reshape(sizes, k, 1)))
	}
	fmt.Fprintf(w, "points by cluster, or 1: %.0f\n", sizes)
	return centres
}

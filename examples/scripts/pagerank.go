package main

import (
	"fmt"
	"io"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/array/np"
	"github.com/tandem-gpu/tandem/linalg"
)

// pagerank ranks n pages, each with links to some eight others, by fifty steps of a random reader.
func pagerank(w io.Writer, s *linalg.Session, n int) result {
	links := np.Convert[float32](np.Less(np.Uniform[float32](s, &array.Stream{Seed: 4}, n, n), 8/float32(n)))
	links = np.Div(links, np.Maximum(np.Sum(links, 0), 1))
	rank := np.Full(s, n, 1, 1/float32(n))
	for range 50 {
		rank = np.FMA(np.MatMul(links, rank), 0.85, 0.15/float64(n))
	}
	best, pages := np.TopK(np.T(rank), 5)
	check(best.Err())
	fmt.Fprintf(w, "best: %v %.6f\n", pages, best)
	return rank
}

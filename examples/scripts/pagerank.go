package main

import (
	"fmt"
	"io"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/linalg"
)

// pagerank ranks n pages, each with links to some eight others, by fifty steps of a random reader.
func pagerank(w io.Writer, s *linalg.Session, n int) result {
	is, links, counts, out := bools(s, n, n), floats(s, n, n), ints(s, 1, n), floats(s, 1, n)
	rank, next, best, pages := floats(s, n, 1), floats(s, n, 1), floats(s, 1, 5), ints(s, 1, 5)
	check(array.Uniform(&array.Stream{Seed: 4}, links), array.Less(is, links, number(8/float32(n))))
	check(array.Count(counts, is), array.Convert(out, counts), array.Maximum(out, out, number(1)))
	check(array.Where(links, is, number(1), number(0)), array.Div(links, links, out))
	check(array.Fill(rank, 1/float32(n)))
	for range 50 {
		check(next.Mul(links, rank), array.FMA(rank, next, number(0.85), number(0.15/float32(n))))
	}
	check(array.TopK(best, pages, reshape(rank, 1, n)))
	fmt.Fprintf(w, "best: %v %.6f\n", pages, best)
	return rank
}

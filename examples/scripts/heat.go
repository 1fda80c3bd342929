package main

import (
	"fmt"
	"io"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/linalg"
)

// heat lets heat flow for 200 steps into a cold plate of n by n points from its upper edge.
func heat(w io.Writer, s *linalg.Session, n int) result {
	t, next, mean := floats(s, n, n), floats(s, n, n), floats(s, 1, 1)
	check(array.Fill(t.Slice(0, 1, 0, n), 100), array.Copy(next, t))
	for range 200 {
		up, down, middle := t.Slice(0, n-2, 1, n-1), t.Slice(2, n, 1, n-1), t.Slice(1, n-1, 1, n-1)
		left, right, to := t.Slice(1, n-1, 0, n-2), t.Slice(1, n-1, 2, n), next.Slice(1, n-1, 1, n-1)
		check(array.Add(to, up, down), launchFlow(s, to, to, left, right, middle))
		t, next = next, t
	}
	check(array.Mean(mean, t))
	fmt.Fprintf(w, "mean: %.4f\n", mean)
	return t
}

// flow is a point's temperature a step later; vertical is the sum of the points above and below.
//
//tandem:map
func flow(vertical, left, right, middle float32) float32 {
	return middle + 0.2*(vertical+left+right-4*middle)
}
